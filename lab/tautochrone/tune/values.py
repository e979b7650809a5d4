"""Values of knobs that depend on the machine, and which of them an expert would choose."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from tautochrone.inspection.findings import Findings
from tautochrone.machine.placements import Cpu, Layout, cpus_of, layout, one_a_core
from tautochrone.machine.record import Machine
from tautochrone.options import format_cpus

UNEQUAL_FACTOR = 1.15
"""CPUs are unequal if the fastest is faster than the slowest by this factor: below it noise decides."""

_MOST_THREADS_A_CPU = 4
_CLOSE_TO_BEST = 0.02
_LADDER = (2, 3, 4, 6, 8)
_WIDEST_LADDER = 2.0
_CHUNKS = (1, 4, 16, 64)


@dataclass(frozen=True)
class Place:
    """The machine for which values are made. ``speeds``: relative, the fastest CPU 1; None: not measured.

    ``usable``: how many of the CPUs a quota allows at a time.
    """

    layout: Layout
    usable: int
    speeds: Mapping[int, float] | None

    @property
    def cpus(self) -> tuple[Cpu, ...]:
        """The usable CPUs, fast ones first."""
        return self.layout.fast + self.layout.slow

    @property
    def numbers(self) -> tuple[int, ...]:
        """Their numbers, fastest first."""
        speeds = self.speeds or {}
        return tuple(sorted((cpu.number for cpu in self.cpus), key=lambda cpu: -speeds.get(cpu, 1.0)))

    @property
    def one_a_core(self) -> tuple[int, ...]:
        return tuple(cpu.number for cpu in one_a_core(self.cpus))

    @property
    def fast_cores(self) -> tuple[int, ...]:
        return tuple(cpu for cpu in self.one_a_core if cpu in self.fast)

    @property
    def in_turn(self) -> tuple[int, ...]:
        """All CPUs, the most useful first: one of each core, fast cores before slow ones, then the others."""
        cores = sorted(self.one_a_core, key=self.numbers.index)
        return (*cores, *(cpu for cpu in self.numbers if cpu not in cores))

    @property
    def threads_a_core(self) -> int:
        """Hardware threads of a core, the fewest where cores differ."""
        return len(self.numbers) // max(1, len(self.one_a_core))

    @property
    def fast(self) -> tuple[int, ...]:
        """The CPUs that are about as fast as the fastest: by measurement, else by kind."""
        if self.speeds:
            return tuple(cpu for cpu in self.numbers if self.speeds.get(cpu, 1.0) * UNEQUAL_FACTOR >= 1.0)
        return tuple(cpu.number for cpu in self.layout.fast)

    @property
    def unequal(self) -> bool:
        """Whether there are slow CPUs beside fast ones."""
        return len(self.fast) < len(self.numbers)


def place_of(machine: Machine) -> Place:
    """The machine's CPUs that may be used, with their measured speeds where there are any."""
    record = machine.to_dict()
    cpus, _ = cpus_of(record)
    slowed = {cpu.cpu: cpu.factor for cpu in machine.emulated or ()}
    return Place(layout(cpus, slowed), machine.usable_members, _speeds(machine))


def _speeds(machine: Machine) -> Mapping[int, float] | None:
    if machine.measured is None:
        return None
    speeds = {
        cpu.cpu: cpu.compute_per_second for cpu in machine.measured.cpus if cpu.compute_per_second is not None
    }
    fastest = max(speeds.values(), default=0.0)
    return {cpu: speed / fastest for cpu, speed in speeds.items()} if fastest > 0 else None


def values_of(maker: str | Sequence[str], place: Place) -> tuple[str, ...]:
    """The values of a knob: its list, or what the maker of that name gives."""
    return MAKERS[maker](place) if isinstance(maker, str) else tuple(maker)


def threads(place: Place) -> tuple[str, ...]:
    """1, powers of two, the fast CPUs, the fast cores, all cores, and what a quota allows."""
    most = place.usable
    counts = {1, len(place.fast), len(place.fast_cores), len(place.one_a_core), most}
    counts |= {1 << power for power in range(most.bit_length()) if (1 << power) <= most}
    return tuple(str(count) for count in sorted(counts) if count <= most)


def places(place: Place) -> tuple[str, ...]:
    """Cores, hardware threads where they differ, the fast CPUs where there are slow ones."""
    values = ["cores"]
    if place.layout.has_smt:
        values.append("threads")
    if place.unequal:
        values.append(",".join(f"{{{cpu}}}" for cpu in sorted(place.fast)))
    return tuple(values)


def schedules(place: Place) -> tuple[str, ...]:
    chunked = [f"dynamic,{chunk}" for chunk in _CHUNKS]
    return ("static", *chunked, "guided", "guided,16", "static,1", "static,16")


def cpu_sets(place: Place) -> tuple[str, ...]:
    """One kind of core, one CPU of each core, what a quota allows, half of the cores, one CPU."""
    slow = tuple(cpu for cpu in place.numbers if cpu not in place.fast)
    counts = (place.usable, len(place.one_a_core) // 2, 1)
    sets = [
        place.fast,
        place.fast_cores,
        place.one_a_core,
        slow,
        *(place.in_turn[:count] for count in counts),
    ]
    return _as_texts(sets, place)


def first_cpus(counts: Sequence[str], place: Place) -> tuple[str, ...]:
    """A set of each of these sizes, one CPU of each core first; not all CPUs, which is the default."""
    return _as_texts([place.in_turn[: int(count)] for count in counts if count.isdecimal()], place)


def _as_texts(sets: Sequence[Sequence[int]], place: Place) -> tuple[str, ...]:
    texts = [format_cpus(cpus) for cpus in sets if 0 < len(cpus) < len(place.numbers)]
    return tuple(dict.fromkeys(texts))


def hw_subset(place: Place) -> tuple[str, ...]:
    """Libomp's words for one hardware thread of each core, and for the fast kind."""
    values = []
    if place.layout.has_smt:
        values.append("1t")
    kinds = {cpu.kind for cpu in place.cpus}
    if "P" in kinds and len(kinds) > 1:
        cores = len({cpu.core for cpu in place.cpus if cpu.kind == "P"})
        values.append(f"{cores}c:intel_core")
    return tuple(values)


def jvm_processors(place: Place) -> tuple[str, ...]:
    """As `processor_counts`, of the machine's thread counts."""
    return processor_counts(threads(place))


def processor_counts(counts: Sequence[str]) -> tuple[str, ...]:
    """The option of a Java machine for each of these counts."""
    return tuple(f"-XX:ActiveProcessorCount={count}" for count in counts)


def processor_count(value: str) -> int | None:
    """The number in such an option or in a plain count; None where there is none."""
    word = value.removeprefix("-XX:ActiveProcessorCount=")
    return int(word) if word.isdecimal() else None


def ranks(place: Place) -> tuple[str, ...]:
    """Ranks times threads that fill the usable CPUs."""
    most = place.usable
    return tuple(f"{count}x{most // count}" for count in range(1, most + 1) if most % count == 0)


def threads_a_rank(value: str) -> int:
    """4x2 (ranks times threads) → 2; 1 for ranks alone."""
    threads = value.partition("x")[2]
    return int(threads) if threads.isdecimal() else 1


def maps(place: Place) -> tuple[str, ...]:
    """Ranks by core or socket, or with as many cores each as their threads need."""
    counts = sorted({threads_a_rank(value) for value in ranks(place)} - {1})
    cores = [count // place.threads_a_core for count in counts if count % place.threads_a_core == 0]
    return ("core", "socket", *(f"slot:PE={count}" for count in cores))


def multiplicities(place: Place) -> tuple[str, ...]:
    """Weighted places: "0:4,1:1", made from the measured speeds, and their neighbours.

    With m_i of n equal shares on a CPU of speed s_i, a loop takes max(m_i / s_i) / n, never less than
    1 / sum(s). The first value has the fewest threads within 2 % of the best. The others are whole ratios of
    fast to slow CPUs, up to twice the measured ratio: a probe may be disturbed, and a loop that waits for
    memory has a ratio of its own.
    """
    if not place.speeds or not place.unequal:
        return ()
    chosen_cpus = place.numbers[: place.usable]
    speeds = {cpu: place.speeds[cpu] for cpu in chosen_cpus if place.speeds.get(cpu, 0.0) > 0.0}
    if len(speeds) < 2:
        return ()
    ratio = max(speeds.values()) / min(speeds.values())
    most = max(_MOST_THREADS_A_CPU * len(speeds), round(ratio) + len(speeds))
    times: dict[tuple[int, ...], float] = {}
    for count in range(len(speeds) + 1, most + 1):
        shares = _dealt(list(speeds.values()), count)
        if 0 < min(shares) < max(shares):
            slowest = max(share / speed for share, speed in zip(shares, speeds.values(), strict=True))
            times.setdefault(shares, slowest / count)
    chosen: list[tuple[int, ...]] = []
    if times:
        best = min(times.values())
        chosen = [min((shares for shares in times if times[shares] <= best * (1 + _CLOSE_TO_BEST)), key=sum)]
    fast = set(place.fast)
    for step in _LADDER:
        if step <= max(2.0, _WIDEST_LADDER * ratio):
            chosen.append(tuple(step if cpu in fast else 1 for cpu in speeds))
    return tuple(dict.fromkeys(_text(list(speeds), shares) for shares in chosen))


def _dealt(speeds: Sequence[float], count: int) -> tuple[int, ...]:
    """`count` equal shares over CPUs, each to the CPU that would finish it first."""
    dealt = [0] * len(speeds)
    for _ in range(count):
        soonest = min(range(len(speeds)), key=lambda index: (dealt[index] + 1) / speeds[index])
        dealt[soonest] += 1
    return tuple(dealt)


def _text(cpus: Sequence[int], dealt: Sequence[int]) -> str:
    return ",".join(f"{cpu}:{shares}" for cpu, shares in zip(cpus, dealt, strict=True) if shares)


def weights_of(text: str) -> dict[int, int]:
    """Read "0:4,1:1" as {0: 4, 1: 1}."""
    pairs = (pair.split(":") for pair in text.split(","))
    return {int(cpu): int(shares) for cpu, shares in pairs}


MAKERS: Mapping[str, Callable[[Place], tuple[str, ...]]] = {
    "threads": threads,
    "places": places,
    "schedules": schedules,
    "cpu_sets": cpu_sets,
    "hw_subset": hw_subset,
    "jvm_processors": jvm_processors,
    "ranks": ranks,
    "maps": maps,
    "multiplicities": multiplicities,
}


THREADS = "threads"
_BLAS = ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS")
_POOLS = ("RAYON_NUM_THREADS", "GOMAXPROCS")


def expert_settings(tried: Mapping[str, Sequence[str]], findings: Findings, place: Place) -> dict[str, str]:
    """What the rule would set, by knob; `tried`: those that are open, with their values."""
    wanted = _openmp_or_ranks(tried, findings, place)
    if any(name in tried for name in _BLAS):
        wanted |= _blas(tried, findings, place)
    elif findings.counts_cpus and not wanted:
        wanted |= _pool(tried, place)
    cores = str(len(place.one_a_core))
    if cores in tried.get(THREADS, ()):
        wanted[THREADS] = cores
    return wanted


def _openmp_or_ranks(tried: Mapping[str, Sequence[str]], findings: Findings, place: Place) -> dict[str, str]:
    """Unequal shares for static loops on unequal cores; else threads bound to cores, or a rank a core."""
    if "weighted_places" in tried and not findings.schedules.asks_environment:
        return {"weighted_places": tried["weighted_places"][0]}
    if "OMP_NUM_THREADS" in tried or "OMP_PLACES" in tried:
        wanted = {"OMP_PLACES": "cores", "OMP_PROC_BIND": "close"}
        if place.layout.has_smt:
            wanted["OMP_NUM_THREADS"] = str(min(place.usable, len(place.one_a_core)))
        if findings.schedules.asks_environment and place.unequal:
            wanted["OMP_SCHEDULE"] = "dynamic,4"
        return wanted
    if "mpi_ranks" in tried:
        return {"mpi_ranks": f"{place.usable}x1"}
    return {}


def _blas(tried: Mapping[str, Sequence[str]], findings: Findings, place: Place) -> dict[str, str]:
    """One thread inside a program that has its own; else one a core, and the fast ones where they differ.

    BLAS gives each thread an equal part of a product, and two threads of a core share its arithmetic.
    """
    if findings.has_own_openmp:
        return {name: "1" for name in _BLAS if name in tried}
    if findings.has_openmp:  # a BLAS whose threads are OpenMP's
        return {}
    cores = place.fast_cores[: place.usable]
    if len(cores) == len(place.numbers):
        return {}
    return {name: str(len(cores)) for name in _BLAS if name in tried} | {"cpus": format_cpus(cores)}


def _pool(tried: Mapping[str, Sequence[str]], place: Place) -> dict[str, str]:
    """A thread a core, and no more than a quota pays for: tasks that are stolen make up for slow cores."""
    count = min(place.usable, len(place.one_a_core))
    if count == len(place.numbers):
        return {}
    wanted = {name: str(count) for name in _POOLS if name in tried}
    if "JAVA_TOOL_OPTIONS" in tried:
        wanted["JAVA_TOOL_OPTIONS"] = processor_counts((str(count),))[0]
    return wanted or {"cpus": format_cpus(place.in_turn[:count])}
