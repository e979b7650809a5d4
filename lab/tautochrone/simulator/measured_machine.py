"""The machine of a measured study for the simulator, from the record that its probe wrote."""

from __future__ import annotations

import copy
import statistics
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import msgspec

from tautochrone.errors import TautoError
from tautochrone.machine import file
from tautochrone.machine.record import Machine as MachineRecord
from tautochrone.machine.schema import KIND, Tables
from tautochrone.simulator import machines
from tautochrone.simulator.caches import interpolated
from tautochrone.simulator.machines import Machine

SLOWED = "slow"
# The shortest turn of the slowing thread of `tauto emulate` (emulator/thief.hpp), for studies that do not
# record theirs.
_TURN_SECONDS = 50e-6


Record = Mapping[str, Any]
"""A machine as its probe wrote it."""


def records_around(records: Sequence[Record], first: str, last: str) -> Sequence[Record]:
    """Those measured from before ``first`` until after ``last`` (ISO 8601, UTC): the machine as it was then.

    The last one before, all between, and the first one after. All records where a time is not known.
    """
    times = [str((record.get("measured") or {}).get("when") or "") for record in records]
    if not all((first, last, *times)):
        return records
    before = [time for time in times if time <= first]
    after = [time for time in times if time >= last]
    begin, end = max(before, default=first), min(after, default=last)
    return [record for record, time in zip(records, times, strict=True) if begin <= time <= end] or records


def measured_machine(record: Record) -> Machine:
    """The same derivation as ``tauto machine --export``, read back.

    Raises TautoError for a record without the probes' figures.
    """
    try:
        machine = msgspec.convert({**record, "emulated": None}, MachineRecord)
    except msgspec.ValidationError as error:
        raise TautoError(
            f"the machine's record cannot be read: {error}", "Measure the study again with this version"
        ) from None
    return machines.read(file.export_toml(machine), "the machine of the study")


def typical_record(records: Sequence[Record]) -> Record:
    """The first record, with the medians of all records' measurements.

    Records that measured nothing, or read otherwise than the first, are left out. Without records: empty.
    """
    first = records[0] if records else {}
    if not first.get("measured"):
        return first
    curves = _curves(first["measured"])
    alike = [
        record["measured"]
        for record in records
        if record.get("measured") and _curves(record["measured"]).keys() == curves.keys()
    ]
    reads = _typical_reads([_curves(measured) for measured in alike])
    rest = [{key: value for key, value in measured.items() if key != "reads"} for measured in alike]
    typical = _typical(rest)
    if typical.get("cpus"):
        kinds = {cpu["cpu"]: cpu.get("kind") for cpu in first.get("cpus", ())}
        typical["cpus"] = _with_typical_speeds(
            [measured["cpus"] for measured in alike], typical["cpus"], kinds
        )
    return {**first, "measured": {**typical, **({"reads": reads} if reads else {})}}


def _with_typical_speeds(
    records: Sequence[Sequence[Mapping[str, Any]]],
    cpus: Sequence[Mapping[str, Any]],
    kinds: Mapping[int, object],
) -> list[Mapping[str, Any]]:
    """CPUs of one kind with typical speeds: the medians of the fastest's, of the second's, and so on.

    Which CPU is slow changes from minute to minute where a host gives its cores to several guests; that one
    is slow does not, and loops wait for it. The median of each CPU alone would hide it.
    """
    speed = "compute_per_second"
    found = list(cpus)
    for kind in dict.fromkeys(kinds.values()):
        own = [place for place, cpu in enumerate(cpus) if kinds.get(cpu["cpu"]) == kind and cpu.get(speed)]
        in_order = [
            sorted((record[place][speed] for place in own), reverse=True)
            for record in records
            if len(record) == len(cpus) and all(record[place].get(speed) for place in own)
        ]
        typical = [statistics.median(speeds) for speeds in zip(*in_order, strict=True)]
        for place, value in zip(sorted(own, key=lambda place: -cpus[place][speed]), typical, strict=False):
            found[place] = {**cpus[place], speed: value}
    return found


_Curve = list[Mapping[str, Any]]
_CURVE = ("kind", "members", "rows_at_once", "pause_seconds")


def _curves(measured: Mapping[str, Any]) -> dict[tuple[object, ...], _Curve]:
    """The reads of a record by who reads, how, and with which pauses, ascending by the set."""
    curves: dict[tuple[object, ...], _Curve] = {}
    for point in measured.get("reads", ()):
        if point.get("bytes_per_second"):
            curves.setdefault(tuple(point.get(name) or None for name in _CURVE), []).append(point)
    for curve in curves.values():
        curve.sort(key=lambda point: float(point["bytes"]))
    return curves


def _typical_reads(records: Sequence[Mapping[tuple[object, ...], _Curve]]) -> _Curve:
    """Of each curve the medians at all its sets. Records looked for steep places each by itself."""
    found: _Curve = []
    for key in records[0]:
        curves = [record[key] for record in records]
        points = {point["bytes"]: point for curve in reversed(curves) for point in curve}
        sets = sorted(points)
        if key[_CURVE.index("pause_seconds")]:
            # One set in each record: that of most of them.
            sets = [statistics.mode(curve[0]["bytes"] for curve in curves)]
        for size in sets:
            rates = [rate for curve in curves if (rate := _rate_at(curve, size)) is not None]
            found.append({**points[size], "bytes_per_second": statistics.median(rates)})
    return found


def _rate_at(curve: _Curve, size: float) -> float | None:
    """The rate of a set, between those that were read; None outside them."""
    if not curve[0]["bytes"] <= size <= curve[-1]["bytes"]:
        return None
    sets = [float(point["bytes"]) for point in curve]
    return interpolated(sets, [float(point["bytes_per_second"]) for point in curve], size)


def _typical(values: Sequence[Any]) -> Any:
    """Medians of the numbers at each place; anything else is from the first value."""
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
    machine: Machine,
    emulated: Mapping[str, float],
    turns: Mapping[str, float] | None = None,
    reading: Mapping[str, float] | None = None,
) -> Machine:
    """A copy in which the core of each slowed CPU is a kind of its own, ``slow``.

    The core runs at full speed for 1 / factor of the time: one window in each of its ``turns`` (seconds by
    CPU). Its mean rates are divided by the factor, and those of reads by the factor of ``reading``.
    """
    kinds = copy.deepcopy(machine.written[KIND])
    for position, (cpu, factor) in enumerate(sorted(emulated.items())):
        kind = _kind_of(kinds, int(cpu))
        kind["cores"] -= 1
        slow = {
            **kind,
            "kind": SLOWED if position == 0 else f"{SLOWED} {position + 1}",
            "cores": 1,
            "cpus": [int(cpu)],
            "stolen_turn_seconds": (turns or {}).get(cpu, _TURN_SECONDS),
            "stolen_share": 1 - 1 / factor,
            "stolen_reading_share": 1 - 1 / max(1.0, (reading or {}).get(cpu, factor)),
        }
        kind["cpus"] = [other for other in kind["cpus"] if other != int(cpu)]
        for lists in (kind, slow):
            lists.pop("cpu_relative_speed", None)
            lists.pop("measured_cpus", None)
        kinds = [kind for kind in kinds if kind["cores"] > 0] + [slow]
    return machines.machine_of({**machine.written, KIND: kinds})


def _kind_of(kinds: Sequence[Tables], cpu: int) -> Tables:
    for kind in kinds:
        if cpu in kind["cpus"]:
            return kind
    raise TautoError(
        f"the study slowed CPU {cpu}, which is missing from its machine's record", "Measure again"
    )


def placement_of(machine: Machine, cpus: Collection[int]) -> str | None:
    """The simulator's name for a list of CPUs; None if it has no name for them."""
    chosen = {kind.kind: len(set(kind.cpus) & set(cpus)) for kind in machine.kind}
    used = [kind for kind in machine.kind if chosen[kind.kind]]
    if all(chosen[kind.kind] == kind.cores for kind in machine.kind):
        return "cores"
    if len(used) == 1 and chosen[used[0].kind] <= used[0].cores:
        return f"{used[0].kind}:{chosen[used[0].kind]}"
    if sum(chosen.values()) == sum(len(kind.cpus) for kind in machine.kind):
        return "all"
    return None
