"""``tauto list``: which results are here."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import msgspec

from tautochrone.errors import TautoError, all_printable
from tautochrone.options import Argument, Option
from tautochrone.results import USUAL_FOLDER
from tautochrone.results.store import ROWS_FILE, Store
from tautochrone.text import as_json, count

SCHEMA = "tautochrone.list/1"


class Results(msgspec.Struct, frozen=True):
    """A folder of results; ``unreadable`` says why nothing more is known of it."""

    folder: str
    study: str = ""
    runs: int = 0
    failed: int = 0
    last: str | None = None
    report: str | None = None
    unreadable: str | None = None


class Listing(msgspec.Struct, frozen=True, kw_only=True):
    """What `tauto list --json` prints."""

    schema: str = SCHEMA
    results: list[Results]


@dataclass(frozen=True)
class ListRequest:
    """List the results that are here.

    Of each: what was measured, how often, when, and where its report is.

    \b
    Examples:
      tauto list
      tauto list tautochrone-results --json
    """  # noqa: D301

    folder: Annotated[Path, Argument("FOLDER", "Where to look.")] = USUAL_FOLDER
    json: Annotated[bool, Option("Print JSON.")] = False

    def run(self) -> int:
        found = [*results_in(self.folder)]
        if self.json:
            print(as_json(all_printable(msgspec.to_builtins(Listing(results=found)))))
            return 0
        if not found:
            raise TautoError(
                f"there are no results in {self.folder}",
                "Measure something (tauto study loop --quick), or name the folder that has them",
            )
        for one in found:
            print("\n".join(_lines(one)))
        return 0


def results_in(folder: Path) -> Iterator[Results]:
    """Of the folder itself and of those in it, by name."""
    for path in sorted({folder / ROWS_FILE, *folder.glob(f"*/{ROWS_FILE}")}):
        if path.is_file():
            yield _read(path.parent)


def _read(folder: Path) -> Results:
    try:
        with Store.read(folder) as store:
            rows = store.rows()
            ended = [str(row.started) for row in rows if row.started]
            report = folder / "report.html"
            return Results(
                folder=str(folder),
                study=store.study,
                runs=len(rows),
                failed=sum(row.error is not None for row in rows),
                last=max(ended, default=None),
                report=str(report) if report.is_file() else None,
            )
    except (TautoError, OSError) as error:
        return Results(folder=str(folder), unreadable=str(error))


def _lines(one: Results) -> Iterator[str]:
    yield one.folder
    if one.unreadable is not None:
        yield f"  cannot be read: {one.unreadable}"
        return
    failed = f", {one.failed} failed" if one.failed else ""
    last = f", the last {one.last[:16].replace('T', ' ')} UTC" if one.last else ""
    yield f"  {one.study}: {count(one.runs, 'run')}{failed}{last}"
    if one.report is not None:
        yield f"  {one.report}"
