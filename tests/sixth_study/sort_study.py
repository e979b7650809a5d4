"""A sixth study in one file: how long does sorting take with 1…n threads of GCC's parallel mode?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from tautochrone.errors import TautoError
from tautochrone.machine.runners import Peer
from tautochrone.options import Option, integers_of
from tautochrone.studies.plain.study import REFERENCE, PlainRequest, PlainStudy
from tautochrone.studies.request import OUTPUT, Times
from tautochrone.studies.study import Run

SECONDS_PER_NUMBER = 1e-7


def parse_counts(words: str) -> tuple[int, ...]:
    """``"1000,10000"`` → (1000, 10000). Raises TautoError for anything but numbers from 1 on."""
    return integers_of(
        words,
        "--counts",
        1,
        1_000_000_000,
        lambda word: TautoError(
            f"{word!r} is not a count of numbers", "Write 1 or more, such as 10000,1000000"
        ),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class SortRequest(PlainRequest):
    """The options of ``tauto study sort``."""

    output: Annotated[Path, OUTPUT] = Path("tautochrone-results/sort")
    counts: Annotated[tuple[int, ...], Option("How many numbers to sort.", "N,N,…", parse_counts)] = (
        1_000_000,
    )


class Sort(PlainStudy[SortRequest]):
    """Measure how long sorting takes with 1…n threads of GCC's parallel mode.

    \b
    Examples:
      tauto study sort --quick
      tauto study sort --counts 10000,1000000
    """

    NAME = "sort"
    REQUEST = SortRequest
    PEERS = (Peer("gnu", "gnu", "GCC's parallel mode", "libgomp1", "multiway", "sort"),)
    SETTINGS = "one OpenMP thread pinned to each CPU"
    ANSWER = "answer"
    QUICK = Times(0.05, 0.1, 12)
    FULL = Times(0.2, 0.5, 20)

    def runs(self) -> Sequence[Run]:
        """std::sort, and each parallel sort with 1…n threads."""
        return list(self._ways())

    def _ways(self) -> Iterator[Run]:
        threads = range(1, len(self.layout().placement("all").cpus) + 1)
        for state in self.all_states:
            for count in self.request.counts:
                for peer in self.peers:
                    schedules = peer.description.schedules if peer.description is not None else ()
                    for schedule in schedules:
                        for members in (1,) if schedule == REFERENCE else threads:
                            yield self.one_run(
                                peer,
                                schedule,
                                f"sort {count:,} numbers",
                                ["--count", str(count)],
                                threads=members,
                                state=state,
                                seconds=sum((0.1, *self._seconds(count))),
                            )

    def _seconds(self, count: int) -> tuple[float, float]:
        once = count * SECONDS_PER_NUMBER
        return self.times.warmup_seconds + once, self.times.timed_seconds + once
