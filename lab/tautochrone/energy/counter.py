"""Counters that overflow, made into joules that never go back."""

from __future__ import annotations

from tautochrone.energy.meter import MeterError

REREAD_SECONDS = 30.0
"""A meter is read at least this often.

The fastest register overflows after 65.5 kJ (32 bits of 15.26 µJ): 234 s at 280 W, 65 s at a kilowatt. Two
overflows between two readings would look like one.
"""

_REGISTER_VALUES = 2**32


class Overflowing:
    """A counter of microjoules that starts at 0 again above `range_microjoules`.

    The kernel gives the largest value, not the number of values: the register is 32 bits wide, so one unit is
    missing (61 or 15 µJ), and it is added here.
    """

    def __init__(self, name: str, first: int, range_microjoules: int | None) -> None:
        self.name = name
        self._last = first
        self._total = 0
        self._modulus = None
        if range_microjoules:
            unit = round(range_microjoules / (_REGISTER_VALUES - 1))
            self._modulus = range_microjoules + unit

    def advance(self, now: int) -> float:
        """Joules since the first reading. MeterError where the counter went back without an overflow."""
        step = now - self._last
        if step < 0:
            if self._modulus is None:
                raise MeterError(
                    f"{self.name} went back by {-step / 1e6:g} J and does not tell where it overflows",
                    "Measure for a shorter time, or use another meter",
                )
            step += self._modulus
        if step < 0:
            raise MeterError(
                f"{self.name} went back by more than its range",
                "Look for a driver that was loaded again meanwhile (dmesg), and measure again",
            )
        self._last = now
        self._total += step
        return self._total / 1e6


class Integral:
    """Watts over time: joules by the trapezoidal rule between readings."""

    def __init__(self, seconds: float, watts: float) -> None:
        self._seconds = seconds
        self._watts = watts
        self._joules = 0.0

    def advance(self, seconds: float, watts: float) -> float:
        """Joules since the first reading."""
        self._joules += (seconds - self._seconds) * (watts + self._watts) / 2.0
        self._seconds, self._watts = seconds, watts
        return self._joules
