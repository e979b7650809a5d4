"""The power study's report as a reader sees it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from in_page import assert_readable_on_a_telephone, assert_stands_alone, chart_marks, hover_over_a_mark
from study_power_fakes import laboratory, request
from tautochrone.studies.power.study import run_study

Show = Callable[..., Any]


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("power")
    run_study(request(folder, report=True), laboratory().services)
    return folder / "report.html"


def test_opens_without_console_errors_and_without_any_request(show: Show, page: Path) -> None:
    assert_stands_alone(show(page), page)


def test_every_chart_has_marks(show: Show, page: Path) -> None:
    marks = chart_marks(show(page))
    assert set(marks) == {"speedup", "cost", "busy", "together"}
    assert all(count >= 4 for counts in marks.values() for count in counts), marks


@pytest.mark.parametrize("chart", ["speedup", "cost", "together"])
def test_tooltip_appears_with_its_text(show: Show, page: Path, chart: str) -> None:
    assert len(hover_over_a_mark(show(page), chart).text.splitlines()) >= 2


def test_page_is_readable_at_390_pixels(show: Show, page: Path) -> None:
    assert_readable_on_a_telephone(show(page, width=390))
