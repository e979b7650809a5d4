"""The published claims on loops (H1 to H12) as the simulated i9-14900K shows them, with the published kernel.

Each is judged on the published sizes alone. "Fast" and "slow" mean all hardware threads of such cores.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass

from tautochrone.options import format_cpus
from tautochrone.simulator import machines
from tautochrone.simulator.engine import Row
from tautochrone.simulator.machines import Machine
from tautochrone.simulator.requests import LOOP_SIZES, PUBLISHED
from tautochrone.studies import models, short_runs
from tautochrone.studies.claims import Finding, Knob, Verdict, near, percent, rows, sensitivity, within
from tautochrone.studies.loop import published, ran

_MEMORY = Knob("memory.memory_bytes_per_second", 65e9, 105e9)
_CLUSTER = Knob("cores.E.cluster_memory_bytes_per_second", 8e9, 36e9)
_SMT = Knob("cores.P.chain_smt_yield", 1.2, 2.0)
_CHAIN = Knob("cores.P.chain_cycles_per_element", 2.0, 3.0)
_OUTSTANDING = Knob("cores.E.outstanding_lines", 8, 32)
_TRANSFER = Knob("latency.line_one_way_seconds", 27e-9, 44e-9)
_FORK = Knob("costs.fork_join_libgomp_seconds", 3.8e-6, 5.1e-6)
_LAST_LEVEL_CACHE = Knob("memory.last_level_cache_bytes", 30e6, 37.7e6, whole=True)

_STATIC, _FAST, _SLOW = "static all", "static fast", "static slow"
_DYNAMIC, _DYNAMIC_2 = "dynamic all", "dynamic,2 all"
_ELSEWHERE = (_STATIC, _DYNAMIC, _DYNAMIC_2, "guided all", _SLOW)
"""Every way that is not on the fast cores alone."""
_LARGEST = LOOP_SIZES[-1:]
# Where the figures of H3 to H7 change; beyond it nothing but the memory's bandwidth counts.
_MOVED_SIZES = tuple(size for size in LOOP_SIZES if size <= 8000)
SAME_MISSES = 0.005


class Grid:
    """Rows of every size. A way is simulated, once, when it is first asked for."""

    def __init__(self, machine: Machine, sizes: Iterable[int] = LOOP_SIZES) -> None:
        self.machine, self.sizes = machine, tuple(sizes)
        self._rows: dict[str, dict[int, Row]] = {}

    def row(self, size: int, way: str) -> Row:
        if way not in self._rows:
            simulated_rows = rows(self.machine, [request(each, way) for each in self.sizes])
            self._rows[way] = dict(zip(self.sizes, simulated_rows, strict=True))
        return self._rows[way][size]

    def seconds(self, size: int, way: str) -> float:
        return float(self.row(size, way)["seconds"])

    def bound(self, size: int) -> float:
        """T* of the two kinds side by side."""
        return models.bound_seconds(self.seconds(size, _FAST), self.seconds(size, _SLOW))

    def of_bound(self, size: int, way: str) -> float:
        """The time of a way, as a multiple of the bound's."""
        return self.seconds(size, way) / self.bound(size)

    def between(self, limits: tuple[int, int]) -> tuple[int, ...]:
        return tuple(size for size in self.sizes if within(limits, size))


def request(size: int, way: str, kernel: str = PUBLISHED, runtime: str = "openmp") -> dict[str, object]:
    """``dynamic,2 all``: the schedule with its chunk (1 if there is none) and the placement."""
    how, placement = way.split()
    schedule, _, chunk = how.partition(",")
    work = {"study": "loop", "size": size, "runtime": runtime, "kernel": kernel}
    return work | {"schedule": schedule, "chunk": int(chunk or 1), "placement": placement}


def simulated(wanted: Collection[str]) -> list[Verdict]:
    return published.FAMILY.verdicts(wanted, _JUDGES, Grid(machines.load(published.FAMILY.machine)))


@dataclass(frozen=True)
class _Moved:
    """What is moved to find what a verdict hangs on, and the sizes that it needs."""

    knobs: Sequence[Knob]
    sizes: tuple[int, ...] = _MOVED_SIZES


def _found(
    grid: Grid, ours: str, holds: Callable[[Grid], bool], moved: _Moved, note: str = "", given: str = ""
) -> Finding:
    """The verdict, and which parameter within its published range would change it."""
    now = holds(grid)
    changes = sensitivity(grid.machine, moved.knobs, lambda other: holds(Grid(other, moved.sizes)), now)
    return Finding(ours, now, "" if now else note, given, changes)


def _h1(grid: Grid) -> Finding:
    """The threads of each placement are told from the machine file, and not from the simulator."""
    threads = [kind.cores * kind.hardware_threads_per_core for kind in grid.machine.kind]
    fast, everyone = range(threads[0]), range(sum(threads))
    wanted = {_STATIC: everyone, _FAST: fast, _DYNAMIC: everyone, _SLOW: range(threads[0], sum(threads))}
    ran = {way: grid.row(LOOP_SIZES[4], way)["cpus"] for way in wanted}
    ours = "; ".join(f"{way}: CPUs {format_cpus(cpus) or 'none'}" for way, cpus in ran.items())
    return Finding(ours, all(list(ran[way]) == list(cpus) for way, cpus in wanted.items()))


def _lead_ends(grid: Grid) -> tuple[float, str]:
    """Up to where static on the fast cores is fastest, midway between two sizes; and what is faster then."""
    before = 0
    for size in grid.sizes:
        rival = min(_ELSEWHERE, key=lambda way: grid.seconds(size, way))
        if grid.seconds(size, rival) < grid.seconds(size, _FAST):
            return (before + size) / 2, rival
        before = size
    return float("inf"), "nothing"


def _h2(grid: Grid) -> Finding:
    end, rival = _lead_ends(grid)
    crossing = next(
        (size for size in grid.sizes if grid.seconds(size, _DYNAMIC) < grid.seconds(size, _FAST)), None
    )
    return _found(
        grid,
        f"static on the fast cores is fastest up to n ≈ {end:.0f}, then {rival}; dynamic over all is ahead "
        f"of it from n = {crossing} on",
        lambda grid: within(published.CROSSING_SIZES, _lead_ends(grid)[0]),
        _Moved([_TRANSFER, _CHAIN, _FORK], tuple(size for size in LOOP_SIZES if size <= 4000)),
        _why_others_lead(grid),
    )


def _why_others_lead(grid: Grid) -> str:
    """Of the ways that the study ran, and of guided, which it did not."""
    size = 1000
    fast = grid.seconds(size, _FAST)
    guided, static = (1 - grid.seconds(size, way) / fast for way in ("guided all", _STATIC))
    return (
        f"at n = {size} guided over all, which the study did not run, hands out few chunks and takes "
        f"{percent(guided)} less time; equal shares over all take {percent(static)} less, because a fast "
        "thread is worth less than two slow ones (H11)"
    )


def _best_gain(grid: Grid) -> tuple[float, int]:
    gains = []
    for size in grid.sizes:
        rival = min(grid.seconds(size, _FAST), grid.seconds(size, _STATIC))
        dynamic = min(grid.seconds(size, _DYNAMIC), grid.seconds(size, _DYNAMIC_2))
        gains.append((1 - dynamic / rival, size))
    return max(gains)


def _h3(grid: Grid) -> Finding:
    gain, size = _best_gain(grid)
    return _found(
        grid,
        f"{percent(gain)} less time than the better of the others, at n = {size}",
        lambda grid: within(published.BEST_GAIN, _best_gain(grid)[0]),
        _Moved([_MEMORY, _CLUSTER, _CHAIN]),
    )


def _with_ticks(grid: Grid, sizes: Iterable[int]) -> Grid:
    """The same with the interruptions of a desktop, which equal shares wait for."""
    return Grid(machines.machine_of({**grid.machine.written, "noise": published.TICKS}), sizes)


def _nearest_to_bound(grid: Grid) -> float:
    return min(min(grid.of_bound(size, way) for way in (_DYNAMIC, _DYNAMIC_2)) for size in grid.sizes)


def _at_bound(grid: Grid, way: str) -> list[int]:
    """The sizes at which a way takes the bound's time."""
    return [size for size in grid.sizes if near(grid.of_bound(size, way), 1, published.NEAR_BOUND)]


def _neighbours_at_bound(grid: Grid) -> bool:
    ways = [set(_at_bound(grid, way)) for way in (_DYNAMIC, _DYNAMIC_2)]
    pairs = zip(grid.sizes, grid.sizes[1:], strict=False)
    return any({first, second} <= reached for first, second in pairs for reached in ways)


def _h4(grid: Grid) -> Finding:
    shown = ", ".join(
        f"{min(grid.of_bound(size, way) for way in (_DYNAMIC, _DYNAMIC_2)):.2f} at {size}"
        for size in grid.between((2000, 8000))
    )
    return _found(
        grid,
        f"the best dynamic loop takes, of the bound's time: {shown}",
        _neighbours_at_bound,
        _Moved([_TRANSFER, _CLUSTER, _CHAIN]),
        "handing out chunks costs more than the tolerance before the caches end, and a shared memory after; "
        f"a desktop's interruptions bring it to {_nearest_to_bound(_with_ticks(grid, (3000, 4000))):.2f}",
    )


def _shortest_chunks(grid: Grid) -> tuple[float, int]:
    """What chunk 2 gains over 1 at best, and at which n."""
    return max((1 - grid.seconds(n, _DYNAMIC_2) / grid.seconds(n, _DYNAMIC), n) for n in grid.sizes)


def _longer_chunks(grid: Grid) -> tuple[float, int, int]:
    """By how much the best of 4 to 16 beats 2, where it does most; which, and at which n."""
    return max(
        (1 - grid.seconds(n, f"dynamic,{chunk} all") / grid.seconds(n, _DYNAMIC_2), chunk, n)
        for n in grid.sizes
        if n >= published.CHUNKS_FROM
        for chunk in (4, 8, 16)
    )


def _h5(grid: Grid) -> Finding:
    gain, size = _shortest_chunks(grid)
    more, chunk, where = _longer_chunks(grid)
    return _found(
        grid,
        f"chunk 2 takes {percent(gain)} less time than 1 at n = {size}; from n = {published.CHUNKS_FROM} on "
        f"the best longer chunk, {chunk} at n = {where}, takes {percent(more)} less than 2",
        lambda grid: (
            _longer_chunks(grid)[0] <= published.LONGER_CHUNKS
            and _shortest_chunks(grid)[0] >= published.CHUNK_2_GAIN
        ),
        _Moved([_TRANSFER, _CHAIN, _SMT]),
    )


def sizes_passed(grid: Grid) -> list[int]:
    """Those at which chunk 2 takes less than the bound's time."""
    return [size for size in grid.sizes if grid.of_bound(size, _DYNAMIC_2) < published.PASSED_BY]


def _passed(grid: Grid) -> bool:
    widens = len(_at_bound(grid, _DYNAMIC_2)) > len(_at_bound(grid, _DYNAMIC))
    return widens and published.passed_where_published(sizes_passed(grid))


def _h6(grid: Grid) -> Finding:
    over = sizes_passed(grid)
    reached = [len(_at_bound(grid, way)) for way in (_DYNAMIC, _DYNAMIC_2)]
    return _found(
        grid,
        f"within 3 % of the bound at {reached[0]} sizes with chunk 1 and at {reached[1]} with chunk 2; "
        + (f"passed at n = {', '.join(map(str, over))}" if over else "passed nowhere"),
        _passed,
        _Moved([_TRANSFER, _LAST_LEVEL_CACHE, _CLUSTER]),
        "the model passes the bound only between 4000 and 5000, where one more cache level begins to miss",
    )


def misses(grid: Grid, size: int) -> tuple[float, float]:
    """Of the fast cores alone, and of all with dynamic,2."""
    fast, both = (grid.row(size, way)["miss_ratio"] or 0.0 for way in (_FAST, _DYNAMIC_2))
    return fast, both


def _misses_as_published(grid: Grid) -> bool:
    """More misses of the fast cores somewhere in 3000 to 5000; everywhere else fewer, or all miss."""
    inside = grid.between(published.PASSED_SIZES)
    outside = [size for size in grid.sizes if size not in inside]
    more = any(fast > both + SAME_MISSES for fast, both in (misses(grid, size) for size in inside))
    less = [fast < both - SAME_MISSES or fast > 0.9 for fast, both in (misses(grid, n) for n in outside)]
    return more and all(less)


def _h7(grid: Grid) -> Finding:
    shown = ", ".join(
        f"{percent(fast)} and {percent(both)} at {size}"
        for size in (2000, 4000, 6000, 16000)
        for fast, both in [misses(grid, size)]
    )
    return _found(
        grid,
        f"misses of the fast cores alone and of all: {shown}",
        _misses_as_published,
        _Moved([_LAST_LEVEL_CACHE]),
        "the model counts every line once, as perf's two events do: they count what is prefetched into an L2 "
        "cache, but not what is prefetched into the L3 alone, of which no figure is known; and what threads "
        "do to each other in the shared cache, other than fill it, is not modelled",
    )


def _large(grid: Grid) -> tuple[float, float]:
    """By how much dynamic over all and static on the fast cores beat static over all at the largest n."""
    size = grid.sizes[-1]
    static = grid.seconds(size, _STATIC)
    return 1 - grid.seconds(size, _DYNAMIC_2) / static, 1 - grid.seconds(size, _FAST) / static


def _memory_rules(grid: Grid) -> bool:
    gains = _large(grid)
    size = grid.sizes[-1]
    alike = near(grid.seconds(size, _DYNAMIC_2), grid.seconds(size, _FAST), published.NEARLY_EQUAL)
    return alike and all(within(published.LARGE_GAIN, gain) for gain in gains)


def _h8(grid: Grid) -> Finding:
    dynamic, static = _large(grid)
    return _found(
        grid,
        f"at n = {grid.sizes[-1]} dynamic over all takes {percent(dynamic)} less time than static over all, "
        f"static on the fast cores {percent(static)} less",
        _memory_rules,
        _Moved([_CLUSTER, _MEMORY, _OUTSTANDING], _LARGEST),
        "a bus that is shared fairly stays full to the end, so nobody is late",
    )


def _turbo_gains(grid: Grid) -> tuple[float, float]:
    """Of dynamic on the fast cores, and of dynamic over all, against static on the fast cores."""
    size = grid.sizes[-1]
    static = grid.seconds(size, _FAST)
    fast, both = (1 - grid.seconds(size, way) / static for way in ("dynamic,2 fast", _DYNAMIC_2))
    return fast, both


def _h9(grid: Grid) -> Finding:
    fast, both = _turbo_gains(grid)
    return _found(
        grid,
        f"at n = {grid.sizes[-1]} dynamic takes {percent(fast)} less time than static on the fast cores, and "
        f"{percent(both)} less with the slow ones",
        lambda grid: all(within(published.TURBO_GAIN, gain) for gain in _turbo_gains(grid)),
        _Moved([_MEMORY, _SMT, _CHAIN], _LARGEST),
        "a full memory bus hides clocks and interruptions: who ends early leaves its part of the bus to the "
        f"others; with those of a desktop it is {percent(_turbo_gains(_with_ticks(grid, _LARGEST))[0])}",
    )


def _worth(grid: Grid, fast: str) -> list[float]:
    """How many slow cores one fast core is worth, where the caches still hold the matrix."""
    of_fast, of_slow = grid.machine.kind[0].cores, grid.machine.kind[1].cores
    return [
        models.slow_cores_worth_one_fast(grid.seconds(n, fast), grid.seconds(n, _SLOW), of_fast, of_slow)
        for n in published.WORTH_SIZES
    ]


def _h10(grid: Grid) -> Finding:
    both, one = _worth(grid, _FAST), _worth(grid, "static fast-cores")
    return _found(
        grid,
        f"{min(both):.2f} to {max(both):.2f} with two threads a fast core, {min(one):.2f} to {max(one):.2f} "
        f"with one (n = {', '.join(map(str, published.WORTH_SIZES))})",
        lambda grid: all(within(published.WORTH, value) for value in _worth(grid, _FAST)),
        _Moved([_CHAIN, _SMT], published.WORTH_SIZES),
        given="clocks, cycles of an addition, and that two chains share a core: their product is 3.9",
    )


def _equal_split(machine: Machine) -> tuple[float, float, bool]:
    """s_P/s_E a thread, the threshold in threads, and whether equal shares over all lose at n = 3000."""
    grid = Grid(machine, (3000,))
    every, fast, slow = (grid.row(3000, way) for way in (_STATIC, _FAST, _SLOW))
    counts = fast["threads"], slow["threads"]
    worth = models.slow_cores_worth_one_fast(fast["seconds"], slow["seconds"], *counts)
    return worth, models.equal_split_threshold(*counts), every["seconds"] > fast["seconds"]


def _loss_of_processes(machine: Machine) -> float:
    """How much longer an MPI solver with equal subdomains takes with the slow cores, at n = 3000."""
    asked = [request(3000, way, runtime="mpi") for way in (_STATIC, _FAST)]
    every, fast = (float(row["seconds"]) for row in rows(machine, asked))
    return every / fast - 1


def _h11(grid: Grid) -> Finding:
    """The published machine; half its slow cores, as the reader's; slower ones; one thread a core."""
    readers: dict[str, object] = {"cores.E.count": 8}
    changes: list[dict[str, object]] = [{}, readers]
    changes += [{"cores.E.chain_cycles_per_element": cycles} for cycles in (4.0, 6.0, 8.0, 10.0)]
    changes += [{**each, "cores.P.hardware_threads_per_core": 1} for each in changes]
    split = [_equal_split(machines.with_values(grid.machine, each)) for each in changes]
    told = [each for each in split if not near(each[0], each[1], published.TOO_CLOSE)]
    agreeing = sum((worth > threshold) == lose for worth, threshold, lose in told)
    worth, threshold, lose = split[0]
    reader = split[1]
    processes = [_loss_of_processes(machines.with_values(grid.machine, each)) for each in changes[:2]]
    ours = (
        f"by threads {worth:.2f} against {threshold:g} on this machine: equal shares over all "
        f"{'lose' if lose else 'win'}; {reader[0]:.2f} against {reader[1]:g} with 8 slow cores: they "
        f"{'lose' if reader[2] else 'win'}; the inequality names the winner in {agreeing} of {len(told)} "
        f"cells; MPI with equal subdomains takes {100 * processes[0]:+.0f} % time with the slow cores, "
        f"{100 * processes[1]:+.0f} % with 8 of them"
    )
    note = "the inequality knows the work alone: twice as many processes also exchange more"
    solver_lost = processes[1] > 0
    holds = agreeing == len(told) > 2 and reader[2] and solver_lost and split[0] in told
    return Finding(ours, holds, note)


def _h12(grid: Grid) -> Finding:
    """A BLAS is not simulated: where the rows say enough, short runs on this machine decide."""
    row = grid.row(LOOP_SIZES[-1], _DYNAMIC_2)
    cores = " + ".join(f"{count} {kind}" for kind, count in row["cores"].items())
    share = row["memory_bytes"] / row["seconds"] / grid.machine.memory.memory_bytes_per_second
    ours = (
        f"each row says its cores ({cores or 'none'}), its CPUs ({format_cpus(row['cpus']) or 'none'}) and "
        f"its memory traffic ({percent(share)} of the bandwidth at n = {LOOP_SIZES[-1]})"
    )
    if not (cores and row["cpus"] and share > 0):
        return Finding(ours, False)
    found = ran.beside_blas()
    if found is None:
        return Finding(ours, None, "OpenMP's or OpenBLAS's runner is not here: tauto study loop decides it")
    return Finding(f"{ours}; {found[0]}", found[1], source=short_runs.SOURCE)


_JUDGES: dict[str, Callable[[Grid], Finding]] = {
    "H1": _h1,
    "H2": _h2,
    "H3": _h3,
    "H4": _h4,
    "H5": _h5,
    "H6": _h6,
    "H7": _h7,
    "H8": _h8,
    "H9": _h9,
    "H10": _h10,
    "H11": _h11,
    "H12": _h12,
}
