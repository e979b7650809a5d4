"""The lines that change in a program: what each library's map/reduce looks like, and ours."""

from __future__ import annotations

from collections.abc import Sequence

from tautochrone import statistics
from tautochrone.report import text
from tautochrone.report.analysis_types import Settings
from tautochrone.studies.contenders import geometric_mean
from tautochrone.studies.mapreduce.cells import CellRuns
from tautochrone.studies.paste import CMAKE
from tautochrone.studies.wording import less_time

_FROM_QT = """// before
auto sum = QtConcurrent::blockingMappedReduced<quint64>(
    jobs, task, reduce);

// after
#include <tauto/tauto.hpp>
tauto::team team;  // once in the program

auto sum = tauto::map_reduce(team, jobs, task, reduce);"""
_FROM_TBB = """// before
auto sum = tbb::parallel_reduce(
    tbb::blocked_range<std::size_t>(0, jobs.size()),
    std::uint64_t{0},
    [&](const auto& part, std::uint64_t sum) {
        for (auto i = part.begin(); i != part.end(); ++i)
            sum += task(jobs[i]);
        return sum;
    },
    std::plus<>{});

// after
#include <tauto/tauto.hpp>
tauto::team team;  // once in the program

auto sum = tauto::map_reduce(
    team, jobs, task, std::plus<>{});"""
_ORDERED = (
    "Your reduce has to be associative. Results are reduced in the order of the jobs, whoever computed them: "
    "the same bits every time."
)


def settings_to_paste(cells: Sequence[CellRuns]) -> tuple[Settings, ...]:
    """For a user of Qt and for one of oneTBB the line that changes, with what the change gave here."""
    return (
        Settings(
            label="From QtConcurrent to tautochrone", language="cpp", text=_FROM_QT, why=_why(cells, "qt")
        ),
        Settings(label="From oneTBB to tautochrone", language="cpp", text=_FROM_TBB, why=_why(cells, "tbb")),
        CMAKE,
    )


def _why(cells: Sequence[CellRuns], peer: str) -> str:
    """What the change gave on all CPUs of the machine as it is, over all kinds of tasks."""
    both = [
        (mine, other)
        for cell in cells
        if not cell.emulated and (mine := cell.ours) is not None and (other := cell.find(peer)) is not None
    ]
    found = geometric_mean(both)
    if found.verdict in (statistics.FASTER, statistics.SLOWER):
        kinds = text.count(len(both), "kind")
        return f"Here, over {kinds} of tasks: {less_time(found)}, {found.rounds} rounds). {_ORDERED}"
    return _ORDERED
