"""The runs of the power study: configurations as commands, and the probes that choose their sizes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from tautochrone.configuration import Configuration
from tautochrone.energy.record import MEASURED
from tautochrone.errors import TautoError
from tautochrone.executor import Executor, RunResult
from tautochrone.runners import PeerState
from tautochrone.studies.options import Times
from tautochrone.studies.placements import Layout
from tautochrone.studies.power.configurations import Candidate, candidates, together
from tautochrone.studies.power.context import Probe
from tautochrone.studies.power.request import PowerRequest
from tautochrone.studies.power.works import (
    CIPHERS,
    COMPRESSION,
    ENCRYPTION,
    PHYSICS,
    SERIAL,
    TOGETHER,
    Work,
    balanced_passes,
    compression,
    encryption,
    physics,
)

QUICK = Times(0.02, 0.1, 12)  # the fewest rounds of which one may disagree: of 8 to 11 all must say the same
FULL = Times(0.1, 0.5, 15)
# A meter reads the whole process: beside it the timed part must be long, so that the mean power is its own.
METERED_QUICK_SECONDS, METERED_FULL_SECONDS = 1.0, 2.0
_TOGETHER_SECONDS = 0.25

_PROBE_LIMIT_SECONDS = 60.0
_PROBE_RUNS = 3
# Of a run, beside warming up and timing: a process, its data, and the check of the result.
_START_SECONDS = 0.25
_WARMUPS, _BATCHES = 2, 3
_SETUP_SHARE = 1.6  # of two programs in a set-up, where some share a CPU


def times_of(request: PowerRequest, probe: Probe) -> Times:
    """The rounds that were asked for, or those of the kind of study; longer runs where they are metered."""
    kind = QUICK if request.quick else FULL
    if probe.metered:
        kind = replace(kind, timed_seconds=METERED_QUICK_SECONDS if request.quick else METERED_FULL_SECONDS)
    return replace(kind, rounds=request.rounds or kind.rounds)


def together_seconds(times: Times) -> float:
    """How long each of two programs at once works, alone, before both are timed again."""
    return max(_TOGETHER_SECONDS, times.timed_seconds / _BATCHES)


def thread_counts(cpus: int, *, quick: bool) -> tuple[int, ...]:
    """2 … all CPUs; of a quick study 2 and all."""
    if cpus < 2:
        return ()
    return tuple(sorted({2, cpus})) if quick else tuple(range(2, cpus + 1))


def works(states: Mapping[str, PeerState], probe: Probe, ratios: Sequence[float]) -> list[Work]:
    """What is measured of the jobs that are here."""
    found: list[Work] = []
    if ENCRYPTION in states:
        found += [encryption(cipher) for cipher in CIPHERS]
    if COMPRESSION in states:
        found.append(compression())
    if PHYSICS in states and probe.collide_seconds is not None and probe.draw_seconds is not None:
        costs = (probe.collide_seconds, probe.draw_seconds)
        found += [physics(ratio, *balanced_passes(*costs, ratio)) for ratio in ratios]
    return found


def pair_of(states: Mapping[str, PeerState]) -> tuple[str, str] | None:
    """Which two programs run at once: unlike ones where there are two jobs; None without any."""
    present = [job for job in (ENCRYPTION, COMPRESSION, PHYSICS) if job in states]
    return (present[0], present[-1]) if present else None


def repetitions(probe: Probe, times: Times) -> dict[str, int]:
    """So many of each job take the same time alone."""
    together = together_seconds(times)
    return {job: max(1, round(together / seconds)) for job, seconds in probe.job_seconds.items()}


def all_candidates(
    states: Mapping[str, PeerState], layout: Layout, probe: Probe, request: PowerRequest
) -> list[Candidate]:
    """Everything that is compared, works one after the other, two programs at once last."""
    counts = thread_counts(len(layout.placement("all").cpus), quick=request.quick)
    found = [
        one
        for work in works(states, probe, request.wanted)
        for one in candidates(work, states[work.job], layout, counts)
    ]
    pair = pair_of(states)
    if TOGETHER in states and pair is not None:
        found += together(states[TOGETHER], layout, pair, repetitions(probe, times_of(request, probe)))
    return found


def configuration(candidate: Candidate, times: Times) -> Configuration:
    """A candidate as something to measure."""
    return Configuration(
        name=candidate.label,
        command=[str(candidate.state.path), *candidate.arguments(times)],
        environment=candidate.state.environment,
        settings=candidate.settings(),
        group=candidate.work.group,
    )


def estimated_run_seconds(candidate: Candidate, probe: Probe, times: Times) -> float:
    """What one run takes, roughly: for the sentence before the study and for the time limit."""
    work = candidate.work
    if work.job == TOGETHER:
        return _START_SECONDS + _TOGETHER_SECONDS + _SETUP_SHARE * _BATCHES * together_seconds(times)
    one = probe.job_seconds.get(work.job, 0.1)
    if work.ratio is not None and probe.collide_seconds and probe.draw_seconds:
        one = float(str(work.settings["collide_passes"])) * probe.collide_seconds
        one += float(str(work.settings["draw_passes"])) * probe.draw_seconds
    one /= candidate.workers
    timed = max(times.warmup_seconds, _WARMUPS * one) + max(times.timed_seconds, _BATCHES * one)
    return _START_SECONDS + timed


def probe(states: Mapping[str, PeerState], layout: Layout, executor: Executor) -> Probe:
    """What one repetition of each job takes on one thread, the least of some runs; and whether joules came.

    Raises TautoError where a runner fails: then nothing of its job could be measured either.
    """
    cpu = layout.placement("all", 1).cpus[0]
    seconds: dict[str, float] = {}
    functions: dict[str, float] = {}
    metered = False
    for job, state in states.items():
        if job == TOGETHER:
            continue
        results = [_probed(state, cpu, executor) for _ in range(_PROBE_RUNS)]
        records = [result.record for result in results]
        metered = metered or any((result.energy or {}).get("status") == MEASURED for result in results)
        seconds[job] = min(_positive(record, "seconds", state) for record in records)
        if job == PHYSICS:
            names = ("collide_seconds", "draw_seconds")
            functions = {name: min(_positive(record, name, state) for record in records) for name in names}
    return Probe(job_seconds=seconds, metered=metered, **functions)


def _probed(state: PeerState, cpu: int, executor: Executor) -> RunResult:
    command = [str(state.path), "--schedule", SERIAL, "--threads", "1", "--cpus", str(cpu)]
    command += ["--warmup-seconds", "0.02", "--min-seconds", "0.1"]
    settings: dict[str, object] = {"runtime": SERIAL, "job": state.peer.name, "probe": True}
    asked = Configuration(f"probe of {state.peer.title}", command, state.environment, settings)
    result = executor.run(asked, _PROBE_LIMIT_SECONDS)
    if result.error is not None:
        raise TautoError(
            f"{state.peer.runner} failed before the study began: {result.error.message}",
            f"Start it by hand to see why: {' '.join(command)}",
        )
    return result


def _positive(record: Mapping[str, Any], name: str, state: PeerState) -> float:
    value = record.get(name)
    if not isinstance(value, int | float) or not value > 0:
        raise TautoError(
            f"{state.peer.runner} said that {name} is {value!r}; expected a positive number",
            "It may be of another version: build it again (make)",
        )
    return float(value)
