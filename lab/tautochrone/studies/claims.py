"""One published claim beside what the simulator shows, and how to find out what would change the answer."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec

from tautochrone.published import PUBLISHED
from tautochrone.simulator import engine, machines
from tautochrone.simulator.machines import Machine

_STEPS = 24


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


class Family(msgspec.Struct, frozen=True):
    """The claims of one published study: the machine that they are simulated on, and how near is near."""

    machine: str
    tolerance: Mapping[str, str]

    def verdict(self, id: str, ours: str, holds: bool | None, note: str = "") -> Verdict:
        """One of them, as the simulation shows it."""
        return Verdict(
            id=id,
            published=PUBLISHED[id],
            ours=ours,
            source=f"simulated on {self.machine}",
            holds=holds,
            tolerance=self.tolerance[id],
            command=f"tauto claims --only {id}",
            note=note,
        )


Judge = Callable[[Machine], bool]


class Knob(msgspec.Struct, frozen=True):
    """A parameter with the range that published sources give for it."""

    path: str
    low: float
    high: float
    whole: bool = False

    def values(self) -> list[float]:
        """The range in equal steps, both ends in it: fine enough for a claim that holds in a tenth of it."""
        found = [self.low + (self.high - self.low) * step / _STEPS for step in range(_STEPS + 1)]
        return sorted({round(one) for one in found}) if self.whole else found


def sensitivity(machine: Machine, knobs: Sequence[Knob], holds: Judge) -> str:
    """Which parameter, moved alone within its published range, would make a claim hold that does not."""
    tried: list[str] = []
    for knob in knobs:
        working: list[bool] = []
        values = knob.values()
        for value in values:
            changed = machines.change(machine, [])
            machines.set_value(changed, knob.path, value)
            working.append(holds(changed))
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


def rows(machine: Machine, requests: Sequence[dict[str, Any]]) -> list[engine.Row]:
    """Rows of requests on a machine."""
    return engine.simulate(machine, requests)


def percent(value: float) -> str:
    """A share for people."""
    return f"{100 * value:.0f} %" if abs(value) >= 0.1 else f"{100 * value:.1f} %"
