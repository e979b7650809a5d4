"""What the numbers say: sentences on what to use on this machine, and the settings to paste for it."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

from tautochrone import verdicts
from tautochrone.report.analysis import Settings
from tautochrone.results.runs import OURS, geometric_mean, ratio
from tautochrone.results.states import by_state, opening, state_words
from tautochrone.studies.cells import geometric_mean_of
from tautochrone.studies.loop.cells import CellRuns, Contender
from tautochrone.studies.loop.places import placement_settings, places_of
from tautochrone.studies.paste import CMAKE
from tautochrone.text import less_time, outcome, says_nothing, too_few_rounds, unresolved
from tautochrone.verdicts import Ratio

ALIKE = 1.01  # what is slower by less is no reason to prefer anything
# Nor is this where no difference was resolved; behind more than this noise may well hide one.
NEARLY_ALIKE = 1.05
_OURS_WORDS = "tautochrone's adaptive schedule"
_PLAIN_WORDS = "a plain OpenMP loop"


def verdict_sentences(cells: Sequence[CellRuns]) -> tuple[str, ...]:
    """One sentence of advice for each state of the machine, then what is best at which size."""
    sentences: list[str | None] = []
    for state, of_state in by_state(cells).items():
        first = "" if sentences else "On this machine as it is"
        sentences.append(advice(opening(dict(state), first), of_state))
        sentences.append(against_best(of_state))
        sentences.append(best_by_size(opening(dict(state)), of_state))
    return tuple(filter(None, sentences)) or ("On this machine nothing was measured.",)


def _evidence(compared: Ratio, sizes: int) -> str:
    where = f" at each of {sizes} sizes" if sizes > 1 else ""
    return f"{compared.rounds} rounds{where}"


def advice(where: str, cells: Sequence[CellRuns]) -> str:
    """What to use in the state of these cells, against a plain OpenMP loop, over all their sizes."""
    compared, sizes = geometric_mean_of((cell.ours, cell.plain_openmp) for cell in cells)
    if compared.verdict == verdicts.NOT_MEASURED:
        return f"{where}, nothing can be recommended: {_why_not(cells, compared)}."
    evidence = _evidence(compared, sizes)
    if compared.verdict == verdicts.FASTER:
        return f"{where}, use all cores with {_OURS_WORDS}: {less_time(compared, _PLAIN_WORDS, evidence)}."
    better = _better_than_plain(cells)
    if better is not None:
        return f"{where}, use {better}."
    if says_nothing(compared):
        return f"{where}, nothing can be said: the runs differ too much ({unresolved(compared)}; {evidence})."
    if compared.verdict == verdicts.SLOWER:
        why = f"{_OURS_WORDS} takes {less_time(compared, evidence=evidence)} there"
    else:
        why = f"no difference to {_OURS_WORDS} was resolved ({unresolved(compared)}, {evidence})"
    return f"{where}, leave {_PLAIN_WORDS} as it is: {why}."


def _why_not(cells: Sequence[CellRuns], compared: Ratio) -> str:
    if any(cell.ours is None for cell in cells):
        return "tautochrone's own runs are missing or failed"
    if any(cell.plain_openmp is None for cell in cells):
        return "no plain OpenMP loop was measured beside ours"
    return too_few_rounds(compared.rounds)


def _better_than_plain(cells: Sequence[CellRuns]) -> str | None:
    """What was measured in every cell and beats the plain loop over all of them by most."""
    faster = [
        (compared.value, contender.label, compared)
        for contender in cells[0].finalists
        if (compared := _against_plain(contender, cells)) is not None
        and compared.verdict == verdicts.FASTER
        and compared.value is not None
    ]
    if not faster:
        return None
    _, label, compared = min(faster, key=lambda each: each[0])
    return f"{label}: {less_time(compared, _PLAIN_WORDS, _evidence(compared, len(cells)))}"


def _against_plain(contender: Contender, cells: Sequence[CellRuns]) -> Ratio | None:
    both: list[tuple[Contender, Contender]] = []
    for cell in cells:
        same = next((each for each in cell.finalists if each.label == contender.label), None)
        if same is None or cell.plain_openmp is None or same is cell.plain_openmp:
            return None
        both.append((same, cell.plain_openmp))
    return geometric_mean(both)


def against_best(cells: Sequence[CellRuns]) -> str | None:
    """Ours against whatever was fastest of all other settings at each size; None where there is nothing."""
    compared, sizes = geometric_mean_of((cell.ours, cell.best_peer) for cell in cells)
    if compared.verdict == verdicts.NOT_MEASURED:
        return None
    tried = sum(1 for contender in cells[0].contenders if contender.peer != OURS)
    words = outcome(compared, "adaptive with no settings", _evidence(compared, sizes))
    return f"Against the fastest at each size of the {tried} other settings that were tried, {words}."


def best_by_size(where: str, cells: Sequence[CellRuns]) -> str | None:
    """Which configuration is best at which sizes, neighbouring sizes with one answer taken together."""
    by_size = sorted(cells, key=lambda cell: cell.size)
    winners = [(words, cell.size) for cell in by_size if (words := winner_words(cell)) is not None]
    if not winners:
        return None
    parts = [
        f"{_sizes([size for _, size in together])}: {winner}"
        for winner, together in itertools.groupby(winners, key=lambda pair: pair[0])
    ]
    return f"{where}, by size: {'; '.join(parts)}."


def _sizes(sizes: Sequence[int]) -> str:
    return f"n = {sizes[0]}" if len(sizes) == 1 else f"n = {sizes[0]} to {sizes[-1]}"


def winner_words(cell: CellRuns) -> str | None:
    """The fastest contender of a cell; where others are as good, the simplest of them.

    As good: slower by at most 1 %, or by at most 5 % with no difference resolved.

    Simplest first: the serial loop, the plain OpenMP loop, ours with no settings, then what needs settings.
    """
    finalists = cell.finalists
    if not finalists or len(finalists[0].by_round) < verdicts.MINIMUM_ROUNDS:
        return None
    equals = [finalists[0], *_not_told_apart(finalists)]
    for simple in (cell.serial, cell.plain_openmp, cell.ours):
        if simple is not None and any(simple is equal for equal in equals):
            return simple.label if len(equals) == 1 else f"{simple.label} (nothing is clearly faster)"
    return finalists[0].label


def _not_told_apart(finalists: Sequence[Contender]) -> Iterator[Contender]:
    for contender in finalists[1:]:
        compared = ratio(contender, finalists[0])
        limit = NEARLY_ALIKE if compared.verdict == verdicts.NO_DIFFERENCE else ALIKE
        if compared.value is not None and compared.value <= limit:
            yield contender


# -- settings to paste into a shell or a program --

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
    settings: list[Settings] = []
    for state, of_state in by_state(cells).items():
        where = state_words(dict(state))
        settings += _openmp(of_state, where)
        settings += placement_settings(of_state, where)
        settings += _tbb(of_state, where)
    return (
        *settings,
        Settings(
            label="C++ program, tautochrone",
            language="cpp",
            text=_OURS_CPP,
            why="No settings: shares, width and whether to fork at all are learned while the program runs.",
        ),
        CMAKE,
    )


def _best_of(cell: CellRuns, peers: Sequence[str]) -> Contender | None:
    return next((contender for contender in cell.finalists if contender.peer in peers), None)


def _openmp(cells: Sequence[CellRuns], where: str) -> Iterator[Settings]:
    """The best OpenMP configuration at the largest size, where time is spent."""
    cell = max(cells, key=lambda cell: cell.size)
    best, plain = _best_of(cell, ("libgomp", "libomp")), cell.plain_openmp
    if best is None or plain is None:
        return
    label = f"OpenMP, {where}"
    if best is not plain and (gained := ratio(best, plain)).verdict == verdicts.FASTER:
        why = f"At n = {cell.size}: {less_time(gained, 'the plain loop')}."
        yield Settings(label=f"{label}: {best.label}", language="shell", text=_openmp_lines(best), why=why)
        return
    text = f"# nothing: no OpenMP setting was resolved as faster at n = {cell.size}"
    yield Settings(label=label, language="shell", text=text, why="Leave the plain loop as it is.")


def _openmp_lines(contender: Contender) -> str:
    """Environment of the runner, in OpenMP's own variables; the schedule needs ``schedule(runtime)``."""
    cpus = [str(cpu) for cpu in contender.config["cpus"]]
    lines = [
        f"export OMP_NUM_THREADS={len(cpus)}",
        f'export OMP_PLACES="{places_of(contender.config["cpus"])}"',
        "export OMP_PROC_BIND=close",
    ]
    if contender.wait != "default":
        lines.append(f"export OMP_WAIT_POLICY={contender.wait}")
    if contender.schedule in ("dynamic", "guided", "static_chunk", "auto"):
        chunk = "" if contender.chunk is None else f",{contender.chunk}"
        lines.append(f'export OMP_SCHEDULE="{contender.schedule.removesuffix("_chunk")}{chunk}"')
        lines.append("# in the source: #pragma omp parallel for schedule(runtime)")
    if contender.peer == "libomp":
        lines.append("# measured on LLVM's libomp: build with clang -fopenmp, or preload libomp.so.5")
    return "\n".join(lines)


def _tbb(cells: Sequence[CellRuns], where: str) -> Iterator[Settings]:
    cell = max(cells, key=lambda cell: cell.size)
    best = _best_of(cell, ("tbb",))
    default = cell.find("tbb", "auto", "all")
    if best is None or default is None or best is default:
        return
    gained = ratio(best, default)
    if gained.verdict != verdicts.FASTER:
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
        why=f"At n = {cell.size}: {less_time(gained, 'its default')}.",
    )
