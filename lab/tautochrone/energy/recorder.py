"""Joules of one stretch of time: read at both ends, and in between for the timeline and against overflow.

Also the power of the idle machine around such stretches, the record that a row has of them, and an executor
that makes one for each run.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Protocol, Self

import msgspec

from tautochrone.energy.find import Found
from tautochrone.energy.meter import (
    LAGS_OF_A_RUN,
    REREAD_SECONDS,
    Domain,
    Meter,
    MeterError,
    Unavailable,
    counted,
    platform_joules,
    total_joules,
    total_name,
)
from tautochrone.errors import warn_once
from tautochrone.measuring.configuration import Configuration
from tautochrone.measuring.executor import Executor, RunResult
from tautochrone.measuring.sampler import leave_cpus_of
from tautochrone.results.spent import DOUBTED, METERED, UNAVAILABLE, IdlePower, figures, idle_power
from tautochrone.threads import started

TIMELINE_SECONDS = 0.2
"""Five readings a second: faster ones are a load themselves, and power sensors are slower anyway."""

IDLE_SECONDS = 5.0
IDLE_AGAIN_SECONDS = 300.0
"""Idle power is measured before the first run, and again between two runs when it is older than this.

After the last run the caller asks for it.
"""

_IDLE_PARTS = 5  # of one stretch: their spread is the spread of the idle power

# A counter is brought up to date about once in a millisecond, so watts over a shorter stretch mean nothing.
_SHORTEST_JUDGED_SECONDS = 0.05

# No processor that runs takes nothing: even one that sleeps draws a watt, which is 4,000 steps in this time.
_LONGEST_STILL_SECONDS = 0.25

Sample = tuple[float, Mapping[str, float]]
"""Seconds since the start, and the joules of each domain until then."""


@dataclass
class Recording:
    """What one stretch took.

    ``joules`` is the total of the domains that may be added (`meter.counted`), or None with the reason in
    ``unavailable``. ``notice``: what to know of joules that are there.
    """

    source: str
    domains: tuple[Domain, ...]
    samples: list[Sample] = field(default_factory=list)
    seconds: float = 0.0
    joules: float | None = None
    domain_joules: Mapping[str, float] = field(default_factory=dict)
    unavailable: Unavailable | None = None
    notice: str | None = None
    sampler_cpu_seconds: float = 0.0
    sampler_cpu: int | None = None

    def watts(self) -> list[tuple[float, float]]:
        """(seconds since the start, mean watts since the sample before) of the total; none without joules."""
        if self.unavailable is not None:
            return []
        watts: list[tuple[float, float]] = []
        for (begin, before), (end, after) in zip(self.samples, self.samples[1:], strict=False):
            first, last = total_joules(self.domains, before), total_joules(self.domains, after)
            if first is not None and last is not None and end > begin:
                watts.append((end, (last - first) / (end - begin)))
        return watts


class EnergyRecorder:
    """``with EnergyRecorder(meter) as recording: …``; the recording is complete when the block has ended.

    A reading that fails or cannot be true makes the energy of this stretch unavailable, and nothing else.
    ``watched``: the measured process; the thread that reads leaves its CPUs if it may.
    ``wait(seconds)`` returns True to stop; tests pass their own, and their own clock.
    """

    def __init__(
        self,
        meter: Meter,
        interval_seconds: float = TIMELINE_SECONDS,
        watched: int | None = None,
        clock: Callable[[], float] = time.monotonic,
        wait: Callable[[float], bool] | None = None,
    ) -> None:
        if not 0.0 < interval_seconds <= REREAD_SECONDS:
            raise ValueError(
                f"an interval of {interval_seconds} s; it must be above 0 and at most {REREAD_SECONDS}"
            )
        self._meter = meter
        self._interval_seconds = interval_seconds
        self._clock = clock
        self._stop = threading.Event()
        self._wait = wait or self._stop.wait
        self._watched = watched
        self._recording = Recording(meter.source, meter.domains)
        self._ended: threading.Event | None = None
        self._first: Mapping[str, float] = {}
        self._began = 0.0
        self._own_cpu_seconds = 0.0

    def __enter__(self) -> Recording:
        before = time.thread_time()
        self._began = self._clock()
        try:
            self._first = self._meter.read()
            self._recording.samples.append((0.0, dict.fromkeys(self._first, 0.0)))
            self._ended = started(self._sample)
        except MeterError as error:
            self._recording.unavailable = error.unavailable
        self._own_cpu_seconds += time.thread_time() - before
        return self._recording

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        if self._ended is not None:
            self._ended.wait()
        before = time.thread_time()
        recording = self._recording
        recording.seconds = self._clock() - self._began
        if recording.unavailable is None:
            self._take()
        if recording.unavailable is None and recording.samples:
            recording.seconds, recording.domain_joules = recording.samples[-1]
            recording.unavailable = _doubt(recording)
        if recording.unavailable is None:
            recording.joules = total_joules(recording.domains, recording.domain_joules)
            recording.notice = _late(self._meter, recording.seconds)
        self._own_cpu_seconds += time.thread_time() - before
        recording.sampler_cpu_seconds = self._own_cpu_seconds

    def _sample(self) -> None:
        while not self._wait(self._interval_seconds):
            if self._watched is not None:
                # Not before the first reading: until then the program may pin itself (taskset, numactl).
                self._recording.sampler_cpu = leave_cpus_of(self._watched)
                self._watched = None
            self._take()
            if self._recording.unavailable is not None:
                break
        self._own_cpu_seconds += time.thread_time()

    def _take(self) -> None:
        try:
            readings = self._meter.read()
        except MeterError as error:
            self._recording.unavailable = error.unavailable
            return
        joules = {name: value - self._first[name] for name, value in readings.items()}
        self._recording.samples.append((self._clock() - self._began, joules))


def _doubt(recording: Recording) -> Unavailable | None:
    """No stretch between two readings may show a negative power, or more than three times the TDP."""
    limits = {domain.name: domain.largest_watts for domain in recording.domains}
    for (begin, before), (end, after) in _pairs(recording.samples):
        for name, limit in limits.items():
            watts = (after[name] - before[name]) / (end - begin)
            if not 0.0 <= watts <= limit:
                return Unavailable(
                    f"{recording.source} {name} showed {watts:.0f} W at second {end:.1f} of the run, outside "
                    f"0 … {limit:.0f} W",
                    "Measure again; if it comes back, use another meter",
                    doubted=True,
                )
    for domain in counted(recording.domains):
        begin, length = _longest_still(recording.samples, domain.name)
        if length >= _LONGEST_STILL_SECONDS:
            return Unavailable(
                f"{recording.source} {domain.name} stood still for {length:.1f} s from second {begin:.1f} of "
                "the run, so its joules are too few",
                "Look for messages of its driver (sudo dmesg | grep -i rapl), and measure again",
                doubted=True,
            )
    return None


def _late(meter: Meter, seconds: float) -> str | None:
    """What a meter that lags makes of a run of this length; None where that matters little."""
    shortest = LAGS_OF_A_RUN * meter.lag_seconds
    if seconds >= shortest:
        return None
    return (
        f"the meter outside shows what is drawn up to {meter.lag_seconds:g} s later: in a run of less than "
        f"{shortest:g} s more than a tenth of its joules may be those of the time before"
    )


def _longest_still(samples: Sequence[Sample], name: str) -> tuple[float, float]:
    """Begin and length of the longest stretch over which a domain's joules stayed the same, in seconds."""
    longest = (0.0, 0.0)
    since = samples[0]
    for sample in samples[1:]:
        if sample[1][name] != since[1][name]:
            since = sample
        longest = max(longest, (since[0], sample[0] - since[0]), key=lambda one: one[1])
    return longest


def _pairs(samples: Sequence[Sample]) -> list[tuple[Sample, Sample]]:
    """Neighbours that are far enough apart for their watts to mean something; the last one is always in."""
    pairs: list[tuple[Sample, Sample]] = []
    last = samples[0]
    for sample in samples[1:]:
        if sample[0] - last[0] >= _SHORTEST_JUDGED_SECONDS:
            pairs.append((last, sample))
            last = sample
    if pairs and last is not samples[-1]:
        pairs[-1] = (pairs[-1][0], samples[-1])
    return pairs


class IdleLog:
    """The power of the idle machine, measured in stretches: before, between and after the runs."""

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
        """Do nothing for `seconds` and note what that took. A meter that fails leaves nothing behind.

        One that lags is waited for first: it still shows what was drawn before.
        """
        before = len(self._watts)
        if self._meter.lag_seconds > 0.0:
            self._sleep(self._meter.lag_seconds)
        for _ in range(_IDLE_PARTS):
            with EnergyRecorder(self._meter, clock=self._clock) as recording:
                self._sleep(seconds / _IDLE_PARTS)
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


def energy_record(
    recording: Recording, idle: IdlePower | None, reference_seconds: float | None = None
) -> dict[str, object]:
    """The `energy` of a row for one stretch. A missing figure is None, with the reason."""
    if recording.unavailable is not None:
        return no_energy(recording.unavailable, recording.source)
    if not recording.joules or not recording.seconds > 0.0:
        return no_energy(
            Unavailable("the run was too short to be metered", "Let it run longer"), recording.source
        )
    of_run = asdict(figures(recording.joules, recording.seconds, idle, reference_seconds))
    return {
        "status": METERED,
        "joules": of_run.pop("run_joules"),
        "reason": None,
        "remedy": None,
        "source": recording.source,
        "total": total_name(recording.domains),
        "domain_joules": dict(recording.domain_joules),
        "platform_joules": platform_joules(recording.domains, recording.domain_joules),
        **of_run,
        "sampler_cpu_seconds": recording.sampler_cpu_seconds,
    }


def no_energy(why: Unavailable, source: str | None = None) -> dict[str, object]:
    """The `energy` of a row without joules."""
    return {
        "status": DOUBTED if why.doubted else UNAVAILABLE,
        "joules": None,
        "reason": why.reason,
        "remedy": why.remedy or None,
        "source": source,
    }


class ClosingExecutor(Executor, Protocol):
    """An executor that holds a process."""

    def close(self) -> None: ...


class MeteredExecutor:
    """Runs through another executor; each result says what it took, or why that is not known.

    The meter is read at the ends and five times a second on the way, so that one that stops is noticed.
    The energy is that of the whole machine or its packages over the whole process, its start and its check
    included.
    """

    def __init__(self, inner: ClosingExecutor, found: Found, idle: IdleLog | None = None) -> None:
        self._inner = inner
        self._found = found
        self._idle = idle or (IdleLog(found.meter) if found.meter is not None else None)
        self._has_run = False

    def run(self, configuration: Configuration, time_limit: float) -> RunResult:
        meter = self._found.meter
        if meter is None:
            result = self._inner.run(configuration, time_limit)
            return msgspec.structs.replace(result, energy=no_energy(self._found.why))
        if self.idle_is_due():
            self.measure_idle()
        with EnergyRecorder(meter) as recording:
            self._has_run = True
            result = self._inner.run(configuration, time_limit)
        if recording.notice is not None:
            warn_once(recording.notice)
        idle = self._idle.power() if self._idle is not None else None
        return msgspec.structs.replace(result, energy=energy_record(recording, idle))

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
        self._inner.close()
        if self._found.meter is not None:
            self._found.meter.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
