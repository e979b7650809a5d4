"""``tauto inspect``: the findings as a table or as JSON."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from rich.console import Console

from tautochrone import text
from tautochrone.errors import TautoError
from tautochrone.inspection.findings import Findings, inspect
from tautochrone.inspection.watching import watch
from tautochrone.machine.probe import read_machine
from tautochrone.options import Option, Words, format_cpus
from tautochrone.programs.commands import behind
from tautochrone.terminal import Terminal

_WORDS = {True: "yes", False: "no", None: "cannot be told from its files"}


@dataclass(frozen=True)
class InspectRequest:
    """Say what a program links and loads, and what it may use.

    It also says whether the program's loops ask for their schedule when they run.

    \b
    Examples:
      tauto inspect -- ./solver case.in
      tauto inspect -- mpirun -n 4 ./solver case.in
      tauto inspect --run -- python3 script.py
    """  # noqa: D301

    command: Annotated[tuple[str, ...], Words("What to look at.")] = ()
    once: Annotated[bool, Option("Also run it once, to see what it loads: for scripts.", flag="--run")] = (
        False
    )
    time_limit: Annotated[float, Option("The time limit of that run.", "SECONDS")] = 60.0
    json: Annotated[bool, Option("Print the findings as JSON.")] = False

    def run(self) -> int:
        return run_inspect_command(self, Terminal())


def run_inspect_command(request: InspectRequest, console: Console) -> int:
    """Inspect, run it once if asked, print; 0. TautoError where it is not found or cannot start."""
    command = request.command
    if not command:
        raise TautoError("no command was given", "Write it behind two dashes: tauto inspect -- ./solver case")
    behind(command)  # refuses a command that cannot be found before anything runs
    machine = read_machine("none")
    watched = watch(command, request.time_limit) if request.once else None
    findings = inspect(command, machine, watched)
    if request.json:
        console.file.write(text.as_json(findings) + "\n")
    else:
        render(findings, console)
    return 0


def render(findings: Findings, console: Console) -> None:
    grid = text.names_and_words()
    through = f" (through {', '.join(findings.through)})" if findings.through else ""
    grid.add_row("program", ", ".join(findings.programs) + through)
    grid.add_row("linked", "statically" if findings.linked_statically else "dynamically")
    if findings.mpi_launcher:
        grid.add_row("started by", findings.mpi_launcher)
    for runtime in findings.runtimes:
        grid.add_row(runtime.name, f"{runtime.title}, {runtime.how}: {runtime.file}; reads {runtime.sets}")
    if not findings.runtimes:
        grid.add_row("runtimes", "none of the known ones")
    schedules = findings.schedules
    grid.add_row(
        "loops ask for their schedule", f"{_WORDS[schedules.asks_environment]}: {schedules.evidence}"
    )
    grid.add_row("static OpenMP loops", _WORDS[schedules.has_static_loops])
    for index, sentence in enumerate(findings.balancing):
        grid.add_row("" if index else "tauto balance", sentence)
    if findings.most_threads is not None:
        grid.add_row("threads seen", str(findings.most_threads))
    if findings.peak_memory_bytes:
        grid.add_row("memory seen", text.binary_bytes(findings.peak_memory_bytes))
    kinds = ", ".join(f"{kind}: CPU {format_cpus(cpus)}" for kind, cpus in findings.kinds)
    grid.add_row("cores", f"{findings.cores} ({kinds})")
    quota = f", a quota of {findings.quota_cpus:g} CPUs" if findings.quota_cpus is not None else ""
    grid.add_row("may be used", f"CPU {format_cpus(findings.cpus)}{quota}")
    console.print(grid)
    for note in findings.notes:
        console.print(f"Note: {note}.", highlight=False)
