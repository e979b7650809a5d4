"""The report as a reader sees it: opened from a file, without a network, wide, narrow, dark and printed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from selenium.webdriver.common.by import By

import sample_rows
from in_page import chart_marks, hover_over_a_mark, marks_by_choice, requests_beside, small_texts
from tautochrone import report

Show = Callable[..., Any]
SIZE_LIMIT_BYTES = 1_500_000
KINDS = ("two_cpus", "hybrid")


@pytest.fixture(scope="module")
def reports(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("reports")
    written = {}
    for kind in KINDS:
        quick = kind == "two_cpus"
        rows = sample_rows.loop_rows(kind, quick=quick)
        analysis = sample_rows.loop_analysis(rows, kind, quick=quick)
        path = folder / f"{kind}.html"
        written[kind] = report.write(rows, sample_rows.machine(kind), path, extra=analysis)
    return written


@pytest.mark.parametrize("kind", KINDS)
def test_opens_without_console_errors_and_without_any_request(
    show: Show, reports: dict[str, Path], kind: str
) -> None:
    driver = show(reports[kind])
    assert [entry for entry in driver.get_log("browser") if entry["level"] == "SEVERE"] == []
    assert requests_beside(driver, reports[kind]) == []


@pytest.mark.parametrize("kind", KINDS)
def test_file_is_below_the_size_limit(reports: dict[str, Path], kind: str) -> None:
    assert reports[kind].stat().st_size < SIZE_LIMIT_BYTES


def test_full_study_with_three_emulated_factors_is_below_the_size_limit(tmp_path: Path) -> None:
    rows = sample_rows.loop_rows(quick=False)
    path = report.write(
        rows,
        sample_rows.machine(),
        tmp_path / "r.html",
        extra=sample_rows.loop_analysis(rows, quick=False),
    )
    assert path.stat().st_size < SIZE_LIMIT_BYTES


@pytest.mark.parametrize("kind", KINDS)
def test_every_chart_has_marks_in_every_view(show: Show, reports: dict[str, Path], kind: str) -> None:
    marks = chart_marks(show(reports[kind]))
    assert set(marks) == {"time", "speedup", "ratio", "chunk", "bandwidth", "load"}
    assert all(count >= 6 for counts in marks.values() for count in counts), marks
    if kind == "two_cpus":
        assert {name: len(counts) for name, counts in marks.items()} == {
            "time": 3,
            "speedup": 3,
            "ratio": 3,
            "chunk": 3,
            "bandwidth": 3,
            "load": 2,
        }


def test_marks_lie_inside_their_chart(show: Show, reports: dict[str, Path]) -> None:
    outside = show(reports["hybrid"]).execute_script(
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


@pytest.mark.parametrize("chart", ["time", "speedup", "ratio", "chunk", "bandwidth"])
def test_tooltip_appears_beside_the_pointer_with_its_text(
    show: Show, reports: dict[str, Path], chart: str
) -> None:
    tooltip = hover_over_a_mark(show(reports["two_cpus"]), chart)
    assert len(tooltip.text.splitlines()) >= 3
    box = tooltip.rect
    assert box["width"] > 60
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= 1280


def test_tooltip_of_a_ratio_holds_its_interval_and_verdict(show: Show, reports: dict[str, Path]) -> None:
    words = hover_over_a_mark(show(reports["two_cpus"]), "ratio").text
    assert " to " in words
    assert any(verdict in words for verdict in ("faster", "slower", "no difference resolved"))


def test_page_is_readable_at_390_pixels(show: Show, reports: dict[str, Path]) -> None:
    driver = show(reports["two_cpus"], width=390)
    assert driver.execute_script("return document.documentElement.scrollWidth") <= 390
    assert small_texts(driver) == []
    wide = driver.execute_script(
        """return [...document.querySelectorAll(".chart svg")]
          .filter((svg) => svg.getBoundingClientRect().right > 390.5).length"""
    )
    assert wide == 0


def test_legend_hides_a_runtime_in_all_charts_and_in_the_table(show: Show, reports: dict[str, Path]) -> None:
    driver = show(reports["two_cpus"])
    before = chart_marks(driver)
    button = driver.find_element(By.CSS_SELECTOR, '#chart-time [data-runtime="tbb"]')
    driver.execute_script("arguments[0].click()", button)
    driver.execute_async_script("setTimeout(arguments[0], 400)")  # the charts redraw in the next frames
    after = chart_marks(driver)
    for name in ("time", "speedup", "ratio", "bandwidth"):
        assert all(new < old for new, old in zip(after[name], before[name], strict=True)), name
    pressed = driver.execute_script(
        "return [...document.querySelectorAll('[data-runtime=tbb]')].map((one) => one.ariaPressed)"
    )
    assert set(pressed) == {"false"}
    assert "oneTBB" not in driver.find_element(By.CSS_SELECTOR, "#table tbody").text


def test_choice_of_the_peer_settings_changes_the_ratios(show: Show, reports: dict[str, Path]) -> None:
    before, after = marks_by_choice(show(reports["two_cpus"]), "ratio")
    assert after != before


def test_table_sorts_by_every_heading_and_filters(show: Show, reports: dict[str, Path]) -> None:
    driver = show(reports["two_cpus"])
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


def test_copy_buttons_copy_the_whole_text(show: Show, reports: dict[str, Path]) -> None:
    driver = show(reports["two_cpus"])
    copied = driver.execute_async_script(
        """
        const done = arguments[0];
        const copied = [];
        Object.defineProperty(navigator, "clipboard", {
          configurable: true, value: { writeText: async (text) => { copied.push(text); } } });
        const buttons = [...document.querySelectorAll("#settings .copy")];
        for (const button of buttons) button.click();
        setTimeout(() => done([copied, buttons.map((button) => button.textContent)]), 300);"""
    )
    analysis = sample_rows.loop_analysis(sample_rows.loop_rows(sizes=(500,), factors=(1,)))
    expected = [one.text for one in analysis.settings_to_paste]
    assert copied == [expected, ["Copied"] * len(expected)]


def test_dark_mode_paints_page_and_charts_differently(show: Show, reports: dict[str, Path]) -> None:
    colours = """
        const mark = document.querySelector(".chart[data-chart=time] .mark-symbol path");
        const label = document.querySelector(".chart[data-chart=time] .role-axis-label text");
        return [getComputedStyle(document.body).backgroundColor, getComputedStyle(mark).fill,
                getComputedStyle(label).fill];"""
    light = show(reports["two_cpus"]).execute_script(colours)
    dark = show(reports["two_cpus"], scheme="dark").execute_script(colours)
    assert all(one != other for one, other in zip(light, dark, strict=True)), (light, dark)
    channels = [int(value) for value in dark[0].removeprefix("rgb(").removesuffix(")").split(",")]
    assert max(channels) < 60


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_and_chart_colours_stand_out_from_the_page(
    show: Show, reports: dict[str, Path], scheme: str
) -> None:
    contrasts = show(reports["two_cpus"], scheme=scheme).execute_script(
        """
        const light = (colour) => colour.match(/[0-9.]+/g).slice(0, 3).map((channel) => channel / 255)
          .map((c) => c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4)
          .reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0);
        const page = light(getComputedStyle(document.body).backgroundColor);
        const ordered = (colour) => [page, light(colour)].sort((a, b) => a - b);
        const against = (colour) => (ordered(colour)[1] + 0.05) / (ordered(colour)[0] + 0.05);
        const symbols = [...document.querySelectorAll("#chart-time .symbol")];
        return {text: against(getComputedStyle(document.body).color),
                quiet: against(getComputedStyle(document.querySelector(".place")).color),
                runtimes: Math.min(...symbols.map((symbol) => against(getComputedStyle(symbol).color)))};"""
    )
    # the limits of WCAG 2: 4.5 for text, 3 for graphics
    assert contrasts["text"] >= 7
    assert contrasts["quiet"] >= 4.5
    assert contrasts["runtimes"] >= 3


def test_every_chart_has_a_text_for_screen_readers(show: Show, reports: dict[str, Path]) -> None:
    labels = show(reports["hybrid"]).execute_script(
        """return [...document.querySelectorAll(".chart")]
          .map((one) => [one.getAttribute("role"), one.getAttribute("aria-label")])"""
    )
    assert all(role == "img" and len(label) > 20 for role, label in labels)


def test_prints_on_white_paper_with_its_charts(show: Show, reports: dict[str, Path]) -> None:
    driver = show(reports["two_cpus"], scheme="dark")
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    background, hidden, charts = driver.execute_script(
        """return [getComputedStyle(document.body).backgroundColor,
          getComputedStyle(document.querySelector("nav")).display,
          document.querySelectorAll(".chart svg").length]"""
    )
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})
    assert background == "rgb(255, 255, 255)"
    assert hidden == "none"
    assert charts > 10


def test_hostile_names_stay_text_in_a_browser(show: Show, tmp_path: Path) -> None:
    hostile = '<script>window.hacked = true</script><img src=x onerror="window.hacked = true">'
    rows = sample_rows.loop_rows(sizes=(500, 1000), factors=(1,))
    for row in rows:
        if row["config"]["library"] == "tbb":
            row["config"] = row["config"] | {"runtime": hostile, "library": hostile}
    analysis = sample_rows.loop_analysis(rows)
    machine = sample_rows.machine() | {"name": hostile}
    driver = show(report.write(rows, machine, tmp_path / "hostile.html", extra=analysis))
    assert driver.execute_script("return window.hacked") is None
    assert [entry for entry in driver.get_log("browser") if entry["level"] == "SEVERE"] == []
    assert hostile in driver.find_element(By.CSS_SELECTOR, "#chart-time .legend").text


def test_rows_that_all_failed_open_without_errors(show: Show, tmp_path: Path) -> None:
    rows = sample_rows.loop_rows(sizes=(500,), factors=(1,), rounds=2)
    for row in rows:
        row |= {"seconds": None, "error": {"kind": "timeout", "message": "stopped after 10 s"}}
    driver = show(report.write(rows, sample_rows.machine(), tmp_path / "failed.html"))
    assert [entry for entry in driver.get_log("browser") if entry["level"] == "SEVERE"] == []
    assert driver.find_element(By.TAG_NAME, "h1").text.startswith("Nothing could be measured")


def test_single_size_draws_its_charts(show: Show, tmp_path: Path) -> None:
    rows = sample_rows.loop_rows(sizes=(2000,), factors=(4,))
    driver = show(
        report.write(
            rows, sample_rows.machine(), tmp_path / "one.html", extra=sample_rows.loop_analysis(rows)
        )
    )
    marks = chart_marks(driver)
    assert all(count >= 1 for counts in marks.values() for count in counts), marks
    assert [entry for entry in driver.get_log("browser") if entry["level"] == "SEVERE"] == []
    assert "emulated" in driver.find_element(By.CSS_SELECTOR, "#chart-time h3").text
