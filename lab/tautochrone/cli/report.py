"""``tauto report``: the page of stored results, written again."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from tautochrone.comparing import measure, reporting
from tautochrone.errors import TautoError
from tautochrone.measuring.temporary import temporary_folder
from tautochrone.options import Argument, Option
from tautochrone.report import Format
from tautochrone.studies import STUDIES, study_in, study_named
from tautochrone.tune import tuning


@dataclass(frozen=True)
class ReportRequest:
    """Write the report of stored results again, or its first screen.

    As a picture or as Markdown, the first screen stands where a page cannot: in a pull request, in a README.

    \b
    Examples:
      tauto report tautochrone-results/loop
      tauto report tautochrone-results/loop --format svg
      tauto report tautochrone-results/loop --format markdown
    """  # noqa: D301

    folder: Annotated[Path, Argument("FOLDER", "A folder of results.")]
    format: Annotated[Format, Option("html; or of the first screen svg, png or markdown.")] = "html"
    output: Annotated[
        Path | None, Option("Where to write. Default: beside the rows; Markdown is printed.", "FILE")
    ] = None

    def run(self) -> int:
        if self.format == "markdown" and self.output is None:
            with temporary_folder("tauto-report-") as folder:
                path = report_again(self.folder, folder / "report.md", self.format)
                print(path.read_text(encoding="utf-8"), end="")
            return 0
        print(f"The report: {report_again(self.folder, self.output, self.format)}")
        return 0


def report_again(folder: Path, output: Path | None = None, form: Format = "html") -> Path:
    """Write the report of a folder's rows; returns where. Raises TautoError for what has no report."""
    study = study_in(folder)
    if study == tuning.STUDY:
        return tuning.report_again(folder, output, form)
    if study == measure.STUDY:
        return reporting.report_again(folder, output, form)
    if study not in STUDIES:
        raise TautoError(
            f"{folder} holds the study {study!r}, which has no report",
            f"Name the folder of one of these studies: {', '.join(STUDIES)}",
        )
    return study_named(study).report_again(folder, output, form)
