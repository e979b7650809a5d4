"""Values of knobs that depend on the machine: thread counts, places, sets of CPUs, weights from speeds."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from tautochrone.machine_record import Machine
from tautochrone.studies.options import format_cpus
from tautochrone.studies.placements import Cpu, Layout, cpus_of, layout

UNEQUAL_FACTOR = 1.15
"""CPUs are unequal if the fastest is faster than the slowest by this factor: below it noise decides."""

_MOST_THREADS_A_CPU = 4
_CLOSE_TO_BEST = 0.02
_LADDER = (2, 3, 4, 6, 8)
_WIDEST_LADDER = 2.0
_CHUNKS = (1, 4, 16, 64)


@dataclass(frozen=True)
class Place:
    """The machine as values are made for it. ``speeds``: relative, the fastest CPU 1; None: not measured.

    ``usable``: how many CPUs a quota pays for, of all those that may be used.
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
        return tuple(sorted((one.number for one in self.cpus), key=lambda cpu: -speeds.get(cpu, 1.0)))

    @property
    def one_a_core(self) -> tuple[int, ...]:
        """One hardware thread of each core."""
        seen: dict[tuple[int, int], int] = {}
        for one in self.cpus:
            seen.setdefault(one.core, one.number)
        return tuple(seen.values())

    @property
    def fast_cores(self) -> tuple[int, ...]:
        """One hardware thread of each fast core."""
        return tuple(cpu for cpu in self.one_a_core if cpu in self.fast)

    @property
    def in_turn(self) -> tuple[int, ...]:
        """All CPUs, those first that are worth most: a thread of each core, fast cores before slow ones."""
        cores = sorted(self.one_a_core, key=self.numbers.index)
        return (*cores, *(cpu for cpu in self.numbers if cpu not in cores))

    @property
    def threads_a_core(self) -> int:
        """Hardware threads of a core, the fewest where cores differ."""
        return len(self.numbers) // max(1, len(self.one_a_core))

    @property
    def fast(self) -> tuple[int, ...]:
        """The CPUs that are about as fast as the fastest one: by measurement, else by kind."""
        if self.speeds:
            return tuple(cpu for cpu in self.numbers if self.speeds.get(cpu, 1.0) * UNEQUAL_FACTOR >= 1.0)
        return tuple(one.number for one in self.layout.fast)

    @property
    def unequal(self) -> bool:
        """Whether there are slow CPUs beside fast ones."""
        return len(self.fast) < len(self.numbers)

    @property
    def facts(self) -> Mapping[str, bool]:
        """What knobs may require."""
        return {"unequal": self.unequal}


def place_of(machine: Machine) -> Place:
    """The machine's CPUs that may be used, with their measured speeds where there are any."""
    record = machine.to_dict()
    cpus, _ = cpus_of(record)
    slowed = {one.cpu: one.factor for one in machine.emulated or ()}
    found = layout(cpus, slowed)
    return Place(found, machine.usable_members, _speeds(machine))


def _speeds(machine: Machine) -> Mapping[int, float] | None:
    if machine.measured is None:
        return None
    found = {
        one.cpu: one.compute_per_second for one in machine.measured.cpus if one.compute_per_second is not None
    }
    fastest = max(found.values(), default=0.0)
    return {cpu: speed / fastest for cpu, speed in found.items()} if fastest > 0 else None


def values_of(maker: str | Sequence[str], place: Place) -> tuple[str, ...]:
    """The values of a knob: its list, or what the maker of that name gives."""
    return MAKERS[maker](place) if isinstance(maker, str) else tuple(maker)


def threads(place: Place) -> tuple[str, ...]:
    """1, powers of two, the fast CPUs, the fast cores, one a core, all that a quota pays for."""
    most = place.usable
    counts = {1, len(place.fast), len(place.fast_cores), len(place.one_a_core), most}
    counts |= {1 << power for power in range(most.bit_length()) if (1 << power) <= most}
    return tuple(str(count) for count in sorted(counts) if count <= most)


def places(place: Place) -> tuple[str, ...]:
    """Cores, hardware threads where they differ, the fast CPUs where there are slow ones."""
    found = ["cores"]
    if place.layout.has_smt:
        found.append("threads")
    if place.unequal:
        found.append(",".join(f"{{{cpu}}}" for cpu in sorted(place.fast)))
    return tuple(found)


def schedules(place: Place) -> tuple[str, ...]:
    """Kinds and chunks."""
    chunked = [f"dynamic,{chunk}" for chunk in _CHUNKS]
    return ("static", *chunked, "guided", "guided,16", "static,1", "static,16")


def cpu_sets(place: Place) -> tuple[str, ...]:
    """By kind, one a core, as many as a quota pays for, half of the cores, one; never all: the default."""
    slow = tuple(cpu for cpu in place.numbers if cpu not in place.fast)
    counts = (place.usable, len(place.one_a_core) // 2, 1)
    sets = [place.fast, place.fast_cores, place.one_a_core, slow, *(place.in_turn[:one] for one in counts)]
    return _as_texts(sets, place)


def first_cpus(counts: Sequence[str], place: Place) -> tuple[str, ...]:
    """Sets of so many CPUs each, a thread of each core first; without all, which is the default."""
    return _as_texts([place.in_turn[: int(one)] for one in counts if one.isdecimal()], place)


def _as_texts(sets: Sequence[Sequence[int]], place: Place) -> tuple[str, ...]:
    texts = [format_cpus(one) for one in sets if 0 < len(one) < len(place.numbers)]
    return tuple(dict.fromkeys(texts))


def hw_subset(place: Place) -> tuple[str, ...]:
    """Libomp's words for one hardware thread a core, and for the fast kind."""
    found = []
    if place.layout.has_smt:
        found.append("1t")
    kinds = {one.kind for one in place.cpus}
    if "P" in kinds and len(kinds) > 1:
        cores = len({one.core for one in place.cpus if one.kind == "P"})
        found.append(f"{cores}c:intel_core")
    return tuple(found)


def jvm_processors(place: Place) -> tuple[str, ...]:
    """-XX:ActiveProcessorCount for each thread count."""
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
    """Of ranks times threads, "4x2": 2; where there are ranks alone, 1."""
    threads = value.partition("x")[2]
    return int(threads) if threads.isdecimal() else 1


def maps(place: Place) -> tuple[str, ...]:
    """Ranks by core or socket, and as many cores for each as its threads need."""
    counts = sorted({threads_a_rank(value) for value in ranks(place)} - {1})
    cores = [count // place.threads_a_core for count in counts if count % place.threads_a_core == 0]
    return ("core", "socket", *(f"slot:PE={count}" for count in cores))


def multiplicities(place: Place) -> tuple[str, ...]:
    """Weighted places: "0:4,1:1", made from the measured speeds, and their neighbours.

    Equal shares of n threads take max(m_i / s_i) / n of the whole, which is never below 1 / sum(s). The first
    is the one with the fewest threads within 2 % of the best. The others are whole ratios of fast to slow
    CPUs up to twice the measured one: a probe may be disturbed, and a loop that waits for memory has a ratio
    of its own.
    """
    if not place.speeds or not place.unequal:
        return ()
    chosen_cpus = place.numbers[: place.usable]
    speeds = {cpu: place.speeds[cpu] for cpu in chosen_cpus if place.speeds.get(cpu, 0.0) > 0.0}
    if len(speeds) < 2:
        return ()
    ratio = max(speeds.values()) / min(speeds.values())
    most = max(_MOST_THREADS_A_CPU * len(speeds), round(ratio) + len(speeds))
    found: dict[tuple[int, ...], float] = {}
    for count in range(len(speeds) + 1, most + 1):
        shares = _dealt(list(speeds.values()), count)
        if 0 < min(shares) < max(shares):
            found.setdefault(shares, _share_time(shares, list(speeds.values())))
    chosen: list[tuple[int, ...]] = []
    if found:
        best = min(found.values())
        chosen = [min((one for one in found if found[one] <= best * (1 + _CLOSE_TO_BEST)), key=sum)]
    fast = set(place.fast)
    for step in _LADDER:
        if step <= max(2.0, _WIDEST_LADDER * ratio):
            chosen.append(tuple(step if cpu in fast else 1 for cpu in speeds))
    return tuple(dict.fromkeys(_text(list(speeds), one) for one in chosen))


def _dealt(speeds: Sequence[float], count: int) -> tuple[int, ...]:
    """`count` equal shares over CPUs: each next one to the CPU that would finish it first."""
    dealt = [0] * len(speeds)
    for _ in range(count):
        soonest = min(range(len(speeds)), key=lambda index: (dealt[index] + 1) / speeds[index])
        dealt[soonest] += 1
    return tuple(dealt)


def _share_time(dealt: Sequence[int], speeds: Sequence[float]) -> float:
    return max(shares / speed for shares, speed in zip(dealt, speeds, strict=True)) / sum(dealt)


def _text(cpus: Sequence[int], dealt: Sequence[int]) -> str:
    return ",".join(f"{cpu}:{shares}" for cpu, shares in zip(cpus, dealt, strict=True) if shares)


def weights_of(text: str) -> dict[int, int]:
    """Read "0:4,1:1" as {0: 4, 1: 1}."""
    pairs = (one.split(":") for one in text.split(","))
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
