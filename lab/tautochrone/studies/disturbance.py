"""How much other programs disturbed a study."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from tautochrone import text
from tautochrone.report.analysis import Claim
from tautochrone.results.row import Row

RESTLESS = 0.05
"""Share of the CPU time that others may take before a verdict on who waits for whom is doubted."""


def others_share(rows: Iterable[Row], machine: Mapping[str, Any]) -> float | None:
    """The share of the CPU time that others took while runs went on.

    Runs beside a CPU that was slowed on purpose do not count: what slows it is another program too. None
    where the kernel did not tell. O(number of rows).
    """
    cpus = len(machine.get("cpus") or ()) or 1
    taken = there = 0.0
    for row in rows:
        if row.others_cpu_seconds is None or row.config.get("emulated"):
            continue
        taken += float(row.others_cpu_seconds) + float(row.steal_seconds or 0.0)
        there += cpus * float(row.elapsed_seconds or 0.0)
    return taken / there if there else None


def decidable(claims: Sequence[Claim], rows: Sequence[Row], machine: Mapping[str, Any]) -> tuple[Claim, ...]:
    """The claims; open, with the reason, where this machine or what others did on it cannot decide them."""
    share, cpus = others_share(rows, machine), len(machine.get("cpus") or ()) or 1
    return tuple(_decidable(claim, share or 0.0, cpus) for claim in claims)


def _decidable(claim: Claim, share: float, cpus: int) -> Claim:
    why = ""
    if cpus < claim.cpus:
        why = f"{text.count(cpus, 'CPU')} cannot decide it: it needs {claim.cpus}"
    elif claim.waits and share > RESTLESS:
        why = f"other programs took {text.percent(share)} of the CPU time, so this study cannot decide it"
    if not why or claim.holds is None:
        return claim
    return msgspec.structs.replace(claim, holds=None, note="; ".join(filter(None, [why, claim.note])))


def restless(share: float | None, who: str) -> tuple[str, ...]:
    """The sentence for a machine that others used too much; ``who`` wait for each other in the study."""
    if share is None or share <= RESTLESS:
        return ()
    return (
        f"Other programs took {text.percent(share)} of the CPU time during this study: {who} that "
        "wait for each other cannot be judged so. Close them and measure again with --fresh.",
    )
