"""The published claims on loops on unequal cores, each beside what this machine shows of it.

The published machine has 8 fast and 16 slow cores. A figure of another machine can agree with the shape of a
claim but cannot confirm its figures, so ``holds`` is None wherever the claim is about that machine.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from tautochrone import models, statistics
from tautochrone.published import PUBLISHED
from tautochrone.report.analysis_types import Claim
from tautochrone.studies.contenders import ratio
from tautochrone.studies.loop.cells import CellRuns, Contender
from tautochrone.studies.wording import by_state, state_words

_NO_UNEQUAL = "all cores are alike here: measure with --emulate 1:4, or on a machine with two kinds of cores"
_TOO_CLOSE = 0.1  # of the threshold: there a fork decides, not the inequality
_NEEDS_MACHINE = "a figure of the published machine (8 P + 16 E cores), which emulated cores cannot confirm"


def claims(cells: Sequence[CellRuns], *, hybrid: bool) -> tuple[Claim, ...]:
    """All claims of the study. ``hybrid`` is True where this machine itself has two kinds of cores."""
    unequal = [cell for cell in cells if cell.unequal]
    judges: dict[str, Callable[[], Claim]] = {
        "H1": lambda: _h1(unequal),
        "H2": lambda: _h2(unequal, hybrid),
        "H3": lambda: _h3(unequal, hybrid),
        "H4": lambda: _h4(unequal),
        "H5": lambda: _h5(cells),
        "H6": lambda: _h6(unequal, hybrid),
        "H7": lambda: _unknown("H7", "needs hardware counters in a run of each placement; see miss ratios"),
        "H8": lambda: _h8(unequal, hybrid),
        "H9": lambda: (
            _unknown("H9", "needs two or more fast cores whose turbo clocks differ")
            if not hybrid
            else _h9(unequal)
        ),
        "H10": lambda: _h10(unequal, hybrid),
        "H11": lambda: _h11(unequal),
        "H12": lambda: _h12(cells),
    }
    return tuple(judge() for judge in judges.values())


def _claim(id: str, ours: str, holds: bool | None, note: str = "") -> Claim:
    return Claim(id=id, published=PUBLISHED[id], ours=ours, holds=holds, note=note)


def _unknown(id: str, why: str) -> Claim:
    return _claim(id, "not measured here", None, why)


def _best_dynamic(cell: CellRuns) -> Contender | None:
    """The fastest OpenMP loop that hands out chunks, over all cores; of the screened ones too."""
    found = [
        one
        for one in cell.contenders
        if one.schedule in ("dynamic", "guided") and one.placement == "all" and one.any_seconds is not None
        if one.peer in ("libgomp", "libomp")
    ]
    return min(found, key=lambda one: one.any_seconds or 0.0, default=None)


def _static_all(cell: CellRuns) -> Contender | None:
    return cell.plain_openmp or cell.find("libgomp", "static", "all")


def _h1(unequal: Sequence[CellRuns]) -> Claim:
    if not unequal:
        return _unknown("H1", _NO_UNEQUAL)
    ran = {
        "equal shares over all": any(_static_all(cell) for cell in unequal),
        "fast cores only": any(cell.fast_alone for cell in unequal),
        "dynamic over all": any(_best_dynamic(cell) for cell in unequal),
        "slow cores only": any(cell.slow_alone for cell in unequal),
    }
    missing = [name for name, there in ran.items() if not there]
    ours = f"all ran, and {list(ran)[-1]} too" if not missing else f"missing: {', '.join(missing)}"
    return _claim("H1", ours, not missing)


def _advantages(cells: Sequence[CellRuns]) -> list[tuple[int, float]]:
    """For each size the time of the fast cores alone by that of the best dynamic loop over all cores."""
    found: list[tuple[int, float]] = []
    for cell in cells:
        fast, dynamic = cell.fast_alone, _best_dynamic(cell)
        if fast is not None and dynamic is not None and fast.seconds and dynamic.any_seconds:
            found.append((cell.size, fast.seconds / dynamic.any_seconds))
    return sorted(found)


def _states(unequal: Sequence[CellRuns]) -> Iterator[tuple[str, list[CellRuns]]]:
    for state, cells in by_state(unequal).items():
        yield state_words(dict(state)), cells


def _h2(unequal: Sequence[CellRuns], hybrid: bool) -> Claim:
    if not unequal:
        return _unknown("H2", _NO_UNEQUAL)
    parts: list[str] = []
    crossings: list[int] = []
    for words, cells in _states(unequal):
        advantages = _advantages(cells)
        fast_wins = [size for size, advantage in advantages if advantage <= 1]
        if fast_wins:
            crossings.append(max(fast_wins))
            parts.append(f"{words}: fast alone is ahead up to n = {max(fast_wins)}")
        elif advantages:
            parts.append(f"{words}: dynamic over all is ahead from n = {advantages[0][0]} on")
    if not parts:
        return _unknown("H2", "dynamic over all cores or the fast cores alone were not measured")
    holds = any(1500 <= size <= 3000 for size in crossings) if hybrid else None
    return _claim("H2", "; ".join(parts), holds, "" if hybrid else _NEEDS_MACHINE)


def _h3(unequal: Sequence[CellRuns], hybrid: bool) -> Claim:
    parts: list[str] = []
    gains: list[float] = []
    for words, cells in _states(unequal):
        best: tuple[float, int] | None = None
        for cell in cells:
            dynamic, fast, static = _best_dynamic(cell), cell.fast_alone, _static_all(cell)
            if dynamic is None or fast is None or static is None:
                continue
            rival = min(fast.seconds or 0.0, static.seconds or 0.0)
            gain = 1 - (dynamic.any_seconds or rival) / rival if rival else 0.0
            best = max(best or (gain, cell.size), (gain, cell.size))
        if best is not None:
            gains.append(best[0])
            parts.append(
                f"{words}: at most {100 * best[0]:.0f} % less time than the better one, at n = {best[1]}"
            )
    if not parts:
        return _unknown("H3", _NO_UNEQUAL if not unequal else "not all three ways were measured")
    return _claim("H3", "; ".join(parts), 0.25 <= max(gains) <= 0.35 if hybrid else None, _NEEDS_MACHINE)


def _h4(unequal: Sequence[CellRuns]) -> Claim:
    """Shape: somebody comes within 3 % of the bound somewhere."""
    closest: tuple[float, str] | None = None
    for cell in unequal:
        bound = cell.bound_seconds()
        if bound is None or not cell.finalists or cell.finalists[0].seconds is None:
            continue
        best = cell.finalists[0]
        where = f"{best.label} at n = {cell.size}, {state_words(cell.emulated)}"
        near = ((best.seconds or bound) / bound, where)
        closest = min(closest or near, near)
    if closest is None:
        return _unknown("H4", _NO_UNEQUAL)
    return _claim("H4", f"closest: {closest[0]:.2f} of the bound's time, {closest[1]}", closest[0] <= 1.03)


def _h5(cells: Sequence[CellRuns]) -> Claim:
    gains: list[tuple[float, str]] = []
    for cell in cells:
        chunks = {
            one.chunk: one
            for one in cell.contenders
            if (one.peer, one.schedule, one.placement, one.wait) == ("libgomp", "dynamic", "all", "default")
        }
        one, two = chunks.get(1), chunks.get(2)
        if one and two and one.any_seconds and two.any_seconds:
            where = f"n = {cell.size}, {state_words(cell.emulated)}"
            gains.append((1 - two.any_seconds / one.any_seconds, where))
    if not gains:
        return _unknown("H5", "dynamic with chunks 1 and 2 was not measured side by side")
    best = max(gains)
    note = "from the screening runs: medians without an interval"
    return _claim(
        "H5",
        f"chunk 2 takes {100 * best[0]:.0f} % less time than chunk 1 at {best[1]}",
        best[0] >= 0.05,
        note,
    )


def _h6(unequal: Sequence[CellRuns], hybrid: bool) -> Claim:
    over = [
        f"n = {cell.size} {state_words(cell.emulated)}"
        for cell in unequal
        if (bound := cell.bound_seconds())
        and cell.finalists
        and (cell.finalists[0].seconds or bound) < 0.99 * bound
    ]
    if not unequal:
        return _unknown("H6", _NO_UNEQUAL)
    sizes = [cell.size for cell in unequal]
    holds = None
    if hybrid and max(sizes) > 6000:
        passed = {cell.size for cell in unequal if f"n = {cell.size} {state_words(cell.emulated)}" in over}
        holds = any(3000 <= size <= 5000 for size in passed) and not any(size > 6000 for size in passed)
    ours = f"passed by more than 1 % at: {'; '.join(over)}" if over else "nowhere passed by more than 1 %"
    return _claim("H6", ours, holds, "" if hybrid else _NEEDS_MACHINE)


def _h8(unequal: Sequence[CellRuns], hybrid: bool) -> Claim:
    if not unequal:
        return _unknown("H8", _NO_UNEQUAL)
    largest = max(unequal, key=lambda cell: cell.size)
    dynamic, fast, static = _best_dynamic(largest), largest.fast_alone, _static_all(largest)
    if dynamic is None or fast is None or static is None or not (fast.seconds and static.seconds):
        return _unknown("H8", "not all three ways were measured at the largest size")
    ours = (
        f"at n = {largest.size}, {state_words(largest.emulated)}: dynamic over all takes "
        f"{100 * (1 - (dynamic.any_seconds or 0.0) / static.seconds):.0f} % and the fast cores alone "
        f"{100 * (1 - fast.seconds / static.seconds):.0f} % less time than equal shares over all"
    )
    if not hybrid or largest.size < 8000:
        return _claim("H8", ours, None, _NEEDS_MACHINE if not hybrid else "needs n = 8000 or more")
    gains = [1 - (dynamic.any_seconds or 0.0) / static.seconds, 1 - fast.seconds / static.seconds]
    return _claim("H8", ours, all(0.08 <= gain <= 0.18 for gain in gains))


def _h9(unequal: Sequence[CellRuns]) -> Claim:
    largest = max(unequal, key=lambda cell: cell.size, default=None)
    fast = largest.fast_alone if largest is not None else None
    dynamic = [
        one
        for one in (largest.contenders if largest is not None else [])
        if one.placement == "fast" and one.schedule == "dynamic" and one.any_seconds is not None
    ]
    if largest is None or fast is None or not fast.seconds or not dynamic:
        return _unknown("H9", "dynamic on the fast cores alone was not measured")
    best = min(one.any_seconds or 0.0 for one in dynamic)
    gain = 1 - best / fast.seconds
    return _claim("H9", f"{100 * gain:.1f} % less time at n = {largest.size}", 0.01 <= gain <= 0.05)


def _worth(cell: CellRuns) -> float | None:
    fast, slow = cell.fast_alone, cell.slow_alone
    if fast is None or slow is None or fast.seconds is None or slow.seconds is None:
        return None
    return models.slow_cores_worth_one_fast(
        fast.seconds, slow.seconds, int(fast.config["threads"]), int(slow.config["threads"])
    )


def _h10(unequal: Sequence[CellRuns], hybrid: bool) -> Claim:
    parts: list[str] = []
    values: list[float] = []
    for words, cells in _states(unequal):
        found = [worth for cell in cells if (worth := _worth(cell)) is not None]
        if found:
            values += found
            parts.append(f"{words}: {min(found):.2f} to {max(found):.2f}")
    if not parts:
        return _unknown("H10", _NO_UNEQUAL)
    holds = any(3.3 <= value <= 4.5 for value in values) if hybrid else None
    return _claim(
        "H10", "; ".join(parts), holds, "" if hybrid else "the factor was chosen here, by emulation"
    )


def _h11(unequal: Sequence[CellRuns]) -> Claim:
    """The inequality is judged where its two sides are measured and the winner is resolved."""
    agreeing, tested = 0, 0
    for cell in unequal:
        worth, fast, slow, static = _worth(cell), cell.fast_alone, cell.slow_alone, _static_all(cell)
        if worth is None or fast is None or slow is None or static is None:
            continue
        found = ratio(static, fast)
        if found.verdict not in (statistics.FASTER, statistics.SLOWER):
            continue
        counts = int(fast.config["threads"]), int(slow.config["threads"])
        if abs(worth / models.equal_split_threshold(*counts) - 1) < _TOO_CLOSE:
            continue
        predicted = worth > models.equal_split_threshold(*counts)
        tested += 1
        agreeing += predicted == (found.verdict == statistics.SLOWER)
    if not tested:
        return _unknown(
            "H11", _NO_UNEQUAL if not unequal else "no cell resolves equal shares from fast alone"
        )
    return _claim(
        "H11", f"the inequality names the winner in {agreeing} of {tested} cells", agreeing == tested
    )


def _h12(cells: Sequence[CellRuns]) -> Claim:
    blas = any(one.peer == "openblas" and one.by_round for cell in cells for one in cell.contenders)
    said = "cores that ran and the memory's share are in this report"
    return _claim("H12", f"{said}; OpenBLAS {'ran beside' if blas else 'was not measured'}", blas)
