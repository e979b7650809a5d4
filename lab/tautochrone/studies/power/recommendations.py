"""The published study's four recommendations, each held against this study's own rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from tautochrone import text, verdicts
from tautochrone.results.runs import ratio
from tautochrone.studies.power.cells import (
    MATTERS,
    CellRuns,
    WayRuns,
    all_of,
    any_of,
    common_energy,
    costs,
    jobs_of,
    most_unequal,
    pair_of,
    paired,
    saves,
)
from tautochrone.studies.power.configurations import (
    BALANCED,
    DOMAIN,
    FREE,
    FUNCTIONAL,
    FUNCTIONAL_FREE,
    ONE_PINNED,
    PINNED,
    SAME,
)
from tautochrone.studies.power.findings import Recommendation
from tautochrone.text import less_time, unresolved
from tautochrone.verdicts import Ratio

PUBLISHED = (
    "Thread in balance, with as few points of synchronisation as can be: it saves time and energy.",
    "Unbalanced threads gain less than balanced ones, and may cost energy.",
    "Where a busy thread migrates and the clock drops, make the governor look at the whole package.",
    "Leave placement to the system unless there is a reason.",
)

# Whether the busy thread's work takes longer in a thread that may move: what that is, and what follows.
_LONGER = {
    True: "The busy thread’s work takes longer than alone",
    False: "The busy thread’s work takes no longer than alone",
    None: f"The interval leaves open whether the busy thread’s work takes {text.percent(MATTERS)} longer",
}
_UNDER_POLICY = {
    True: ": its clock drops or it loses its caches; measure with --policies to see which policy helps",
    False: " under this policy, so no other one is needed",
    None: "; measure again on a quieter machine, or in more rounds",
}
_NO_POLICY = {
    True: "; the machine shows no frequency policy, so whether a governor does it cannot be told here",
    False: ", and the machine shows no frequency policy that could be another",
    None: ", and the machine shows no frequency policy",
}


def recommendations(cells: Sequence[CellRuns], knobs: Mapping[str, str]) -> tuple[Recommendation, ...]:
    """All four. ``knobs`` is the frequency policy that the machine shows."""
    jobs = jobs_of(cells)
    found = (_balance(jobs), _imbalance(jobs), _governor(jobs, knobs), _placement(pair_of(cells)))
    return tuple(
        Recommendation(published=published, here=here, supported=supported, rows=tuple(rows))
        for published, (here, supported, rows) in zip(PUBLISHED, found, strict=True)
    )


def balanced_ways(jobs: Sequence[CellRuns]) -> Iterator[tuple[CellRuns, WayRuns]]:
    """Every balanced way on all CPUs that was measured."""
    for cell in jobs:
        for way in BALANCED:
            runs = cell.find(way)
            if runs is not None and runs.threads > 1:
                yield cell, runs


def times_as_fast(time: Ratio) -> str:
    """In words: "1.96 times as fast as one thread (1.94 to 1.98)"."""
    return text.speed_up(time, " times as fast as one thread")


def compared(found: Ratio) -> str:
    """A comparison in words: "12 % less time (10 to 14 %)", "no difference resolved (…)"."""
    if found.verdict == verdicts.NOT_MEASURED or found.low is None:
        return "not measured in enough rounds"
    if found.verdict == verdicts.NO_DIFFERENCE:
        return f"no difference resolved ({unresolved(found)})"
    return less_time(found)


Advice = tuple[str, bool | None, Sequence[str]]
"""What these rows say of a recommendation, whether they support it, and the figures that it rests on."""


def _balance(jobs: Sequence[CellRuns]) -> Advice:
    found = [(cell, runs, ratio(runs, cell.serial)) for cell, runs in balanced_ways(jobs)]
    judged = [(cell, runs, time) for cell, runs, time in found if time.value is not None]
    if not judged:
        return _open("no balanced way was measured in enough rounds")
    times = [saves(time) for _, _, time in judged]
    energies = [
        saves(energy) for cell, runs, _ in judged if (energy := common_energy(cell, runs)).value is not None
    ]
    least = min(time.inverse().value or 1.0 for _, _, time in judged)
    here = (
        f"{_so_many(times, 'balanced way')} save more than {text.percent(MATTERS)} of one thread’s time; the "
        f"least gains {least:.2f} times. "
    )
    if energies:
        here += f"Brought to one length, {_so_many(energies)} save as much of its energy."
    else:
        here += "Energy was not measured beside idle power, so nothing is said of it."
    rows = [f"{cell.title}, {runs.label}: {times_as_fast(time)}" for cell, runs, time in judged]
    return here, all_of([*times, *energies]), rows


def _so_many(judged: Sequence[bool | None], noun: str = "") -> str:
    """How many do, of how many, and of how many it is open: "3 of 4 balanced ways (1 is open)"."""
    words = f"{judged.count(True)} of {text.count(len(judged), noun) if noun else len(judged)}"
    still = judged.count(None)
    return f"{words} ({still} {'is' if still == 1 else 'are'} open)" if still else words


def _imbalance(jobs: Sequence[CellRuns]) -> Advice:
    cell = most_unequal(jobs)
    functional = cell.find(FUNCTIONAL) if cell is not None else None
    domain = cell.find(DOMAIN, 2) if cell is not None else None
    found = ratio(functional, domain)
    if cell is None or functional is None or domain is None or found.value is None:
        return _open("the physics was not shared in both ways in enough rounds")
    rows = [
        f"{cell.title}, {runs.label}: {times_as_fast(ratio(runs, cell.serial))}, imbalance "
        f"{runs.median('imbalance') or 1.0:.2f}"
        for runs in (functional, domain)
    ]
    supported = {verdicts.SLOWER: True, verdicts.FASTER: False}.get(found.verdict)
    here = f"Shared by its functions the physics takes {compared(found)} than shared by its bodies."
    if supported is None:
        here = f"The physics shared by functions against by bodies: {compared(found)}."
    return here, supported, rows


def _governor(jobs: Sequence[CellRuns], knobs: Mapping[str, str]) -> Advice:
    """By the CPU time of the expensive function in threads that may move, against one thread alone."""
    cell = most_unequal(jobs)
    free = cell.find(FUNCTIONAL_FREE) if cell is not None else None
    alone = cell.serial if cell is not None else None
    found = paired(free, alone, lambda row: row.detail.get("collide_seconds"))
    if cell is None or free is None or found.value is None:
        return _open("the unbalanced physics was not measured unpinned in enough rounds")
    rows = [f"{cell.title}: the busy thread’s work against one thread alone, not pinned: {compared(found)}"]
    moved = [float(row.migrations) for row in free.rows if row.migrations is not None]
    if moved:
        rows.append(f"migrations of a run: {sum(moved) / len(moved):.1f}")
    policy = ", ".join(f"{knob} {value}" for knob, value in knobs.items())
    rows.append(f"frequency policy: {policy or 'none is shown by this machine'}")
    longer = costs(found)
    here = f"{_LONGER[longer]}{_UNDER_POLICY[longer] if knobs else _NO_POLICY[longer]}."
    return here, longer if knobs else None, rows


def _placement(pair: CellRuns | None) -> Advice:
    free = pair.find(FREE) if pair is not None else None
    pinned = {way: pair.find(way) if pair is not None else None for way in (PINNED, ONE_PINNED, SAME)}
    against = {way: ratio(runs, free) for way, runs in pinned.items()}
    rows = [
        f"{runs.label} against no affinity: {compared(against[way])}"
        for way, runs in pinned.items()
        if runs is not None
    ]
    judged = [against[way] for way in (PINNED, ONE_PINNED)]
    if any(time.value is None for time in judged):
        return _open("two programs at once were not measured in enough rounds", rows)
    saving = any_of([saves(time) for time in judged])
    if saving:
        return "This machine does not support it: pinning two programs apart saves time.", False, rows
    if saving is None:
        here = f"The intervals leave open whether pinning saves more than {text.percent(MATTERS)}."
        return here, None, rows
    here = f"Pinning saves nothing above {text.percent(MATTERS)} of the time"
    wrong = against[SAME]
    if wrong.verdict == verdicts.SLOWER and wrong.value is not None:
        here += f", and pinned to the wrong CPU the two programs take {wrong.value:.2f} times as long"
    return f"{here}.", True, rows


def _open(why: str, rows: Sequence[str] = ()) -> Advice:
    return text.sentence(f"Not told by these rows: {why}"), None, rows
