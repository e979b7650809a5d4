"""Every kind of report, written from made-up runs, and what its page must hold."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import compare_fakes
import sample_rows
import study_collective_fakes
import study_mapreduce_fakes
import study_nbody_fakes
import study_power_fakes
import trace_fakes
import tune_fakes
from study_fakes import need_executables
from tautochrone import report
from tautochrone.cli.main import main
from tautochrone.comparing import reporting
from tautochrone.studies import claims_command, claims_report
from tautochrone.studies.claims import Verdict
from tautochrone.studies.collective.study import Collective
from tautochrone.studies.mapreduce.study import MapReduce
from tautochrone.studies.nbody import figures as nbody_figures
from tautochrone.studies.nbody.study import Nbody
from tautochrone.studies.power.study import Power
from tautochrone.trace import findings
from tautochrone.trace import page as trace_page
from tautochrone.tune.space import DEFAULT
from tune_answers import answer, rows_of


@dataclass(frozen=True, eq=False)
class Page:
    """A page: `views` says how many views each chart has, `marks` how many marks a view has at least."""

    name: str
    write: Callable[[Path], Path]
    views: Mapping[str, int]
    marks: int = 6
    tooltips: tuple[str, ...] = ()
    """The charts whose tooltips are opened."""
    tooltip_lines: int = 2
    choice: str = ""
    """A chart with buttons that choose what it shows."""


def _loop(kind: str, *, quick: bool) -> Callable[[Path], Path]:
    def write(folder: Path) -> Path:
        rows = sample_rows.loop_rows(kind, quick=quick)
        analysis = sample_rows.loop_analysis(rows, kind, quick=quick)
        machine = sample_rows.machine(kind)
        return report.write(rows, machine, folder / "report.html", analysis, study="loop")

    return write


def _collective(folder: Path) -> Path:
    request = study_collective_fakes.request(folder, report=True, quick=False)
    Collective.measure(request, study_collective_fakes.laboratory(faster={"eager 64 KiB": 0.8}).services)
    return folder / "report.html"


def _mapreduce(folder: Path) -> Path:
    request = study_mapreduce_fakes.request(folder, report=True, quick=False, emulate=({1: 4.0},))
    MapReduce.measure(request, study_mapreduce_fakes.laboratory().services)
    return folder / "report.html"


def _nbody(folder: Path) -> Path:
    Nbody.measure(study_nbody_fakes.request(folder, report=True), study_nbody_fakes.laboratory().services)
    return folder / "report.html"


def _power(folder: Path) -> Path:
    Power.measure(study_power_fakes.request(folder, report=True), study_power_fakes.laboratory().services)
    return folder / "report.html"


def _tune(folder: Path) -> Path:
    rows = rows_of(DEFAULT, {}, 1.0)
    machine = tune_fakes.machine().to_dict()
    return report.write(rows, machine, folder / "report.html", answer(), study="tune")


def _compare(folder: Path) -> Path:
    commands = {"./old --size 4": "seconds 1.0 noise 1%", "./new --size 4": "seconds 0.8 noise 1%"}
    compare_fakes.compared(commands, output=folder)
    return reporting.report_again(folder)


def _trace(folder: Path) -> Path:
    path = folder / "trace.html"
    traced = trace_fakes.traced(
        [trace_fakes.track(4711, 8.0, name="collide"), trace_fakes.track(4712, 2.0, 3.0, name="draw")]
    )
    traced = dataclasses.replace(traced, balance=trace_fakes.BALANCED)
    path.write_text(trace_page.render(traced, findings.find(traced.threads.tracks, 10.0, 5, 2)))
    return path


def _simulated(folder: Path) -> Path:
    need_executables("simulate")
    assert main(["simulate", "power", "--machine", "i9-14900k", "--output", str(folder)]) == 0
    return folder / "report.html"


def _claims(folder: Path) -> Path:
    verdicts = [
        Verdict(
            id=f"N{number}",
            published="Sharing the targets wins from 64 active particles on",
            ours="from 48 on",
            holds=(True, False, None)[number % 3],
            source="simulated on 1996",
            tolerance="a factor of two",
            command="tauto claims --only N",
            fails_if="it won from fewer on",
        )
        for number in range(1, 9)
    ]
    summary = claims_command.summary(verdicts)
    return claims_report.write_chapters([nbody_figures.chapter()], verdicts, summary, folder / "claims.html")


LOOP = Page(
    "loop",
    _loop("two_cpus", quick=True),
    {"time": 3, "speedup": 3, "ratio": 3, "chunk": 3, "bandwidth": 3, "load": 2},
    tooltips=("time", "speedup", "ratio", "chunk", "bandwidth"),
    tooltip_lines=3,
    choice="ratio",
)
LOOP_HYBRID = Page(
    "loop, hybrid machine",
    _loop("hybrid", quick=False),
    {"time": 1, "speedup": 1, "ratio": 1, "chunk": 1, "bandwidth": 1, "load": 2, "clocks": 2},
)
LOOP_FULL = Page(
    "loop, full study",
    _loop("two_cpus", quick=False),
    {"time": 3, "speedup": 3, "ratio": 3, "chunk": 3, "bandwidth": 3, "load": 2},
)
COLLECTIVE = Page(
    "collective",
    _collective,
    {"allreduce": 1, "allgather": 1, "ratio": 1, "pairs": 1},
    tooltips=("allreduce", "allgather", "ratio", "pairs"),
    choice="ratio",
)
MAPREDUCE = Page(
    "mapreduce",
    _mapreduce,
    {"pays": 2, "speedup": 6, "ratio": 2, "waiting": 2, "parts": 2, "busy": 2, "switches": 2},
    tooltips=("pays", "speedup", "ratio", "waiting", "busy", "switches"),
    tooltip_lines=3,
    choice="pays",
)
NBODY = Page(
    "nbody",
    _nbody,
    {"blocks": 2, "sharing": 2, "schemes": 2, "speedup": 1, "forecast": 1, "counts": 2, "accuracy": 2},
    tooltips=("blocks", "forecast", "accuracy"),
    choice="blocks",
)
POWER = Page(
    "power",
    _power,
    {"speedup": 1, "cost": 1, "busy": 1, "together": 1},
    marks=4,
    tooltips=("speedup", "cost", "together"),
)
TUNE = Page(
    "tune",
    _tune,
    {"final": 1, "candidates": 1, "effects": 1},
    marks=2,
    tooltips=("candidates",),
)
COMPARE = Page("compare", _compare, {"ratios": 1, "runs": 1})
TRACE = Page("trace", _trace, {})
SIMULATED = Page("simulate", _simulated, {"power": 1})
CLAIMS = Page("claims", _claims, {})

PAGES = (LOOP, LOOP_HYBRID, LOOP_FULL, COLLECTIVE, MAPREDUCE, NBODY, POWER, TUNE)
"""Those with charts that are looked at one by one."""

KINDS = (LOOP, COLLECTIVE, MAPREDUCE, NBODY, POWER, TUNE, COMPARE, TRACE, SIMULATED, CLAIMS)
"""Every kind of page, once."""

ALL = tuple(dict.fromkeys((*PAGES, *KINDS)))
