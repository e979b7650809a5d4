"""One published claim beside what the simulator shows, and how to find out what would change the answer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from tautochrone.simulator import engine, machines
from tautochrone.simulator.machines import Machine


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


Judge = Callable[[Machine], bool]


class Knob(msgspec.Struct, frozen=True):
    """A parameter with the range that published sources give for it."""

    path: str
    low: float
    high: float
    whole: bool = False

    def values(self, steps: int = 5) -> list[float]:
        """The range in equal steps, both ends in it."""
        found = [self.low + (self.high - self.low) * step / (steps - 1) for step in range(steps)]
        return [round(one) for one in found] if self.whole else found


def sensitivity(machine: Machine, knobs: Sequence[Knob], holds: Judge) -> str:
    """Which parameter, moved alone within its published range, would make a claim hold that does not."""
    tried: list[str] = []
    for knob in knobs:
        working: list[float] = []
        for value in knob.values():
            changed = machines.change(machine, [])
            machines.set_value(changed, knob.path, value)
            if holds(changed):
                working.append(value)
        if working:
            at = " or ".join(f"{one:g}" for one in working)
            return f"it would hold with {knob.path} = {at} (published: {knob.low:g} to {knob.high:g})"
        tried.append(f"{knob.path} {knob.low:g} to {knob.high:g}")
    return f"no single parameter within its published range changes that: tried {', '.join(tried)}"


def rows(machine: Machine, requests: Sequence[dict[str, Any]]) -> list[engine.Row]:
    """Rows of requests on a machine."""
    return engine.simulate(machine, requests)


def percent(value: float) -> str:
    """A share for people."""
    return f"{100 * value:.0f} %" if abs(value) >= 0.1 else f"{100 * value:.1f} %"
