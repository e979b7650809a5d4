"""The laptop's own battery: the power that it gives while nothing else feeds the machine.

It tells watts for the whole machine with its screen, anew every second or so; good for runs of a minute.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from tautochrone.energy.meter import Domain, Integral, Meter, MeterError, Tree

_FOLDER = "/sys/class/power_supply"


class BatteryMeter(Meter):
    """All batteries of the machine while they discharge."""

    source = "battery"
    integrates = True

    def __init__(self, tree: Tree, names: list[str], clock: Callable[[], float]) -> None:
        self._tree = tree
        self._clock = clock
        self._names = names
        now = clock()
        self._counters = {name: Integral(now, self._watts(name)) for name in names}

    @property
    def domains(self) -> tuple[Domain, ...]:
        return tuple(Domain(name, "battery") for name in self._names)

    def read(self) -> Mapping[str, float]:
        now = self._clock()
        return {name: counter.advance(now, self._watts(name)) for name, counter in self._counters.items()}

    def _watts(self, name: str) -> float:
        status = self._tree.text(f"{_FOLDER}/{name}/status") or "of unknown status"
        if status != "Discharging":
            raise MeterError(
                f"the battery {name} is {status.lower()}: the machine does not run on it",
                "Unplug the charger and measure again",
            )
        return _watts(self._tree, f"{_FOLDER}/{name}")


def open_battery(tree: Tree, clock: Callable[[], float]) -> BatteryMeter | None:
    """The meter; None where there is no battery. MeterError where it cannot be had."""
    names = [
        name
        for name in tree.names(_FOLDER)
        # the battery of a mouse has the scope Device
        if tree.text(f"{_FOLDER}/{name}/type") == "Battery"
        and tree.text(f"{_FOLDER}/{name}/scope") != "Device"
    ]
    if not names:
        return None
    # Of two batteries one may rest at 0 W while the other is used up.
    used = [name for name in names if tree.text(f"{_FOLDER}/{name}/status") == "Discharging"]
    return BatteryMeter(tree, used or names, clock)


def _watts(tree: Tree, folder: str) -> float:
    """`power_now`, or current times voltage. Some drivers give a current that flows out as negative."""
    power = tree.number(f"{folder}/power_now")
    if power is not None:
        return abs(power) / 1e6
    current, voltage = tree.number(f"{folder}/current_now"), tree.number(f"{folder}/voltage_now")
    if current is None or voltage is None:
        raise MeterError(
            f"the battery {folder.rpartition('/')[2]} tells neither its power nor its current and voltage",
            "Use another meter: tauto machine lists them",
        )
    return abs(current) / 1e6 * voltage / 1e6
