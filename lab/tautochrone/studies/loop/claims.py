"""The published claims on loops on unequal cores (H1 to H12): what is claimed, and what is shown of it.

Each claim has two judges. The first judges this machine's rows: the published machine has 8 fast and 16 slow
cores, and another machine can agree with the shape of a claim but cannot confirm its figures, so ``holds`` is
None wherever the claim is about that machine. The second judges the simulated i9-14900K.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import NamedTuple

from tautochrone import verdicts
from tautochrone.report.analysis import Claim
from tautochrone.results.runs import ratio
from tautochrone.results.states import by_state, state_words
from tautochrone.simulator import machines
from tautochrone.simulator.engine import Row
from tautochrone.simulator.machines import Machine
from tautochrone.studies import models
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
from tautochrone.studies.loop.cells import CellRuns, Contender

MACHINE = "i9-14900k"
FAMILY = Family(
    MACHINE,
    {
        "H1": Statement(
            "three ways to run it: equal shares over all cores, over the fast cores only, dynamic over all",
            "all three run, and the slow cores alone",
        ),
        "H2": Statement(
            "up to about n = 2000 the fast cores alone with equal shares are fastest",
            "crossing from n = 1500 to 3000",
        ),
        "H3": Statement(
            "above that dynamic over all cores is fastest, by up to 30 %", "25 to 35 % at the best n"
        ),
        "H4": Statement(
            "the bound S = T_seq (T_P + T_E) / (T_P T_E) is reached at some sizes, within 3 %",
            "within 3 % somewhere",
        ),
        "H5": Statement(
            "chunk 2 is at least 5 % faster than chunk 1 where dequeuing costs; larger chunks add within 3 %",
            "chunk 2 at least 5 % better where chunk 1 is bound by dequeues; 4 to 16 within 3 % of 2",
        ),
        "H6": Statement(
            "with chunk 2 the bound is exceeded between n = 3000 and 5000, nowhere above 6000",
            "exceeded somewhere in 3000 to 5000, nowhere above 6000",
        ),
        "H7": Statement(
            "the fast cores' miss ratio alone is lower everywhere except from n = 3000 to 5000", "shape"
        ),
        "H8": Statement(
            "at large n memory rules: dynamic over all and the fast cores alone are nearly equal, 8 to 18 %"
            " faster than equal shares over all",
            "8 to 18 %",
        ),
        "H9": Statement(
            "at large n dynamic on the fast cores is 1 to 5 % faster than equal shares there", "1 to 5 %"
        ),
        "H10": Statement("one fast core is worth 3.3 to 4.5 slow ones", "3.3 to 4.5"),
        "H11": Statement(
            "equal shares over all lose to the fast cores alone once s_P/s_E > 1 + E/P",
            "shape, and the inequality shown",
        ),
        "H12": Statement(
            "say how many cores of which kind ran, the memory's share, and compare with a BLAS",
            "in every report",
        ),
    },
)

# The published ranges, both ends in them, and what a machine can show of them.
_CROSSING_SIZES = (1500, 3000)
_BEST_GAIN = (0.25, 0.35)
_NEAR_BOUND = 0.03
_CHUNK_2_GAIN, _LONGER_CHUNKS = 0.05, 0.03
_PASSED_SIZES, _PASSED_NOWHERE_ABOVE = (3000, 5000), 6000
_PASSED_BY = 0.99  # of the bound's time
_LARGE_GAIN = (0.08, 0.18)
_TURBO_GAIN = (0.01, 0.05)
_WORTH = (3.3, 4.5)
_TOO_CLOSE = 0.1  # of the threshold: there a fork decides, not the inequality
_NO_UNEQUAL = "all cores are alike here: measure with --emulate 1:4, or on a machine with two kinds of cores"
_NEEDS_MACHINE = "a figure of the published machine (8 P + 16 E cores), which emulated cores cannot confirm"


class _Measured(NamedTuple):
    """The cells of a study, those of unequal cores, and whether this machine itself has two kinds."""

    cells: Sequence[CellRuns]
    unequal: Sequence[CellRuns]
    hybrid: bool

    def states(self) -> Iterator[tuple[str, list[CellRuns]]]:
        for state, cells in by_state(self.unequal).items():
            yield state_words(dict(state)), cells

    @property
    def note(self) -> str:
        return "" if self.hybrid else _NEEDS_MACHINE


def claims(cells: Sequence[CellRuns], *, hybrid: bool) -> tuple[Claim, ...]:
    """What rows show of all claims. ``hybrid`` is True where this machine itself has two kinds of cores."""
    measured = _Measured(cells, [cell for cell in cells if cell.unequal], hybrid)
    judged = zip(FAMILY.statements, _MEASURED, strict=True)
    return tuple(FAMILY.measured(id, *judge(measured)) for id, judge in judged)


def simulated(wanted: Collection[str]) -> list[Verdict]:
    return FAMILY.verdicts(wanted, _SIMULATED, Grid(machines.load(MACHINE), SIZES + LARGE))


# -- of this machine's rows --


def _best_dynamic(cell: CellRuns) -> tuple[Contender, float] | None:
    """The fastest OpenMP loop that hands out chunks, over all cores, and its time; screened ones count."""
    return _fastest(
        contender
        for contender in cell.contenders
        if contender.schedule in ("dynamic", "guided")
        and contender.placement == "all"
        and contender.peer in ("libgomp", "libomp")
    )


def _fastest(contenders: Iterable[Contender]) -> tuple[Contender, float] | None:
    timed = [(each, seconds) for each in contenders if (seconds := each.any_seconds) is not None]
    return min(timed, key=lambda pair: pair[1], default=None)


def _static_all(cell: CellRuns) -> Contender | None:
    return cell.plain_openmp or cell.find("libgomp", "static", "all")


def _three_ways(cell: CellRuns) -> tuple[float, float, float] | None:
    """Seconds of dynamic over all, of the fast cores alone and of equal shares over all; None without one."""
    dynamic, fast, static = _best_dynamic(cell), cell.fast_alone, _static_all(cell)
    if dynamic is None or fast is None or static is None or not (fast.seconds and static.seconds):
        return None
    return dynamic[1], fast.seconds, static.seconds


def _worth(cell: CellRuns) -> float | None:
    """How many slow cores one fast core is worth there."""
    fast, slow = cell.fast_alone, cell.slow_alone
    if fast is None or slow is None or fast.seconds is None or slow.seconds is None:
        return None
    return models.slow_cores_worth_one_fast(fast.seconds, slow.seconds, fast.threads, slow.threads)


# -- of the simulated machine --

SIZES = (
    500,
    *range(1000, 2500, 250),
    *range(2500, 4000, 500),
    *range(4000, 4500, 50),
    4500,
    5000,
    5500,
    6000,
)
LARGE = (7000, 8000, 12000, 16000)

_MEMORY = Knob("memory.memory_bytes_per_second", 65e9, 105e9)
_CLUSTER = Knob("cores.E.cluster_memory_bytes_per_second", 8e9, 36e9)
_SMT = Knob("cores.P.smt_yield", 1.2, 2.0)
_DOT = Knob("cores.P.dot_cycles_per_element", 2.0, 3.0)
_OUTSTANDING = Knob("cores.E.outstanding_lines", 8, 32)
_TRANSFER = Knob("latency.line_one_way_seconds", 27e-9, 44e-9)
_LAST_LEVEL_CACHE = Knob("memory.last_level_cache_bytes", 30e6, 37.7e6, whole=True)


class Grid:
    """Times of every size. A way is simulated, once, when it is first asked for."""

    def __init__(self, machine: Machine, sizes: Iterable[int]) -> None:
        self.machine, self.sizes = machine, tuple(sizes)
        self._rows: dict[str, dict[int, Row]] = {}

    def row(self, size: int, way: str) -> Row:
        if way not in self._rows:
            simulated_rows = rows(self.machine, [_request(each, way) for each in self.sizes])
            self._rows[way] = dict(zip(self.sizes, simulated_rows, strict=True))
        return self._rows[way][size]

    def seconds(self, size: int, way: str) -> float:
        return float(self.row(size, way)["seconds"])

    def bound(self, size: int) -> float:
        """T* of the two kinds side by side."""
        return models.bound_seconds(self.seconds(size, "static P"), self.seconds(size, "static E"))


def _request(size: int, way: str) -> dict[str, object]:
    """``dynamic,2 all``: the schedule with its chunk (1 if there is none) and the placement, by OpenMP."""
    how, placement = way.split()
    schedule, _, chunk = how.partition(",")
    work = {"study": "loop", "size": size, "runtime": "openmp"}
    return work | {"schedule": schedule, "chunk": int(chunk or 1), "placement": placement}


def _or_what_would(
    grid: Grid,
    holds: Callable[[Grid], bool],
    knobs: Sequence[Knob],
    sizes: Sequence[int] = SIZES,
    because: str = "",
) -> tuple[bool, str]:
    """Whether a claim holds; where it does not, why, and which parameter would make it hold."""
    if holds(grid):
        return True, ""
    return False, because + sensitivity(grid.machine, knobs, lambda other: holds(Grid(other, sizes)))


# -- claim by claim: of the rows, and of the simulated machine --


def _h1(measured: _Measured) -> Shown:
    if not measured.unequal:
        return unknown(_NO_UNEQUAL)
    ran = {
        "equal shares over all": any(_static_all(cell) for cell in measured.unequal),
        "fast cores only": any(cell.fast_alone for cell in measured.unequal),
        "dynamic over all": any(_best_dynamic(cell) for cell in measured.unequal),
        "slow cores only": any(cell.slow_alone for cell in measured.unequal),
    }
    missing = [name for name, there in ran.items() if not there]
    ours = f"all ran, and {list(ran)[-1]} too" if not missing else f"missing: {', '.join(missing)}"
    return ours, not missing, ""


def _h1_simulated(grid: Grid) -> Shown:
    ways = ("static all", "static P", "dynamic all", "static E")
    ran = [way for way in ways if grid.seconds(3000, way) > 0]
    return f"ran: {', '.join(ran)}", len(ran) == 4, ""


def _h2(measured: _Measured) -> Shown:
    if not measured.unequal:
        return unknown(_NO_UNEQUAL)
    parts: list[str] = []
    crossings: list[int] = []
    for words, cells in measured.states():
        advantages = sorted(
            (cell.size, fast.seconds / dynamic[1])
            for cell in cells
            if (fast := cell.fast_alone) is not None
            and fast.seconds
            and (dynamic := _best_dynamic(cell)) is not None
        )
        fast_wins = [size for size, advantage in advantages if advantage <= 1]
        if fast_wins:
            crossings.append(max(fast_wins))
            parts.append(f"{words}: fast alone is ahead up to n = {max(fast_wins)}")
        elif advantages:
            parts.append(f"{words}: dynamic over all is ahead from n = {advantages[0][0]} on")
    if not parts:
        return unknown("dynamic over all cores or the fast cores alone were not measured")
    holds = any(within(_CROSSING_SIZES, size) for size in crossings) if measured.hybrid else None
    return "; ".join(parts), holds, measured.note


def _crossing(grid: Grid) -> float:
    """Where dynamic over all overtakes static on P, between the two sizes around it."""
    before = 0
    for size in grid.sizes:
        if grid.seconds(size, "dynamic all") < grid.seconds(size, "static P"):
            return (before + size) / 2
        before = size
    return float("inf")


def _h2_simulated(grid: Grid) -> Shown:
    ours = f"dynamic over all overtakes at n ≈ {_crossing(grid):.0f}"
    return ours, *_or_what_would(
        grid, lambda grid: within(_CROSSING_SIZES, _crossing(grid)), [_TRANSFER, _DOT]
    )


def _h3(measured: _Measured) -> Shown:
    gains = {
        words: max(by_gain)
        for words, cells in measured.states()
        if (
            by_gain := [
                (1 - ways[0] / min(ways[1:]), cell.size)
                for cell in cells
                if (ways := _three_ways(cell)) is not None
            ]
        )
    }
    if not gains:
        return unknown("not all three ways were measured" if measured.unequal else _NO_UNEQUAL)
    ours = "; ".join(
        f"{words}: at most {100 * gain:.0f} % less time than the better one, at n = {size}"
        for words, (gain, size) in gains.items()
    )
    holds = within(_BEST_GAIN, max(gains.values())[0]) if measured.hybrid else None
    return ours, holds, _NEEDS_MACHINE


def _best_gain(grid: Grid) -> tuple[float, int]:
    gains = []
    for size in grid.sizes:
        rival = min(grid.seconds(size, "static P"), grid.seconds(size, "static all"))
        dynamic = min(grid.seconds(size, "dynamic all"), grid.seconds(size, "dynamic,2 all"))
        gains.append((1 - dynamic / rival, size))
    return max(gains)


def _h3_simulated(grid: Grid) -> Shown:
    gain, size = _best_gain(grid)
    ours = f"{percent(gain)} less time than the better of the others, at n = {size}"
    return ours, *_or_what_would(
        grid, lambda grid: within(_BEST_GAIN, _best_gain(grid)[0]), [_MEMORY, _CLUSTER, _DOT]
    )


def _h4(measured: _Measured) -> Shown:
    """Shape: somebody comes within 3 % of the bound somewhere."""
    near = [
        (seconds / bound, f"{best.label} at n = {cell.size}, {state_words(cell.emulated)}")
        for cell in measured.unequal
        if (bound := cell.bound_seconds()) is not None
        for best in cell.finalists[:1]
        if (seconds := best.seconds) is not None
    ]
    if not near:
        return unknown(_NO_UNEQUAL)
    closest, where = min(near, key=lambda one: abs(math.log(one[0])))
    reached = abs(closest - 1) <= _NEAR_BOUND
    return f"closest: {closest:.2f} of the bound's time, {where}", reached, ""


def _h4_simulated(grid: Grid) -> Shown:
    nearest, size = min(
        (abs(grid.seconds(size, way) / grid.bound(size) - 1), size)
        for size in grid.sizes
        for way in ("dynamic all", "dynamic,2 all")
    )
    return f"within {percent(nearest)} of the bound at n = {size}", nearest <= _NEAR_BOUND, ""


def _h5(measured: _Measured) -> Shown:
    gains: list[tuple[float, str]] = []
    for cell in measured.cells:
        seconds = {
            contender.chunk: contender.any_seconds
            for contender in cell.contenders
            if (contender.peer, contender.schedule, contender.placement, contender.wait)
            == ("libgomp", "dynamic", "all", "default")
        }
        first, second = seconds.get(1), seconds.get(2)
        if first and second:
            gains.append((1 - second / first, f"n = {cell.size}, {state_words(cell.emulated)}"))
    if not gains:
        return unknown("dynamic with chunks 1 and 2 was not measured side by side")
    gain, where = max(gains)
    ours = f"chunk 2 takes {100 * gain:.0f} % less time than chunk 1 at {where}"
    return ours, gain >= _CHUNK_2_GAIN, "from the screening runs: medians without an interval"


def _shortest_chunks(grid: Grid) -> tuple[float, int]:
    """What chunk 2 gains over 1 at best, and at which n."""
    return max(
        (1 - grid.seconds(n, "dynamic,2 all") / grid.seconds(n, "dynamic all"), n)
        for n in grid.sizes
        if n >= 1500
    )


def _longer_chunks(grid: Grid) -> tuple[float, int, int]:
    """How much less time one of 4 to 16 takes than 2 where it is farthest from it; which, and at which n."""
    return max(
        (
            (1 - grid.seconds(n, f"dynamic,{chunk} all") / grid.seconds(n, "dynamic,2 all"), chunk, n)
            for n in grid.sizes
            if n >= 3000
            for chunk in (4, 8, 16)
        ),
        key=lambda difference: abs(difference[0]),
    )


def _h5_simulated(grid: Grid) -> Shown:
    def good(grid: Grid) -> bool:
        return abs(_longer_chunks(grid)[0]) <= _LONGER_CHUNKS and _shortest_chunks(grid)[0] >= _CHUNK_2_GAIN

    gain, size = _shortest_chunks(grid)
    more, chunk, where = _longer_chunks(grid)
    ours = (
        f"chunk 2 takes {percent(gain)} less time than 1 at n = {size}; from n = 3000 on 4 to 16 are within "
        f"{percent(abs(more))} of 2: {chunk} takes {percent(abs(more))} {'less' if more > 0 else 'more'} at "
        f"n = {where}"
    )
    sizes = [n for n in SIZES if n >= 1500]
    because = "the last of a few long chunks is waited for; "
    return ours, *_or_what_would(grid, good, [_TRANSFER, _DOT, _SMT], sizes, because)


def _passed(sizes: Sequence[int]) -> bool:
    return any(within(_PASSED_SIZES, size) for size in sizes) and max(sizes) <= _PASSED_NOWHERE_ABOVE


def _h6(measured: _Measured) -> Shown:
    if not measured.unequal:
        return unknown(_NO_UNEQUAL)
    over = [
        cell
        for cell in measured.unequal
        if (bound := cell.bound_seconds())
        and cell.finalists
        and (cell.finalists[0].seconds or bound) < _PASSED_BY * bound
    ]
    holds = None
    if measured.hybrid and max(cell.size for cell in measured.unequal) > _PASSED_NOWHERE_ABOVE:
        holds = _passed([cell.size for cell in over])
    where = "; ".join(f"n = {cell.size} {state_words(cell.emulated)}" for cell in over)
    ours = f"passed by more than 1 % at: {where}" if over else "nowhere passed by more than 1 %"
    return ours, holds, measured.note


def _h6_simulated(grid: Grid) -> Shown:
    over = [n for n in grid.sizes if grid.seconds(n, "dynamic,2 all") < _PASSED_BY * grid.bound(n)]
    holds = _passed(over)
    ours = f"exceeded at n = {min(over)} to {max(over)}" if over else "nowhere exceeded"
    note = "together the L2 caches of both kinds and the L3 hold a matrix that neither kind's caches hold"
    return ours, holds, note if holds else ""


def _h7(measured: _Measured) -> Shown:
    return unknown("needs hardware counters in a run of each placement; see miss ratios")


def _miss_shape(grid: Grid) -> tuple[list[int], list[int]]:
    """Sizes above 2000 at which P alone misses less than P and E, and at which it misses more."""
    lower, higher = [], []
    for size in grid.sizes:
        fast, both = grid.row(size, "static P")["miss_ratio"], grid.row(size, "dynamic,2 all")["miss_ratio"]
        if (fast or 0.0) < (both or 0.0) - 0.005:
            lower.append(size)
        elif (fast or 0.0) > (both or 0.0) + 0.005:
            higher.append(size)
    return lower, higher


def _h7_simulated(grid: Grid) -> Shown:
    def good(grid: Grid) -> bool:
        lower, higher = _miss_shape(grid)
        return bool(lower and higher) and all(within(_PASSED_SIZES, size) for size in higher)

    _, higher = _miss_shape(grid)
    span = f"misses more from n = {min(higher)} to {max(higher)}" if higher else "never misses more"
    last = percent(grid.row(16000, "static P")["miss_ratio"] or 0.0)
    because = "what threads do to each other in the shared cache, other than fill it, is not modelled; "
    ours = f"P alone {span}; both reach {last} at n = 16000"
    return ours, *_or_what_would(grid, good, [_LAST_LEVEL_CACHE], because=because)


def _h8(measured: _Measured) -> Shown:
    if not measured.unequal:
        return unknown(_NO_UNEQUAL)
    largest = max(measured.unequal, key=lambda cell: cell.size)
    ways = _three_ways(largest)
    if ways is None:
        return unknown("not all three ways were measured at the largest size")
    dynamic, fast, static = ways
    gains = [1 - dynamic / static, 1 - fast / static]
    ours = (
        f"at n = {largest.size}, {state_words(largest.emulated)}: dynamic over all takes "
        f"{100 * gains[0]:.0f} % and the fast cores alone {100 * gains[1]:.0f} % less time than equal shares "
        "over all"
    )
    if not measured.hybrid or largest.size < 8000:
        return ours, None, measured.note or "needs n = 8000 or more"
    return ours, all(within(_LARGE_GAIN, gain) for gain in gains), ""


def _large(grid: Grid) -> tuple[float, float]:
    """By how much dynamic over all and static on P beat static over all at the largest n."""
    size = max(grid.sizes)
    static = grid.seconds(size, "static all")
    return 1 - grid.seconds(size, "dynamic,2 all") / static, 1 - grid.seconds(size, "static P") / static


def _h8_simulated(grid: Grid) -> Shown:
    dynamic, static = _large(grid)
    ours = (
        f"at n = 16000 dynamic over all is {percent(dynamic)} faster than static over all, "
        f"static P {percent(static)}"
    )
    knobs = [_CLUSTER, _MEMORY, _OUTSTANDING]
    return ours, *_or_what_would(
        grid, lambda grid: all(within(_LARGE_GAIN, gain) for gain in _large(grid)), knobs, (16000,)
    )


def _h9(measured: _Measured) -> Shown:
    if not measured.hybrid:
        return unknown("needs two or more fast cores whose turbo clocks differ")
    largest = max(measured.unequal, key=lambda cell: cell.size, default=None)
    fast = largest.fast_alone if largest is not None else None
    dynamic = _fastest(
        contender
        for contender in (largest.contenders if largest is not None else [])
        if contender.placement == "fast" and contender.schedule == "dynamic"
    )
    if largest is None or fast is None or not fast.seconds or dynamic is None:
        return unknown("dynamic on the fast cores alone was not measured")
    gain = 1 - dynamic[1] / fast.seconds
    return f"{100 * gain:.1f} % less time at n = {largest.size}", within(_TURBO_GAIN, gain), ""


def _turbo_gain(grid: Grid) -> float:
    size = max(grid.sizes)
    return 1 - grid.seconds(size, "dynamic,2 P") / grid.seconds(size, "static P")


def _h9_simulated(grid: Grid) -> Shown:
    def good(grid: Grid) -> bool:
        return within(_TURBO_GAIN, _turbo_gain(grid))

    ours = f"dynamic on P takes {percent(_turbo_gain(grid))} less time than static on P at n = 16000"
    because = "a full memory bus hides clocks: who ends early leaves its part of the bus to the others; "
    return ours, *_or_what_would(grid, good, [_MEMORY, _SMT, _DOT], (16000,), because)


def _h10(measured: _Measured) -> Shown:
    worth = {
        words: values
        for words, cells in measured.states()
        if (values := [value for cell in cells if (value := _worth(cell)) is not None])
    }
    if not worth:
        return unknown(_NO_UNEQUAL)
    ours = "; ".join(f"{words}: {min(values):.2f} to {max(values):.2f}" for words, values in worth.items())
    if not measured.hybrid:
        return ours, None, "the factor was chosen here, by emulation"
    return ours, any(within(_WORTH, value) for values in worth.values() for value in values), ""


def _h10_simulated(grid: Grid) -> Shown:
    worth = [
        models.slow_cores_worth_one_fast(grid.seconds(n, "static P"), grid.seconds(n, "static E"), 8, 16)
        for n in (2000, 2500, 3000)
    ]
    holds = all(within(_WORTH, value) for value in worth)
    note = "two dependent sums a P-core against one of 3 cycles on an E-core" if holds else ""
    return f"{min(worth):.2f} to {max(worth):.2f} from n = 2000 to 3000", holds, note


def _h11(measured: _Measured) -> Shown:
    """The inequality is judged where its two sides are measured and the winner is resolved."""
    agreeing, tested = 0, 0
    for cell in measured.unequal:
        worth, fast, slow, static = _worth(cell), cell.fast_alone, cell.slow_alone, _static_all(cell)
        if worth is None or fast is None or slow is None or static is None:
            continue
        verdict = ratio(static, fast).verdict
        threshold = models.equal_split_threshold(fast.threads, slow.threads)
        if verdict not in (verdicts.FASTER, verdicts.SLOWER) or abs(worth / threshold - 1) < _TOO_CLOSE:
            continue
        tested += 1
        agreeing += (worth > threshold) == (verdict == verdicts.SLOWER)
    if not tested:
        return unknown("no cell resolves equal shares from fast alone" if measured.unequal else _NO_UNEQUAL)
    return f"the inequality names the winner in {agreeing} of {tested} cells", agreeing == tested, ""


def _h11_simulated(grid: Grid) -> Shown:
    """Equal parts for each core, as an MPI solver has them; E-cores made slower step by step."""
    agreeing, tested, threshold = 0, 0, models.equal_split_threshold(8, 16)
    for cycles in (3.0, 4.0, 6.0, 8.0, 10.0):
        changed = machines.change(
            grid.machine, [f"cores.E.dot_cycles_per_element={cycles}", "cores.P.hardware_threads_per_core=1"]
        )
        slower = Grid(changed, (3000,))
        every, fast, slow = (slower.seconds(3000, way) for way in ("static all", "static P", "static E"))
        worth = models.slow_cores_worth_one_fast(fast, slow, 8, 16)
        if abs(worth / threshold - 1) < _TOO_CLOSE:
            continue
        tested += 1
        agreeing += (worth > threshold) == (every > fast)
    ours = (
        f"s_P/s_E > 1 + E/P = {threshold:g} names the loser in {agreeing} of {tested} cells with "
        "E-cores of different speed"
    )
    return ours, tested > 2 and agreeing == tested, ""


def _h12(measured: _Measured) -> Shown:
    blas = any(
        contender.peer == "openblas" and contender.by_round
        for cell in measured.cells
        for contender in cell.contenders
    )
    ours = "cores that ran and the memory's share are in this report"
    return f"{ours}; OpenBLAS {'ran beside' if blas else 'was not measured'}", blas, ""


def _h12_simulated(grid: Grid) -> Shown:
    row = grid.row(16000, "dynamic,2 all")
    cores = " + ".join(f"{count} {kind}" for kind, count in row["cores"].items())
    share = row["memory_bytes"] / row["seconds"] / grid.machine.memory.memory_bytes_per_second
    ours = (
        f"each row says its cores ({cores}) and its memory traffic ({percent(share)} of the "
        "bandwidth at n = 16000)"
    )
    return ours, True, "OpenBLAS runs beside the others in tauto study loop"


_MEASURED = (_h1, _h2, _h3, _h4, _h5, _h6, _h7, _h8, _h9, _h10, _h11, _h12)
_SIMULATED = (
    *(_h1_simulated, _h2_simulated, _h3_simulated, _h4_simulated, _h5_simulated, _h6_simulated),
    *(_h7_simulated, _h8_simulated, _h9_simulated, _h10_simulated, _h11_simulated, _h12_simulated),
)
