"""The first screen of a tuned program: as it is against the answer, or against what came nearest."""

from __future__ import annotations

from collections.abc import Iterator

from tautochrone import text
from tautochrone.report.analysis import FirstScreen
from tautochrone.report.first_screen import beside, picture
from tautochrone.tune.answer import CandidateResult, TuneAnalysis

_MOST_RIVALS = 2


def first_screen(analysis: TuneAnalysis) -> FirstScreen:
    default, winner = analysis.of_role("default"), analysis.of_role("winner")
    rivals = sorted(
        (one for one in analysis.candidates if one.role == "finalist" and one.ratio is not None),
        key=lambda one: one.ratio.value or 0.0 if one.ratio else 0.0,
        reverse=analysis.largest,
    )
    shown = ([winner] if winner is not None else rivals[:_MOST_RIVALS]) + (rivals[:1] if winner else [])
    return FirstScreen(
        picture=picture(
            f"{analysis.unit} relative to now",
            "now",
            *(beside(_label(one), one.ratio, best=one is winner) for one in shown),
        ),
        facts=(
            ("Median", "; ".join(_medians(default, winner)) or text.UNKNOWN),
            ("CPU time", "; ".join(_cpu_times(default, winner)) or text.UNKNOWN),
        ),
    )


def _label(candidate: CandidateResult) -> str:
    words = f"{candidate.words[:1].upper()}{candidate.words[1:]}"
    return words if candidate.role == "winner" else f"{words}, the next"


def _medians(default: CandidateResult | None, winner: CandidateResult | None) -> Iterator[str]:
    """Such as "now 269 ms; with it 231 ms"."""
    for name, one in (("now", default), ("with it", winner)):
        if one is not None and one.written:
            yield f"{name} {one.written}"


def _cpu_times(default: CandidateResult | None, winner: CandidateResult | None) -> Iterator[str]:
    """What a run takes of all CPUs together."""
    for name, one in (("now", default), ("with it", winner)):
        spent = one.spent if one is not None else None
        if spent is not None and spent.cpu_seconds is not None:
            yield f"{name} {text.seconds(spent.cpu_seconds)} a run"
