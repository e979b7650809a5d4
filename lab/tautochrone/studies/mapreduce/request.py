"""What is asked of the map/reduce study, checked against this machine before anything is started."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from tautochrone.errors import TautoError
from tautochrone.studies.mapreduce.workloads import PUBLISHED, QUICK, SHORT, Workload, parse_workloads
from tautochrone.studies.options import StudyRequest
from tautochrone.word_lists import integers_of

__all__ = ["MapReduceRequest", "check_threads", "parse_threads", "parse_workloads", "thread_counts"]

MOST_THREADS_A_CPU = 8
_EVERY_COUNT_UP_TO = 32
_STRIDE = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class MapReduceRequest(StudyRequest):
    """The options of ``tauto study mapreduce``, parsed. ``None`` means "choose for me"."""

    workloads: tuple[Workload, ...] | None = None
    threads: tuple[int, ...] | None = None

    @property
    def wanted(self) -> tuple[Workload, ...]:
        """The workloads to measure."""
        return self.workloads or (QUICK if self.quick else (*PUBLISHED, *SHORT))


def parse_threads(text: str) -> tuple[int, ...]:
    """``"4,1,2"`` → (1, 2, 4). Raises TautoError for what is no number of threads."""
    return integers_of(
        text,
        "--threads",
        1,
        999_999,
        lambda word: TautoError(f"{word!r} is not a number of threads", "Write 1 or more, such as 1,2,4"),
    )


def check_threads(counts: Sequence[int], cpus: int) -> None:
    """Raises TautoError for more threads than a few on each CPU: they would only wait for each other."""
    limit = MOST_THREADS_A_CPU * cpus
    if counts and max(counts) > limit:
        raise TautoError(
            f"--threads {max(counts)} is more than {MOST_THREADS_A_CPU} on each of the {cpus} CPUs that may "
            "be used here",
            f"Ask for {limit} or fewer",
        )


def thread_counts(cpus: int, tasks: Sequence[int]) -> tuple[int, ...]:
    """1 … all CPUs and twice as many; above 32 those where the law steps for one of ``tasks``, and some."""
    steps = {
        math.ceil(count / share)
        for count in tasks
        for share in range(1, math.ceil(count / _EVERY_COUNT_UP_TO) + 1)
    }
    wanted = {
        count
        for count in range(1, cpus + 1)
        if count <= _EVERY_COUNT_UP_TO or count % _STRIDE == 0 or count in steps
    }
    return tuple(sorted({*wanted, cpus, 2 * cpus}))
