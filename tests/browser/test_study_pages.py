"""What only one study's report has: its table, its settings, its timelines, its moving picture."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from in_page import filter_by, rows_shown, severe_errors
from pages import COLLECTIVE, MAPREDUCE, Page
from tautochrone.studies.nbody import animation

Show = Callable[..., Any]
Written = Callable[[Page], Path]


def test_collective_table_shows_one_length_at_first_and_filters(show: Show, written: Written) -> None:
    driver = show(written(COLLECTIVE))
    first = rows_shown(driver)
    assert first > 0
    filter_by(driver, "filter-words", "")
    assert rows_shown(driver) > 5 * first


def test_collective_settings_and_findings_can_be_read(show: Show, written: Written) -> None:
    driver = show(written(COLLECTIVE))
    settings = driver.execute_script("return document.getElementById('settings').innerText")
    assert "OMPI_MCA_btl_vader_eager_limit" in settings
    assert driver.execute_script("return document.querySelectorAll('.findings li').length") > 3


def test_mapreduce_table_filters_by_tasks_and_sorts(show: Show, written: Written) -> None:
    driver = show(written(MAPREDUCE))
    first = rows_shown(driver)
    filter_by(driver, "filter-work", "")
    assert rows_shown(driver) == 3 * first
    waiting = "document.querySelector('#table th[data-column=waiting]')"
    driver.execute_script(f"{waiting}.querySelector('button').click()")
    assert driver.execute_script(f"return {waiting}.getAttribute('aria-sort')") == "ascending"


def test_mapreduce_timelines_are_links_to_files_beside_the_page(show: Show, written: Written) -> None:
    path = written(MAPREDUCE)
    links = show(path).execute_script(
        "return [...document.querySelectorAll('.traces a')].map((link) => link.getAttribute('href'))"
    )
    assert links
    assert all((path.parent / link).is_file() for link in links)


def test_nbody_picture_moves_and_stops_when_told(driver: Any, tmp_path: Path) -> None:
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
    time_shown = "return document.querySelector('output').textContent"
    assert driver.execute_script(lit) > 0
    driver.execute_script("document.querySelector('button').click()")
    stopped = driver.execute_script(time_shown)
    driver.execute_script(
        "const time = document.querySelector('input'); time.value = 90;time.dispatchEvent(new Event('input'))"
    )
    assert driver.execute_script(time_shown) != stopped
    assert "time 9.00" in driver.execute_script(time_shown)
    assert severe_errors(driver) == []
