"""What the tests in a browser ask an open page."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from selenium.common.exceptions import TimeoutException
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
    assert severe_errors(driver) == []
    assert requests_beside(driver, path) == []
    assert path.stat().st_size < SIZE_LIMIT_BYTES


def assert_readable_on_a_telephone(driver: Any) -> None:
    """Of a window 390 pixels wide: nothing to scroll sideways, no text below 14 pixels, no chart cut off."""
    assert driver.execute_script("return document.documentElement.scrollWidth") <= 390
    assert small_texts(driver) == []
    wide = """return [...document.querySelectorAll(".chart svg")]
        .filter((svg) => svg.getBoundingClientRect().right > 390.5).length"""
    assert driver.execute_script(wide) == 0


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
    assert holds_soon(driver, tooltip.is_displayed)
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


def chart_changes(driver: Any, chart: str, press: str) -> bool:
    """Whether a press on the element that the selector `press` names draws other marks within ten seconds."""
    marks = f"return document.querySelector('[data-chart={chart}] .mark-symbol').innerHTML"
    before = driver.execute_script(marks)
    driver.execute_script("document.querySelector(arguments[0]).click()", press)
    return holds_soon(driver, lambda: driver.execute_script(marks) != before)


def holds_soon(driver: Any, condition: Callable[[], bool]) -> bool:
    """Whether the condition holds within ten seconds: a page redraws in one of its next frames."""
    try:
        WebDriverWait(driver, 10, poll_frequency=0.02).until(lambda _: condition())
    except TimeoutException:
        return False
    return True


def severe_errors(driver: Any) -> list[Any]:
    """The errors in the page's console since it was opened."""
    return [entry for entry in driver.get_log("browser") if entry["level"] == "SEVERE"]


def rows_shown(driver: Any) -> int:
    """How many rows the page's table shows."""
    return int(driver.execute_script("return document.querySelectorAll('#table tbody tr').length"))


def filter_by(driver: Any, filter_id: str, value: str) -> None:
    """Set one of the filters above the table."""
    driver.execute_script(
        "const filter = document.getElementById(arguments[0]); filter.value = arguments[1];"
        "filter.dispatchEvent(new Event('input'))",
        filter_id,
        value,
    )
