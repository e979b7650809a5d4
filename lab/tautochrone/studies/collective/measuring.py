"""The runs of the collective study: a run is one launch of one library, over all lengths."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tautochrone.configuration import Configuration
from tautochrone.studies.collective.configurations import Candidate
from tautochrone.studies.collective.request import CollectiveRequest
from tautochrone.studies.options import Times

SWEEP = "sweep"
"""The part of the study that measures the lengths that were asked for."""

QUICK = Times(0.0005, 0.006, 12)
FULL = Times(0.001, 0.02, 20)
QUICK_PASSES, FULL_PASSES = 1, 2
MOST_GAPS = 8
_START_SECONDS = 0.6  # a launcher and its processes
_CHECKS = 1.6  # of the time that was asked for: warming up, a last batch


def times_of(request: CollectiveRequest) -> Times:
    """The times asked for, or those of the kind of study: seconds are of one operation and length."""
    kind = QUICK if request.quick else FULL
    return replace(kind, rounds=request.rounds or kind.rounds)


def passes_of(request: CollectiveRequest) -> int:
    """How often the lengths are refined where a curve steps."""
    return QUICK_PASSES if request.quick else FULL_PASSES


def part_name(number: int) -> str:
    """The part of the study with that number: the sweep, then the refinements."""
    return SWEEP if number == 0 else f"refined {number}"


def configuration(
    candidate: Candidate, part: str, lengths: Sequence[int], times: Times, quick: bool
) -> Configuration:
    """A candidate over some lengths as something to measure."""
    return Configuration(
        name=f"{candidate.label}, {part}",
        command=[str(candidate.state.path), *candidate.arguments(lengths, times, quick)],
        environment=candidate.environment,
        settings=candidate.settings(part, lengths, quick),
        group=f"ranks={candidate.ranks},part={part}",
    )


def estimated_run_seconds(candidate: Candidate, lengths: Sequence[int], times: Times, quick: bool) -> float:
    """What one run takes, roughly: for the sentence before the study and for the time limit."""
    points = len(lengths) * len(candidate.operations(quick))
    return _START_SECONDS + points * (times.warmup_seconds + _CHECKS * times.timed_seconds)
