"""The record of a machine, schema ``tautochrone.machine/1``, as ``tauto-probe`` writes it.

Units are in the names. A value that was not found or not measured is None, never 0.
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping
from typing import Any

import msgspec

from tautochrone.errors import TautoError
from tautochrone.results.row import MACHINE_SCHEMA
from tautochrone.results.store import Store


class Cpu(msgspec.Struct, frozen=True, kw_only=True):
    """One hardware thread. ``core`` is unique in the machine; ``smt_siblings``: the core's others."""

    cpu: int
    core: int
    package: int
    numa: int
    kind: str
    smt_siblings: tuple[int, ...] = ()
    capacity: int | None = None
    max_hertz: float | None = None
    allowed: bool = True
    l1d_bytes: int | None = None
    l2_bytes: int | None = None
    l3_bytes: int | None = None


class Kind(msgspec.Struct, frozen=True, kw_only=True):
    """Cores of one kind: "P", "E" or "LP"; "core" if all are equal. A machine's fastest kind is first."""

    kind: str
    cpus: tuple[int, ...]
    hardware_threads_per_core: int = 1


class Cache(msgspec.Struct, frozen=True, kw_only=True):
    """One cache and the CPUs that share it."""

    level: int
    type: str
    size_bytes: int
    line_bytes: int
    cpus: tuple[int, ...]


class NumaNode(msgspec.Struct, frozen=True, kw_only=True):
    """A NUMA node: memory and the CPUs close to it."""

    node: int
    cpus: tuple[int, ...]
    memory_bytes: int


class SlowedCpu(msgspec.Struct, frozen=True, kw_only=True):
    """A CPU that ``tauto emulate`` makes ``factor`` times slower."""

    cpu: int
    factor: float


class Availability(msgspec.Struct, frozen=True, kw_only=True):
    """Whether something is "available", "unavailable", or "unproven" (listed but not tested)."""

    status: str
    reason: str | None = None
    remedy: str | None = None


class EnergyMeter(msgspec.Struct, frozen=True, kw_only=True):
    """An energy meter that the system lists."""

    name: str
    source: str
    path: str
    status: str
    reason: str | None = None
    remedy: str | None = None


class MeasuredCpu(msgspec.Struct, frozen=True, kw_only=True):
    """The speeds of one CPU and how much it was interrupted.

    Gaps between two readings of the clock: the largest in each millisecond, and of these the maximum and the
    99th percentile.
    """

    cpu: int
    compute_per_second: float | None = None
    hash_bytes_per_second: float | None = None
    cache_bytes_per_second: float | None = None
    memory_bytes_per_second: float | None = None
    noise_largest_gap_seconds: float | None = None
    noise_p99_gap_seconds: float | None = None
    steal_fraction: float | None = None


class TriadPoint(msgspec.Struct, frozen=True, kw_only=True):
    """Memory bandwidth of the given number of members together, 24 bytes an element as in STREAM."""

    members: int
    bytes_per_second: float | None


class ReadPoint(msgspec.Struct, frozen=True, kw_only=True):
    """How fast rows of the loop study's matrix are read repeatedly.

    ``kind``: of the core; None if all cores read together. ``bytes``: the sets of all members together.
    ``rows_at_once``: rows in one call of the loop's body. ``pause_seconds``: the sum of the pauses between
    the calls that read the set once.
    """

    kind: str | None
    members: int
    rows_at_once: int
    bytes: int
    bytes_per_second: float | None
    pause_seconds: float = 0.0


class StreamPoint(msgspec.Struct, frozen=True, kw_only=True):
    """What the first core reads of memory, a line of each stream in turn.

    ``spacing_bytes``: from one stream to the next, a power of two, or that and 17 lines; None with one.
    """

    streams: int
    spacing_bytes: int | None
    bytes_per_second: float | None


class CountedLines(msgspec.Struct, frozen=True, kw_only=True):
    """What a counter counts for each line that the first core reads of memory.

    ``sequential``: one line after the other, which are prefetched. ``scattered``: lines that nobody foresees.
    """

    event: str  # as perf names it, with underscores
    sequential: float
    scattered: float


class ForkJoin(msgspec.Struct, frozen=True, kw_only=True):
    """Seconds of a parallel loop besides its work, on one hardware thread of each core."""

    tautochrone: float | None = None
    libgomp: float | None = None
    libomp: float | None = None


class Dequeue(msgspec.Struct, frozen=True, kw_only=True):
    """Seconds that a member takes to get one chunk of schedule(dynamic) while all members do the same."""

    libgomp: float | None = None
    libomp: float | None = None


class FutexWake(msgspec.Struct, frozen=True, kw_only=True):
    """Seconds that the waking system call takes, and seconds until the sleeper runs."""

    waker: float | None = None
    wakee: float | None = None


class Move(msgspec.Struct, frozen=True, kw_only=True):
    """Seconds that a thread loses by a change of CPU, with ``bytes`` that it updates again and again."""

    from_cpu: int = msgspec.field(name="from")
    to_cpu: int = msgspec.field(name="to")
    bytes: int
    seconds: float


class Measured(msgspec.Struct, frozen=True, kw_only=True):
    """The measurements. ``latency_seconds``: one way, between the CPUs in the order of ``cpus``."""

    when: str
    cpus: tuple[MeasuredCpu, ...]
    effort: str | None = None
    elapsed_seconds: float | None = None
    triad: tuple[TriadPoint, ...] = ()
    triad_array_bytes: int | None = None
    reads: tuple[ReadPoint, ...] = ()
    streams: tuple[StreamPoint, ...] = ()
    counted_lines: tuple[CountedLines, ...] = ()  # none where nothing can be counted
    latency_seconds: tuple[tuple[float | None, ...], ...] = ()
    round_trip_seconds: float | None = None
    fork_join_members: int | None = None
    fork_join_seconds: ForkJoin = ForkJoin()  # of an empty loop, warmed up
    fork_join_cold_seconds: ForkJoin = ForkJoin()  # of a loop whose members read more than their L2 holds
    dequeue_seconds: Dequeue = Dequeue()
    barrier_seconds: float | None = None
    futex_wake_seconds: FutexWake | None = None
    moves: tuple[Move, ...] = ()
    notes: tuple[str, ...] = ()

    def lost_by_moves(self) -> dict[int, float]:
        """For each number of bytes, ascending, the median of the seconds that a change of CPU costs."""
        sizes = sorted({move.bytes for move in self.moves})
        return {
            size: statistics.median(move.seconds for move in self.moves if move.bytes == size)
            for size in sizes
        }


class Machine(msgspec.Struct, frozen=True, kw_only=True):
    """A machine, and what this process may use of it."""

    schema: str = MACHINE_SCHEMA
    machine: str
    name: str
    cpu_model: str
    architecture: str
    kernel: str
    hypervisor: str | None = None
    container: bool = False
    emulated: tuple[SlowedCpu, ...] | None = None
    cpus: tuple[Cpu, ...]
    kinds: tuple[Kind, ...]
    kind_source: str | None = None
    caches: tuple[Cache, ...] = ()
    numa: tuple[NumaNode, ...] = ()
    allowed_cpus: tuple[int, ...]
    offline_cpus: tuple[int, ...] = ()
    quota_cpus: float | None = None
    quota_source: str | None = None
    cpuset: tuple[int, ...] | None = None
    cpuset_source: str | None = None
    usable_members: int
    memory_bytes: int
    available_memory_bytes: int
    memory_limit_bytes: int | None = None
    governor: str | None = None
    frequency_driver: str | None = None
    energy_performance_preference: str | None = None
    platform_profile: str | None = None
    turbo: bool | None = None
    smt_active: bool | None = None
    counters: Availability
    energy_meters: tuple[EnergyMeter, ...] = ()
    energy: Availability
    measured: Measured | None = None

    def cpu(self, number: int) -> Cpu:
        """The record of a CPU. Raises KeyError for an unknown number."""
        return {cpu.cpu: cpu for cpu in self.cpus}[number]

    def cores(self, kind: Kind) -> int:
        return len({cpu.core for cpu in self.cpus if cpu.kind == kind.kind})

    def to_dict(self) -> dict[str, Any]:
        """The record for stores and reports, as plain lists and dictionaries."""
        record: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(self))
        return record


def machine_of(store: Store) -> Mapping[str, Any]:
    """The machine's record in a store; empty where a kill came before it. TautoError for one that is none."""
    for record in store.machines:
        try:
            msgspec.convert(record, Machine)
        except ValueError as error:  # msgspec's is one
            raise TautoError(
                f"a record of the machine in {store.path} is none: {error}",
                "Restore the file from a copy, or begin anew with --fresh",
            ) from error
    return store.machine
