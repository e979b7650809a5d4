"""The machine of a measured study as the simulator takes it: from the record that its probe wrote."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from tautochrone import machine_file
from tautochrone.errors import TautoError
from tautochrone.machine_record import Machine as MachineRecord
from tautochrone.simulator import machines
from tautochrone.simulator.machines import Machine

SLOWED = "slow"
# A turn of the thief behind `tauto emulate` where nobody says: it makes none shorter
# (runners/emulate_thief.hpp).
_TURN_SECONDS = 50e-6


def measured_machine(record: Mapping[str, Any]) -> Machine:
    """The same derivation as ``tauto machine --export``, read back.

    Raises TautoError for a record without the probes' figures.
    """
    try:
        found = msgspec.convert({**record, "emulated": None}, MachineRecord)
    except msgspec.ValidationError as error:
        raise TautoError(
            f"the machine's record cannot be read: {error}", "Measure the study again with this version"
        ) from None
    return machines.read(machine_file.export_toml(found), "the machine of the study")


def typical_record(records: Sequence[Mapping[str, Any]]) -> Mapping[str, Any]:
    """The first record with the medians of what it and the later ones measured.

    Records that read other sets than the first, or measured nothing, are left out.
    """
    first = records[0]
    if not first.get("measured"):
        return first
    alike = [one["measured"] for one in records if _sets(one) == _sets(first)]
    return {**first, "measured": _typical(alike)}


def _sets(record: Mapping[str, Any]) -> list[tuple[object, ...]] | None:
    measured = record.get("measured")
    if not measured:
        return None
    names = ("kind", "members", "rows_at_once", "bytes", "pause_seconds")
    return [tuple(point.get(name) for name in names) for point in measured.get("reads", ())]


def _typical(values: Sequence[Any]) -> Any:
    """Medians of numbers at the same place; anything else is the first's."""
    first = values[0]
    if isinstance(first, Mapping):
        return {
            key: _typical([value[key] for value in values if value.get(key) is not None] or [first[key]])
            for key in first
        }
    if isinstance(first, list | tuple):
        alike = [value for value in values if len(value) == len(first)]
        return [_typical(place) for place in zip(*alike, strict=True)]
    numbers = [value for value in values if isinstance(value, int | float) and not isinstance(value, bool)]
    if isinstance(first, bool) or not numbers or all(value == first for value in values):
        return first
    return statistics.median(numbers)


def with_slow_cores(
    machine: Machine, emulated: Mapping[str, float], turns: Mapping[str, float] | None = None
) -> Machine:
    """A copy in which each slowed CPU's core is of a kind of its own, ``slow``.

    Such a core does everything as fast as its neighbours, but only for 1 / factor of the time: it runs in
    windows, one in each of its ``turns`` (seconds by CPU), and all its rates are, over some, divided by the
    factor.
    """
    changed = machines.change(machine, [])
    for position, (cpu, factor) in enumerate(sorted(emulated.items())):
        kind = _kind_of(changed, int(cpu))
        kind["cores"] -= 1
        slow = {
            **kind,
            "kind": SLOWED if position == 0 else f"{SLOWED} {position + 1}",
            "cores": 1,
            "cpus": [int(cpu)],
            "stolen_turn_seconds": (turns or {}).get(cpu, _TURN_SECONDS),
            "stolen_share": 1 - 1 / factor,
        }
        kind["cpus"] = [one for one in kind["cpus"] if one != int(cpu)]
        for lists in (kind, slow):
            lists.pop("cpu_relative_speed", None)
            lists.pop("measured_cpus", None)
        changed["kind"] = [one for one in changed["kind"] if one["cores"] > 0] + [slow]
    return changed


def _kind_of(machine: Machine, cpu: int) -> dict[str, Any]:
    for kind in machine["kind"]:
        if cpu in kind["cpus"]:
            found: dict[str, Any] = kind
            return found
    raise TautoError(f"the study slowed CPU {cpu}, which its machine's record does not have", "Measure again")


def placement_of(machine: Machine, cpus: list[int]) -> str | None:
    """The simulator's name for a list of CPUs; None where it has none for them."""
    kinds = {kind["kind"]: [cpu for cpu in kind["cpus"] if cpu in cpus] for kind in machine["kind"]}
    used = [name for name, own in kinds.items() if own]
    cores = {kind["kind"]: kind["cores"] for kind in machine["kind"]}
    if all(len(kinds[name]) == count for name, count in cores.items()):
        return "cores"
    if len(used) == 1 and len(kinds[used[0]]) <= cores[used[0]]:
        return f"{used[0]}:{len(kinds[used[0]])}"
    if sum(map(len, kinds.values())) == sum(len(kind["cpus"]) for kind in machine["kind"]):
        return "all"
    return None
