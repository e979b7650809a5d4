"""The answer in one sentence."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from tautochrone import text, verdicts
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
    evidence = f"{100 * found.confidence:.0f} %, {text.count(ratio.rounds if ratio else 0, 'round')}"
    if ratio is None or ratio.value is None or ratio.low is None or ratio.high is None:
        why = rival.error or reference.error or "there are too few rounds"
        return f"It cannot be told whether {rival.name} and {reference.name} differ: {why} ({medians})."
    if ratio.verdict == verdicts.NO_DIFFERENCE:
        return (
            f"No difference is resolved: {rival.name} {_between(found, ratio)} {reference.name} "
            f"({evidence}), {medians}."
        )
    how = f"{_ends(found, ratio)}, {evidence}"
    return f"{rival.name} {_differs(found, ratio)} {reference.name} ({how}): {medians}."


def _several(found: Compared, written: Written) -> str:
    """The rivals by what they need, each against the reference."""
    reference = found.reference
    parts = []
    for side in sorted(found.rivals, key=lambda side: (side.figure is None, side.figure)):
        ratio = side.ratio
        if ratio is None or ratio.value is None or ratio.low is None:
            parts.append(f"{side.name} cannot be told")
        elif ratio.verdict == verdicts.NO_DIFFERENCE:
            parts.append(f"{side.name} {_between(found, ratio)} it: not resolved")
        else:
            parts.append(
                f"{side.name} {_differs(found, ratio).removesuffix(' than').removesuffix(' as')}"
                f" ({_ends(found, ratio)})"
            )
    confidence = f"{100 * found.confidence:.0f} % for all together"
    written_reference = written(reference.figure) if reference.figure is not None else "nothing"
    return (
        f"Against {reference.name} ({written_reference}): {'; '.join(parts)} ({confidence}, "
        f"{text.count(found.rounds, 'round')})."
    )


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
    low, high = ratio.low or 1.0, ratio.high or 1.0
    ends = [f"{_percent(100 * abs(1 - end))} % {_word(found, end)}" for end in (low, high)]
    return f"{_verb(found)} between {ends[0]} and {ends[1]} than"


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
