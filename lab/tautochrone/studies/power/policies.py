"""The same study under each frequency policy of a machine: what only all of them together tell."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from tautochrone.errors import TautoError
from tautochrone.machine.policy.knobs import GOVERNOR, PROFILE, TURBO
from tautochrone.results.runs import ratio
from tautochrone.results.spent import longest
from tautochrone.results.store import Store
from tautochrone.studies.power.cells import (
    ROWS,
    CellRuns,
    WayRuns,
    collect,
    common_joules,
    most_unequal,
    paired,
)
from tautochrone.studies.power.configurations import FUNCTIONAL_FREE
from tautochrone.studies.power.findings import PowerContext
from tautochrone.verdicts import Ratio

HIGHEST = "performance"
"""The governor that always asks for the highest clock."""

LOWEST = "powersave"
"""The governor that always asks for the lowest clock.

But where there is none beside it but `performance`, as under intel_pstate and amd-pstate, it follows the load
(Linux, admin-guide/pm/cpufreq and intel_pstate).
"""

_FOLLOW_THE_LOAD = ("ondemand", "conservative", "schedutil")


@dataclass(frozen=True)
class UnderPolicy:
    """A study's rows, and the knobs as they were while they were measured."""

    name: str
    knobs: Mapping[str, str]
    cells: Sequence[CellRuns]

    @property
    def unbalanced(self) -> WayRuns | None:
        """The physics shared by its functions, most unequal, in threads that the system may move."""
        cell = most_unequal(self.cells)
        return cell.find(FUNCTIONAL_FREE) if cell is not None else None


@dataclass(frozen=True)
class AgainstHighest:
    """The unbalanced physics under one adaptive policy, by that at the highest clock; paired by rounds."""

    name: str
    seconds: Ratio
    energy: Ratio  # both brought to the longer time; without a value where it was not metered


def stored(
    folder: Path, names: Sequence[str], known_of: Callable[[Path], PowerContext]
) -> tuple[UnderPolicy, ...]:
    """The studies in folders beside `folder`; without those that cannot be read."""
    found: list[UnderPolicy] = []
    for name in names:
        with suppress(TautoError), Store.read(folder.parent / name) as store:
            found.append(
                UnderPolicy(name, known_of(store.folder).knobs, collect(store.checked(ROWS.complaint)))
            )
    return tuple(found)


def against_highest(under: Sequence[UnderPolicy]) -> list[AgainstHighest]:
    """Each policy whose clock follows the load; none where no policy holds the highest clock."""
    measured = [(policy, runs) for policy in under if (runs := policy.unbalanced) is not None]
    at_highest = (pair for pair in measured if pair[0].knobs.get(GOVERNOR) == HIGHEST)
    highest, theirs = next(at_highest, (None, None))
    if highest is None or theirs is None:
        return []
    governors = {policy.knobs.get(GOVERNOR) for policy in under}
    adaptive = _FOLLOW_THE_LOAD if governors & {*_FOLLOW_THE_LOAD} else (LOWEST,)
    return [
        AgainstHighest(policy.name, *_compared(ours, theirs))
        for policy, ours in measured
        if policy.knobs.get(GOVERNOR) in adaptive
        and all(policy.knobs.get(knob) == highest.knobs.get(knob) for knob in (TURBO, PROFILE))
    ]


def _compared(ours: WayRuns, theirs: WayRuns) -> tuple[Ratio, Ratio]:
    """Their seconds and, with a value only where both were metered, their joules, by rounds."""
    until = longest((ours.seconds, theirs.seconds))
    return ratio(ours, theirs), paired(ours, theirs, lambda row: common_joules(row, until))
