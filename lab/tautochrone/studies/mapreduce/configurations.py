"""What is compared for one workload in one state of the machine: runtimes, schedules, thread counts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tautochrone.report import text
from tautochrone.runners import PeerState
from tautochrone.studies.mapreduce.workloads import SizedWorkload
from tautochrone.studies.options import Emulation, Times, emulation_text
from tautochrone.studies.placements import Layout, Placement
from tautochrone.studies.runner_setup import RunnerSetup, joined_label


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate(RunnerSetup):
    """One way to run the tasks; there may be more threads than CPUs."""

    threads: int

    @property
    def workers(self) -> int:
        """The threads that were asked for."""
        return self.threads

    @property
    def label(self) -> str:
        """For people: "qt ordered, 4 threads"."""
        return label(self.peer, self.schedule, self.chunk, self.threads, self.wait)

    def arguments(self, work: SizedWorkload, times: Times) -> list[str]:
        """The runner's command line without its path."""
        return ["--tasks", str(work.tasks), "--bytes", str(work.bytes), *self.common_arguments(times)]

    def settings(self, work: SizedWorkload, emulation: Emulation) -> dict[str, object]:
        """The ``config`` of this candidate's rows."""
        size = {"tasks": work.tasks, "bytes": work.bytes, "length": work.workload.length}
        return {**self.common_settings(emulation), **size}


def label(peer: str, schedule: str, chunk: int | None, threads: int, wait: str) -> str:
    """What a configuration is called in tables and sentences."""
    width = "" if peer == "serial" else text.count(threads, "thread")
    return joined_label(peer, schedule, "" if chunk is None else f"chunk {chunk}", width, wait=wait)


def group_name(work: SizedWorkload, emulation: Emulation) -> str:
    """The name of a cell: rows are compared within one only."""
    return f"tasks={work.tasks},bytes={work.bytes},emulated={emulation_text(emulation)}"


def candidates(
    states: Sequence[PeerState], layout: Layout, counts: Sequence[int], *, quick: bool = False
) -> list[Candidate]:
    """Everything to compare: each runtime's default on every number of threads, the serial loop once.

    A full study adds each runtime's other schedules, and waiting in a spin where that can be chosen, with
    all CPUs and with more threads than CPUs.
    """
    found: list[Candidate] = []
    cpus = cpus_in_order(layout)
    for state in states:
        if not state.present:
            continue
        default = state.peer.default_schedule
        if state.peer.name == "serial":
            found.append(_candidate(state, default, layout, 1))
            continue
        found += [_candidate(state, default, layout, count) for count in counts]
        if not quick:
            wide = [count for count in counts if count >= len(cpus)]
            found += [one for count in wide for one in _others(state, layout, count)]
    return found


def cpus_in_order(layout: Layout) -> tuple[int, ...]:
    """All CPUs: one hardware thread of each core first, fast cores before slow ones, then the others."""
    first = layout.placement("all").cpus
    return (*first, *(cpu for cpu in layout.placement("threads").cpus if cpu not in first))


def _candidate(
    state: PeerState, schedule: str, layout: Layout, threads: int, wait: str = "default"
) -> Candidate:
    placement = _placement(layout, threads)
    return Candidate(state=state, schedule=schedule, wait=wait, placement=placement, threads=threads)


def _placement(layout: Layout, threads: int) -> Placement:
    """The first CPUs, one a thread as long as there are any."""
    kinds = {cpu.number: cpu.kind for cpu in layout.fast + layout.slow}
    cpus = cpus_in_order(layout)[:threads]
    cores: dict[str, int] = {}
    for cpu in cpus:
        cores[kinds[cpu]] = cores.get(kinds[cpu], 0) + 1
    return Placement("all" if len(cpus) == len(kinds) else f"first {len(cpus)}", cpus, cores)


def _others(state: PeerState, layout: Layout, threads: int) -> Iterator[Candidate]:
    """What a runtime offers beside its default, with its own chunk."""
    description = state.description
    assert description is not None
    default = state.peer.default_schedule
    for schedule in description.schedules:
        if schedule != default:
            yield _candidate(state, schedule, layout, threads)
    if "active" in description.wait_policies and state.peer.name != "tautochrone":
        yield _candidate(state, default, layout, threads, "active")
