"""What every report must do for its reader: opened from a file, without a network, wide and narrow."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from in_page import (
    assert_readable_on_a_telephone,
    assert_stands_alone,
    chart_changes,
    chart_marks,
    hover_over_a_mark,
)
from pages import PAGES, Page

Show = Callable[..., Any]
Written = Callable[[Page], Path]
every_page = pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
pages_with_a_choice = pytest.mark.parametrize(
    "page", [page for page in PAGES if page.choice], ids=lambda page: page.name
)
every_tooltip = pytest.mark.parametrize(
    ("page", "chart"),
    [pytest.param(page, chart, id=f"{page.name}, {chart}") for page in PAGES for chart in page.tooltips],
)


@every_page
def test_opens_as_a_small_file_without_console_errors_and_without_any_request(
    show: Show, written: Written, page: Page
) -> None:
    path = written(page)
    assert_stands_alone(show(path, keep=True), path)


@every_page
def test_every_chart_has_marks_in_every_view(show: Show, written: Written, page: Page) -> None:
    marks = chart_marks(show(written(page), keep=True))
    assert {chart: len(counts) for chart, counts in marks.items()} == page.views
    assert all(count >= page.marks for counts in marks.values() for count in counts), marks


@every_page
def test_a_number_and_its_unit_stay_on_one_line(show: Show, written: Written, page: Page) -> None:
    parted = show(written(page), keep=True).execute_script(
        """
        const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT), found = [];
        while (texts.nextNode()) {
          if (texts.currentNode.parentElement.closest("script, style, pre, code, svg")) continue;
          if (/\\d (%|ms|KiB)(?!\\w)/.test(texts.currentNode.data)) found.push(texts.currentNode.data);
        }
        return found;"""
    )
    assert parted == []


@every_page
@pytest.mark.parametrize("width", [390])
def test_page_is_readable_at_390_pixels(show: Show, written: Written, page: Page, width: int) -> None:
    assert_readable_on_a_telephone(show(written(page), width=width, keep=True))


@every_tooltip
def test_tooltip_appears_beside_the_pointer_with_its_text(
    show: Show, written: Written, page: Page, chart: str
) -> None:
    tooltip = hover_over_a_mark(show(written(page), keep=True), chart)
    assert len(tooltip.text.splitlines()) >= page.tooltip_lines
    box = tooltip.rect
    assert box["width"] > 60
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= 1280


@pages_with_a_choice
def test_choice_above_a_chart_changes_its_marks(show: Show, written: Written, page: Page) -> None:
    last = f"#chart-{page.choice} .choice button:last-child"
    assert chart_changes(show(written(page)), page.choice, last)
