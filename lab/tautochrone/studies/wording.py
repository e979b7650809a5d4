"""Words that the sentences of every study are made of: states of the machine, factors, intervals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol, TypeVar

from tautochrone.report.analysis_types import Ratio

State = tuple[tuple[str, float], ...]
AS_IT_IS = "on the machine as it is"
_WIDE = 1.25  # high end of an interval by its low end
_TIMES = {2: "two", 3: "three", 4: "four", 5: "five", 6: "six", 8: "eight"}


class InState(Protocol):
    """Something that was measured in one state of the machine."""

    @property
    def emulated(self) -> Mapping[str, float]:
        """CPU → how many times slower it was made; empty: the machine as it is."""
        ...


Measured = TypeVar("Measured", bound=InState)


def by_state(cells: Sequence[Measured]) -> dict[State, list[Measured]]:
    """Cells by state of the machine, the machine as it is first."""
    states: dict[State, list[Measured]] = {}
    for cell in cells:
        states.setdefault(tuple(sorted(cell.emulated.items())), []).append(cell)
    return states


def state_words(emulated: Mapping[str, float]) -> str:
    """{} → "on the machine as it is"; {"1": 4.0} → "with CPU 1 made four times slower"."""
    if not emulated:
        return AS_IT_IS
    slowed = [f"CPU {cpu} made {times(factor)} slower" for cpu, factor in sorted(emulated.items())]
    return f"with {' and '.join(slowed)}"


def times(factor: float) -> str:
    """4.0 → "four times", 2.5 → "2.5 times"."""
    word = _TIMES.get(int(factor)) if factor == int(factor) else None
    return f"{word or f'{factor:g}'} times"


def less_time(found: Ratio) -> str:
    """0.63 (0.61, 0.65) → "37 % less time (35 to 39 %"…: open bracket closed by :func:`with_rounds`."""
    assert found.value is not None
    assert found.low is not None
    assert found.high is not None
    faster = found.value < 1
    ends = sorted(abs(1 - end) * 100 for end in (found.low, found.high))
    middle = abs(1 - found.value) * 100
    direction = "less" if faster else "more"
    return f"{percent(middle)} % {direction} time ({percent(ends[0])} to {percent(ends[1])} %"


def percent(value: float) -> str:
    """12.3 → "12", 1.23 → "1.2": the digits that a percentage deserves."""
    return f"{value:.0f}" if value >= 9.95 else f"{value:.1f}"


def unresolved(found: Ratio) -> str:
    """How small a difference could hide: the interval in per cent."""
    assert found.low is not None
    assert found.high is not None
    between = f"between {signed(found.low)} and {signed(found.high)} time"
    return (
        f"{between}: too wide to say much, so measure again on a quieter machine" if wide(found) else between
    )


def wide(found: Ratio) -> bool:
    """True where an interval is so wide that it says little."""
    return found.low is not None and found.high is not None and found.high / found.low > _WIDE


def signed(end: float) -> str:
    """0.9 → "10 % less", 1.1 → "10 % more"."""
    return f"{percent(abs(1 - end) * 100)} % {'less' if end < 1 else 'more'}"
