"""Energy events of the kernel's `power` unit: one counter for each package, read through its CPU.

The kernel keeps 64 bits and looks after the overflow of the processor's 32 itself. An event counts the whole
package, never a process, so it needs the right to watch the machine.
"""

from __future__ import annotations

import errno
import os
import struct
from collections.abc import Callable, Mapping
from typing import Protocol

from tautochrone.counters import open_event
from tautochrone.energy.meter import Domain, Kind, MeterError, Unavailable
from tautochrone.energy.tdp import package_tdp_watts
from tautochrone.energy.tree import Tree, parse_cpu_list

SOURCE = "perf"
_UNIT = "/sys/bus/event_source/devices/power"
_KINDS: Mapping[str, Kind] = {
    "energy-pkg": "package",
    "energy-cores": "core",
    "energy-gpu": "gpu",
    "energy-ram": "dram",
    "energy-psys": "psys",
}
_ONE_A_MACHINE: tuple[Kind, ...] = ("psys",)


class Event(Protocol):
    """An open counter. Its count times the event's scale is joules."""

    def count(self) -> int:
        """What it has counted since it was opened."""
        ...

    def close(self) -> None:
        """Let it go."""
        ...


OpenEvent = Callable[[int, int, int], Event]
"""Opens the event (type of the unit, config) on a CPU. OSError where the kernel refuses."""


class KernelEvent:
    """A counter of perf_event_open."""

    def __init__(self, kind: int, config: int, cpu: int) -> None:
        self._descriptor = open_event(kind, config, pid=-1, cpu=cpu, flags=0, read_format=0)
        if self._descriptor < 0:
            raise OSError(-self._descriptor, os.strerror(-self._descriptor))

    def count(self) -> int:
        """What it has counted since it was opened."""
        value: int = struct.unpack("Q", os.read(self._descriptor, 8))[0]
        return value

    def close(self) -> None:
        """Let it go."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1


class PerfMeter:
    """The energy events that the kernel lets us open."""

    source = SOURCE
    integrates = False

    def __init__(self, events: Mapping[Domain, tuple[Event, float]]) -> None:
        self._events = dict(events)
        self._first = {domain: event.count() for domain, (event, _) in self._events.items()}

    @property
    def domains(self) -> tuple[Domain, ...]:
        """What it counts."""
        return tuple(self._events)

    def read(self) -> Mapping[str, float]:
        """Joules of each domain since the meter was opened."""
        try:
            return {
                domain.name: _signed(event.count() - self._first[domain]) * scale
                for domain, (event, scale) in self._events.items()
            }
        except (OSError, struct.error) as error:
            raise MeterError(
                f"an energy event of perf cannot be read any more: {error}",
                "Look whether its CPU was taken offline",
            ) from error

    def close(self) -> None:
        """Close the events."""
        for event, _ in self._events.values():
            event.close()


def open_perf(tree: Tree, opener: OpenEvent = KernelEvent) -> PerfMeter | Unavailable | None:
    """The meter, why it cannot be had, or None where the kernel lists no energy event."""
    names = [name for name in tree.names(f"{_UNIT}/events") if name in _KINDS]
    kind = tree.number(f"{_UNIT}/type")
    if not names or kind is None:
        return None
    cpus = parse_cpu_list(tree.text(f"{_UNIT}/cpumask") or "0") or [0]
    events: dict[Domain, tuple[Event, float]] = {}
    try:
        for name in names:
            for cpu in cpus[:1] if _KINDS[name] in _ONE_A_MACHINE else cpus:
                domain = _domain(tree, _KINDS[name], cpu)
                events[domain] = (opener(kind, _config(tree, name), cpu), _scale(tree, name))
        return PerfMeter(events)
    except (OSError, ValueError) as error:
        for event, _ in events.values():
            event.close()
        return _refused(tree, error)


def _signed(count: int) -> int:
    """64 bits as the kernel means them: a counter that went back is negative, not enormous."""
    count &= 2**64 - 1
    return count - 2**64 if count >= 2**63 else count


def _domain(tree: Tree, kind: Kind, cpu: int) -> Domain:
    if kind in _ONE_A_MACHINE:
        return Domain(kind, kind)
    package = tree.number(f"/sys/devices/system/cpu/cpu{cpu}/topology/physical_package_id")
    number = 0 if package is None else max(package, 0)
    tdp = package_tdp_watts(tree, number) if kind == "package" else None
    return Domain(f"{kind}-{number}", kind, tdp)


def _config(tree: Tree, name: str) -> int:
    """``event=0x02`` → 2."""
    text = tree.text(f"{_UNIT}/events/{name}") or ""
    for term in text.split(","):
        field, _, value = term.partition("=")
        if field.strip() == "event":
            return int(value, 0)
    raise ValueError(f"the event {name} says {text!r}; expected event=NUMBER")


def _scale(tree: Tree, name: str) -> float:
    return float(tree.text(f"{_UNIT}/events/{name}.scale") or "")


def _refused(tree: Tree, error: Exception) -> Unavailable:
    code = error.errno if isinstance(error, OSError) else None
    if code in (errno.EACCES, errno.EPERM):
        level = tree.text("/proc/sys/kernel/perf_event_paranoid") or "unknown"
        return Unavailable(
            f"the kernel lets only the administrator count energy (perf_event_paranoid is {level})",
            "Allow it until the next boot: sudo sysctl kernel.perf_event_paranoid=0",
        )
    if code == errno.ENOSYS:
        return Unavailable("perf_event_open is hidden by a sandbox", "Measure outside of it")
    return Unavailable(f"the kernel's energy events cannot be opened: {error}", "Use a newer kernel")
