"""The runs of the nbody study: a run is one process that integrates one cluster for a while."""

from __future__ import annotations

import math
from dataclasses import replace

from tautochrone.configuration import Configuration
from tautochrone.studies.nbody.configurations import Candidate
from tautochrone.studies.nbody.request import NbodyRequest
from tautochrone.studies.options import Times

# The timed part is one run of the particles, however long it takes.
QUICK = Times(0.02, 1e-6, 8)
FULL = Times(0.05, 1e-6, 12)
_LONGEST_TIME = 0.5  # N-body units
_PAIRS_OF_A_RUN = 2.4e8
_PAIRS_A_SECOND = 5e8
_BLOCKS_A_UNIT_TIME = 4500.0  # of 1024 particles; grows about as the root of the number
_START_SECONDS = 0.5


def times_of(request: NbodyRequest) -> Times:
    """The rounds asked for, or those of the kind of study."""
    kind = QUICK if request.quick else FULL
    return replace(kind, rounds=request.rounds or kind.rounds)


def pairs_in(particles: int, time: float) -> float:
    """How many pairs a run of that length sums, roughly: about 1.7 root N particles move in a block."""
    blocks = _BLOCKS_A_UNIT_TIME * math.sqrt(particles / 1024)
    return time * blocks * particles * 1.7 * math.sqrt(particles)


def end_time(particles: int, *, quick: bool) -> float:
    """How long so many particles are followed: a power of two of about half a second's work.

    Not below 1/32: shorter runs would not meet the larger steps.
    """
    budget = _PAIRS_OF_A_RUN / (2 if quick else 1)
    time = _LONGEST_TIME
    while time > 1 / 32 and pairs_in(particles, time) > budget:
        time /= 2
    return time


def configuration(candidate: Candidate, times: Times, *, quick: bool) -> Configuration:
    """A candidate as something to measure."""
    time = end_time(candidate.particles, quick=quick)
    return Configuration(
        name=f"{candidate.label}, {candidate.particles} particles",
        command=[str(candidate.state.path), *candidate.arguments(times, time)],
        environment=candidate.state.environment,
        settings=candidate.settings(time),
        group=f"particles={candidate.particles},order={candidate.order}",
    )


def estimated_run_seconds(candidate: Candidate, times: Times, *, quick: bool) -> float:
    """What one run takes, roughly: for the sentence before the study and for the time limit."""
    work = pairs_in(candidate.particles, end_time(candidate.particles, quick=quick)) / _PAIRS_A_SECOND
    return _START_SECONDS + times.warmup_seconds + work / min(2, candidate.workers)
