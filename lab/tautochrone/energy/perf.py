"""Energy events of the kernel's `power` unit: a counter for each package or die, read through its CPU.

The kernel keeps 64 bits and looks after the overflow of the processor's 32 itself. An event counts the whole
package, never a process, so it needs the right to watch the machine.
"""

from __future__ import annotations

import errno
import os
import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from tautochrone.energy.meter import Domain, Kind, Meter, MeterError, Tree, Unavailable
from tautochrone.energy.powercap import package_tdp_watts
from tautochrone.measuring.inside.counters import open_event
from tautochrone.options import parse_cpus

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

    def count(self) -> int: ...

    def close(self) -> None: ...


@dataclass(frozen=True)
class Counted:
    """An open event and what it counts. A package of several dies has an event for each of them."""

    domain: Domain
    event: Event
    scale: float


OpenEvent = Callable[[int, int, int], Event]
"""Opens the event (type of the unit, config) on a CPU. OSError where the kernel refuses."""


class KernelEvent:
    """A counter of perf_event_open."""

    def __init__(self, kind: int, config: int, cpu: int) -> None:
        self._descriptor = open_event(kind, config, pid=-1, cpu=cpu, flags=0, read_format=0)
        if self._descriptor < 0:
            raise OSError(-self._descriptor, os.strerror(-self._descriptor))

    def count(self) -> int:
        value: int = struct.unpack("Q", os.read(self._descriptor, 8))[0]
        return value

    def close(self) -> None:
        if self._descriptor >= 0:
            descriptor, self._descriptor = self._descriptor, -1  # first: Ctrl-C may come between
            os.close(descriptor)


class PerfMeter(Meter):
    """The energy events that the kernel lets us open."""

    source = "perf"
    integrates = False

    def __init__(self, events: Sequence[Counted]) -> None:
        self._events = tuple((counted, counted.event.count()) for counted in events)

    @property
    def domains(self) -> tuple[Domain, ...]:
        return tuple(dict.fromkeys(counted.domain for counted, _ in self._events))

    def read(self) -> Mapping[str, float]:
        joules = dict.fromkeys((domain.name for domain in self.domains), 0.0)
        try:
            for counted, first in self._events:
                joules[counted.domain.name] += _signed(counted.event.count() - first) * counted.scale
        except (OSError, struct.error) as error:
            raise MeterError(
                f"an energy event of perf cannot be read any more: {error}",
                "Look whether its CPU was taken offline",
            ) from error
        return joules

    def close(self) -> None:
        for counted, _ in self._events:
            counted.event.close()


def open_perf(tree: Tree, opener: OpenEvent) -> PerfMeter | Unavailable | None:
    """The meter, why it cannot be had, or None where the kernel lists no energy event."""
    names = [name for name in tree.names(f"{_UNIT}/events") if name in _KINDS]
    kind = tree.number(f"{_UNIT}/type")
    if not names or kind is None:
        return None
    cpus = parse_cpus(tree.text(f"{_UNIT}/cpumask") or "0")
    events: list[Counted] = []
    try:
        for name in names:
            for cpu in cpus[:1] if _KINDS[name] in _ONE_A_MACHINE else cpus:
                domain = _domain(tree, _KINDS[name], cpu)
                scale = float(tree.text(f"{_UNIT}/events/{name}.scale") or "")
                events.append(Counted(domain, opener(kind, _config(tree, name), cpu), scale))
        return PerfMeter(events)
    except (OSError, ValueError) as error:
        for counted in events:
            counted.event.close()
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
