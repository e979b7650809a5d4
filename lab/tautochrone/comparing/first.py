"""The first screen of a comparison: the first command against the others."""

from __future__ import annotations

from collections.abc import Sequence

from tautochrone import text
from tautochrone.comparing.result import Compared
from tautochrone.report.analysis import FirstScreen, Settings
from tautochrone.report.first_screen import beside, judged, picture
from tautochrone.results.context import Command
from tautochrone.verdicts import FASTER

_MOST_RIVALS = 3


def first_screen(found: Compared, commands: Sequence[Command]) -> FirstScreen:
    """The best of the others; more of them are in the table."""
    rivals = sorted(found.rivals, key=lambda side: (side.ratio.value or 0.0) if side.ratio else 0.0)
    what = "time" if found.objective == "time" else "figure"
    again = next((Settings(label=one.label, language="shell", text=one.text) for one in commands), None)
    return FirstScreen(
        picture=picture(
            f"{what} relative to {found.reference.name}",
            found.reference.name,
            *(
                beside(side.name, side.ratio, best=number == 0 and side.verdict == FASTER)
                for number, side in enumerate(rivals[:_MOST_RIVALS])
            ),
        ),
        facts=(
            ("CPU time", _beside(found, "cpu_seconds")),
            ("Peak memory", _beside(found, "max_rss_bytes")),
        ),
        paste=again,
    )


def _beside(found: Compared, figure: str) -> str:
    """What the first of the others takes of it, by the reference."""
    ratios = [side.ratios[figure] for side in found.rivals[:1] if figure in side.ratios]
    written = text.seconds if figure == "cpu_seconds" else text.binary_bytes
    if not ratios or ratios[0].value is None:
        values = [side.others.get(figure) for side in found.sides]
        return " and ".join(map(written, values)) if any(values) else text.UNKNOWN
    verdict = {"faster": "less", "slower": "more"}.get(ratios[0].verdict, ratios[0].verdict)
    return f"{judged(ratios[0]).rpartition(', ')[0]}, {verdict}"
