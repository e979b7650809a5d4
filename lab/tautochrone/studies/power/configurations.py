"""What is compared: each job on one thread and shared in each way, and two programs in each set-up."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from tautochrone.report import text
from tautochrone.runners import PeerState
from tautochrone.studies.options import Times
from tautochrone.studies.placements import Layout
from tautochrone.studies.power.works import (
    FREE,
    FUNCTIONAL,
    FUNCTIONAL_FREE,
    SERIAL,
    SETUPS,
    TOGETHER,
    WAY_WORDS,
    WAYS,
    Work,
)
from tautochrone.studies.runner_setup import RunnerSetup

_FUNCTIONS = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate(RunnerSetup):
    """One way to share a work."""

    work: Work
    way: str  # the schedule, or FUNCTIONAL_FREE

    @property
    def label(self) -> str:
        """For people: "physics, cost 4:1, by functions, 2 threads"."""
        return f"{self.work.title}, {label(self.way, self.workers)}"

    def arguments(self, times: Times) -> list[str]:
        """The runner's command line without its path."""
        free = ["--free"] if self.way == FUNCTIONAL_FREE else []
        return [*self.work.arguments, *free, *self.common_arguments(times)]

    def settings(self) -> dict[str, object]:
        """The ``config`` of this candidate's rows: the way stands where other studies have the runtime."""
        own = {"job": self.work.job, "runtime": self.way, "title": self.work.title}
        return {**self.common_settings({}), **own, **self.work.settings}


def label(way: str, threads: int) -> str:
    """What a configuration is called inside its job."""
    if way in SETUPS:
        return SETUPS[way]
    words = WAY_WORDS[way]
    return words if way == SERIAL else f"{words}, {text.count(threads, 'thread')}"


def candidates(work: Work, state: PeerState, layout: Layout, counts: Sequence[int]) -> Iterator[Candidate]:
    """One thread, and each way that the runner has on each number of threads that suits it."""
    description = state.description
    assert description is not None
    alone = layout.placement("all", 1)
    yield Candidate(state=state, schedule=SERIAL, way=SERIAL, placement=alone, work=work)
    for way in WAYS[work.job]:
        schedule = FUNCTIONAL if way == FUNCTIONAL_FREE else way
        if schedule not in description.schedules:
            continue
        for count in (_FUNCTIONS,) if schedule == FUNCTIONAL else counts:
            placement = layout.placement("all", count)
            if len(placement.cpus) == count:
                yield Candidate(state=state, schedule=schedule, way=way, placement=placement, work=work)


def together(
    state: PeerState, layout: Layout, jobs: tuple[str, str], repetitions: Mapping[str, int]
) -> Iterator[Candidate]:
    """Two programs in each set-up that this machine lets us make; none where there is one CPU."""
    placement = layout.placement("all", _FUNCTIONS)
    if len(placement.cpus) < _FUNCTIONS:
        return
    first, second = jobs
    words = ["--first", first, "--second", second]
    words += ["--first-repetitions", str(repetitions[first])]
    words += ["--second-repetitions", str(repetitions[second])]
    title = f"{first} and {second} at once"
    settings = {"first": first, "second": second, "repetitions": [repetitions[one] for one in jobs]}
    work = Work(TOGETHER, title=title, arguments=tuple(words), settings=settings)
    assert state.description is not None
    for setup in SETUPS:
        if setup in state.description.schedules or setup == FREE:
            yield Candidate(state=state, schedule=setup, way=setup, placement=placement, work=work)
