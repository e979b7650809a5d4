"""The machine: asks ``tauto-probe`` what it is and how fast, and shows, advises and exports.

The record itself is :class:`Machine` (schema ``tautochrone.machine/1``).
"""

from __future__ import annotations

import json as json_format
import re
import subprocess
import threading
from collections import deque
from pathlib import Path
from typing import IO, Literal

import msgspec
from rich import progress as bars
from rich.console import Console

from tautochrone.advice import Advice, advise
from tautochrone.errors import TautoError
from tautochrone.machine_file import export_toml
from tautochrone.machine_record import Machine
from tautochrone.row import MACHINE_SCHEMA
from tautochrone.whole_file import write_whole

__all__ = [
    "Advice",
    "Machine",
    "advise",
    "export_toml",
    "read_machine",
    "render_table",
    "run_machine_command",
]

MEASURES = ("none", "brief", "quick", "full")
Measure = Literal["none", "brief", "quick", "full"]
# A probe that takes this long hangs: many cores take longer, but not so much.
_LIMIT_SECONDS = {"none": 60.0, "brief": 60.0, "quick": 180.0, "full": 900.0}
_PROGRESS = re.compile(r"^progress (?P<done>[0-9.]+) (?P<what>.*)$")


def read_machine(measure: str = "none", root: Path | None = None) -> Machine:
    """What this machine is, or the one whose ``sys`` and ``proc`` lie below ``root``.

    ``measure`` is "none" (at once), "brief" (about 1 s on two cores, no bar), "quick" (5 s) or "full" (25 s).
    A bar on stderr shows how far it is, on terminals. Raises TautoError where the probe is missing, refuses
    or hangs.
    """
    if measure not in MEASURES:
        raise TautoError(f"there is no measure {measure!r}", f"Use one of {', '.join(MEASURES)}")
    from tautochrone.runners import find

    command = [str(find("tauto-probe")), "--compact", "--measure", measure]
    if measure != "brief":
        command.append("--progress")
    if root is not None:
        command += ["--root", str(root)]
    return _parse(_run_probe(command, _LIMIT_SECONDS[measure]))


def _run_probe(command: list[str], limit_seconds: float) -> str:
    """The standard output of the probe. Its standard error carries progress and, last, an error."""
    try:
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    except OSError as error:
        raise TautoError(
            f"{command[0]} could not be started: {error.strerror}", "Build it again (make)"
        ) from error
    hanged = threading.Event()

    def give_up() -> None:
        hanged.set()
        process.kill()

    watchdog = threading.Timer(limit_seconds, give_up)
    watchdog.daemon = True
    with process:
        watchdog.start()
        try:
            assert process.stdout is not None
            assert process.stderr is not None
            # The object is longer than a pipe holds on machines with many cores.
            pieces: list[str] = []
            reader = threading.Thread(target=lambda out: pieces.append(out.read()), args=(process.stdout,))
            reader.start()
            said = _follow(process.stderr)
            reader.join()
            process.wait()
        except BaseException:
            process.kill()
            raise
        finally:
            watchdog.cancel()
    if hanged.is_set():
        raise TautoError(
            f"tauto-probe did not end within {limit_seconds:.0f} seconds and was stopped",
            "Use --measure none, and look for a CPU that something else holds (top)",
        )
    if process.returncode != 0:
        raise _refusal(said, process.returncode)
    return "".join(pieces)


def _follow(lines: IO[str]) -> list[str]:
    """Show the probe's progress until it ends; the last lines that were no progress."""
    said: deque[str] = deque(maxlen=20)
    console = Console(stderr=True)
    columns = (
        bars.TextColumn("Measuring this machine"),
        bars.BarColumn(),
        bars.TimeRemainingColumn(),
        bars.TextColumn("[dim]{task.description}"),
    )
    with bars.Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = None
        for line in lines:
            found = _PROGRESS.match(line)
            if found is None:
                said.append(line.rstrip())
                continue
            if task is None:
                task = bar.add_task("", total=1.0)
            bar.update(task, completed=float(found["done"]), description=found["what"])
    return [line for line in said if line]


def _refusal(said: list[str], code: int) -> TautoError:
    if not said:
        return TautoError(
            f"tauto-probe ended with code {code} and said nothing", "Start it by hand to see what happens"
        )
    sentence = said[-1].removeprefix("tauto-probe: error: ")
    # The runtime's errors end in what to do, after a semicolon.
    message, separator, remedy = sentence.rpartition("; ")
    if not separator:
        return TautoError(sentence)
    return TautoError(message, f"{remedy[0].upper()}{remedy[1:]}" if remedy else "")


def _parse(text: str) -> Machine:
    try:
        found = msgspec.json.decode(text.encode(), type=Machine)
    except msgspec.DecodeError as error:
        raise TautoError(
            f"tauto-probe did not print what the lab understands: {error}",
            "It may be of another version: build it again (make)",
        ) from error
    if found.schema != MACHINE_SCHEMA:
        raise TautoError(
            f"tauto-probe wrote the schema {found.schema!r}, expected {MACHINE_SCHEMA!r}",
            "It is of another version: build it again (make)",
        )
    return found


def render_table(machine: Machine, console: Console) -> None:
    """Print the machine for people, with advice. See :mod:`tautochrone.machine_table`."""
    from tautochrone import machine_table

    machine_table.render_table(machine, console)


def run_machine_command(
    json: bool, export: Path | None, measure: str, root: Path | None, console: Console
) -> int:
    """``tauto machine``: show the machine, as a table or JSON, and write a machine file if asked. Returns 0.

    A tree of files (``root``) is only described, never measured. Raises TautoError, also where the machine
    file cannot be written.
    """
    if export is not None and (root is not None or measure == "none"):
        raise TautoError(
            f"the machine file {export} needs measured speeds, and nothing would be measured",
            "Use --measure quick or --measure full, without --root",
        )
    found = read_machine("none" if root is not None else measure, root)
    if export is not None:
        _write(export, export_toml(found))
    if json:
        console.file.write(json_format.dumps(found.to_dict(), indent=1, ensure_ascii=False) + "\n")
        return 0
    render_table(found, console)
    if export is not None:
        console.print(f"\nMachine file: {export}", highlight=False, soft_wrap=True)
    return 0


def _write(path: Path, text: str) -> None:
    """Whole or not at all."""
    try:
        write_whole(path, text)
    except OSError as error:
        raise TautoError(
            f"the machine file {path} cannot be written: {error.strerror or error}",
            "Make room there, or choose another place",
        ) from error
