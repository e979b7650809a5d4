"""What every study under SMPI does: check what is asked, run it, store the rows, write the report."""

from __future__ import annotations

import json as json_module
import shlex
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

from rich.console import Console

from tautochrone import report
from tautochrone.errors import TautoError
from tautochrone.report.analysis_types import NotMeasured
from tautochrone.report.simulated.analysis_types import SimulatedAnalysis
from tautochrone.report.text import seconds
from tautochrone.simulator import machines
from tautochrone.simulator.engine import Row
from tautochrone.simulator.machines import Machine
from tautochrone.simulator.smpi import platform
from tautochrone.simulator.smpi.running import MOST_RANKS, SELECTORS, Asked, Ready, run_all
from tautochrone.simulator.study import ROW_SCHEMA, record_of, store
from tautochrone.word_lists import integers_of, words_of

One = TypeVar("One", bound=Asked)


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
        """Raises TautoError for one that is not there."""
        return machines.change(machines.load(self.machine_name), self.settings)

    def command(self, counts: Sequence[int], *size: str) -> str:
        """The same again; ``size``: the study's own option with its value, or nothing."""
        words = ["tauto", "simulate", self.study, "--smpi", self.libraries, "--machine", self.machine_name]
        words += [word for one in self.settings for word in ("--set", one)]
        return shlex.join([*words, "--ranks", ",".join(map(str, counts)), *size])


def check_selectors(text: str) -> tuple[str, ...]:
    """``"all"`` or ``"ompi,impi"``. Raises TautoError."""
    if text == "all":
        return SELECTORS
    wanted = tuple(dict.fromkeys(words_of(text, "--smpi")))
    for one in wanted:
        if one not in SELECTORS:
            raise TautoError(
                f"--smpi {one} is no library whose collectives SMPI has",
                f"Choose from {', '.join(SELECTORS)}, or all",
            )
    return wanted


def check_ranks(machine: Machine, text: str | None) -> tuple[int, ...]:
    """The numbers of ranks, ascending; all cores of a node where none was named. Raises TautoError."""

    def refusal(word: str) -> TautoError:
        return TautoError(f"--ranks {word} cannot be simulated", f"Give numbers from 2 to {MOST_RANKS}")

    cores = platform.cores_of(machine)
    wanted = integers_of(text, "--ranks", 2, MOST_RANKS, refusal) if text is not None else (cores,)
    if wanted[0] < 2:
        raise TautoError(
            f"the machine {machine['name']} has one core", "Add --ranks 2 to simulate several of it"
        )
    platform.messages_of(machine)
    if wanted[-1] > cores:
        platform.network_of(machine)
    return wanted


def run_sweep(
    with_: Ready, asked: Sequence[One], console: Console
) -> tuple[list[tuple[One, Row]], list[NotMeasured]]:
    """The rows, and what SMPI could not do. Raises TautoError where no two ranks were simulated."""
    found: list[tuple[One, Row]] = []
    failed: list[NotMeasured] = []
    refused: TautoError | None = None
    with console.status("") as status:
        for done, (one, outcome) in enumerate(run_all(with_, asked), 1):
            if isinstance(outcome, TautoError):
                refused = outcome
                what = f"{one.label}, {one.ranks} ranks"
                failed.append(NotMeasured(what=what, why=outcome.message, remedy=outcome.remedy))
            else:
                found.append((one, outcome))
            status.update(f"{done} of {len(asked)} runs simulated; the last: {one.label}")
    if refused is not None and not any(one.ranks > 1 for one, _ in found):
        raise refused
    return found, failed


def row_of(study: str, one: Any, row: Row, machine: Machine) -> Row:
    """What is stored of a run: its row, and what it was asked (``one``, a dataclass) as ``config``."""
    config = asdict(one)
    return {
        **row,
        "schema": ROW_SCHEMA,
        "started": datetime.now(UTC).isoformat(timespec="seconds"),
        "study": study,
        "name": one.label,
        "config": config,
        "config_id": json_module.dumps([one.label, config], sort_keys=True),
        "round": 0,
        "machine_name": machine["name"],
    }


def publish(
    request: Request, rows: Sequence[Row], machine: Machine, analysis: SimulatedAnalysis, console: Console
) -> int:
    """Print the rows, or store them, write the report and print what it says first. Returns the exit code."""
    if request.json:
        for row in rows:
            print(json_module.dumps(row, ensure_ascii=False))
        return 0
    folder = request.output or Path("tautochrone-results") / f"simulated-{request.study}-smpi"
    store(rows, folder)
    path = report.write(rows, record_of(machine), folder / "report.html", study=request.study, extra=analysis)
    for sentence in analysis.verdict_sentences:
        console.print(sentence, soft_wrap=True, highlight=False)
    console.print(f"The report: {path}", soft_wrap=True, highlight=False)
    return 0


def message_facts(machine: Machine, most_ranks: int) -> dict[str, str]:
    """What the report says of messages."""
    messages = platform.messages_of(machine)
    facts = {
        "A message": f"{seconds(messages.latency + 2 * messages.overhead)}, "
        f"{messages.bytes_per_second / 1e9:.3g} GB/s"
    }
    if most_ranks > platform.cores_of(machine):
        network = platform.network_of(machine)
        facts["Between nodes"] = (
            f"{seconds(network.latency_seconds)} more, {network.bytes_per_second / 1e9:.3g} GB/s a node"
        )
    return facts
