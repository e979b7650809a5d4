"""``tauto machine``: runs ``tauto-probe``, shows the machine with advice, and exports a machine file.

The record itself is :class:`Machine` (schema ``tautochrone.machine/1``).
"""

from __future__ import annotations

import json as json_format
import re
import subprocess
import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Annotated, Literal

from tautochrone.errors import TautoError, explained
from tautochrone.files import write_whole
from tautochrone.machine.file import export_toml
from tautochrone.machine.record import Machine
from tautochrone.measuring.answers import read_answer
from tautochrone.options import Option
from tautochrone.results.row import MACHINE_SCHEMA
from tautochrone.threads import started

if TYPE_CHECKING:
    from rich.console import Console

# After this time the probe hangs. Many cores take longer, but not this long.
_LIMIT_SECONDS = {"none": 60.0, "brief": 60.0, "quick": 180.0, "full": 900.0}
_PROGRESS = re.compile(r"^progress (?P<done>[0-9.]+) (?P<what>.*)$")


def read_machine(measure: str = "none", root: Path | None = None) -> Machine:
    """The record of this machine, or of the one whose ``sys`` and ``proc`` are below ``root``.

    ``measure`` is "none" (at once), "brief" (about 1 s on two cores, no bar), "quick" (5 s) or "full" (25 s).
    On terminals a bar on stderr shows the progress. Raises TautoError if the probe is missing, fails or
    hangs.
    """
    if measure not in _LIMIT_SECONDS:
        raise TautoError(f"there is no measure {measure!r}", f"Use one of {', '.join(_LIMIT_SECONDS)}")
    from tautochrone.machine.runners import find

    command = [str(find("tauto-probe")), "--compact", "--measure", measure]
    if measure not in ("none", "brief"):
        command.append("--progress")
    if root is not None:
        command += ["--root", str(root)]
    return parse(_run_probe(command, _LIMIT_SECONDS[measure]))


def _run_probe(command: list[str], limit_seconds: float) -> str:
    """The standard output of the probe. Its standard error has the progress and, at the end, any error."""
    with explained(f"{command[0]} could not be started", "Build it again (make)"):
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    over, hanged = threading.Event(), threading.Event()

    def watch() -> None:
        if not over.wait(limit_seconds):
            hanged.set()
            process.kill()

    with process:
        try:
            assert process.stdout is not None
            assert process.stderr is not None
            stdout, stderr = process.stdout, process.stderr
            started(watch)
            # The object is longer than a pipe holds on machines with many cores.
            pieces: list[str] = []
            read = started(lambda: pieces.append(stdout.read()))
            messages = _follow(stderr)
            read.wait()
            process.wait()
        except BaseException:
            process.kill()
            raise
        finally:
            over.set()
    if hanged.is_set():
        raise TautoError(
            f"tauto-probe did not end within {limit_seconds:.0f} seconds and was stopped",
            "Use --measure none, and look for a CPU that another program occupies (top)",
        )
    if process.returncode != 0:
        raise _refusal(messages, process.returncode)
    return "".join(pieces)


def _follow(lines: IO[str]) -> list[str]:
    """Show the probe's progress until it ends. Returns its last other lines."""
    messages: deque[str] = deque(maxlen=20)
    with ExitStack() as stack:
        show = None
        for line in lines:
            progress = _PROGRESS.match(line)
            if progress is None:
                messages.append(line.rstrip())
                continue
            if show is None:
                show = stack.enter_context(_bar())
            show(float(progress["done"]), progress["what"])
    return [line for line in messages if line]


@contextmanager
def _bar() -> Iterator[Callable[[float, str], None]]:
    """A bar on terminals, moved by what is returned: to a share of 1, with what is done now."""
    from rich import progress as bars

    from tautochrone.terminal import Terminal

    console = Terminal(stderr=True)
    columns = (
        bars.TextColumn("Measuring this machine"),
        bars.BarColumn(),
        bars.TimeRemainingColumn(),
        bars.TextColumn("{task.description}", style="dim"),
    )
    hidden = not console.is_terminal
    with bars.Progress(*columns, console=console, transient=True, disable=hidden, auto_refresh=False) as bar:
        task = bar.add_task("", total=1.0)
        yield lambda done, what: bar.update(task, completed=done, description=what, refresh=True)


def _refusal(messages: list[str], code: int) -> TautoError:
    if not messages:
        return TautoError(
            f"tauto-probe ended with code {code} and no message", "Start it by hand to see what happens"
        )
    # The runtime's errors end with the remedy, after their last semicolon.
    message, separator, remedy = messages[-1].removeprefix("tauto-probe: error: ").rpartition("; ")
    return TautoError(message, remedy[:1].upper() + remedy[1:]) if separator else TautoError(remedy)


def parse(text: str | bytes) -> Machine:
    """The record that tauto-probe writes. TautoError for anything else."""
    machine = read_answer(text, Machine, "tauto-probe")
    if machine.schema != MACHINE_SCHEMA:
        raise TautoError(
            f"tauto-probe wrote the schema {machine.schema!r}, expected {MACHINE_SCHEMA!r}",
            "It is of another version: build it again (make)",
        )
    return machine


@dataclass(frozen=True, kw_only=True)
class MachineRequest:
    """Show this machine: its cores, caches, limits and speeds.

    \b
    Examples:
      tauto machine
      tauto machine --measure none               topology and limits only, at once
      tauto machine --json > machine.json
      tauto machine --measure full --export machine.toml
    """  # noqa: D301

    json: Annotated[bool, Option("Print the record as JSON.")] = False
    export: Annotated[Path | None, Option("Write a machine file (TOML) for the simulator.", "FILE")] = None
    measure: Annotated[
        Literal["none", "quick", "full"],
        Option("How much to measure: nothing, a few seconds, or about a minute."),
    ] = "quick"
    root: Annotated[
        Path | None, Option("Describe the machine whose sys and proc are in this folder.", "FOLDER")
    ] = None

    def run(self, console: Console | None = None) -> int:
        """Show the machine, and write a machine file if asked; with ``root`` it is never measured."""
        from tautochrone.terminal import Terminal

        console = console or Terminal()
        export, measure = self.export, "none" if self.root is not None else self.measure
        if export is not None and measure == "none":
            raise TautoError(
                f"the machine file {export} needs measured speeds, and nothing would be measured",
                "Use --measure quick or --measure full, without --root",
            )
        machine = read_machine(measure, self.root)
        if export is not None:
            remedy = "Make room there, or choose another place"
            with explained(f"the machine file {export} cannot be written", remedy):
                write_whole(export, export_toml(machine))
        if self.json:
            console.file.write(json_format.dumps(machine.to_dict(), indent=1, ensure_ascii=False) + "\n")
            return 0
        from tautochrone.machine.table import render_table

        render_table(machine, console)
        if export is not None:
            console.print(f"\nMachine file: {export}", highlight=False, soft_wrap=True)
        return 0
