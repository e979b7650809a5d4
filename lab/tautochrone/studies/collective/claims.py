"""The published claim on collectives, beside what today's libraries show of it here."""

from __future__ import annotations

from collections.abc import Sequence

from tautochrone.published import PUBLISHED
from tautochrone.report.analysis_types import Claim
from tautochrone.report.collective.analysis_types import OperationCurve
from tautochrone.studies.collective.sentences import length, name
from tautochrone.studies.contenders import OURS

_NEEDED_RANKS = 16


def claims(curves: Sequence[OperationCurve], ranks: int) -> tuple[Claim, ...]:
    """Claim N4. It is of libraries of 2015 on 16 ranks: today's show whether such places still exist."""
    mpi = [one for one in curves if one.is_default and one.runtime != OURS and one.operation == "all_reduce"]
    if not mpi:
        return (Claim(id="N4", published=PUBLISHED["N4"], ours="no MPI was measured", holds=None),)
    few = f" and {ranks} ranks are not {_NEEDED_RANKS}" if ranks < _NEEDED_RANKS else ""
    note = f"those libraries are not here{few}: today's are described instead"
    return (
        Claim(id="N4", published=PUBLISHED["N4"], ours="; ".join(map(_places, mpi)), holds=None, note=note),
    )


def _places(curve: OperationCurve) -> str:
    up = [
        f"+{100 * (one.factor - 1):.0f} % at {length(one.above_words)}"
        for one in curve.steps
        if one.factor > 1
    ]
    peaks = [one for one in curve.guidelines if one.kind == "larger is cheaper"]
    parts = [f"steps {', '.join(up)}" if up else "no step up"]
    if peaks:
        worst = max(peaks, key=lambda one: one.factor)
        parts.append(
            f"{worst.factor:.2f} times as long at {length(worst.words)} as at {length(worst.other_words)}"
        )
    else:
        parts.append("no length dearer than a larger one")
    return f"{name(curve.runtime)} all_reduce: {'; '.join(parts)}"
