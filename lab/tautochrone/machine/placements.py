"""Which CPUs a run may use, by hardware thread; the simulator knows the same names.

``all`` is every hardware thread, where an OpenMP program runs that nobody told otherwise. ``fast`` and
``slow`` are all threads of such cores. ``cores`` and ``fast-cores`` take one thread of each, because two
threads of a core share its arithmetic units.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tautochrone.errors import TautoError
from tautochrone.options import State, format_cpus, parse_cpus

FAST_KINDS = ("P", "core")


@dataclass(frozen=True, slots=True)
class Cpu:
    """A CPU (hardware thread) that this process may use. ``kind``: P, E, LP, or core if all are equal."""

    number: int
    core: tuple[int, int]  # package and core: the same for the hardware threads of one core
    kind: str
    capacity: int | None = None  # relative speed that the kernel knows (big.LITTLE)


@dataclass(frozen=True, slots=True)
class Placement:
    """CPUs to pin to, one worker each, fast ones first. ``cores`` counts them by kind."""

    name: str
    cpus: tuple[int, ...]
    cores: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Layout:
    """The fast and the slow CPUs of a cell, by kind or by emulation."""

    fast: tuple[Cpu, ...]
    slow: tuple[Cpu, ...]
    has_smt: bool = False

    @property
    def unequal(self) -> bool:
        return bool(self.slow)

    @property
    def names(self) -> tuple[str, ...]:
        """The placements that differ on this machine."""
        names = ["all", *(("cores",) if self.has_smt else ())]
        if self.unequal:
            names += ["fast", *(("fast-cores",) if several_a_core(self.fast) else ()), "slow"]
        return tuple(names)

    def placement(self, name: str, threads: int | None = None) -> Placement:
        """The placement with this name, limited to its first ``threads`` CPUs.

        Raises TautoError for a name that is neither a placement nor a list of CPUs, and for unusable CPUs.
        """
        cpus = self._cpus(name)
        if threads is not None:
            cpus = cpus[:threads]
        cores = Counter(cpu.kind for cpu in cpus)
        return Placement(name, tuple(cpu.number for cpu in cpus), dict(cores))

    def _cpus(self, name: str) -> tuple[Cpu, ...]:
        everything = self.fast + self.slow
        groups = {
            "all": everything,
            "cores": one_a_core(self.fast) + one_a_core(self.slow),
            "fast": self.fast,
            "fast-cores": one_a_core(self.fast),
            "slow": self.slow,
        }
        if name in groups:
            if not groups[name]:
                raise TautoError("all cores are equal here, so there is no placement 'slow'", "Use all")
            return groups[name]
        if not name[:1].isdigit():
            raise TautoError(
                f"there is no placement called {name!r}",
                "Choose from all, cores, fast, fast-cores, slow, or CPUs such as 0-3,8",
            )
        usable = {cpu.number: cpu for cpu in everything}
        numbers = parse_cpus(name)
        missing = [number for number in numbers if number not in usable]
        if missing:
            raise TautoError(
                f"--placements {name} names CPU {missing[0]}, which this process may not use "
                f"(usable: {format_cpus(usable)})",
                "tauto machine lists them",
            )
        return tuple(usable[number] for number in numbers)


def several_a_core(cpus: Sequence[Cpu]) -> bool:
    """Whether any core has more than one of these CPUs."""
    return len({cpu.core for cpu in cpus}) < len(cpus)


def one_a_core(cpus: Sequence[Cpu]) -> tuple[Cpu, ...]:
    first: dict[tuple[int, int], Cpu] = {}
    for cpu in cpus:
        first.setdefault(cpu.core, cpu)
    return tuple(first.values())


def layout(cpus: Sequence[Cpu], emulation: State, usable_members: int | None = None) -> Layout:
    """The fast and slow CPUs while ``emulation`` slows some.

    Slowed CPUs are slow, and so are all kinds but the fastest. Slowed CPUs have the kind ``slow``; on a
    machine of equal cores the others then have the kind ``fast``. At most ``usable_members`` CPUs are used (a
    cgroup quota), fast ones first.
    """
    kinds = {cpu.kind for cpu in cpus}
    best = _best_kind(cpus)
    fast: list[Cpu] = []
    slow: list[Cpu] = []
    for cpu in cpus:
        if cpu.number in emulation:
            slow.append(Cpu(cpu.number, cpu.core, "slow", cpu.capacity))
        elif cpu.kind == best:
            kind = "fast" if emulation and len(kinds) == 1 else cpu.kind
            fast.append(Cpu(cpu.number, cpu.core, kind, cpu.capacity))
        else:
            slow.append(cpu)
    fast = fast[:usable_members]
    slow = slow[: None if usable_members is None else max(0, usable_members - len(fast))]
    return Layout(tuple(fast), tuple(slow), has_smt=several_a_core(fast + slow))


def _best_kind(cpus: Sequence[Cpu]) -> str:
    """The fastest kind: P or core if there is one, else the kind with the largest capacity."""
    for kind in FAST_KINDS:
        if any(cpu.kind == kind for cpu in cpus):
            return kind
    return max(cpus, key=lambda cpu: cpu.capacity or 0).kind


def cpus_of(machine: Mapping[str, object]) -> tuple[tuple[Cpu, ...], tuple[int, ...]]:
    """The usable CPUs, and the numbers of all CPUs, from a machine record (tautochrone.machine/1)."""
    records = machine["cpus"]
    assert isinstance(records, Sequence)
    usable: list[Cpu] = []
    for record in records:
        if record.get("allowed", True):
            core = (int(record.get("package") or 0), int(record["core"]))
            usable.append(Cpu(int(record["cpu"]), core, str(record["kind"]), record.get("capacity")))
    return tuple(usable), tuple(int(record["cpu"]) for record in records)
