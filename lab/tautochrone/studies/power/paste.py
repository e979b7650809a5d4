"""The lines that change in a program: shared by the data, and left to the system."""

from __future__ import annotations

from collections.abc import Sequence

from tautochrone.report.analysis_types import Settings
from tautochrone.studies.contenders import ratio
from tautochrone.studies.paste import CMAKE
from tautochrone.studies.power.cells import CellRuns, jobs_of
from tautochrone.studies.power.recommendations import compared
from tautochrone.studies.power.works import DOMAIN, FUNCTIONAL

_BY_DATA = """// before: one thread for each function
std::thread first([&] { collide(bodies); });
std::thread second([&] { draw(bodies); });

// after: each member does all functions on its part of the data
#include <tauto/tauto.hpp>
tauto::team team;  // once in the program

team.run([&](tauto::member& me) {
    auto mine = tauto::equal_share(bodies.size(), me.size(), me.rank());
    collide(bodies, mine);
    me.barrier();
    draw(bodies, mine);
});"""


def settings_to_paste(cells: Sequence[CellRuns]) -> tuple[Settings, ...]:
    """From a split by functions to one by the data, with what it gave here where the costs differ most."""
    unequal = [cell for cell in jobs_of(cells) if cell.ratio is not None]
    cell = max(unequal, key=lambda one: one.ratio or 0.0, default=None)
    if cell is None:
        return (CMAKE,)
    found = ratio(cell.find(DOMAIN, 2), cell.find(FUNCTIONAL))
    why = "It keeps its balance when a function gets dearer."
    if found.value is not None:
        why = f"Here, with {cell.title}: {compared(found)}. {why}"
    return (
        Settings(
            label="From a split by functions to one by the data", language="cpp", text=_BY_DATA, why=why
        ),
        CMAKE,
    )
