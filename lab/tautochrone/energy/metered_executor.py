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
        if self.idle_is_due():
            self.measure_idle()
        interval_seconds = TIMELINE_SECONDS if meter.integrates else REREAD_SECONDS / 2
        with EnergyRecorder(meter, interval_seconds) as recording:
            self._has_run = True
            result = self._inner.run(configuration, time_limit)
        idle = self._idle.power() if self._idle is not None else None
        return replace(result, energy=record.measured(recording, idle))

    def idle_is_due(self) -> bool:
        """Whether idle power is to be measured before the next run: not yet, or long ago."""
        return self._idle is not None and self._idle.is_older_than(IDLE_AGAIN_SECONDS)

    def measure_idle(self) -> None:
        """Do nothing for some seconds, metered; nothing at all without a meter."""
        if self._idle is not None:
            self._idle.measure()
            self._has_run = False

    def idle_stretches(self, *, after_runs: bool) -> tuple[float, ...]:
        """The mean watts of each stretch since this was asked before, in their order.

        ``after_runs``: with one more, if anything ran since the last one.
        """
        if self._idle is None:
            return ()
        if after_runs and self._has_run:
            self.measure_idle()
        return self._idle.take_stretches()

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
