"""An executor that reads the meter around each run."""

from __future__ import annotations

from dataclasses import replace
from types import TracebackType
from typing import Protocol, Self

from tautochrone.configuration import Configuration
from tautochrone.energy import record
from tautochrone.energy.counter import REREAD_SECONDS
from tautochrone.energy.find import Found
from tautochrone.energy.idle import IdleLog
from tautochrone.energy.meter import Meter
from tautochrone.energy.recorder import TIMELINE_SECONDS, EnergyRecorder
from tautochrone.executor import RunResult

IDLE_AGAIN_SECONDS = 300.0
"""Idle power is measured before the first run, and again between two runs when it is older than this.

After the last run whoever knows that it was the last one asks for it.
"""


class ClosingExecutor(Protocol):
    """An executor that holds a process."""

    def run(self, configuration: Configuration, time_limit: float) -> RunResult:
        """Run once."""
        ...

    def close(self) -> None:
        """End what is held."""
        ...


class MeteredExecutor:
    """Runs through another executor; each result says what it took, or why that is not known.

    Counters are read at the ends, and every 15 s on the way so that no overflow is lost; a sensor of watts is
    read five times a second. The energy is that of the whole machine or its packages over the whole process,
    its start and its check included.
    """

    def __init__(self, inner: ClosingExecutor, found: Found, idle: IdleLog | None = None) -> None:
        self._inner = inner
        self._found = found
        self._idle = idle or (IdleLog(found.meter) if found.meter is not None else None)
        self._has_run = False

    def run(self, configuration: Configuration, time_limit: float) -> RunResult:
        """Run once, metered."""
        meter = self._found.meter
        if meter is None:
            assert self._found.unavailable is not None
            result = self._inner.run(configuration, time_limit)
            return replace(result, energy=record.unavailable(self._found.unavailable))
        idle = self._idle_log(meter)
        if idle.is_older_than(IDLE_AGAIN_SECONDS):
            idle.measure()
        interval_seconds = TIMELINE_SECONDS if meter.integrates else REREAD_SECONDS / 2
        with EnergyRecorder(meter, interval_seconds) as recording:
            self._has_run = True
            result = self._inner.run(configuration, time_limit)
        return replace(result, energy=record.measured(recording, idle.power()))

    def measure_idle(self) -> tuple[float, ...]:
        """Idle power once more if there were runs since; the watts of all stretches, in their order."""
        if self._idle is None:
            return ()
        if self._has_run:
            self._idle.measure()
            self._has_run = False
        return self._idle.stretches

    def close(self) -> None:
        """Close the executor and the meter."""
        self._inner.close()
        if self._found.meter is not None:
            self._found.meter.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _idle_log(self, meter: Meter) -> IdleLog:
        if self._idle is None:
            self._idle = IdleLog(meter)
        return self._idle
