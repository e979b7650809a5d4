"""Steps of every study under SMPI: check the request, run it, store the rows, write the report."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rich.console import Console

from tautochrone.errors import TautoError
from tautochrone.options import integers_of, words_of
from tautochrone.results.context import Command, NotMeasured
from tautochrone.simulator import machines
from tautochrone.simulator.command import (
    StoredRecord,
    command_line,
    default_folder,
    facts_of,
    print_rows,
    stored_row,
)
from tautochrone.simulator.command import publish as publish_rows
from tautochrone.simulator.findings import SimulatedAnalysis
from tautochrone.simulator.machines import Machine
from tautochrone.simulator.smpi import platform
from tautochrone.simulator.smpi.running import (
    MOST_RANKS,
    SELECTORS,
    AnyRun,
    Ready,
    Row,
    Simulated,
    SimulatedOperation,
    run_all,
)
from tautochrone.terminal import spinner
from tautochrone.text import seconds


@dataclass(frozen=True, slots=True)
class Request:
    """``tauto simulate STUDY --smpi LIBRARIES``, as it was typed."""

    study: str
    machine_name: str
    settings: Sequence[str]
    libraries: str
    ranks: str | None
    output: Path | None
    json: bool

    @property
    def machine(self) -> Machine:
        """The machine with its settings. Raises TautoError if there is no such machine."""
        return machines.change(machines.load(self.machine_name), self.settings)

    def command(self, counts: Sequence[int], *size: str) -> str:
        """The command for the same run; ``size``: the study's own option with its value, or nothing."""
        line = command_line(self.study, self.machine_name, self.settings, "--smpi", self.libraries)
        return f"{line} {shlex.join(['--ranks', ','.join(map(str, counts)), *size])}"


def check_selectors(text: str) -> tuple[str, ...]:
    """``"all"`` or ``"ompi,impi"``. Raises TautoError."""
    if text == "all":
        return SELECTORS
    wanted = tuple(dict.fromkeys(words_of(text, "--smpi")))
    for selector in wanted:
        if selector not in SELECTORS:
            raise TautoError(
                f"--smpi {selector} is not a library whose collectives SMPI has",
                f"Choose from {', '.join(SELECTORS)}, or all",
            )
    return wanted


def check_ranks(machine: Machine, text: str | None) -> tuple[int, ...]:
    """The numbers of ranks, ascending; by default all cores of a node. Raises TautoError."""

    def refusal(word: str) -> TautoError:
        return TautoError(f"--ranks {word} cannot be simulated", f"Give numbers from 2 to {MOST_RANKS}")

    wanted = (machine.cores,) if text is None else integers_of(text, "--ranks", 2, MOST_RANKS, refusal)
    if wanted[0] < 2:
        raise TautoError(
            f"the machine {machine.name} has one core", "Add --ranks 2 to simulate two such nodes"
        )
    platform.messages_of(machine)
    if wanted[-1] > machine.cores:
        platform.network_of(machine)
    return wanted


def run_sweep(
    with_: Ready, runs: Sequence[AnyRun], console: Console
) -> tuple[list[tuple[AnyRun, Row]], list[NotMeasured]]:
    """The rows, and the runs that SMPI refused. Raises TautoError if no run with two ranks is left."""
    rows: list[tuple[AnyRun, Row]] = []
    failed: list[NotMeasured] = []
    refused: TautoError | None = None
    with spinner(console) as say:
        for done, (run, outcome) in enumerate(run_all(with_, runs), 1):
            if isinstance(outcome, TautoError):
                refused = outcome
                what = f"{run.label}, {run.ranks} ranks"
                failed.append(NotMeasured(what=what, why=outcome.message, remedy=outcome.remedy))
            else:
                rows.append((run, outcome))
            say(f"{done} of {len(runs)} runs simulated; the last: {run.label}")
    if refused is not None and not any(run.ranks > 1 for run, _ in rows):
        raise refused
    return rows, failed


def row_of(
    study: str, run: Simulated | SimulatedOperation, row: Mapping[str, object], machine: Machine
) -> StoredRecord:
    """The stored record of a run: its row, and its settings as ``config``."""
    config = asdict(run)
    return stored_row(study, row, machine, run.label, config, config)


def publish(
    request: Request,
    rows: Sequence[StoredRecord],
    machine: Machine,
    analysis: SimulatedAnalysis,
    console: Console,
) -> int:
    """Print the rows, or store them and write the report. Returns the exit code."""
    if request.json:
        return print_rows(rows)
    folder = request.output or default_folder(f"{request.study}-smpi")
    return publish_rows(rows, machine, analysis, folder, console)


def shared_fields(
    machine: Machine, most_ranks: int, command: str, failed: Sequence[NotMeasured]
) -> dict[str, Any]:
    """The fields of the analysis that are the same in every study under SMPI."""
    return {
        "machine_name": machine.name,
        "facts": {**facts_of(machine), **_message_facts(machine, most_ranks)},
        "commands": (Command(label="The same again", text=command),),
        "not_measured": tuple(failed),
    }


def _message_facts(machine: Machine, most_ranks: int) -> dict[str, str]:
    messages = platform.messages_of(machine)
    latency = seconds(messages.latency + 2 * messages.overhead)
    facts = {"A message": f"{latency}, {messages.bytes_per_second / 1e9:.3g} GB/s"}
    if most_ranks > machine.cores:
        network = platform.network_of(machine)
        rate = f"{network.bytes_per_second / 1e9:.3g} GB/s a node"
        facts["Between nodes"] = f"{seconds(network.latency_seconds)} more, {rate}"
    return facts
