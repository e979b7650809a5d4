"""The published claims on the power of threads, each beside what this machine shows of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tautochrone.report import text
from tautochrone.report.analysis_types import Claim, Ratio
from tautochrone.report.power.analysis_types import Recommendation
from tautochrone.simulator.claims_power import PUBLISHED
from tautochrone.studies.contenders import ratio
from tautochrone.studies.power.cells import CellRuns, jobs_of, joules_of, pair_of
from tautochrone.studies.power.recommendations import MATTERS, compared, times_as_fast
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
_P1_SECONDS = (24.0, 27.0)
_P2_RATIO = 110.0 / 150.0
_P2_TOLERANCE = 0.05
_THREADS = 2
_KEPT = 0.05  # of its speed-up, that a split may lose and still keep its balance


def claims(
    cells: Sequence[CellRuns],
    advised: Sequence[Recommendation],
    no_energy: str,
    knobs: Mapping[str, str],
) -> tuple[Claim, ...]:
    """P1 to P7, on this machine as it is."""
    jobs = jobs_of(cells)
    return (
        _p1(jobs),
        _p2(jobs, no_energy),
        _policies("P3", knobs),
        _policies("P4", knobs),
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
            low, high = _SERIAL_SECONDS * found.low, _SERIAL_SECONDS * found.high
            parts.append(
                f"{cell.title} {WAY_WORDS[way]}: 50 s become {_SERIAL_SECONDS * found.value:.1f} s "
                f"({low:.1f} to {high:.1f})"
            )
            inside.append(_within(low, high, *_P1_SECONDS))
    if not parts:
        return _claim("P1", "encryption on two threads was not measured in enough rounds")
    return _claim("P1", "; ".join(parts), _all(inside))


def _within(low: float, high: float, least: float, most: float) -> bool | None:
    """Is an interval inside, outside, or across an end (None)?"""
    if least <= low and high <= most:
        return True
    return False if high < least or low > most else None


def _all(parts: Sequence[bool | None]) -> bool | None:
    """False where one is, None where one is open, else True."""
    if False in parts:
        return False
    return None if None in parts or not parts else True


def _p2(jobs: Sequence[CellRuns], no_energy: str) -> Claim:
    if no_energy:
        return _claim("P2", "not measured", None, no_energy)
    parts: list[str] = []
    inside: list[bool | None] = []
    for cell in _encryptions(jobs):
        shared, alone = cell.find(BLOCKS, _THREADS), cell.serial
        if shared is None or alone is None:
            continue
        mine, serial = (joules_of(one, cell.longest_seconds) for one in (shared, alone))
        if mine is None or serial is None or mine.common is None or serial.common is None:
            continue
        found = mine.common / serial.common
        parts.append(f"{cell.title}: {found:.2f} of one thread’s energy, both brought to one length")
        inside.append(abs(found / _P2_RATIO - 1) <= _P2_TOLERANCE)
    if not parts:
        return _claim("P2", "encryption was not metered with idle power on two threads")
    return _claim("P2", "; ".join(parts), _all(inside), f"published: {_P2_RATIO:.2f}")


def _policies(id: str, knobs: Mapping[str, str]) -> Claim:
    if not knobs:
        note = "the machine shows no frequency policy; tauto claims shows it on the simulated machine"
        return _claim(id, "cannot be measured here", None, note)
    policy = ", ".join(f"{knob} {value}" for knob, value in knobs.items())
    note = "one policy at a time: tauto study power --policies measures each, tauto compare sets them against"
    return _claim(id, f"measured under {policy} alone", None, note)


def _p5(pair: CellRuns | None) -> Claim:
    parts: list[str] = []
    inside: list[bool | None] = []
    for way, words in ((PINNED, "both pinned"), (ONE_PINNED, "one pinned")):
        found = ratio(pair.find(way), pair.find(FREE)) if pair is not None else None
        if found is None or found.low is None or found.high is None:
            continue
        parts.append(f"{words}: {compared(found)}")
        inside.append(_within(found.low, found.high, 1 - MATTERS, 1 + MATTERS))
    if not parts:
        return _claim("P5", "two programs at once were not measured in enough rounds")
    note = f"holds where the intervals lie within {text.percent(MATTERS)} of no difference; energy apart"
    return _claim("P5", "; ".join(parts), _all(inside), note)


def _p6(advised: Sequence[Recommendation]) -> Claim:
    words = {True: "supported", False: "not supported", None: "not told by these rows"}
    parts = [f"{number} {words[one.supported]}" for number, one in enumerate(advised, 1)]
    holds = _all([one.supported for one in advised])
    return _claim("P6", f"of the four recommendations, {', '.join(parts)}", holds)


def _p7(jobs: Sequence[CellRuns]) -> Claim:
    """From the smallest ratio of costs to the largest."""
    physics = sorted((cell for cell in jobs if cell.ratio is not None), key=lambda cell: cell.ratio or 0.0)
    if len(physics) < 2:
        return _claim("P7", "the physics was not measured with two ratios of costs")
    ends = (physics[0], physics[-1])
    seen = {
        way: [ratio(cell.find(way, _THREADS), cell.serial) for cell in ends] for way in (DOMAIN, FUNCTIONAL)
    }
    if any(one.value is None for both in seen.values() for one in both):
        return _claim("P7", "the physics was not shared in both ways in enough rounds")
    parts = [
        f"{WAY_WORDS[way]}, cost {cell.ratio:g}:1: {times_as_fast(found)}"
        for way, both in seen.items()
        for cell, found in zip(ends, both, strict=True)
    ]
    holds = _loss(seen[DOMAIN]) <= _KEPT < _loss(seen[FUNCTIONAL])
    return _claim("P7", "; ".join(parts), holds)


def _loss(both: Sequence[Ratio]) -> float:
    """The part of the speed-up at the first ratio of costs that is lost at the second."""
    before, after = (one.value or 1.0 for one in both)
    return 1 - before / after
