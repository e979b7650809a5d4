"""What every study does after its last run: say the verdict, write the report, and write it again later."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

import msgspec

from tautochrone.errors import TautoError
from tautochrone.report.analysis_types import Analysis
from tautochrone.store import Store
from tautochrone.studies import STUDIES
from tautochrone.studies.options import StudyRequest
from tautochrone.studies.services import Services


def conclude(
    store: Store,
    machine: Mapping[str, Any],
    request: StudyRequest,
    analysis: Analysis,
    services: Services,
    interrupted: bool,
) -> None:
    """Write the report, print the verdict (or the analysis as JSON) and where everything is.

    Raises KeyboardInterrupt at the end for a study that was interrupted: what it has is reported first.
    """
    if request.json:
        print(msgspec.json.encode(analysis).decode(), file=services.output, flush=True)
    path = None
    if request.report and store.rows(None):
        path = _write(store, machine, request.output / "report.html", analysis)
    if not request.json:
        for sentence in analysis.verdict_sentences:
            print(sentence, file=services.output)
        print(f"\nRows:   {store.path}", file=services.output)
        if path is not None:
            print(f"Report: {path}", file=services.output, flush=True)
    if interrupted:
        raise KeyboardInterrupt


def _write(store: Store, machine: Mapping[str, Any], path: Path, analysis: Analysis) -> Path:
    from tautochrone import report

    here = analysis.seen_from(store.folder, path)
    return report.write(store.rows(None), machine, path, study=store.study, extra=here)


def report_again(folder: Path, path: Path | None = None) -> Path:
    """Write the report of a folder's rows. Raises TautoError where there are none, or of an unknown study."""
    with Store.read(folder) as store:
        analyse = analyser(store.study)
        if analyse is None:
            raise TautoError(
                f"{store.path} holds the study {store.study!r}, which has no report",
                f"Name the folder of one of these studies: {', '.join(STUDIES)}",
            )
        return _write(store, store.machine, path or folder / "report.html", analyse(store))


def analyser(study: str) -> Callable[[Store], Analysis] | None:
    """How the rows of a study become its findings; imported only when they are wanted."""
    if study not in (*STUDIES, "tune"):
        return None
    module = "tautochrone.tune.tuning" if study == "tune" else f"tautochrone.studies.{study}.study"
    found: Callable[[Store], Analysis] = import_module(module).stored_analysis
    return found
