"""The report of a tuned program as a reader sees it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from in_page import assert_readable_on_a_telephone, assert_stands_alone, chart_marks, hover_over_a_mark
from tautochrone import report
from tautochrone.tune.space import DEFAULT
from tune_answers import answer, rows_of
from tune_fakes import machine

Show = Callable[..., Any]


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("tune") / "report.html"
    rows = rows_of(DEFAULT, {}, 1.0)
    return report.write(rows, machine().to_dict(), path, study="tune", extra=answer())


def test_opens_without_console_errors_and_without_any_request(show: Show, page: Path) -> None:
    assert_stands_alone(show(page), page)


def test_every_chart_has_marks(show: Show, page: Path) -> None:
    marks = chart_marks(show(page))
    assert set(marks) == {"final", "candidates", "effects"}
    assert all(count >= 2 for counts in marks.values() for count in counts), marks


def test_tooltip_appears_with_its_text(show: Show, page: Path) -> None:
    assert len(hover_over_a_mark(show(page), "candidates").text.splitlines()) >= 2


def test_page_is_readable_at_390_pixels(show: Show, page: Path) -> None:
    assert_readable_on_a_telephone(show(page, width=390))
