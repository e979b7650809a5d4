"""Fake machines with energy meters: the files that the kernel would show, and recorded counts."""

from __future__ import annotations

import errno
from collections.abc import Callable, Mapping
from pathlib import Path

from tautochrone.energy.meter import Tree

UNIT_61_RANGE = 262143328850  # microjoules: 2^32 - 1 units of 61.035 µJ, as Intel's zones say
UNIT_15_RANGE = 65532610987  # of 15.258 µJ: AMD, and memory of some servers
PERF_SCALE = "2.3283064365386962890625e-10"  # 2^-32 J
EVENTS = {"energy-cores": 1, "energy-pkg": 2, "energy-ram": 3, "energy-gpu": 4, "energy-psys": 5}

_INTEL = "vendor_id\t: GenuineIntel\nflags\t\t: fpu vme {more}\n"
_AMD = "vendor_id\t: AuthenticAMD\nflags\t\t: fpu vme {more}\n"


def write(root: Path, files: Mapping[str, object]) -> Path:
    for name, content in files.items():
        path = root / name.lstrip("/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{content}\n")
    return root


def machine(root: Path, *, amd: bool = False, flags: str = "") -> Path:
    return write(root, {"proc/cpuinfo": (_AMD if amd else _INTEL).format(more=flags)})


def perf_unit(root: Path, *events: str, cpumask: str = "0", paranoid: int = 0) -> Path:
    unit = root / "sys/bus/event_source/devices/power"
    write(unit, {"type": 9, "cpumask": cpumask})
    for event in events:
        number = f"event=0x{EVENTS[event]:02x}"
        write(unit / "events", {event: number, f"{event}.scale": PERF_SCALE, f"{event}.unit": "Joules"})
    return write(root, {"proc/sys/kernel/perf_event_paranoid": paranoid})


def zone(
    root: Path, zone: str, name: str, energy_uj: int, range_uj: int = UNIT_61_RANGE, tdp_uw: int | None = None
) -> Path:
    files: dict[str, object] = {"name": name, "energy_uj": energy_uj, "max_energy_range_uj": range_uj}
    if tdp_uw is not None:
        files |= {"constraint_0_name": "long_term", "constraint_0_max_power_uw": tdp_uw}
    write(root / "sys/class/powercap" / zone, files)
    return root


def energy(root: Path, zone: str, energy_uj: int) -> None:
    (root / f"sys/class/powercap/{zone}/energy_uj").write_text(f"{energy_uj}\n")


class Clock:
    """Stands still until it is moved."""

    def __init__(self) -> None:
        self.seconds = 100.0

    def __call__(self) -> float:
        return self.seconds


def no_rest(_: float) -> None:
    """An idle loop in which no time goes by."""


def steps(clock: Clock, *actions: Callable[[], object], seconds: float = 0.3) -> Callable[[float], None]:
    """A busy loop that only moves the clock and does the next of the actions."""
    left = list(actions)

    def busy(_: float) -> None:
        clock.seconds += seconds
        if left:
            left.pop(0)()

    return busy


class RecordedEvents:
    """Opens events that give recorded joules one after the other; the last one stays."""

    def __init__(self, joules: Mapping[tuple[str, int], list[float]], refuse: int | None = None) -> None:
        self.joules = {(EVENTS[name], cpu): list(values) for (name, cpu), values in joules.items()}
        self.refuse = refuse
        self.opened: list[tuple[int, int, int]] = []
        self.open_now = 0

    def __call__(self, kind: int, config: int, cpu: int) -> RecordedEvent:
        if self.refuse is not None:
            raise OSError(self.refuse, "refused")
        if (config, cpu) not in self.joules:
            raise OSError(errno.ENOENT, "no such event")
        self.opened.append((kind, config, cpu))
        self.open_now += 1
        return RecordedEvent(self, self.joules[config, cpu])


class RecordedEvent:
    def __init__(self, owner: RecordedEvents, joules: list[float]) -> None:
        self._owner, self._joules = owner, joules

    def count(self) -> int:
        value = self._joules.pop(0) if len(self._joules) > 1 else self._joules[0]
        return round(value * 2**32)

    def close(self) -> None:
        self._owner.open_now -= 1


class RunningTree(Tree):
    """Counters of energy go on by some microjoules at each reading: they never stand still."""

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self._read = 0

    def text(self, inside: str) -> str | None:
        text = super().text(inside)
        if text is None or not inside.endswith("/energy_uj"):
            return text
        self._read += 61
        return str(int(text) + self._read)


class DeniedTree(Tree):
    """A tree in which some files belong to root alone (the tests may run as root)."""

    def __init__(self, root: Path, ending: str) -> None:
        super().__init__(root)
        self._ending = ending

    def text(self, inside: str) -> str | None:
        if inside.endswith(self._ending):
            raise PermissionError(errno.EACCES, "denied", str(self.path(inside)))
        return super().text(inside)
