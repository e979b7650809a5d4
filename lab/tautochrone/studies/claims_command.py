"""``tauto claims``: every published claim, what is shown of it here, and whether it holds."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import msgspec
from rich.table import Table

from tautochrone import text
from tautochrone.errors import TautoError, say
from tautochrone.jobs import spread
from tautochrone.options import Option
from tautochrone.report.analysis import Analysis, Claim
from tautochrone.results import USUAL_FOLDER
from tautochrone.results.store import ROWS_FILE, Store
from tautochrone.studies import STUDIES, claims_report, sharing, short_runs, study_in, study_named
from tautochrone.studies.against_command import prediction_of
from tautochrone.studies.against_matching import KINDS
from tautochrone.studies.claims import ClaimsRecord, Verdict
from tautochrone.studies.claims_report import PAGE_FILE
from tautochrone.studies.collective import claims as collective
from tautochrone.studies.loop import claims_simulated as simulated_loop
from tautochrone.studies.loop import published
from tautochrone.studies.mapreduce import claims as mapreduce
from tautochrone.studies.mapreduce import claims_simulated as simulated_tasks
from tautochrone.studies.nbody import claims as nbody
from tautochrone.studies.power import claims as power
from tautochrone.studies.power import claims_simulated as simulated_power
from tautochrone.studies.sharing import Shared
from tautochrone.terminal import Terminal

FAMILIES: dict[str, Callable[[Collection[str]], list[Verdict]]] = {
    "H": simulated_loop.simulated,
    "M": simulated_tasks.simulated,
    "P": simulated_power.simulated,
    "N": nbody.simulated,
}
IDS: tuple[str, ...] = tuple(
    sorted(
        (
            id
            for family in (published.FAMILY, mapreduce.FAMILY, power.FAMILY, nbody.FAMILY, collective.FAMILY)
            for id in family.statements
        ),
        key=lambda id: ([*FAMILIES].index(id[0]), int(id[1:])),
    )
)

_HOLDS = {True: "yes", False: "NO", None: "open"}


def judge(wanted: Collection[str] = IDS) -> list[Verdict]:
    """What the simulator shows of these claims, in their order."""
    return [
        verdict
        for family, simulated in FAMILIES.items()
        if any(id[0] == family for id in wanted)
        for verdict in simulated(wanted)
    ]


def wanted_ids(only: str) -> set[str]:
    """All claims, or those named: ``H3,M4`` or a family's letter. TautoError for one that is not there."""
    names = [name.strip().upper() for name in only.split(",") if name.strip()]
    wanted: set[str] = set()
    for name in names:
        matching = {id for id in IDS if id == name or (name in FAMILIES and id[0] == name)}
        if not matching:
            raise TautoError(
                f"there is no claim {name}",
                f"Choose from {', '.join(_spans())}, or {', '.join(FAMILIES)}",
            )
        wanted |= matching
    return wanted or set(IDS)


def _spans() -> list[str]:
    """Of each family the first and the last claim."""
    members = [[id for id in IDS if id[0] == family] for family in FAMILIES]
    return [f"{ids[0]} to {ids[-1]}" for ids in members]


# -- what the studies that were measured on this machine say --


class Measured(msgspec.Struct, frozen=True):
    """A claim as a study's own rows decide it."""

    claim: Claim
    study: str
    folder: Path


class Judged(msgspec.Struct, frozen=True):
    """A folder of results and what its study says of them."""

    folder: Path
    study: str
    analysis: Analysis


def studies_here() -> list[Judged]:
    """The studies in the usual place; what cannot be read there is said and passed over."""
    found: list[Judged] = []
    for folder in sorted(USUAL_FOLDER.glob("*/")):
        if not (folder / ROWS_FILE).exists():
            continue
        try:
            if study_in(folder) in STUDIES:
                found.append(_judged(folder))
        except TautoError as error:
            say(f"warning: {folder} is passed over: {error}")
    return found


def studies_in(folders: Iterable[Path]) -> list[Judged]:
    """Those that are named. Raises TautoError for one without rows, or of a study that judges no claim."""
    return [_judged(folder) for folder in folders]


def _judged(folder: Path) -> Judged:
    with Store.read(folder) as store:
        if store.study not in STUDIES:
            raise TautoError(
                f"{folder} holds the study {store.study!r}, which judges no claim",
                f"Name folders of these studies: {', '.join(STUDIES)}",
            )
        return Judged(folder, store.study, study_named(store.study).stored(store))


def measured_claims(studies: Iterable[Judged]) -> dict[str, Measured]:
    """What these decide, by claim; of several the last one's word."""
    return {
        claim.id: Measured(claim, judged.study, judged.folder)
        for judged in studies
        for claim in judged.analysis.claims
        if claim.holds is not None
    }


def beside(verdicts: Sequence[Verdict], measured: dict[str, Measured]) -> list[Verdict]:
    """Verdicts with what was measured: it decides where no simulation can, and is in the note elsewhere."""
    return [
        _beside(verdict, measured[verdict.id]) if verdict.id in measured else verdict for verdict in verdicts
    ]


def _beside(simulated: Verdict, found: Measured) -> Verdict:
    claim = found.claim
    source = f"measured here ({found.folder})"
    # Of runs, those of a whole study are more than a few blocks: one that ended otherwise decides.
    refuted = simulated.source == short_runs.SOURCE and claim.holds is False
    if simulated.holds is not None and not refuted:
        words = f"{source}: {claim.ours}; it {'holds' if claim.holds else 'does not hold'}"
        return msgspec.structs.replace(simulated, note="; ".join(filter(None, [simulated.note, words])))
    words = f"{simulated.source}: {simulated.ours}"
    return msgspec.structs.replace(
        simulated,
        ours=claim.ours,
        holds=claim.holds,
        source=source,
        command=f"tauto study {found.study}",
        note="; ".join(filter(None, [claim.note, words])),
    )


def predictions(studies: Iterable[Judged]) -> Iterator[str]:
    """How well the simulator predicts each of them, where it has a model of it; why not, where it should."""
    for judged in studies:
        if judged.study in KINDS:
            try:
                yield prediction_of(judged.folder)
            except TautoError as error:
                yield f"The measured {judged.study} study is not held against its simulation: {error}"


# -- the command --


@dataclass(frozen=True)
class ClaimsRequest:
    """Say of every published claim whether it holds here.

    Claims are simulated on the published machines. What only a measurement can decide, such as programs that
    agree to the last bit, is taken from the studies that were measured here.

    \b
    Examples:
      tauto claims
      tauto claims --only H3,H6
      tauto claims --only N --measured results/nbody
      tauto claims --json > claims.json
      tauto claims --report
      tauto claims --with laptop.tauto --with desktop.tauto
    """  # noqa: D301

    json: Annotated[bool, Option("Print the list as JSON.")] = False
    only: Annotated[str, Option("Only these: H3,M4, or a family: N.", "ID,…")] = ""
    measured: Annotated[
        tuple[str, ...],
        Option(
            "A measured study, to decide what no simulation can; may be given several times. "
            "Default: the studies in tautochrone-results, where there are any.",
            "FOLDER",
            many=True,
        ),
    ] = ()
    others: Annotated[
        tuple[str, ...],
        Option(
            "A file that tauto share wrote on another machine: its verdicts stand beside. May be repeated.",
            "FILE",
            flag="--with",
            many=True,
        ),
    ] = ()
    report: Annotated[
        bool,
        Option("Also draw the figures of the sources, each with its claims, on one offline page."),
    ] = False
    output: Annotated[
        Path, Option("Where the page goes. Default: tautochrone-results/claims.html.", "FILE")
    ] = PAGE_FILE
    launcher: Annotated[tuple[str, ...], spread.LAUNCHER] = ()
    nodes: Annotated[int, spread.NODES] = 1
    dask: Annotated[str | None, spread.DASK] = None
    kept: Annotated[Path | None, spread.KEPT] = None

    def run(self) -> int:
        """Print the table, or the list as JSON; 0."""
        wanted = wanted_ids(self.only)
        studies = studies_in(map(Path, self.measured)) if self.measured else studies_here()
        machines = [sharing.read(Path(file)) for file in self.others]
        with spread.spread_over(self.launcher, self.nodes, self.dask, self.kept):
            verdicts = judge(wanted)
        found = beside(verdicts, measured_claims(studies))
        if self.json:
            print(text.as_json(ClaimsRecord(claims=list(found))))
            return 0
        console = Terminal()
        if any(name.strip().upper() in IDS for name in self.only.split(",")):  # single ones, no family
            for verdict in found:
                console.print(_details(verdict))
                console.print()
        else:
            console.print(_table(found))
            console.print("One in full: tauto claims --only H8", highlight=False)
        console.print(summary(found), soft_wrap=True, highlight=False)
        if machines:
            console.print(_machines_table(machines, wanted))
        if self.report:
            analyses = {judged.study: judged.analysis for judged in studies}
            predicted = tuple(predictions(studies))
            path = claims_report.write(found, analyses, summary(found), self.output, machines, predicted)
            console.print(f"The report: {path}", soft_wrap=True, highlight=False)
        return 0


def summary(found: Sequence[Verdict]) -> str:
    """How many hold, and which do not."""
    failed = [verdict.id for verdict in found if verdict.holds is False]
    open_ones = [verdict.id for verdict in found if verdict.holds is None]
    held = len(found) - len(failed) - len(open_ones)
    parts = [f"{held} of {len(found)} claims hold"]
    if failed:
        parts.append(f"do not hold: {', '.join(failed)}")
    if open_ones:
        parts.append(f"not decided: {', '.join(open_ones)}")
    return "; ".join(parts) + "."


def _table(found: Sequence[Verdict]) -> Table:
    table = Table(box=None, pad_edge=False)
    table.add_column("claim", no_wrap=True, min_width=5)
    table.add_column("holds", no_wrap=True, min_width=5)
    table.add_column("what is shown here", no_wrap=True, overflow="ellipsis", ratio=1)
    for verdict in found:
        table.add_row(verdict.id, _HOLDS[verdict.holds], verdict.ours)
    return table


def _machines_table(machines: Sequence[Shared], wanted: Collection[str]) -> Table:
    """Each claim that any of these machines says something of, a machine a column."""
    table = Table(box=None, pad_edge=False)
    table.add_column("claim", no_wrap=True, min_width=5)
    for machine in machines:
        table.add_column(f"{machine.name}, {machine.study}", overflow="fold")
    for id, cells in claims_report.laid_beside(machines):
        if id in wanted:
            table.add_row(id, *cells)
    return table


def _details(verdict: Verdict) -> Table:
    """All that is known of one claim."""
    table = Table(box=None, pad_edge=False, show_header=False)
    table.add_column("", no_wrap=True, min_width=9)
    table.add_column("", overflow="fold", ratio=1)
    lines = {
        "claim": verdict.id,
        "published": verdict.published,
        "ours": verdict.ours,
        "holds": _HOLDS[verdict.holds],
        "tolerance": verdict.tolerance,
        "fails if": verdict.fails_if,
        "given": verdict.given,
        "hangs on": verdict.sensitivity,
        "source": verdict.source,
        "shown by": verdict.command,
        "note": verdict.note,
    }
    for name, words in lines.items():
        if words:
            table.add_row(name, words)
    return table
