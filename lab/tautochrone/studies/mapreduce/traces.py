"""Timelines: one run of each runtime with a recorder on, after all rounds, so that none is disturbed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from tautochrone.errors import TautoError
from tautochrone.measuring.executor import Executor
from tautochrone.results.context import NotMeasured
from tautochrone.studies.mapreduce.configurations import PUBLISHED, Candidate, StudyCell, configuration, sized
from tautochrone.studies.mapreduce.findings import Trace
from tautochrone.studies.request import Times

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
        traced = _trace(cell, candidate, folder, executor, limit)
        if isinstance(traced, Trace):
            traces.append(traced)
        else:
            failed.append(traced)
    return tuple(traces), tuple(failed)


def _traced(cell: StudyCell) -> Iterator[Candidate]:
    """Each runtime with no settings on as many threads as there are CPUs."""
    cpus = len(cell.layout.fast) + len(cell.layout.slow)
    widest = max(candidate.threads for candidate in cell.candidates if candidate.threads <= cpus)
    for candidate in cell.candidates:
        default = candidate.schedule == candidate.state.peer.default_schedule and candidate.wait == "default"
        if default and candidate.peer != "serial" and candidate.threads == widest:
            yield candidate


def _trace(
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
