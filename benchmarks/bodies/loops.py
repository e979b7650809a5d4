"""B3, B4, B5, B8: the loop study on equal, unequal and changing cores, against the peers and the bound.

A cell is a size on a state of the machine: ours with no settings against everything that the peers can do.
The study's own candidates and commands are used. Choosing goes from coarse to fine: a round of every schedule
with some chunks, then a round of the other chunks and wait policies of the fastest, then more rounds of the
few that lead. What a neighbouring cell found hopeless is not tried again. Only fresh rounds are reported.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import median

from benchmarks.context import Budget, Context
from benchmarks.measurement import Measurement
from benchmarks.rounds import Bench, Pairs, Way, bound_pairs, relatives, work_over_speeds
from benchmarks.rows import Entry, all_met
from tautochrone.errors import TautoError
from tautochrone.machine import runners
from tautochrone.machine.emulate import emulated
from tautochrone.machine.placements import cpus_of, layout
from tautochrone.measuring.configuration import Configuration
from tautochrone.measuring.measure import equal_answers
from tautochrone.options import State
from tautochrone.results.row import Row, seconds_of
from tautochrone.studies.loop.configurations import StudyCell, candidates, configuration
from tautochrone.studies.loop.study import FULL_CHUNKS
from tautochrone.studies.request import Times
from tautochrone.verdicts import compare, geometric_mean

ROUNDS = 8
MOST_ROUNDS = 24
COARSE_CHUNKS = (4, 32)
LARGE = 4000  # where a neighbour's advice is taken from the next smaller size, because runs take long
HUGE = 8000  # a run takes a third of a second, most of it for clearing pages: a neighbour's advice is all
_REFINED = 3  # schedules whose other chunks and waits are tried in the second step
_LEADERS = 4  # the fastest, which are tried again
_LEADERS_ROUNDS = 3
_CARRIED = 8  # configurations that a cell recommends to its neighbours
_CALIBRATION_SECONDS = 2.0
_UNEQUAL_SHARE = 1.1  # of an id's time: fifteen cells, each at least eight rounds of seven configurations
_OURS, _SERIAL = "tautochrone", "serial"
_QUICK = Times(0.005, 0.012, 1)  # to choose, and for defaults: peers have nothing to learn
_SHORT_SOLVE = ("--solution-iterations", "1")  # of the pass that is checked; large ones take long

Key = tuple[object, ...]


# -- a cell --


@dataclass(frozen=True)
class Cell:
    """What is compared at a size on a state of the machine. `defaults`: of a peer whose user sets nothing."""

    size: int
    state: State
    ours: Configuration
    ways: tuple[Way, ...]
    defaults: tuple[Way, ...]

    @property
    def name(self) -> str:
        """``1000`` on equal cores, ``1000:4`` with core 1 four times slower."""
        return cell_name(self.size, max(self.state.values(), default=1.0))

    def coarse(self, recommended: Sequence[Key] | None) -> list[Way]:
        """What is tried first: what a neighbour recommends and what runs on one core, or all schedules."""
        if recommended is None:
            chosen = [way for way in self.ways if way.is_coarse(COARSE_CHUNKS)]
        else:
            chosen = [way for way in self.ways if way.key in recommended or self._is_lone(way)]
        return chosen or list(self.ways)

    def _is_lone(self, way: Way) -> bool:
        return way.made.settings["threads"] == 1 and (self.size < HUGE or way.peer == _SERIAL)


def cell_name(size: int, factor: float) -> str:
    """The name of a cell in its row."""
    return f"{size}" if factor == 1 else f"{size}:{factor:g}"


def times(size: int) -> Times:
    """How long a run of this size lasts; one loop of 8000 rows takes 10 ms and more."""
    return Times(0.08, 0.05, ROUNDS) if size >= HUGE else Times(0.025, 0.04, ROUNDS)


def weight(size: int) -> float:
    """The relative length of a cell of this size, for sharing out the time."""
    return 3.6 if size >= HUGE else 1.6 if size >= LARGE else 1.0


def cell_of(context: Context, size: int, factor: float) -> Cell:
    """All that takes part in a cell; nothing is run yet."""
    slow: State = {} if factor == 1 else {context.cpus[1]: factor}
    cpus = tuple(cpu for cpu in cpus_of(context.machine)[0] if cpu.number in context.cpus)
    seen = layout(cpus, slow)
    found = candidates(context.peers(), seen, FULL_CHUNKS)
    studied = StudyCell(size, slow, seen, tuple(found))
    ways: list[Way] = []
    defaults: list[Way] = []
    ours: list[Configuration] = []
    for candidate in found:
        made = configuration(studied, candidate, times(size))
        made = replace(made, name=candidate.label)  # the row's own text has the size and the factor
        if size >= LARGE:
            made = replace(made, command=[*made.command, *_SHORT_SOLVE])
        if "ours" in candidate.roles:
            ours.append(made)
        if candidate.peer != _OURS and candidate.placement.name != "slow":
            kin = (candidate.peer, candidate.schedule, candidate.placement.name)
            ways.append(Way(kin, candidate.chunk, candidate.wait, made, _quickly(made, size)))
            defaults += ways[-1:] if "default" in candidate.roles else []
    (mine,) = ours
    return Cell(size, slow, mine, tuple(ways), tuple(defaults))


def _quickly(made: Configuration, size: int) -> Configuration:
    """The same configuration in a run that is as short as it can be."""
    words = list(made.command)
    words[words.index("--warmup-seconds") + 1] = f"{_QUICK.warmup_seconds:g}"
    words[words.index("--min-seconds") + 1] = f"{_QUICK.timed_seconds:g}"
    return replace(made, command=[*words, *(("--max-iterations", "2") if size >= HUGE else ())])


def choose(
    bench: Bench, cell: Cell, seconds: float, recommended: Sequence[Key] | None
) -> tuple[Way, list[Key]]:
    """The peers' fastest way in this cell, by rounds that are not reported.

    Also what to recommend to a neighbouring cell. The first round is run whatever it takes; the later steps
    as far as `seconds` go when the time of the reported rounds is put aside.
    """
    of = {way.made.config_id: way for way in cell.ways}
    tried = cell.coarse(recommended)
    bench.screen([way.quick for way in tried], 1, seconds)
    ranked = bench.ranked(way.quick for way in tried)
    if not ranked:
        return cell.ways[0], []
    run_seconds = bench.elapsed_seconds(ranked[0])
    left = seconds - ROUNDS * (2.5 + len(cell.defaults)) * run_seconds
    left -= sum(bench.elapsed_seconds(made) for made in ranked)
    settled = cell.size >= HUGE and recommended is not None
    more = [] if settled else [way.quick for way in relatives(bench, cell.ways, tried, _REFINED)]
    if left > (len(more) + _LEADERS) * run_seconds:
        bench.screen(more, 1, left)
        left -= sum(bench.elapsed_seconds(made) for made in more)
    ranked = bench.ranked(way.quick for way in cell.ways)
    leaders = ranked[:_LEADERS]
    affordable = int(left / max(1e-3, sum(bench.elapsed_seconds(made) for made in leaders)))
    again = 1 if settled else max(1, min(_LEADERS_ROUNDS, affordable))
    bench.screen(leaders, 1 + again, max(left, 0.0))
    best = bench.ranked(leaders)[0]
    return of[best.config_id], [of[made.config_id].key for made in ranked[:_CARRIED]]


def measure_cell(
    m: Measurement,
    bench: Bench,
    cell: Cell,
    seconds: float,
    others: Sequence[Way] = (),
    recommended: Sequence[Key] | None = None,
) -> tuple[Configuration, list[Key]]:
    """Choose the peer, then fresh rounds of ours, of it and of the others; all answers must be equal.

    Returns the peer and what to recommend to a neighbouring cell. The reported rounds may take more than the
    cell's share of the time, at the cost of later cells: eight rounds or no verdict.
    """
    own = Budget(m.context.clock, seconds)
    best, recommends = choose(bench, cell, seconds, recommended)
    rounds = ROUNDS if others else _affordable_rounds(bench, cell, best.made, own.left)
    wanted = {way.made.config_id: way.quick for way in others}
    wanted |= {made.config_id: made for made in (cell.ours, best.made)}
    check = equal_answers(
        lambda row: row.config["runtime"] == "serial",
        exempt=lambda row: row.config["runtime"] == "openblas",
    )
    bench.run(list(wanted.values()), rounds, m.budget.left, check)
    if m.context.verbose:
        m.context.say(f"n = {cell.size}, slowed {dict(cell.state) or 'none'}\n{listing(bench, cell)}")
    return best.made, recommends


def _affordable_rounds(bench: Bench, cell: Cell, best: Configuration, seconds: float) -> int:
    """How many rounds of ours and the best fit into the time, between 8 and 24, decided before the first."""
    long, short = times(cell.size), _QUICK
    more = long.warmup_seconds + long.timed_seconds - short.warmup_seconds - short.timed_seconds
    return _rounds_in(seconds, 2 * (bench.elapsed_seconds(best) + more))


def _rounds_in(seconds: float, round_seconds: float) -> int:
    return max(ROUNDS, min(MOST_ROUNDS, int(seconds / round_seconds)))


def _note(bench: Bench, cell: Cell, peer: Configuration) -> str:
    """Both times, and our width where members were dropped."""
    rows = [row for row in bench.store.rows() if row.config_id == cell.ours.config_id]
    widths = sorted({row.detail["width"] for row in rows if row.detail.get("width") is not None})
    mine, comma, theirs = bench.times(cell.ours, peer).partition(", peer")
    return mine + (f", width {'/'.join(map(str, widths))}" if widths and comma else "") + comma + theirs


def listing(bench: Bench, cell: Cell) -> str:
    """Every configuration that was tried in a cell, fastest first, for --verbose."""
    label = {way.made.config_id: way.made.name for way in cell.ways}
    label[cell.ours.config_id] = "tautochrone adaptive (ours)"
    seconds: dict[tuple[str, str], list[float]] = {}
    for row in bench.store.rows(None):
        if row.error is None and row.config_id in label:
            seconds.setdefault((row.source, row.config_id), []).append(seconds_of(row))
    lines = []
    for source in ("measured", "screening"):
        part = [
            (median(runs), label[config_id], len(runs))
            for (kind, config_id), runs in seconds.items()
            if kind == source
        ]
        best = min((middle for middle, _, _ in part), default=1.0)
        lines += [f"  {source}:"] if part else []
        lines += [
            f"    {1e6 * middle:10.1f} µs  {middle / best:6.3f}  {count:2d} runs  {name}"
            for middle, name, count in sorted(part)
        ]
    return "\n".join([*lines, *(f"  error: {error}" for error in bench.errors().split("; ") if error)])


# -- B3: equal cores --


def equal_cores(m: Measurement, sizes: Sequence[int]) -> None:
    """B3."""
    asked = [size for size, _ in _asked(m.context, sizes, (1.0,))]
    recommended: list[Key] = []
    for size, seconds in m.parts(asked, [weight(size) for size in asked]):
        cell = cell_of(m.context, size, 1.0)
        neighbour = recommended if size >= LARGE and recommended else None
        with m.bench(cell.name) as bench:
            best, recommended = measure_cell(m, bench, cell, seconds, recommended=neighbour)
            pairs = bench.pairs(cell.ours, best)
            m.row(cell.name, compare(pairs), best.name, note=_note(bench, cell, best), size=size)


def _asked(context: Context, sizes: Sequence[int], factors: Sequence[float]) -> list[tuple[int, float]]:
    """The cells that were asked for, small factors first: all of them unless --cells names some."""
    cells = [(size, float(factor)) for factor in factors for size in sizes]
    if context.cells is not None:
        cells = [cell for cell in context.cells if (cell[1] == 1.0) == (1.0 in factors)]
    return sorted(cells, key=lambda cell: (cell[1], cell[0]))


# -- B4, B5: unequal cores --


@contextmanager
def _slowed(m: Measurement, prefix: str, cells: Sequence[tuple[int, float]]) -> Iterator[bool]:
    """The machine with core 1 as slow as in these cells. False, and rows that say why, if that is refused."""
    factor = cells[0][1]
    with ExitStack() as held:
        try:
            held.enter_context(emulated({m.context.cpus[1]: factor}))
        except TautoError as error:
            for size, _ in cells:
                name = cell_name(size, factor)
                m.row(prefix + name, None, note=str(error), shown=name, factor=factor, size=size)
            yield False
        else:
            yield True


def _by_factor(cells: Sequence[tuple[int, float]]) -> list[list[tuple[int, float]]]:
    factors = sorted({factor for _, factor in cells})
    return [[cell for cell in cells if cell[1] == factor] for factor in factors]


@dataclass
class Unequal:
    """What the cells of B4 leave for its means: pairs by cell, against the best and against each default."""

    best: list[Pairs] = field(default_factory=list)
    default: dict[str, list[Pairs]] = field(default_factory=dict)
    recommended: dict[int, list[Key]] = field(default_factory=dict)  # by size, of the last cell of that size


def unequal_cores(m: Measurement, sizes: Sequence[int], factors: Sequence[float]) -> None:
    """B4."""
    m.budget = Budget(m.context.clock, m.context.seconds_per_id * _UNEQUAL_SHARE)
    todo = _asked(m.context, sizes, factors)
    found = Unequal()
    for group in _by_factor(todo):
        with _slowed(m, "a/", group) as calibrated:
            for size, factor in group if calibrated else ():
                left = todo[todo.index((size, factor)) :]
                waiting = _CALIBRATION_SECONDS * len({later for _, later in left if later > factor})
                budget = Budget(m.context.clock, max(0.0, m.budget.left - waiting))
                seconds = budget.share(weight(size), sum(weight(later) for later, _ in left))
                _unequal_cell(m, size, factor, seconds, found)
    conclude_unequal(m, found)


def _unequal_cell(m: Measurement, size: int, factor: float, seconds: float, found: Unequal) -> None:
    cell, begun = cell_of(m.context, size, factor), m.context.clock.monotonic()
    known = found.recommended
    smaller = max((done for done in known if done < size), default=0)
    neighbour = known.get(size) or (known.get(smaller) if size >= LARGE else None)
    with m.bench(cell.name) as bench:
        best, known[size] = measure_cell(m, bench, cell, seconds, cell.defaults, neighbour)
        pairs = bench.pairs(cell.ours, best)
        found.best.append(pairs)
        note = f"{_note(bench, cell, best)}, {m.context.clock.monotonic() - begun:.1f} s"
        m.row(
            f"a/{cell.name}", compare(pairs), best.name,
            note=note, shown=cell.name, factor=factor, size=size,
        )  # fmt: skip
        for way in cell.defaults:
            found.default.setdefault(way.peer, []).append(bench.pairs(cell.ours, way.made))


def conclude_unequal(m: Measurement, found: Unequal) -> None:
    """The rows of B4's parts, and all of them as one."""
    cells = list(m.rows)
    every_default = [pairs for of_peer in found.default.values() for pairs in of_peer]
    top = m.add(m.worst(cells, "a/worst"))
    mean = m.row("a/mean", geometric_mean(found.best), "best of all peers", shown="", count=len(found.best))
    defaults = m.row("b/mean", geometric_mean(every_default), "defaults", shown="")
    for peer, of_peer in found.default.items():
        m.row(f"b/{peer}", geometric_mean(of_peer), peer, shown="")
    parts = [top, mean, defaults]
    note = "; ".join(f"{part.what}: {_figure(part)} (target {part.target:g})" for part in parts)
    m.own = replace(
        mean, id=m.benchmark.id, what=m.benchmark.what, met=all_met(part.met for part in parts), note=note
    )
    m.rows = [row for row in m.rows if row not in cells] + cells


def _figure(entry: Entry) -> str:
    return "not measured" if entry.ratio is None else f"{entry.ratio:.3f}"


def bound(m: Measurement, sizes: Sequence[int], factors: Sequence[float]) -> None:
    """B5."""
    todo = _asked(m.context, sizes, factors)
    for group in _by_factor(todo):
        with _slowed(m, "", group) as calibrated:
            for size, factor in group if calibrated else ():
                left = sum(_bound_weight(*later) for later in todo[todo.index((size, factor)) :])
                _bound_cell(m, size, factor, m.budget.share(_bound_weight(size, factor), left))


def _bound_weight(size: int, factor: float) -> float:
    """About the seconds of a round: filling and running the matrix on the slow core takes most of them."""
    return 0.3 + (0.4 + 0.4 * factor) * (size / 8000) ** 2


def _bound_cell(m: Measurement, size: int, factor: float, seconds: float) -> None:
    cell = cell_of(m.context, size, factor)
    alone = [_alone(m.context, cell, cpu) for cpu in m.context.cpus]
    with m.bench(cell.name) as bench:
        rounds = _rounds_in(seconds, _bound_weight(size, factor))
        rows = bench.run([cell.ours, *alone], rounds, seconds)
        pairs = bound_pairs(rows, cell.ours, alone, work_over_speeds)
        m.row(cell.name, compare(pairs), "bound W/Σs", note=bench.errors(), factor=factor, size=size)


def _alone(context: Context, cell: Cell, cpu: int) -> Configuration:
    """The serial loop on one core. A solve of few iterations: its answer is checked all the same."""
    path, _ = context.runner(_SERIAL, "loop")
    serial = {"runtime": _SERIAL, "library": _SERIAL, "schedule": _SERIAL, "cpus": [cpu]}
    words = [str(word) for word in cell.ours.command]
    timing = [
        word for name in ("--warmup-seconds", "--min-seconds") for word in words[words.index(name) :][:2]
    ]
    command = [path, "--size", str(cell.size), "--cpus", str(cpu), *timing, *_SHORT_SOLVE]
    return Configuration(f"serial on CPU {cpu}", command, {}, {**cell.ours.settings, **serial})


# -- B8: a core that changes --

NEAR = 1.05
MEDIAN_OF = 5  # loops: one that somebody interrupts must not count as a change
ONSET_SECONDS = 0.2  # slowing a core, and freeing it, takes a moment
ONSET_SHARE = 0.10
_FOLLOWING_RUN_SECONDS = 12.0


@dataclass(frozen=True)
class Loop:
    """One loop: when it ended on CLOCK_MONOTONIC, and how long it took."""

    end_seconds: float
    seconds: float


def following(
    m: Measurement, size: int, factor: int, slowed_at: float, freed_at: float, duration: float
) -> None:
    """B8: how many loops it takes to follow a core that becomes slow, and free again, during the run."""
    context = m.context
    rounds = max(1, int(m.budget.left / _FOLLOWING_RUN_SECONDS))
    phases = {"slowed": (slowed_at, freed_at), "freed": (freed_at, duration)}
    counts: dict[str, list[float]] = {event: [] for event in phases}
    with tempfile.TemporaryDirectory(prefix="tauto-bench-") as folder, m.bench() as bench:
        trace, report = Path(folder, "loops.json"), Path(folder, "emulation.json")

        def collect(row: Row) -> None:
            if row.error is not None:
                return
            start = float(json.loads(report.read_text())["command_started_monotonic_seconds"])
            loops = [Loop(*pair) for pair in json.loads(trace.read_text())]
            for event, (at, until) in phases.items():
                count = loops_to_optimum(loops, start + at, start + until)
                if count is not None:
                    counts[event].append(float(count))
                if context.verbose:
                    context.say(f"  {event}: {count} loops")

        window = f"{context.cpus[1]}:{factor}@{slowed_at:g}-{freed_at:g}"
        command = [str(runners.find("tauto-emulate")), "--slow", window, "--report", str(report), "--"]
        command += [str(runners.find("tauto-loop-tautochrone")), "--size", str(size)]
        command += ["--cpus", context.cpus_text, "--duration", f"{duration:g}", "--trace-loops", str(trace)]
        settings = {"runtime": "tautochrone", "size": size, "window": window}
        ours = Configuration(f"adaptive, n = {size}, {window}", command, {}, settings)
        bench.run([ours], rounds, m.budget.left, on_row=collect)
        errors = bench.errors()
    for event, many in counts.items():
        note = f"{min(many):.0f} … {max(many):.0f} in {len(many)} runs" if many else errors
        m.values(event, many, "steady state", note or "no change was seen in the trace", event=event)


def loops_to_optimum(loops: Sequence[Loop], changed: float, until: float) -> int | None:
    """Loops from the first one that felt the change at `changed` to the first of those near the new optimum.

    The new optimum is the median loop of the second half of the time from `changed` to `until`; near is
    within 5 %, of the median of five loops. The change is felt when the median of three loops leaves the old
    median by 10 %, sought in the 0.2 s after `changed`. None where no loop felt it, or none came near again.
    """
    before = [loop.seconds for loop in loops if changed - 1.0 <= loop.end_seconds < changed]
    half = 0.5 * (changed + until)
    settled = [loop.seconds for loop in loops if half <= loop.end_seconds < until]
    if not before or not settled:
        return None
    old, optimum = median(before), median(settled)
    after = [loop for loop in loops if changed <= loop.end_seconds < until]

    def middle(place: int, count: int) -> float:
        return median(loop.seconds for loop in after[place : place + count])

    onset = next(
        (
            place
            for place in range(len(after) - 2)
            if after[place].end_seconds <= changed + ONSET_SECONDS
            and abs(middle(place, 3) / old - 1) > ONSET_SHARE
        ),
        None,
    )
    if onset is None:
        return None
    for place in range(onset, len(after) - MEDIAN_OF + 1):
        if optimum / NEAR <= middle(place, MEDIAN_OF) <= optimum * NEAR:
            return place - onset
    return None
