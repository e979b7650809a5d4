"""From the rows of a search to its answer: who won, by how much, which knobs matter."""

from __future__ import annotations

import shlex
import statistics as plain
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from tautochrone import statistics
from tautochrone.report.analysis_types import Command
from tautochrone.report.spent import longest, spent_of
from tautochrone.report.tune.analysis_types import CandidateResult, Role, TuneAnalysis
from tautochrone.row import MEASURED, Row
from tautochrone.session import disturbed
from tautochrone.studies.contenders import as_ratio
from tautochrone.tune.context import TuneContext
from tautochrone.tune.effects import main_effects
from tautochrone.tune.knobs import in_words
from tautochrone.tune.objective import Objective, parse_objective
from tautochrone.tune.paste import run_line, settings_to_paste
from tautochrone.tune.sentences import sentences
from tautochrone.tune.space import DEFAULT
from tautochrone.tune.verdict import claims, verdict

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
    default = next((one for one in results if one.role == "default"), None)
    winner = next((one for one in results if one.role == "winner"), default)
    settings = dict(winner.settings) if winner is not None and winner is not default else {}
    final = [row for row in rows if row.get("source", MEASURED) == MEASURED]
    finalists = [one for one in results if one.rounds]
    effects = main_effects(
        [(_changed(one.settings, context), one.figure) for one in results if one.figure is not None]
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
        rounds=max((one.rounds for one in finalists), default=0),
        runs=len(rows),
        ended=context.ended,
        notices=(*context.notices, *_disturbances(final, machine)),
        seen=context.seen if settings else (),
        settings_to_paste=settings_to_paste(context, settings),
        commands=_commands(context),
        advice=context.machine_advice,
    )
    return msgspec.structs.replace(outline, verdict_sentences=sentences(outline, objective))


def _commands(context: TuneContext) -> tuple[Command, ...]:
    return (Command(label="Run it with this answer", text=run_line(context)), *context.commands)


def _results(rows: Sequence[Row], objective: Objective, context: TuneContext) -> list[CandidateResult]:
    """Each candidate once, best first; those of the final by the final's rounds alone."""
    by_id: dict[str, list[Row]] = {}
    for row in rows:
        by_id.setdefault(row["config_id"], []).append(row)
    final = [row for row in rows if row.get("source", MEASURED) == MEASURED]
    in_final = list(dict.fromkeys(row["config_id"] for row in final))
    default_id = next((row["config_id"] for row in rows if row["name"] == DEFAULT), None)
    found = (
        verdict(final, in_final, default_id, objective.figure, claims(len(in_final), len(context.looks)))
        if default_id is not None
        else None
    )
    results = []
    longest_seconds = longest(plain.median(times) for own in by_id.values() if (times := _seconds(own)))
    for config_id, own in by_id.items():
        role: Role = "screened"
        if config_id == default_id:
            role = "default"
        elif found is not None and config_id == found.winner:
            role = "winner"
        elif config_id in in_final:
            role = "finalist"
        ratio = found.comparisons.get(config_id) if found is not None else None
        result = _result(own, role, config_id in in_final, ratio, objective, context)
        spent = spent_of([row for row in own if row["error"] is None], longest_seconds)
        results.append(msgspec.structs.replace(result, spent=spent))
    results.sort(key=lambda one: (one.figure is None, not one.rounds, one.figure or 0.0))
    return [_as_printed(one) for one in results] if objective.largest else results


def _as_printed(one: CandidateResult) -> CandidateResult:
    """A candidate whose figures are one by what the program printed, with the printed ones."""
    figure, low, high = (None if value is None else 1.0 / value for value in (one.figure, one.high, one.low))
    ratio = one.ratio
    if ratio is not None:
        ratio = msgspec.structs.replace(ratio.inverse(), verdict=ratio.verdict)
    return msgspec.structs.replace(one, figure=figure, low=low, high=high, ratio=ratio)


def _seconds(rows: Sequence[Row]) -> list[float]:
    return [float(row["seconds"]) for row in rows if row["error"] is None]


def _figures(rows: Sequence[Row], objective: Objective, final: bool) -> list[float]:
    return [
        objective.figure(row)
        for row in rows
        if row["error"] is None and (row.get("source", MEASURED) == MEASURED) == final
    ]


def _result(
    own: Sequence[Row],
    role: Role,
    in_final: bool,
    compared: statistics.Comparison | None,
    objective: Objective,
    context: TuneContext,
) -> CandidateResult:
    figures = _figures(own, objective, in_final)
    interval = statistics.median_interval(figures) if figures else None
    settings = {name: str(value) for name, value in own[0]["config"].items()}
    changed = _changed(settings, context)
    errors = [row["error"] for row in own if row["error"] is not None]
    remark = context.eliminated.get(own[0]["config_id"], "")
    stopped = not figures and all(row["error"]["kind"] == "timeout" for row in own)
    if errors and not figures and (errors[-1]["kind"] != "timeout" or not objective.caps_time):
        remark = errors[-1]["message"]
    return CandidateResult(
        name=own[0]["name"],
        words=in_words(changed) if changed else "as it is",
        settings=settings,
        role=role,
        is_expert=own[0]["name"] == context.expert,
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


def _disturbances(rows: Sequence[Row], machine: Mapping[str, Any]) -> list[str]:
    """Runs of the final beside which others worked."""
    cpus = len(machine.get("cpus") or ()) or 1
    emulated = bool(machine.get("emulated"))
    count = sum(disturbed(row, cpus, emulated) for row in rows)
    if not count:
        return []
    return [
        f"beside {count} of the final's {len(rows)} runs other programs or the hypervisor took CPU time; "
        "close them for narrower intervals"
    ]
