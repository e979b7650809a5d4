"""The picture of a first screen: its bars are right, and its words stay words."""

from __future__ import annotations

import re
from importlib import resources
from xml.etree import ElementTree

import pytest

from tautochrone.report import picture as drawing
from tautochrone.report.analysis import Bar, Picture
from tautochrone.report.first_screen import beside, picture
from tautochrone.verdicts import Ratio

SVG = "{http://www.w3.org/2000/svg}"


def ratio(value: float | None, low: float | None = None, high: float | None = None) -> Ratio:
    return Ratio(value=value, low=low, high=high, confidence=0.99, rounds=9, verdict="faster")


def halved(*others: Ratio) -> Picture:
    found = picture(
        "time", "now", beside("ours", ratio(0.5, 0.4, 0.6), best=True), *(beside("x", one) for one in others)
    )
    assert found is not None
    return found


def drawn(found: Picture) -> ElementTree.Element:
    return ElementTree.fromstring(drawing.alone(found, "Use it.", "a machine"))


def per_cent(element: ElementTree.Element, name: str) -> float:
    return float(element.attrib[name].rstrip("%"))


def test_bars_and_whiskers_are_as_long_as_their_values() -> None:
    root = drawn(halved())
    now, best = (root.find(f".//{SVG}rect[@class='{kind}']") for kind in ("now", "best"))
    assert now is not None
    assert best is not None
    assert per_cent(best, "width") == pytest.approx(0.5 * per_cent(now, "width"), rel=1e-3)
    whisker = root.find(f".//{SVG}line[@class='whisker']")
    assert whisker is not None
    assert per_cent(whisker, "x1") == pytest.approx(0.4 * per_cent(now, "width"), rel=1e-2)
    assert per_cent(whisker, "x2") == pytest.approx(0.6 * per_cent(now, "width"), rel=1e-2)


@pytest.mark.parametrize("value", [0.01, 0.3, 0.97, 1.2, 3.0, 9.0])
def test_the_axis_has_its_1_and_few_ticks(value: float) -> None:
    ticks = [
        one.text
        for one in drawn(halved(ratio(value, value, value))).iter(f"{SVG}text")
        if one.get("class") == "tick"
    ]
    assert "1" in ticks
    assert len(ticks) <= 7


def test_an_interval_without_end_leaves_the_bars_to_be_compared() -> None:
    root = drawn(halved(ratio(1.0, 0.001, 900.0)))
    widths = [
        per_cent(one, "width")
        for one in root.iter(f"{SVG}rect")
        if one.get("class") in ("now", "best", "other")
    ]
    assert widths[0] > 25
    ends = [
        per_cent(one, name)
        for one in root.iter(f"{SVG}line")
        for name in ("x1", "x2")
        if one.get("class") == "whisker"
    ]
    assert max(ends) <= 62


def test_hostile_words_stay_words() -> None:
    hostile = "</text><script>alert(1)</script>"
    found = Picture(
        title=hostile, bars=(Bar(label=hostile, role="now", value=1.0, written=hostile, interval=hostile),)
    )
    assert "<script" not in drawing.alone(found, hostile, hostile) + drawing.in_page(found)
    drawn(found)


def test_a_number_and_its_unit_stay_on_one_line() -> None:
    for padding in range(60):
        svg = drawing.alone(halved(), f"{'x' * padding} takes 17.8 % less time, 27.6 ms and 4 KiB", "")
        lines = [one.text or "" for one in ElementTree.fromstring(svg).iter(f"{SVG}text")]
        for whole in ("17.8\u00a0%", "27.6\u00a0ms", "4\u00a0KiB"):
            assert any(whole in line for line in lines), padding


def test_nothing_measured_is_no_picture() -> None:
    assert picture("time", "now", beside("ours", None), beside("theirs", ratio(None))) is None


def test_the_colours_of_the_file_are_those_of_the_page() -> None:
    def text(name: str) -> str:
        return (resources.files("tautochrone.report") / "templates" / name).read_text(encoding="utf-8")

    page = dict(re.findall(r"--(\w+): (#\w+)", text("report.css").split("@media")[0]))
    file = text("picture.css").split("@media")[0]
    for kind, variable in (("now", "line"), ("best", "accent"), ("other", "load"), ("paper", "page")):
        assert re.search(rf"\.{kind} {{ fill: {page[variable]}; }}", file), kind
