"""What is compared for one workload in one state of the machine: runtimes, schedules, thread counts."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tautochrone import text
from tautochrone.errors import TautoError
from tautochrone.machine.placements import Layout, Placement
from tautochrone.machine.runners import Peer, PeerState
from tautochrone.measuring.configuration import Configuration
from tautochrone.options import State, state_text, words_of
from tautochrone.results.states import state_suffix
from tautochrone.studies.request import Times
from tautochrone.studies.setup import RunnerSetup, joined_label

# -- the work: a number of tasks of one length --

LARGEST_TASKS = 1_000_000
LARGEST_BYTES = 1_000_000_000  # of one task: about a second
_BYTES = {"B": 1, "kB": 1000, "MB": 1_000_000}
_IN_A_SECOND = {"us": 1e6, "µs": 1e6, "ms": 1e3}
_STEPS = (1.0, 1.25, 1.6, 2.0, 2.5, 3.15, 4.0, 5.0, 6.3, 8.0)  # preferred numbers, ISO 3 series R10


@dataclass(frozen=True, slots=True)
class Workload:
    """``tasks`` tasks, each of a length in bytes or in seconds; the other is None."""

    tasks: int
    bytes: int | None = None
    seconds: float | None = None

    @property
    def length(self) -> str:
        """The length as it was asked for: "400 kB", "10 µs"."""
        if self.seconds is not None:
            unit = "µs" if self.seconds < 1e-3 else "ms"
            return f"{self.seconds * _IN_A_SECOND[unit]:g} {unit}"
        return _size_words(self.bytes or 0)

    @property
    def name(self) -> str:
        """For people: "50 × 400 kB"."""
        return f"{self.tasks} × {self.length}"


def _size_words(size: int) -> str:
    """In the largest unit that suits: the published 1000 and 3000 kB stay so."""
    for unit, least in (("MB", 10_000_000), ("kB", 1000)):
        if size >= least:
            return f"{size / _BYTES[unit]:g} {unit}"
    return f"{size:g} B"


@dataclass(frozen=True, slots=True)
class SizedWorkload:
    """A workload whose tasks are known in bytes; ``task_seconds`` is the guess from the probe."""

    workload: Workload
    bytes: int
    task_seconds: float

    @property
    def tasks(self) -> int:
        return self.workload.tasks

    @property
    def name(self) -> str:
        return self.workload.name

    @property
    def serial_seconds(self) -> float:
        """About how long one repetition takes on one thread."""
        return self.tasks * self.task_seconds


PUBLISHED = tuple(Workload(50, bytes=kilobytes * 1000) for kilobytes in (400, 1000, 3000))
SHORT = tuple(Workload(tasks, seconds=us / 1e6) for tasks in (50, 500) for us in (1, 10, 100))
QUICK = (*SHORT[:3], PUBLISHED[0])


def parse_workloads(text: str) -> tuple[Workload, ...]:
    """``"50x400kB,500x10us"`` → the workloads. Raises TautoError for what is none."""
    return tuple(dict.fromkeys(_parse(word) for word in words_of(text, "--tasks")))


def _parse(word: str) -> Workload:
    match = re.fullmatch(r"([0-9]{1,9})[x×]([0-9]+(?:\.[0-9]+)?)(B|kB|MB|us|µs|ms)", word)
    if match is None:
        raise TautoError(
            f"{word!r} is not NxLENGTH",
            "Write 50x400kB for 50 tasks of 400 kB, 500x10us for 500 tasks of 10 µs (B, kB, MB, us, ms)",
        )
    tasks, amount, unit = int(match.group(1)), float(match.group(2)), match.group(3)
    if not 1 <= tasks <= LARGEST_TASKS:
        raise TautoError(f"{word!r} asks for {tasks} tasks", f"Ask for 1 to {LARGEST_TASKS}")
    if unit in _IN_A_SECOND:
        seconds = amount / _IN_A_SECOND[unit]
        if not 1e-7 <= seconds <= 1.0:
            raise TautoError(f"a task of {word!r} is too short or too long", "A task takes 0.1us to 1000ms")
        return Workload(tasks, seconds=seconds)
    size = round(amount * _BYTES[unit])
    if not 1 <= size <= LARGEST_BYTES:
        raise TautoError(f"a task of {word!r} has {size} bytes", "A task has 1B to 1000MB")
    return Workload(tasks, bytes=size)


def sized(workload: Workload, seconds_per_byte: float) -> SizedWorkload:
    """The workload in bytes, from how long one byte takes here.

    Lengths in seconds are rounded to preferred numbers (steps of a quarter), so that two sessions whose
    probes differ by some per cent measure the same work and can be compared.
    """
    size = workload.bytes or 0
    if workload.seconds is not None:
        size = max(1, round(preferred(workload.seconds / seconds_per_byte)))
    return SizedWorkload(workload, size, size * seconds_per_byte)


def preferred(value: float) -> float:
    """The nearest preferred number: 963 → 1000, 1180 → 1250."""
    exponent = math.floor(math.log10(value))
    candidates = [step * 10.0**power for power in (exponent, exponent + 1) for step in _STEPS]
    return min(candidates, key=lambda candidate: abs(math.log(candidate / value)))


def sized_all(workloads: tuple[Workload, ...], seconds_per_byte: float) -> tuple[SizedWorkload, ...]:
    """All in bytes, without repeats: two lengths may round to the same bytes."""
    distinct = {
        (work.tasks, work.bytes): work
        for work in (sized(workload, seconds_per_byte) for workload in reversed(workloads))
    }
    return tuple(sorted(distinct.values(), key=lambda work: (work.tasks, work.bytes)))


# -- the ways to share it out --

PEERS: tuple[Peer, ...] = (
    Peer("serial", "serial", "the plain serial loop", "", "serial", "mapreduce"),
    Peer("qt", "qt", "QtConcurrent", "qt6-base-dev", "unordered", "mapreduce"),
    Peer("tbb", "tbb", "oneTBB", "libtbb-dev", "auto", "mapreduce"),
    Peer("libgomp", "openmp", "OpenMP on GCC's libgomp", "libgomp1", "dynamic", "mapreduce"),
    Peer("libomp", "openmp", "OpenMP on LLVM's libomp", "libomp5", "dynamic", "mapreduce"),
    Peer("stdpar", "stdpar", "std::execution::par", "libtbb-dev", "par", "mapreduce"),
    Peer("async", "async", "std::async", "", "async", "mapreduce"),
    Peer("tautochrone", "tautochrone", "tautochrone", "", "adaptive", "mapreduce"),
)

# Of a run, beside warming up and timing: a process with its libraries and threads, one task timed alone, the
# repetitions that are accounted for, and filling the bytes to hash.
_START_SECONDS = 0.03
_TASK_ALONE_SECONDS = 0.07
_ACCOUNTED_SECONDS = 0.05
_FILLING_SECONDS_PER_BYTE = 5e-9
_LARGEST_BUFFER_BYTES = 8_000_000
_WARMUPS, _BATCHES = 2, 3  # repetitions at least, however long one is; accounted for are three as well


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate(RunnerSetup):
    """One way to run the tasks; there may be more threads than CPUs."""

    threads: int

    @property
    def workers(self) -> int:
        return self.threads

    @property
    def label(self) -> str:
        """For people: "qt ordered, 4 threads"."""
        return label(self.peer, self.schedule, self.chunk, self.threads, self.wait)


def label(peer: str, schedule: str, chunk: int | None, threads: int, wait: str) -> str:
    width = "" if peer == "serial" else text.count(threads, "thread")
    return joined_label(peer, schedule, "" if chunk is None else f"chunk {chunk}", width, wait=wait)


def candidates(
    states: Sequence[PeerState], layout: Layout, counts: Sequence[int], *, quick: bool = False
) -> list[Candidate]:
    """Everything to compare: each runtime's default on every number of threads, the serial loop once.

    A full study adds each runtime's other schedules, and waiting in a spin where that can be chosen, with
    all CPUs and with more threads than CPUs.
    """
    cpus = cpus_in_order(layout)
    chosen: list[Candidate] = []
    for state in states:
        if not state.present:
            continue
        default = state.peer.default_schedule
        of_peer = [1] if state.peer.name == "serial" else counts
        chosen += [_candidate(state, default, layout, count) for count in of_peer]
        if not quick and state.peer.name != "serial":
            wide = [count for count in counts if count >= len(cpus)]
            chosen += [other for count in wide for other in _others(state, layout, count)]
    return chosen


def cpus_in_order(layout: Layout) -> tuple[int, ...]:
    """All CPUs: one hardware thread of each core first, fast cores before slow ones, then the others."""
    first = layout.placement("cores").cpus
    return (*first, *(cpu for cpu in layout.placement("all").cpus if cpu not in first))


def _candidate(
    state: PeerState, schedule: str, layout: Layout, threads: int, wait: str = "default"
) -> Candidate:
    placement = _placement(layout, threads)
    return Candidate(state=state, schedule=schedule, wait=wait, placement=placement, threads=threads)


def _placement(layout: Layout, threads: int) -> Placement:
    """The first CPUs, one a thread as long as there are any."""
    kinds = {cpu.number: cpu.kind for cpu in layout.fast + layout.slow}
    cpus = cpus_in_order(layout)[:threads]
    name = "all" if len(cpus) == len(kinds) else f"first {len(cpus)}"
    return Placement(name, cpus, Counter(kinds[cpu] for cpu in cpus))


def _others(state: PeerState, layout: Layout, threads: int) -> Iterator[Candidate]:
    """What a runtime offers beside its default, with its own chunk."""
    description = state.description
    if description is None:
        return
    default = state.peer.default_schedule
    for schedule in description.schedules:
        if schedule != default:
            yield _candidate(state, schedule, layout, threads)
    if "active" in description.wait_policies and state.peer.name != "tautochrone":
        yield _candidate(state, default, layout, threads, "active")


@dataclass(frozen=True, slots=True)
class StudyCell:
    """One workload on one state of the machine, and all that is compared there."""

    work: SizedWorkload
    state: State
    layout: Layout
    candidates: tuple[Candidate, ...]


def configuration(cell: StudyCell, candidate: Candidate, times: Times) -> Configuration:
    work = cell.work
    return candidate.configuration(
        f"{candidate.label}, {work.name}{state_suffix(cell.state)}",
        f"tasks={work.tasks},bytes={work.bytes},emulated={state_text(cell.state)}",
        times,
        arguments=["--tasks", str(work.tasks), "--bytes", str(work.bytes)],
        settings={"tasks": work.tasks, "bytes": work.bytes, "length": work.workload.length},
        emulation=cell.state,
    )


def estimated_run_seconds(work: SizedWorkload, times: Times) -> float:
    """What one run takes, roughly: for the sentence before the study and for the time limit.

    On one thread; on several it is less where the tasks are long.
    """
    serial = work.serial_seconds
    filling = _FILLING_SECONDS_PER_BYTE * min(_LARGEST_BUFFER_BYTES, work.tasks * work.bytes)
    timed = max(times.warmup_seconds, _WARMUPS * serial) + max(times.timed_seconds, _BATCHES * serial)
    accounted = max(_ACCOUNTED_SECONDS, _BATCHES * serial)
    return _START_SECONDS + filling + serial + _TASK_ALONE_SECONDS + timed + accounted
