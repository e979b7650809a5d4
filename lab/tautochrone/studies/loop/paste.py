"""Settings to paste into a shell or a program: what the measurements speak for, made concrete."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tautochrone import statistics
from tautochrone.report.analysis_types import Settings
from tautochrone.studies.contenders import ratio
from tautochrone.studies.loop.cells import CellRuns, Contender
from tautochrone.studies.paste import CMAKE
from tautochrone.studies.wording import by_state, less_time, state_words

_OURS_CPP = """#include <tauto/tauto.hpp>

tauto::team team;  // one pinned member a usable core; the caller is member 0
tauto::parallel_for(team, n, [&](tauto::range rows) {
    for (auto i = rows.begin; i < rows.end; ++i) work(i);
});"""
_TBB_PARTITIONER = {
    "auto": "tbb::auto_partitioner{}",
    "simple": "tbb::simple_partitioner{}",
    "static": "tbb::static_partitioner{}",
    "affinity": "affinity",
}


def settings_to_paste(cells: Sequence[CellRuns]) -> tuple[Settings, ...]:
    """For each state of the machine the best OpenMP and oneTBB settings; then our lines."""
    found: list[Settings] = []
    for state, of_state in by_state(cells).items():
        where = state_words(dict(state))
        found += _openmp(of_state, where)
        found += _tbb(of_state, where)
    return (
        *found,
        Settings(
            label="C++ program, tautochrone",
            language="cpp",
            text=_OURS_CPP,
            why="No settings: shares, width and whether to fork at all are learned while the program runs.",
        ),
        CMAKE,
    )


def _largest(cells: Sequence[CellRuns]) -> CellRuns:
    return max(cells, key=lambda cell: cell.size)


def _best_of(cell: CellRuns, peers: Sequence[str]) -> Contender | None:
    return next((one for one in cell.finalists if one.peer in peers), None)


def _openmp(cells: Sequence[CellRuns], where: str) -> Iterator[Settings]:
    """The best OpenMP configuration at the largest size, where time is spent."""
    cell = _largest(cells)
    best, plain = _best_of(cell, ("libgomp", "libomp")), cell.plain_openmp
    if best is None or plain is None:
        return
    if best is plain or ratio(best, plain).verdict != statistics.FASTER:
        why = f"Nothing to set: no OpenMP setting was resolved as faster at n = {cell.size}."
        pinned = _openmp_lines(plain)
        yield Settings(label=f"OpenMP, {where}", language="shell", text=pinned, why=why)
        return
    why = f"At n = {cell.size}: {less_time(ratio(best, plain))}) than the plain loop."
    yield Settings(
        label=f"OpenMP, {where}: {best.label}", language="shell", text=_openmp_lines(best), why=why
    )


def _openmp_lines(one: Contender) -> str:
    """Environment of the runner, in OpenMP's own variables; the schedule needs ``schedule(runtime)``."""
    cpus = [str(cpu) for cpu in one.config["cpus"]]
    lines = [
        f"export OMP_NUM_THREADS={len(cpus)}",
        f'export OMP_PLACES="{",".join(f"{{{cpu}}}" for cpu in cpus)}"',
        "export OMP_PROC_BIND=close",
    ]
    if one.wait != "default":
        lines.append(f"export OMP_WAIT_POLICY={one.wait}")
    if one.schedule in ("dynamic", "guided", "static_chunk", "auto"):
        chunk = "" if one.chunk is None else f",{one.chunk}"
        lines.append(f'export OMP_SCHEDULE="{one.schedule.removesuffix("_chunk")}{chunk}"')
        lines.append("# in the source: #pragma omp parallel for schedule(runtime)")
    if one.peer == "libomp":
        lines.append("# measured on LLVM's libomp: build with clang -fopenmp, or preload libomp.so.5")
    return "\n".join(lines)


def _tbb(cells: Sequence[CellRuns], where: str) -> Iterator[Settings]:
    cell = _largest(cells)
    best = _best_of(cell, ("tbb",))
    default = cell.find("tbb", "auto", "all")
    if best is None or default is None or best is default:
        return
    found = ratio(best, default)
    if found.verdict != statistics.FASTER:
        return
    keep = "tbb::affinity_partitioner affinity;  // has to outlive the loop\n"
    text = (
        f"{keep if best.schedule == 'affinity' else ''}"
        f"tbb::task_arena arena({len(best.config['cpus'])});\n"
        "arena.execute([&] {\n"
        "    tbb::parallel_for(tbb::blocked_range<std::size_t>(0, n), body,\n"
        f"                      {_TBB_PARTITIONER.get(best.schedule, best.schedule)});\n"
        "});"
    )
    yield Settings(
        label=f"oneTBB, {where}: {best.label}",
        language="cpp",
        text=text,
        why=f"At n = {cell.size}: {less_time(found)}) than its default.",
    )
