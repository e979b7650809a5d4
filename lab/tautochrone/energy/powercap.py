"""Zones of /sys/class/powercap: Intel's and AMD's registers as files, under the same name `intel-rapl`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from tautochrone.energy.counter import Overflowing
from tautochrone.energy.meter import Domain, Kind, MeterError, Unavailable
from tautochrone.energy.surroundings import Surroundings, masked
from tautochrone.energy.tdp import POWERCAP, zone_tdp_watts
from tautochrone.energy.tree import Tree

SOURCE = "powercap"
_ZONE = re.compile(r"(?P<control>[a-z0-9_-]*rapl[a-z0-9_-]*):(?P<top>\d+)(?::\d+)*")
_KINDS: Mapping[str, Kind] = {"core": "core", "uncore": "gpu", "dram": "dram", "psys": "psys"}


@dataclass(frozen=True)
class _Zone:
    folder: str
    domain: Domain


class PowercapMeter:
    """The zones that can be read."""

    source = SOURCE
    integrates = False

    def __init__(self, tree: Tree, zones: Mapping[str, _Zone]) -> None:
        self._tree = tree
        self._zones = dict(zones)
        self._counters = {
            name: Overflowing(
                f"the zone {name} of powercap",
                self._microjoules(zone),
                tree.number(f"{zone.folder}/max_energy_range_uj"),
            )
            for name, zone in self._zones.items()
        }

    @property
    def domains(self) -> tuple[Domain, ...]:
        """What it counts."""
        return tuple(zone.domain for zone in self._zones.values())

    def read(self) -> Mapping[str, float]:
        """Joules of each zone since the meter was opened."""
        return {
            name: self._counters[name].advance(self._microjoules(zone)) for name, zone in self._zones.items()
        }

    def close(self) -> None:
        """Nothing is open between readings."""

    def _microjoules(self, zone: _Zone) -> int:
        try:
            found = self._tree.number(f"{zone.folder}/energy_uj")
        except PermissionError as error:
            raise MeterError(*_denied()) from error
        if found is None:
            raise MeterError(
                f"{zone.folder}/energy_uj holds no number any more",
                "Look whether the driver was unloaded (lsmod | grep rapl)",
            )
        return found


def open_powercap(tree: Tree, where: Surroundings) -> PowercapMeter | Unavailable | None:
    """The meter, why it cannot be had, or None where the kernel lists no zone."""
    listed = [name for name in tree.names(POWERCAP) if _ZONE.fullmatch(name)]
    if not listed:
        return None
    zones = _zones(tree, listed)
    if not zones:
        if where.container:
            return masked()
        return Unavailable(
            "the zones in /sys/class/powercap hold no energy_uj",
            "Load the driver: sudo modprobe intel_rapl_msr",
        )
    try:
        return PowercapMeter(tree, zones)
    except MeterError as error:
        return error.unavailable


def _zones(tree: Tree, listed: list[str]) -> dict[str, _Zone]:
    """The zones by the names of their domains.

    The same package may be listed by two drivers (registers and memory-mapped): the first one counts.
    """
    zones: dict[str, _Zone] = {}
    packages: dict[str, str] = {}  # the zone of a package → its number
    for name in listed:
        folder = f"{POWERCAP}/{name}"
        label = tree.text(f"{folder}/name")
        if label is None or not tree.exists(f"{folder}/energy_uj"):
            continue
        package = re.fullmatch(r"package-(\d+)(?:-die-\d+)?", label)
        top = ":".join(name.split(":")[:2])
        if package is not None:
            packages[top] = label.removeprefix("package-")
            domain = Domain(label, "package", zone_tdp_watts(tree, folder))
        elif label in _KINDS:
            kind = _KINDS[label]
            domain = Domain("psys" if kind == "psys" else f"{kind}-{packages.get(top, '0')}", kind)
        else:
            continue
        zones.setdefault(domain.name, _Zone(folder, domain))
    return zones


def _denied() -> tuple[str, str]:
    return (
        "only the administrator may read /sys/class/powercap/*/energy_uj",
        "Allow it until the next boot: sudo chmod a+r /sys/class/powercap/*/energy_uj",
    )
