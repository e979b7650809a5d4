"""The answer in one sentence."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from tautochrone import text, verdicts
from tautochrone.comparing.looks import claims_after
from tautochrone.comparing.result import Compared, Side
from tautochrone.verdicts import Ratio

Written = Callable[[float], str]
_TIMES = 2.0  # from this factor on, "times as fast" is easier to read than per cent


def answered(found: Compared, written: Written) -> Compared:
    """The result with its sentence."""
    return msgspec.structs.replace(found, answer=_answer(found, written))


def _answer(found: Compared, written: Written) -> str:
    reference, rivals = found.reference, found.rivals
    if not rivals:
        return _alone(reference, written)
    if reference.figure is None:
        return f"{reference.name} has no good run, so nothing can be compared with it: {reference.error}."
    if len(rivals) == 1:
        return _pair(found, reference, rivals[0], written)
    return _several(found, written)


def _alone(side: Side, written: Written) -> str:
    if side.figure is None:
        return f"{side.name} has no good run: {side.error}."
    interval = ""
    if side.low is not None and side.high is not None:
        interval = f" ({written(side.low)} to {written(side.high)}, 95 %)"
    return f"{side.name} takes {written(side.figure)}{interval}, the median of {len(side.points)} rounds."


def _pair(found: Compared, reference: Side, rival: Side, written: Written) -> str:
    ratio = rival.ratio
    if rival.figure is None or reference.figure is None:
        return f"{rival.name} has no good run, so nothing can be compared: {rival.error}."
    medians = f"{written(rival.figure)} against {written(reference.figure)}"
    evidence = f"{100 * found.confidence:.3g} %, {text.count(ratio.rounds if ratio else 0, 'round')}"
    if ratio is None or ratio.value is None or ratio.low is None or ratio.high is None:
        claims = claims_after(len(found.rivals), found.looks, found.rounds)
        needed = verdicts.rounds_needed(found.confidence, claims)
        why = rival.error or reference.error or f"a verdict needs {needed} rounds"
        return f"It cannot be told whether {rival.name} and {reference.name} differ: {why} ({medians})."
    if ratio.verdict == verdicts.NO_DIFFERENCE:
        return (
            f"No difference is resolved: {rival.name} {_between(found, ratio)} {reference.name} "
            f"({evidence}), {medians}."
        )
    how = f"{_ends(found, ratio)}, {evidence}"
    return f"{rival.name} {_differs(found, ratio)} {reference.name} ({how}): {medians}."


def _several(found: Compared, written: Written) -> str:
    """Those that differ from the reference, the best first; then those that cannot be told from it."""
    reference = found.reference
    differ, same, untold = [], [], []
    for side in sorted(found.rivals, key=lambda side: side.ratio.value or 0.0 if side.ratio else 0.0):
        ratio = side.ratio
        if ratio is None or ratio.value is None or ratio.low is None:
            untold.append(side.name)
        elif ratio.verdict == verdicts.NO_DIFFERENCE:
            same.append(f"{side.name} ({_from_to(found, ratio)})")
        else:
            words = _differs(found, ratio).removesuffix(" than").removesuffix(" as").removesuffix(" of")
            differ.append(f"{side.name} {words} ({_ends(found, ratio)})")
    parts = differ
    if same:
        parts.append(f"no difference is resolved for {text.joined(same)}")
    if untold:
        parts.append(f"{text.joined(untold)} cannot be told")
    written_reference = written(reference.figure) if reference.figure is not None else "nothing"
    evidence = f"{100 * found.confidence:.3g} % for all together, {text.count(found.rounds, 'round')}"
    return f"Against {reference.name} ({written_reference}): {'; '.join(parts)} ({evidence})."


def _is_time(found: Compared) -> bool:
    return found.objective == "time"


def _differs(found: Compared, ratio: Ratio) -> str:
    """Such as "takes 8.2 % less time than", "is 2.31 times as fast as"."""
    value = ratio.value or 1.0
    if _is_time(found) and value <= 1 / _TIMES:
        return f"is {1 / value:.2f} times as fast as"
    if value >= _TIMES:
        verb = "takes" if _is_time(found) else "has"
        return f"{verb} {value:.2f} times the {_noun(found)} of"
    return f"{_verb(found)} {_percent(100 * abs(1 - value))} % {_word(found, value)} than"


def _ends(found: Compared, ratio: Ratio) -> str:
    low, high = ratio.low or 1.0, ratio.high or 1.0
    value = ratio.value or 1.0
    if _is_time(found) and value <= 1 / _TIMES:
        return f"{1 / high:.2f} to {1 / low:.2f}"
    if value >= _TIMES:
        return f"{low:.2f} to {high:.2f}"
    ends = sorted(100 * abs(1 - end) for end in (low, high))
    return f"{_percent(ends[0])} to {_percent(ends[1])} %"


def _between(found: Compared, ratio: Ratio) -> str:
    return f"{_verb(found)} between {_from_to(found, ratio, ' and ')} than"


def _from_to(found: Compared, ratio: Ratio, between: str = " to ") -> str:
    ends = (ratio.low or 1.0, ratio.high or 1.0)
    return between.join(f"{_percent(100 * abs(1 - end))} % {_word(found, end)}" for end in ends)


def _percent(value: float) -> str:
    """The digits that an interval needs: more near 0, so that what is not 0 is not written as 0."""
    return f"{value:.{2 if value < 0.995 else 1 if value < 19.95 else 0}f}"


def _noun(found: Compared) -> str:
    words = found.less[1].removeprefix("more ")
    return "time" if _is_time(found) else "figure" if words in ("lower", "higher") else words


def _verb(found: Compared) -> str:
    return "takes" if _is_time(found) else "has" if found.less[0].startswith("less ") else "is"


def _word(found: Compared, value: float) -> str:
    """The words for that side of 1: "less time", "more memory", "lower"."""
    if _is_time(found):
        return "less time" if value < 1 else "more time"
    return found.less[0] if value < 1 else found.less[1]
