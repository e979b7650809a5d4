"""One cell of the loop study as a contest: ours with no settings against everything that the peers can do.

The study's own candidates and commands are used. Choosing goes from coarse to fine: a round of every schedule
with some chunks, then more rounds of the fastest and of their other chunks and wait policies. Only fresh
rounds are reported.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from benchmarks.context import Bench, Context
from benchmarks.micro import engineering
from tautochrone.configuration import Configuration
from tautochrone.measure import equal_answers
from tautochrone.studies.loop.configurations import Candidate, candidates
from tautochrone.studies.loop.measuring import (
    StudyCell,
    Times,
    configuration,
    is_serial,
    sums_in_its_own_order,
)
from tautochrone.studies.loop.placements import cpus_of, layout
from tautochrone.studies.loop.request import FULL_CHUNKS, Emulation

SIZES = (500, 1000, 2000, 4000, 8000)
FACTORS = (2.0, 4.0, 8.0)
ROUNDS = 8
COARSE_CHUNKS = (1, 4, 16, 64)
_REFINED = 3  # schedules whose other chunks and waits are tried in the second step
_FINE_ROUNDS = 3
_FINE = 4  # the fastest, tried once more
_OURS = "tautochrone"
_HOPELESS = 1.15  # a schedule this much slower than the best gets no second look

Entry = tuple[Candidate, Configuration]


def times(size: int) -> Times:
    """How long a run of this size lasts; 8000 rows take 10 ms and more, which is a few loops only."""
    if size >= 8000:
        return Times(0.1, 0.06, ROUNDS)
    return Times(0.05, 0.05, ROUNDS) if size >= 4000 else Times(0.03, 0.04, ROUNDS)


def weight(size: int) -> float:
    """The relative length of a cell of this size, for sharing out the time."""
    return 3.0 if size >= 8000 else 1.4 if size >= 4000 else 1.0


def cell_name(size: int, factor: float) -> str:
    """``1000`` on equal cores, ``1000:4`` with core 1 four times slower."""
    return f"{size}" if factor == 1 else f"{size}:{factor:g}"


@dataclass(frozen=True)
class Contest:
    """What is compared in a cell. `contenders` are all of the peers' configurations, defaults included."""

    size: int
    emulation: Emulation
    ours: Configuration
    contenders: tuple[Entry, ...]

    @property
    def defaults(self) -> list[Entry]:
        """What a user of each peer gets who sets nothing, on all cores."""
        return [(one, made) for one, made in self.contenders if "default" in one.roles]


def contest(context: Context, size: int, factor: float) -> Contest:
    """All that takes part in a cell; nothing is run yet."""
    slow: Emulation = {} if factor == 1 else {context.cpus[1]: factor}
    cpus = tuple(cpu for cpu in cpus_of(context.machine)[0] if cpu.number in context.cpus)
    seen = layout(cpus, slow)
    found = candidates(context.peers(), seen, FULL_CHUNKS)
    cell = StudyCell(size, slow, seen, tuple(found))
    entries = [(one, configuration(cell, one, times(size))) for one in found]
    (ours,) = (made for one, made in entries if "ours" in one.roles)
    contenders = tuple(
        (one, made) for one, made in entries if one.peer != _OURS and one.placement.name != "slow"
    )
    return Contest(size, slow, ours, contenders)


def choose(bench: Bench, cell: Contest, seconds: float) -> Entry:
    """The peers' fastest configuration in this cell, by rounds that are not reported."""
    of = {made.config_id: (one, made) for one, made in cell.contenders}
    coarse = [made for one, made in cell.contenders if _is_coarse(one)]
    bench.screen(coarse, 1, seconds)
    ranked = [of[made.config_id] for made in bench.ranked(coarse)]
    if not ranked:
        return cell.contenders[0]
    refined = _relatives(bench, cell, ranked)
    bench.screen([made for _, made in refined], 1, seconds)
    finer = bench.ranked([made for _, made in cell.contenders])[:_FINE]
    bench.screen(finer, 1 + _FINE_ROUNDS, seconds)
    return of[bench.ranked(finer)[0].config_id]


def _is_coarse(one: Candidate) -> bool:
    return one.wait == "default" and (one.chunk is None or one.chunk in COARSE_CHUNKS)


def _kin(one: Candidate) -> tuple[object, ...]:
    return (one.peer, one.schedule, one.placement.name)


def _relatives(bench: Bench, cell: Contest, ranked: Sequence[Entry]) -> list[Entry]:
    """The other chunks and waits of the fastest schedules."""
    best = bench.screened_seconds(ranked[0][1]) or 0.0
    near = [one for one, made in ranked if (bench.screened_seconds(made) or 0.0) <= _HOPELESS * best]
    kin = list(dict.fromkeys(_kin(one) for one in near))[:_REFINED]
    done = {made.config_id for _, made in ranked}
    return [(one, made) for one, made in cell.contenders if _kin(one) in kin and made.config_id not in done]


def measure_cell(bench: Bench, cell: Contest, others: Sequence[Configuration], seconds: float) -> None:
    """Fresh rounds of ours and the others; every answer is held against the rest."""
    check = equal_answers(is_serial, exempt=sums_in_its_own_order)
    wanted = list({one.config_id: one for one in (cell.ours, *others)}.values())
    bench.run(wanted, ROUNDS, seconds, check)


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
            (median(many), label[key], len(many)) for (kind, key), many in found.items() if kind == source
        ]
        best = min((seconds for seconds, _, _ in part), default=1.0)
        lines += [f"  {source}:"] if part else []
        lines += [
            f"    {1e6 * seconds:10.1f} µs  {seconds / best:6.3f}  {count:2d} runs  {name}"
            for seconds, name, count in sorted(part)
        ]
    return "\n".join([*lines, *(f"  error: {error}" for error in bench.errors())])
