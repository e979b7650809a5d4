"""The claims on short tasks (M1 to M6), on the simulated i9-7960X."""

from __future__ import annotations

from tautochrone.claims.verdict import Family, Knob, Verdict, percent, rows, sensitivity
from tautochrone.simulator import machines
from tautochrone.simulator.engine import Row
from tautochrone.simulator.machines import Machine

MACHINE = "i9-7960x"
TASKS = 50
SHORT, MIDDLE, LONG = 400_000, 1_000_000, 3_000_000
THREADS = tuple(range(1, 33))

TOLERANCE = {
    "M1": "steps at exactly those counts",
    "M2": "11.5 to 13; 21 to 25; within 5 % of each other",
    "M3": "shape",
    "M4": "maximum of Qt between 9 and 13 threads",
    "M5": "50 to 70 %; 20 to 40 %; clock feedback visible",
    "M6": "measured",
}
_verdict = Family(MACHINE, TOLERANCE).verdict
KNOBS = [
    Knob("costs.wake_sleeper_seconds", 5e-6, 50e-6),
    Knob("costs.wake_caller_seconds", 3.3e-6, 11.2e-6),
    Knob("governor.headroom", 1.0, 1.25),
    Knob("costs.deep_idle_after_seconds", 2e-4, 6e-4),
]


def _requests(runtime: str, size: int, threads: tuple[int, ...] = THREADS) -> list[dict[str, object]]:
    return [
        {"study": "mapreduce", "tasks": TASKS, "bytes": size, "threads": count, "runtime": runtime}
        for count in threads
    ]


def speedup(row: Row) -> float:
    """Against all tasks one after the other on one core."""
    return float(row["alone_seconds"]) / float(row["seconds"])


class Curves:
    """Rows by runtime and size, a row a number of threads."""

    def __init__(self, machine: Machine) -> None:
        places = [(runtime, size) for runtime in ("tbb", "qt") for size in (SHORT, MIDDLE, LONG)]
        found = rows(machine, [one for place in places for one in _requests(*place)])
        self._rows = {
            place: found[i * len(THREADS) : (i + 1) * len(THREADS)] for i, place in enumerate(places)
        }

    def row(self, runtime: str, size: int, threads: int) -> Row:
        """The row of so many threads."""
        return self._rows[(runtime, size)][threads - 1]

    def speedups(self, runtime: str, size: int) -> list[float]:
        """From one thread on."""
        return [speedup(row) for row in self._rows[(runtime, size)]]


def verdicts() -> list[Verdict]:
    """All six."""
    machine = machines.load(MACHINE)
    curves = Curves(machine)
    return [
        _m1(curves),
        _m2(machine, curves),
        _m3(curves),
        _m4(machine, curves),
        _m5(machine, curves),
        _m6(machine),
    ]


def _m1(curves: Curves) -> Verdict:
    found = curves.speedups("tbb", LONG)
    steps = sorted(range(16, 32), key=lambda i: found[i] / found[i - 1], reverse=True)[:2]
    at = sorted(index + 1 for index in steps)
    ours = f"the largest steps are at {at[0]} and {at[1]} threads"
    return _verdict("M1", ours, at == [17, 25])


def _apart(rows_of: dict[str, list[float]]) -> float:
    """How far the two libraries are from each other, at most."""
    return max(abs(1 - qt / tbb) for qt, tbb in zip(rows_of["qt"], rows_of["tbb"], strict=True))


def _m2(machine: Machine, curves: Curves) -> Verdict:
    both = {runtime: curves.speedups(runtime, LONG) for runtime in ("tbb", "qt")}
    apart = _apart({runtime: [found[15], found[31]] for runtime, found in both.items()})
    sixteen, every = both["tbb"][15], both["tbb"][31]
    ours = f"{sixteen:.1f}× on 16 threads, {every:.1f}× on 32; the two are within {100 * apart:.1f} %"
    near = 11.5 <= sixteen <= 13 and 21 <= every <= 25
    note = ""
    if near and apart > 0.05:

        def would(changed: Machine) -> bool:
            found = {
                runtime: [speedup(row) for row in rows(changed, _requests(runtime, LONG, (16, 32)))]
                for runtime in ("tbb", "qt")
            }
            return _apart(found) <= 0.05

        note = "only the distance is too large: " + sensitivity(machine, KNOBS, would)
    return _verdict("M2", ours, near and apart <= 0.05, note)


def _m3(curves: Curves) -> Verdict:
    tbb, qt = curves.speedups("tbb", MIDDLE), curves.speedups("qt", MIDDLE)
    better = tbb[31] / qt[31] - 1
    rises = qt[31] > qt[15] > qt[7]
    ours = (
        f"on 32 threads TBB is {percent(better)} faster; Qt goes from {qt[15]:.1f}× on 16 to "
        f"{qt[31]:.1f}× on 32"
    )
    return _verdict("M3", ours, better > 0.05 and rises)


def _peak(found: list[float]) -> int:
    return max(range(len(found)), key=lambda i: found[i]) + 1


def _m4(machine: Machine, curves: Curves) -> Verdict:
    qt = curves.speedups("qt", SHORT)
    peak = _peak(qt)
    holds = 9 <= peak <= 13
    ours = (
        f"Qt's maximum is {max(qt):.1f}× at {peak} threads, {qt[31]:.1f}× on 32; TBB reaches "
        f"{curves.speedups('tbb', SHORT)[31]:.1f}×"
    )
    note = ""
    if not holds:

        def would(changed: Machine) -> bool:
            return 9 <= _peak([speedup(row) for row in rows(changed, _requests("qt", SHORT))]) <= 13

        note = f"Qt does fall, but later: {sensitivity(machine, KNOBS, would)}; {_handed_over(machine)}"
    return _verdict("M4", ours, holds, note)


def _handed_over(machine: Machine) -> str:
    """What Qt 5's own mutex would do, which is used on all systems but Linux; the study names no system."""
    other = machines.change(machine, ["system.mutex_handover=true"])
    short = [speedup(row) for row in rows(other, _requests("qt", SHORT))]
    long = speedup(rows(other, _requests("qt", LONG, (32,)))[0])
    return (
        "with a mutex that hands itself over to a sleeper, as Qt 5's does on systems other than Linux, the "
        f"maximum is at {_peak(short)} threads, but 3 ms tasks reach {long:.1f}× on 32"
    )


def _m5(machine: Machine, curves: Curves) -> Verdict:
    def good(qt: Row, tbb: Row) -> bool:
        slower = tbb["mean_hertz"] / qt["mean_hertz"] - 1
        shares = 0.5 <= qt["waiting_share"] <= 0.7 and 0.2 <= tbb["waiting_share"] <= 0.4
        return bool(shares and slower > 0.1)

    qt, tbb = curves.row("qt", SHORT, 32), curves.row("tbb", SHORT, 32)
    holds = good(qt, tbb)
    ours = (
        f"on 32 threads Qt waits {percent(qt['waiting_share'])} of the time, TBB "
        f"{percent(tbb['waiting_share'])}; "
        f"Qt's clock is {qt['mean_hertz'] / 1e9:.2f} GHz against {tbb['mean_hertz'] / 1e9:.2f}"
    )
    note = ""
    if not holds:

        def would(changed: Machine) -> bool:
            return good(*(rows(changed, _requests(runtime, SHORT, (32,)))[0] for runtime in ("qt", "tbb")))

        note = "the clock's feedback is there; " + sensitivity(machine, KNOBS, would)
    return _verdict("M5", ours, holds, note)


def _m6(machine: Machine) -> Verdict:
    """Tasks of a microsecond, where the effect needs few cores: 5 cycles a byte at 4.6 GHz are 920 bytes."""
    few = (1, 2, 4)
    qt, tbb = (rows(machine, _requests(runtime, 920, few)) for runtime in ("qt", "tbb"))
    ours = (
        f"simulated, 50 tasks of 1 µs on 2 threads: Qt {speedup(qt[1]):.2f}×, waiting "
        f"{percent(qt[1]['waiting_share'])}; TBB {speedup(tbb[1]):.2f}×"
    )
    note = "asks for a measurement, which a simulation cannot be: tauto study mapreduce makes it here"
    return _verdict("M6", ours, None, note)
