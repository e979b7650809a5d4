"""From the rows of a comparison to its answer: ratios with intervals, the sentence, what stood in the way."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from tautochrone import verdicts
from tautochrone.comparing import disturbances, sentences
from tautochrone.comparing.looks import CONFIDENCE, claims_after
from tautochrone.comparing.result import CompareContext, Compared, Side
from tautochrone.errors import TautoError
from tautochrone.measuring.objective import Objective, parse_objective
from tautochrone.results.row import Amount, Count, Row, cpu_seconds_of, pair_rows
from tautochrone.results.runs import median_known
from tautochrone.results.spent import measured_joules
from tautochrone.results.store import Store
from tautochrone.verdicts import Comparison, Ratio, as_ratio


class _Kept(msgspec.Struct):
    """What is read of a row's ``detail``."""

    runs: Count | None = None
    switches: Amount | None = None
    faults: Amount | None = None


@dataclass(frozen=True)
class CpuTime(Objective):
    """The CPU seconds of all processes of a run."""

    def figure(self, row: Row) -> float:
        seconds = cpu_seconds_of(row)
        if not seconds:
            raise ValueError("a run has no CPU time")
        return seconds

    @property
    def less(self) -> tuple[str, str]:
        return "less CPU time", "more CPU time"


def objective_of(words: str) -> Objective:
    """Read "time", "cpu", "energy", "memory" or "regex:…". TautoError for anything else."""
    if words == "cpu":
        return CpuTime("time")
    try:
        return parse_objective(words)
    except TautoError as error:
        if error.message.startswith("there is no objective"):
            raise TautoError(error.message, f"{error.remedy}, or cpu") from error
        raise


def _number(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) else None


def _counter(name: str) -> Callable[[Row], float | None]:
    return lambda row: _number((row.counters or {}).get(name))


OTHERS: Mapping[str, Callable[[Row], float | None]] = {
    "seconds": lambda row: row.seconds,
    "cpu_seconds": cpu_seconds_of,
    "max_rss_bytes": lambda row: _number(row.max_rss_bytes),
    "switches": lambda row: _number(row.detail.get("switches")),
    "faults": lambda row: _number(row.detail.get("faults")),
    "joules": measured_joules,
    **{name: _counter(name) for name in ("instructions", "cycles", "branch_misses", "cache_misses")},
}
"""How a row tells each of `result.FIGURES`."""


def known(
    rows: Sequence[Row], rival: str, reference: str, objective: Objective, number: int, precision: float
) -> bool:
    """Whether the ratio's interval is at most `precision` wide at each end."""
    return narrow(compared(rows, rival, reference, objective.figure, number), precision)


def narrow(comparison: Comparison, precision: float) -> bool:
    resolution = comparison.resolution()
    return resolution is not None and resolution <= precision


def compared(
    rows: Sequence[Row], rival: str, reference: str, figure: Callable[[Row], float], number: int
) -> Comparison:
    """The rival against the reference in the rounds that both have; one of `number` claims."""
    pairs = pair_rows(rows, rival, reference, figure)
    return verdicts.compare_drawn(pairs, confidence=CONFIDENCE, comparisons=number)


def checked(store: Store, context: CompareContext) -> list[Row]:
    """The rows of a comparison. TautoError, with its line, for one that is none of its commands'."""
    names = {asked.name for asked in context.commands_compared}
    if not names:
        raise TautoError(
            f"{store.folder} does not say which commands were compared", "Measure again with --fresh"
        )
    objective = objective_of(context.objective)

    def complaint(row: Row) -> str | None:
        if row.name not in names:
            return f"{row.name!r} was not compared"
        try:
            msgspec.convert(row.detail, _Kept)
        except ValueError as error:  # msgspec's is one
            return str(error)
        return objective.complaint(row)

    return store.checked(complaint)


def analyse(rows: Sequence[Row], context: CompareContext, machine: Mapping[str, Any]) -> Compared:
    """The whole answer, of rows that are `checked`."""
    objective = objective_of(context.objective)
    by_name: dict[str, list[Row]] = {asked.name: [] for asked in context.commands_compared}
    for row in rows:
        by_name[row.name].append(row)
    reference = context.commands_compared[0].name
    sides = tuple(
        _side(asked.name, asked.words, by_name, reference, objective, context)
        for asked in context.commands_compared
    )
    rounds = max((len(side.points) for side in sides), default=0)
    cpus = max(1, len(machine.get("cpus") or ()))
    remarks = (
        *context.remarks,
        *(f"{side.name} {side.error}; these do not count" for side in sides if side.error and side.points),
        *disturbances.remarks(by_name, sides, objective, cpus),
        *context.notices,
    )
    found = Compared(
        answer="",
        sides=sides,
        objective=context.objective,
        less=objective.less,
        rounds=rounds,
        looks=context.looks,
        confidence=CONFIDENCE,
        remarks=tuple(dict.fromkeys(remarks)),
        folder=context.folder,
    )
    return sentences.answered(found, objective.written)


def _side(
    name: str,
    words: tuple[str, ...],
    by_name: Mapping[str, Sequence[Row]],
    reference: str,
    objective: Objective,
    context: CompareContext,
) -> Side:
    """A command against the reference, at the level of the look at which it left."""
    last = max((row.round for row in by_name[name]), default=0)
    looked = next((look for look in context.looks if look > last), 0)
    number = claims_after(len(by_name) - 1, context.looks, looked)
    good = [row for row in by_name[name] if row.error is None]
    errors = [row.error.message for row in by_name[name] if row.error is not None]
    points = tuple(objective.figure(row) for row in sorted(good, key=lambda row: row.round))
    centre = verdicts.median_interval(points) if points else None
    ratio, ratios = None, {}
    if name != reference and good and by_name[reference]:
        ids = good[0].config_id, by_name[reference][0].config_id
        both = [*by_name[name], *by_name[reference]]
        ratio = as_ratio(compared(both, *ids, objective.figure, number))
        ratios = {
            figure: found
            for figure, told in OTHERS.items()
            if (found := _ratio_of(both, ids, told, number)) is not None
        }
    elif name != reference:
        ratio = as_ratio(verdicts.compare([]))
    return Side(
        name=name,
        words=words,
        figure=centre.median if centre else None,
        low=centre.low if centre else None,
        high=centre.high if centre else None,
        points=points,
        others={figure: median_known(map(told, good)) for figure, told in OTHERS.items()},
        ratio=ratio,
        ratios=ratios,
        error=_failed(errors, len(by_name[name])),
        start_seconds=context.start_seconds.get(name),
        own_seconds=context.own_seconds.get(name),
        runs=sum(int(row.detail.get("runs") or 1) for row in good),
    )


def _ratio_of(
    rows: Sequence[Row], ids: tuple[str, str], told: Callable[[Row], float | None], number: int
) -> Ratio | None:
    """The ratio of a figure; None where a run does not tell it, or it is nothing."""
    good = [row for row in rows if row.error is None]
    figures = [told(row) for row in good]
    if not figures or any(figure is None or not figure > 0.0 for figure in figures):
        return None
    return as_ratio(compared(good, *ids, lambda row: told(row) or math.nan, number))


def _failed(errors: Sequence[str], runs: int) -> str:
    return f"failed in {len(errors)} of {runs} runs: {errors[-1]}" if errors else ""
