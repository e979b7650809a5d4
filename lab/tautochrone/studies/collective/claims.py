"""The published claim on collectives (N4), measured with today's libraries and simulated."""

from __future__ import annotations

from collections.abc import Sequence

from tautochrone.errors import TautoError
from tautochrone.report.analysis import Claim
from tautochrone.report.palette import name_of
from tautochrone.results.runs import OURS
from tautochrone.simulator import requests
from tautochrone.simulator.machines import Machine
from tautochrone.simulator.smpi import running
from tautochrone.studies.claims import Family, Finding, Knob, Statement, Verdict, rows, sensitivity
from tautochrone.studies.collective.configurations import base_lengths
from tautochrone.studies.collective.findings import OperationCurve
from tautochrone.studies.collective.places import in_words, peaks, steps
from tautochrone.studies.collective.sentences import CHEAPER, length

MACHINE = "2x-e5-2650v2"
_RANKS = 16
FAMILY = Family(
    MACHINE,
    {
        "N4": Statement(
            says="on 16 cores Open MPI 1.6.5's all_reduce has peaks at 1k and 8k words; MVAPICH2 1.9 is "
            "worse at 512 words than at 1024",
            tolerance="simulated with those selectors; steps found automatically",
            fails_if="Open MPI's model has no peak or step near 1k words or near 8k, or MVAPICH2's takes no "
            "longer for 512 words than for 1024",
            cpus=_RANKS,
        )
    },
)
NEAR_1K, NEAR_8K = (900, 1500), (7000, 9000)  # words
_OTHER = (512, 1024)  # words; the first takes MVAPICH2 longer
_KNOBS = (Knob("mpi.message_bytes_per_second", 4e9, 8e9), Knob("memory.copy_bytes_per_second", 50e9, 100e9))


def claims(curves: Sequence[OperationCurve], ranks: int) -> tuple[Claim, ...]:
    """N4 is of libraries of 2015 on 16 ranks: today's show whether such places still exist."""
    mpi = [
        curve
        for curve in curves
        if curve.is_default and curve.runtime != OURS and curve.operation == "all_reduce"
    ]
    if not mpi:
        return (FAMILY.measured("N4", "no MPI was measured"),)
    few = f" and {ranks} ranks are not {_RANKS}" if ranks < _RANKS else ""
    note = f"those libraries are not here{few}: today's are described instead"
    return (FAMILY.measured("N4", "; ".join(map(_measured_places, mpi)), None, note),)


def _measured_places(curve: OperationCurve) -> str:
    up = [
        f"+{100 * (step.factor - 1):.0f} % at {length(step.above_words)}"
        for step in curve.steps
        if step.factor > 1
    ]
    peaks = [guideline for guideline in curve.guidelines if guideline.kind == CHEAPER]
    worst = max(peaks, key=lambda guideline: guideline.factor, default=None)
    places = [f"steps {', '.join(up)}" if up else "no step up"]
    places.append(
        "no length more expensive than a larger one"
        if worst is None
        else f"{worst.factor:.2f} times as long at {length(worst.words)} as at {length(worst.other_words)}"
    )
    return f"{name_of(curve.runtime)} all_reduce: {'; '.join(places)}"


def simulated(machine: Machine) -> Verdict:
    """N4 with the libraries of the published study, as modelled here and by SimGrid."""
    tops, up, ratio = _modelled(machine)
    holds = _as_published(tops, up, ratio)
    ours = (
        f"Open MPI 1.6: longer than a greater length at {', '.join(map(str, tops)) or 'none'}, steps at "
        f"{', '.join(map(str, up)) or 'none'} words; MVAPICH2 1.9: 512 words take {ratio:.2f} of 1024's "
        "time (both as modelled here)"
    )
    changes = sensitivity(machine, _KNOBS, lambda changed: _as_published(*_modelled(changed)), holds)
    given = (
        "MVAPICH2's limit of 4096 bytes for its shared buffer, which no source gives: its half is explained"
    )
    return FAMILY.simulated("N4", Finding(ours, holds, _under_smpi(machine), given, changes))


def _modelled(machine: Machine) -> tuple[list[int], list[int], float]:
    """Open MPI's peaks and steps in words; MVAPICH2's time at 512 words by that at 1024."""
    asked = [requests.collective("all_reduce", requests.MPI, words) for words in requests.WORDS]
    asked += [requests.collective("all_reduce", "mvapich2-1.9", words) for words in _OTHER]
    *times, fewer, more = (float(row["seconds"]) for row in rows(machine, asked))
    return peaks(requests.WORDS, times), steps(requests.WORDS, times), fewer / more


def _as_published(tops: Sequence[int], up: Sequence[int], ratio: float) -> bool:
    both = [*tops, *up]
    near = (any(low <= words <= high for words in both) for low, high in (NEAR_1K, NEAR_8K))
    return all(near) and ratio > 1


def _under_smpi(machine: Machine) -> str:
    """What SimGrid's own selectors show of it, where SimGrid is here."""
    try:
        seconds = running.all_reduces(machine, ("ompi", "mvapich2"), requests.RANKS, base_lengths())
    except TautoError as error:
        return f"not held against SimGrid's SMPI: {error.message} ({error.remedy})"
    words, times = list(seconds["ompi"]), list(seconds["ompi"].values())
    fewer, more = (seconds["mvapich2"][length] for length in _OTHER)
    shown = _as_published(peaks(words, times), steps(words, times), fewer / more)
    return (
        "SimGrid's SMPI, with rules of its own for each library and every core a node, "
        f"{'shows it too' if shown else 'does not show it'}: its ompi: {in_words(words, times)}; "
        f"its mvapich2 takes {fewer / more:.2f} of 1024 words' time for 512"
    )
