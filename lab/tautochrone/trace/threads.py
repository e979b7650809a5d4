"""Samples every thread of a process and of its children from /proc.

A thread's ``schedstat`` has the nanoseconds that it ran and that it waited for a CPU, its ``stat`` its last
CPU. Both files stay open, so that a sample costs two reads a thread. The time between the last sample and a
thread's end is lost: at most one interval.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from tautochrone.energy.meter import Unavailable
from tautochrone.energy.recorder import Recording
from tautochrone.measuring.foreground import Ended
from tautochrone.measuring.sampler import SampledLoad, leave_cpus_of
from tautochrone.schemas.of_executables import Balance
from tautochrone.threads import started

HERTZ = 20.0
MOST_THREADS = 400
"""More are not sampled: each takes two open files."""

LARGEST_OWN_SHARE = 0.006
"""Sampling slows down rather than take more than this share of one CPU."""

_NEW_PROCESSES_EVERY = 5  # samples
_USER_TICKS, _LAST_CPU = 11, 36  # fields of stat after the name
_TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True)
class Slice:
    """One interval of a thread: seconds since the start, how long it ran and waited in it, its last CPU.

    ``wait_seconds`` is None where the kernel has no schedstat.
    """

    begin: float
    end: float
    run_seconds: float
    wait_seconds: float | None
    cpu: int


@dataclass
class ThreadTrack:
    """A thread and all its slices."""

    tid: int
    pid: int
    name: str = ""
    slices: list[Slice] = field(default_factory=list)
    run_seconds: float = 0.0
    wait_seconds: float | None = None

    @property
    def moves(self) -> int:
        """How often two consecutive samples saw it on different CPUs: a lower bound of its migrations."""
        return sum(
            before.cpu != after.cpu for before, after in zip(self.slices, self.slices[1:], strict=False)
        )


def moves_over_time(tracks: Sequence[ThreadTrack]) -> list[tuple[float, int]]:
    """(seconds since the start, number of threads that were on another CPU than before) of each sample."""
    counted = {piece.end: 0 for track in tracks for piece in track.slices}
    for track in tracks:
        for before, after in zip(track.slices, track.slices[1:], strict=False):
            counted[after.end] += before.cpu != after.cpu
    return sorted(counted.items())


@dataclass
class SampledThreads:
    """All threads that were seen, and the CPU time of the sampler."""

    tracks: list[ThreadTrack] = field(default_factory=list)
    samples: int = 0
    seconds: float = 0.0
    left_out: int = 0
    sampler_cpu_seconds: float = 0.0
    error: str | None = None


class _Files:
    """The two files of a thread, open."""

    def __init__(self, folder: str) -> None:
        self.stat = os.open(f"{folder}/stat", os.O_RDONLY | os.O_CLOEXEC)
        self.schedstat: int | None = None
        with suppress(FileNotFoundError):
            self.schedstat = os.open(f"{folder}/schedstat", os.O_RDONLY | os.O_CLOEXEC)

    def close(self) -> None:
        os.close(self.stat)
        if self.schedstat is not None:
            os.close(self.schedstat)


class ThreadSampler:
    """``with ThreadSampler(pid) as sampled: …`` fills ``sampled`` until the block ends.

    ``clock`` and ``wait`` exist for tests: ``wait(seconds)`` returns True when sampling shall stop.
    """

    def __init__(
        self,
        pid: int,
        hertz: float = HERTZ,
        root: Path = Path("/"),
        clock: Callable[[], float] = time.monotonic,
        wait: Callable[[float], bool] | None = None,
    ) -> None:
        self._pid = pid
        self._pids = [pid]
        self._interval_seconds = 1.0 / hertz
        self._proc = str(root / "proc")
        self._clock = clock
        self._stop = threading.Event()
        self._wait = wait or self._stop.wait
        self._sampled = SampledThreads()
        self._open: dict[int, tuple[_Files, ThreadTrack]] = {}
        self._refused: set[int] = set()
        self._ended: threading.Event | None = None

    def __enter__(self) -> SampledThreads:
        self._ended = started(self._sample)
        return self._sampled

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        if self._ended is not None:
            self._ended.wait()

    def _sample(self) -> None:
        began_cpu = time.thread_time()
        began = last = self._clock()
        interval_seconds = self._interval_seconds
        try:
            stopped = False
            while not stopped:
                stopped = self._wait(interval_seconds)
                if self._sampled.samples == 1:
                    leave_cpus_of(self._pid)
                cost = time.thread_time()
                now = self._clock()
                self._take(last - began, now - began)
                last = now
                cost = time.thread_time() - cost
                interval_seconds = max(self._interval_seconds, cost / LARGEST_OWN_SHARE)
        except (OSError, ValueError, IndexError) as error:
            self._sampled.error = f"the threads could not be sampled: {error}"
        for files, _ in self._open.values():
            files.close()
        self._sampled.seconds = last - began
        self._sampled.left_out = len(self._refused)
        self._sampled.sampler_cpu_seconds = time.thread_time() - began_cpu

    def _take(self, begin: float, end: float) -> None:
        if self._sampled.samples % _NEW_PROCESSES_EVERY == 0:
            self._find_processes()
        self._sampled.samples += 1
        for pid in list(self._pids):
            try:
                tids = [int(name) for name in os.listdir(f"{self._proc}/{pid}/task")]  # noqa: PTH208
            except OSError:
                self._pids.remove(pid)
                continue
            for tid in tids:
                if tid not in self._open and tid not in self._refused:
                    self._add(pid, tid)
        for tid in list(self._open):
            self._read(tid, begin, end)

    def _find_processes(self) -> None:
        """Children of known processes; appended while the list is walked, so grandchildren are found too."""
        for pid in self._pids:
            folder = f"{self._proc}/{pid}/task"
            with suppress(OSError):
                for tid in os.listdir(folder):  # noqa: PTH208
                    with suppress(OSError), open(f"{folder}/{tid}/children") as file:  # noqa: PTH123
                        self._pids += [
                            child for word in file.read().split() if (child := int(word)) not in self._pids
                        ]

    def _add(self, pid: int, tid: int) -> None:
        if len(self._open) >= MOST_THREADS:
            self._refused.add(tid)
            return
        with suppress(FileNotFoundError, ProcessLookupError):
            track = ThreadTrack(tid, pid)
            self._open[tid] = (_Files(f"{self._proc}/{pid}/task/{tid}"), track)
            self._sampled.tracks.append(track)

    def _read(self, tid: int, begin: float, end: float) -> None:
        files, track = self._open[tid]
        try:
            stat = os.pread(files.stat, 1024, 0)
            _, _, tail = stat.rpartition(b")")
            words = tail.split(None, _LAST_CPU + 1)
            cpu = int(words[_LAST_CPU])
            wait_seconds = None
            if files.schedstat is None:
                run_seconds = (int(words[_USER_TICKS]) + int(words[_USER_TICKS + 1])) / _TICKS
            else:
                ran_ns, waited_ns, _ = os.pread(files.schedstat, 128, 0).split(None, 2)
                run_seconds, wait_seconds = int(ran_ns) / 1e9, int(waited_ns) / 1e9
            if not track.name or self._sampled.samples % _NEW_PROCESSES_EVERY == 0:
                track.name = _name(stat)
        except (ProcessLookupError, IndexError, ValueError):  # it has ended
            files.close()
            del self._open[tid]
            return
        span = end - begin
        # Of what a thread ran before its first sample, no more than the interval is drawn.
        ran = min(run_seconds - track.run_seconds, span)
        waited = None if wait_seconds is None else min(wait_seconds - (track.wait_seconds or 0.0), span)
        track.slices.append(Slice(begin, end, ran, waited, cpu))
        track.run_seconds, track.wait_seconds = run_seconds, wait_seconds


def _name(stat: bytes) -> str:
    """The name in ``/proc/PID/task/TID/stat``, which may hold anything, brackets too."""
    return stat.rpartition(b")")[0].partition(b"(")[2].decode(errors="replace")


@dataclass(frozen=True)
class Traced:
    """A run with everything that was sampled during it."""

    command: tuple[str, ...]
    ended: Ended
    threads: SampledThreads
    load: SampledLoad
    energy: Recording | None
    migrations: int | None  # as the kernel counted them
    cpus: tuple[int, ...]
    meterless: Unavailable | None = None  # why no meter was read at all
    balance: Balance | None = None  # what tauto balance did, where it started the command

    @property
    def no_joules(self) -> Unavailable | None:
        """Why there are no joules; None where there are."""
        return self.meterless if self.energy is None else self.energy.unavailable

    @property
    def sampler_cpu_seconds(self) -> float:
        """The CPU time of all samplers together."""
        metering = self.energy.sampler_cpu_seconds if self.energy is not None else 0.0
        return self.threads.sampler_cpu_seconds + self.load.sampler_cpu_seconds + metering
