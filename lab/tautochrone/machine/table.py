"""A machine on the terminal: what it is, what may be used, what was measured, and advice."""

from __future__ import annotations

import os
import statistics
from collections import Counter
from collections.abc import Callable, Sequence

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from tautochrone import text
from tautochrone.energy.meter import OUTSIDE_VARIABLE
from tautochrone.errors import printable
from tautochrone.machine.advice import advise
from tautochrone.machine.record import Cpu, Machine, Measured, MeasuredCpu, StreamPoint
from tautochrone.options import format_cpus

MOST_CPUS_IN_ROWS = 8  # more CPUs are shown by kind


def render_table(machine: Machine, console: Console) -> None:
    """Print the machine in human units. Empty columns and lines are left out."""
    about = f"  {machine.machine}, {machine.architecture}"
    console.print(Text.assemble((machine.name, "bold"), (about, "dim")))
    console.print(_facts(machine))
    console.print(_speeds(machine))
    if machine.measured is not None:
        console.print(_costs(machine.measured))
    else:
        console.print("Nothing was measured: add --measure quick", style="dim")
    outside = os.environ.get(OUTSIDE_VARIABLE)
    if findings := [one for one in advise(machine) if not (outside and one.topic == "energy")]:
        grid = text.names_and_words(style="")
        for finding in findings:
            grid.add_row("•", str(finding))
        console.print()
        console.print(grid)


def _facts(machine: Machine) -> Table:
    grid = text.names_and_words()
    counts = text.cores({kind.kind: machine.cores(kind) for kind in machine.kinds})
    if len(machine.cpus) > sum(machine.cores(kind) for kind in machine.kinds):
        counts += f", {len(machine.cpus)} hardware threads"
    grid.add_row("cores", counts)
    grid.add_row("may be used", _usable(machine))
    grid.add_row("caches", _caches(machine))
    memory = (
        f"{text.binary_bytes(machine.memory_bytes)}, {text.binary_bytes(machine.available_memory_bytes)} free"
    )
    if machine.memory_limit_bytes is not None:
        memory += f", limited to {text.binary_bytes(machine.memory_limit_bytes)}"
    if len(machine.numa) > 1:
        memory += f", in {len(machine.numa)} nodes"
    grid.add_row("memory", memory)
    if clock := text.frequency_policy(machine.to_dict()):
        grid.add_row("clock", clock)
    inside = [f"virtual machine ({machine.hypervisor})"] if machine.hypervisor else []
    inside += ["container"] if machine.container else []
    grid.add_row("system", ", ".join([f"Linux {machine.kernel}", *inside]))
    if outside := os.environ.get(OUTSIDE_VARIABLE):
        words = f"{printable(outside)} ({OUTSIDE_VARIABLE}); tauto energy asks it"
        grid.add_row("energy meter", Text(words))
    return grid


def _usable(machine: Machine) -> str:
    members = text.count(machine.usable_members, "thread")
    words = f"{members} on CPUs {format_cpus(machine.allowed_cpus)}"
    if machine.quota_cpus is not None:
        words += f"; quota {machine.quota_cpus:g} CPUs ({machine.quota_source})"
    return words


def _caches(machine: Machine) -> str:
    counted = Counter(
        (cache.level, "d" if cache.type == "data" else "", cache.size_bytes)
        for cache in machine.caches
        if cache.type != "instruction"
    )
    return ", ".join(
        f"{number} × L{level}{letter} {text.binary_bytes(size)}"
        for (level, letter, size), number in sorted(counted.items())
    )


_FIGURES: tuple[tuple[str, Callable[[MeasuredCpu], float | None], str], ...] = (
    ("compute", lambda cpu: cpu.compute_per_second, "flop/s"),
    ("from cache", lambda cpu: cpu.cache_bytes_per_second, "B/s"),
    ("from memory", lambda cpu: cpu.memory_bytes_per_second, "B/s"),
    ("noise p99", lambda cpu: cpu.noise_p99_gap_seconds, "s"),
    ("longest stop", lambda cpu: cpu.noise_largest_gap_seconds, "s"),
)
_SIZES: tuple[tuple[str, Callable[[Cpu], int | None]], ...] = (
    ("L1d", lambda cpu: cpu.l1d_bytes),
    ("L2", lambda cpu: cpu.l2_bytes),
    ("L3", lambda cpu: cpu.l3_bytes),
)


def _speeds(machine: Machine) -> Table:
    """One row for each CPU on small machines, else one for each kind, with medians of its figures."""
    measured = {cpu.cpu: cpu for cpu in machine.measured.cpus} if machine.measured else {}
    by_cpu = len(machine.cpus) <= MOST_CPUS_IN_ROWS
    groups = [[cpu] for cpu in machine.cpus]
    if not by_cpu:
        groups = [[cpu for cpu in machine.cpus if cpu.kind == kind.kind] for kind in machine.kinds]
    clocks = [[cpu.max_hertz for cpu in group if cpu.max_hertz is not None] for group in groups]
    columns = {
        "CPU" if by_cpu else "CPUs": [_numbers(group) for group in groups],
        "kind": [group[0].kind for group in groups] if len(machine.kinds) != 1 else [],
        "clock up to": [text.quantity(max(clock), "Hz") if clock else "" for clock in clocks],
    }
    if not measured:  # else there is no room for caches; they are listed above
        for name, size_of in _SIZES:
            sizes = [size_of(group[0]) for group in groups]
            columns[name] = ["" if size is None else text.binary_bytes(size) for size in sizes]
    words = len(columns)
    for name, figure_of, unit in _FIGURES:
        pick = max if name == "longest stop" else statistics.median
        read = [[figure_of(measured[cpu.cpu]) for cpu in group if cpu.cpu in measured] for group in groups]
        known = [[value for value in values if value is not None] for values in read]
        columns[name] = [text.quantity(pick(values), unit) if values else "" for values in known]
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, header_style="dim")
    for index, (name, cells) in enumerate(columns.items()):
        if any(cells):
            table.add_column(name, justify="left" if index < words else "right", overflow="fold")
    for row in zip(*filter(any, columns.values()), strict=True):
        table.add_row(*row)
    return table


def _numbers(cpus: Sequence[Cpu]) -> str:
    return format_cpus(cpu.cpu for cpu in cpus) + (
        "" if any(cpu.allowed for cpu in cpus) else " (not allowed)"
    )


def _costs(measured: Measured) -> Table:
    grid = text.names_and_words()
    if measured.triad:
        points = (
            f"{text.quantity(point.bytes_per_second, 'B/s')} on {point.members}" for point in measured.triad
        )
        grid.add_row("triad", ", ".join(points))
    if measured.streams:
        grid.add_row("streams", _streams(measured.streams))
    if measured.counted_lines:
        counted = (
            f"{lines.event} {text.significant(lines.sequential)} of a line that is prefetched, "
            f"{text.significant(lines.scattered)} of one that is not"
            for lines in measured.counted_lines
        )
        grid.add_row("counted", "; ".join(counted))
    pairs = [cell for row in measured.latency_seconds for cell in row if cell is not None]
    if pairs:
        spread = f" ({text.seconds(min(pairs))} to {text.seconds(max(pairs))})" if len(pairs) > 2 else ""
        grid.add_row("core to core", f"{text.seconds(statistics.median(pairs))} one way{spread}")
    fork_join = measured.fork_join_seconds
    if fork_join.tautochrone is not None:
        words = f"{text.seconds(fork_join.tautochrone)} on {measured.fork_join_members} cores"
        if fork_join.libgomp is not None:
            words += f" (GCC's OpenMP {text.seconds(fork_join.libgomp)})"
        grid.add_row("fork and join", words)
    if measured.barrier_seconds is not None:
        grid.add_row("barrier", text.seconds(measured.barrier_seconds))
    wake = measured.futex_wake_seconds
    if wake is not None:
        grid.add_row(
            "wake-up", f"{text.seconds(wake.waker)} to call, {text.seconds(wake.wakee)} until it runs"
        )
    lost = measured.lost_by_moves()
    if lost:
        with_data = [
            f"{text.seconds(seconds)} with {text.binary_bytes(size)} in use"
            for size, seconds in lost.items()
            if size > 0
        ]
        grid.add_row("change of CPU", ", ".join([text.seconds(lost.get(0)), *with_data]))
    for note in measured.notes:
        grid.add_row("not measured", note)
    return grid


def _streams(points: Sequence[StreamPoint]) -> str:
    """One stream of a core, and many of them: the fastest, and where a power of two lies between them."""
    rates = {(point.streams, _is_power(point.spacing_bytes)): point.bytes_per_second for point in points}
    most = max(point.streams for point in points)
    words = [f"{text.quantity(rates.get((1, False)), 'B/s')} along one on a core"]
    if most > 1:
        near, apart = rates.get((most, True)), rates.get((most, False))
        words.append(f"{text.quantity(apart, 'B/s')} along {most}")
        words.append(f"{text.quantity(near, 'B/s')} where a power of two is between them")
    return ", ".join(words)


def _is_power(spacing: int | None) -> bool:
    return spacing is not None and spacing & (spacing - 1) == 0
