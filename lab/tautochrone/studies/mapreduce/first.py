"""The map/reduce study's first screen: the serial loop against the libraries where sharing begins to pay."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tautochrone import text
from tautochrone.report.analysis import FirstScreen, Settings
from tautochrone.report.first_screen import beside, judged, picture
from tautochrone.results.runs import OURS, ratio
from tautochrone.results.states import by_state
from tautochrone.studies.cells import geometric_mean_of
from tautochrone.studies.mapreduce.cells import CellRuns
from tautochrone.studies.mapreduce.findings import Payoff
from tautochrone.studies.mapreduce.sentences import FOR_QT, name


def first_screen(cells: Sequence[CellRuns], payoffs: Sequence[Payoff]) -> FirstScreen:
    """Of the first state of the machine, at the shortest tasks from which ours pays, else at the longest."""
    of_state = next(iter(by_state(cells).values()), [])
    cell = _of_interest([cell for cell in of_state if cell.serial is not None], payoffs)
    if cell is None:
        return FirstScreen()
    other, cpus = cell.best_default, text.count(cell.cpus, "CPU")
    against, kinds = geometric_mean_of((cell.ours, cell.best_default) for cell in of_state)
    return FirstScreen(
        picture=picture(
            f"time relative to serial: {cell.tasks} tasks of {text.seconds(cell.task_seconds)}",
            "the serial loop",
            beside(f"tautochrone on {cpus}", ratio(cell.ours, cell.serial), best=True),
            ()
            if other is None
            else beside(f"{name(other.peer)}, the fastest other", ratio(other, cell.serial)),
        ),
        facts=(
            ("Against others", f"{judged(against)}, mean over {text.count(kinds, 'kind')} of tasks"),
            ("Longest tasks", next(_at_best(max(of_state, key=lambda cell: cell.bytes)), text.UNKNOWN)),
        ),
        paste=Settings(label="C++ program, tautochrone", language="cpp", text=FOR_QT),
    )


def _of_interest(cells: Sequence[CellRuns], payoffs: Sequence[Payoff]) -> CellRuns | None:
    """Where ours begins to pay."""
    starts = [one for one in payoffs if one.runtime == OURS and one.from_seconds is not None]
    for cell in cells:
        for start in starts:
            same = (cell.tasks, cell.task_seconds) == (start.tasks, start.from_seconds)
            if same and dict(cell.emulated) == dict(start.emulated):
                return cell
    return max(cells, key=lambda cell: cell.bytes, default=None)


def _at_best(cell: CellRuns) -> Iterator[str]:
    """What ours reaches where tasks are long: "1.97× of 2.00× possible"."""
    reached = cell.speedup(cell.ours) if cell.ours is not None else None
    if reached is not None:
        ideal = cell.ideal_speedup(cell.cpus)
        yield f"tautochrone is {reached:.2f} times as fast as one core, of {ideal:.2f} possible"
