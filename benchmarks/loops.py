"""B3, B4, B5: the loop study on equal and on unequal cores, against the peers and against the bound."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

from benchmarks.context import Bench, Budget, Context
from benchmarks.entry import Entry, not_measured, of_comparison, worst
from benchmarks.loop_cells import (
    FACTORS,
    MOST_ROUNDS,
    ROUNDS,
    SHORT_SOLVE,
    SIZES,
    Contest,
    Key,
    affordable_rounds,
    cell_name,
    cell_note,
    choose,
    contest,
    listing,
    measure_cell,
    weight,
)
from tautochrone.configuration import Configuration
from tautochrone.emulate import emulated
from tautochrone.errors import TautoError
from tautochrone.row import Row
from tautochrone.statistics import compare, geometric_mean

_CALIBRATION_SECONDS = 2.0
_UNEQUAL_SHARE = (
    1.1  # of an id's time: fifteen cells, each with at least eight rounds of seven configurations
)
LARGE = 4000  # where a neighbour's advice is taken from the next smaller size, because runs take long
Pairs = list[tuple[float, float]]


def equal_cores(context: Context) -> list[Entry]:
    """B3."""
    budget = context.budget()
    sizes = _sizes_of(context, SIZES, (1.0,))
    cells: list[Entry] = []
    recommended: list[Key] | None = None
    for place, (size, _) in enumerate(sizes):
        seconds = budget.share(weight(size), sum(weight(one) for one, _ in sizes[place:]))
        cell = contest(context, size, 1.0)
        with context.bench(f"B3/{size}") as bench:
            neighbour = recommended if size >= LARGE else None
            best, recommended = _best(context, bench, cell, seconds, budget, [], neighbour)
            found = compare(bench.pairs(cell.ours, best))
            what = f"loop study, equal cores, n = {size}"
            note = cell_note(bench, cell, best)
            cells.append(
                context.add(
                    of_comparison(
                        f"B3/{size}", what, _short(best), found, 1.03, cell=cell_name(size, 1), note=note
                    )
                )
            )
    return [
        context.add(worst("B3", "loop study, equal cores, against the best of all peers", cells, 1.03)),
        *cells,
    ]


def unequal_cores(context: Context) -> list[Entry]:
    """B4."""
    budget = Budget(context.clock, context.seconds_per_id * _UNEQUAL_SHARE)
    todo = _sizes_of(context, SIZES, FACTORS)
    cells: list[Entry] = []
    best_pairs: list[Pairs] = []
    default_pairs: dict[str, list[Pairs]] = {}
    known: dict[int, list[Key]] = {}  # by size, what the last cell of that size found fastest
    for factor, group in _by_factor(todo):
        with _slowed(context, factor, cells, group, "B4/a", 1.03) as calibrated:
            for size in group if calibrated else ():
                left = [one for one in todo if (one[1], one[0]) >= (factor, size)]
                waiting = _CALIBRATION_SECONDS * len({one[1] for one in left if one[1] > factor})
                seconds = Budget(context.clock, max(0.0, budget.left - waiting)).share(
                    weight(size), sum(weight(one) for one, _ in left)
                )
                neighbour = known.get(size) or (known.get(_smaller(size)) if size >= LARGE else None)
                known[size] = _unequal_cell(
                    context, size, factor, seconds, budget, neighbour, cells, best_pairs, default_pairs
                )
    return conclude_unequal(context, cells, best_pairs, default_pairs)


def _unequal_cell(
    context: Context,
    size: int,
    factor: float,
    seconds: float,
    budget: Budget,
    neighbour: list[Key] | None,
    cells: list[Entry],
    best_pairs: list[Pairs],
    default_pairs: dict[str, list[Pairs]],
) -> list[Key]:
    """One cell; returns what it recommends to its neighbours."""
    cell = contest(context, size, factor)
    name = cell_name(size, factor)
    begun = context.clock.monotonic()
    with context.bench(f"B4/{name}") as bench:
        defaults = [made for _, made in cell.defaults]
        best, recommended = _best(context, bench, cell, seconds, budget, defaults, neighbour)
        pairs = bench.pairs(cell.ours, best)
        best_pairs.append(pairs)
        what = f"loop study, core {context.cpus[1]} slowed by {factor:g}, n = {size}"
        note = f"{cell_note(bench, cell, best)}, {context.clock.monotonic() - begun:.1f} s"
        cells.append(
            context.add(
                of_comparison(f"B4/a/{name}", what, _short(best), compare(pairs), 1.03, cell=name, note=note)
            )
        )
        for candidate, made in cell.defaults:
            default_pairs.setdefault(candidate.peer, []).append(bench.pairs(cell.ours, made))
    return recommended


def conclude_unequal(
    context: Context, cells: list[Entry], best_pairs: list[Pairs], default_pairs: dict[str, list[Pairs]]
) -> list[Entry]:
    """The rows of B4: each part by itself, and all of them as one."""
    every_default = [pairs for of_peer in default_pairs.values() for pairs in of_peer]
    top = worst("B4/a/worst", "a: against the best of all peers, worst cell", cells, 1.03)
    mean = of_comparison(
        "B4/a/mean",
        f"a: the same, geometric mean of {len(best_pairs)} cells",
        "best of all peers",
        geometric_mean(best_pairs),
        1.0,
    )
    by_peer = [
        of_comparison(
            f"B4/b/{peer}",
            f"b: against {peer}'s default, geometric mean",
            peer,
            geometric_mean(cells_of),
            0.75,
        )
        for peer, cells_of in default_pairs.items()
    ]
    defaults = of_comparison(
        "B4/b/mean",
        "b: against each peer's default, geometric mean",
        "defaults",
        geometric_mean(every_default),
        0.75,
    )
    parts = [top, mean, defaults]
    verdicts = [one.met for one in parts]
    met = False if False in verdicts else None if None in verdicts else True
    note = "; ".join(f"{one.what}: {_figure(one)} (target {one.target:g})" for one in parts)
    own = replace(
        mean, id="B4", what="loop study, unequal cores: a in every cell, a in the mean, b", met=met, note=note
    )
    return [context.add(one) for one in (own, *parts, *by_peer)] + cells


def _figure(entry: Entry) -> str:
    return "not measured" if entry.ratio is None else f"{entry.ratio:.3f}"


def bound(context: Context) -> list[Entry]:
    """B5."""
    budget = context.budget()
    todo = _sizes_of(context, (2000, 4000, 8000), FACTORS)
    weights = {one: _bound_weight(*one) for one in todo}
    cells: list[Entry] = []
    for factor, group in _by_factor(todo):
        with _slowed(context, factor, cells, group, "B5", 1.06) as calibrated:
            for size in group if calibrated else ():
                left = sum(weights[one] for one in todo if (one[1], one[0]) >= (factor, size))
                _bound_cell(context, size, factor, budget.share(weights[size, factor], left), cells)
    own = worst("B5", "loop study, unequal cores, against the bound W/Σs", cells, 1.06)
    return [context.add(own), *cells]


def _bound_weight(size: int, factor: float) -> float:
    """About the seconds of a round: filling and running the matrix on the slow core takes most of them."""
    return 0.3 + (0.4 + 0.4 * factor) * (size / 8000) ** 2


def _bound_cell(context: Context, size: int, factor: float, seconds: float, cells: list[Entry]) -> None:
    cell = contest(context, size, factor)
    alone = [_alone(context, cell, cpu) for cpu in context.cpus]
    name = cell_name(size, factor)
    with context.bench(f"B5/{name}") as bench:
        rounds = max(ROUNDS, min(MOST_ROUNDS, int(seconds / _bound_weight(size, factor))))
        rows = bench.run([cell.ours, *alone], rounds, seconds)
        found = compare(bound_pairs(rows, cell.ours, alone))
        what = f"loop study, core {context.cpus[1]} slowed by {factor:g}, n = {size}, against W/Σs"
        note = "; ".join(bench.errors())
        cells.append(
            context.add(of_comparison(f"B5/{name}", what, "bound W/Σs", found, 1.06, cell=name, note=note))
        )


def bound_pairs(rows: Sequence[Row], ours: Configuration, alone: Sequence[Configuration]) -> Pairs:
    """(our seconds, the bound's) of each round in which all of them were measured.

    A core that needs t seconds alone has the speed W/t; together they need W/Σ(W/t) = 1/Σ(1/t) seconds.
    """
    by_round: dict[int, dict[str, float]] = {}
    for row in rows:
        by_round.setdefault(row["round"], {})[row["config_id"]] = float(row["seconds"])
    wanted = [ours.config_id, *(one.config_id for one in alone)]
    return [
        (found[ours.config_id], 1.0 / sum(1.0 / found[one.config_id] for one in alone))
        for _, found in sorted(by_round.items())
        if all(config_id in found for config_id in wanted)
    ]


def _alone(context: Context, cell: Contest, cpu: int) -> Configuration:
    """The serial loop on one core. A solve of few iterations: its answer is checked all the same."""
    state = context.peer("serial")
    assert state.path is not None
    settings = {
        **cell.ours.settings,
        "runtime": "serial",
        "library": "serial",
        "schedule": "serial",
        "cpus": [cpu],
    }
    words = [str(word) for word in cell.ours.command]
    timing = [
        word for name in ("--warmup-seconds", "--min-seconds") for word in words[words.index(name) :][:2]
    ]
    command = [str(state.path), "--size", str(cell.size), "--cpus", str(cpu), *timing, *SHORT_SOLVE]
    return Configuration(f"serial on CPU {cpu}", command, {}, settings, cell.ours.group)


def _best(
    context: Context,
    bench: Bench,
    cell: Contest,
    seconds: float,
    budget: Budget,
    others: Sequence[Configuration],
    neighbour: list[Key] | None,
) -> tuple[Configuration, list[Key]]:
    """Choose, measure, and show everything that was tried when asked to.

    Returns the chosen peer and what to recommend to a neighbouring cell. The reported rounds may take more
    than the cell's share of the time, at the cost of later cells: eight rounds or no verdict.
    """
    own = Budget(context.clock, seconds)
    (_, best), recommended = choose(bench, cell, seconds, neighbour)
    rounds = ROUNDS if others else affordable_rounds(bench, cell, best, own.left)
    measure_cell(bench, cell, best, others, budget.left, rounds)
    if context.verbose:
        context.say(f"n = {cell.size}, slowed {dict(cell.emulation) or 'none'}\n{listing(bench, cell)}")
    return best, recommended


def _smaller(size: int) -> int:
    return max((one for one in SIZES if one < size), default=0)


@contextmanager
def _slowed(
    context: Context, factor: float, cells: list[Entry], group: Sequence[int], prefix: str, target: float
) -> Iterator[bool]:
    """The machine with core 1 slowed; False, and a row that says why, where that cannot be had."""
    try:
        emulation = emulated({context.cpus[1]: factor})
        emulation.__enter__()
    except TautoError as error:
        for size in group:
            name = cell_name(size, factor)
            what = f"loop study, core {context.cpus[1]} slowed by {factor:g}, n = {size}"
            row = not_measured(f"{prefix}/{name}", what, "", target, str(error), cell=name)
            cells.append(context.add(row))
        yield False
        return
    try:
        yield True
    finally:
        emulation.__exit__(None, None, None)


def _by_factor(todo: Sequence[tuple[int, float]]) -> list[tuple[float, list[int]]]:
    """The sizes of each factor, small factors and small sizes first."""
    factors = sorted({factor for _, factor in todo})
    return [(factor, sorted(size for size, one in todo if one == factor)) for factor in factors]


def _sizes_of(context: Context, sizes: Sequence[int], factors: Sequence[float]) -> list[tuple[int, float]]:
    """The cells of a benchmark that were asked for, all of them unless --cells says otherwise."""
    every = [(size, factor) for factor in factors for size in sizes]
    if context.cells is None:
        return every
    chosen = [one for one in context.cells if (one[1] == 1.0) == (1.0 in factors)]
    return sorted(chosen, key=lambda one: (one[1], one[0]))


def _short(one: Configuration) -> str:
    """A configuration's name without the cell that the row names already."""
    return one.name.split(", n = ")[0]
