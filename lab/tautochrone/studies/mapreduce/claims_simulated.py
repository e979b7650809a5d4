"""The published claims on map/reduce of short tasks (M1 to M6) as the simulated i9-7960X shows them."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Sequence

from tautochrone.simulator import machines
from tautochrone.simulator.engine import Row
from tautochrone.simulator.machines import Machine
from tautochrone.studies import short_runs
from tautochrone.studies.claims import Finding, Knob, Verdict, percent, rows, sensitivity, within
from tautochrone.studies.mapreduce import claims, ran

THREADS = tuple(range(1, 33))
_MUTEX = (
    "that Qt's mutex hands itself over to a sleeper, as Qt 5's does except on Linux; the study names no "
    "system"
)
KNOBS = [
    Knob("costs.wake_sleeper_seconds", 5e-6, 50e-6),
    Knob("costs.wake_caller_seconds", 3.3e-6, 11.2e-6),
    Knob("governor.headroom", 1.0, 1.25),
    Knob("costs.deep_idle_after_seconds", 2e-4, 6e-4),
]


def simulated(wanted: Collection[str]) -> list[Verdict]:
    return claims.FAMILY.verdicts(wanted, _JUDGES, Curves(machines.load(claims.MACHINE)))


def _requests(runtime: str, size: int, threads: Sequence[int] = THREADS) -> list[dict[str, object]]:
    return [
        {"study": "mapreduce", "tasks": claims.TASKS, "bytes": size, "threads": count, "runtime": runtime}
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


def _what_changes(curves: Curves, holds: bool, judge: Callable[[Machine], bool]) -> str:
    """Which parameter would change the verdict."""
    return sensitivity(curves.machine, KNOBS, judge, holds)


def _largest_steps(speedups: Sequence[float]) -> list[int]:
    """The two counts above 16 at which the speed-up rises most over that of one thread less."""
    steps = sorted(range(16, 32), key=lambda i: speedups[i] / speedups[i - 1], reverse=True)[:2]
    return sorted(index + 1 for index in steps)


def _m1_simulated(curves: Curves) -> Finding:
    at = {
        runtime: _largest_steps(curves.speedups(runtime, claims.LONG)) for runtime in (claims.TBB, claims.QT)
    }
    ours = "; ".join(f"{name}: the largest steps are at {a} and {b} threads" for name, (a, b) in at.items())
    given = "that a task cannot be divided: ceil(50 / threads)"
    return Finding(ours, all(steps == [17, 25] for steps in at.values()), given=given)


def _apart(qt: Sequence[float], tbb: Sequence[float]) -> float:
    """How far the two libraries are from each other, at most."""
    return max(abs(1 - mine / other) for mine, other in zip(qt, tbb, strict=True))


def _nearly_linear(qt: Sequence[float], tbb: Sequence[float]) -> bool:
    """On 16 and on 32 threads."""
    ranges = all(within(claims.ON_16, on_16) and within(claims.ON_32, on_32) for on_16, on_32 in (qt, tbb))
    return ranges and _apart(qt, tbb) <= claims.ALIKE


def _m2_simulated(curves: Curves) -> Finding:
    def judge(changed: Machine) -> bool:
        qt, tbb = (_speedups(changed, runtime, claims.LONG, (16, 32)) for runtime in (claims.QT, claims.TBB))
        return _nearly_linear(qt, tbb)

    qt, tbb = (
        [curves.speedups(runtime, claims.LONG)[count - 1] for count in (16, 32)]
        for runtime in (claims.QT, claims.TBB)
    )
    holds = _nearly_linear(qt, tbb)
    ours = (
        f"TBB {tbb[0]:.1f}× on 16 threads and {tbb[1]:.1f}× on 32, Qt {qt[0]:.1f}× and {qt[1]:.1f}×; "
        f"the two are within {100 * _apart(qt, tbb):.1f} %"
    )
    given = "that two threads of a core hash 1.96 times as fast as one"
    note = "" if holds else f"threads that start together wait for each other; {_free_mutex(curves.machine)}"
    return Finding(ours, holds, note, given, _what_changes(curves, holds, judge))


def _free_mutex(machine: Machine) -> str:
    """What Qt 5's mutex of Linux would change: it is free as soon as it is unlocked."""
    free = Curves(machines.change(machine, ["system.mutex_handover=false"]))
    (long,) = _speedups(free.machine, claims.QT, claims.LONG, (32,))
    short = free.speedups(claims.QT, claims.SHORT)
    waits = free.row(claims.QT, claims.SHORT, 32)["waiting_share"]
    return (
        "with Qt 5's mutex of Linux, which is free as soon as it is unlocked, tasks of 3 ms reach "
        f"{long:.1f}× on 32 threads; those of 0.4 ms are fastest on {_peak(short)}, and on 32 threads wait "
        f"{percent(waits)} of the time"
    )


def _clearly_better(qt: Sequence[float], tbb: Sequence[float]) -> bool:
    return tbb[-1] / qt[-1] - 1 >= claims.CLEARLY and _peak(qt) > 16


def _m3_simulated(curves: Curves) -> Finding:
    def judge(changed: Machine) -> bool:
        qt = _speedups(changed, claims.QT, claims.MIDDLE)
        return _clearly_better(qt, _speedups(changed, claims.TBB, claims.MIDDLE, (32,)))

    tbb, qt = curves.speedups(claims.TBB, claims.MIDDLE), curves.speedups(claims.QT, claims.MIDDLE)
    holds = _clearly_better(qt, tbb)
    ours = (
        f"on 32 threads TBB is {percent(tbb[31] / qt[31] - 1)} faster; Qt is fastest on {_peak(qt)} threads "
        f"({max(qt):.1f}×)"
    )
    note = "" if holds else _free_mutex(curves.machine)
    return Finding(ours, holds, note, _MUTEX, _what_changes(curves, holds, judge))


def _peak(speedups: Sequence[float]) -> int:
    """The number of threads with the largest speed-up."""
    return max(range(len(speedups)), key=lambda i: speedups[i]) + 1


def _peaks_as_published(machine: Machine) -> bool:
    """All counts are simulated only where a few of them leave it open."""
    few = (*range(claims.QT_PEAK[0], claims.QT_PEAK[1] + 1), 16, 24, 32)
    fastest = few[_peak(_speedups(machine, claims.QT, claims.SHORT, few)) - 1]
    curves = Curves(machine)
    return within(claims.QT_PEAK, fastest) and _falls_as_published(curves)


def _waits_by_law(threads: int) -> float:
    """The share of the time that threads wait because tasks cannot be divided."""
    return 1 - claims.TASKS / (math.ceil(claims.TASKS / threads) * threads)


def _falls_as_published(curves: Curves) -> bool:
    tbb = curves.row(claims.TBB, claims.SHORT, 32)["waiting_share"]
    good = (
        _peak(curves.speedups(claims.TBB, claims.SHORT)) > 16
        and tbb > _waits_by_law(32) + claims.OWN_OVERHEAD
    )
    return within(claims.QT_PEAK, _peak(curves.speedups(claims.QT, claims.SHORT))) and good


def _m4_simulated(curves: Curves) -> Finding:
    qt, tbb = curves.speedups(claims.QT, claims.SHORT), curves.speedups(claims.TBB, claims.SHORT)
    waits = curves.row(claims.TBB, claims.SHORT, 32)["waiting_share"]
    ours = (
        f"Qt's maximum is {max(qt):.1f}× at {_peak(qt)} threads, {qt[31]:.1f}× on 32; TBB reaches "
        f"{tbb[31]:.1f}× and waits {percent(waits)}, of which the law of whole tasks makes "
        f"{percent(_waits_by_law(32))}"
    )
    holds = _falls_as_published(curves)
    note = "" if holds else _free_mutex(curves.machine)
    return Finding(ours, holds, note, _MUTEX, _what_changes(curves, holds, _peaks_as_published))


def _waits_as_published(qt: Row, tbb: Row) -> bool:
    slower = tbb["mean_hertz"] > claims.CLOCK_DROPS * qt["mean_hertz"]
    shares = within(claims.QT_WAITS, qt["waiting_share"]) and within(claims.TBB_WAITS, tbb["waiting_share"])
    return bool(shares and slower)


def _m5_simulated(curves: Curves) -> Finding:
    def judge(changed: Machine) -> bool:
        return _waits_as_published(*_on_all_threads(changed))

    qt, tbb = curves.row(claims.QT, claims.SHORT, 32), curves.row(claims.TBB, claims.SHORT, 32)
    holds = _waits_as_published(qt, tbb)
    ours = (
        f"on 32 threads Qt waits {percent(qt['waiting_share'])} of the time, TBB "
        f"{percent(tbb['waiting_share'])} (the law of whole tasks alone: {percent(_waits_by_law(32))}); "
        f"Qt's clock is {qt['mean_hertz'] / 1e9:.2f} GHz against {tbb['mean_hertz'] / 1e9:.2f}"
    )
    note = "" if holds else _free_mutex(curves.machine)
    return Finding(ours, holds, note, _MUTEX, _what_changes(curves, holds, judge))


def _on_all_threads(machine: Machine) -> tuple[Row, Row]:
    """Of Qt and of oneTBB, with the shortest tasks."""
    qt, tbb = (rows(machine, _requests(name, claims.SHORT, (32,)))[0] for name in (claims.QT, claims.TBB))
    return qt, tbb


def _m6_simulated(curves: Curves) -> Finding:
    """Tasks of a microsecond, where the effect needs few cores: 5 cycles a byte at 4.6 GHz are 920 bytes."""
    qt, tbb = (rows(curves.machine, _requests(runtime, 920, (2,)))[0] for runtime in (claims.QT, claims.TBB))
    ours = (
        f"simulated, 50 tasks of 1 µs on 2 threads: Qt {_speedup(qt):.2f}×, waiting "
        f"{percent(qt['waiting_share'])}; TBB {_speedup(tbb):.2f}×"
    )
    found = ran.of_a_microsecond(claims.TASKS)
    if found is None:
        note = "the runner of Qt or the serial one is not here: tauto study mapreduce decides it"
        return Finding(ours, None, note)
    note = "" if found[1] is not None else "not resolved beside other programs, or no task of 1 µs"
    return Finding(found[0], found[1], "; ".join(filter(None, [note, ours])), source=short_runs.SOURCE)


_JUDGES: dict[str, Callable[[Curves], Finding]] = {
    "M1": _m1_simulated,
    "M2": _m2_simulated,
    "M3": _m3_simulated,
    "M4": _m4_simulated,
    "M5": _m5_simulated,
    "M6": _m6_simulated,
}
