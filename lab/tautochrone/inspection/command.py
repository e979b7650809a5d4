"""``tauto inspect``: the findings as a table or as JSON."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from tautochrone.errors import TautoError
from tautochrone.inspection.commands import behind
from tautochrone.inspection.findings import Findings, inspect
from tautochrone.inspection.watching import watch
from tautochrone.machine import read_machine
from tautochrone.report import text

_WORDS = {True: "yes", False: "no", None: "cannot be told from its files"}


def run_inspect_command(
    command: Sequence[str], run: bool, time_limit_seconds: float, json: bool, console: Console
) -> int:
    """Inspect, with `run` also while it runs once; print; 0. TautoError where it cannot be found or fails."""
    if not command:
        raise TautoError("no command was given", "Write it behind two dashes: tauto inspect -- ./solver case")
    behind(command)  # what cannot be found is said before anything runs
    machine = read_machine("none")
    watched = watch(command, time_limit_seconds) if run else None
    found = inspect(command, machine, watched)
    if json:
        console.file.write(msgspec.json.format(msgspec.json.encode(found), indent=1).decode() + "\n")
    else:
        render(found, console)
    return 0


def render(found: Findings, console: Console) -> None:
    """The findings for people."""
    grid = Table.grid(padding=(0, 2, 0, 0))
    grid.add_column(style="dim", no_wrap=True)
    grid.add_column(overflow="fold")
    through = f" (through {', '.join(found.through)})" if found.through else ""
    grid.add_row("program", escape(", ".join(found.programs) + through))
    grid.add_row("linked", "statically" if found.linked_statically else "dynamically")
    if found.mpi_launcher:
        grid.add_row("started by", found.mpi_launcher)
    for one in found.runtimes:
        grid.add_row(one.name, escape(f"{one.title}, {one.how}: {one.file}; reads {one.sets}"))
    if not found.runtimes:
        grid.add_row("runtimes", "none that is known")
    schedules = found.schedules
    grid.add_row(
        "loops ask for their schedule", f"{_WORDS[schedules.asks_environment]}: {schedules.evidence}"
    )
    grid.add_row("static OpenMP loops", _WORDS[schedules.has_static_loops])
    if found.most_threads is not None:
        grid.add_row("threads seen", str(found.most_threads))
    if found.peak_memory_bytes:
        grid.add_row("memory seen", text.binary_bytes(found.peak_memory_bytes))
    kinds = ", ".join(f"{kind}: CPU {text.cpu_list(cpus)}" for kind, cpus in found.kinds)
    grid.add_row("cores", f"{found.cores} ({kinds})")
    quota = f", a quota of {found.quota_cpus:g} CPUs" if found.quota_cpus is not None else ""
    grid.add_row("may be used", f"CPU {text.cpu_list(found.cpus)}{quota}")
    console.print(grid)
    for note in found.notes:
        console.print(f"Note: {note}.", markup=False, highlight=False)
