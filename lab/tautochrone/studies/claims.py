"""One published claim beside what the simulator shows, and how to find out what would change the answer."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TypeVar

import msgspec

from tautochrone.pool import Pool
from tautochrone.report.analysis import Claim
from tautochrone.simulator import engine, machines
from tautochrone.simulator.machines import Machine

_STEPS = 24
T = TypeVar("T")


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    """What `tauto claims` prints of one claim; ``holds`` is None where nothing here can decide it."""

    id: str
    published: str
    ours: str
    source: str  # "simulated on i9-14900k", "measured here"
    holds: bool | None
    tolerance: str
    command: str
    note: str = ""


Shown = tuple[str, bool | None, str]
"""What is shown of a claim, whether it holds (None where nothing here can decide it), and a note."""


def unknown(why: str) -> Shown:
    """Of a claim that the rows say nothing of."""
    return "not measured here", None, why


class Statement(msgspec.Struct, frozen=True):
    """A published claim: what it says, and how near is near; empty where nothing is simulated."""

    says: str
    tolerance: str = ""


class Family(msgspec.Struct, frozen=True):
    """The claims of one published study, by id, and the machine that they are simulated on."""

    machine: str
    statements: Mapping[str, Statement]

    def measured(self, id: str, ours: str, holds: bool | None = None, note: str = "") -> Claim:
        """One of them, as a study's own rows show it; ``holds`` is None where they do not tell."""
        return Claim(id=id, published=self.statements[id].says, ours=ours, holds=holds, note=note)

    def simulated(self, id: str, ours: str, holds: bool | None, note: str = "") -> Verdict:
        """One of them, as the simulation shows it."""
        return Verdict(
            id=id,
            published=self.statements[id].says,
            ours=ours,
            source=f"simulated on {self.machine}",
            holds=holds,
            tolerance=self.statements[id].tolerance,
            command=f"tauto claims --only {id}",
            note=note,
        )

    def verdicts(
        self, wanted: Collection[str], judges: Sequence[Callable[[T], Shown]], shown: T
    ) -> list[Verdict]:
        """Those that are wanted, each by its judge: ``judges`` are in the order of the claims."""
        judged = zip(self.statements, judges, strict=True)
        return [self.simulated(id, *judge(shown)) for id, judge in judged if id in wanted]


Judge = Callable[[Machine], bool]


def within(limits: tuple[float, float], value: float) -> bool:
    """Whether a figure lies between two, both ends in."""
    return limits[0] <= value <= limits[1]


class Knob(msgspec.Struct, frozen=True):
    """A parameter with the range that published sources give for it."""

    path: str
    low: float
    high: float
    whole: bool = False

    def values(self) -> list[float]:
        """The range in equal steps, both ends in it: fine enough for a claim that holds in a tenth of it."""
        found = [self.low + (self.high - self.low) * step / _STEPS for step in range(_STEPS + 1)]
        return sorted({round(value) for value in found}) if self.whole else found


def sensitivity(machine: Machine, knobs: Sequence[Knob], holds: Judge) -> str:
    """Which parameter, moved alone within its published range, would make a claim hold that does not."""
    tried: list[str] = []
    with Pool(len(os.sched_getaffinity(0))) as pool:  # the simulator is a process of its own
        for knob in knobs:
            values = knob.values()
            changed = [machines.with_values(machine, {knob.path: value}) for value in values]
            working = list(pool.map(holds, changed))
            if any(working):
                where = _spans(values, working)
                return f"it would hold with {knob.path} = {where} (published: {knob.low:g} to {knob.high:g})"
            tried.append(f"{knob.path} {knob.low:g} to {knob.high:g}")
    return f"no single parameter within its published range changes that: tried {', '.join(tried)}"


def _spans(values: Sequence[float], working: Sequence[bool]) -> str:
    """The values that work, neighbours as one span: "2 or 4 to 6"."""
    found: list[str] = []
    for works, group in itertools.groupby(zip(values, working, strict=True), key=lambda pair: pair[1]):
        if works:
            inside = [value for value, _ in group]
            low, high = inside[0], inside[-1]
            found.append(f"{low:.3g}" if low == high else f"{low:.3g} to {high:.3g}")
    return " or ".join(found)


def rows(machine: Machine, requests: Sequence[engine.Request]) -> list[engine.Row]:
    return engine.simulate(machine, requests)


def percent(value: float) -> str:
    return f"{100 * value:.0f} %" if abs(value) >= 0.1 else f"{100 * value:.1f} %"
