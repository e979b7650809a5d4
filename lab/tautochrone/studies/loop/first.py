"""The loop study's first screen: a plain loop against ours and against the best of all others."""

from __future__ import annotations

from collections.abc import Sequence

from tautochrone import text, verdicts
from tautochrone.report.analysis import FirstScreen, Settings
from tautochrone.report.first_screen import beside, judged, picture
from tautochrone.results.runs import OURS
from tautochrone.results.states import by_state
from tautochrone.studies.cells import geometric_mean_of
from tautochrone.studies.loop.cells import CellRuns

_OURS = """#include <tauto/tauto.hpp>
tauto::team team;  // once a program
tauto::parallel_for(
    team, n, [&](tauto::range rows) {
        // the loop, rows.begin to .end
    });"""


def first_screen(cells: Sequence[CellRuns], settings: Sequence[Settings]) -> FirstScreen:
    """Of the first state of the machine, over all its sizes, as the first sentence is."""
    of_state = next(iter(by_state(cells).values()), [])
    if not of_state:
        return FirstScreen()
    ours, sizes = geometric_mean_of((cell.ours, cell.plain_openmp) for cell in of_state)
    others, _ = geometric_mean_of((cell.best_peer, cell.plain_openmp) for cell in of_state)
    against, _ = geometric_mean_of((cell.ours, cell.best_peer) for cell in of_state)
    tried = sum(1 for contender in of_state[0].contenders if contender.peer != OURS)
    where = f"mean over {sizes} sizes" if sizes > 1 else f"n = {of_state[0].size}"
    gains = ours.verdict == verdicts.FASTER
    return FirstScreen(
        picture=picture(
            f"time relative to a plain OpenMP loop, {where}",
            "a plain OpenMP loop",
            beside("tautochrone’s adaptive schedule, no settings", ours, best=gains),
            beside(f"the fastest of {tried} others at each size", others, best=not gains),
        ),
        facts=(
            ("Against the best", judged(against)),
            ("Largest size", _times(max(of_state, key=lambda cell: cell.size))),
        ),
        paste=_lines(settings, ours=gains),
    )


def _times(cell: CellRuns) -> str:
    """Such as "n = 4000: 2.31 ms, a plain loop 3.90 ms"."""
    pairs = (("", cell.ours), ("a plain loop ", cell.plain_openmp))
    times = [f"{name}{text.seconds(of.seconds)}" for name, of in pairs if of is not None and of.seconds]
    return f"n = {cell.size}: {', '.join(times) or text.UNKNOWN}"


def _lines(settings: Sequence[Settings], *, ours: bool) -> Settings | None:
    """Our lines where ours is the answer, else the first that set anything."""
    if ours:
        return Settings(label="C++ program, tautochrone", language="cpp", text=_OURS)
    return next((lines for lines in settings if lines.text.startswith("export ")), None)
