"""The report: one HTML file that opens offline, with the verdict first and the machine last.

``write`` is all that the rest of the lab needs; a study fills the structures in
:mod:`tautochrone.report.loop.analysis_types`, :mod:`tautochrone.report.mapreduce.analysis_types`,
:mod:`tautochrone.report.collective.analysis_types`, :mod:`tautochrone.report.nbody.analysis_types` or
:mod:`tautochrone.report.power.analysis_types`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tautochrone.errors import TautoError
from tautochrone.report.analysis_types import Analysis
from tautochrone.whole_file import write_whole

__all__ = ["Analysis", "write"]


def write(
    rows: Sequence[Mapping[str, Any]],
    machine: Mapping[str, Any],
    path: Path,
    *,
    study: str = "loop",
    extra: Analysis | None = None,
) -> Path:
    """Writes the report of `rows` (schema ``tautochrone.row/1``) to `path` and returns it.

    `machine` is the machine's JSON; `extra` is the study's analysis (without it the page holds medians
    and no verdicts). The file is replaced whole: a reader never sees half a page. TautoError when there
    are no rows, or the file cannot be written. Linear in the number of rows.
    """
    if not rows:
        raise TautoError(
            f"a report of study {study!r} was asked for, but there are no rows",
            f"Measure first: tauto study {study}",
        )
    # Only here: `report.text` is used where nothing is drawn, and the libraries of charts take long to load.
    from tautochrone.report import minimal, page

    html = page.render(rows, machine, extra or minimal.medians(rows), study)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, html)
    except OSError as error:
        raise TautoError(
            f"the report cannot be written to {path}: {error.strerror or error}",
            "Choose another folder with --output, or make room there",
        ) from error
    return path
