"""The published claims on the power of threads, each beside what this machine shows of it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from tautochrone import statistics
from tautochrone.published import PUBLISHED
from tautochrone.report import text
from tautochrone.report.analysis_types import Claim, Ratio
from tautochrone.report.power.analysis_types import Recommendation
from tautochrone.studies.contenders import as_ratio, ratio
from tautochrone.studies.power.cells import CellRuns, common_energy, jobs_of, pair_of
from tautochrone.studies.power.judging import MATTERS, all_of, any_of, costs, within
from tautochrone.studies.power.policies import AgainstHighest, UnderPolicy, against_highest
from tautochrone.studies.power.recommendations import compared, times_as_fast
from tautochrone.studies.power.works import (
    BLOCKS,
    DOMAIN,
    ENCRYPTION,
    FILES,
    FREE,
    FUNCTIONAL,
    ONE_PINNED,
    PINNED,
    WAY_WORDS,
)

_SERIAL_SECONDS = 50.0  # of the published encryption
_P1_LEAST, _P1_MOST = 24.0 / _SERIAL_SECONDS, 27.0 / _SERIAL_SECONDS
_P2_RATIO = 110.0 / 150.0
_P2_TOLERANCE = 0.05
_THREADS = 2
_HIGHEST_SECONDS, _ADAPTIVE_SECONDS = 64.0, 120.0  # of the published unbalanced physics
_P3_TOLERANCE, _P4_TOLERANCE = 0.1, 0.05
_SESSIONS = "policies are measured one after the other, so drift between them is not removed"
_KEPT = 0.95  # of its speed-up, with which a split has kept its balance


def claims(
    cells: Sequence[CellRuns],
    advised: Sequence[Recommendation],
    no_energy: str,
    knobs: Mapping[str, str],
    under: Sequence[UnderPolicy] = (),
) -> tuple[Claim, ...]:
    """P1 to P7, on this machine as it is; P3 and P4 from the same study `under` each of its policies."""
    jobs = jobs_of(cells)
    return (
        _p1(jobs),
        _p2(jobs, no_energy),
        *_policies(knobs, under),
        _p5(pair_of(cells)),
        _p6(advised),
        _p7(jobs),
    )


def _claim(id: str, ours: str, holds: bool | None = None, note: str = "") -> Claim:
    return Claim(id=id, published=PUBLISHED[id], ours=ours, holds=holds, note=note)


def _encryptions(jobs: Sequence[CellRuns]) -> list[CellRuns]:
    return [cell for cell in jobs if cell.job == ENCRYPTION]


def _p1(jobs: Sequence[CellRuns]) -> Claim:
    """Every encryption in both implementations, as seconds of the published 50."""
    parts: list[str] = []
    inside: list[bool | None] = []
    for cell in _encryptions(jobs):
        for way in (BLOCKS, FILES):
            found = ratio(cell.find(way, _THREADS), cell.serial)
            if found.value is None or found.low is None or found.high is None:
                continue
            parts.append(
                f"{cell.title} {WAY_WORDS[way]}: 50 s become {_SERIAL_SECONDS * found.value:.1f} s "
                f"({_SERIAL_SECONDS * found.low:.1f} to {_SERIAL_SECONDS * found.high:.1f})"
            )
            inside.append(within(found, _P1_LEAST, _P1_MOST))
    if not parts:
        return _claim("P1", "encryption on two threads was not measured in enough rounds")
    return _claim("P1", "; ".join(parts), all_of(inside))


def _p2(jobs: Sequence[CellRuns], no_energy: str) -> Claim:
    if no_energy:
        return _claim("P2", "not measured", None, no_energy)
    parts: list[str] = []
    inside: list[bool | None] = []
    for cell in _encryptions(jobs):
        found = common_energy(cell, cell.find(BLOCKS, _THREADS))
        if found.value is None:
            continue
        parts.append(f"{cell.title}: {text.ratio(found)} of one thread’s energy, both brought to one length")
        inside.append(within(found, _P2_RATIO * (1 - _P2_TOLERANCE), _P2_RATIO * (1 + _P2_TOLERANCE)))
    if not parts:
        return _claim("P2", "encryption on two threads was not metered beside idle power in enough rounds")
    return _claim("P2", "; ".join(parts), all_of(inside), f"published: {_P2_RATIO:.2f}")


def _policies(knobs: Mapping[str, str], under: Sequence[UnderPolicy]) -> tuple[Claim, Claim]:
    """P3 and P4."""
    found = [one for one in against_highest(under) if one.seconds.value is not None]
    if found:
        return _p3(found), _p4(found)
    if under:
        ours = "no policy that follows the load was measured beside the highest clock in enough rounds"
        return _claim("P3", ours), _claim("P4", ours)
    if not knobs:
        ours = "cannot be measured here"
        note = "the machine shows no frequency policy; tauto claims shows it on the simulated machine"
    else:
        policy = ", ".join(f"{knob} {value}" for knob, value in knobs.items())
        ours = f"measured under {policy} alone"
        note = "tauto study power --policies measures under each policy and says it"
    return _claim("P3", ours, None, note), _claim("P4", ours, None, note)


def _p3(found: Sequence[AgainstHighest]) -> Claim:
    """Is any policy as slow as the published one, and does it cost energy?"""
    times = _ADAPTIVE_SECONDS / _HIGHEST_SECONDS
    judged = []
    for one in found:
        parts = [within(one.seconds, times * (1 - _P3_TOLERANCE), times * (1 + _P3_TOLERANCE))]
        if one.energy.value is not None:
            parts.append(costs(one.energy))
        judged.append(all_of(parts))
    return _claim("P3", _under_each(found), any_of(judged), _SESSIONS)


def _p4(found: Sequence[AgainstHighest]) -> Claim:
    """Does any policy that follows the load keep the time of the highest clock, and its energy?"""
    judged = []
    for one in found:
        ratios = [one.seconds] if one.energy.value is None else [one.seconds, one.energy]
        judged.append(all_of([within(each, 1 - _P4_TOLERANCE, 1 + _P4_TOLERANCE) for each in ratios]))
    note = f"holds where a policy keeps both within {text.percent(_P4_TOLERANCE)}; {_SESSIONS}"
    return _claim("P4", _under_each(found), any_of(judged), note)


def _under_each(found: Sequence[AgainstHighest]) -> str:
    parts: list[str] = []
    for one in found:
        low, high = one.seconds.low, one.seconds.high
        words = f"{one.name}: 64 s become {_HIGHEST_SECONDS * (one.seconds.value or 0.0):.0f} s"
        if low is not None and high is not None:
            words += f" ({_HIGHEST_SECONDS * low:.0f} to {_HIGHEST_SECONDS * high:.0f})"
        if one.energy.value is not None:
            words += f", {text.ratio(one.energy)} of the energy"
        parts.append(words)
    if all(one.energy.value is None for one in found):
        parts.append("energy was not measured beside idle power")
    return "; ".join(parts)


def _p5(pair: CellRuns | None) -> Claim:
    parts: list[str] = []
    inside: list[bool | None] = []
    for way, words in ((PINNED, "both pinned"), (ONE_PINNED, "one pinned")):
        found = ratio(pair.find(way), pair.find(FREE)) if pair is not None else None
        if found is None or found.value is None:
            continue
        parts.append(f"{words}: {compared(found)}")
        inside.append(within(found, 1 - MATTERS, 1 + MATTERS))
    if not parts:
        return _claim("P5", "two programs at once were not measured in enough rounds")
    note = f"holds where the intervals lie within {text.percent(MATTERS)} of no difference; energy apart"
    return _claim("P5", "; ".join(parts), all_of(inside), note)


def _p6(advised: Sequence[Recommendation]) -> Claim:
    words = {True: "supported", False: "not supported", None: "not told by these rows"}
    parts = [f"{number} {words[one.supported]}" for number, one in enumerate(advised, 1)]
    holds = all_of([one.supported for one in advised])
    return _claim("P6", f"of the four recommendations, {', '.join(parts)}", holds)


def _p7(jobs: Sequence[CellRuns]) -> Claim:
    """From the smallest ratio of costs to the largest."""
    physics = sorted((cell for cell in jobs if cell.ratio is not None), key=lambda cell: cell.ratio or 0.0)
    if len(physics) < 2:
        return _claim("P7", "the physics was not measured with two ratios of costs")
    ends = (physics[0], physics[-1])
    parts: list[str] = []
    holds: list[bool | None] = []
    for way, least, most in ((DOMAIN, _KEPT, math.inf), (FUNCTIONAL, 0.0, _KEPT)):
        seen = [ratio(cell.find(way, _THREADS), cell.serial) for cell in ends]
        kept = _kept(ends, way)
        if kept.value is None or any(one.value is None for one in seen):
            return _claim("P7", "the physics was not shared in both ways in enough rounds")
        parts += [
            f"{WAY_WORDS[way]}, cost {cell.ratio:g}:1: {times_as_fast(found)}"
            for cell, found in zip(ends, seen, strict=True)
        ]
        parts.append(f"the last by the first: {text.ratio(kept)}")
        holds.append(within(kept, least, most))
    note = f"holds where {text.percent(_KEPT)} of the speed-up are kept by bodies, and not by functions"
    return _claim("P7", "; ".join(parts), all_of(holds), note)


def _kept(ends: tuple[CellRuns, CellRuns], way: str) -> Ratio:
    """The speed-up at the second ratio of costs by that at the first, paired by rounds."""
    runs = [(cell.serial, cell.find(way, _THREADS)) for cell in ends]
    seconds = [one.by_round if one is not None else {} for both in runs for one in both]
    first_alone, first, last_alone, last = seconds
    rounds = sorted(set.intersection(*(set(one) for one in seconds)))
    return as_ratio(
        statistics.compare(
            [(last_alone[each] * first[each], last[each] * first_alone[each]) for each in rounds]
        )
    )
