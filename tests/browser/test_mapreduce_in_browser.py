"""The map/reduce study's report as a reader sees it."""

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
from study_mapreduce_fakes import laboratory, request
from tautochrone.studies.mapreduce.study import run_study

Show = Callable[..., Any]


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("mapreduce")
    run_study(request(folder, report=True, quick=False, emulations=({1: 4.0},)), laboratory().services)
    return folder / "report.html"


def test_opens_without_console_errors_and_without_any_request(show: Show, page: Path) -> None:
    assert_stands_alone(show(page), page)


def test_every_chart_has_marks_in_every_view(show: Show, page: Path) -> None:
    marks = chart_marks(show(page))
    views = {name: len(counts) for name, counts in marks.items()}
    assert views == {"pays": 2, "speedup": 6, "ratio": 2, "waiting": 2, "busy": 2, "switches": 2}
    assert all(count >= 6 for counts in marks.values() for count in counts), marks


@pytest.mark.parametrize("chart", ["pays", "speedup", "ratio", "waiting", "busy", "switches"])
def test_tooltip_appears_with_its_text(show: Show, page: Path, chart: str) -> None:
    assert len(hover_over_a_mark(show(page), chart).text.splitlines()) >= 3


def test_choice_of_the_series_changes_the_chart(show: Show, page: Path) -> None:
    before, after = marks_by_choice(show(page), "pays")
    assert after != before


def test_table_filters_by_tasks_and_sorts(show: Show, page: Path) -> None:
    driver = show(page)
    count = "return document.querySelectorAll('#table tbody tr').length"
    first = driver.execute_script(count)
    driver.execute_script(
        "const filter = document.getElementById('filter-work'); filter.value = '';"
        "filter.dispatchEvent(new Event('input'))"
    )
    assert driver.execute_script(count) == 3 * first
    driver.execute_script("document.querySelector('#table th[data-column=waiting] button').click()")
    assert (
        driver.execute_script(
            "return document.querySelector('#table th[data-column=waiting]').getAttribute('aria-sort')"
        )
        == "ascending"
    )


def test_page_is_readable_at_390_pixels(show: Show, page: Path) -> None:
    assert_readable_on_a_telephone(show(page, width=390))


def test_timelines_are_links_to_files_beside_the_page(show: Show, page: Path) -> None:
    links = show(page).execute_script(
        "return [...document.querySelectorAll('.traces a')].map((one) => one.getAttribute('href'))"
    )
    assert links
    assert all((page.parent / link).is_file() for link in links)
