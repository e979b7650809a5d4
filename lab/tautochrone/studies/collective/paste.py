"""Settings to paste: those of a library's that were measured better than none, and ours for a program's."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tautochrone import statistics
from tautochrone.report import text
from tautochrone.report.analysis_types import Ratio, Settings
from tautochrone.studies.collective.configurations import MEMBER, PAIRS, VARIANTS
from tautochrone.studies.collective.curves import Runs, common_words, pairs_at
from tautochrone.studies.collective.sentences import name
from tautochrone.studies.contenders import as_ratio
from tautochrone.studies.wording import less_time


def settings_to_paste(runs: Sequence[Runs]) -> tuple[Settings, ...]:
    """The best settings of each library that are resolved as faster over all lengths; none where none are."""
    defaults = {one.peer: one for one in runs if one.is_default}
    return tuple(
        found for peer, default in defaults.items() if (found := _best(peer, default, runs)) is not None
    )


def _best(peer: str, default: Runs, runs: Sequence[Runs]) -> Settings | None:
    better = [
        (found.value, one, found)
        for one in runs
        if one.peer == peer
        and not one.is_default
        and one.schedule != MEMBER
        and (found := over_all_lengths(one, default)).verdict == statistics.FASTER
        and found.value is not None
    ]
    if not better:
        return None
    _, one, found = min(better, key=lambda each: each[0])
    variant = next(each for each in VARIANTS[peer] if each.name == one.variant)
    lines = "\n".join(f"export {key}={value}" for key, value in variant.environment.items())
    gain = f"Here, over all lengths of all_reduce and all_gather: {less_time(found)})."
    why = f"{text.sentence(variant.what)} {gain}"
    return Settings(label=f"{name(peer)}, {variant.name}", language="shell", text=lines, why=why)


def over_all_lengths(one: Runs, other: Runs) -> Ratio:
    """The geometric mean of the ratio over all operations and lengths that both have."""
    cells = [pairs for operation in PAIRS for pairs in _cells(one, other, operation)]
    return as_ratio(statistics.geometric_mean(cells))


def _cells(one: Runs, other: Runs, operation: str) -> Iterator[list[tuple[float, float]]]:
    mine, theirs = one.curve(operation), other.curve(operation)
    if mine is not None and theirs is not None:
        for words in common_words(mine, theirs):
            yield pairs_at(mine, theirs, words)
