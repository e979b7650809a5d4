"""The machine block of the page, from the machine's JSON: only what is there, nothing guessed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from tautochrone import text
from tautochrone.options import format_cpus
from tautochrone.results.runs import median_known
from tautochrone.text import frequency_policy


class CoreBox(msgspec.Struct, frozen=True):
    """One CPU in the map of cores: its number, kind, and whether the study could use it."""

    cpu: int
    kind: str
    allowed: bool
    slowed: float | None
    title: str


class MachineView(msgspec.Struct, frozen=True):
    """What the page says of the machine."""

    name: str
    cores: str
    emulated: str | None
    boxes: list[CoreBox]
    facts: list[tuple[str, str]]
    measured_head: list[str]
    measured: list[list[str]]
    triad: list[tuple[str, str, float]]  # members, bandwidth, share of the largest
    costs: list[tuple[str, str]]


def build(machine: Mapping[str, Any], situations: Iterable[Mapping[str, float]]) -> MachineView:
    """The view of a `tautochrone.machine/1` object; a missing field is left out, never shown as 0."""
    slowed = _slowed(machine, situations)
    labels = [
        f"CPU {cpu} {' and '.join(f'{factor:g}×' for factor in factors)}" for cpu, factors in slowed.items()
    ]
    measured = machine.get("measured") or {}
    head, rows = _per_cpu(measured.get("cpus") or [])
    return MachineView(
        name=str(machine.get("name") or machine.get("cpu_model") or "unknown machine"),
        cores=_cores(machine),
        emulated=f"emulated: {', '.join(labels)} slower" if labels else None,
        boxes=[_box(cpu, slowed) for cpu in machine.get("cpus") or []],
        facts=_facts(machine),
        measured_head=head,
        measured=rows,
        triad=_triad(measured.get("triad") or []),
        costs=_costs(measured),
    )


def _slowed(machine: Mapping[str, Any], situations: Iterable[Mapping[str, float]]) -> dict[int, list[float]]:
    """CPUs that emulation slowed in this study, with every factor used."""
    found: dict[int, set[float]] = {}
    for entry in machine.get("emulated") or []:
        found.setdefault(int(entry["cpu"]), set()).add(float(entry["factor"]))
    for emulated in situations:
        for cpu, factor in emulated.items():
            if factor != 1:
                found.setdefault(int(cpu), set()).add(float(factor))
    return {cpu: sorted(factors) for cpu, factors in sorted(found.items())}


def _cores(machine: Mapping[str, Any]) -> str:
    """Cores, not hardware threads, of each kind: "8 P + 16 E"."""
    seen: dict[str, set[tuple[object, object]]] = {}
    for cpu in machine.get("cpus") or []:
        seen.setdefault(str(cpu.get("kind", "core")), set()).add((cpu.get("package"), cpu.get("core")))
    threads = len(machine.get("cpus") or [])
    total = sum(len(cores) for cores in seen.values())
    words = text.cores({kind: len(cores) for kind, cores in seen.items()})
    words = words if "core" in words else f"{words} cores"
    return f"{words}, {threads} hardware threads" if threads > total else words


def _box(cpu: Mapping[str, Any], slowed: Mapping[int, list[float]]) -> CoreBox:
    number = int(cpu["cpu"])
    kind = str(cpu.get("kind", "core"))
    parts = [f"CPU {number}, {'core' if kind == 'core' else kind + '-core'} {cpu.get('core', number)}"]
    if cpu.get("max_hertz"):
        parts.append(f"up to {text.quantity(cpu['max_hertz'], 'Hz')}")
    parts += [
        f"{name.upper()} {text.binary_bytes(cpu[name + '_bytes'])}"
        for name in ("l1d", "l2", "l3")
        if cpu.get(name + "_bytes")
    ]
    allowed = bool(cpu.get("allowed", True))
    if not allowed:
        parts.append("not allowed for this program")
    factors = slowed.get(number)
    return CoreBox(number, kind, allowed, max(factors) if factors else None, ", ".join(parts))


def _facts(machine: Mapping[str, Any]) -> list[tuple[str, str]]:
    caches = Counter(
        (int(cache["level"]), str(cache.get("type", "")), int(cache["size_bytes"]))
        for cache in machine.get("caches") or []
    )
    cache_text = ", ".join(
        f"{number} × L{level}{' ' + kind if level == 1 else ''} {text.binary_bytes(size)}"
        for (level, kind, size), number in sorted(caches.items())
    )
    quota = machine.get("quota_cpus")
    counters, energy = machine.get("counters") or {}, machine.get("energy") or {}
    facts: list[tuple[str, object]] = [
        ("Processor", machine.get("cpu_model")),
        ("Kernel", machine.get("kernel")),
        ("Virtual machine", machine.get("hypervisor")),
        ("Memory", text.binary_bytes(machine["memory_bytes"]) if machine.get("memory_bytes") else None),
        ("Caches", cache_text),
        ("NUMA nodes", len(machine.get("numa") or []) or None),
        ("CPUs allowed", format_cpus(machine["allowed_cpus"]) if machine.get("allowed_cpus") else None),
        ("CPU quota", f"{quota:g} CPUs ({machine.get('quota_source') or 'cgroup'})" if quota else "none"),
        ("Members that can be used", machine.get("usable_members")),
        ("Frequency policy", frequency_policy(machine) or "not visible here"),
        ("Hardware counters", _status(counters)),
        ("Energy meter", _status(energy)),
        ("Machine id", machine.get("machine")),
    ]
    return [(name, str(value)) for name, value in facts if value not in (None, "")]


def _status(entry: Mapping[str, Any]) -> str | None:
    if not entry.get("status"):
        return None
    if entry["status"] == "unproven":
        return "listed, but not probed"
    words = [str(entry["status"])]
    if entry["status"] == "unavailable":
        words += [str(entry[name]).rstrip(".") for name in ("reason", "remedy") if entry.get(name)]
    return ": ".join(words[:2]) + "".join(f". {text.sentence(word)}" for word in words[2:])


_PER_CPU = (
    ("compute", "compute_per_second", "op/s"),
    ("from cache", "cache_bytes_per_second", "B/s"),
    ("from memory", "memory_bytes_per_second", "B/s"),
    ("longest interruption", "noise_largest_gap_seconds", "s"),
)


def _per_cpu(cpus: Iterable[Mapping[str, Any]]) -> tuple[list[str], list[list[str]]]:
    rows = list(cpus)
    shown = [column for column in _PER_CPU if any(row.get(column[1]) is not None for row in rows)]
    stolen = any(row.get("steal_fraction") is not None for row in rows)
    head = ["CPU", *(name for name, _, _ in shown), *(["stolen by the host"] if stolen else [])]
    table = [
        [
            str(row.get("cpu")),
            *(text.quantity(row.get(field), unit) for _, field, unit in shown),
            *([text.percent(row.get("steal_fraction"))] if stolen else []),
        ]
        for row in rows
    ]
    return (head, table) if rows else ([], [])


def _triad(triad: Iterable[Mapping[str, Any]]) -> list[tuple[str, str, float]]:
    rows = [row for row in triad if row.get("bytes_per_second")]
    top = max((float(row["bytes_per_second"]) for row in rows), default=1.0)
    return [
        (
            text.count(int(row["members"]), "member"),
            text.quantity(row["bytes_per_second"], "B/s"),
            row["bytes_per_second"] / top,
        )
        for row in rows
    ]


def _costs(measured: Mapping[str, Any]) -> list[tuple[str, str]]:
    costs: list[tuple[str, Any]] = [("message to another core and back", measured.get("round_trip_seconds"))]
    for runtime, seconds in (measured.get("fork_join_seconds") or {}).items():
        costs.append((f"fork and join, {runtime}", seconds))
    costs.append(("barrier", measured.get("barrier_seconds")))
    wake = measured.get("futex_wake_seconds") or {}
    costs.append(("waking a sleeping thread", wake.get("wakee")))
    moves = [move for move in measured.get("moves") or [] if move["bytes"] == 0]
    costs.append(("a thread's change to another CPU", median_known(move["seconds"] for move in moves)))
    return [(name, text.seconds(value)) for name, value in costs if value is not None]
