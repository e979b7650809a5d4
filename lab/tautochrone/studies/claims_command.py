"""``tauto claims``: every published claim, what is shown of it here, and whether it holds."""

from __future__ import annotations

import json as json_module
import sys
from collections.abc import Callable, Collection, Sequence
from pathlib import Path

import msgspec
from rich.console import Console
from rich.table import Table

from tautochrone.claims import loop, mapreduce, nbody, power
from tautochrone.claims.measured import beside, measured_claims, measured_here
from tautochrone.claims.verdict import Verdict
from tautochrone.errors import TautoError

FAMILIES: dict[str, Callable[[], list[Verdict]]] = {
    "H": loop.verdicts,
    "M": mapreduce.verdicts,
    "P": power.verdicts,
    "N": nbody.verdicts,
}
IDS: tuple[str, ...] = tuple(
    f"{family}{number}"
    for family, count in (("H", 12), ("M", 6), ("P", 7), ("N", 9))
    for number in range(1, count + 1)
)


def judge(wanted: Collection[str] = IDS) -> list[Verdict]:
    """What the simulator shows of these claims, in their order."""
    found = [
        one for family in FAMILIES if any(id[0] == family for id in wanted) for one in FAMILIES[family]()
    ]
    return [one for one in found if one.id in wanted]


def wanted_ids(only: str) -> set[str]:
    """All claims, or those named: ``H3,M4`` or a family's letter. TautoError for one that is not there."""
    names = [name.strip().upper() for name in only.split(",") if name.strip()]
    wanted: set[str] = set()
    for name in names:
        matching = {id for id in IDS if id == name or (name in FAMILIES and id[0] == name)}
        if not matching:
            raise TautoError(
                f"there is no claim {name}",
                "Choose from H1 to H12, M1 to M6, P1 to P7, N1 to N9, or H, M, P, N",
            )
        wanted |= matching
    return wanted or set(IDS)


def run_claims_command(json: bool, only: str, measured: Sequence[Path] | None, console: Console) -> int:
    """Print the table, or the list as JSON.

    ``measured``: folders of studies whose rows decide what no simulation can; None: those in the usual place.
    """
    wanted = wanted_ids(only)
    if measured is None:
        decided = measured_here(lambda words: print(words, file=sys.stderr))
    else:
        decided = measured_claims(measured)
    found = beside(judge(wanted), decided)
    if json:
        print(json_module.dumps(msgspec.to_builtins(found), ensure_ascii=False, indent=1))
        return 0
    if _names_claims(only):
        for one in found:
            console.print(_details(one))
            console.print()
    else:
        console.print(_table(found))
        console.print("One in full: tauto claims --only H8", highlight=False)
    console.print(summary(found), soft_wrap=True, highlight=False)
    return 0


def _names_claims(only: str) -> bool:
    """True where single claims were named, not all or a family."""
    return any(name.strip().upper() in IDS for name in only.split(","))


def summary(found: Sequence[Verdict]) -> str:
    """How many hold, and which do not."""
    failed = [one.id for one in found if one.holds is False]
    open_ones = [one.id for one in found if one.holds is None]
    held = len(found) - len(failed) - len(open_ones)
    parts = [f"{held} of {len(found)} claims hold"]
    if failed:
        parts.append(f"do not hold: {', '.join(failed)}")
    if open_ones:
        parts.append(f"not decided: {', '.join(open_ones)}")
    return "; ".join(parts) + "."


def _table(found: Sequence[Verdict]) -> Table:
    """A line a claim, cut to the width of the terminal."""
    table = Table(box=None, pad_edge=False)
    table.add_column("claim", no_wrap=True, min_width=5)
    table.add_column("holds", no_wrap=True, min_width=5)
    table.add_column("what is shown here", no_wrap=True, overflow="ellipsis", ratio=1)
    for one in found:
        table.add_row(one.id, _HOLDS[one.holds], one.ours)
    return table


_HOLDS = {True: "yes", False: "NO", None: "open"}


def _details(one: Verdict) -> Table:
    """All that is known of one claim."""
    table = Table(box=None, pad_edge=False, show_header=False)
    table.add_column("", no_wrap=True, min_width=9)
    table.add_column("", overflow="fold", ratio=1)
    lines = {
        "claim": one.id,
        "published": one.published,
        "ours": one.ours,
        "holds": _HOLDS[one.holds],
        "tolerance": one.tolerance,
        "source": one.source,
        "shown by": one.command,
        "note": one.note,
    }
    for name, words in lines.items():
        if words:
            table.add_row(name, words)
    return table
