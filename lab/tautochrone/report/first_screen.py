"""The first screen: its picture and facts from ratios, and all of it as its template wants it."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from tautochrone import text, verdicts
from tautochrone.report import picture as drawing
from tautochrone.report.analysis import Analysis, Bar, Picture, Settings
from tautochrone.verdicts import Ratio

FACTS = 3


class Shown(msgspec.Struct, frozen=True, kw_only=True):
    """What the template of a first screen is given."""

    kicker: str  # above the sentence: what this page is
    sentence: str
    picture: str  # an SVG element; empty: none
    facts: tuple[tuple[str, str], ...]
    paste: Settings | None
    emulated: str = ""  # behind the last fact
    can_copy: bool = True  # by a button, which needs the page's script


def kicker(analysis: Analysis, study: str) -> str:
    return f"tautochrone · study {study}{' · quick' if analysis.quick else ''}"


def shown(analysis: Analysis, above: str, measured: str, emulated: str = "") -> Shown:
    """The first screen of a study; `measured` (where, how much) is its last fact."""
    first = analysis.first
    facts = (*first.facts, (analysis.WHERE, measured))[:FACTS]
    return Shown(
        kicker=above,
        sentence=analysis.verdict_sentences[0] if analysis.verdict_sentences else "No verdict.",
        picture=drawing.in_page(first.picture) if first.picture is not None else "",
        facts=facts,
        paste=analysis.lines_to_paste,
        emulated=emulated,
    )


def now(label: str) -> Bar:
    """What the others are held against."""
    return Bar(label=label, role="now", value=1.0, written="1")


def beside(label: str, ratio: Ratio | None, *, best: bool = False) -> Iterable[Bar]:
    """The bar of a time by that of now; nothing for what was not measured."""
    if ratio is not None and ratio.value is not None:
        written, interval = text.ratio_parts(ratio)
        yield Bar(
            label=label,
            role="best" if best else "other",
            value=ratio.value,
            written=written,
            low=ratio.low,
            high=ratio.high,
            interval=interval,
        )


def picture(title: str, reference: str, *others: Iterable[Bar]) -> Picture | None:
    """The reference above all others; None where there are none."""
    bars = tuple(bar for some in others for bar in some)
    return Picture(title=title, bars=(now(reference), *bars)) if bars else None


def judged(ratio: Ratio) -> str:
    """A ratio of times with its verdict: "0.41 (0.39 to 0.43), faster"."""
    return text.UNKNOWN if ratio.verdict == verdicts.NOT_MEASURED else f"{text.ratio(ratio)}, {ratio.verdict}"
