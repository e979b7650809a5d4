"""The answer in words: what to set and what it brings, or to leave it as it is; and which knobs matter."""

from __future__ import annotations

from tautochrone import statistics
from tautochrone.report.analysis_types import Ratio
from tautochrone.report.text import count
from tautochrone.report.tune.analysis_types import CandidateResult, TuneAnalysis
from tautochrone.studies.wording import percent, signed
from tautochrone.tune.objective import Objective
from tautochrone.tune.verdict import claims

_ENDED = {
    "lead": "the lead was known",
    "budget": "the budget was used up",
    "rounds": "the most rounds were run",
    "alone": "nothing else was left in the race",
}


def sentences(analysis: TuneAnalysis, objective: Objective) -> tuple[str, ...]:
    """The verdict first; then what else was in the final, which knobs matter, what disturbed."""
    default = next((one for one in analysis.candidates if one.role == "default"), None)
    winner = next((one for one in analysis.candidates if one.role == "winner"), None)
    if default is None or default.figure is None:
        why = f": {default.remark}" if default is not None and default.remark else ""
        return (f"Nothing can be said: the program as it is gave no result{why}.",)
    first = _use(winner, analysis, objective) if winner is not None else _leave(default, analysis, objective)
    said = [first, _race(analysis), _matters(analysis)]
    if analysis.seen:
        said.append(f"Seen in one more run with it: {'; '.join(analysis.seen)}.")
    failed = [one for one in analysis.candidates if one.figure is None and not one.stopped]
    if failed:
        said.append(
            f"{count(len(failed), 'candidate')} failed and cannot win: {failed[0].name} ({failed[0].remark})."
        )
    return tuple(one for one in [*said, *(f"{one[:1].upper()}{one[1:]}." for one in analysis.notices)] if one)


def _use(winner: CandidateResult, analysis: TuneAnalysis, objective: Objective) -> str:
    assert winner.ratio is not None
    change = amount(winner.ratio, objective)
    expert = " (the expert rule)" if winner.is_expert else ""
    return f"Use {winner.words}{expert}: {change}, {count(analysis.runs, 'run')}."


def amount(ratio: Ratio, objective: Objective) -> str:
    """Ratio 0.77 (0.73 to 0.81) → "23 % less time than now (19 to 27 %)"."""
    assert ratio.value is not None
    assert ratio.low is not None
    assert ratio.high is not None
    if objective.largest:
        low, middle, high = (percent(100 * (one - 1)) for one in (ratio.low, ratio.value, ratio.high))
        return f"{middle} % higher than now ({low} to {high} %)"
    what = "less time" if objective.kind == "time" else objective.less[0]
    low, middle, high = (percent(100 * (1 - one)) for one in (ratio.high, ratio.value, ratio.low))
    return f"{middle} % {what} than now ({low} to {high} %)"


def _leave(default: CandidateResult, analysis: TuneAnalysis, objective: Objective) -> str:
    rivals = [one for one in analysis.candidates if one.ratio is not None and one.ratio.low is not None]
    runs = count(analysis.runs, "run")
    if not rivals:
        return f"Leave it as it is: {_unresolved(analysis)}, {runs}."
    by_ratio = sorted(rivals, key=lambda one: one.ratio.value or 1.0 if one.ratio is not None else 1.0)
    nearest = by_ratio[-1 if analysis.largest else 0]
    assert nearest.ratio is not None
    assert nearest.ratio.low is not None
    assert nearest.ratio.high is not None
    noun = "time" if objective.kind == "time" else "of it"
    return (
        f"Leave it as it is: no other setting is better as far as {runs} can resolve; "
        f"the nearest, {nearest.words}, takes between {signed(nearest.ratio.low)} and "
        f"{signed(nearest.ratio.high)} {noun}."
    )


def _unresolved(analysis: TuneAnalysis) -> str:
    """Why there is no verdict on any other candidate."""
    others = [one for one in analysis.candidates if one.role != "default"]
    final = [one for one in others if one.ratio is not None]
    if not final and not analysis.ended:
        return "the search was stopped before its final"
    if not any(one.rounds for one in final):
        failed = sum(1 for one in others if one.figure is None and not one.stopped)
        if failed == len(others) or final:
            return "all others failed" + (" in the final" if final else "")
        return "all others were slower in the screening" + (" or failed" if failed else "")
    needed = statistics.rounds_needed(comparisons=claims(len(final) + 1, len(analysis.looks)))
    if analysis.rounds >= needed:
        both = max(one.ratio.rounds for one in final if one.ratio is not None)
        return f"no other has more than {count(both, 'good round')} beside it, and a verdict needs {needed}"
    what = "the budget ended" if analysis.ended == "budget" else "the search was stopped"
    return f"{what} after {count(analysis.rounds, 'round')} of the final, and a verdict needs {needed}"


def _race(analysis: TuneAnalysis) -> str:
    finalists = sum(1 for one in analysis.candidates if one.rounds)
    if finalists < 2:
        return ""
    expert = next((one for one in analysis.candidates if one.is_expert), None)
    rule = ""
    if expert is not None and not expert.rounds and expert.figure is not None:
        rule = f" The expert rule ({expert.words}) did not reach the final: {expert.remark}."
    stopped = sum(1 for one in analysis.candidates if one.stopped)
    slow = f" ({stopped} were stopped at 1.3 times the best time)" if stopped else ""
    return (
        f"{count(len(analysis.candidates), 'candidate')} were in the race{slow} and {finalists} in the final "
        f"of {count(analysis.rounds, 'round')}, which ended because "
        f"{_ENDED.get(analysis.ended, 'it was stopped')}."
        f"{rule}"
    )


def _matters(analysis: TuneAnalysis) -> str:
    knobs = list(dict.fromkeys(one.knob for one in analysis.effects))
    strong = list(
        dict.fromkeys(one.knob for one in analysis.effects if one.resolved and abs(one.factor - 1) > 0.01)
    )
    resolved = {one.knob for one in analysis.effects if one.resolved}
    rest = [knob for knob in knobs if knob not in resolved]
    # Knobs of which each does the same as the other have no effect in a sum, and yet the answer sets them.
    if not knobs or (analysis.settings and not strong):
        return ""
    if not strong:
        more = "of more than 1 %" if resolved else f"that {count(analysis.runs, 'run')} can resolve"
        return f"No knob by itself makes a difference {more}."
    tail = (
        f"; {', '.join(rest)} {'makes' if len(rest) == 1 else 'make'} no difference that "
        f"{count(analysis.runs, 'run')} can resolve"
        if rest
        else ""
    )
    parts = []
    for knob in strong[:3]:
        own = [one for one in analysis.effects if one.knob == knob and one.resolved]
        far = max(own, key=lambda one: abs(one.factor - 1))
        parts.append(f"{knob} ({far.value}: {signed(far.factor)})")
    return f"What matters: {', '.join(parts)}{tail}."
