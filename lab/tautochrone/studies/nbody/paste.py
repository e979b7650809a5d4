"""The command lines that were the fastest here, one for each number of particles."""

from __future__ import annotations

from collections.abc import Sequence

from tautochrone.report import text
from tautochrone.report.analysis_types import Settings
from tautochrone.report.nbody.analysis_types import BlockCurve
from tautochrone.studies.contenders import OURS
from tautochrone.studies.nbody.sentences import nearest

_MEMBER = """#include <tauto/tauto.hpp>

tauto::team team;  // once in the program
team.run([&](tauto::member& me) {
    // every member: its share of the sources …
    sum_forces(slice_of(sources, me.size(), me.rank()), forces);
    // … one collective a block, and all have the sums, the same bits on each …
    me.all_reduce(std::span<double>(forces), std::plus<>{});
    // … so all correct, and nobody waits for a master.
    correct(forces);
});"""


def settings_to_paste(curves: Sequence[BlockCurve]) -> tuple[Settings, ...]:
    """A block of one's own program with one collective, and the command that runs this study's."""
    ours = [one for one in curves if one.runtime == OURS and one.order == 4 and one.seconds is not None]
    if not ours:
        return ()
    count = nearest([one.particles for one in ours])
    best = min((one for one in ours if one.particles == count), key=lambda one: one.seconds or 0.0)
    error = text.energy_error(best.energy_error)
    took = f"{text.seconds(best.seconds)} a block here, with {best.scheme}; energy error {error}."
    return (
        Settings(
            label="One collective a block, in your own program",
            language="cpp",
            text=_MEMBER,
            why="In place of a parallel loop for each stage: one region, one exchange, no serial part.",
        ),
        Settings(
            label=f"{count:,} particles on all cores",
            language="shell",
            text=f"tauto-nbody --particles {count} --scheme {best.scheme} --log blocks.csv",
            why=took,
        ),
    )
