"""The collective study's report as a reader sees it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from in_page import (
    assert_readable_on_a_telephone,
    assert_stands_alone,
    chart_marks,
    hover_over_a_mark,
    marks_by_choice,
)
from study_collective_fakes import laboratory, request
from tautochrone.studies.collective.study import run_study

Show = Callable[..., Any]


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("collective")
    run_study(request(folder, report=True, quick=False), laboratory(faster={"eager 64 KiB": 0.8}).services)
    return folder / "report.html"


def test_opens_without_console_errors_and_without_any_request(show: Show, page: Path) -> None:
    assert_stands_alone(show(page), page)


def test_every_chart_has_marks(show: Show, page: Path) -> None:
    marks = chart_marks(show(page))
    assert {name: len(counts) for name, counts in marks.items()} == {
        "allreduce": 1,
        "allgather": 1,
        "ratio": 1,
        "pairs": 1,
    }
    assert all(count >= 6 for counts in marks.values() for count in counts), marks


@pytest.mark.parametrize("chart", ["allreduce", "allgather", "ratio", "pairs"])
def test_tooltip_appears_with_its_text(show: Show, page: Path, chart: str) -> None:
    assert len(hover_over_a_mark(show(page), chart).text.splitlines()) >= 2


def test_choice_of_the_operation_changes_the_chart(show: Show, page: Path) -> None:
    before, after = marks_by_choice(show(page), "ratio")
    assert after != before


def test_table_shows_one_length_at_first_and_filters(show: Show, page: Path) -> None:
    driver = show(page)
    count = "return document.querySelectorAll('#table tbody tr').length"
    first = driver.execute_script(count)
    assert first > 0
    driver.execute_script(
        "const filter = document.getElementById('filter-words'); filter.value = '';"
        "filter.dispatchEvent(new Event('input'))"
    )
    assert driver.execute_script(count) > 5 * first


def test_settings_and_findings_can_be_read(show: Show, page: Path) -> None:
    driver = show(page)
    assert "OMPI_MCA_btl_vader_eager_limit" in driver.execute_script(
        "return document.getElementById('settings').innerText"
    )
    assert driver.execute_script("return document.querySelectorAll('.findings li').length") > 3


def test_page_is_readable_at_390_pixels(show: Show, page: Path) -> None:
    assert_readable_on_a_telephone(show(page, width=390))
