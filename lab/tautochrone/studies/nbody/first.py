"""The nbody study's first screen: one core against ours and the best other engine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tautochrone import text
from tautochrone.report.analysis import FirstScreen, Settings
from tautochrone.report.first_screen import beside, judged, picture
from tautochrone.results.runs import OURS
from tautochrone.studies.nbody.configurations import AUTO
from tautochrone.studies.nbody.findings import BlockCurve
from tautochrone.studies.nbody.runs import BlockRuns
from tautochrone.studies.nbody.sentences import curve_of, nearest
from tautochrone.verdicts import Ratio


def first_screen(
    curves: Sequence[BlockCurve],
    speed_ups: Sequence[tuple[int, Ratio]],
    contests: Mapping[int, tuple[BlockRuns, Ratio]],
    settings: Sequence[Settings],
) -> FirstScreen:
    """With the number of particles that the first sentence speaks of."""
    judged_here = {count: ratio for count, ratio in speed_ups if ratio.value is not None}
    if not judged_here:
        return FirstScreen()
    count = nearest(list(judged_here))
    ours = curve_of(curves, count, OURS, AUTO)
    theirs, against = contests.get(count, (None, None))
    other = next(
        (
            curve
            for curve in curves
            if theirs is not None and (curve.particles, curve.label) == (count, theirs.label)
        ),
        None,
    )
    members = text.count(ours.members, "member") if ours is not None else "all members"
    return FirstScreen(
        picture=picture(
            f"time of a block relative to one core, {count:,} particles",
            "one core",
            beside(f"tautochrone, {members}", judged_here[count], best=True),
            () if other is None else beside(f"{other.label}, the fastest other", other.to_serial),
        ),
        facts=(
            ("Against others", "none was measured" if against is None else judged(against)),
            ("Energy error", _errors(ours, other)),
        ),
        paste=next((lines for lines in settings if lines.language == "shell"), None),
    )


def _errors(ours: BlockCurve | None, other: BlockCurve | None) -> str:
    """That of the other as well, where it differs."""
    errors = [text.energy_error(curve.energy_error) for curve in (ours, other) if curve is not None]
    return "; the other’s ".join(dict.fromkeys(errors)) or text.UNKNOWN
