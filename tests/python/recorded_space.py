"""A program's whole space, measured exhaustively and kept as data; and an executor that replays it.

With such files the search is tested, changed and compared without running anything: 200 searches with
different luck take some seconds (the idea is Kernel Tuner's simulation mode).
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from statistics import median

import msgspec

from tautochrone.measuring.clock import VirtualClock
from tautochrone.measuring.configuration import Configuration
from tautochrone.measuring.executor import RunResult
from tautochrone.results.row import Failure


class RecordedCandidate(msgspec.Struct, frozen=True, kw_only=True):
    """A candidate with the seconds of each round; None where the run failed."""

    name: str
    settings: Mapping[str, str]
    seconds: tuple[float | None, ...]


class RecordedSpace(msgspec.Struct, frozen=True, kw_only=True):
    """All candidates of a program over the same rounds (schema tautochrone.space/1)."""

    schema: str = "tautochrone.space/1"
    program: str
    machine: str
    recorded: str
    candidates: tuple[RecordedCandidate, ...]

    @property
    def runs(self) -> int:
        """How many runs the exhaustive measurement took."""
        return sum(len(candidate.seconds) for candidate in self.candidates)

    def medians(self) -> dict[str, float]:
        """The median of each candidate that ran at all."""
        good = {
            candidate.name: [seconds for seconds in candidate.seconds if seconds is not None]
            for candidate in self.candidates
        }
        return {name: median(seconds) for name, seconds in good.items() if seconds}

    def configurations(self) -> list[Configuration]:
        """The candidates as configurations that only a replay can run."""
        return [
            Configuration(candidate.name, ["replay", candidate.name], {}, candidate.settings, group="tune")
            for candidate in self.candidates
        ]


def read_space(path: Path) -> RecordedSpace:
    """Read such a file."""
    return msgspec.json.decode(path.read_bytes(), type=RecordedSpace)


class ReplayExecutor:
    """Runs nothing: the seed orders the recorded rounds, and a run of a candidate takes the next one's time.

    Runs that were recorded in one round so stay together: what the machine did to all of them, a search takes
    out by comparing within rounds, as it does where the program really runs.
    """

    def __init__(self, space: RecordedSpace, clock: VirtualClock, seed: int) -> None:
        self._seconds = {candidate.name: candidate.seconds for candidate in space.candidates}
        self._clock = clock
        self._order = list(range(max(map(len, self._seconds.values()))))
        random.Random(seed).shuffle(self._order)
        self._next: Counter[str] = Counter()
        self.runs = 0

    def run(self, configuration: Configuration, time_limit: float) -> RunResult:
        """Take the candidate's next time and let the clock go on by it, or by the limit."""
        self.runs += 1
        recorded = self._seconds[configuration.name]
        turn = self._order[self._next[configuration.name] % len(self._order)]
        self._next[configuration.name] += 1
        seconds = recorded[turn % len(recorded)]
        if seconds is None:
            return RunResult(None, 0.0, error=Failure("failed", "it failed when it was recorded"))
        if seconds > time_limit:
            self._clock.advance(time_limit)
            return RunResult(None, time_limit, error=Failure("timeout", f"stopped after {time_limit:g} s"))
        self._clock.advance(seconds)
        return RunResult(seconds, seconds)
