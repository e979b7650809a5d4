"""What the curves say, in sentences: the verdict, then every step, peak and broken guideline by name."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tautochrone import statistics
from tautochrone.report import text
from tautochrone.report.collective.analysis_types import Guideline, OperationCurve, Overall, Step
from tautochrone.report.palette import styles
from tautochrone.studies.collective.lengths import WORD_BYTES
from tautochrone.studies.contenders import OURS
from tautochrone.studies.disturbance import restless
from tautochrone.studies.wording import less_time, unresolved

BETTER_MPI = "the better MPI"
CHEAPER = "larger is cheaper"
_MOST_RANGES = 4


def verdict_sentences(
    curves: Sequence[OperationCurve],
    overall: Sequence[Overall],
    ranks: int,
    cpus: int,
    others_share: float | None = None,
) -> tuple[str, ...]:
    """Ours against the better MPI, what disturbs, then a sentence for each library's curves."""
    where = f"{text.count(ranks, 'rank')} on {text.count(cpus, 'CPU')}"
    shown = [one for one in curves if one.is_default and one.points]
    if not shown:
        return (f"On this machine nothing can be said yet: no library was measured with {where}.",)
    sentences = [f"On this machine, with {where}, {_against_mpi(overall, shown)}."]
    sentences += restless(others_share, "ranks")
    sentences += _of_libraries(shown)
    sentences += _ours_at_worst(shown)
    return tuple(sentences)


def _against_mpi(overall: Sequence[Overall], shown: Sequence[OperationCurve]) -> str:
    """The first sentence without its beginning and its end."""
    found = [one for one in overall if one.against == BETTER_MPI]
    parts = [_comparison(one) for one in found if one.ratio.verdict != statistics.NOT_MEASURED]
    if parts:
        lengths, rounds = found[0].lengths, found[0].ratio.rounds
        measured = f"the better at each length, geometric mean over {text.count(lengths, 'length')}"
        return f"{', and '.join(parts)} ({measured}, {rounds} launches)"
    if not any(one.runtime == OURS for one in shown):
        return "tautochrone was not measured, so the libraries are only described"
    if all(one.runtime == OURS for one in shown):
        return "no MPI was measured beside tautochrone, so there is nothing to compare it with"
    launches = max(point.launches for one in shown for point in one.points)
    return f"{launches} launches are fewer than the {statistics.MINIMUM_ROUNDS} that a verdict needs"


def _comparison(one: Overall) -> str:
    """tautochrone’s all_reduce takes 59 % less time (57 to 61 %) than that of the better MPI."""
    mine = f"tautochrone’s {one.operation}"
    if one.ratio.verdict == statistics.NO_DIFFERENCE:
        return f"between {mine} and that of {BETTER_MPI} no difference was resolved ({unresolved(one.ratio)})"
    return f"{mine} takes {less_time(one.ratio)}) than that of {BETTER_MPI}"


def name(runtime: str) -> str:
    """A library's name in a sentence."""
    return styles([runtime])[0].name


def length(words: int) -> str:
    """512 → "512 words (4 KiB)"."""
    return f"{text.count(words, 'word')} ({text.binary_bytes(words * WORD_BYTES)})"


def _of_libraries(shown: Sequence[OperationCurve]) -> Iterator[str]:
    for runtime in dict.fromkeys(one.runtime for one in shown):
        curves = [one for one in shown if one.runtime == runtime]
        parts = [part for one in curves for part in _summary(one)]
        operations = " and ".join(one.operation for one in curves)
        if parts:
            yield f"{name(runtime)}: {'; '.join(parts)}."
        elif max(point.launches for one in curves for point in one.points) >= statistics.MINIMUM_ROUNDS:
            yield (
                f"{name(runtime)}: {operations} have neither a step nor a peak that was resolved, and break "
                "no guideline."
            )


def _summary(curve: OperationCurve) -> Iterator[str]:
    """Short: the largest step, the worst peak, the longest ranges of broken guidelines."""
    rising = [step for step in curve.steps if step.factor > 1]
    if rising:
        worst = max(rising, key=lambda one: one.factor)
        count = text.count(len(rising), "step")
        largest = _step_words(worst) if len(rising) == 1 else f"the largest {_step_words(worst)}"
        yield f"{curve.operation} has {count} up, {largest}"
    for kind, found in _by_kind(curve).items():
        worst_one = max(found, key=lambda one: one.factor)
        yield f"{curve.operation} {_kind_words(kind, worst_one)} {_ranges(found, curve)}"


def _step_words(step: Step) -> str:
    return f"by {text.percent(step.factor - 1)} {_between(step)}"


def _between(step: Step) -> str:
    """Between 511 and 512 words (4 KiB)."""
    return f"between {step.below_words:,} and {length(step.above_words)}"


def _by_kind(curve: OperationCurve) -> dict[str, list[Guideline]]:
    kinds: dict[str, list[Guideline]] = {}
    for one in curve.guidelines:
        kinds.setdefault(one.kind, []).append(one)
    return kinds


def _kind_words(kind: str, worst: Guideline) -> str:
    factor = f"{text.significant(worst.factor)} times"
    if kind == CHEAPER:
        return f"takes longer (up to {factor}) than at {length(worst.other_words)}"
    other = kind.removeprefix("dearer than ")
    return f"takes longer (up to {factor}) than {other}"


def _runs(found: Sequence[Guideline], curve: OperationCurve) -> list[list[Guideline]]:
    """Neighbouring lengths together."""
    order = {point.words: place for place, point in enumerate(curve.points)}
    runs: list[list[Guideline]] = []
    for one in sorted(found, key=lambda each: each.words):
        if runs and order[one.words] == order[runs[-1][-1].words] + 1:
            runs[-1].append(one)
        else:
            runs.append([one])
    return runs


def _range(run: Sequence[Guideline]) -> str:
    """At 512, or from 1,024 to 2,048."""
    first, last = run[0].words, run[-1].words
    return f"at {first:,}" if first == last else f"from {first:,} to {last:,}"


def _ranges(found: Sequence[Guideline], curve: OperationCurve) -> str:
    """Neighbouring lengths become a range: "at 512, from 1,024 to 2,048 words"."""
    parts = [_range(run) for run in _runs(found, curve)]
    more = len(parts) - _MOST_RANGES
    return f"{', '.join(parts[:_MOST_RANGES])} words" + (f" and at {more} more places" if more > 0 else "")


def _ours_at_worst(shown: Sequence[OperationCurve]) -> Iterator[str]:
    """Where ours gains least against the better MPI: the length that a reader should not have to look for."""
    worst = [
        (point.to_better_mpi.value, one.operation, point.words)
        for one in shown
        if one.runtime == OURS
        for point in one.points
        if point.to_better_mpi is not None and point.to_better_mpi.value is not None
    ]
    if worst:
        value, operation, words = max(worst)
        yield (
            f"tautochrone gains least in {operation} of {length(words)}: {text.significant(value)} of the "
            "time of the better MPI there."
        )


def remarks(curves: Sequence[OperationCurve]) -> tuple[str, ...]:
    """Every step, peak and broken guideline of what was measured with no settings, a sentence each."""
    return tuple(sentence for one in curves if one.is_default for sentence in _remarks(one))


def _remarks(curve: OperationCurve) -> Iterator[str]:
    whose = f"{name(curve.runtime)}, {curve.operation}"
    for step in curve.steps:
        direction = "steps up" if step.factor > 1 else "falls"
        yield f"{whose}: {direction} by a factor of {step.factor:.2f}{_interval(step)} {_between(step)}."
    for kind, found in _by_kind(curve).items():
        for run in _runs(found, curve):
            worst = max(run, key=lambda one: one.factor)
            against = (
                f"at {length(worst.other_words)}" if kind == CHEAPER else kind.removeprefix("dearer than ")
            )
            where = f", worst at {length(worst.words)}" if len(run) > 1 else ""
            yield (
                f"{whose} {_range(run)} words: takes {worst.factor:.2f} times{_interval(worst)} as long as "
                f"{against}{where}."
            )


def _interval(found: Step | Guideline) -> str:
    return "" if found.low is None or found.high is None else f" ({found.low:.2f} to {found.high:.2f})"
