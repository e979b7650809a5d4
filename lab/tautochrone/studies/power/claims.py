"""The published claims on the power of threads (P1 to P7), and what rows show of them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from tautochrone import text, verdicts
from tautochrone.report.analysis import Claim
from tautochrone.results.runs import ratio
from tautochrone.studies.claims import Family, Statement
from tautochrone.studies.power.cells import (
    MATTERS,
    CellRuns,
    all_of,
    any_of,
    common_energy,
    common_joules,
    costs,
    jobs_of,
    pair_of,
    paired,
    within,
)
from tautochrone.studies.power.configurations import (
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
from tautochrone.studies.power.findings import Recommendation
from tautochrone.studies.power.policies import AgainstHighest, UnderPolicy, against_highest
from tautochrone.studies.power.recommendations import compared, times_as_fast
from tautochrone.verdicts import Ratio, as_ratio

FAMILY = Family(
    "core-duo-yonah",
    {
        "P1": Statement(
            says="balanced threads nearly halve the time: encryption 50 s serial, 25 s with two threads",
            tolerance="24 to 27 s under the adaptive policy, for 50 s serial (±5 %)",
            fails_if="under the adaptive policy the serial run takes more than 5 % from 50 s, or two threads "
            "less than 24 s or more than 27 s",
        ),
        "P2": Statement(
            says="energy brought to the longest time: 150 mWh serial, 110 mWh with two threads; the "
            "platform's falls too",
            tolerance="150 mWh calibrates; 110 mWh ±5 % is predicted, under the adaptive policy",
            fails_if="with 150 mWh given, two threads take less than 104.5 mWh or more than 115.5, or the "
            "platform's energy does not fall",
            waits=False,
        ),
        "P3": Statement(
            says="unbalanced threads: 64 s at the highest clock becomes about 120 s under the adaptive "
            "policy, energy rises",
            tolerance="±10 %",
            fails_if="either time is more than 10 % from its own, or the platform takes no more energy",
        ),
        "P4": Statement(
            says="the busy thread migrates, each core looks half busy, both clocks drop; a governor that "
            "looks at the whole package restores the 64 s and the energy",
            tolerance="±5 % of 64 s and of the energy; without migrations the adaptive policy slows nothing",
            fails_if="with the package governor the time or the platform's energy is more than 5 % from that "
            "at the highest clock, or the adaptive policy is as slow where no thread migrates",
        ),
        "P5": Statement(
            says="two programs side by side: free, both pinned, one pinned: no real difference in time; "
            "pinning costs slightly more energy",
            tolerance="less than 3 % of the time; energy with the published sign, of CPU and platform",
            fails_if="the times differ by 3 % or more, or both pinned take no more energy than free, or "
            "simulated programs of one thread each, which cannot wait for their core, take more as well",
        ),
        "P6": Statement(
            says="balance the threads, synchronise rarely, fix the governor, leave placement to the system",
            tolerance="the report derives each from its own rows",
            fails_if="one of the four pieces of advice does not follow from the rows",
        ),
        "P7": Statement(
            says="a domain split keeps its balance when the work changes; a functional split loses it",
            tolerance="shown by growing one function's cost: 95 % of the speed-up kept, or not",
            fails_if="the domain split keeps less than 95 % of its speed-up, or the functional split more",
        ),
    },
)
_THREADS = 2
SERIAL_SECONDS, SHARED_SECONDS = 50.0, (24.0, 27.0)  # P1
SERIAL_MWH, SHARED_MWH, P2_TOLERANCE = 150.0, 110.0, 0.05
HIGHEST_SECONDS, ADAPTIVE_SECONDS = 64.0, 120.0  # P3, P4: of the unbalanced physics
P3_TOLERANCE, P4_TOLERANCE = 0.1, 0.05
KEPT = 0.95  # P7: of its speed-up, or of its balance, with which a split has kept its balance


def around(published: float, tolerance: float) -> tuple[float, float]:
    """The limits of what is as near as that."""
    return published * (1 - tolerance), published * (1 + tolerance)


# -- measured here --


def claims(
    cells: Sequence[CellRuns],
    advised: Sequence[Recommendation],
    no_energy: str,
    knobs: Mapping[str, str],
    under: Sequence[UnderPolicy] = (),
) -> tuple[Claim, ...]:
    """All seven, on this machine as it is; P3 and P4 from the same study `under` each of its policies."""
    jobs = jobs_of(cells)
    encryptions = [cell for cell in jobs if cell.job == ENCRYPTION]
    return (
        _encryption(encryptions),
        _encryption_energy(encryptions, no_energy),
        *_policies(knobs, under),
        _placement(pair_of(cells)),
        _advice(advised),
        _splits(jobs),
    )


def _encryption(encryptions: Sequence[CellRuns]) -> Claim:
    """Every encryption in both implementations, as seconds of the published 50."""
    parts: list[str] = []
    inside: list[bool | None] = []
    least, most = (seconds / SERIAL_SECONDS for seconds in SHARED_SECONDS)
    for cell in encryptions:
        for way in (BLOCKS, FILES):
            time = ratio(cell.find(way, _THREADS), cell.serial)
            if time.value is None or time.low is None or time.high is None:
                continue
            ends = text.interval(SERIAL_SECONDS * time.low, SERIAL_SECONDS * time.high, 1)
            seconds = f"50 s become {SERIAL_SECONDS * time.value:.1f} s{ends}"
            parts.append(f"{cell.title} {WAY_WORDS[way]}: {seconds}")
            inside.append(within(time, least, most))
    ours = "; ".join(parts) or "encryption on two threads was not measured in enough rounds"
    return FAMILY.measured("P1", ours, all_of(inside))


def _encryption_energy(encryptions: Sequence[CellRuns], no_energy: str) -> Claim:
    if no_energy:
        return FAMILY.measured("P2", "not measured", None, no_energy)
    published = SHARED_MWH / SERIAL_MWH
    parts: list[str] = []
    inside: list[bool | None] = []
    for cell in encryptions:
        energy = common_energy(cell, cell.find(BLOCKS, _THREADS))
        if energy.value is not None:
            brought = "of one thread’s energy, both brought to one length"
            parts.append(f"{cell.title}: {text.ratio(energy)} {brought}")
            inside.append(within(energy, *around(published, P2_TOLERANCE)))
    ours = "; ".join(parts) or "encryption on two threads was not metered beside idle power in enough rounds"
    return FAMILY.measured("P2", ours, all_of(inside), f"published: {published:.2f}" if parts else "")


def _policies(knobs: Mapping[str, str], under: Sequence[UnderPolicy]) -> tuple[Claim, Claim]:
    """P3 and P4."""
    against = [policy for policy in against_highest(under) if policy.seconds.value is not None]
    note = ""
    if against:
        return _adaptive(against), _restored(against)
    if under:
        ours = "no policy that follows the load was measured beside the highest clock in enough rounds"
    elif not knobs:
        ours = "cannot be measured here"
        note = "the machine shows no frequency policy; tauto claims shows it on the simulated machine"
    else:
        policy = ", ".join(f"{knob} {value}" for knob, value in knobs.items())
        ours = f"measured under {policy} alone"
        note = "tauto study power --policies measures under each policy and says it"
    return FAMILY.measured("P3", ours, None, note), FAMILY.measured("P4", ours, None, note)


_TURNS = "policies take turns of some rounds, so that a slow drift is in all of them"


def _adaptive(policies: Sequence[AgainstHighest]) -> Claim:
    """Is any policy as slow as the published one, and does it cost energy?"""
    slow = around(ADAPTIVE_SECONDS / HIGHEST_SECONDS, P3_TOLERANCE)
    judged = []
    for policy in policies:
        cost = [] if policy.energy.value is None else [costs(policy.energy)]
        judged.append(all_of([within(policy.seconds, *slow), *cost]))
    return FAMILY.measured("P3", _under_each(policies), any_of(judged), _TURNS)


def _restored(policies: Sequence[AgainstHighest]) -> Claim:
    """Does any policy that follows the load keep the time of the highest clock, and its energy?"""
    same = around(1, P4_TOLERANCE)
    judged = []
    for policy in policies:
        ratios = [policy.seconds] if policy.energy.value is None else [policy.seconds, policy.energy]
        judged.append(all_of([within(each, *same) for each in ratios]))
    note = f"holds where a policy keeps both within {text.percent(P4_TOLERANCE)}; {_TURNS}"
    return FAMILY.measured("P4", _under_each(policies), any_of(judged), note)


def _under_each(policies: Sequence[AgainstHighest]) -> str:
    parts: list[str] = []
    for policy in policies:
        value, low, high = (
            None if end is None else HIGHEST_SECONDS * end
            for end in (policy.seconds.value, policy.seconds.low, policy.seconds.high)
        )
        words = f"{policy.name}: 64 s become {value or 0.0:.0f} s{text.interval(low, high, 0)}"
        if policy.energy.value is not None:
            words += f", {text.ratio(policy.energy)} of the energy"
        parts.append(words)
    if all(policy.energy.value is None for policy in policies):
        parts.append("energy was not measured beside idle power")
    return "; ".join(parts)


def _placement(pair: CellRuns | None) -> Claim:
    parts: list[str] = []
    inside: list[bool | None] = []
    for way, words in ((PINNED, "both pinned"), (ONE_PINNED, "one pinned")):
        time = ratio(pair.find(way), pair.find(FREE)) if pair is not None else None
        if time is not None and time.value is not None:
            parts.append(f"{words}: {compared(time)}")
            inside.append(within(time, 1 - MATTERS, 1 + MATTERS))
    if not parts:
        return FAMILY.measured("P5", "two programs at once were not measured in enough rounds")
    energy = _energy_of_pinning(pair)
    inside.append(within(energy, 1.0, math.inf))
    if energy.value is not None:
        parts.append(f"both pinned take {text.ratio(energy)} of the energy")
    note = f"holds where the intervals lie within {text.percent(MATTERS)} of no difference, and pinning costs"
    return FAMILY.measured("P5", "; ".join(parts), all_of(inside), note)


def _energy_of_pinning(pair: CellRuns | None) -> Ratio:
    """Of both pinned by neither, brought to one length."""
    pinned, free = (pair.find(way) if pair is not None else None for way in (PINNED, FREE))
    until = pair.longest_seconds if pair is not None else None
    return paired(pinned, free, lambda row: common_joules(row, until))


def _advice(advised: Sequence[Recommendation]) -> Claim:
    words = {True: "supported", False: "not supported", None: "not told by these rows"}
    parts = [f"{number} {words[advice.supported]}" for number, advice in enumerate(advised, 1)]
    holds = all_of([advice.supported for advice in advised])
    return FAMILY.measured("P6", f"of the four recommendations, {', '.join(parts)}", holds)


def _splits(jobs: Sequence[CellRuns]) -> Claim:
    """From the smallest ratio of costs to the largest."""
    physics = sorted((cell for cell in jobs if cell.ratio is not None), key=lambda cell: cell.ratio or 0.0)
    if len(physics) < 2:
        return FAMILY.measured("P7", "the physics was not measured with two ratios of costs")
    ends = (physics[0], physics[-1])
    parts: list[str] = []
    holds: list[bool | None] = []
    for way, least, most in ((DOMAIN, KEPT, math.inf), (FUNCTIONAL, 0.0, KEPT)):
        times = [ratio(cell.find(way, _THREADS), cell.serial) for cell in ends]
        kept = _kept(ends, way)
        if kept.value is None or any(time.value is None for time in times):
            return FAMILY.measured("P7", "the physics was not shared in both ways in enough rounds")
        parts += [
            f"{WAY_WORDS[way]}, cost {cell.ratio:g}:1: {times_as_fast(time)}"
            for cell, time in zip(ends, times, strict=True)
        ]
        parts.append(f"the last by the first: {text.ratio(kept)}")
        holds.append(within(kept, least, most))
    note = f"holds where {text.percent(KEPT)} of the speed-up are kept by bodies, and not by functions"
    return FAMILY.measured("P7", "; ".join(parts), all_of(holds), note)


def _kept(ends: tuple[CellRuns, CellRuns], way: str) -> Ratio:
    """The speed-up at the second ratio of costs by that at the first, paired by rounds."""
    first_alone, first, last_alone, last = (
        contender.by_round if contender is not None else {}
        for cell in ends
        for contender in (cell.serial, cell.find(way, _THREADS))
    )
    rounds = sorted(first_alone.keys() & first.keys() & last_alone.keys() & last.keys())
    return as_ratio(
        verdicts.compare(
            [(last_alone[each] * first[each], last[each] * first_alone[each]) for each in rounds]
        )
    )
