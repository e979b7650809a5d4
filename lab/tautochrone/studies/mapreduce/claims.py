"""The published claims on map/reduce of short tasks (M1 to M6): what is claimed, and what is shown of it.

Here this machine's rows are judged. The published machine has 16 cores and 32 hardware threads: a claim that
needs more threads than there are is called not measurable, with the number that would be needed. It is never
judged from fewer, nor called wrong where thread counts that would decide it were left out. The simulated
i9-7960X is judged in claims_simulated.py.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from tautochrone import text, verdicts
from tautochrone.report.analysis import Claim
from tautochrone.results.runs import ratio
from tautochrone.studies.claims import (
    Family,
    Shown,
    Statement,
    unknown,
    within,
)
from tautochrone.studies.mapreduce.cells import CellRuns, Contender
from tautochrone.studies.mapreduce.sentences import COLLAPSE_THREADS

MACHINE = "i9-7960x"
FAMILY = Family(
    MACHINE,
    {
        "M1": Statement(
            says="50 tasks: the speed-up steps from 16 to 17 threads (four tasks on some → three on all) and "
            "from 21 to 25 (three on some → at most two): ceil(50 / threads)",
            tolerance="steps at exactly those counts",
            fails_if="the two largest steps above 16 threads are at other counts than 17 and 25",
            cpus=25,
        ),
        "M2": Statement(
            says="tasks of 3 ms: nearly linear, 12.7× on 16 threads and 23× on 32; Qt and oneTBB alike, "
            "within 5 %",
            tolerance="11.5 to 13; 21 to 25; within 5 % of each other",
            fails_if="either library is outside 11.5 to 13 on 16 threads or 21 to 25 on 32, or they are more "
            "than 5 % apart",
            cpus=32,
        ),
        "M3": Statement(
            says="tasks of 1 ms: oneTBB clearly better, Qt still rises",
            tolerance="oneTBB at least 10 % better on 32 threads; Qt's best at more than 16",
            fails_if="oneTBB is less than 10 % faster than Qt on 32 threads, or Qt is fastest on 16 or fewer",
            cpus=32,
        ),
        "M4": Statement(
            says="tasks of 0.4 ms: oneTBB good; Qt falls from 11 threads on",
            tolerance="maximum of Qt between 9 and 13 threads; oneTBB still gains above 16, and pays for its "
            "own overhead",
            fails_if="Qt is fastest outside 9 to 13 threads, or oneTBB on 16 or fewer, or oneTBB waits no "
            "longer than the law of whole tasks alone makes it",
            cpus=COLLAPSE_THREADS,
        ),
        "M5": Statement(
            says="the cause is Qt's mutex: 60 % of the time spent waiting against 30 % for oneTBB; without "
            "load the clock drops, so that even the useful part takes twice as long",
            tolerance="50 to 70 %; 20 to 40 %; clock feedback visible",
            fails_if="Qt waits less than 50 % or more than 70 % of the time, oneTBB less than 20 % or more "
            "than 40 %, or Qt's clock is not a tenth lower than oneTBB's",
            cpus=COLLAPSE_THREADS,
        ),
        "M6": Statement(
            says="the same sweep on what is there, down to tasks of 1 µs, where few cores show the effect",
            tolerance="measured",
            fails_if="with tasks of 1 µs on as many CPUs as the published effect needs, Qt is no slower than "
            "the serial loop",
        ),
    },
)

# The published figures, and how near is near.
ALIKE = 0.05  # Qt and oneTBB; also what may change where the law does not
ON_16, ON_32 = (11.5, 13.0), (21.0, 25.0)
CLEARLY = 0.1  # M3: oneTBB against Qt
OWN_OVERHEAD = 0.01  # M4: of the time, beside what the law of whole tasks makes a thread wait
QT_PEAK = (9, 13)
QT_WAITS, TBB_WAITS = (0.5, 0.7), (0.2, 0.4)
CLOCK_DROPS = 1.1  # oneTBB's clock by Qt's

TASKS = 50
SHORT, MIDDLE, LONG = 400_000, 1_000_000, 3_000_000
_COLLAPSE_COUNTS = set(range(8, COLLAPSE_THREADS + 1))  # threads around the published maximum of 9 to 13
_SHORTEST_SECONDS = 2e-6  # tasks of about 1 µs
QT, TBB = "qt", "tbb"


def claims(cells: Sequence[CellRuns]) -> tuple[Claim, ...]:
    """What rows show of all claims, from the unmodified machine.

    A claim that needs more CPUs than there are stays open, whatever was seen.
    """
    plain = [cell for cell in cells if not cell.emulated]
    cpus = max((cell.cpus for cell in plain), default=0)
    found: list[Claim] = []
    for (id, statement), judge in zip(FAMILY.statements.items(), (_m1, _m2, _m3, _m4, _m5, _m6), strict=True):
        ours, holds, note = judge(plain)
        needed = statement.cpus
        if cpus < needed:
            holds = None
            note = (
                f"not measurable with {text.count(cpus, 'CPU')}, it needs {needed}: neither shown nor "
                "refuted; simulated: not here"
            )
        found.append(FAMILY.measured(id, ours, holds, note))
    return tuple(found)


# -- of this machine's rows --


def _cell(cells: Sequence[CellRuns], size: int) -> CellRuns | None:
    """50 tasks of that many bytes."""
    return next((cell for cell in cells if (cell.tasks, cell.bytes) == (TASKS, size)), None)


def _curve(cell: CellRuns, peer: str) -> dict[int, float]:
    """Threads → speed-up of a runtime with no settings, up to one thread on each CPU."""
    speedups = {
        contender.threads: speedup
        for contender in cell.contenders
        if contender.peer == peer and contender.is_default and contender.threads <= cell.cpus
        if (speedup := cell.speedup(contender)) is not None
    }
    return dict(sorted(speedups.items()))


def _times(speedup: float) -> str:
    return f"{text.significant(speedup)}×"


def _both(cells: Sequence[CellRuns], size: int) -> tuple[CellRuns, Contender, Contender] | None:
    """Qt and oneTBB with no settings on all CPUs, on 50 tasks of that many bytes; both have a speed-up."""
    cell = _cell(cells, size)
    if cell is None or not (_curve(cell, QT) and _curve(cell, TBB)):
        return None
    qt, tbb = cell.find(QT), cell.find(TBB)
    return (cell, qt, tbb) if qt is not None and tbb is not None else None


def _side_by_side(found: tuple[CellRuns, Contender, Contender]) -> str:
    cell, qt, tbb = found
    threads = text.count(cell.cpus, "thread")
    return f"Qt {_times(cell.speedup(qt) or 0.0)}, oneTBB {_times(cell.speedup(tbb) or 0.0)} on {threads}"


def _needs(size: int) -> str:
    return f"needs Qt and oneTBB on 50 tasks of {size // 1000} kB"


def _m1(cells: Sequence[CellRuns]) -> Shown:
    """The law is judged on the longest tasks, where nothing else costs."""
    of_fifty = [cell for cell in cells if cell.tasks == TASKS]
    cell = max(of_fifty, key=lambda cell: cell.bytes, default=None)
    curve = _curve(cell, TBB) or _curve(cell, QT) if cell is not None else {}
    if cell is None or not curve:
        return unknown("needs 50 tasks with oneTBB or Qt")
    widest = max(curve)
    seen = f"{_times(curve[widest])} on {text.count(widest, 'thread')}, the law allows"
    ours = f"tasks of {cell.length}: {seen} {_times(cell.ideal_speedup(widest))}"
    holds = _steps(curve, cell, 16, 17) and _steps(curve, cell, 24, 25) if widest >= 25 else None
    return ours, holds, ""


def _steps(curve: dict[int, float], cell: CellRuns, before: int, after: int) -> bool | None:
    """At least half of the predicted rise between two counts, and next to none just before them."""
    if not {before - 1, before, after} <= curve.keys():
        return None
    law = math.ceil(cell.tasks / before) / math.ceil(cell.tasks / after)
    rises = curve[after] / curve[before] >= 1 + (law - 1) / 2
    return rises and abs(curve[before] / curve[before - 1] - 1) <= ALIKE


def _m2(cells: Sequence[CellRuns]) -> Shown:
    found = _both(cells, LONG)
    if found is None:
        return unknown(_needs(LONG))
    cell, qt, tbb = found
    between = ratio(qt, tbb)
    alike = between.value is not None and abs(between.value - 1) <= ALIKE
    at_16 = [_curve(cell, peer).get(16) for peer in (QT, TBB)]
    holds = None
    if None not in at_16:
        on_32 = all(within(ON_32, _curve(cell, peer).get(32, 0.0)) for peer in (QT, TBB))
        holds = alike and on_32 and all(within(ON_16, speedup or 0.0) for speedup in at_16)
    return f"{_side_by_side(found)}; {'alike' if alike else 'not alike'} within 5 %", holds, ""


def _m3(cells: Sequence[CellRuns]) -> Shown:
    found = _both(cells, MIDDLE)
    if found is None:
        return unknown(_needs(MIDDLE))
    cell, qt, tbb = found
    curve = _curve(cell, QT)
    rises = max(curve, key=lambda count: curve[count]) > 16
    between = ratio(tbb, qt)
    better = between.verdict == verdicts.FASTER and (between.value or 1.0) <= 1 / (1 + CLEARLY)
    ours = f"{_side_by_side(found)}; Qt {'still rises' if rises else 'has fallen from its best'}"
    return ours, better and rises, ""


def _m4(cells: Sequence[CellRuns]) -> Shown:
    found = _both(cells, SHORT)
    if found is None:
        return unknown(_needs(SHORT))
    curve = _curve(found[0], QT)
    best = max(curve, key=lambda count: curve[count])
    ours = f"{_side_by_side(found)}; Qt is fastest on {best} of up to {max(curve)} threads"
    return ours, within(QT_PEAK, best) if curve.keys() >= _COLLAPSE_COUNTS else None, ""


def _m5(cells: Sequence[CellRuns]) -> Shown:
    found = _both(cells, SHORT)
    if found is None:
        return unknown(_needs(SHORT))
    _, qt, tbb = found
    waits = [library.median("waiting_share") for library in (qt, tbb)]
    stretches = [library.stretch for library in (qt, tbb)]
    ours = f"tasks of 400 kB on all CPUs: Qt waits {text.percent(waits[0])}, oneTBB {text.percent(waits[1])}"
    if stretches[0] is not None and stretches[1] is not None:
        ours += f"; a task takes {stretches[0]:.2f} and {stretches[1]:.2f} times what it takes alone"
    holds = None
    if waits[0] is not None and waits[1] is not None and stretches[0] is not None:
        waiting = within(QT_WAITS, waits[0]) and within(TBB_WAITS, waits[1])
        holds = waiting and stretches[0] > 1.5
    clocks = [library.clock_hertz for library in (qt, tbb)]
    if clocks[0] is None or clocks[1] is None:
        return ours, holds, "the clock is not judged: cycles are not counted here"
    ours += f"; their clocks are {clocks[0] / 1e9:.2f} and {clocks[1] / 1e9:.2f} GHz"
    lower = clocks[1] > CLOCK_DROPS * clocks[0]
    return ours, None if holds is None else holds and lower, ""


def _m6(cells: Sequence[CellRuns]) -> Shown:
    """The shortest tasks: what handing them out costs shows with two cores as well."""
    with_qt = [
        (cell.bytes, task_seconds, cell, qt)
        for cell in cells
        if (task_seconds := cell.task_seconds) is not None and (qt := cell.find(QT)) is not None
    ]
    _, task_seconds, cell, qt = min(with_qt, key=lambda each: each[0], default=(0, math.inf, None, None))
    if cell is None or qt is None or task_seconds > _SHORTEST_SECONDS:
        return unknown("needs Qt on tasks of about 1 µs")
    tbb = cell.find(TBB)
    parts = [f"Qt {_times(cell.speedup(qt) or 0.0)}, waiting {text.percent(qt.median('waiting_share'))}"]
    if tbb is not None:
        waits = text.percent(tbb.median("waiting_share"))
        parts.append(f"oneTBB {_times(cell.speedup(tbb) or 0.0)}, waiting {waits}")
    against = ratio(qt, cell.serial).verdict
    holds = True if against == verdicts.SLOWER else None
    note = "the effect is there where Qt is slower than the serial loop"
    if against in (verdicts.FASTER, verdicts.NO_DIFFERENCE):
        cpus = max(each.cpus for each in cells)
        note += f"; not seen on {text.count(cpus, 'CPU')}"
        if cpus < COLLAPSE_THREADS:  # there it need not show: its absence says nothing
            note += ", which refutes nothing"
        else:
            holds = False
    where = f"{cell.tasks} tasks of {text.seconds(task_seconds)} on {text.count(cell.cpus, 'thread')}"
    return f"{where}: {'; '.join(parts)}", holds, note
