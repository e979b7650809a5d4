"""The load and the clock of each CPU over time, sampled from a thread while something else runs.

Busy time comes from ``/proc/stat`` (jiffies: at 10 Hz a sample resolves about 10 %), the clock from
cpufreq's ``scaling_cur_freq``, which virtual machines usually lack: then ``hertz`` is None, never 0. Sampling
is itself a load, so it is slow (10 Hz), is used only after the measured rounds, and counts its own CPU
seconds.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from tautochrone.threads import started

CpuTimes = Mapping[int, tuple[int, int]]
"""For each CPU the jiffies since boot that it was busy, and all of them."""

_IDLE_FIELDS = (3, 4)  # idle, iowait
_GUEST_FIELDS = (8, 9)  # guest, guest_nice: the kernel counts them in user and nice already


@dataclass(frozen=True, slots=True)
class LoadSample:
    """One CPU over one interval that ends ``seconds`` after sampling began."""

    cpu: int
    seconds: float
    busy: float  # 0 … 1
    hertz: float | None = None


@dataclass(slots=True)
class SampledLoad:
    """All samples of one run, and what taking them cost this process."""

    samples: list[LoadSample] = field(default_factory=list)
    sampler_cpu_seconds: float = 0.0
    error: str | None = None


def parse_cpu_times(text: str) -> dict[int, tuple[int, int]]:
    """Busy and total jiffies of each CPU from the text of ``/proc/stat``; steal counts as busy for others."""
    times: dict[int, tuple[int, int]] = {}
    for line in text.splitlines():
        name, _, rest = line.partition(" ")
        if not (name.startswith("cpu") and name[3:].isdigit()):
            continue
        fields = [int(word) for word in rest.split()]
        total = sum(value for index, value in enumerate(fields) if index not in _GUEST_FIELDS)
        idle = sum(fields[index] for index in _IDLE_FIELDS if index < len(fields))
        times[int(name[3:])] = (total - idle, total)
    return times


def busy_shares(before: CpuTimes, after: CpuTimes, cpus: Iterable[int]) -> dict[int, float]:
    """The busy part of the time between two readings; a CPU whose counters did not move is left out."""
    shares: dict[int, float] = {}
    for cpu in cpus:
        if cpu not in before or cpu not in after:
            continue
        total = after[cpu][1] - before[cpu][1]
        if total > 0:
            shares[cpu] = min(1.0, max(0.0, (after[cpu][0] - before[cpu][0]) / total))
    return shares


def read_hertz(cpu: int, root: Path = Path("/")) -> float | None:
    """The clock that cpufreq reports for a CPU now, or None where there is no cpufreq."""
    path = root / f"sys/devices/system/cpu/cpu{cpu}/cpufreq/scaling_cur_freq"
    try:
        return float(path.read_text()) * 1e3  # the file is in kHz
    except (OSError, ValueError):
        return None


class CpuSampler:
    """``with CpuSampler([0, 1]) as load: …`` fills ``load`` with samples until the block ends.

    A reading that fails ends the sampling and stands in ``load.error``; the block itself is never disturbed.
    ``wait`` and ``clock`` exist for tests: ``wait(seconds)`` returns True when sampling shall stop.
    """

    def __init__(
        self,
        cpus: Iterable[int],
        interval_seconds: float = 0.1,
        root: Path = Path("/"),
        clock: Callable[[], float] = time.monotonic,
        wait: Callable[[float], bool] | None = None,
    ) -> None:
        self._cpus = tuple(cpus)
        self._interval_seconds = interval_seconds
        self._root = root
        self._clock = clock
        self._stop = threading.Event()
        self._wait = wait or self._stop.wait
        self._load = SampledLoad()
        self._ended: threading.Event | None = None

    def __enter__(self) -> SampledLoad:
        self._ended = started(self._sample)
        return self._load

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        if self._ended is not None:
            self._ended.wait()

    def _sample(self) -> None:
        began_cpu = time.thread_time()
        try:
            began = self._clock()
            before = self._read()
            stopped = False
            while not stopped:
                stopped = self._wait(self._interval_seconds)
                before = self._take(before, self._clock() - began)
        except (OSError, ValueError, IndexError) as error:
            self._load.error = f"the load of the CPUs could not be read: {error}"
        self._load.sampler_cpu_seconds = time.thread_time() - began_cpu

    def _read(self) -> CpuTimes:
        return parse_cpu_times((self._root / "proc/stat").read_text())

    def _take(self, before: CpuTimes, seconds: float) -> CpuTimes:
        after = self._read()
        for cpu, busy in busy_shares(before, after, self._cpus).items():
            self._load.samples.append(LoadSample(cpu, seconds, busy, read_hertz(cpu, self._root)))
        return after


# -- a CPU for the thread that samples --


def quiet_cpu(measured: Iterable[int]) -> int | None:
    """The last CPU that this process may use and the measured program may not; None where there is none."""
    busy = set(measured)
    return max(os.sched_getaffinity(0) - busy, default=None) if busy else None


def leave_cpus_of(pid: int) -> int | None:
    """Move the calling thread off the CPUs that a process may use; returns where to, None if it stays."""
    with suppress(OSError):
        cpu = quiet_cpu(os.sched_getaffinity(pid))
        if cpu is not None:
            os.sched_setaffinity(0, {cpu})  # of this thread alone
        return cpu
    return None
