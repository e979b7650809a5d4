"""The published claims on map/reduce of short tasks, each beside what this machine shows of it.

The published machine has 16 cores and 32 hardware threads. What needs more threads than there are is called
not measurable, with the number that would be needed; it is never judged from fewer. Nor is it called wrong
where thread counts that would decide it were left out.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from tautochrone import statistics
from tautochrone.published import PUBLISHED
from tautochrone.report import text
from tautochrone.report.analysis_types import Claim
from tautochrone.studies.contenders import ratio
from tautochrone.studies.mapreduce.cells import CellRuns, Contender
from tautochrone.studies.mapreduce.sentences import COLLAPSE_THREADS

_NEEDED = {"M1": 25, "M2": 16, "M3": 16, "M4": COLLAPSE_THREADS, "M5": COLLAPSE_THREADS}
_PUBLISHED_TASKS = 50
_LONG, _MIDDLE, _SHORT = 3_000_000, 1_000_000, 400_000
_COLLAPSE_COUNTS = set(range(8, COLLAPSE_THREADS + 1))  # threads around the published maximum of 9 to 13
_SHORTEST_SECONDS = 2e-6  # tasks of about 1 µs
_FLAT = 0.05  # what may change where the law does not
_QT, _TBB = "qt", "tbb"


def claims(cells: Sequence[CellRuns]) -> tuple[Claim, ...]:
    """All claims of the study, from the machine as it is."""
    plain = [cell for cell in cells if not cell.emulated]
    cpus = max((cell.cpus for cell in plain), default=0)
    judges: dict[str, Callable[[Sequence[CellRuns], int], Claim]] = {
        "M1": _m1,
        "M2": _m2,
        "M3": _m3,
        "M4": _m4,
        "M5": _m5,
        "M6": _m6,
    }
    return tuple(judge(plain, cpus) for judge in judges.values())


def _claim(id: str, cpus: int, ours: str, holds: bool | None, note: str = "") -> Claim:
    """A claim that needs more CPUs than there are stays open, whatever was seen."""
    needed = _NEEDED.get(id, 0)
    if cpus < needed:
        open_note = (
            f"not measurable with {text.count(cpus, 'CPU')}, it needs {needed}: neither shown nor refuted; "
            "simulated: not here"
        )
        return Claim(id=id, published=PUBLISHED[id], ours=ours, holds=None, note=open_note)
    return Claim(id=id, published=PUBLISHED[id], ours=ours, holds=holds, note=note)


def _missing(id: str, cpus: int, what: str) -> Claim:
    return _claim(id, cpus, "not measured here", None, what)


def _cell(cells: Sequence[CellRuns], size: int) -> CellRuns | None:
    """50 tasks of that many bytes."""
    return next((cell for cell in cells if (cell.tasks, cell.bytes) == (_PUBLISHED_TASKS, size)), None)


def _curve(cell: CellRuns, peer: str) -> dict[int, float]:
    """Threads → speed-up of a runtime with no settings, up to one thread on each CPU."""
    found: dict[int, float] = {}
    for one in cell.contenders:
        speedup = (
            cell.speedup(one) if one.peer == peer and one.is_default and one.threads <= cell.cpus else None
        )
        if speedup is not None:
            found[one.threads] = speedup
    return dict(sorted(found.items()))


def _percent(share: float | None) -> str:
    return text.percent(share)


def _times(speedup: float) -> str:
    return f"{text.significant(speedup)}×"


def _m1(cells: Sequence[CellRuns], cpus: int) -> Claim:
    """The law is judged on the longest tasks, where nothing else costs."""
    of_fifty = [cell for cell in cells if cell.tasks == _PUBLISHED_TASKS]
    cell = max(of_fifty, key=lambda one: one.bytes, default=None)
    curve = _curve(cell, _TBB) or _curve(cell, _QT) if cell is not None else {}
    if cell is None or not curve:
        return _missing("M1", cpus, "needs 50 tasks with oneTBB or Qt")
    widest = max(curve)
    seen = f"{_times(curve[widest])} on {text.count(widest, 'thread')}, the law allows"
    ours = f"tasks of {cell.length}: {seen} {_times(cell.ideal_speedup(widest))}"
    holds = _steps(curve, cell, 16, 17) and _steps(curve, cell, 24, 25) if widest >= _NEEDED["M1"] else None
    return _claim("M1", cpus, ours, holds)


def _steps(curve: dict[int, float], cell: CellRuns, before: int, after: int) -> bool | None:
    """At least half of the predicted rise between two counts, and next to none just before them."""
    if not {before - 1, before, after} <= curve.keys():
        return None
    law = math.ceil(cell.tasks / before) / math.ceil(cell.tasks / after)
    rises = curve[after] / curve[before] >= 1 + (law - 1) / 2
    return rises and abs(curve[before] / curve[before - 1] - 1) <= _FLAT


def _both(cells: Sequence[CellRuns], size: int) -> tuple[CellRuns, Contender, Contender] | None:
    """Qt and oneTBB with no settings on all CPUs, on 50 tasks of that many bytes."""
    cell = _cell(cells, size)
    qt, tbb = (cell.find(_QT), cell.find(_TBB)) if cell is not None else (None, None)
    return (cell, qt, tbb) if cell is not None and qt is not None and tbb is not None else None


def _side_by_side(found: tuple[CellRuns, Contender, Contender]) -> str:
    cell, qt, tbb = found
    threads = text.count(cell.cpus, "thread")
    return f"Qt {_times(cell.speedup(qt) or 0.0)}, oneTBB {_times(cell.speedup(tbb) or 0.0)} on {threads}"


def _needs(size: int) -> str:
    return f"needs Qt and oneTBB on 50 tasks of {size // 1000} kB"


def _m2(cells: Sequence[CellRuns], cpus: int) -> Claim:
    found = _both(cells, _LONG)
    if found is None:
        return _missing("M2", cpus, _needs(_LONG))
    cell, qt, tbb = found
    between = ratio(qt, tbb)
    alike = between.value is not None and abs(between.value - 1) <= _FLAT
    at_16 = [_curve(cell, peer).get(16) for peer in (_QT, _TBB)]
    holds = None
    if None not in at_16:
        holds = alike and all(11.5 <= (speedup or 0.0) <= 13 for speedup in at_16)
    return _claim(
        "M2", cpus, f"{_side_by_side(found)}; {'alike' if alike else 'not alike'} within 5 %", holds
    )


def _m3(cells: Sequence[CellRuns], cpus: int) -> Claim:
    found = _both(cells, _MIDDLE)
    if found is None:
        return _missing("M3", cpus, _needs(_MIDDLE))
    cell, qt, tbb = found
    curve = _curve(cell, _QT)
    rises = curve[max(curve)] >= max(curve.values()) * (1 - _FLAT)
    better = ratio(tbb, qt).verdict == statistics.FASTER
    ours = f"{_side_by_side(found)}; Qt {'still rises' if rises else 'has fallen from its best'}"
    return _claim("M3", cpus, ours, better and rises)


def _m4(cells: Sequence[CellRuns], cpus: int) -> Claim:
    found = _both(cells, _SHORT)
    if found is None:
        return _missing("M4", cpus, _needs(_SHORT))
    curve = _curve(found[0], _QT)
    best = max(curve, key=lambda count: curve[count])
    ours = f"{_side_by_side(found)}; Qt is fastest on {best} of up to {max(curve)} threads"
    judged = curve.keys() >= _COLLAPSE_COUNTS
    return _claim("M4", cpus, ours, 9 <= best <= 13 if judged else None)


def _m5(cells: Sequence[CellRuns], cpus: int) -> Claim:
    found = _both(cells, _SHORT)
    if found is None:
        return _missing("M5", cpus, _needs(_SHORT))
    _, qt, tbb = found
    waits = [one.median("waiting_share") for one in (qt, tbb)]
    stretches = [one.stretch for one in (qt, tbb)]
    ours = f"tasks of 400 kB on all CPUs: Qt waits {_percent(waits[0])}, oneTBB {_percent(waits[1])}"
    if stretches[0] is not None and stretches[1] is not None:
        ours += f"; a task takes {stretches[0]:.2f} and {stretches[1]:.2f} times what it takes alone"
    holds = None
    if waits[0] is not None and waits[1] is not None and stretches[0] is not None:
        holds = 0.5 <= waits[0] <= 0.7 and 0.2 <= waits[1] <= 0.4 and stretches[0] > 1.5
    return _claim("M5", cpus, ours, holds)


def _m6(cells: Sequence[CellRuns], cpus: int) -> Claim:
    """The shortest tasks: what handing them out costs shows with two cores as well."""
    measured = [cell for cell in cells if cell.task_seconds is not None and cell.find(_QT) is not None]
    cell = min(measured, key=lambda one: one.bytes, default=None)
    if cell is None or (cell.task_seconds or 1.0) > _SHORTEST_SECONDS:
        return _missing("M6", cpus, "needs Qt on tasks of about 1 µs")
    qt, tbb = cell.find(_QT), cell.find(_TBB)
    assert qt is not None
    seconds = text.seconds(cell.task_seconds)
    parts = [f"Qt {_times(cell.speedup(qt) or 0.0)}, waiting {_percent(qt.median('waiting_share'))}"]
    if tbb is not None:
        waits = _percent(tbb.median("waiting_share"))
        parts.append(f"oneTBB {_times(cell.speedup(tbb) or 0.0)}, waiting {waits}")
    against = ratio(qt, cell.serial)
    note = "the effect is there where Qt is slower than the serial loop"
    holds = None
    if against.verdict == statistics.SLOWER:
        holds = True
    elif against.verdict != statistics.NOT_MEASURED:
        # On few cores it need not show: there its absence says nothing.
        holds = None if cpus < COLLAPSE_THREADS else False
        note += f"; not seen on {text.count(cpus, 'CPU')}" + (
            "" if holds is False else ", which refutes nothing"
        )
    where = f"{cell.tasks} tasks of {seconds} on {text.count(cell.cpus, 'thread')}"
    return _claim("M6", cpus, f"{where}: {'; '.join(parts)}", holds, note)
