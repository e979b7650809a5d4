"""``tauto claims --report``: one page of all sources, with their figures redrawn and their claims judged."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import ClassVar, Literal

import msgspec

from tautochrone import report, text
from tautochrone.report.analysis import Analysis, Bar, FirstScreen, Picture, Settings
from tautochrone.results import USUAL_FOLDER
from tautochrone.results.row import ROW_SCHEMA, Row
from tautochrone.studies.claims import Verdict
from tautochrone.studies.figures import Chapter, records_of
from tautochrone.studies.loop import figures as loop
from tautochrone.studies.loop.findings import LoopAnalysis
from tautochrone.studies.mapreduce import figures as mapreduce
from tautochrone.studies.mapreduce.findings import MapReduceAnalysis
from tautochrone.studies.nbody import figures as nbody
from tautochrone.studies.power import figures as power
from tautochrone.studies.sharing import Shared

PAGE_FILE = USUAL_FOLDER / "claims.html"


class ClaimsAnalysis(Analysis, frozen=True, kw_only=True):
    """What the page shows: figures by source, and every verdict."""

    PAGE: ClassVar[str] = "tautochrone.studies.claims_page"

    chapters: tuple[Chapter, ...]
    verdicts: tuple[Verdict, ...]
    machines: tuple[str, ...] = ()  # others', laid beside each other
    beside: tuple[tuple[str, tuple[str, ...]], ...] = ()  # claim, a cell a machine


def chapters(measured: Mapping[str, Analysis]) -> tuple[Chapter, ...]:
    """Of all sources; ``measured``: by study, what was measured here."""
    of_loop, of_tasks = measured.get("loop"), measured.get("mapreduce")
    return (
        loop.chapter(of_loop if isinstance(of_loop, LoopAnalysis) else None),
        mapreduce.chapter(of_tasks if isinstance(of_tasks, MapReduceAnalysis) else None),
        power.chapter(),
        nbody.chapter(),
    )


def laid_beside(machines: Sequence[Shared]) -> list[tuple[str, list[str]]]:
    """Of each claim that any of these machines tells something of, a cell a machine."""
    words = {True: "yes", False: "NO", None: "open"}
    by_machine = [{claim.id: claim for claim in machine.claims()} for machine in machines]
    ids = dict.fromkeys(id for claims in by_machine for id in claims)
    return [
        (
            id,
            [
                f"{words[found.holds]}: {found.ours}"
                if (found := claims.get(id)) is not None
                else "not asked"
                for claims in by_machine
            ],
        )
        for id in ids
    ]


def first_screen(verdicts: Sequence[Verdict]) -> FirstScreen:
    """How many hold, and which do not."""
    ids = {answer: [one.id for one in verdicts if one.holds is answer] for answer in (True, False, None)}
    roles: tuple[tuple[str, Literal["best", "other", "now"], bool | None], ...] = (
        ("hold", "best", True),
        ("do not hold", "other", False),
        ("are open: no machine here decides them", "now", None),
    )
    bars = tuple(
        Bar(label=label, role=role, value=float(len(ids[answer])), written=str(len(ids[answer])))
        for label, role, answer in roles
    )
    measured = sum(one.source.startswith("measured") for one in verdicts)
    title = f"of {text.count(len(verdicts), 'published claim')}"
    return FirstScreen(
        picture=Picture(title=title, bars=bars, held_against_one=False) if verdicts else None,
        facts=(
            ("Do not hold", ", ".join(ids[False]) or "none"),
            ("Simulated", f"{len(verdicts) - measured}, on the published machines"),
            ("Measured here", f"{measured}, by the studies in {USUAL_FOLDER}"),
        ),
        paste=Settings(label="To see why", language="shell", text=f"tauto claims --only {_shown(ids)}"),
    )


def _shown(ids: Mapping[bool | None, Sequence[str]]) -> str:
    """Those that do not hold, or the first few of the others."""
    return ",".join((ids[False] or ids[None] or ids[True])[:4])


def write(
    verdicts: Sequence[Verdict],
    measured: Mapping[str, Analysis],
    summary: str,
    path: Path,
    machines: Sequence[Shared] = (),
) -> Path:
    """Draw the page of all sources, and say where it is. TautoError where it cannot be written."""
    return write_chapters(chapters(measured), verdicts, summary, path, machines)


def write_chapters(
    found: Sequence[Chapter],
    verdicts: Sequence[Verdict],
    summary: str,
    path: Path,
    machines: Sequence[Shared] = (),
) -> Path:
    """The page of these sources."""
    analysis = ClaimsAnalysis(
        verdict_sentences=(
            summary,
            "Curves are simulated on the published machines unless they say otherwise.",
        ),
        first=first_screen(verdicts),
        chapters=tuple(found),
        verdicts=tuple(verdicts),
        machines=tuple(f"{machine.name}, {machine.study}" for machine in machines),
        beside=tuple((id, tuple(cells)) for id, cells in laid_beside(machines)),
    )
    rows = [
        {
            "schema": ROW_SCHEMA,
            "name": f"{figure.of}: {record['runtime']}",
            "config": {},
            "config_id": f"{figure.name}, {record['runtime']}, {record['x']}",
            "round": 0,
            "study": "claims",
        }
        for chapter in found
        for figure in chapter.figures
        for record in records_of(figure)
    ]
    stored = msgspec.convert(rows, list[Row])
    return report.write(stored, {"name": "The published machines"}, path, analysis, study="claims")
