"""What the tests in a browser ask an open page."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import WebDriverWait


def requests_beside(driver: Any, path: Path) -> list[str]:
    """Every address that the browser asked for, but for the file itself and what is inside it."""
    asked = []
    for entry in driver.get_log("performance"):
        message = json.loads(entry["message"])["message"]
        if message["method"] == "Network.requestWillBeSent":
            asked.append(message["params"]["request"]["url"].split("#")[0])
    timing = driver.execute_script("return performance.getEntriesByType('resource').map((one) => one.name)")
    assert path.as_uri() in asked, "the log of requests does not even hold the file: it watches nothing"
    inside = (path.as_uri(), "data:", "blob:")
    return [address for address in [*asked, *timing] if not address.startswith(inside)]


SIZE_LIMIT_BYTES = 1_500_000


def assert_stands_alone(driver: Any, path: Path) -> None:
    """No error in the console, no request but for the file itself, and a file that can be sent by mail."""
    assert [entry for entry in driver.get_log("browser") if entry["level"] == "SEVERE"] == []
    assert requests_beside(driver, path) == []
    assert path.stat().st_size < SIZE_LIMIT_BYTES


def assert_readable_on_a_telephone(driver: Any) -> None:
    """Of a window 390 pixels wide: nothing to scroll sideways, no text below 14 pixels."""
    assert driver.execute_script("return document.documentElement.scrollWidth") <= 390
    assert small_texts(driver) == []


def chart_marks(driver: Any) -> dict[str, list[int]]:
    """For each chart, how many marks each of its views drew (axes, grids and backgrounds not counted)."""
    return driver.execute_script(
        """
        const found = {};
        for (const chart of document.querySelectorAll(".chart")) {
          const groups = [...chart.querySelectorAll("svg g.role-mark")];
          const marks = groups.flatMap((group) => [...group.querySelectorAll("path, line, circle, rect")]);
          const drawn = marks.filter((mark) => (mark.getAttribute("d") ?? "line").length > 0);
          (found[chart.dataset.chart] ??= []).push(drawn.length);
        }
        return found;"""
    )


def hover_over_a_mark(driver: Any, chart: str) -> Any:
    """Scrolls a chart into view, points at one of its marks, and returns the tooltip that appears."""
    mark = driver.execute_async_script(
        """
        const done = arguments[1];
        const chart = document.querySelector(`.chart[data-chart="${arguments[0]}"]`);
        chart.scrollIntoView({block: "center", behavior: "instant"});
        const groups = [...chart.querySelectorAll("svg g.mark-symbol.role-mark")];
        // scrolling is told to the page in a later frame, and hides the tooltip: let it pass
        requestAnimationFrame(() => requestAnimationFrame(() => done(groups.at(-1).lastElementChild)));""",
        chart,
    )
    tooltip = driver.find_element(By.ID, "tooltip")
    assert not tooltip.is_displayed()
    ActionChains(driver).move_to_element(mark).perform()
    WebDriverWait(driver, 5).until(lambda _: tooltip.is_displayed())
    return tooltip


def small_texts(driver: Any) -> list[Any]:
    """Text that is smaller than 14 pixels as it is drawn, with its size."""
    return driver.execute_script(
        """
        const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
        const small = [];
        while (walker.nextNode()) {
          const parent = walker.currentNode.parentElement;
          const skipped = parent.closest("script, style, noscript, option, sub");
          if (skipped || !walker.currentNode.textContent.trim()) continue;
          const svg = parent.closest("svg.marks");
          const scale = svg ? svg.getBoundingClientRect().width / svg.viewBox.baseVal.width : 1;
          const size = parseFloat(getComputedStyle(parent).fontSize) * scale;
          if (size < 13.99) small.push([size, walker.currentNode.textContent.trim().slice(0, 40)]);
        }
        return small;"""
    )


def marks_by_choice(driver: Any, chart: str) -> tuple[str, str]:
    """The marks of a chart as drawn at first, and after the last button of its choice was pressed."""
    places = f"return document.querySelector('[data-chart={chart}] .mark-symbol').innerHTML"
    before = driver.execute_script(places)
    driver.execute_script(f"document.querySelector('#chart-{chart} .choice button:last-child').click()")
    driver.execute_async_script("setTimeout(arguments[0], 400)")
    return before, driver.execute_script(places)
