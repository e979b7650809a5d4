"""A study under each policy of the machine: ``tauto study … --policies``."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from tautochrone.machine.policy.held import held, require_policies
from tautochrone.machine.policy.knobs import Knobs


def under_each_policy(
    run: Callable[[Path], object], output: Path, say: Callable[[str], None], knobs: Knobs | None = None
) -> list[Path]:
    """Call `run` once for each policy, with a folder of its own below `output`, and restore the policy.

    Returns the folders, the unmodified policy's first. Each has a whole study, with the policy in its machine
    record. TautoError if the machine has no policies or refuses to set them.
    """
    knobs = knobs or Knobs()
    policies = require_policies(knobs)
    names = ", ".join(policy.name for policy in policies)
    say(f"{len(policies)} frequency policies: {names}; the previous policy is restored at the end")
    with held(knobs, policies) as holding:
        for policy in policies:
            holding.enter(policy)
            say(f"policy {policy.name}")
            run(output / policy.name)
    return [output / policy.name for policy in policies]
