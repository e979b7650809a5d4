"""From the rows of a search to its answer: who won, by how much, which knobs matter."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from tautochrone import verdicts
from tautochrone.measuring.objective import Objective, parse_objective
from tautochrone.measuring.session import disturbed
from tautochrone.results.context import Command
from tautochrone.results.row import MEASURED, Row
from tautochrone.results.runs import median_known
from tautochrone.results.spent import longest, spent_of
from tautochrone.tune.answer import CandidateResult, Role, TuneAnalysis, TuneContext
from tautochrone.tune.applying import run_line, settings_to_paste
from tautochrone.tune.effects import main_effects
from tautochrone.tune.first import first_screen
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
    return msgspec.structs.replace(
        outline, verdict_sentences=sentences(outline, objective), first=first_screen(outline)
    )


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
