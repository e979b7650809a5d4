"""The report of a comparison: one HTML file, from its rows and what it knows beside them."""

from __future__ import annotations

from pathlib import Path

from tautochrone import report
from tautochrone.comparing.analysis import analyse, checked
from tautochrone.comparing.answer import CompareAnalysis
from tautochrone.comparing.result import CompareContext
from tautochrone.machine.record import machine_of
from tautochrone.results import context as contexts
from tautochrone.results.store import Store


def report_again(folder: Path, path: Path | None = None, form: report.Format = "html") -> Path:
    """Write the report of a comparison's rows, by default into their folder; returns its path."""
    with Store.read(folder) as store:
        context = contexts.load(CompareContext(folder=str(folder)), store.folder)
        context.notices = tuple(dict.fromkeys((*context.notices, *store.notices)))
        found = analyse(checked(store, context), context, machine_of(store))
        return report.write_of(store, CompareAnalysis.of(found, context), path, form=form)
