"""The runs of the map/reduce study: configurations as commands, and the probe that chooses their sizes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from tautochrone.configuration import Configuration
from tautochrone.errors import TautoError
from tautochrone.executor import Executor
from tautochrone.runners import PeerState
from tautochrone.studies.mapreduce.configurations import Candidate, candidates, group_name
from tautochrone.studies.mapreduce.request import MapReduceRequest
from tautochrone.studies.mapreduce.workloads import SizedWorkload
from tautochrone.studies.options import Emulation, Times
from tautochrone.studies.placements import Cpu, Layout, layout
from tautochrone.studies.preparing import states_of
from tautochrone.studies.runner_setup import slowed_words

QUICK = Times(0.02, 0.04, 12)  # the fewest of which one may disagree: of 8 to 11 all must say the same
FULL = Times(0.05, 0.15, 15)
_PROBE_BYTES = 100_000  # long against a clock's reading and a call, short enough to be warm
_PROBE_TASKS = 50
_PROBE_RUNS = 3
_PROBE_LIMIT_SECONDS = 60.0
# Of a run, beside warming up and timing: a process with its libraries and threads, one task timed alone, the
# repetitions that are accounted for, and filling the bytes to hash.
_START_SECONDS = 0.03
_TASK_ALONE_SECONDS = 0.07
_ACCOUNTED_SECONDS = 0.05
_FILLING_SECONDS_PER_BYTE = 5e-9
_LARGEST_BUFFER_BYTES = 8_000_000
_WARMUPS, _BATCHES = 2, 3  # repetitions at least, however long one is; accounted for are three as well


@dataclass(frozen=True, slots=True)
class StudyCell:
    """One workload on one state of the machine, and all that is compared there."""

    work: SizedWorkload
    emulation: Emulation
    layout: Layout
    candidates: tuple[Candidate, ...]

    @property
    def group(self) -> str:
        """The name of the group that its rows are compared in."""
        return group_name(self.work, self.emulation)


def times_of(request: MapReduceRequest) -> Times:
    """The times that were asked for, or those of the kind of study."""
    kind = QUICK if request.quick else FULL
    return replace(kind, rounds=request.rounds or kind.rounds)


def study_cells(
    works: Sequence[SizedWorkload],
    emulations: Sequence[Emulation],
    cpus: Sequence[Cpu],
    usable_members: int | None,
    states: Sequence[PeerState],
    counts: Sequence[int],
    *,
    quick: bool,
) -> list[StudyCell]:
    """Every workload on every state of the machine; the machine as it is comes first."""
    cells: list[StudyCell] = []
    for emulation in states_of(emulations):
        seen = layout(cpus, emulation, usable_members)
        found = tuple(candidates(states, seen, counts, quick=quick))
        cells += [StudyCell(work, emulation, seen, found) for work in works]
    return cells


def configuration(cell: StudyCell, candidate: Candidate, times: Times) -> Configuration:
    """A candidate in a cell as something to measure."""
    return Configuration(
        name=f"{candidate.label}, {cell.work.name}{slowed_words(cell.emulation)}",
        command=[str(candidate.state.path), *candidate.arguments(cell.work, times)],
        environment=candidate.state.environment,
        settings=candidate.settings(cell.work, cell.emulation),
        group=cell.group,
    )


def estimated_run_seconds(work: SizedWorkload, times: Times) -> float:
    """What one run takes, roughly: for the sentence before the study and for the time limit.

    On one thread; on several it is less where the tasks are long.
    """
    one = work.serial_seconds
    filling = _FILLING_SECONDS_PER_BYTE * min(_LARGEST_BUFFER_BYTES, work.tasks * work.bytes)
    timed = max(times.warmup_seconds, _WARMUPS * one) + max(times.timed_seconds, _BATCHES * one)
    accounted = max(_ACCOUNTED_SECONDS, _BATCHES * one)
    return _START_SECONDS + filling + one + _TASK_ALONE_SECONDS + timed + accounted


def probe_seconds_per_byte(serial: PeerState, cpu: int, executor: Executor) -> float:
    """How long hashing one byte takes on a CPU alone: the least of some runs of the serial runner.

    Raises TautoError where the runner fails: then nothing else could be measured either.
    """
    command = [str(serial.path), "--tasks", str(_PROBE_TASKS), "--bytes", str(_PROBE_BYTES)]
    command += ["--threads", "1", "--cpus", str(cpu), "--warmup-seconds", "0.05", "--min-seconds", "0.1"]
    settings: dict[str, object] = {"runtime": "serial", "probe": True, "emulated": {}}
    probe = Configuration("probe of one task's length", command, serial.environment, settings)
    found: list[float] = []
    for _ in range(_PROBE_RUNS):
        result = executor.run(probe, _PROBE_LIMIT_SECONDS)
        seconds = result.record.get("task_seconds")
        if result.error is not None:
            raise TautoError(
                f"the serial runner failed before the study began: {result.error.message}",
                f"Start it by hand to see why: {' '.join(command)}",
            )
        if not isinstance(seconds, int | float) or not seconds > 0:
            raise TautoError(
                f"the serial runner said that a task takes {seconds!r} s; expected a positive number",
                "It may be of another version: build it again (make)",
            )
        found.append(float(seconds) / _PROBE_BYTES)
    return min(found)
