"""The collective study's first screen: the better MPI at each length against ours."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tautochrone import text
from tautochrone.report.analysis import FirstScreen
from tautochrone.report.first_screen import beside, picture
from tautochrone.report.palette import name_of
from tautochrone.studies.collective.findings import OperationCurve, Overall
from tautochrone.studies.collective.sentences import BETTER_MPI, length, worst_of_ours


def first_screen(curves: Sequence[OperationCurve], overall: Sequence[Overall]) -> FirstScreen:
    means = [mean for mean in overall if mean.against == BETTER_MPI]
    lengths = max((mean.lengths for mean in means), default=0)
    return FirstScreen(
        picture=picture(
            f"time relative to {BETTER_MPI}, mean over {text.count(lengths, 'length')}",
            f"{BETTER_MPI} at each length",
            *(beside(f"tautochrone, {mean.operation}", mean.ratio, best=True) for mean in means),
        ),
        facts=(
            ("Gains least", next(_least(curves), text.UNKNOWN)),
            ("Largest step", next(_step(curves), "none was resolved")),
        ),
    )


def _least(curves: Sequence[OperationCurve]) -> Iterator[str]:
    """all_gather of 2,048 words (16 KiB): 0.93 of the better MPI’s time."""
    worst = worst_of_ours(curves)
    if worst is not None:
        value, operation, words = worst
        yield f"{operation} of {length(words)}: {text.significant(value)} of {BETTER_MPI}’s time"


def _step(curves: Sequence[OperationCurve]) -> Iterator[str]:
    steps = [(step, curve) for curve in curves if curve.is_default for step in curve.steps if step.factor > 1]
    if steps:
        step, curve = max(steps, key=lambda pair: pair[0].factor)
        yield (
            f"{name_of(curve.runtime)}, {curve.operation}: {step.factor:.2f} times the time "
            f"from {length(step.above_words)} on"
        )
