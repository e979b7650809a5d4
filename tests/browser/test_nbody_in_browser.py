"""The nbody study's report and its picture of the cluster as a reader sees them."""

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
from study_nbody_fakes import laboratory, request
from tautochrone.studies.nbody import animation
from tautochrone.studies.nbody.study import run_study

Show = Callable[..., Any]


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("nbody")
    run_study(request(folder, report=True), laboratory().services)
    return folder / "report.html"


def test_opens_without_console_errors_and_without_any_request(show: Show, page: Path) -> None:
    assert_stands_alone(show(page), page)


def test_every_chart_has_marks_for_each_number_of_particles(show: Show, page: Path) -> None:
    marks = chart_marks(show(page))
    assert {name: len(counts) for name, counts in marks.items()} == {
        "blocks": 2,
        "sharing": 2,
        "schemes": 2,
        "speedup": 1,
        "forecast": 1,
        "counts": 2,
        "accuracy": 2,
    }
    assert all(count >= 6 for counts in marks.values() for count in counts), marks


@pytest.mark.parametrize("chart", ["blocks", "forecast", "accuracy"])
def test_tooltip_appears_with_its_text(show: Show, page: Path, chart: str) -> None:
    assert len(hover_over_a_mark(show(page), chart).text.splitlines()) >= 2


def test_choice_of_what_is_shared_changes_the_chart(show: Show, page: Path) -> None:
    before, after = marks_by_choice(show(page), "blocks")
    assert after != before


def test_page_is_readable_at_390_pixels(show: Show, page: Path) -> None:
    assert_readable_on_a_telephone(show(page, width=390))


def test_picture_moves_and_stops_when_told(driver: Any, tmp_path: Path) -> None:
    frames = [
        {"time": 0.1 * k, "x": [0.5 - 0.01 * k, -0.5], "y": [0.0, 0.1], "steps": [k % 5, 1]}
        for k in range(99)
    ]
    picture = tmp_path / "cluster.html"
    picture.write_text(animation.render({"particles": 2, "blocks": 99, "frames": frames}))
    driver.get_log("browser")
    driver.get(picture.as_uri())
    lit = """
        const canvas = document.querySelector("canvas");
        const all = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data;
        return all.filter((one, i) => i % 4 === 0 && one > 100).length"""
    said = "return document.querySelector('output').textContent"
    assert driver.execute_script(lit) > 0
    driver.execute_script("document.querySelector('button').click()")
    stopped = driver.execute_script(said)
    driver.execute_script(
        "const time = document.querySelector('input'); time.value = 90;time.dispatchEvent(new Event('input'))"
    )
    assert driver.execute_script(said) != stopped
    assert "time 9.00" in driver.execute_script(said)
    assert [entry for entry in driver.get_log("browser") if entry["level"] == "SEVERE"] == []
