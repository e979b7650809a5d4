"""The power study's first screen: one thread against a split by functions and one by the data."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tautochrone import text
from tautochrone.report.analysis import Bar, FirstScreen, Settings
from tautochrone.report.first_screen import beside, judged, picture
from tautochrone.studies.power.configurations import DOMAIN, FREE, FUNCTIONAL
from tautochrone.studies.power.findings import JobCell, Setup, SharedJob
from tautochrone.studies.power.sentences import BY_MEMBERS
from tautochrone.verdicts import FASTER


def first_screen(jobs: Sequence[JobCell], setups: Sequence[Setup]) -> FirstScreen:
    """Of the job whose split is most unequal, since that is what imbalance costs; else of the last one."""
    job = max(jobs, key=lambda cell: (cell.ratio or 0.0, len(cell.shared)), default=None)
    if job is None:
        return FirstScreen()
    by_functions, by_data = _fastest(job, FUNCTIONAL), _fastest(job, DOMAIN)
    if job.ratio is None:
        by_data = min(
            (one for one in job.shared if one.to_serial.value is not None),
            key=lambda one: one.to_serial.value or 0.0,
            default=None,
        )
    return FirstScreen(
        picture=picture(
            f"time relative to one thread: {job.title}",
            "one thread",
            _bar(by_functions, best=False),
            _bar(by_data, best=True),
        ),
        facts=(
            ("Imbalance", _imbalance([one for one in (by_functions, by_data) if one is not None])),
            ("Two at once", _together(setups)),
        ),
        paste=Settings(label="Each thread its part of the data", language="cpp", text=BY_MEMBERS),
    )


def _fastest(job: JobCell, way: str) -> SharedJob | None:
    ways = [one for one in job.shared if one.way == way and one.to_serial.value is not None]
    return min(ways, key=lambda one: one.to_serial.value or 0.0, default=None)


def _bar(shared: SharedJob | None, *, best: bool) -> Iterable[Bar]:
    return () if shared is None else beside(shared.label, shared.to_serial, best=best)


def _imbalance(ways: Sequence[SharedJob]) -> str:
    """The busiest thread’s time over the mean of each way."""
    told = [f"{one.label} {one.imbalance:.2f}" for one in ways if one.imbalance is not None]
    return f"busiest thread over the mean: {', '.join(told)}" if told else text.UNKNOWN


def _together(setups: Sequence[Setup]) -> str:
    """What the best affinity gives two programs that run at once."""
    pinned = [one for one in setups if one.name != FREE and one.to_free.value is not None]
    if not pinned:
        return text.UNKNOWN
    best = min(pinned, key=lambda one: one.to_free.value or 0.0)
    if best.to_free.verdict != FASTER:
        return f"no affinity is resolved as faster than none; the best: {text.ratio(best.to_free)}"
    return f"{best.label}: {judged(best.to_free)} than no affinity"
