"""Timelines: one run of each runtime with a recorder on, after all rounds, so that none is disturbed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from tautochrone.errors import TautoError
from tautochrone.executor import Executor
from tautochrone.report.analysis_types import NotMeasured
from tautochrone.report.mapreduce.analysis_types import Trace
from tautochrone.studies.mapreduce.configurations import Candidate
from tautochrone.studies.mapreduce.measuring import StudyCell, configuration
from tautochrone.studies.mapreduce.workloads import PUBLISHED, sized
from tautochrone.studies.options import Times

FOLDER = "traces"
_TRACED = PUBLISHED[0]  # 50 tasks of 400 kB
_TIMES = Times(0.02, 0.04, 1)


def record(
    cells: Sequence[StudyCell], folder: Path, seconds_per_byte: float, executor: Executor, limit: float
) -> tuple[tuple[Trace, ...], tuple[NotMeasured, ...]]:
    """A trace of each runtime with no settings on all CPUs, as files below ``folder``; what failed, and why.

    TautoError when the folder cannot be written.
    """
    try:
        (folder / FOLDER).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise TautoError(
            f"{folder / FOLDER} cannot be made: {error.strerror or error}",
            "Choose another folder with --output",
        ) from error
    traces: list[Trace] = []
    failed: list[NotMeasured] = []
    cell = replace(cells[0], work=sized(_TRACED, seconds_per_byte))
    for candidate in _traced(cell):
        found = _one(cell, candidate, folder, executor, limit)
        if isinstance(found, Trace):
            traces.append(found)
        else:
            failed.append(found)
    return tuple(traces), tuple(failed)


def _traced(cell: StudyCell) -> Iterator[Candidate]:
    """Each runtime with no settings on as many threads as there are CPUs."""
    cpus = len(cell.layout.fast) + len(cell.layout.slow)
    widths = {one.threads for one in cell.candidates if one.threads <= cpus}
    for one in cell.candidates:
        default = one.schedule == one.state.peer.default_schedule and one.wait == "default"
        if default and one.peer != "serial" and one.threads == max(widths):
            yield one


def _one(
    cell: StudyCell, candidate: Candidate, folder: Path, executor: Executor, limit: float
) -> Trace | NotMeasured:
    file = f"{FOLDER}/{candidate.peer}.json"
    path = (folder / file).absolute()
    plain = configuration(cell, candidate, _TIMES)
    result = executor.run(replace(plain, command=[*plain.command, "--trace", str(path)]), limit)
    if result.error is None and path.is_file():
        return Trace(runtime=candidate.peer, label=plain.name, file=file)
    why = result.error.message if result.error is not None else "the runner wrote no file"
    return NotMeasured(what=f"the timeline of {candidate.label}", why=why)
