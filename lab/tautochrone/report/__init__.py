"""The report: one HTML file that opens offline, with the verdict first and the machine last.

``write`` is all that the rest of the lab needs; an analysis brings the parts of its own page.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tautochrone.errors import TautoError
from tautochrone.files import write_whole
from tautochrone.report import summary
from tautochrone.report.analysis import Analysis
from tautochrone.report.summary import SUFFIXES, Format
from tautochrone.results.row import Row
from tautochrone.results.store import Store

__all__ = ["Analysis", "Format", "write", "write_of"]


def write(
    rows: Sequence[Row],
    machine: Mapping[str, Any],
    path: Path,
    analysis: Analysis,
    *,
    study: str,
    form: Format = "html",
) -> Path:
    """Writes the report of `rows` (schema ``tautochrone.row/1``), or its first screen, to `path`; returns it.

    `machine` is the machine's JSON. The file is replaced whole: a reader never sees half a page.
    TautoError when there are no rows, or the file cannot be written. Linear in the number of rows.
    """
    if not rows:
        raise TautoError(
            f"a report of study {study!r} was asked for, but there are no rows",
            f"Measure first: tauto study {study}",
        )
    content = _rendered(form, rows, machine, analysis, study)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, content)
    except OSError as error:
        raise TautoError(
            f"the report cannot be written to {path}: {error.strerror or error}",
            "Choose another folder with --output, or make room there",
        ) from error
    return path


def _rendered(
    form: Format, rows: Sequence[Row], machine: Mapping[str, Any], analysis: Analysis, study: str
) -> str | bytes:
    if form != "html":
        return summary.render(form, rows, machine, analysis, study)
    # Only here: this package is used where nothing is drawn, and the libraries of charts take long to load.
    from tautochrone.report import page

    return page.render(rows, machine, analysis, study)


def write_of(
    store: Store,
    analysis: Analysis,
    path: Path | None = None,
    *,
    machine: Mapping[str, Any] | None = None,
    form: Format = "html",
) -> Path:
    """As :func:`write`, of a store's rows and by default into its folder. `machine`: the store's own."""
    path = path or store.folder / f"report{SUFFIXES[form]}"
    seen = analysis.seen_from(store.folder, path)
    return write(store.rows(None), machine or store.machine, path, seen, study=store.study, form=form)
