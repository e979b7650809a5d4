"""Draws the picture of a first screen as SVG: the same for the page, for a file beside it, and for print.

Lengths along the bars are per cent, so that the text keeps its size however wide the picture is.
"""

from __future__ import annotations

import math
import re
import textwrap
from collections.abc import Iterator, Sequence
from html import escape
from importlib import resources

from tautochrone.report.analysis import Bar, Picture

_BARS_WIDTH = 62.0  # per cent; the values stand right of it
_LABEL_LETTERS = 40  # in a line, on a telephone
_LINE, _BAR, _GAP = 19, 15, 20
_AXIS = 24
_MOST_OF_VALUE = 2.2
"""Of the longest bar: an interval that reaches farther is cut, lest the bars be too short to compare."""
_STEPS = (0.1, 0.2, 0.25, 0.5, 1.0)
_MOST_TICKS = 5
_ROOM_FOR_ONE = 0.08  # of the axis

_WIDTH, _MARGIN = 640, 24
_BEFORE_UNIT = re.compile(r"(?<=\d) (?=(?:%|×|[nµm]?s|min|h|[kKMGT]i?B|[kMG]?Hz|[mk]?[WJ])(?!\w))")
_SENTENCE_LETTERS, _SENTENCE_LINE = 60, 25


def in_page(picture: Picture) -> str:
    """The picture as an element of a page, which has the colours."""
    elements, height = _drawn(picture)
    name = escape(described(picture), quote=True)
    return f'<svg width="100%" height="{height}" role="img" aria-label="{name}">{elements}</svg>'


def alone(picture: Picture, sentence: str, place: str) -> str:
    """The picture as a file of its own, with the sentence above and the place below it."""
    elements, height = _drawn(picture)
    lines = _lines(sentence, _SENTENCE_LETTERS)
    top = _MARGIN + _SENTENCE_LINE * len(lines) + 8
    words = "".join(
        _text(_MARGIN, _MARGIN + _SENTENCE_LINE * number + 15, "sentence", line)
        for number, line in enumerate(lines)
    )
    below = _lines(place, _SENTENCE_LETTERS + 14)
    foot = "".join(
        _text(_MARGIN, top + height + _LINE * number, "place", line) for number, line in enumerate(below, 1)
    )
    style = (resources.files("tautochrone.report") / "templates" / "picture.css").read_text(encoding="utf-8")
    whole = top + height + _LINE * len(below) + _MARGIN
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDTH}" height="{whole}" '
        f'viewBox="0 0 {_WIDTH} {whole}" role="img">\n<title>{escape(sentence)}</title>\n'
        f"<style>{style}</style>\n"
        f'<rect class="paper" width="{_WIDTH}" height="{whole}"/>\n{words}\n'
        f'<svg x="{_MARGIN}" y="{top}" width="{_WIDTH - 2 * _MARGIN}" height="{height}">{elements}</svg>\n'
        f"{foot}\n</svg>\n"
    )


def described(picture: Picture) -> str:
    """The picture in words, for a screen reader."""
    bars = [
        f"{bar.label}: {bar.written}{f' ({bar.interval})' if bar.interval else ''}" for bar in picture.bars
    ]
    return f"{picture.title}. {'; '.join(bars)}"


def _lines(words: str, letters: int) -> list[str]:
    """The words in lines of so many letters; a number and its unit stay on one line."""
    return textwrap.wrap(_BEFORE_UNIT.sub("\u00a0", words), letters)


def _text(x: float | str, y: float, kind: str, words: str, anchor: str = "") -> str:
    where = f' text-anchor="{anchor}"' if anchor else ""
    return f'<text class="{kind}" x="{x}" y="{y}"{where}>{escape(words)}</text>'


def _drawn(picture: Picture) -> tuple[str, int]:
    """The elements, and the height that they need."""
    most = max(bar.value for bar in picture.bars) or 1.0
    reach = max([most, *(bar.high for bar in picture.bars if bar.high is not None)])
    end = min(reach, _MOST_OF_VALUE * most) * 1.02
    parts: list[str] = []
    y = 0
    for line in _lines(picture.title, _LABEL_LETTERS):
        y += _LINE
        parts.append(_text(0, y - 5, "title", line))
    for bar in picture.bars:
        drawn, below = _bar(bar, y, end)
        parts += drawn
        if picture.held_against_one:  # beside each bar, and through no words
            at, foot = _along(1.0, end), below - _GAP
            parts.append(f'<line class="equal" x1="{at}" y1="{foot - _BAR}" x2="{at}" y2="{foot + 8}"/>')
        y = below
    parts += _axis(_ticks(end), end, y)
    return "".join(parts), y + _AXIS


def _bar(bar: Bar, y: int, end: float) -> tuple[list[str], int]:
    """A label of one or more lines, the bar below it, its value and interval at its right."""
    parts = []
    for line in _lines(bar.label, _LABEL_LETTERS):
        y += _LINE
        parts.append(_text(0, y - 3, "label", line))
    middle = y + 3 + _BAR / 2
    parts.append(
        f'<rect class="{bar.role}" x="0" y="{y + 3}" width="{_along(bar.value, end)}" height="{_BAR}"/>'
    )
    if bar.low is not None and bar.high is not None:
        left, right = _along(bar.low, end), _along(bar.high, end)
        parts.append(f'<line class="whisker" x1="{left}" y1="{middle}" x2="{right}" y2="{middle}"/>')
        ends = [left] if bar.high > end else [left, right]
        parts += [
            f'<line class="whisker" x1="{at}" y1="{middle - 5}" x2="{at}" y2="{middle + 5}"/>' for at in ends
        ]
    beside = f"{_BARS_WIDTH + 2}%"
    parts.append(_text(beside, middle + 5, "value", bar.written))
    if bar.interval:
        parts.append(_text(beside, middle + 22, "interval", bar.interval))
    return parts, y + _BAR + _GAP


def _along(value: float, end: float) -> str:
    return f"{_BARS_WIDTH * min(max(value, 0.0), end) / end:.2f}%"


def _axis(ticks: Sequence[float], end: float, bottom: int) -> Iterator[str]:
    yield f'<line class="axis" x1="0" y1="{bottom}" x2="{_BARS_WIDTH}%" y2="{bottom}"/>'
    for tick in ticks:
        at = _along(tick, end)
        yield f'<line class="axis" x1="{at}" y1="{bottom}" x2="{at}" y2="{bottom + 5}"/>'
        yield _text(at if tick else 0, bottom + 19, "tick", f"{tick:g}", "middle" if tick else "")


def _ticks(end: float) -> list[float]:
    """0 and some in equal steps; 1 in any case where there is room for it."""
    tens = 10.0 ** math.floor(math.log10(end))
    step = next((tens * one for one in _STEPS if end / (tens * one) <= _MOST_TICKS), tens)
    while end / step > _MOST_TICKS:
        step *= 2
    ticks = [round(step * number, 9) for number in range(int(end / step) + 1)]
    if end >= 1.0 >= _ROOM_FOR_ONE * end:
        ticks.append(1.0)
    return sorted(set(ticks))
