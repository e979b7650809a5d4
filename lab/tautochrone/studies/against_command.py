"""``tauto simulate STUDY --against FOLDER``: what was measured, beside what the simulator says of it."""

from __future__ import annotations

import json as json_module
import shlex
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
from rich.console import Console
from rich.table import Table

from tautochrone import report
from tautochrone.errors import TautoError
from tautochrone.machine.record import machine_of
from tautochrone.results.context import Command
from tautochrone.results.row import Row
from tautochrone.results.states import by_state
from tautochrone.results.store import Store
from tautochrone.simulator.findings import Axis, ErrorLine, LineChart, SimulatedAnalysis
from tautochrone.studies import study_named
from tautochrone.studies.against_matching import KINDS, NEAR_BEST, Agreement, Predicted, Slowed, compare
from tautochrone.studies.loop.findings import LoopContext
from tautochrone.text import percent, sentence

_X = {
    "loop": Axis(field="x", title="order of the matrix", logarithmic=True),
    "mapreduce": Axis(field="x", title="threads"),
}
_TIME = Axis(field="y", title="time", logarithmic=True, seconds=True)


def run_against_command(study: str, folder: Path, output: Path | None, json: bool, console: Console) -> int:
    """Compare, print the table, write the report. Raises TautoError for what cannot be compared."""
    if study not in KINDS:
        raise TautoError(
            f"study {study} cannot be held against its simulation", f"Choose from {', '.join(KINDS)}"
        )
    store = Store.read(folder)
    if store.study != study:
        raise TautoError(
            f"{folder} holds results of study {store.study}, not of {study}",
            f"Write tauto simulate {store.study} --against {folder}"
            if store.study in KINDS
            else f"Name a folder of tauto study {study}",
        )
    rows, machine = study_named(study).rows_of(store), machine_of(store)
    found = agreement(store, rows)
    if json:
        plain: dict[str, Any] = msgspec.to_builtins(found)
        for prediction, whole in zip(found.predicted, plain["predicted"], strict=True):
            whole["error"] = prediction.error
        print(json_module.dumps(plain, ensure_ascii=False, indent=1))
        return 0
    console.print(_table(found))
    for said in sentences(found):
        console.print(said, soft_wrap=True, highlight=False)
    path = (output or store.folder) / "against.html"
    command = Command(
        label="The same again", text=shlex.join(["tauto", "simulate", study, "--against", str(folder)])
    )
    report.write(rows, machine, path, _analysis(found, command), study=study)
    console.print(f"The report: {path}", soft_wrap=True, highlight=False)
    return 0


def agreement(store: Store, rows: Sequence[Row]) -> Agreement:
    """A study of ``KINDS`` beside its own machine's simulation. TautoError where nothing can be compared."""
    known = study_named(store.study).known_of(store.folder) if store.study == "loop" else LoopContext()
    slowed = Slowed(known.measured_factors, known.measured_reading_factors, known.measured_turns)
    return compare(store.study, rows, store.machines, slowed)


def prediction_of(folder: Path) -> str:
    """How well the simulator predicts the study there, one of ``KINDS``. TautoError without a model of it."""
    with Store.read(folder) as store:
        found = agreement(store, study_named(store.study).rows_of(store))
    errors = f"median error {percent(found.together.median)}, 90th percentile {percent(found.together.p90)}"
    return (
        f"Of the measured {store.study} study the simulator, told nothing but this machine’s own probes, "
        f"predicts {found.together.count} configurations: {errors}"
        + (f"; {_times_itself(found)}" if found.beside_itself is not None else "")
        + "."
    )


def _times_itself(found: Agreement) -> str:
    itself = found.beside_itself
    assert itself is not None
    return (
        f"that is {itself.median:.2g} times as far off as the study is from itself in the median and "
        f"{itself.p90:.2g} times at the 90th percentile, of the {itself.count} with rounds enough"
    )


def sentences(found: Agreement) -> list[str]:
    """What the table comes to, for people."""
    together = found.together
    which = " from n = 1000 on" if found.study == "loop" else ""
    parts = [
        f"All {together.count} configurations{which}: median error {percent(together.median)}, "
        f"90th percentile {percent(together.p90)}."
    ]
    if found.reported is not None:
        parts.append(
            f"The {found.reported.count} with reported rounds: median error "
            f"{percent(found.reported.median)}, 90th percentile {percent(found.reported.p90)}."
        )
    parts.append(
        f"What the simulator names best is within {percent(NEAR_BEST)} of the measured best in "
        f"{found.near_best} of {found.cells} cells."
    )
    if (itself := found.repeated) is not None:
        parts.append(
            f"For comparison, this study against itself, even rounds against odd ones: median error "
            f"{percent(itself.median)}, 90th percentile {percent(itself.p90)}, the best named in "
            f"{itself.near_best} of {itself.cells} cells."
        )
    if found.beside_itself is not None:
        parts.append(sentence(_times_itself(found)))
    if (apart := found.probes_apart) is not None:
        parts.append(
            f"By single probes around their runs, {apart.count} simulations differ by "
            f"{percent(apart.median)} in the median and {percent(apart.p90)} at the 90th percentile, "
            f"the longest over the shortest."
        )
    if found.left_out:
        words = ", ".join(f"{what} ({count})" for what, count in sorted(found.left_out.items()))
        parts.append(f"Without a model in the simulator: {words}.")
    return parts


def _table(found: Agreement) -> Table:
    table = Table(box=None, pad_edge=False)
    for name in ("runtime", "schedule"):
        table.add_column(name)
    for name in ("runs of", "median error", "90 %", "bias"):
        table.add_column(name, justify="right")
    for group in (*found.groups, found.together):
        figures = percent(group.median), percent(group.p90), f"{100 * group.bias:+.1f} %"
        table.add_row(group.runtime, group.schedule, str(group.count), *figures)
    return table


def _analysis(found: Agreement, command: Command) -> SimulatedAnalysis:
    states = (dict(state) for state in by_state(found.predicted))
    situations = sorted(states, key=lambda state: (len(state), sorted(state.items())))
    return SimulatedAnalysis(
        verdict_sentences=tuple(sentences(found)),
        study=found.study,
        machine_name=found.machine_name,
        charts=tuple(_charts(found, situations)),
        situations=tuple(situations),
        errors=msgspec.convert(found.groups, tuple[ErrorLine, ...], from_attributes=True),
        commands=(command,),
    )


def _charts(found: Agreement, situations: Sequence[Mapping[str, float]]) -> Iterator[LineChart]:
    """One chart a workload; of each runtime the configuration that was measured in most cells."""

    def record(prediction: Predicted, seconds: float) -> dict[str, object]:
        return {
            "runtime": prediction.runtime,
            "label": prediction.label,
            "x": prediction.x,
            "y": seconds,
            "seconds": seconds,
            "situation": list(situations).index(prediction.emulated),
        }

    workloads: dict[str, list[Predicted]] = {}
    for prediction in found.predicted:
        workload = "" if found.study == "loop" else prediction.cell.split()[0]
        workloads.setdefault(workload, []).append(prediction)
    for number, (workload, part) in enumerate(workloads.items()):
        chosen = _representative(part)
        of_what = f", tasks/bytes {workload}" if workload else ""
        yield LineChart(
            name=f"against{number}",
            heading=f"Measured and simulated: {percent(found.together.median)} apart in the median{of_what}",
            explanation=(
                "Solid: the measured median. Dashed: the simulation of the same configuration. Of each "
                "runtime the configuration that was measured most often."
            ),
            x=_X[found.study],
            y=_TIME,
            records=tuple(record(prediction, prediction.measured_seconds) for prediction in chosen),
            beside=tuple(record(prediction, prediction.simulated_seconds) for prediction in chosen),
        )


def _representative(part: Sequence[Predicted]) -> list[Predicted]:
    cells = Counter((prediction.runtime, _way(prediction)) for prediction in part)
    # the first of those that are measured equally often stands last, and so stays
    chosen = dict(pair for pair, _ in reversed(cells.most_common()))
    kept = [prediction for prediction in part if _way(prediction) == chosen[prediction.runtime]]
    return sorted(
        kept, key=lambda prediction: (prediction.runtime, sorted(prediction.emulated.items()), prediction.x)
    )


def _way(prediction: Predicted) -> str:
    """The label without the number of threads, which is the axis."""
    return ", ".join(
        word for word in prediction.label.split(", ") if not word.endswith(("thread", "threads"))
    )
