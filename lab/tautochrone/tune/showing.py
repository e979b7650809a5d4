"""What a search prints: what it will try and why, and the answer as words, tables and lines to paste."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec
from rich.console import Console
from rich.table import Table

from tautochrone import report
from tautochrone.report.tune.analysis_types import TuneAnalysis
from tautochrone.store import Store
from tautochrone.tune.knobs import NO_RUNTIME
from tautochrone.tune.options import TuneRequest
from tautochrone.tune.services import Services
from tautochrone.tune.space import Space

_SHOWN_EFFECTS = 8
_SHOWN_VALUES = 6


def announce(space: Space, trial: str, services: Services) -> None:
    """What was found and what follows from it, before the first measured run."""
    services.say(f"{trial}.")
    for one in space.tried:
        values = ", ".join(one.values[:_SHOWN_VALUES]) + (" …" if len(one.values) > _SHOWN_VALUES else "")
        services.say(f"  {one.knob.name}: {values}  ({one.because})")
    for line in not_tried(space.left_out):
        services.say(f"  not tried: {line}")
    if space.expert is None:
        services.say("  the expert rule leaves this program as it is")
    part = f" of {space.combinations + 1}" if space.combinations + 1 > len(space.candidates) else ""
    services.say(f"{len(space.candidates)}{part} candidates, the program as it is among them.")


def not_tried(left_out: Iterable[tuple[str, str]]) -> Iterator[str]:
    """The knobs that are not tried, by reason; all that lack their runtime in one line."""
    by_reason: dict[str, list[str]] = {}
    for name, why in left_out:
        by_reason.setdefault(why, []).append(name)
    lacking = {why: names for why, names in by_reason.items() if why.startswith(NO_RUNTIME)}
    if lacking:
        parts = (f"{', '.join(names)} (no {why.removeprefix(NO_RUNTIME)})" for why, names in lacking.items())
        yield "; ".join(parts)
    for why, names in by_reason.items():
        if why not in lacking:
            yield f"{', '.join(names)}  ({why})"


def show(
    analysis: TuneAnalysis,
    store: Store,
    machine: Mapping[str, Any],
    profile: Path,
    request: TuneRequest,
    services: Services,
) -> None:
    """The answer: words, tables, lines to paste, and where everything is."""
    page = None
    if request.report:
        page = report.write(
            store.rows(None), machine, request.folder / "report.html", study=store.study, extra=analysis
        )
    if request.json:
        print(msgspec.json.encode(analysis).decode(), file=services.output, flush=True)
        return
    console = Console(file=services.output)
    for sentence in analysis.verdict_sentences:
        console.print(sentence, markup=False, highlight=False, soft_wrap=True)
    console.print()
    console.print(_candidates(analysis))
    if analysis.effects:
        console.print()
        console.print(_effects(analysis))
    for setting in analysis.settings_to_paste:
        console.print(f"\n{setting.label}:", highlight=False)
        console.print(setting.text, markup=False, highlight=False, soft_wrap=True)
    console.print(f"\nRows:    {store.path}", highlight=False, soft_wrap=True)
    console.print(f"Profile: {profile}", highlight=False, soft_wrap=True)
    if page is not None:
        console.print(f"Report:  {page}", highlight=False, soft_wrap=True)


def _candidates(analysis: TuneAnalysis) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0))
    table.add_column("in the final", overflow="fold")
    for heading in (analysis.unit, "by now", "interval", "rounds"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("it is")
    better, worse = analysis.better, "worse" if analysis.better != "faster" else "slower"
    words = {"faster": better, "slower": worse}
    for one in analysis.candidates:
        if not one.rounds and one.role != "default":
            continue
        ratio = one.ratio
        mark = " *" if one.role == "winner" else ""
        table.add_row(
            f"{one.name}{mark}",
            one.written,
            "" if ratio is None or ratio.value is None else f"{ratio.value:.3f}",
            "" if ratio is None or ratio.low is None else f"{ratio.low:.3f} … {ratio.high:.3f}",
            str(one.rounds),
            "" if ratio is None else words.get(ratio.verdict, ratio.verdict),
        )
    return table


def _effects(analysis: TuneAnalysis) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0))
    table.add_column("knob", overflow="fold")
    table.add_column("value", overflow="fold")
    table.add_column(f"× {analysis.unit}", justify="right")
    table.add_column("±", justify="right")
    table.add_column("")
    for one in analysis.effects[:_SHOWN_EFFECTS]:
        known = "" if one.resolved else "not resolved"
        table.add_row(one.knob, one.value, f"{one.factor:.3f}", f"{100 * one.error:.1f} %", known)
    return table
