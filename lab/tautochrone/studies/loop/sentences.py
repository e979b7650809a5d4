"""What the numbers say, in sentences: what to use on this machine, and by how much it is better."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from tautochrone import statistics
from tautochrone.report.analysis_types import Ratio
from tautochrone.studies.contenders import geometric_mean, ratio
from tautochrone.studies.loop.cells import CellRuns, Contender
from tautochrone.studies.wording import AS_IT_IS, by_state, less_time, state_words, unresolved

ALIKE = 1.01  # what is slower by less is no reason to prefer anything
# Nor is this where no difference was resolved; behind more than this noise may well hide one.
NEARLY_ALIKE = 1.05


def verdict_sentences(cells: Sequence[CellRuns]) -> tuple[str, ...]:
    """One sentence of advice for each state of the machine, then what is best at which size."""
    sentences: list[str] = []
    for state, of_state in by_state(cells).items():
        sentences.append(advice(dict(state), of_state))
        against = against_best(of_state)
        sentences += [against] if against else []
        best = best_by_size(dict(state), of_state)
        sentences += [best] if best else []
    if not sentences:
        return ("On this machine nothing was measured.",)
    first = sentences[0].removeprefix(AS_IT_IS)
    sentences[0] = f"On this machine{' as it is' if first != sentences[0] else ', '}{first}"
    return tuple(sentence[0].upper() + sentence[1:] for sentence in sentences)


def _evidence(found: Ratio, sizes: int) -> str:
    where = f" at each of {sizes} sizes" if sizes > 1 else ""
    return f"{found.rounds} rounds{where}"


def advice(emulated: Mapping[str, float], cells: Sequence[CellRuns]) -> str:
    """What to use in this state, against a plain OpenMP loop, over all its sizes."""
    where = state_words(emulated)
    ours = [(cell.ours, cell.plain_openmp) for cell in cells]
    both = [(mine, plain) for mine, plain in ours if mine is not None and plain is not None]
    found = geometric_mean(both)
    if not both or found.verdict == statistics.NOT_MEASURED:
        return f"{where}, nothing can be recommended: {_why_not(cells, found)}."
    evidence = _evidence(found, len(both))
    if found.verdict == statistics.FASTER:
        return (
            f"{where}, use all cores with tautochrone's adaptive schedule: "
            f"{less_time(found)}, {evidence}) than a plain OpenMP loop."
        )
    better = _better_than_plain(cells)
    if better is not None:
        return f"{where}, use {better}."
    if found.verdict == statistics.SLOWER:
        return (
            f"{where}, leave a plain OpenMP loop as it is: tautochrone's adaptive schedule takes "
            f"{less_time(found)}, {evidence}) there."
        )
    return (
        f"{where}, leave a plain OpenMP loop as it is: no difference to tautochrone's adaptive schedule was "
        f"resolved ({unresolved(found)}, {evidence})."
    )


def _why_not(cells: Sequence[CellRuns], found: Ratio) -> str:
    if any(cell.ours is None for cell in cells):
        return "tautochrone's own runs are missing or failed"
    if any(cell.plain_openmp is None for cell in cells):
        return "no plain OpenMP loop was measured beside ours"
    return (
        f"{found.rounds} complete rounds are fewer than the {statistics.MINIMUM_ROUNDS} that a verdict needs"
    )


def _better_than_plain(cells: Sequence[CellRuns]) -> str | None:
    """A contender that was measured in every cell and beats the plain loop over all of them."""
    best: tuple[float, str] | None = None
    for one in cells[0].finalists:
        found = _against_plain(one, cells)
        if found is None or found.verdict != statistics.FASTER or found.value is None:
            continue
        if best is None or found.value < best[0]:
            evidence = _evidence(found, len(cells))
            best = (found.value, f"{one.label}: {less_time(found)}, {evidence}) than a plain OpenMP loop")
    return best[1] if best is not None else None


def _against_plain(one: Contender, cells: Sequence[CellRuns]) -> Ratio | None:
    both: list[tuple[Contender, Contender]] = []
    for cell in cells:
        same = next((each for each in cell.finalists if each.label == one.label), None)
        if same is None or cell.plain_openmp is None or same is cell.plain_openmp:
            return None
        both.append((same, cell.plain_openmp))
    return geometric_mean(both)


def against_best(cells: Sequence[CellRuns]) -> str | None:
    """Ours against whatever was fastest of all other settings at each size; None where there is nothing."""
    both = [
        (cell.ours, cell.best_peer) for cell in cells if cell.ours is not None and cell.best_peer is not None
    ]
    found = geometric_mean([(mine, best) for mine, best in both if mine is not None and best is not None])
    if found.verdict == statistics.NOT_MEASURED:
        return None
    tried = sum(1 for one in cells[0].contenders if one.peer != "tautochrone")
    rivals = f"the fastest at each size of the {tried} other settings that were tried"
    evidence = _evidence(found, len(both))
    if found.verdict == statistics.NO_DIFFERENCE:
        return f"against {rivals}, no difference was resolved ({unresolved(found)}, {evidence})."
    return f"against {rivals}, adaptive with no settings takes {less_time(found)}, {evidence})."


def best_by_size(emulated: Mapping[str, float], cells: Sequence[CellRuns]) -> str | None:
    """Which configuration is best at which sizes, neighbouring sizes with one answer taken together."""
    runs: list[tuple[str, list[int]]] = []
    for cell in sorted(cells, key=lambda one: one.size):
        winner = winner_words(cell)
        if winner is None:
            continue
        if runs and runs[-1][0] == winner:
            runs[-1][1].append(cell.size)
        else:
            runs.append((winner, [cell.size]))
    if not runs:
        return None
    parts = [f"{_sizes(sizes)}: {winner}" for winner, sizes in runs]
    return f"{state_words(emulated)}, by size: {'; '.join(parts)}."


def _sizes(sizes: Sequence[int]) -> str:
    return f"n = {sizes[0]}" if len(sizes) == 1 else f"n = {sizes[0]} to {sizes[-1]}"


def winner_words(cell: CellRuns) -> str | None:
    """The fastest contender of a cell; where others are as good, the simplest of them.

    As good: slower by at most 1 %, or by at most 5 % with no difference resolved.

    Simplest first: the serial loop, the plain OpenMP loop, ours with no settings, then what needs settings.
    """
    finalists = cell.finalists
    if not finalists or len(finalists[0].by_round) < statistics.MINIMUM_ROUNDS:
        return None
    equals = [finalists[0], *_not_told_apart(finalists)]
    for simple in _simplest(cell):
        if any(simple is one for one in equals):
            return simple.label if len(equals) == 1 else f"{simple.label} (nothing is clearly faster)"
    return finalists[0].label


def _not_told_apart(finalists: Sequence[Contender]) -> Iterator[Contender]:
    for one in finalists[1:]:
        found = ratio(one, finalists[0])
        alike = found.value is not None and found.value <= ALIKE
        nearly = found.value is not None and found.value <= NEARLY_ALIKE
        if alike or (nearly and found.verdict == statistics.NO_DIFFERENCE):
            yield one


def _simplest(cell: CellRuns) -> list[Contender]:
    return [one for one in (cell.serial, cell.plain_openmp, cell.ours) if one is not None]
