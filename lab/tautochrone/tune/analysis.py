"""From the rows of a search to its answer: who won, by how much, which knobs matter."""

from __future__ import annotations

import math
import shlex
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
import numpy as np

from tautochrone import verdicts
from tautochrone.measuring.objective import Objective, parse_objective
from tautochrone.measuring.session import disturbed
from tautochrone.results.context import Command
from tautochrone.results.row import MEASURED, Row
from tautochrone.results.runs import median_known
from tautochrone.results.spent import longest, spent_of
from tautochrone.tune.answer import CandidateResult, Effect, Role, TuneAnalysis, TuneContext
from tautochrone.tune.applying import run_line, settings_to_paste
from tautochrone.tune.knobs import in_words
from tautochrone.tune.same_work import said_of
from tautochrone.tune.search import claims, verdict
from tautochrone.tune.sentences import sentences
from tautochrone.tune.space import DEFAULT
from tautochrone.verdicts import as_ratio

_UNITS = {
    "time": "time",
    "energy": "energy",
    "edp": "energy × time",
    "ed2p": "energy × time²",
    "memory": "peak memory",
}


def analyse(rows: Sequence[Row], machine: Mapping[str, Any], context: TuneContext) -> TuneAnalysis:
    """The answer. Everything in it can be computed again from the folder."""
    objective = parse_objective(context.objective)
    results = _results(rows, objective, context)
    default = next((result for result in results if result.role == "default"), None)
    winner = next((result for result in results if result.role == "winner"), default)
    settings = dict(winner.settings) if winner is not None and winner is not default else {}
    final = [row for row in rows if row.source == MEASURED]
    effects = main_effects(
        [
            (_changed(result.settings, context), result.figure)
            for result in results
            if result.figure is not None
        ]
    )
    outline = TuneAnalysis(
        verdict_sentences=(),
        program=shlex.join(context.program),
        objective=context.objective,
        better=objective.less[0],
        unit=_UNITS.get(objective.kind, context.objective),
        largest=objective.largest,
        winner=winner.name if winner is not None else DEFAULT,
        settings=settings,
        candidates=tuple(results),
        effects=effects,
        tried=context.tried,
        left_out=context.left_out,
        looks=context.looks,
        rounds=max((result.rounds for result in results), default=0),
        runs=len(rows),
        ended=context.ended,
        notices=(*context.notices, *_doubts(final, winner, settings), *_disturbances(final, machine)),
        seen=context.seen if settings else (),
        settings_to_paste=settings_to_paste(context, settings),
        commands=(
            Command(label="Run it with this answer", text=run_line(context, settings)),
            *context.commands,
        ),
        advice=context.machine_advice,
    )
    return msgspec.structs.replace(outline, verdict_sentences=sentences(outline, objective))


def _results(rows: Sequence[Row], objective: Objective, context: TuneContext) -> list[CandidateResult]:
    """Each candidate once, best first; those of the final by the final's rounds alone."""
    by_id: dict[str, list[Row]] = {}
    for row in rows:
        by_id.setdefault(row.config_id, []).append(row)
    final = [row for row in rows if row.source == MEASURED]
    in_final = list(dict.fromkeys(row.config_id for row in final))
    default_id = next((row.config_id for row in rows if row.name == DEFAULT), None)
    decided = (
        verdict(final, in_final, default_id, objective.figure, claims(len(in_final), len(context.looks)))
        if default_id is not None
        else None
    )
    results = []
    longest_seconds = longest(
        median_known(row.seconds for row in own if row.error is None) for own in by_id.values()
    )
    for config_id, own in by_id.items():
        role: Role = "screened"
        if config_id == default_id:
            role = "default"
        elif decided is not None and config_id == decided.winner:
            role = "winner"
        elif config_id in in_final:
            role = "finalist"
        ratio = decided.comparisons.get(config_id) if decided is not None else None
        result = _result(own, role, config_id in in_final, ratio, objective, context)
        spent = spent_of([row for row in own if row.error is None], longest_seconds)
        results.append(msgspec.structs.replace(result, spent=spent))
    results.sort(key=lambda result: (result.figure is None, not result.rounds, result.figure or 0.0))
    return [_as_printed(result) for result in results] if objective.largest else results


def _as_printed(result: CandidateResult) -> CandidateResult:
    """A candidate with the numbers that the program printed in place of their reciprocals."""
    figure, low, high = (
        None if value is None else 1.0 / value for value in (result.figure, result.high, result.low)
    )
    ratio = result.ratio
    if ratio is not None:
        ratio = msgspec.structs.replace(ratio.inverse(), verdict=ratio.verdict)
    return msgspec.structs.replace(result, figure=figure, low=low, high=high, ratio=ratio)


def _result(
    own: Sequence[Row],
    role: Role,
    in_final: bool,
    compared: verdicts.Comparison | None,
    objective: Objective,
    context: TuneContext,
) -> CandidateResult:
    figures = [
        objective.figure(row) for row in own if row.error is None and (row.source == MEASURED) == in_final
    ]
    interval = verdicts.median_interval(figures) if figures else None
    settings = {name: str(value) for name, value in own[0].config.items()}
    changed = _changed(settings, context)
    errors = [row.error for row in own if row.error is not None]
    remark = context.eliminated.get(own[0].config_id, "")
    stopped = not figures and all(row.error is not None and row.error.kind == "timeout" for row in own)
    if errors and not figures and (errors[-1].kind != "timeout" or not objective.caps_time):
        remark = errors[-1].message
    return CandidateResult(
        name=own[0].name,
        words=in_words(changed) if changed else "as it is",
        settings=settings,
        role=role,
        is_expert=own[0].name == context.expert,
        figure=interval.median if interval else None,
        written=objective.written(interval.median) if interval else "",
        low=interval.low if interval and in_final else None,
        high=interval.high if interval and in_final else None,
        rounds=len(figures) if in_final else 0,
        ratio=as_ratio(compared) if compared is not None else None,
        stopped=stopped and objective.caps_time,
        remark=remark,
    )


def _changed(settings: Mapping[str, str], context: TuneContext) -> dict[str, str]:
    """Settings without what the default has too."""
    return {name: value for name, value in settings.items() if context.base.get(name) != value}


def _doubts(final: Sequence[Row], winner: CandidateResult | None, settings: Mapping[str, str]) -> list[str]:
    """What makes it doubtful that the winner does the same work."""
    if winner is None or not settings:
        return []
    own, default = ([row for row in final if row.name == name] for name in (winner.name, DEFAULT))
    doubt = said_of(own, default)
    return [doubt] if doubt else []


def _disturbances(rows: Sequence[Row], machine: Mapping[str, Any]) -> list[str]:
    """A notice of the final's runs beside which others used CPU time."""
    cpus = len(machine.get("cpus") or ()) or 1
    emulated = bool(machine.get("emulated"))
    count = sum(disturbed(row, cpus, emulated) for row in rows)
    if not count:
        return []
    return [
        f"beside {count} of the final's {len(rows)} runs other programs or the hypervisor took CPU time; "
        "close them for narrower intervals"
    ]


_RESOLVED = 2.0  # in standard errors
_IDENTIFIED = 1 - 1e-6  # share of its own coefficient in a fitted one: below 1 others have a part in it


def main_effects(candidates: Sequence[tuple[Mapping[str, str], float]]) -> tuple[Effect, ...]:
    """The factor of each value of each knob against leaving it as it is; largest first.

    `candidates` are (what they change, median figure). By least squares on the logarithms of the figures. The
    factors describe the whole space, not any one candidate: of knobs that work together they show the mean
    effect. Empty for too few candidates. Effects that the candidates cannot identify are left out, such as
    the effect of a knob that all of them set.
    """
    levels = list(
        dict.fromkeys((knob, value) for settings, _ in candidates for knob, value in settings.items())
    )
    if len(candidates) <= len(levels) + 1 or not levels:
        return ()
    columns = np.array(
        [
            [1.0, *(1.0 if settings.get(knob) == value else 0.0 for knob, value in levels)]
            for settings, _ in candidates
        ]
    )
    logs = np.log([figure for _, figure in candidates])
    solution, _, rank, _ = np.linalg.lstsq(columns, logs, rcond=None)
    residual = logs - columns @ solution
    freedom = len(candidates) - int(rank)
    if freedom < 1:
        return ()
    variance = float(residual @ residual) / freedom
    inverse = np.linalg.pinv(columns)
    identified = np.diag(inverse @ columns) > _IDENTIFIED
    spread = np.sqrt(np.sum(inverse**2, axis=1) * variance)
    effects = [
        Effect(
            knob=knob,
            value=value,
            factor=math.exp(float(solution[index + 1])),
            error=float(spread[index + 1]),
            resolved=abs(float(solution[index + 1])) > _RESOLVED * float(spread[index + 1]),
        )
        for index, (knob, value) in enumerate(levels)
        if identified[index + 1]
    ]
    return tuple(sorted(effects, key=lambda effect: -abs(math.log(effect.factor))))
