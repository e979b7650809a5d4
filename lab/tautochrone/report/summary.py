"""The first screen without its page: as a picture of its own, and as Markdown for a pull request."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

from tautochrone.errors import TautoError, printable
from tautochrone.report import first_screen, machine_view, measured
from tautochrone.report import picture as drawing
from tautochrone.report.analysis import Analysis, Picture
from tautochrone.results.row import Row

Format = Literal["html", "svg", "png", "markdown"]
SUFFIXES: Mapping[Format, str] = {"html": ".html", "svg": ".svg", "png": ".png", "markdown": ".md"}
_PIXELS = 2.0  # for each unit of the drawing: sharp on screens of today


def render(
    form: Format, rows: Sequence[Row], machine: Mapping[str, Any], analysis: Analysis, study: str
) -> str | bytes:
    """The first screen in one of the formats but HTML.

    TautoError where there is nothing to draw, and for PNG without vl-convert.
    """
    where = measured.in_words(measured.counted(rows), machine_view.build(machine, ()))
    shown = first_screen.shown(analysis, first_screen.kicker(analysis, study), where)
    if form == "markdown":
        return markdown(shown, analysis.first.picture)
    if analysis.first.picture is None:
        raise TautoError(
            f"there is no picture of study {study!r}: {shown.sentence}",
            "Measure more first; the page and --format markdown say what there is",
        )
    name, found = shown.facts[-1]
    svg = drawing.alone(analysis.first.picture, shown.sentence, f"{shown.kicker}. {name} {found}")
    return svg if form == "svg" else _png_writer()(svg)


def _png_writer() -> Callable[[str], bytes]:
    try:
        import vl_convert
    except ModuleNotFoundError as error:
        raise TautoError(
            "a PNG needs vl-convert, which is not installed",
            "Run: pip install 'tautochrone[pictures]', or write --format svg",
        ) from error

    def png(svg: str) -> bytes:
        written: bytes = vl_convert.svg_to_png(svg, scale=_PIXELS)
        return written

    return png


def markdown(shown: first_screen.Shown, picture: Picture | None) -> str:
    """Sentence, bars as a table, facts, lines to paste."""
    parts = [f"**{cell(shown.sentence)}**", ""]
    if picture is not None:
        head = ["", picture.title, "interval"]
        lines = [[bar.label, bar.written, bar.interval] for bar in picture.bars]
        table = [head, ["---", "---:", "---:"], *([*map(cell, line)] for line in lines)]
        parts += [*(f"| {' | '.join(line)} |" for line in table), ""]
    parts += [f"- {cell(name)}: {cell(found)}" for name, found in shown.facts]
    if shown.paste is not None:
        fence = "`" * (3 if "```" not in shown.paste.text else 4)
        lines_to_paste = [f"{fence}{shown.paste.language}", shown.paste.text, fence]
        parts += ["", f"{cell(shown.paste.label)}:", "", *lines_to_paste]
    return "\n".join([*parts, "", f"<sub>{cell(shown.kicker)}</sub>", ""])


def cell(words: str) -> str:
    """Words in a table of Markdown, whatever they hold."""
    escaped = printable(words).replace("\\", "\\\\").replace("|", "\\|").replace("\n", " ")
    return escaped.replace("`", "\\`").replace("<", "&lt;")
