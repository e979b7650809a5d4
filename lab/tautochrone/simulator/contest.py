"""Who is best and who is last in a simulated study, as a sentence and as its first screen."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from tautochrone import text
from tautochrone.report.analysis import Bar, FirstScreen, Picture
from tautochrone.report.palette import name_of
from tautochrone.results.runs import OURS
from tautochrone.simulator.engine import Row
from tautochrone.simulator.requests import Point, Sweep

_SIZE_OF_THE_LOOP = 3000


@dataclass(frozen=True)
class Contest:
    """Those with the same work, at one place on the axis, the best first."""

    sweep: Sweep
    at: float
    places: tuple[tuple[float, str, Row], ...]  # value, series, what was simulated
    runs: int

    @property
    def sentence(self) -> str:
        """Without its beginning."""
        best, last = (
            (name_of(name), self.sweep.told(value)) for value, name, _ in (self.places[0], self.places[-1])
        )
        return f"{self.where}, {best[0]} is best ({best[1]}) and {last[0]} last ({last[1]})"

    @property
    def where(self) -> str:
        return self.sweep.at.format(x=self.at, seconds=text.seconds(self.at))

    def first_screen(self, machine: str) -> FirstScreen:
        what = self.sweep.y.title.split(",")[0]
        return FirstScreen(
            picture=Picture(title=f"{what} relative to the last, {self.where}", bars=tuple(self._bars())),
            facts=(
                ("Waiting", "; ".join(self._waiting()))
                if any(self._waiting())
                else ("Compared", f"{len(self.places)} with the same work"),
                ("Certainty", f"{text.count(self.runs, 'run')} in virtual time: no noise, so no interval"),
                ("Simulated on", machine),
            ),
        )

    def _bars(self) -> Iterator[Bar]:
        """The last, the best, and ours if it is neither."""
        last = self.places[-1][0] or 1.0
        ours = [place for place in self.places[1:-1] if place[1] == OURS]
        roles: dict[str, Literal["now", "best", "other"]] = {
            self.places[-1][1]: "now",
            self.places[0][1]: "best",
            **{name: "other" for _, name, _ in ours},
        }
        values = {name: value for value, name, _ in self.places}
        for name, role in roles.items():
            yield Bar(
                label=name_of(name),
                role=role,
                value=values[name] / last,
                written=self.sweep.told(values[name]),
                interval="simulated",
            )

    def _waiting(self) -> Iterator[str]:
        """Of the best and the last, which part of their members' time they wait."""
        for place in dict.fromkeys((0, len(self.places) - 1)):
            _, name, row = self.places[place]
            share = row.get("waiting_share")
            if share is not None:
                yield f"{name_of(name)} {text.percent(share)} of the time"


def contest_of(study: str, sweep: Sweep, runs: Sequence[tuple[Point, Row]]) -> Contest:
    """At the last place on the axis; of the loop at a size that no cache holds."""
    at = _SIZE_OF_THE_LOOP if study == "loop" else max(point.x for point in sweep.points)
    places = sorted(
        (
            (sweep.value(row), point.series, row)
            for point, row in runs
            if point.x == at
            and point.series != "serial"
            and (sweep.compared is None or point.series in sweep.compared)
        ),
        key=lambda place: (place[0], name_of(place[1])),
        reverse=not sweep.less,
    )
    return Contest(sweep, at, tuple(places), len(runs))
