"""Commands that take no time: each is a sentence of `mock_executor`, on a virtual clock."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import msgspec

from mock_executor import MockExecutor
from tautochrone.comparing.executor import Answer
from tautochrone.comparing.measure import Services, measure
from tautochrone.comparing.result import Asked, Compared
from tautochrone.comparing.settings import Entry, Settings
from tautochrone.measuring.clock import VirtualClock
from tautochrone.measuring.configuration import Configuration
from tautochrone.measuring.executor import RunResult
from tune_fakes import machine


class FakeCommands(MockExecutor):
    """Runs the sentence that stands for each name; `printed` is what a command prints."""

    def __init__(
        self,
        clock: VirtualClock,
        sentences: Mapping[str, str],
        seed: int = 1,
        printed: Mapping[str, Sequence[str]] | None = None,
        bridge_seconds: float | None = None,
        **options: Any,
    ) -> None:
        super().__init__(clock, seed, **options)
        self.short: set[str] = set()
        self._sentences = sentences
        self._printed = printed or {}
        self._bridge_seconds = bridge_seconds
        self._trials: dict[str, int] = {}

    def run(self, configuration: Configuration, time_limit: float) -> RunResult:
        sentence = self._sentences[configuration.name]
        result = super().run(replace(configuration, command=sentence.split()), time_limit)
        spent: dict[str, Any] = {"user_seconds": result.seconds, "system_seconds": 0.0}
        spent["max_rss_bytes"] = 1 << 20
        if self._bridge_seconds is not None:
            spent |= {"bridge": "fixed work", "bridge_seconds": self._bridge_seconds}
        record = {"runs": 1, "switches": 2.0, "faults": 50.0}
        return msgspec.structs.replace(result, record=record, **spent)

    def trial(self, configuration: Configuration, time_limit: float) -> tuple[RunResult, Answer]:
        result = self.run(configuration, time_limit)
        self.ran.pop()
        several = self._printed.get(configuration.name, ("",))
        number = self._trials.get(configuration.name, 0)
        self._trials[configuration.name] = number + 1
        words = several[number % len(several)]
        seconds = result.seconds or 0.0
        return result, Answer(runs=1, user_seconds=seconds, stdout_bytes=len(words), stdout_hash=words)

    def close(self) -> None:
        pass


def compared(
    sentences: Mapping[str, str],
    seed: int = 1,
    printed: Mapping[str, Sequence[str]] | None = None,
    said: list[str] | None = None,
    executor: FakeCommands | None = None,
    **asked: Any,
) -> Compared:
    """Compare commands by their sentences, the first with all others."""
    clock = VirtualClock()
    fake = executor or FakeCommands(clock, sentences, seed, printed)
    services = Services(
        machine=machine,
        executor=lambda settings: fake,
        files=lambda configurations: (),
        clock=fake.clock,
        say=(said if said is not None else []).append,
    )
    entries = [Entry(Asked(name=name, words=("true", name))) for name in sentences]
    return measure(entries, Settings(**asked), services)
