"""The same study under each frequency policy of a machine: what only all of them together tell."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from tautochrone import statistics
from tautochrone.energy.record import figures_of_row
from tautochrone.errors import TautoError
from tautochrone.policy.knobs import GOVERNOR, PROFILE, TURBO
from tautochrone.report.analysis_types import Ratio
from tautochrone.report.spent import longest
from tautochrone.store import Store
from tautochrone.studies import context as contexts
from tautochrone.studies.contenders import NOT_MEASURED, as_ratio
from tautochrone.studies.power.cells import CellRuns, Contender, collect, most_unequal
from tautochrone.studies.power.context import PowerContext
from tautochrone.studies.power.works import FUNCTIONAL_FREE

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
    def unbalanced(self) -> Contender | None:
        """The physics shared by its functions, most unequal, in threads that the system may move."""
        cell = most_unequal(self.cells)
        return cell.find(FUNCTIONAL_FREE) if cell is not None else None


@dataclass(frozen=True)
class AgainstHighest:
    """The unbalanced physics under one adaptive policy, by that at the highest clock; of two sessions."""

    name: str
    seconds: Ratio
    energy: Ratio  # both brought to the longer time; without a value where it was not metered


def stored(folder: Path, names: Sequence[str]) -> tuple[UnderPolicy, ...]:
    """The studies in folders beside `folder`; without those that cannot be read."""
    return tuple(_stored(folder.parent, names))


def _stored(parent: Path, names: Sequence[str]) -> Iterator[UnderPolicy]:
    for name in names:
        with suppress(TautoError), Store.read(parent / name) as store:
            context = contexts.load(PowerContext(), store.folder)
            yield UnderPolicy(name, context.knobs, collect(store.rows(None)))


def against_highest(under: Sequence[UnderPolicy]) -> list[AgainstHighest]:
    """Each policy whose clock follows the load; none where no policy holds the highest clock."""
    highest = next((one for one in under if one.knobs.get(GOVERNOR) == HIGHEST and one.unbalanced), None)
    if highest is None:
        return []
    governors = {one.knobs.get(GOVERNOR) for one in under}
    adaptive = _FOLLOW_THE_LOAD if governors & {*_FOLLOW_THE_LOAD} else (LOWEST,)
    return [
        _against(one, highest)
        for one in under
        if one.knobs.get(GOVERNOR) in adaptive
        and all(one.knobs.get(knob) == highest.knobs.get(knob) for knob in (TURBO, PROFILE))
        and one.unbalanced
    ]


def _against(one: UnderPolicy, highest: UnderPolicy) -> AgainstHighest:
    mine, theirs = one.unbalanced, highest.unbalanced
    assert mine is not None
    assert theirs is not None
    seconds = statistics.compare_unpaired([*mine.by_round.values()], [*theirs.by_round.values()])
    until = longest((mine.seconds, theirs.seconds))
    joules = [_common(each, until) for each in (mine, theirs)]
    energy = as_ratio(statistics.compare_unpaired(*joules)) if all(joules) else NOT_MEASURED
    return AgainstHighest(one.name, as_ratio(seconds), energy)


def _common(one: Contender, until: float | None) -> list[float]:
    """Joules of each run brought to one length; those that are not known to be positive are left out."""
    found = [figures_of_row(row, until) for row in one.rows]
    joules = [each.common_joules for each in found if each is not None]
    return [each for each in joules if each is not None and each > 0.0]
