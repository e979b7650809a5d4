"""Zones of /sys/class/powercap: Intel's and AMD's registers as files, under the same name `intel-rapl`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from tautochrone.energy.meter import Domain, Kind, Meter, MeterError, Overflowing, Tree, Unavailable

_FOLDER = "/sys/class/powercap"
_ZONE = re.compile(r"(?P<control>[a-z0-9_-]*rapl[a-z0-9_-]*):(?P<top>\d+)(?::\d+)*")
_KINDS: Mapping[str, Kind] = {"core": "core", "uncore": "gpu", "dram": "dram", "psys": "psys"}


@dataclass(frozen=True)
class _Zone:
    folder: str
    domain: Domain


class PowercapMeter(Meter):
    """The zones that can be read."""

    source = "powercap"
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
        return tuple(zone.domain for zone in self._zones.values())

    def read(self) -> Mapping[str, float]:
        return {
            name: self._counters[name].advance(self._microjoules(zone)) for name, zone in self._zones.items()
        }

    def _microjoules(self, zone: _Zone) -> int:
        try:
            microjoules = self._tree.number(f"{zone.folder}/energy_uj")
        except PermissionError as error:
            raise MeterError(
                "only the administrator may read /sys/class/powercap/*/energy_uj",
                "Allow it until the next boot: sudo chmod a+r /sys/class/powercap/*/energy_uj",
            ) from error
        if microjoules is None:
            raise MeterError(
                f"{zone.folder}/energy_uj holds no number any more",
                "Look whether the driver was unloaded (lsmod | grep rapl)",
            )
        return microjoules


def open_powercap(tree: Tree, *, in_container: bool = False) -> PowercapMeter | Unavailable | None:
    """The meter, why it cannot be had, or None where the kernel lists no zone."""
    listed = [name for name in tree.names(_FOLDER) if _ZONE.fullmatch(name)]
    if not listed:
        return None
    zones = _zones(tree, listed)
    if not zones:
        if in_container:
            return masked()
        return Unavailable(
            "the zones in /sys/class/powercap hold no energy_uj",
            "Load the driver: sudo modprobe intel_rapl_msr",
        )
    try:
        return PowercapMeter(tree, zones)
    except MeterError as error:
        return error.unavailable


def masked() -> Unavailable:
    """Why there is no meter in a container that hides those of its host."""
    return Unavailable(
        "the container masks the energy meters of its host (/sys/devices/virtual/powercap)",
        "Start it with --security-opt systempaths=unconfined (docker) or "
        "--security-opt unmask=/sys/devices/virtual/powercap (podman)",
    )


def package_tdp_watts(tree: Tree, package: int) -> float | None:
    """The TDP of a package by its number; None where the kernel does not tell."""
    for zone in tree.names(_FOLDER):
        folder = f"{_FOLDER}/{zone}"
        if tree.text(f"{folder}/name") == f"package-{package}":
            return _tdp_watts(tree, folder)
    return None


def _tdp_watts(tree: Tree, zone: str) -> float | None:
    """The long-term limit that the processor is made for (``constraint_0_max_power_uw``)."""
    for number in range(3):
        if tree.text(f"{zone}/constraint_{number}_name") == "long_term":
            microwatts = tree.number(f"{zone}/constraint_{number}_max_power_uw")
            return microwatts / 1e6 if microwatts else None
    return None


def _zones(tree: Tree, listed: list[str]) -> dict[str, _Zone]:
    """The zones by the names of their domains.

    The same package may be listed by two drivers (registers and memory-mapped): the first one counts.
    """
    zones: dict[str, _Zone] = {}
    packages: dict[str, str] = {}  # the zone of a package → its number
    for name in listed:
        folder = f"{_FOLDER}/{name}"
        label = tree.text(f"{folder}/name")
        if label is None or not tree.exists(f"{folder}/energy_uj"):
            continue
        package = re.fullmatch(r"package-(\d+)(?:-die-\d+)?", label)
        top = ":".join(name.split(":")[:2])
        if package is not None:
            packages[top] = label.removeprefix("package-")
            domain = Domain(label, "package", _tdp_watts(tree, folder))
        elif label in _KINDS:
            kind = _KINDS[label]
            domain = Domain("psys" if kind == "psys" else f"{kind}-{packages.get(top, '0')}", kind)
        else:
            continue
        zones.setdefault(domain.name, _Zone(folder, domain))
    return zones
