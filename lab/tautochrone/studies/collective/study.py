"""``tauto study collective``: what is asked, what runs, in which order."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

from tautochrone.errors import TautoError
from tautochrone.measuring.plan import Plan
from tautochrone.options import Option
from tautochrone.results import USUAL_FOLDER
from tautochrone.results import context as contexts
from tautochrone.results.row import Row
from tautochrone.results.store import Store
from tautochrone.studies import models
from tautochrone.studies.collective.analysis import analyse
from tautochrone.studies.collective.configurations import (
    PAIRS,
    PEERS,
    Candidate,
    base_lengths,
    candidates,
    configuration,
    estimated_run_seconds,
    parse_lengths,
    refined,
)
from tautochrone.studies.collective.curves import ROWS, collect
from tautochrone.studies.collective.findings import CollectiveAnalysis, CollectiveContext
from tautochrone.studies.collective.gaps import gaps
from tautochrone.studies.request import OUTPUT, StudyRequest, Times, peers_option
from tautochrone.studies.study import Run, Study

SWEEP = "sweep"
"""The part of the study that measures the lengths that were asked for."""

QUICK_PASSES, FULL_PASSES = 1, 2
MOST_GAPS = 8
_MOST_RANKS_A_CPU = 4
_WORD_BYTES = 8.0
_MEANS_AGREE = 1e-6
_SLOWER_SHARE = 0.75  # of the repetitions take the lower quartile or more
_SUMS_AGREE = 0.9  # of few repetitions a quartile lies between two of them


@dataclass(frozen=True, slots=True, kw_only=True)
class CollectiveRequest(StudyRequest):
    """The options of ``tauto study collective``. None means "choose for me"."""

    output: Annotated[Path, OUTPUT] = USUAL_FOLDER / "collective"
    lengths: Annotated[
        tuple[int, ...] | None,
        Option(
            "Lengths in 8-byte words. Default: 1 … 65536, and lengths beside known switches.",
            "N,N,…",
            parse_lengths,
        ),
    ] = None
    ranks: Annotated[int | None, Option("The number of members. Default: one on each core.")] = None
    peers: Annotated[
        tuple[str, ...] | None, peers_option("openmpi, mpich, intelmpi; none for only ours.")
    ] = None

    @property
    def wanted(self) -> tuple[int, ...]:
        """The lengths of the first part, in 8-byte words; the second refines them."""
        return self.lengths or base_lengths(self.quick)


class Collective(Study[CollectiveRequest, CollectiveContext, CollectiveAnalysis]):
    """Measure all_reduce and all_gather against their length, and name every step and peak.

    Compares tautochrone's threads with Open MPI, MPICH and Intel MPI, each launched anew in every one of the
    shuffled rounds, on data that are written before each call. Looks closer where a curve steps. Writes every
    run as it ends: interrupt it when you like, start it again, and it goes on.

    \b
    Examples:
      tauto study collective --quick
      tauto study collective --lengths 1,64,512,513,4096 --peers openmpi --rounds 20
      tauto study collective --ranks 4 --output results/night
    """  # noqa: D301

    NAME = "collective"
    REQUEST = CollectiveRequest
    CONTEXT = CollectiveContext
    PEERS = PEERS
    ROWS = ROWS
    SETTINGS = (
        "one rank pinned to a CPU; data written anew before each call; a common start; the last rank's end"
    )
    ANSWER = ""  # every repetition's result is compared word by word where it was computed
    QUICK = Times(0.0005, 0.006, 12)  # seconds of one operation and length
    FULL = Times(0.001, 0.02, 20)
    candidates: Sequence[Candidate]

    def prepare(self) -> None:
        if not self.peers:
            raise TautoError("no library can be measured here", "Build the runners (make)")
        seen = self.layout()
        everyone = seen.placement("cores")
        ranks = check_ranks(self.request.ranks, len(everyone.cpus))
        placement = seen.placement("cores", ranks) if ranks < len(everyone.cpus) else everyone
        self.candidates = tuple(candidates(self.peers, placement, ranks, quick=self.request.quick))

    @property
    def passes(self) -> int:
        """How often the lengths are refined where a curve steps."""
        return QUICK_PASSES if self.request.quick else FULL_PASSES

    @property
    def work(self) -> str:
        lengths = self.request.wanted
        span = f"{len(lengths)} lengths from {lengths[0]} to {lengths[-1]} words"
        return f"{span}, {self.candidates[0].ranks} ranks, {self.times.rounds} launches"

    def runs(self) -> list[Run]:
        return self._runs_of(part_name(0), self.request.wanted)

    def _runs_of(self, part: str, lengths: Sequence[int]) -> list[Run]:
        times, quick = self.times, self.request.quick
        return [
            Run(
                candidate,
                configuration(candidate, part, lengths, times, quick),
                estimated_run_seconds(candidate, lengths, times, quick),
            )
            for candidate in self.candidates
        ]

    def estimate(self, runs: Sequence[Run]) -> float:
        """A refinement takes about as long as the first part."""
        return (1 + self.passes) * super().estimate(runs)

    def parts(self, whole: Plan, runs: Sequence[Run], store: Store) -> Iterator[tuple[str, Plan]]:
        """The lengths that were asked for, then those between which curves step."""
        yield "measuring", whole
        wanted = self.request.wanted
        for number in range(1, self.passes + 1):
            lengths = lengths_of_part(number, wanted, store.rows())
            if not lengths:
                return
            self.context.refined = tuple(sorted({*self.context.refined, *lengths} - set(wanted)))
            contexts.save(self.context, store.folder)
            refining = self.plan(self._runs_of(part_name(number), lengths))
            yield f"looking closer ({number})", replace(refining, time_limit_seconds=whole.time_limit_seconds)

    def contradiction(self, record: Mapping[str, Any]) -> str | None:
        """Each rank writes the whole result of each operation; the figure is the mean over the points."""
        points, seconds = record.get("points"), record.get("seconds")
        if not points or seconds is None:
            return None
        for point in points:
            least = models.least_seconds(
                _WORD_BYTES * point["words"], self.machine, "cache_bytes_per_second", 1
            )
            if point["seconds"] < least:
                return (
                    f"says that {point['operation']} of {point['words']} words took "
                    f"{point['seconds']:.3g} s, which a CPU needs at least {least:.3g} s to write"
                )
        mean = math.exp(math.fsum(math.log(point["seconds"]) for point in points) / len(points))
        if abs(seconds - mean) > _MEANS_AGREE * mean:
            return f"says {seconds:.3g} s, but the mean of its points is {mean:.3g} s"
        slower = (
            _SLOWER_SHARE * (point.get("repetitions") or 0) * (point.get("lower_quartile_seconds") or 0.0)
            for point in points
        )
        timed, least = record.get("timed_seconds"), math.fsum(slower)
        if timed is not None and timed < _SUMS_AGREE * least:
            return f"says {timed:.3g} s for all repetitions, but their quartiles are {least:.3g} s"
        return None

    @classmethod
    def analyse(
        cls, rows: Sequence[Row], machine: Mapping[str, Any], context: CollectiveContext
    ) -> CollectiveAnalysis:
        return analyse(rows, machine, context)


def check_ranks(ranks: int | None, cpus: int) -> int:
    """How many ranks there are: one a CPU unless asked. TautoError for fewer than two, or for a crowd."""
    if ranks is None:
        ranks = cpus
        if ranks < 2:
            raise TautoError(
                "a collective needs two members, and only 1 CPU may be used here",
                "Start without taskset, widen the container's cpuset, or let two ranks share it: --ranks 2",
            )
    if ranks < 2:
        raise TautoError(f"--ranks {ranks} is too few: a collective needs two members", "Ask for 2 or more")
    if ranks > _MOST_RANKS_A_CPU * cpus:
        raise TautoError(
            f"--ranks {ranks} is more than {_MOST_RANKS_A_CPU} on each of the {cpus} CPUs that may be used "
            "here",
            f"Ask for {_MOST_RANKS_A_CPU * cpus} or fewer",
        )
    return ranks


def part_name(number: int) -> str:
    """The part of the study with that number: the sweep, then the refinements."""
    return SWEEP if number == 0 else f"refined {number}"


def lengths_of_part(number: int, wanted: Sequence[int], rows: Sequence[Row]) -> tuple[int, ...]:
    """The lengths of a refinement, from the rows of the parts before it: the same when a study goes on."""
    before = {part_name(earlier) for earlier in range(number)}
    curves = [
        library.curves[operation]
        for library in collect(row for row in rows if row.config.get("part") in before)
        for operation in PAIRS
        if library.is_default and operation in library.curves
    ]
    known = sorted({*wanted, *(words for curve in curves for words in curve.words)})
    return refined(gaps(curves), known, MOST_GAPS)
