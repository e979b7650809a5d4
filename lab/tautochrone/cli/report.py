"""``tauto report``: the page of stored results, written again."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from tautochrone.comparing import measure, reporting
from tautochrone.errors import TautoError
from tautochrone.options import Argument, Option
from tautochrone.studies import STUDIES, study_in, study_named
from tautochrone.tune import tuning


@dataclass(frozen=True)
class ReportRequest:
    """Write the report of stored results again.

    \b
    Example:
      tauto report tautochrone-results/loop
    """  # noqa: D301

    folder: Annotated[Path, Argument("FOLDER", "A folder of results.")]
    output: Annotated[Path | None, Option("Where to write. Default: FOLDER/report.html.", "FILE")] = None

    def run(self) -> int:
        print(f"The report: {report_again(self.folder, self.output)}")
        return 0


def report_again(folder: Path, output: Path | None = None) -> Path:
    """Write the report of a folder's rows; returns where. Raises TautoError for what has no report."""
    study = study_in(folder)
    if study == tuning.STUDY:
        return tuning.report_again(folder, output)
    if study == measure.STUDY:
        return reporting.report_again(folder, output)
    if study not in STUDIES:
        raise TautoError(
            f"{folder} holds the study {study!r}, which has no report",
            f"Name the folder of one of these studies: {', '.join(STUDIES)}",
        )
    return study_named(study).report_again(folder, output)
