"""An executor that runs nothing: commands are sentences of a small language, time is a virtual clock.

    seconds 1.0                     takes one second, and says so
    seconds 1.0 noise 1%            log-normal noise with that standard deviation
    seconds 1.0 spikes 3% of 50%    in 3 % of the runs it takes 50 % longer
    seconds 1.0 drift 3% over 100   3 % slower for every 100 s that the virtual clock has gone
    seconds 1.0 elapsed 5           the figure of merit is 1 s, the process lives for 5 s
    seconds 1.0 answer beef         gives this answer (`solution_fnv1a`); without it the answer is "right"
    fail after 2                    good twice, then fails; "fail" always fails
    wrong | hang | missing | lost   a wrong answer; runs into the time limit; not installed; lacks a worker
    interrupt                       Ctrl-C during the run

Clauses are combined in any order: ``seconds 2 noise 1% fail after 3``. `ran` lists the names of the
configurations in the order in which they ran, so that a test can say what ought to have run when.
"""

from __future__ import annotations

import math
import random
import re
from collections import Counter
from collections.abc import Mapping

from tautochrone.measuring.clock import VirtualClock
from tautochrone.measuring.configuration import Configuration
from tautochrone.measuring.executor import RunResult
from tautochrone.results.row import Failure

_CLAUSE = re.compile(
    r"(?P<word>seconds|noise|elapsed|answer) (?P<value>\S+)"
    r"|spikes (?P<share>\S+)% of (?P<height>\S+)%"
    r"|drift (?P<drift>\S+)% over (?P<over>\S+)"
    r"|fail after (?P<good>\d+)"
    r"|(?P<fate>fail|wrong|hang|missing|lost|interrupt)"
)
_ERRORS = {
    "fail": ("failed", "it was told to fail"),
    "wrong": ("wrong_answer", "it was told to answer wrongly"),
    "missing": ("not_installed", "it was told to be missing"),
    "lost": ("missing_worker", "it was told to lose a worker"),
}


class MockExecutor:
    """Executes the language above. The same seed gives the same noise.

    ``instead``: (name, which of its runs) → the command of that run. ``interrupt_at``: Ctrl-C in that run
    of all. Both count from 0.
    """

    def __init__(
        self,
        clock: VirtualClock,
        seed: int = 1,
        *,
        instead: Mapping[tuple[str, int], str] | None = None,
        interrupt_at: int | None = None,
    ) -> None:
        self.clock = clock
        self.instead = instead or {}
        self.interrupt_at = interrupt_at
        self.ran: list[str] = []
        self.limits: list[float] = []
        self._chance = random.Random(seed)
        self._runs: Counter[str] = Counter()

    def run(self, configuration: Configuration, time_limit: float) -> RunResult:
        self.ran.append(configuration.name)
        self.limits.append(time_limit)
        if len(self.ran) - 1 == self.interrupt_at:
            raise KeyboardInterrupt
        words = self.instead.get(
            (configuration.name, self._runs[configuration.name]), " ".join(configuration.command)
        )
        self._runs[configuration.name] += 1
        clauses = _clauses(words)
        fate = clauses.get("fate", "")
        if "good" in clauses and self._runs[configuration.name] > int(clauses["good"]):
            fate = "fail"
        if fate == "interrupt":
            raise KeyboardInterrupt
        seconds = self._seconds(clauses)
        elapsed = float(clauses.get("elapsed", seconds))
        if fate == "hang" or elapsed > time_limit:
            self.clock.advance(time_limit)
            limit = f"it was stopped at the time limit of {time_limit:g} s"
            return RunResult(None, time_limit, error=Failure("timeout", limit))
        self.clock.advance(elapsed)
        if fate:
            return RunResult(None, elapsed, error=Failure(*_ERRORS[fate]))
        check = {"passed": True, "solution_fnv1a": clauses.get("answer", "right")}
        return RunResult(seconds, elapsed, record={"seconds": seconds, "check": check})

    def _seconds(self, clauses: dict[str, str]) -> float:
        seconds = float(clauses.get("seconds", "1.0"))
        if "noise" in clauses:
            seconds *= math.exp(self._chance.gauss(0.0, float(clauses["noise"].rstrip("%")) / 100))
        if "share" in clauses and self._chance.random() < float(clauses["share"]) / 100:
            seconds *= 1.0 + float(clauses["height"]) / 100
        if "drift" in clauses:
            gone = self.clock.monotonic() / float(clauses["over"])
            seconds *= 1.0 + float(clauses["drift"]) / 100 * gone
        return seconds


def _clauses(words: str) -> dict[str, str]:
    """The clauses of a command; ValueError for words that the language lacks."""
    if left := _CLAUSE.sub("", words).strip():
        raise ValueError(f"the mock executor does not know {left!r} (in {words!r})")
    found: dict[str, str] = {}
    for match in _CLAUSE.finditer(words):
        named = {name: value for name, value in match.groupdict().items() if value is not None}
        if "word" in named:
            named = {named["word"]: named["value"]}
        found |= named
    return found
