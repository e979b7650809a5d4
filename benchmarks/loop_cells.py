"""One cell of the loop study as a contest: ours with no settings against everything that the peers can do.

The study's own candidates and commands are used. Choosing goes from coarse to fine: a round of every schedule
with some chunks, then a round of the other chunks and wait policies of the fastest, then more rounds of the
few that lead. What a neighbouring cell found hopeless is not tried again. Only fresh rounds are reported.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from statistics import median

from benchmarks.context import Bench, Context
from benchmarks.micro import engineering
from tautochrone.configuration import Configuration
from tautochrone.measure import equal_answers
from tautochrone.studies.loop.configurations import Candidate, candidates
from tautochrone.studies.loop.measuring import StudyCell, configuration, sums_in_its_own_order
from tautochrone.studies.loop.request import FULL_CHUNKS
from tautochrone.studies.options import Emulation, Times
from tautochrone.studies.placements import cpus_of, layout
from tautochrone.studies.running import is_serial

SIZES = (500, 1000, 2000, 4000, 8000)
FACTORS = (2.0, 4.0, 8.0)
ROUNDS = 8
MOST_ROUNDS = 24
COARSE_CHUNKS = (4, 32)
_REFINED = 3  # schedules whose other chunks and waits are tried in the second step
_LEADERS = 4  # the fastest, which are tried again
_LEADERS_ROUNDS = 3
_CARRIED = 8  # configurations that a neighbouring cell recommends
_HOPELESS = 1.15  # a schedule this much slower than the best gets no second look
_OURS = "tautochrone"
_SERIAL = "serial"
_QUICK = Times(0.005, 0.012, 1)  # to choose, and for defaults: peers have nothing to learn
SHORT_SOLVE = ("--solution-iterations", "1")  # of the pass that is checked; large ones take long

Entry = tuple[Candidate, Configuration]
Key = tuple[object, ...]


def times(size: int) -> Times:
    """How long a run of this size lasts; one loop of 8000 rows takes 10 ms and more."""
    return Times(0.08, 0.05, ROUNDS) if size >= 8000 else Times(0.025, 0.04, ROUNDS)


def weight(size: int) -> float:
    """The relative length of a cell of this size, for sharing out the time."""
    return 3.6 if size >= 8000 else 1.6 if size >= 4000 else 1.0


def cell_name(size: int, factor: float) -> str:
    """``1000`` on equal cores, ``1000:4`` with core 1 four times slower."""
    return f"{size}" if factor == 1 else f"{size}:{factor:g}"


def key(one: Candidate) -> Key:
    """What a candidate is in every cell."""
    return (*_kin(one), one.chunk, one.wait)


def _kin(one: Candidate) -> Key:
    return (one.peer, one.schedule, one.placement.name)


@dataclass(frozen=True)
class Contest:
    """What is compared in a cell. `contenders` are all of the peers' configurations, defaults included."""

    size: int
    emulation: Emulation
    ours: Configuration
    contenders: tuple[Entry, ...]

    @property
    def large(self) -> bool:
        """A run takes a third of a second, most of it for clearing pages: the neighbour's word is taken."""
        return self.size >= 8000

    @property
    def defaults(self) -> list[Entry]:
        """What a user of each peer gets who sets nothing, on all cores."""
        return [(one, made) for one, made in self.contenders if "default" in one.roles]

    def coarse(self, recommended: Sequence[Key] | None) -> list[Entry]:
        """What is tried first: what a neighbour recommends and the serial loop, or all schedules."""
        if recommended is None:
            return [(one, made) for one, made in self.contenders if _is_coarse(one)]
        wanted = set(recommended)
        return [
            (one, made)
            for one, made in self.contenders
            if key(one) in wanted
            or (len(one.placement.cpus) == 1 and (not self.large or one.peer == _SERIAL))
        ]


def _is_coarse(one: Candidate) -> bool:
    return one.wait == "default" and (one.chunk is None or one.chunk in COARSE_CHUNKS)


def contest(context: Context, size: int, factor: float) -> Contest:
    """All that takes part in a cell; nothing is run yet."""
    slow: Emulation = {} if factor == 1 else {context.cpus[1]: factor}
    cpus = tuple(cpu for cpu in cpus_of(context.machine)[0] if cpu.number in context.cpus)
    seen = layout(cpus, slow)
    found = candidates(context.peers(), seen, FULL_CHUNKS)
    cell = StudyCell(size, slow, seen, tuple(found))
    entries = [(one, _made(cell, one)) for one in found]
    (ours,) = (made for one, made in entries if "ours" in one.roles)
    contenders = tuple(
        (one, made) for one, made in entries if one.peer != _OURS and one.placement.name != "slow"
    )
    return Contest(size, slow, ours, contenders)


def _made(cell: StudyCell, one: Candidate) -> Configuration:
    made = configuration(cell, one, times(cell.size))
    return replace(made, command=[*made.command, *SHORT_SOLVE]) if cell.size >= 4000 else made


def quickly(one: Configuration) -> Configuration:
    """The same configuration in a run that is as short as it can be."""
    words = list(one.command)
    words[words.index("--warmup-seconds") + 1] = f"{_QUICK.warmup_seconds:g}"
    words[words.index("--min-seconds") + 1] = f"{_QUICK.timed_seconds:g}"
    if int(words[words.index("--size") + 1]) >= 8000:
        words += ["--max-iterations", "2"]
    return replace(one, command=words)


def choose(
    bench: Bench, cell: Contest, seconds: float, recommended: Sequence[Key] | None = None
) -> tuple[Entry, list[Key]]:
    """The peers' fastest configuration in this cell, by rounds that are not reported.

    Also what to recommend to a neighbouring cell. The first round is run whatever it takes; the later steps
    as far as `seconds` go when the time of the reported rounds is put aside.
    """
    of = {made.config_id: (one, made) for one, made in cell.contenders}
    coarse = cell.coarse(recommended) or list(cell.contenders)
    bench.screen(_quick(coarse), 1, seconds)
    ranked = bench.ranked(_quick(coarse))
    if not ranked:
        return cell.contenders[0], []
    final = ROUNDS * (
        2.5 * bench.elapsed_seconds(ranked[0]) + len(cell.defaults) * bench.elapsed_seconds(ranked[0])
    )
    spent = sum(bench.elapsed_seconds(one) for one in ranked)
    left = seconds - final - spent
    settled = cell.large and recommended is not None
    relatives = [] if settled else _relatives(bench, cell, [of[one.config_id] for one in ranked])
    if left > (len(relatives) + _LEADERS) * bench.elapsed_seconds(ranked[0]):
        bench.screen(_quick(relatives), 1, left)
        left -= sum(bench.elapsed_seconds(one) for _, one in relatives)
    ranked = bench.ranked(_quick(cell.contenders))
    leaders = ranked[:_LEADERS]
    affordable = int(left / max(1e-3, sum(bench.elapsed_seconds(one) for one in leaders)))
    again = 1 if settled else max(1, min(_LEADERS_ROUNDS, affordable))
    bench.screen(leaders, 1 + again, max(left, 0.0))
    best = bench.ranked(leaders)[0]
    return of[best.config_id], [key(of[one.config_id][0]) for one in ranked[:_CARRIED]]


def _quick(entries: Iterable[Entry]) -> list[Configuration]:
    return [quickly(made) for _, made in entries]


def _relatives(bench: Bench, cell: Contest, ranked: Sequence[Entry]) -> list[Entry]:
    """The other chunks and waits of the fastest schedules."""
    best = bench.screened_seconds(ranked[0][1]) or 0.0
    near = [one for one, made in ranked if (bench.screened_seconds(made) or 0.0) <= _HOPELESS * best]
    kin = list(dict.fromkeys(_kin(one) for one in near))[:_REFINED]
    done = {made.config_id for _, made in ranked}
    return [(one, made) for one, made in cell.contenders if _kin(one) in kin and made.config_id not in done]


def affordable_rounds(bench: Bench, cell: Contest, best: Configuration, seconds: float) -> int:
    """How many rounds of ours and the best fit into the time, between 8 and 24, decided before the first."""
    long, short = times(cell.size), _QUICK
    more = long.warmup_seconds + long.timed_seconds - short.warmup_seconds - short.timed_seconds
    one_round = 2 * (bench.elapsed_seconds(best) + more)
    return max(ROUNDS, min(MOST_ROUNDS, int(seconds / one_round)))


def measure_cell(
    bench: Bench,
    cell: Contest,
    best: Configuration,
    others: Sequence[Configuration],
    seconds: float,
    rounds: int = ROUNDS,
) -> None:
    """Fresh rounds of ours, the best and the others; every answer is held against the rest."""
    check = equal_answers(is_serial, exempt=sums_in_its_own_order)
    wanted = {one.config_id: quickly(one) for one in others}
    wanted |= {one.config_id: one for one in (cell.ours, best)}
    bench.run(list(wanted.values()), rounds, seconds, check)


def cell_note(bench: Bench, cell: Contest, peer: Configuration) -> str:
    """Both times, and our width where members were dropped."""
    pairs = bench.pairs(cell.ours, peer)
    if not pairs:
        return "; ".join(bench.errors())
    mine, theirs = (median(column) for column in zip(*pairs, strict=True))
    widths = [
        row["detail"].get("width") for row in bench.store.rows() if row["config_id"] == cell.ours.config_id
    ]
    known = [width for width in widths if width is not None]
    width = f", width {'/'.join(str(one) for one in sorted(set(known)))}" if known else ""
    return f"ours {engineering(mine)}{width}, peer {engineering(theirs)}"


def listing(bench: Bench, cell: Contest) -> str:
    """Every configuration that was tried in a cell, fastest first, for --verbose."""
    label = {made.config_id: one.label for one, made in cell.contenders}
    label[cell.ours.config_id] = "tautochrone adaptive (ours)"
    found: dict[tuple[str, str], list[float]] = {}
    for row in bench.store.rows(None):
        if row["error"] is None and row["config_id"] in label:
            found.setdefault((row["source"], row["config_id"]), []).append(float(row["seconds"]))
    lines = []
    for source in ("measured", "screening"):
        part = [
            (median(many), label[which], len(many)) for (kind, which), many in found.items() if kind == source
        ]
        best = min((seconds for seconds, _, _ in part), default=1.0)
        lines += [f"  {source}:"] if part else []
        lines += [
            f"    {1e6 * seconds:10.1f} µs  {seconds / best:6.3f}  {count:2d} runs  {name}"
            for seconds, name, count in sorted(part)
        ]
    return "\n".join([*lines, *(f"  error: {error}" for error in bench.errors())])
