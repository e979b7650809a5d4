"""The published claims on loops on unequal cores (H1 to H12): what is claimed, and what rows show of it.

The published machine has 8 fast and 16 slow cores. Only a machine with two kinds of cores can confirm or
refute its figures (H2 to H10), and only with the published kernel: ``holds`` is None elsewhere. Here "fast"
and "slow" mean all hardware threads of such cores, as they do in the simulation (claims_simulated.py).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from tautochrone import verdicts
from tautochrone.options import format_cpus
from tautochrone.report.analysis import Claim
from tautochrone.results.runs import ratio
from tautochrone.results.states import by_state, state_words
from tautochrone.simulator.requests import PUBLISHED
from tautochrone.studies import models
from tautochrone.studies.claims import Shown, near, unknown, within
from tautochrone.studies.loop import published
from tautochrone.studies.loop.cells import CellRuns, Contender

_NO_UNEQUAL = "all cores are alike here: measure with --emulate 1:4, or on a machine with two kinds of cores"
_NEEDS_MACHINE = "a figure of the published machine (8 P + 16 E cores), which emulated cores cannot confirm"
_NEEDS_KERNEL = "measured with the tuned kernel: tauto study loop --kernel published decides it"


class _Measured(NamedTuple):
    """The cells of a study, those of unequal cores, and whether this machine itself has two kinds."""

    cells: Sequence[CellRuns]
    unequal: Sequence[CellRuns]
    hybrid: bool

    def states(self) -> Iterator[tuple[str, list[CellRuns]]]:
        for state, cells in by_state(self.unequal).items():
            yield state_words(dict(state)), cells

    @property
    def decides(self) -> bool:
        """Whether it can confirm or refute a figure of the published machine and program."""
        return self.hybrid and all(cell.kernel == PUBLISHED for cell in self.cells)

    @property
    def note(self) -> str:
        if not self.hybrid:
            return _NEEDS_MACHINE
        return "" if self.decides else _NEEDS_KERNEL

    def shown(self, ours: str, holds: bool) -> Shown:
        """A figure that only the published program on a machine of two kinds decides."""
        return ours, holds if self.decides else None, self.note


def claims(cells: Sequence[CellRuns], *, hybrid: bool) -> tuple[Claim, ...]:
    """What rows show of all claims. ``hybrid`` is True where this machine itself has two kinds of cores."""
    measured = _Measured(cells, [cell for cell in cells if cell.unequal], hybrid)
    judged = zip(published.FAMILY.statements, _MEASURED, strict=True)
    return tuple(published.FAMILY.measured(id, *judge(measured)) for id, judge in judged)


_OPENMP = ("libgomp", "libomp")


def _best_dynamic(cell: CellRuns, placement: str = "all") -> tuple[Contender, float] | None:
    """The fastest OpenMP loop that hands out chunks there, and its time; screened ones count."""
    return _fastest(
        contender
        for contender in cell.contenders
        if contender.schedule in ("dynamic", "guided")
        and contender.placement == placement
        and contender.peer in _OPENMP
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
    """How many slow threads one fast thread is worth there."""
    fast, slow = cell.fast_alone, cell.slow_alone
    if fast is None or slow is None or fast.seconds is None or slow.seconds is None:
        return None
    return models.slow_cores_worth_one_fast(fast.seconds, slow.seconds, fast.threads, slow.threads)


def _worth_of_core(cell: CellRuns) -> float | None:
    """The same of cores: a fast core works with all its threads."""
    worth, fast, alone = _worth(cell), cell.fast_alone, cell.find("libgomp", "static", "fast-cores")
    if worth is None or fast is None:
        return None
    return worth * fast.threads / alone.threads if alone is not None else worth


# -- claim by claim --


def _h1(measured: _Measured) -> Shown:
    if not measured.unequal:
        return unknown(_NO_UNEQUAL)
    found: list[tuple[str, list[Contender | None]]] = [
        ("equal shares over all", [_static_all(cell) for cell in measured.unequal]),
        ("fast cores only", [cell.fast_alone for cell in measured.unequal]),
        ("dynamic over all", [best[0] for cell in measured.unequal if (best := _best_dynamic(cell))]),
        ("slow cores only", [cell.slow_alone for cell in measured.unequal]),
    ]
    missing, parts = [], []
    for name, contenders in found:
        ran = next((each for each in contenders if each is not None), None)
        if ran is None or not _ran_where_asked(ran):
            missing.append(name)
        else:
            parts.append(f"{name} on CPUs {format_cpus(ran.config['cpus'])}")
    ours = f"missing, or not on its threads: {', '.join(missing)}" if missing else "; ".join(parts)
    return ours, not missing, ""


def _ran_where_asked(contender: Contender) -> bool:
    """Whether all its workers were on the CPUs of its placement."""
    return {int(worker["cpu"]) for worker in contender.workers} <= set(contender.config["cpus"])


def _rival_of_fast(cell: CellRuns) -> tuple[Contender, float] | None:
    """The fastest OpenMP loop that is not on the fast cores alone."""
    elsewhere = (each for each in cell.contenders if each.placement not in ("fast", "fast-cores"))
    return _fastest(each for each in elsewhere if each.peer in _OPENMP)


def _h2(measured: _Measured) -> Shown:
    if not measured.unequal:
        return unknown(_NO_UNEQUAL)
    parts: list[str] = []
    ends: list[float] = []
    for words, cells in measured.states():
        end, before, seen = math.inf, 0, False
        for cell in sorted(cells, key=lambda cell: cell.size):
            fast, rival = cell.fast_alone, _rival_of_fast(cell)
            if fast is None or not fast.seconds or rival is None:
                continue
            seen = True
            if rival[1] < fast.seconds:
                end = (before + cell.size) / 2
                parts.append(f"{words}: fast alone leads up to n ≈ {end:.0f}, then {rival[0].label}")
                break
            before = cell.size
        if seen:
            ends.append(end)
            parts += [f"{words}: fast alone leads at all sizes"] if math.isinf(end) else []
    if not parts:
        return unknown("neither the fast cores alone nor anything else was measured beside them")
    return measured.shown("; ".join(parts), all(within(published.CROSSING_SIZES, end) for end in ends))


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
    return measured.shown(ours, all(within(published.BEST_GAIN, gain) for gain, _ in gains.values()))


def _of_bound(cell: CellRuns, chunk: int) -> float | None:
    """The time of dynamic over all with that chunk, as a multiple of the bound's."""
    bound = cell.bound_seconds()
    found = _fastest(
        each
        for each in cell.contenders
        if (each.schedule, each.chunk, each.placement) == ("dynamic", chunk, "all") and each.peer in _OPENMP
    )
    return found[1] / bound if found is not None and bound else None


def _sizes_of_bound(cells: Sequence[CellRuns], chunk: int) -> list[tuple[int, float]]:
    by_size = sorted(cells, key=lambda cell: cell.size)
    return [(cell.size, value) for cell in by_size if (value := _of_bound(cell, chunk)) is not None]


def _at_bound(value: float) -> bool:
    return near(value, 1, published.NEAR_BOUND)


def _h4(measured: _Measured) -> Shown:
    """Two neighbouring sizes at which the same dynamic loop takes the bound's time."""
    curves = [
        (words, _sizes_of_bound(cells, chunk)) for words, cells in measured.states() for chunk in (1, 2)
    ]
    points = [(value, size, words) for words, curve in curves for size, value in curve]
    if not points:
        return unknown(_NO_UNEQUAL)
    value, size, words = min(points, key=lambda point: abs(math.log(point[0])))
    pairs = [pair for _, curve in curves for pair in itertools.pairwise(curve)]
    holds = any(_at_bound(first[1]) and _at_bound(second[1]) for first, second in pairs)
    return measured.shown(f"nearest: {value:.2f} of the bound's time at n = {size}, {words}", holds)


def _chunk_times(cell: CellRuns) -> dict[int, float]:
    """Chunk → seconds of libgomp's dynamic loop over all."""
    wanted = ("libgomp", "dynamic", "all", "default")
    return {
        contender.chunk: seconds
        for contender in cell.contenders
        if (contender.peer, contender.schedule, contender.placement, contender.wait) == wanted
        and contender.chunk is not None
        and (seconds := contender.any_seconds) is not None
    }


def _h5(measured: _Measured) -> Shown:
    gains: list[tuple[float, str]] = []
    longer: list[float] = []
    for cell in measured.cells:
        seconds = _chunk_times(cell)
        if not {1, 2} <= seconds.keys():
            continue
        gains.append((1 - seconds[2] / seconds[1], f"n = {cell.size}, {state_words(cell.emulated)}"))
        if cell.size >= published.CHUNKS_FROM:
            longer += [1 - seconds[chunk] / seconds[2] for chunk in (4, 8, 16) if chunk in seconds]
    if not gains:
        return unknown("dynamic with chunks 1 and 2 was not measured side by side")
    gain, where = max(gains)
    ours = f"chunk 2 takes {100 * gain:.0f} % less time than chunk 1 at {where}"
    if not longer:
        return ours, None, f"no longer chunk was measured from n = {published.CHUNKS_FROM} on"
    ours += f"; the best of 4 to 16 takes {100 * max(longer):.0f} % less than 2"
    return measured.shown(ours, gain >= published.CHUNK_2_GAIN and max(longer) <= published.LONGER_CHUNKS)


def _h6(measured: _Measured) -> Shown:
    ones, twos = (
        [point for _, cells in measured.states() for point in _sizes_of_bound(cells, chunk)]
        for chunk in (1, 2)
    )
    if not ones or not twos:
        return unknown(_NO_UNEQUAL if not measured.unequal else "chunks 1 and 2 were not measured")
    over = [size for size, value in twos if value < published.PASSED_BY]
    reached = [sum(_at_bound(value) for _, value in points) for points in (ones, twos)]
    ours = f"within 3 % of the bound in {reached[0]} cells with chunk 1, in {reached[1]} with chunk 2; "
    ours += f"passed by more than 1 % at n = {', '.join(map(str, over))}" if over else "passed nowhere"
    if max(size for size, _ in twos) <= published.PASSED_NOWHERE_ABOVE:
        return ours, None, measured.note or f"needs sizes above {published.PASSED_NOWHERE_ABOVE}"
    return measured.shown(ours, reached[1] > reached[0] and published.passed_where_published(over))


def _misses(contender: Contender | None) -> float | None:
    """cache-misses / cache-references of its last run, where the kernel counted both."""
    counters = contender.last.counters if contender is not None and contender.last is not None else None
    if not counters or counters.get("cache_misses") is None or not counters.get("cache_references"):
        return None
    return float(counters["cache_misses"]) / float(counters["cache_references"])


def _h7(measured: _Measured) -> Shown:
    """Of the fast cores alone, and of the fastest dynamic loop over all."""
    both = [
        (cell.size, fast, dynamic)
        for cell in measured.unequal
        if (fast := _misses(cell.fast_alone)) is not None
        and (best := _best_dynamic(cell)) is not None
        and (dynamic := _misses(best[0])) is not None
    ]
    inside = [fast > dynamic for size, fast, dynamic in both if within(published.PASSED_SIZES, size)]
    outside = [fast < dynamic for size, fast, dynamic in both if not within(published.PASSED_SIZES, size)]
    if not inside or not outside:
        return unknown("needs hardware counters in runs inside and outside n = 3000 to 5000; see miss ratios")
    ours = "; ".join(
        f"n = {size}: {100 * fast:.0f} % on the fast cores, {100 * dynamic:.0f} % on all"
        for size, fast, dynamic in both
    )
    return measured.shown(ours, any(inside) and all(outside))


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
    if largest.size < published.LARGE_SIZE:
        return ours, None, measured.note or f"needs n = {published.LARGE_SIZE} or more"
    alike = near(dynamic, fast, published.NEARLY_EQUAL)
    return measured.shown(ours, alike and all(within(published.LARGE_GAIN, gain) for gain in gains))


def _h9(measured: _Measured) -> Shown:
    if not measured.hybrid:
        return unknown("needs two or more fast cores whose turbo clocks differ")
    largest = max(measured.unequal, key=lambda cell: cell.size, default=None)
    fast = largest.fast_alone if largest is not None else None
    ways = [_best_dynamic(largest, where) if largest is not None else None for where in ("fast", "all")]
    if largest is None or fast is None or not fast.seconds or None in ways:
        return unknown("dynamic on the fast cores alone and over all was not measured")
    gains = [1 - way[1] / fast.seconds for way in ways if way is not None]
    ours = (
        f"{100 * gains[0]:.1f} % less time at n = {largest.size}, {100 * gains[1]:.1f} % with the slow cores"
    )
    if largest.size < published.LARGE_SIZE:
        return ours, None, f"needs n = {published.LARGE_SIZE} or more"
    return measured.shown(ours, all(within(published.TURBO_GAIN, gain) for gain in gains))


def _h10(measured: _Measured) -> Shown:
    worth = {
        words: values
        for words, cells in measured.states()
        if (
            values := [
                value
                for cell in cells
                if within((min(published.WORTH_SIZES), max(published.WORTH_SIZES)), cell.size)
                and (value := _worth_of_core(cell)) is not None
            ]
        )
    }
    if not worth:
        return unknown("needs n = 2000 to 3000, which caches hold" if measured.unequal else _NO_UNEQUAL)
    ours = "; ".join(f"{words}: {min(values):.2f} to {max(values):.2f}" for words, values in worth.items())
    if not measured.hybrid:
        return ours, None, "the factor was chosen here, by emulation"
    return measured.shown(
        ours, all(within(published.WORTH, value) for values in worth.values() for value in values)
    )


def _h11(measured: _Measured) -> Shown:
    """The inequality is judged where its two sides are measured and the winner is resolved."""
    agreeing, tested, others = 0, 0, []
    for cell in measured.unequal:
        worth, fast, slow, static = _worth(cell), cell.fast_alone, cell.slow_alone, _static_all(cell)
        if worth is None or fast is None or slow is None or static is None:
            continue
        verdict = ratio(static, fast).verdict
        threshold = models.equal_split_threshold(fast.threads, slow.threads)
        if verdict not in (verdicts.FASTER, verdicts.SLOWER) or near(worth, threshold, published.UNRESOLVED):
            continue
        agrees = (worth > threshold) == (verdict == verdicts.SLOWER)
        if not within(published.SHARED_OUT_SIZES, cell.size):
            others.append(agrees)
            continue
        tested += 1
        agreeing += agrees
    beyond = f"; of smaller and larger ones, which are not judged, in {sum(others)} of {len(others)}"
    if not tested:
        why = "no cell from n = 1000 to 4000 resolves equal shares from fast alone"
        return unknown(f"{why}{beyond if others else ''}" if measured.unequal else _NO_UNEQUAL)
    said = f"the inequality names the winner in {agreeing} of {tested} cells"
    return f"{said}{beyond if others else ''}", agreeing == tested, ""


def _h12(measured: _Measured) -> Shown:
    """Whether each row says what was asked for, and whether OpenBLAS was measured beside."""
    finalists = [each for cell in measured.cells for each in cell.finalists]
    said = bool(finalists) and all(each.config.get("cores") and each.config.get("cpus") for each in finalists)
    share = any(each.detail.get("bytes_per_iteration") for each in finalists)
    blas = any(each.peer == "openblas" for each in finalists)
    parts = [
        f"each row {'says' if said else 'does not say'} its cores and CPUs",
        f"its memory traffic is {'there' if share else 'missing'}",
        f"OpenBLAS {'ran beside' if blas else 'was not measured'}",
    ]
    return "; ".join(parts), said and share and blas, ""


_MEASURED = (_h1, _h2, _h3, _h4, _h5, _h6, _h7, _h8, _h9, _h10, _h11, _h12)
