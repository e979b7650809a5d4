"""A program's whole space, measured exhaustively and kept as data; and an executor that replays it.

With such files the search is tested, changed and compared without running anything: 200 searches with
different luck take some seconds (the idea is Kernel Tuner's simulation mode).
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median

import msgspec

from tautochrone.clock import VirtualClock
from tautochrone.configuration import Configuration
from tautochrone.errors import TautoError
from tautochrone.executor import RunError, RunResult
from tautochrone.row import MEASURED, Row
from tautochrone.tune.space import DEFAULT

SCHEMA = "tautochrone.space/1"
_DIGITS = 5
_LEAST_HELD = 0.95
MOST_RECORD_FACTOR = 3
"""Disturbed runs are run again, until there are so many times the rounds."""


class RecordedCandidate(msgspec.Struct, frozen=True, kw_only=True):
    """A candidate with the figure of each round; None where the run failed."""

    name: str
    settings: Mapping[str, str]
    seconds: tuple[float | None, ...]


class RecordedSpace(msgspec.Struct, frozen=True, kw_only=True):
    """All candidates of a program over the same rounds (schema tautochrone.space/1)."""

    schema: str = SCHEMA
    program: str
    machine: str
    recorded: str
    candidates: tuple[RecordedCandidate, ...]

    @property
    def runs(self) -> int:
        """How many runs the exhaustive measurement took."""
        return sum(len(one.seconds) for one in self.candidates)

    def medians(self) -> dict[str, float]:
        """The median of each candidate that ran at all."""
        found = {}
        for one in self.candidates:
            good = [seconds for seconds in one.seconds if seconds is not None]
            if good:
                found[one.name] = median(good)
        return found

    def configurations(self) -> list[Configuration]:
        """The candidates as configurations that only a replay can run."""
        return [
            Configuration(one.name, ["replay", one.name], {}, dict(one.settings), group="tune")
            for one in self.candidates
        ]


def undisturbed(rows: Sequence[Row]) -> list[Row]:
    """The rows of runs that had the CPUs which they wanted, and those that failed.

    A space is to say what a program does by itself. A run that held clearly fewer CPUs (CPU time by wall
    time) than its candidate's other runs did was kept waiting by somebody.
    """
    usual: dict[str, list[float]] = {}
    for row in rows:
        if (held := _cpus_held(row)) is not None:
            usual.setdefault(row["config_id"], []).append(held)
    upper = {one: sorted(values)[(3 * len(values)) // 4] for one, values in usual.items()}
    return [
        row
        for row in rows
        if (held := _cpus_held(row)) is None or held >= _LEAST_HELD * upper[row["config_id"]]
    ]


def _cpus_held(row: Row) -> float | None:
    """How many CPUs a good run kept busy on average."""
    if row["error"] is not None or row.get("user_seconds") is None:
        return None
    return float((row["user_seconds"] + row["system_seconds"]) / row["elapsed_seconds"])


def space_of(
    program: str, machine: Mapping[str, object], when: str, rows: Sequence[Row], rounds: int
) -> RecordedSpace:
    """The first `rounds` measured rows of each candidate as a space; the default comes first."""
    by_name: dict[str, list[Row]] = {}
    for row in rows:
        if row.get("source", MEASURED) == MEASURED:
            by_name.setdefault(row["name"], []).append(row)
    names = sorted(by_name, key=lambda name: name != DEFAULT)
    return RecordedSpace(
        program=program,
        machine=str(machine.get("name", "")),
        recorded=when,
        candidates=tuple(
            RecordedCandidate(
                name=name,
                settings=by_name[name][0]["config"],
                seconds=tuple(
                    None if row["seconds"] is None else float(f"{row['seconds']:.{_DIGITS}g}")
                    for row in sorted(by_name[name], key=lambda row: row["round"])[:rounds]
                ),
            )
            for name in names
        ),
    )


def write_space(space: RecordedSpace, path: Path) -> None:
    """One candidate a line, so that a change shows as one. TautoError where it cannot be written."""
    head = {name: getattr(space, name) for name in ("schema", "program", "machine", "recorded")}
    lines = ",\n".join("  " + msgspec.json.encode(one).decode() for one in space.candidates)
    words = msgspec.json.encode(head).decode()
    try:
        path.write_text(f'{words[:-1]}, "candidates": [\n{lines}\n]}}\n', encoding="utf-8")
    except OSError as error:
        raise TautoError(
            f"the space cannot be written to {path}: {error.strerror}", "Choose another place"
        ) from error


def read_space(path: Path) -> RecordedSpace:
    """Read such a file. TautoError for one that is none."""
    try:
        space = msgspec.json.decode(path.read_bytes(), type=RecordedSpace)
    except (OSError, msgspec.DecodeError) as error:
        raise TautoError(
            f"{path} is no recorded space: {error}", "Write one with tauto tune --record"
        ) from error
    if space.schema != SCHEMA:
        raise TautoError(f"{path} has the schema {space.schema!r}, expected {SCHEMA!r}", "Record it again")
    return space


class ReplayExecutor:
    """Runs nothing: the seed orders the recorded rounds, and a run of a candidate takes the next one's time.

    Runs that were recorded in one round so stay together: what the machine did to all of them, a search takes
    out by comparing within rounds, as it does where the program really runs.
    """

    def __init__(self, space: RecordedSpace, clock: VirtualClock, seed: int) -> None:
        self._seconds = {one.name: one.seconds for one in space.candidates}
        self._clock = clock
        self._order = list(range(max(len(one.seconds) for one in space.candidates)))
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
            return RunResult(None, 0.0, error=RunError("failed", "it failed when it was recorded"))
        if seconds > time_limit:
            self._clock.advance(time_limit)
            return RunResult(None, time_limit, error=RunError("timeout", f"stopped after {time_limit:g} s"))
        self._clock.advance(seconds)
        return RunResult(seconds, seconds)
