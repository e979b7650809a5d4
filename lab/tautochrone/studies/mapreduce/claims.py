"""The published claims on map/reduce of short tasks (M1 to M6): what is claimed, and what is shown of it.

Each claim has two judges. The first judges this machine's rows. The published machine has 16 cores and 32
hardware threads: a claim that needs more threads than there are is called not measurable, with the number
that would be needed. It is never judged from fewer, nor called wrong where thread counts that would decide
it were left out. The second judges the simulated i9-7960X.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Sequence

from tautochrone import text, verdicts
from tautochrone.report.analysis import Claim
from tautochrone.results.runs import ratio
from tautochrone.simulator import machines
from tautochrone.simulator.engine import Row
from tautochrone.simulator.machines import Machine
from tautochrone.studies.claims import (
    Family,
    Knob,
    Shown,
    Statement,
    Verdict,
    percent,
    rows,
    sensitivity,
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
            "50 tasks: the speed-up steps from 16 to 17 threads (four tasks on some → three on all) and "
            "from 21 to 25 (three on some → at most two): ceil(50 / threads)",
            "steps at exactly those counts",
        ),
        "M2": Statement(
            "tasks of 3 ms: nearly linear, 12.7× on 16 threads and 23× on 32; Qt and oneTBB alike, within 5"
            " %",
            "11.5 to 13; 21 to 25; within 5 % of each other",
        ),
        "M3": Statement("tasks of 1 ms: oneTBB clearly better, Qt still rises", "shape"),
        "M4": Statement(
            "tasks of 0.4 ms: oneTBB good; Qt falls from 11 threads on",
            "maximum of Qt between 9 and 13 threads",
        ),
        "M5": Statement(
            "the cause is Qt's mutex: 60 % of the time spent waiting against 30 % for oneTBB; without load "
            "the clock drops, so that even the useful part takes twice as long",
            "50 to 70 %; 20 to 40 %; clock feedback visible",
        ),
        "M6": Statement(
            "the same sweep on what is there, down to tasks of 1 µs, where few cores show the effect",
            "measured",
        ),
    },
)

# The published figures, and how near is near.
_ALIKE = 0.05  # Qt and oneTBB; also what may change where the law does not
_ON_16, _ON_32 = (11.5, 13.0), (21.0, 25.0)
_QT_PEAK = (9, 13)
_QT_WAITS, _TBB_WAITS = (0.5, 0.7), (0.2, 0.4)

TASKS = 50
SHORT, MIDDLE, LONG = 400_000, 1_000_000, 3_000_000
_NEEDED = {"M1": 25, "M2": 16, "M3": 16, "M4": COLLAPSE_THREADS, "M5": COLLAPSE_THREADS}
_COLLAPSE_COUNTS = set(range(8, COLLAPSE_THREADS + 1))  # threads around the published maximum of 9 to 13
_SHORTEST_SECONDS = 2e-6  # tasks of about 1 µs
_QT, _TBB = "qt", "tbb"


def claims(cells: Sequence[CellRuns]) -> tuple[Claim, ...]:
    """What rows show of all claims, from the unmodified machine.

    A claim that needs more CPUs than there are stays open, whatever was seen.
    """
    plain = [cell for cell in cells if not cell.emulated]
    cpus = max((cell.cpus for cell in plain), default=0)
    found: list[Claim] = []
    for id, judge in zip(FAMILY.statements, (_m1, _m2, _m3, _m4, _m5, _m6), strict=True):
        ours, holds, note = judge(plain)
        needed = _NEEDED.get(id, 0)
        if cpus < needed:
            holds = None
            note = (
                f"not measurable with {text.count(cpus, 'CPU')}, it needs {needed}: neither shown nor "
                "refuted; simulated: not here"
            )
        found.append(FAMILY.measured(id, ours, holds, note))
    return tuple(found)


def simulated(wanted: Collection[str]) -> list[Verdict]:
    judges = (_m1_simulated, _m2_simulated, _m3_simulated, _m4_simulated, _m5_simulated, _m6_simulated)
    return FAMILY.verdicts(wanted, judges, Curves(machines.load(MACHINE)))


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
    if cell is None or not (_curve(cell, _QT) and _curve(cell, _TBB)):
        return None
    qt, tbb = cell.find(_QT), cell.find(_TBB)
    return (cell, qt, tbb) if qt is not None and tbb is not None else None


def _side_by_side(found: tuple[CellRuns, Contender, Contender]) -> str:
    cell, qt, tbb = found
    threads = text.count(cell.cpus, "thread")
    return f"Qt {_times(cell.speedup(qt) or 0.0)}, oneTBB {_times(cell.speedup(tbb) or 0.0)} on {threads}"


def _needs(size: int) -> str:
    return f"needs Qt and oneTBB on 50 tasks of {size // 1000} kB"


# -- of the simulated machine --

THREADS = tuple(range(1, 33))
KNOBS = [
    Knob("costs.wake_sleeper_seconds", 5e-6, 50e-6),
    Knob("costs.wake_caller_seconds", 3.3e-6, 11.2e-6),
    Knob("governor.headroom", 1.0, 1.25),
    Knob("costs.deep_idle_after_seconds", 2e-4, 6e-4),
]


def _requests(runtime: str, size: int, threads: Sequence[int] = THREADS) -> list[dict[str, object]]:
    return [
        {"study": "mapreduce", "tasks": TASKS, "bytes": size, "threads": count, "runtime": runtime}
        for count in threads
    ]


def _speedup(row: Row) -> float:
    """Against all tasks one after the other on one core."""
    return float(row["alone_seconds"]) / float(row["seconds"])


def _speedups(machine: Machine, runtime: str, size: int, threads: Sequence[int] = THREADS) -> list[float]:
    return [_speedup(row) for row in rows(machine, _requests(runtime, size, threads))]


class Curves:
    """Rows by runtime and size, a row a number of threads; simulated when they are first asked for."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self._rows: dict[tuple[str, int], list[Row]] = {}

    def rows(self, runtime: str, size: int) -> list[Row]:
        """From one thread on."""
        if (runtime, size) not in self._rows:
            self._rows[runtime, size] = rows(self.machine, _requests(runtime, size))
        return self._rows[runtime, size]

    def row(self, runtime: str, size: int, threads: int) -> Row:
        """The row of that many threads."""
        return self.rows(runtime, size)[threads - 1]

    def speedups(self, runtime: str, size: int) -> list[float]:
        """From one thread on."""
        return [_speedup(row) for row in self.rows(runtime, size)]


def _or_what_would(curves: Curves, holds: bool, judge: Callable[[Machine], bool], before: str) -> str:
    """Nothing of a claim that holds; of another which parameter would make it hold."""
    return "" if holds else before + sensitivity(curves.machine, KNOBS, judge)


def _m1(cells: Sequence[CellRuns]) -> Shown:
    """The law is judged on the longest tasks, where nothing else costs."""
    of_fifty = [cell for cell in cells if cell.tasks == TASKS]
    cell = max(of_fifty, key=lambda cell: cell.bytes, default=None)
    curve = _curve(cell, _TBB) or _curve(cell, _QT) if cell is not None else {}
    if cell is None or not curve:
        return unknown("needs 50 tasks with oneTBB or Qt")
    widest = max(curve)
    seen = f"{_times(curve[widest])} on {text.count(widest, 'thread')}, the law allows"
    ours = f"tasks of {cell.length}: {seen} {_times(cell.ideal_speedup(widest))}"
    holds = _steps(curve, cell, 16, 17) and _steps(curve, cell, 24, 25) if widest >= _NEEDED["M1"] else None
    return ours, holds, ""


def _steps(curve: dict[int, float], cell: CellRuns, before: int, after: int) -> bool | None:
    """At least half of the predicted rise between two counts, and next to none just before them."""
    if not {before - 1, before, after} <= curve.keys():
        return None
    law = math.ceil(cell.tasks / before) / math.ceil(cell.tasks / after)
    rises = curve[after] / curve[before] >= 1 + (law - 1) / 2
    return rises and abs(curve[before] / curve[before - 1] - 1) <= _ALIKE


def _m1_simulated(curves: Curves) -> Shown:
    speedups = curves.speedups(_TBB, LONG)
    steps = sorted(range(16, 32), key=lambda i: speedups[i] / speedups[i - 1], reverse=True)[:2]
    at = sorted(index + 1 for index in steps)
    return f"the largest steps are at {at[0]} and {at[1]} threads", at == [17, 25], ""


def _m2(cells: Sequence[CellRuns]) -> Shown:
    found = _both(cells, LONG)
    if found is None:
        return unknown(_needs(LONG))
    cell, qt, tbb = found
    between = ratio(qt, tbb)
    alike = between.value is not None and abs(between.value - 1) <= _ALIKE
    at_16 = [_curve(cell, peer).get(16) for peer in (_QT, _TBB)]
    holds = None
    if None not in at_16:
        holds = alike and all(within(_ON_16, speedup or 0.0) for speedup in at_16)
    return f"{_side_by_side(found)}; {'alike' if alike else 'not alike'} within 5 %", holds, ""


def _apart(qt: Sequence[float], tbb: Sequence[float]) -> float:
    """How far the two libraries are from each other, at most."""
    return max(abs(1 - mine / other) for mine, other in zip(qt, tbb, strict=True))


def _m2_simulated(curves: Curves) -> Shown:
    def alike(changed: Machine) -> bool:
        qt, tbb = (_speedups(changed, runtime, LONG, (16, 32)) for runtime in (_QT, _TBB))
        return _apart(qt, tbb) <= _ALIKE

    qt, tbb = ([curves.speedups(runtime, LONG)[count - 1] for count in (16, 32)] for runtime in (_QT, _TBB))
    apart = _apart(qt, tbb)
    ours = f"{tbb[0]:.1f}× on 16 threads, {tbb[1]:.1f}× on 32; the two are within {100 * apart:.1f} %"
    near = within(_ON_16, tbb[0]) and within(_ON_32, tbb[1])
    note = _or_what_would(curves, not near or apart <= _ALIKE, alike, "only the distance is too large: ")
    return ours, near and apart <= _ALIKE, note


def _m3(cells: Sequence[CellRuns]) -> Shown:
    found = _both(cells, MIDDLE)
    if found is None:
        return unknown(_needs(MIDDLE))
    cell, qt, tbb = found
    curve = _curve(cell, _QT)
    rises = curve[max(curve)] >= max(curve.values()) * (1 - _ALIKE)
    better = ratio(tbb, qt).verdict == verdicts.FASTER
    ours = f"{_side_by_side(found)}; Qt {'still rises' if rises else 'has fallen from its best'}"
    return ours, better and rises, ""


def _m3_simulated(curves: Curves) -> Shown:
    tbb, qt = curves.speedups(_TBB, MIDDLE), curves.speedups(_QT, MIDDLE)
    better = tbb[31] / qt[31] - 1
    rises = qt[31] > qt[15] > qt[7]
    ours = (
        f"on 32 threads TBB is {percent(better)} faster; Qt goes from {qt[15]:.1f}× on 16 to "
        f"{qt[31]:.1f}× on 32"
    )
    return ours, better > _ALIKE and rises, ""


def _m4(cells: Sequence[CellRuns]) -> Shown:
    found = _both(cells, SHORT)
    if found is None:
        return unknown(_needs(SHORT))
    curve = _curve(found[0], _QT)
    best = max(curve, key=lambda count: curve[count])
    ours = f"{_side_by_side(found)}; Qt is fastest on {best} of up to {max(curve)} threads"
    return ours, within(_QT_PEAK, best) if curve.keys() >= _COLLAPSE_COUNTS else None, ""


def _peak(speedups: Sequence[float]) -> int:
    """The number of threads with the largest speed-up."""
    return max(range(len(speedups)), key=lambda i: speedups[i]) + 1


def _peaks_as_published(machine: Machine) -> bool:
    """All counts are simulated only where a few of them leave it open."""
    few = (*range(_QT_PEAK[0], _QT_PEAK[1] + 1), 16, 24, 32)
    fastest = few[_peak(_speedups(machine, _QT, SHORT, few)) - 1]
    return within(_QT_PEAK, fastest) and within(_QT_PEAK, _peak(_speedups(machine, _QT, SHORT)))


def _m4_simulated(curves: Curves) -> Shown:
    qt = curves.speedups(_QT, SHORT)
    ours = (
        f"Qt's maximum is {max(qt):.1f}× at {_peak(qt)} threads, {qt[31]:.1f}× on 32; TBB reaches "
        f"{curves.speedups(_TBB, SHORT)[31]:.1f}×"
    )
    holds = within(_QT_PEAK, _peak(qt))
    would = _or_what_would(curves, holds, _peaks_as_published, "")
    note = "" if holds else f"Qt does fall, but later: {would}; {_handed_over(curves.machine)}"
    return ours, holds, note


def _handed_over(machine: Machine) -> str:
    """What Qt 5's own mutex would do, which is used on all systems but Linux; the study names no system."""
    other = machines.change(machine, ["system.mutex_handover=true"])
    (long,) = _speedups(other, _QT, LONG, (32,))
    return (
        "with a mutex that hands itself over to a sleeper, as Qt 5's does on systems other than Linux, the "
        f"maximum is at {_peak(_speedups(other, _QT, SHORT))} threads, but 3 ms tasks reach {long:.1f}× on 32"
    )


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
        waiting = within(_QT_WAITS, waits[0]) and within(_TBB_WAITS, waits[1])
        holds = waiting and stretches[0] > 1.5
    return ours, holds, ""


def _waits_as_published(qt: Row, tbb: Row) -> bool:
    slower = tbb["mean_hertz"] / qt["mean_hertz"] - 1
    shares = within(_QT_WAITS, qt["waiting_share"]) and within(_TBB_WAITS, tbb["waiting_share"])
    return bool(shares and slower > 0.1)


def _m5_simulated(curves: Curves) -> Shown:
    def would(changed: Machine) -> bool:
        qt, tbb = (rows(changed, _requests(runtime, SHORT, (32,)))[0] for runtime in (_QT, _TBB))
        return _waits_as_published(qt, tbb)

    qt, tbb = curves.row(_QT, SHORT, 32), curves.row(_TBB, SHORT, 32)
    holds = _waits_as_published(qt, tbb)
    ours = (
        f"on 32 threads Qt waits {percent(qt['waiting_share'])} of the time, TBB "
        f"{percent(tbb['waiting_share'])}; "
        f"Qt's clock is {qt['mean_hertz'] / 1e9:.2f} GHz against {tbb['mean_hertz'] / 1e9:.2f}"
    )
    note = _or_what_would(curves, holds, would, "the clock's feedback is there; ")
    return ours, holds, note


def _m6(cells: Sequence[CellRuns]) -> Shown:
    """The shortest tasks: what handing them out costs shows with two cores as well."""
    with_qt = [
        (cell.bytes, task_seconds, cell, qt)
        for cell in cells
        if (task_seconds := cell.task_seconds) is not None and (qt := cell.find(_QT)) is not None
    ]
    _, task_seconds, cell, qt = min(with_qt, key=lambda each: each[0], default=(0, math.inf, None, None))
    if cell is None or qt is None or task_seconds > _SHORTEST_SECONDS:
        return unknown("needs Qt on tasks of about 1 µs")
    tbb = cell.find(_TBB)
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


def _m6_simulated(curves: Curves) -> Shown:
    """Tasks of a microsecond, where the effect needs few cores: 5 cycles a byte at 4.6 GHz are 920 bytes."""
    qt, tbb = (rows(curves.machine, _requests(runtime, 920, (2,)))[0] for runtime in (_QT, _TBB))
    ours = (
        f"simulated, 50 tasks of 1 µs on 2 threads: Qt {_speedup(qt):.2f}×, waiting "
        f"{percent(qt['waiting_share'])}; TBB {_speedup(tbb):.2f}×"
    )
    note = "asks for a measurement, which a simulation cannot be: tauto study mapreduce makes it here"
    return ours, None, note
