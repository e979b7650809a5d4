"""The power of the machine that does nothing, measured around what is measured."""

from __future__ import annotations

import time
from collections.abc import Callable

from tautochrone.energy.figures import IdlePower, idle_power
from tautochrone.energy.meter import Meter
from tautochrone.energy.recorder import EnergyRecorder

IDLE_SECONDS = 5.0
_PARTS = 5  # of one stretch: their spread is the spread of the idle power


class IdleLog:
    """Collects idle stretches: before, between and after the runs."""

    def __init__(
        self,
        meter: Meter,
        sleep: Callable[[float], object] = time.sleep,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._meter = meter
        self._sleep = sleep
        self._clock = clock
        self._watts: list[tuple[float, float]] = []
        self._stretches: list[float] = []
        self._last_ended = float("-inf")

    def measure(self, seconds: float = IDLE_SECONDS) -> None:
        """Do nothing for `seconds` and note what that took. A meter that fails leaves nothing behind."""
        before = len(self._watts)
        for _ in range(_PARTS):
            with EnergyRecorder(self._meter, clock=self._clock) as recording:
                self._sleep(seconds / _PARTS)
            if recording.joules is not None and recording.seconds > 0.0:
                self._watts.append((recording.joules / recording.seconds, recording.seconds))
        stretch = idle_power(self._watts[before:])
        if stretch is not None:
            self._stretches.append(stretch.watts)
        self._last_ended = self._clock()

    def is_older_than(self, seconds: float) -> bool:
        """Whether the last stretch ended longer ago; true before any."""
        return self._clock() - self._last_ended > seconds

    def take_stretches(self) -> tuple[float, ...]:
        """The mean watts of each stretch since this was called before, in their order."""
        taken, self._stretches = tuple(self._stretches), []
        return taken

    def power(self) -> IdlePower | None:
        """Mean and spread of all stretches so far; None before any."""
        return idle_power(self._watts)
