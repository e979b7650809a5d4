"""Joules of one stretch of time: read at both ends, and in between for the timeline and against overflow."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from tautochrone.energy.counter import REREAD_SECONDS
from tautochrone.energy.meter import Domain, Meter, MeterError, Unavailable, total_joules
from tautochrone.quiet_cpu import leave_cpus_of

TIMELINE_SECONDS = 0.2
"""Five readings a second: faster ones are a load themselves, and power sensors are slower anyway."""

# A counter is brought up to date about once in a millisecond, so over a short stretch watts are not a figure.
_SHORTEST_JUDGED_SECONDS = 0.05


@dataclass
class Recording:
    """What one stretch took. ``samples``: seconds since its start, and the joules of each domain until then.

    ``joules`` holds the total of the domains that may be added (`meter.counted`); it is None with a reason in
    ``unavailable``.
    """

    source: str
    domains: tuple[Domain, ...]
    samples: list[tuple[float, Mapping[str, float]]] = field(default_factory=list)
    seconds: float = 0.0
    joules: float | None = None
    domain_joules: Mapping[str, float] = field(default_factory=dict)
    unavailable: Unavailable | None = None
    sampler_cpu_seconds: float = 0.0
    sampler_cpu: int | None = None

    def watts(self) -> list[tuple[float, float]]:
        """(seconds since the start, mean watts since the sample before) of the total."""
        found: list[tuple[float, float]] = []
        for (begin, before), (end, after) in zip(self.samples, self.samples[1:], strict=False):
            first, last = total_joules(self.domains, before), total_joules(self.domains, after)
            if first is not None and last is not None and end > begin:
                found.append((end, (last - first) / (end - begin)))
        return found


class EnergyRecorder:
    """``with EnergyRecorder(meter) as recording: …``; the recording is complete when the block has ended.

    A reading that fails or cannot be true makes the energy of this stretch unavailable, and nothing else.
    ``watched``: the process that is measured; the thread that reads leaves its CPUs if it may.
    ``wait(seconds)`` returns True when it shall stop; tests put in their own, as they do for the clock.
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
        self._thread = threading.Thread(target=self._sample, name="tauto-energy", daemon=True)
        self._first: Mapping[str, float] = {}
        self._began = 0.0
        self._own_cpu_seconds = 0.0

    def __enter__(self) -> Recording:
        before = time.thread_time()
        self._began = self._clock()
        try:
            self._first = self._meter.read()
            self._recording.samples.append((0.0, dict.fromkeys(self._first, 0.0)))
            self._thread.start()
        except MeterError as error:
            self._recording.unavailable = error.unavailable
        self._own_cpu_seconds += time.thread_time() - before
        return self._recording

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        if self._thread.ident is not None:
            self._thread.join()
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
            found = self._meter.read()
        except MeterError as error:
            self._recording.unavailable = error.unavailable
            return
        joules = {name: value - self._first[name] for name, value in found.items()}
        self._recording.samples.append((self._clock() - self._began, joules))


def _doubt(recording: Recording) -> Unavailable | None:
    """No stretch between two readings may show a negative power, or more than three times the TDP."""
    limits = {one.name: one.largest_watts for one in recording.domains}
    for (begin, before), (end, after) in _pairs(recording.samples):
        for name, limit in limits.items():
            watts = (after[name] - before[name]) / (end - begin)
            if not 0.0 <= watts <= limit:
                return Unavailable(
                    f"{recording.source} {name} showed {watts:.0f} W at second {end:.1f} of the run, outside "
                    f"0 … {limit:.0f} W",
                    "Measure again; if it comes back, use another meter",
                )
    return None


Sample = tuple[float, Mapping[str, float]]


def _pairs(samples: Sequence[Sample]) -> list[tuple[Sample, Sample]]:
    """Neighbours that are far enough apart for their watts to mean something; the last one is always in."""
    found: list[tuple[Sample, Sample]] = []
    last = samples[0]
    for sample in samples[1:]:
        if sample[0] - last[0] >= _SHORTEST_JUDGED_SECONDS:
            found.append((last, sample))
            last = sample
    if found and last is not samples[-1]:
        found[-1] = (found[-1][0], samples[-1])
    return found
