"""One published claim beside what the simulator shows, and how to find out what would change the answer."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TypeVar

import msgspec

from tautochrone.jobs import spread
from tautochrone.pool import Pool
from tautochrone.report.analysis import Claim
from tautochrone.simulator import engine, machines
from tautochrone.simulator.machines import Machine

_STEPS = 24  # fine enough for a claim that holds in a tenth of the range
_FEW_STEPS = 8  # for what holds: that it hangs on a parameter, not where exactly
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
    fails_if: str  # what would have made it false
    given: str = ""  # figures that were put in: they show nothing
    sensitivity: str = ""  # which parameter, within its published range, changes the verdict
    note: str = ""


class ClaimsRecord(msgspec.Struct, frozen=True, kw_only=True):
    """What `tauto claims --json` prints."""

    schema: str = "tautochrone.claims/1"
    claims: list[Verdict]


Shown = tuple[str, bool | None, str]
"""What is shown of a claim, whether it holds (None where nothing here can decide it), and a note."""


class Finding(msgspec.Struct, frozen=True):
    """The same of a simulation, with what was put in and what would change the verdict."""

    ours: str
    holds: bool | None
    note: str = ""
    given: str = ""
    sensitivity: str = ""
    source: str = ""  # if it is not the simulation of the published machine


def unknown(why: str) -> Shown:
    """Of a claim that the rows say nothing of."""
    return "not measured here", None, why


class Statement(msgspec.Struct, frozen=True, kw_only=True):
    """A published claim: what it says, how near is near, and what makes it false.

    ``cpus``: a study on fewer decides nothing. ``waits``: its verdict is on who waits for whom, so a study
    that other programs disturbed decides nothing.
    """

    says: str
    tolerance: str
    fails_if: str
    cpus: int = 2
    waits: bool = True


class Family(msgspec.Struct, frozen=True):
    """The claims of one published study, by id, and the machine that they are simulated on."""

    machine: str
    statements: Mapping[str, Statement]

    def measured(self, id: str, ours: str, holds: bool | None = None, note: str = "") -> Claim:
        """One of them, as a study's own rows show it; ``holds`` is None where they do not tell."""
        statement = self.statements[id]
        return Claim(
            id=id,
            published=statement.says,
            ours=ours,
            holds=holds,
            note=note,
            fails_if=statement.fails_if,
            cpus=statement.cpus,
            waits=statement.waits,
        )

    def simulated(self, id: str, found: Finding) -> Verdict:
        """One of them, as the simulation shows it."""
        statement = self.statements[id]
        return Verdict(
            id=id,
            published=statement.says,
            ours=found.ours,
            source=found.source or f"simulated on {self.machine}",
            holds=found.holds,
            tolerance=statement.tolerance,
            command=f"tauto claims --only {id}",
            fails_if=statement.fails_if,
            given=found.given,
            sensitivity=found.sensitivity,
            note=found.note,
        )

    def verdicts(
        self, wanted: Collection[str], judges: Mapping[str, Callable[[T], Finding]], shown: T
    ) -> list[Verdict]:
        """Those that are wanted, each by its judge, in the order of the claims."""
        return [self.simulated(id, judges[id](shown)) for id in self.statements if id in wanted]


Judge = Callable[[Machine], bool]


def near(value: float, published: float, tolerance: float) -> bool:
    """Whether a figure is as near as that on either side: 1.03 and 1 / 1.03 are as far from 1."""
    return value > 0 and published > 0 and abs(math.log(value / published)) <= math.log1p(tolerance)


def within(limits: tuple[float, float], value: float) -> bool:
    """Whether a figure lies between two, both ends in."""
    return limits[0] <= value <= limits[1]


class Knob(msgspec.Struct, frozen=True):
    """A parameter with the range that published sources give for it."""

    path: str
    low: float
    high: float
    whole: bool = False

    def values(self, steps: int) -> list[float]:
        """The range in equal steps, both ends in it."""
        found = [self.low + (self.high - self.low) * step / steps for step in range(steps + 1)]
        return sorted({round(value) for value in found}) if self.whole else found


def sensitivity(machine: Machine, knobs: Sequence[Knob], holds: Judge, now: bool = False) -> str:
    """Which parameter, moved alone within its published range, would change a verdict, which is ``now``."""
    tried: list[str] = []
    words = "not hold" if now else "hold"
    with Pool(spread.width()) as pool:  # a thread only waits for what it asked for
        for knob in knobs:
            values = knob.values(_FEW_STEPS if now else _STEPS)
            changed = [machines.with_values(machine, {knob.path: value}) for value in values]
            working = list(pool.map(holds, changed))
            other = [works != now for works in working]
            if any(other):
                where = _spans(values, other)
                return (
                    f"it would {words} with {knob.path} = {where} (published: {knob.low:g} to {knob.high:g})"
                )
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
