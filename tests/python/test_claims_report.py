"""`tauto claims --report`: each figure of the sources, what is published of it, and the claims below it."""

from __future__ import annotations

from pathlib import Path

import pytest

from page_content import embedded
from study_fakes import need_executables
from tautochrone.cli.main import main
from tautochrone.simulator.findings import Axis
from tautochrone.studies import claims_report
from tautochrone.studies.claims_command import IDS
from tautochrone.studies.figures import Chapter, Drawn, Published, curve, point, published_records, records_of
from tautochrone.studies.loop.figures import chapter as loop_chapter
from tautochrone.studies.loop.findings import Cell, ConfigurationTime, LoopAnalysis
from tautochrone.verdicts import Ratio

AXIS = Axis(field="x", title="x")
NOTHING = Ratio(value=None, low=None, high=None, confidence=None, rounds=0, verdict="not measured")


@pytest.fixture(scope="module")
def chapters() -> tuple[Chapter, ...]:
    need_executables("simulate")
    return claims_report.chapters({})


def test_every_source_has_its_figures_and_every_claim_a_place(chapters: tuple[Chapter, ...]) -> None:
    assert [(chapter.family, len(chapter.figures)) for chapter in chapters] == [
        ("H", 7),
        ("M", 5),
        ("P", 8),
        ("N", 3),
    ]
    below = [id for chapter in chapters for figure in chapter.figures for id in figure.claims]
    assert set(below) == set(IDS)


def test_every_figure_says_what_comes_out_and_what_was_published(chapters: tuple[Chapter, ...]) -> None:
    for chapter in chapters:
        for figure in chapter.figures:
            assert figure.curves
            assert all(each.points for each in figure.curves)
            assert figure.published or "published" in figure.heading or figure.name in ("h-bound", "h-load")
            names = [each.series for each in figure.curves]
            assert len(names) == len(set(names))


def test_a_range_without_ends_is_as_wide_as_the_chart() -> None:
    drawn = Drawn(
        name="a",
        of="",
        heading="",
        explanation="",
        x=AXIS,
        y=AXIS,
        curves=(curve("one", [(1, 10), (4, 30)]),),
        published=(Published(says="wide", y=(20, 25)), point("one point", 2, 40)),
    )
    wide, single = published_records(drawn)
    assert (wide["x"], wide["x2"], wide["y"], wide["y2"]) == (1, 4, 20, 25)
    assert (single["x"], single["x2"], single["y"], single["y2"]) == (2, 2, 40, 40)
    assert [record["y"] for record in records_of(drawn)] == [10, 30]


def measured_loop(kernel: str) -> LoopAnalysis:
    static = ConfigurationTime(
        runtime="libgomp",
        label="libgomp static, all cores",
        low=None,
        high=None,
        library="libgomp",
        schedule="static",
        chunk=None,
        placement="all",
        wait="default",
        threads=8,
        cores={"P": 4, "E": 4},
        seconds=2.0,
    )
    cell = Cell(
        size=4000,
        emulated={},
        best_peer=None,
        best_peer_seconds=None,
        tautochrone_seconds=None,
        ratio=NOTHING,
        bound_seconds=1.0,
        bound_speedup=None,
        sequential_seconds=8.0,
        fast_seconds=1.5,
        slow_seconds=3.0,
        configurations=(static,),
    )
    return LoopAnalysis(verdict_sentences=("",), cells=(cell,), kernel=kernel)


@pytest.mark.timed
@pytest.mark.parametrize(("kernel", "points"), [("published", [(4000.0, 4.0)]), ("tuned", [])])
def test_a_measured_study_is_drawn_where_it_ran_the_published_kernel(
    kernel: str, points: list[object]
) -> None:
    need_executables("simulate")
    first = loop_chapter(measured_loop(kernel)).figures[0]
    assert [p for each in first.curves if each.origin == "measured" for p in each.points] == points


@pytest.mark.timed
def test_the_page_opens_offline_and_has_all_charts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    need_executables("simulate")
    monkeypatch.chdir(tmp_path)
    assert main(["claims", "--only", "M1,P7", "--report", "--output", "page.html"]) == 0
    assert "The report: page.html" in capsys.readouterr().out
    page = Path("page.html").read_text()
    data = embedded(page)
    assert {"h-first", "m-all", "p-4", "n-model"} <= set(data["charts"])
    assert "False if" in page
    assert "http" not in page.split('<script type="application/gzip"')[0].replace("http-equiv", "")
