"""What the curves say, in sentences: the verdict, then every step, peak and broken guideline by name."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tautochrone import text, verdicts
from tautochrone.report.analysis import Settings
from tautochrone.report.palette import name_of
from tautochrone.results.runs import OURS
from tautochrone.studies.collective.configurations import MEMBER, PAIRS, VARIANTS, WORD_BYTES
from tautochrone.studies.collective.curves import Runs, mean_ratio, pairs_of
from tautochrone.studies.collective.findings import Guideline, OperationCurve, Overall, Step
from tautochrone.studies.disturbance import restless
from tautochrone.text import interval, less_time, unresolved
from tautochrone.verdicts import Ratio

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
    shown = [curve for curve in curves if curve.is_default and curve.points]
    if not shown:
        return (f"On this machine nothing can be said yet: no library was measured with {where}.",)
    return (
        f"On this machine, with {where}, {_against_mpi(overall, shown)}.",
        *restless(others_share, "ranks"),
        *_of_libraries(shown),
        *_ours_at_worst(shown),
    )


def _against_mpi(overall: Sequence[Overall], shown: Sequence[OperationCurve]) -> str:
    """The first sentence without its beginning and its end."""
    means = [mean for mean in overall if mean.against == BETTER_MPI]
    parts = [_comparison(mean) for mean in means if mean.ratio.verdict != verdicts.NOT_MEASURED]
    if parts:
        lengths, rounds = means[0].lengths, means[0].ratio.rounds
        measured = f"the better at each length, geometric mean over {text.count(lengths, 'length')}"
        return f"{', and '.join(parts)} ({measured}, {rounds} launches)"
    if not any(curve.runtime == OURS for curve in shown):
        return "tautochrone was not measured, so the libraries are only described"
    if all(curve.runtime == OURS for curve in shown):
        return "no MPI was measured beside tautochrone, so there is nothing to compare it with"
    launches = max(point.launches for curve in shown for point in curve.points)
    return f"{launches} launches are fewer than the {verdicts.MINIMUM_ROUNDS} that a verdict needs"


def _comparison(mean: Overall) -> str:
    """tautochrone’s all_reduce takes 59 % less time (57 to 61 %) than that of the better MPI."""
    mine = f"tautochrone’s {mean.operation}"
    if mean.ratio.verdict == verdicts.NO_DIFFERENCE:
        return (
            f"between {mine} and that of {BETTER_MPI} no difference was resolved ({unresolved(mean.ratio)})"
        )
    return f"{mine} takes {less_time(mean.ratio, f'that of {BETTER_MPI}')}"


def length(words: int) -> str:
    """512 → "512 words (4 KiB)"."""
    return f"{text.count(words, 'word')} ({text.binary_bytes(words * WORD_BYTES)})"


def _of_libraries(shown: Sequence[OperationCurve]) -> Iterator[str]:
    for runtime in dict.fromkeys(curve.runtime for curve in shown):
        curves = [curve for curve in shown if curve.runtime == runtime]
        parts = [part for curve in curves for part in _summary(curve)]
        operations = " and ".join(curve.operation for curve in curves)
        if parts:
            yield f"{name_of(runtime)}: {'; '.join(parts)}."
        elif max(point.launches for curve in curves for point in curve.points) >= verdicts.MINIMUM_ROUNDS:
            yield (
                f"{name_of(runtime)}: {operations} have neither a step nor a peak that was resolved, and "
                "break no guideline."
            )


def _summary(curve: OperationCurve) -> Iterator[str]:
    """Short: the largest step, the worst peak, the longest ranges of broken guidelines."""
    rising = [step for step in curve.steps if step.factor > 1]
    if rising:
        worst = max(rising, key=lambda step: step.factor)
        count = text.count(len(rising), "step")
        largest = _step_words(worst) if len(rising) == 1 else f"the largest {_step_words(worst)}"
        yield f"{curve.operation} has {count} up, {largest}"
    for broken in _by_kind(curve).values():
        worst_one = max(broken, key=lambda guideline: guideline.factor)
        longer = f"takes longer (up to {text.significant(worst_one.factor)} times) than {_than(worst_one)}"
        yield f"{curve.operation} {longer} {_ranges(broken, curve)}"


def _step_words(step: Step) -> str:
    return f"by {text.percent(step.factor - 1)} {_between(step)}"


def _between(step: Step) -> str:
    """Between 511 and 512 words (4 KiB)."""
    return f"between {step.below_words:,} and {length(step.above_words)}"


def _by_kind(curve: OperationCurve) -> dict[str, list[Guideline]]:
    kinds: dict[str, list[Guideline]] = {}
    for guideline in curve.guidelines:
        kinds.setdefault(guideline.kind, []).append(guideline)
    return kinds


def _than(guideline: Guideline) -> str:
    """What takes less time: a larger length, or other calls."""
    larger = guideline.kind == CHEAPER
    return f"at {length(guideline.other_words)}" if larger else guideline.cheaper


def _runs(found: Sequence[Guideline], curve: OperationCurve) -> list[list[Guideline]]:
    """Neighbouring lengths together."""
    order = {point.words: place for place, point in enumerate(curve.points)}
    runs: list[list[Guideline]] = []
    for guideline in sorted(found, key=lambda each: each.words):
        if runs and order[guideline.words] == order[runs[-1][-1].words] + 1:
            runs[-1].append(guideline)
        else:
            runs.append([guideline])
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


def worst_of_ours(shown: Sequence[OperationCurve]) -> tuple[float, str, int] | None:
    """Where ours gains least against the better MPI: its part of that time, the operation, the words."""
    found = [
        (point.to_better_mpi.value, curve.operation, point.words)
        for curve in shown
        if curve.runtime == OURS and curve.is_default
        for point in curve.points
        if point.to_better_mpi is not None and point.to_better_mpi.value is not None
    ]
    return max(found, default=None)


def _ours_at_worst(shown: Sequence[OperationCurve]) -> Iterator[str]:
    """The length that a reader should not have to look for."""
    worst = worst_of_ours(shown)
    if worst is not None:
        value, operation, words = worst
        yield (
            f"tautochrone gains least in {operation} of {length(words)}: {text.significant(value)} of the "
            "time of the better MPI there."
        )


def remarks(curves: Sequence[OperationCurve]) -> tuple[str, ...]:
    """Every step, peak and broken guideline of what was measured with no settings, a sentence each."""
    return tuple(sentence for curve in curves if curve.is_default for sentence in _remarks(curve))


def _remarks(curve: OperationCurve) -> Iterator[str]:
    whose = f"{name_of(curve.runtime)}, {curve.operation}"
    for step in curve.steps:
        direction = "steps up" if step.factor > 1 else "falls"
        factor = f"{step.factor:.2f}{interval(step.low, step.high)}"
        yield f"{whose}: {direction} by a factor of {factor} {_between(step)}."
    for broken in _by_kind(curve).values():
        for run in _runs(broken, curve):
            worst = max(run, key=lambda guideline: guideline.factor)
            times = f"{worst.factor:.2f} times{interval(worst.low, worst.high)}"
            where = f", worst at {length(worst.words)}" if len(run) > 1 else ""
            yield f"{whose} {_range(run)} words: takes {times} as long as {_than(worst)}{where}."


# -- settings to paste --


def settings_to_paste(runs: Sequence[Runs]) -> tuple[Settings, ...]:
    """The best settings of each library that are resolved as faster over all lengths; none where none are."""
    return tuple(settings for default in runs if default.is_default for settings in _best(default, runs))


def _best(default: Runs, runs: Sequence[Runs]) -> Iterator[Settings]:
    others = [
        each for each in runs if each.peer == default.peer and not each.is_default and each.schedule != MEMBER
    ]
    ratios = [(over_all_lengths(each, default), each.variant) for each in others]
    better = [pair for pair in ratios if pair[0].verdict == verdicts.FASTER]
    if not better:
        return
    ratio, name = min(better, key=lambda pair: pair[0].value or 1.0)
    variant = next(each for each in VARIANTS[default.peer] if each.name == name)
    gain = f"Here, over all lengths of all_reduce and all_gather: {less_time(ratio)}."
    yield Settings(
        label=f"{name_of(default.peer)}, {name}",
        language="shell",
        text="\n".join(f"export {key}={value}" for key, value in variant.environment.items()),
        why=f"{text.sentence(variant.what)} {gain}",
    )


def over_all_lengths(runs: Runs, other: Runs) -> Ratio:
    """The geometric mean of the ratio over all operations and lengths that both have."""
    both = [pairs_of(runs.curves.get(operation), other.curves.get(operation)) for operation in PAIRS]
    return mean_ratio([pairs for of_operation in both for pairs in of_operation])
