"""An answer of tune from rows that were made up: a winner, two others, two that were only screened."""

from __future__ import annotations

from measuring import changed, row
from tautochrone.results.row import Row
from tautochrone.tune.analysis import analyse
from tautochrone.tune.answer import Finding, TuneAnalysis, TuneContext
from tautochrone.tune.space import DEFAULT

FASTER = {"OMP_NUM_THREADS": "8", "OMP_SCHEDULE": "dynamic,2"}


def rows_of(
    name: str,
    settings: dict[str, str],
    seconds: float,
    rounds: int = 12,
    source: str = "measured",
    **fields: object,
) -> list[Row]:
    """Rows with a little noise that is the same for all names in a round."""
    return [
        changed(
            row(name, number, seconds * (1 + 0.002 * (number % 3)), source=source, config=settings, **fields),
            run=f"{source}-{name}-{number}",
            elapsed_seconds=seconds,
            group="tune",
        )
        for number in range(rounds)
    ]


def context(**fields: object) -> TuneContext:
    tried = (Finding(knob="OMP_NUM_THREADS", values=("1", "8"), because="libgomp.so.1 is linked"),)
    usual = {"program": ("./solver", "case.in"), "folder": "results", "tried": tried, "has_openmp": True}
    usual |= {"looks": (12,), "ended": "lead"}
    return TuneContext(**{**usual, **fields})  # type: ignore[arg-type]


def answer(faster: float = 0.77, **fields: object) -> TuneAnalysis:
    rows = [
        *rows_of(DEFAULT, {}, 1.0),
        *rows_of("winner", FASTER, faster),
        *rows_of("other", {"OMP_NUM_THREADS": "8"}, 0.9),
        *rows_of("slow", {"OMP_NUM_THREADS": "1"}, 2.0, 1, "screening"),
        *rows_of("odd", {"OMP_NUM_THREADS": "1", "OMP_SCHEDULE": "dynamic,2"}, 1.8, 1, "screening"),
    ]
    return analyse(rows, {}, context(**fields))
