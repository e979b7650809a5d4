"""The answer in words: what to set and what it brings, or to leave it as it is; and which knobs matter."""

from __future__ import annotations

from tautochrone import verdicts
from tautochrone.measuring.objective import Objective
from tautochrone.text import count, digits, says_nothing, signed
from tautochrone.tune.answer import CandidateResult, TuneAnalysis
from tautochrone.tune.search import claims
from tautochrone.verdicts import Ratio

_ENDED = {
    "lead": "the lead was known",
    "budget": "the budget was used up",
    "rounds": "the most rounds were run",
    "alone": "nothing else was left in the race",
}


def sentences(analysis: TuneAnalysis, objective: Objective) -> tuple[str, ...]:
    """The verdict first; then the rest of the final, which knobs matter, and what disturbed the runs."""
    default, winner = analysis.of_role("default"), analysis.of_role("winner")
    if default is None or default.figure is None:
        why = f": {default.remark}" if default is not None and default.remark else ""
        return (f"Nothing can be said: the program as it is gave no result{why}.",)
    verdict = _use(winner, analysis, objective) if winner is not None else _leave(analysis, objective)
    parts = [verdict, _race(analysis), _matters(analysis)]
    if analysis.seen:
        parts.append(f"Seen in one more run with it: {'; '.join(analysis.seen)}.")
    failed = [candidate for candidate in analysis.candidates if _failed(candidate)]
    if failed:
        parts.append(
            f"{count(len(failed), 'candidate')} failed and cannot win: {failed[0].name} ({failed[0].remark})."
        )
    parts += [f"{notice[:1].upper()}{notice[1:]}." for notice in analysis.notices]
    return tuple(part for part in parts if part)


def _failed(candidate: CandidateResult) -> bool:
    return candidate.figure is None and not candidate.stopped


def _use(winner: CandidateResult, analysis: TuneAnalysis, objective: Objective) -> str:
    expert = " (the expert rule)" if winner.is_expert else ""
    change = amount(winner.ratio, objective)
    thrifty = ""
    if any(_is_ahead(other, winner, analysis) for other in analysis.candidates):
        thrifty = " Others are as fast, as far as can be told, and take more CPU time."
    return f"Use {winner.words}{expert}: {change}, {count(analysis.runs, 'run')}.{thrifty}"


def _is_ahead(other: CandidateResult, winner: CandidateResult, analysis: TuneAnalysis) -> bool:
    """Whether another finalist has the better figure: it was not resolved as better than the winner."""
    if not other.rounds or other.figure is None or winner.figure is None or other.role != "finalist":
        return False
    better = other.figure > winner.figure if analysis.largest else other.figure < winner.figure
    return better and other.ratio is not None and other.ratio.verdict == verdicts.FASTER


def _interval(ratio: Ratio | None) -> tuple[float, float, float] | None:
    """Low end, value, high end; None without any of them."""
    if ratio is None or ratio.low is None or ratio.value is None or ratio.high is None:
        return None
    return ratio.low, ratio.value, ratio.high


def amount(ratio: Ratio | None, objective: Objective) -> str:
    """Ratio 0.77 (0.73 to 0.81) → "23 % less time than now (19 to 27 %)". ValueError without an interval."""
    interval = _interval(ratio)
    if interval is None:
        raise ValueError("a ratio without an interval cannot be put into words")
    if objective.largest:
        low, middle, high = (digits(100 * (end - 1)) for end in interval)
        return f"{middle} % higher than now ({low} to {high} %)"
    what = "less time" if objective.kind == "time" else objective.less[0]
    high, middle, low = (digits(100 * (1 - end)) for end in interval)
    return f"{middle} % {what} than now ({low} to {high} %)"


def _leave(analysis: TuneAnalysis, objective: Objective) -> str:
    rivals = [
        (interval, candidate)
        for candidate in analysis.candidates
        if (interval := _interval(candidate.ratio)) is not None
    ]
    runs = count(analysis.runs, "run")
    if not rivals:
        return f"Leave it as it is: {_unresolved(analysis)}, {runs}."
    rivals.sort(key=lambda rival: rival[0][1])
    (low, _, high), nearest = rivals[-1 if analysis.largest else 0]
    noun = "time" if objective.kind == "time" else "of it"
    if nearest.ratio is not None and says_nothing(nearest.ratio):
        return (
            f"Nothing can be said: {runs} differ too much, and the nearest to the program as it is, "
            f"{nearest.words}, takes between {signed(low)} and {signed(high)} {noun}. "
            "Tune again on a quieter machine."
        )
    return (
        f"Leave it as it is: no other setting is better as far as {runs} can resolve; "
        f"the nearest, {nearest.words}, takes between {signed(low)} and {signed(high)} {noun}."
    )


def _unresolved(analysis: TuneAnalysis) -> str:
    """Why there is no verdict on any other candidate."""
    others = [candidate for candidate in analysis.candidates if candidate.role != "default"]
    ratios = [candidate.ratio for candidate in others if candidate.ratio is not None]
    if not ratios and not analysis.ended:
        return "the search was stopped before its final"
    if not any(candidate.rounds for candidate in others if candidate.ratio is not None):
        failed = sum(map(_failed, others))
        if failed == len(others) or ratios:
            return "all others failed" + (" in the final" if ratios else "")
        return "all others were slower in the screening" + (" or failed" if failed else "")
    needed = verdicts.rounds_needed(comparisons=claims(len(ratios) + 1, len(analysis.looks)))
    if analysis.rounds >= needed:
        most = max(ratio.rounds for ratio in ratios)
        return f"no other has more than {count(most, 'good round')} beside it, and a verdict needs {needed}"
    what = "the budget ended" if analysis.ended == "budget" else "the search was stopped"
    return f"{what} after {count(analysis.rounds, 'round')} of the final, and a verdict needs {needed}"


def _race(analysis: TuneAnalysis) -> str:
    finalists = sum(1 for candidate in analysis.candidates if candidate.rounds)
    if finalists < 2:
        return ""
    expert = next((candidate for candidate in analysis.candidates if candidate.is_expert), None)
    rule = ""
    if expert is not None and not expert.rounds and expert.figure is not None:
        rule = f" The expert rule ({expert.words}) did not reach the final: {expert.remark}."
    stopped = sum(1 for candidate in analysis.candidates if candidate.stopped)
    slow = f" ({stopped} were stopped at 1.3 times the best time)" if stopped else ""
    return (
        f"{count(len(analysis.candidates), 'candidate')} were in the race{slow} and {finalists} in the final "
        f"of {count(analysis.rounds, 'round')}, which ended because "
        f"{_ENDED.get(analysis.ended, 'it was stopped')}."
        f"{rule}"
    )


def _matters(analysis: TuneAnalysis) -> str:
    """The knobs with an effect of more than 1 %, and those without any that can be resolved."""
    resolved = [effect for effect in analysis.effects if effect.resolved]
    strong = list(dict.fromkeys(effect.knob for effect in resolved if abs(effect.factor - 1) > 0.01))
    # Two knobs that each do what the other does have no effect of their own, and yet the answer sets them.
    if not analysis.effects or (analysis.settings and not strong):
        return ""
    runs = count(analysis.runs, "run")
    if not strong:
        more = "of more than 1 %" if resolved else f"that {runs} can resolve"
        return f"No knob by itself makes a difference {more}."
    parts = []
    for knob in strong[:3]:
        own = [effect for effect in resolved if effect.knob == knob]
        far = max(own, key=lambda effect: abs(effect.factor - 1))
        parts.append(f"{knob} ({far.value}: {signed(far.factor)})")
    known = {effect.knob for effect in resolved}
    rest = list(dict.fromkeys(effect.knob for effect in analysis.effects if effect.knob not in known))
    make = "makes" if len(rest) == 1 else "make"
    tail = f"; {', '.join(rest)} {make} no difference that {runs} can resolve" if rest else ""
    return f"What matters: {', '.join(parts)}{tail}."
