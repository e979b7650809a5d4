"""The loop study's report as a reader sees it: its charts, its table, in the dark, printed, of bad rows."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from selenium.webdriver.common.by import By

import sample_rows
from in_page import chart_marks, holds_soon, hover_over_a_mark, severe_errors
from pages import LOOP, LOOP_HYBRID, Page
from tautochrone import report
from tautochrone.results.row import refused
from tautochrone.studies.loop.analysis import analyse
from tautochrone.studies.loop.findings import LoopContext

Show = Callable[..., Any]
Written = Callable[[Page], Path]


def test_marks_lie_inside_their_chart(show: Show, written: Written) -> None:
    outside = show(written(LOOP_HYBRID), keep=True).execute_script(
        """
        return [...document.querySelectorAll(".chart")].flatMap((chart) => {
          const frame = chart.getBoundingClientRect();
          return [...chart.querySelectorAll("svg .mark-symbol path")].filter((mark) => {
            const box = mark.getBoundingClientRect();
            return box.left < frame.left - 1 || box.right > frame.right + 1
              || box.top < frame.top - 1 || box.bottom > frame.bottom + 1;
          }).map(() => chart.dataset.chart);
        });"""
    )
    assert outside == []


def test_every_chart_has_a_text_for_screen_readers(show: Show, written: Written) -> None:
    labels = show(written(LOOP_HYBRID), keep=True).execute_script(
        """return [...document.querySelectorAll(".chart")]
          .map((one) => [one.getAttribute("role"), one.getAttribute("aria-label")])"""
    )
    assert all(role == "img" and len(label) > 20 for role, label in labels)


def test_tooltip_of_a_ratio_holds_its_interval_and_verdict(show: Show, written: Written) -> None:
    words = hover_over_a_mark(show(written(LOOP), keep=True), "ratio").text
    assert " to " in words
    assert any(verdict in words for verdict in ("faster", "slower", "no difference resolved"))


def test_dark_mode_paints_page_and_charts_differently(show: Show, written: Written) -> None:
    colours = """
        const mark = document.querySelector(".chart[data-chart=time] .mark-symbol path");
        const label = document.querySelector(".chart[data-chart=time] .role-axis-label text");
        return [getComputedStyle(document.body).backgroundColor, getComputedStyle(mark).fill,
                getComputedStyle(label).fill];"""
    light = show(written(LOOP), keep=True).execute_script(colours)
    dark = show(written(LOOP), scheme="dark", keep=True).execute_script(colours)
    assert all(one != other for one, other in zip(light, dark, strict=True)), (light, dark)
    channels = [int(value) for value in dark[0].removeprefix("rgb(").removesuffix(")").split(",")]
    assert max(channels) < 60


@pytest.mark.parametrize("scheme", ["dark", "light"])
def test_text_and_chart_colours_stand_out_from_the_page(show: Show, written: Written, scheme: str) -> None:
    contrasts = show(written(LOOP), scheme=scheme, keep=True).execute_script(
        """
        const light = (colour) => colour.match(/[0-9.]+/g).slice(0, 3).map((channel) => channel / 255)
          .map((c) => c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4)
          .reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0);
        const page = light(getComputedStyle(document.body).backgroundColor);
        const ordered = (colour) => [page, light(colour)].sort((a, b) => a - b);
        const against = (colour) => (ordered(colour)[1] + 0.05) / (ordered(colour)[0] + 0.05);
        const symbols = [...document.querySelectorAll("#chart-time .symbol")];
        return {text: against(getComputedStyle(document.body).color),
                quiet: against(getComputedStyle(document.querySelector("#facts dt")).color),
                runtimes: Math.min(...symbols.map((symbol) => against(getComputedStyle(symbol).color)))};"""
    )
    # the limits of WCAG 2: 4.5 for text, 3 for graphics
    assert contrasts["text"] >= 7
    assert contrasts["quiet"] >= 4.5
    assert contrasts["runtimes"] >= 3


def test_legend_hides_a_runtime_in_all_charts_and_in_the_table(show: Show, written: Written) -> None:
    driver = show(written(LOOP))
    before = chart_marks(driver)
    driver.execute_script("document.querySelector('#chart-time [data-runtime=tbb]').click()")
    for name in ("time", "speedup", "ratio", "bandwidth"):

        def each_view_has_fewer(chart: str = name) -> bool:
            after = chart_marks(driver)[chart]
            return all(new < old for new, old in zip(after, before[chart], strict=True))

        assert holds_soon(driver, each_view_has_fewer), name
    pressed = driver.execute_script(
        "return [...document.querySelectorAll('[data-runtime=tbb]')].map((one) => one.ariaPressed)"
    )
    assert set(pressed) == {"false"}
    assert "oneTBB" not in driver.find_element(By.CSS_SELECTOR, "#table tbody").text


def test_table_sorts_by_every_heading_and_filters(show: Show, written: Written) -> None:
    driver = show(written(LOOP))
    column = """
        const head = [...document.querySelectorAll("#table th:not([hidden])")];
        const index = head.findIndex((th) => th.dataset.column === arguments[0]);
        head[index].querySelector("button").click();
        const rows = [...document.querySelectorAll("#table tbody tr")];
        return rows.map((row) => row.children[index].textContent);"""
    chunks = [int(chunk) for chunk in driver.execute_script(column, "chunk") if chunk]
    assert chunks == sorted(chunks)
    assert len(set(chunks)) > 2
    falling = [int(chunk) for chunk in driver.execute_script(column, "chunk") if chunk]
    assert falling == sorted(chunks, reverse=True)
    driver.find_element(By.ID, "filter-text").send_keys("guided nothing")
    assert driver.find_element(By.ID, "filter-count").text.startswith("0 of")


def test_copy_buttons_copy_the_whole_text(show: Show, written: Written) -> None:
    driver = show(written(LOOP))
    driver.execute_script(
        """
        window.copied = [];
        Object.defineProperty(navigator, "clipboard", {
          configurable: true, value: { writeText: async (text) => { copied.push(text); } } });
        for (const button of document.querySelectorAll("#settings .copy")) button.click();"""
    )
    settings = sample_rows.loop_analysis(sample_rows.loop_rows()).settings_to_paste
    labels = "return [...document.querySelectorAll('#settings .copy')].map((button) => button.textContent)"
    assert holds_soon(driver, lambda: driver.execute_script(labels) == ["Copied"] * len(settings))
    assert driver.execute_script("return copied") == [setting.text for setting in settings]


def test_prints_on_white_paper_with_its_charts(show: Show, written: Written) -> None:
    driver = show(written(LOOP), scheme="dark")
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    background, hidden, charts = driver.execute_script(
        """return [getComputedStyle(document.body).backgroundColor,
          getComputedStyle(document.querySelector(".copy")).display,
          document.querySelectorAll(".chart svg").length]"""
    )
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})
    assert background == "rgb(255, 255, 255)"
    assert hidden == "none"
    assert charts > 10


def test_hostile_names_stay_text_in_a_browser(show: Show, tmp_path: Path) -> None:
    hostile = '<script>window.hacked = true</script><img src=x onerror="window.hacked = true">'
    rows = sample_rows.loop_rows(sizes=(500, 1000), factors=(1,))
    rows = [
        replace(row, config=row.config | {"runtime": hostile, "library": hostile})
        if row.config["library"] == "tbb"
        else row
        for row in rows
    ]
    analysis = sample_rows.loop_analysis(rows)
    machine = sample_rows.machine() | {"name": hostile}
    driver = show(report.write(rows, machine, tmp_path / "hostile.html", analysis, study="loop"))
    assert driver.execute_script("return window.hacked") is None
    assert severe_errors(driver) == []
    assert hostile in driver.find_element(By.CSS_SELECTOR, "#chart-time .legend").text


def test_rows_that_all_failed_open_without_errors(show: Show, tmp_path: Path) -> None:
    rows = sample_rows.loop_rows(sizes=(500,), factors=(1,), rounds=2)
    rows = [refused(row, "timeout", "stopped after 10 s") for row in rows]
    analysis = analyse(rows, sample_rows.machine(), LoopContext())
    driver = show(report.write(rows, sample_rows.machine(), tmp_path / "failed.html", analysis, study="loop"))
    assert severe_errors(driver) == []
    assert driver.find_element(By.TAG_NAME, "h1").text.startswith(
        "On this machine as it is, nothing can be recommended"
    )


def test_single_size_draws_its_charts(show: Show, tmp_path: Path) -> None:
    rows = sample_rows.loop_rows(sizes=(2000,), factors=(4,))
    driver = show(
        report.write(
            rows, sample_rows.machine(), tmp_path / "one.html", sample_rows.loop_analysis(rows), study="loop"
        )
    )
    marks = chart_marks(driver)
    assert all(count >= 1 for counts in marks.values() for count in counts), marks
    assert severe_errors(driver) == []
    assert "emulated" in driver.find_element(By.CSS_SELECTOR, "#chart-time h3").text


def test_a_telephone_shows_every_size_at_a_glance(show: Show, written: Written) -> None:
    boxes = show(written(LOOP), width=390).execute_script(
        """
        return [...document.querySelectorAll("#overview .cards td")].map((cell) => {
          const box = cell.getBoundingClientRect();
          return [box.left, box.right, getComputedStyle(cell, "::before").content];
        });"""
    )
    assert boxes
    assert all(left >= 0 and right <= 390 for left, right, _ in boxes)
    assert all("n = " in size for _, _, size in boxes)


def test_lines_to_paste_are_wrapped_and_not_cut(show: Show, written: Written) -> None:
    cut = show(written(LOOP), width=390).execute_script(
        "return [...document.querySelectorAll('pre')].filter((one) => one.scrollWidth > one.clientWidth + 1)"
        ".map((one) => one.textContent);"
    )
    assert cut == []
