"""Above the fold of every kind of page: one sentence, one picture, three facts, the lines to paste."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pages import CLAIMS, KINDS, LOOP, SIMULATED, TRACE, Page

Show = Callable[..., Any]
Written = Callable[[Page], Path]

every_kind = pytest.mark.parametrize("page", KINDS, ids=lambda page: page.name)
both_screens = pytest.mark.parametrize(("width", "height"), [(1280, 700), (390, 844)])

BOXES = """
    const box = (one) => {
      const {left, right, top, bottom} = one.getBoundingClientRect();
      return {what: one.tagName + ": " + one.textContent.trim().slice(0, 40), left, right, top, bottom};
    };
    const all = (selector) => [...document.querySelectorAll(selector)].map(box);
    """

PARTS = f"""{BOXES}
    return {{sentence: all("h1"), picture: all("#picture svg"), drawn: all("#picture svg *"),
      facts: all("#facts > div"), paste: all("#paste pre"), first: all(".first"),
      folds: all(".fold > summary"), width: document.documentElement.scrollWidth}};"""

WORDS = f"""{BOXES}
    return all("h1, .kicker span, #picture text, #facts dt, #facts dd, #paste p, #paste button, "
      + "#paste pre, .fold > summary");"""

ROUNDING = 2.0
"""Pixels: the boxes of two lines of text may share a little of what is empty in both."""


@every_kind
@both_screens
def test_the_first_screen_holds_the_answer_and_all_else_folds(
    show: Show, written: Written, page: Page, width: int, height: int
) -> None:
    found = show(written(page), width=width, keep=True, folded=True).execute_script(PARTS)
    counts = {name: len(found[name]) for name in ("sentence", "picture", "facts", "paste")}
    assert counts == {"sentence": 1, "picture": 1, "facts": 3, "paste": 1}
    parts = [box for name in (*counts, "drawn") for box in found[name]]
    outside = [
        box
        for box in parts
        if box["top"] < 0 or box["bottom"] > height or box["left"] < -0.5 or box["right"] > width
    ]
    assert outside == []
    assert found["width"] <= width
    assert found["folds"]
    assert min(fold["top"] for fold in found["folds"]) >= found["first"][0]["bottom"]


@every_kind
@both_screens
def test_nothing_of_the_first_screen_lies_on_anything_else(
    show: Show, written: Written, page: Page, width: int, height: int
) -> None:
    boxes = show(written(page), width=width, keep=True, folded=True).execute_script(WORDS)
    assert len(boxes) > 10

    def share(one: dict[str, Any], other: dict[str, Any]) -> bool:
        across = min(one["right"], other["right"]) - max(one["left"], other["left"])
        down = min(one["bottom"], other["bottom"]) - max(one["top"], other["top"])
        return across > ROUNDING and down > ROUNDING

    places = range(len(boxes))
    assert [
        (boxes[i]["what"], boxes[j]["what"])
        for i in places
        for j in places[i + 1 :]
        if share(boxes[i], boxes[j])
    ] == []


@every_kind
def test_what_is_folded_is_hidden_until_it_is_opened(show: Show, written: Written, page: Page) -> None:
    driver = show(written(page), keep=True, folded=True)
    for fold in driver.find_elements("css selector", ".fold")[:2]:
        inside = fold.find_elements("css selector", ":scope > :not(summary)")
        assert not any(one.is_displayed() for one in inside)
        driver.execute_script("arguments[0].click()", fold.find_element("css selector", "summary"))
        assert any(one.is_displayed() for one in inside)


@pytest.mark.parametrize(
    "page",
    [page for page in KINDS if page not in (TRACE, SIMULATED, CLAIMS)],
    ids=lambda page: page.name,
)
def test_what_was_measured_in_rounds_has_its_interval_in_the_picture(
    show: Show, written: Written, page: Page
) -> None:
    driver = show(written(page), keep=True, folded=True)
    assert driver.find_elements("css selector", "#picture .now")
    assert driver.find_elements("css selector", "#picture .whisker")
    intervals = driver.find_elements("css selector", "#picture .interval")
    assert intervals
    assert all(" to " in interval.text for interval in intervals)


def test_paper_shows_what_is_folded(show: Show, written: Written) -> None:
    driver = show(written(LOOP), folded=True)
    driver.execute_script("dispatchEvent(new Event('beforeprint'))")
    folds = driver.find_elements("css selector", ".fold")
    assert len(folds) > 4
    assert all(fold.get_attribute("open") for fold in folds)


def test_a_link_to_a_part_opens_it(show: Show, written: Written) -> None:
    driver = show(written(LOOP), folded=True)
    driver.execute_script("location.hash = '#chart-ratio'; dispatchEvent(new HashChangeEvent('hashchange'))")
    assert driver.find_element("css selector", "#chart-ratio h2").is_displayed()


def test_charts_that_were_drawn_while_folded_have_their_width(show: Show, written: Written) -> None:
    widths = show(written(LOOP), keep=True).execute_script(
        "return [...document.querySelectorAll('.chart')].map((chart) => "
        "[chart.clientWidth, chart.querySelector('svg').getBoundingClientRect().width])"
    )
    assert widths
    assert all(abs(room - drawn) < 0.1 * room for room, drawn in widths)
