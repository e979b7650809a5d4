"""Sensors of /sys/class/hwmon: `energy*_input` counts microjoules, `power*_input` tells microwatts."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from tautochrone.energy.meter import Domain, Integral, Kind, Meter, MeterError, Overflowing, Tree

_FOLDER = "/sys/class/hwmon"
_ENERGY = re.compile(r"energy(\d+)_input")
_POWER = re.compile(r"power(\d+)_(?:input|average)")
_GRAPHICS = ("amdgpu", "radeon", "nouveau", "i915", "xe")
# What feeds the whole machine, by the name of the chip or by the label of the sensor.
_NODE_CHIPS = ("power_meter", "ibmpowernv")
_NODE_LABELS = re.compile(r"(total|system|node|chassis|vdd_in|pom_5v_in)\b.*", re.IGNORECASE)


@dataclass(frozen=True)
class _Sensor:
    path: str
    domain: Domain
    counts: bool  # microjoules; else microwatts


class HwmonMeter(Meter):
    """The sensors that can be read."""

    source = "hwmon"

    def __init__(self, tree: Tree, sensors: Mapping[str, _Sensor], clock: Callable[[], float]) -> None:
        self._tree = tree
        self._clock = clock
        self._sensors = dict(sensors)
        self.integrates = any(not sensor.counts for sensor in self._sensors.values())
        now = clock()
        self._counters: dict[str, Overflowing | Integral] = {}
        for name, sensor in self._sensors.items():
            value = self._value(sensor)
            self._counters[name] = (
                Overflowing(f"the sensor {name} of hwmon", value, None)
                if sensor.counts
                else Integral(now, value / 1e6)
            )

    @property
    def domains(self) -> tuple[Domain, ...]:
        return tuple(sensor.domain for sensor in self._sensors.values())

    def read(self) -> Mapping[str, float]:
        now = self._clock()
        joules: dict[str, float] = {}
        for name, sensor in self._sensors.items():
            counter, value = self._counters[name], self._value(sensor)
            joules[name] = (
                counter.advance(value)
                if isinstance(counter, Overflowing)
                else counter.advance(now, value / 1e6)
            )
        return joules

    def _value(self, sensor: _Sensor) -> int:
        try:
            value = self._tree.number(sensor.path)
        except PermissionError as error:
            raise MeterError(
                f"only the administrator may read {sensor.path}",
                f"Allow it until the next boot: sudo chmod a+r {sensor.path}",
            ) from error
        if value is None:
            raise MeterError(f"{sensor.path} holds no number", "Use another meter: tauto machine lists them")
        return value


def open_hwmon(tree: Tree, clock: Callable[[], float]) -> HwmonMeter | None:
    """The meter; None where no sensor counts energy or power. MeterError where it cannot be had."""
    sensors: dict[str, _Sensor] = {}
    batteries = set(tree.names("/sys/class/power_supply"))
    for device in tree.names(_FOLDER):
        folder = f"{_FOLDER}/{device}"
        chip = tree.text(f"{folder}/name") or device
        if chip in batteries or chip.startswith(("BAT", "ucsi_source")):
            continue  # a battery is read as such
        for sensor in _of_device(tree, folder, chip):
            sensors.setdefault(sensor.domain.name, sensor)
    if not sensors:
        return None
    return HwmonMeter(tree, sensors, clock)


def _of_device(tree: Tree, folder: str, chip: str) -> list[_Sensor]:
    """Those that count energy; where there are none, those that tell power."""
    names = tree.names(folder)
    for prefix, pattern in (("energy", _ENERGY), ("power", _POWER)):
        sensors = []
        for match in filter(None, map(pattern.fullmatch, names)):
            label = tree.text(f"{folder}/{prefix}{match[1]}_label") or ""
            sensors.append(
                _Sensor(f"{folder}/{match[0]}", _domain(chip, label, match[1]), counts=prefix == "energy")
            )
        if sensors:
            return sensors
    return []


def _domain(chip: str, label: str, number: str) -> Domain:
    socket = re.fullmatch(r"Esocket(\d+)", label)
    core = re.fullmatch(r"Ecore(\d+)", label)
    if socket is not None:
        return Domain(f"package-{socket[1]}", "package")
    if core is not None:
        return Domain(f"core-{int(core[1])}", "core")
    name = f"{chip}-{label or number}"
    kind: Kind = "rail"
    if chip in _GRAPHICS:
        kind = "gpu"
    elif chip in _NODE_CHIPS or _NODE_LABELS.fullmatch(label):
        kind = "node"
    return Domain(name, kind)
