"""The benchmark suite on stand-ins: a test gives the seconds of its runs, and time is a virtual clock."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from tautochrone.machine.runners import Description, Peer, PeerState
from tautochrone.measuring.clock import VirtualClock
from tautochrone.measuring.configuration import Configuration
from tautochrone.measuring.executor import RunResult

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks import run
from benchmarks.context import Context
from benchmarks.rows import Entry, Results
from benchmarks.suite import BENCHMARKS

MACHINE: dict[str, Any] = {
    "schema": "tautochrone.machine/1",
    "machine": "0123456789ab",
    "cpus": [{"cpu": cpu, "core": cpu, "package": 0, "kind": "core", "allowed": True} for cpu in (0, 1)],
}
_SCHEDULES = {
    ("loop", "libgomp"): ("pragma", "dynamic"),
    ("loop", "tautochrone"): ("adaptive", "static"),
    ("mapreduce", "qt"): ("unordered", "ordered"),
    ("mapreduce", "tbb"): ("auto", "simple"),
    ("mapreduce", "libgomp"): ("dynamic", "static"),
    ("nbody", "libgomp"): ("loops-i", "loops-j", "region-i", "region-j"),
}

Figure = Callable[[Mapping[str, Any]], float]
"""The seconds of a run by its settings."""


def loops_record(configuration: Configuration) -> dict[str, Any]:
    return {"loops": 10_000, "idle_cpu_seconds": 1e-5, "idle_window_seconds": 0.1, "width": 2}


class ActingExecutor:
    """Answers with the seconds of `figure` and the detail of `record`; every run takes `elapsed` seconds."""

    def __init__(
        self,
        clock: VirtualClock,
        figure: Figure,
        elapsed: float = 0.1,
        record: Callable[[Configuration], dict[str, Any]] = loops_record,
    ) -> None:
        self.clock, self.figure, self.elapsed, self.record = clock, figure, elapsed, record
        self.ran: list[Configuration] = []

    def run(self, configuration: Configuration, time_limit: float) -> RunResult:
        self.ran.append(configuration)
        self.clock.advance(self.elapsed)
        seconds = self.figure(configuration.settings)
        return RunResult(seconds, self.elapsed, record=self.record(configuration))


def peer(asked: Peer) -> PeerState:
    waits = ("default", "active", "passive") if asked.runtime == "openmp" else ()
    description = Description(
        asked.runtime,
        asked.name,
        schedules=_SCHEDULES.get((asked.study, asked.name), (asked.default_schedule,)),
        schedules_with_chunk=("dynamic", "auto", "simple") if asked.study == "mapreduce" else ("dynamic",),
        wait_policies=waits if asked.study == "mapreduce" else ("default", "active"),
    )
    return PeerState(asked, description, Path(f"/bin/{asked.runner}"))


def without(*names: str) -> Callable[[Peer], PeerState]:
    """All peers but these are here."""

    def find(asked: Peer) -> PeerState:
        return PeerState(asked, None, reason="not installed") if asked.name in names else peer(asked)

    return find


class Suite:
    """The suite in a folder of its own. `rows` measures a benchmark; `context` is what it was given."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.clock, self.said = folder, VirtualClock(), list[str]()
        self.executor = ActingExecutor(self.clock, lambda settings: 1e-6)
        self.context = self.given(self.executor)

    def given(self, executor: Any, seconds: float = 100.0, **more: Any) -> Context:
        self.executor = executor
        self.context = Context(
            clock=self.clock,
            executor=executor,
            results=Results(self.folder / "bench.json"),
            folder=self.folder / "rows",
            machine=MACHINE,
            seconds_per_id=seconds,
            say=self.said.append,
            find_peer=more.pop("find_peer", peer),
            **more,
        )
        self.context.program = lambda name: f"/bin/tauto-bench-{name}"  # type: ignore[method-assign]
        return self.context

    def rows(
        self,
        identifier: str,
        figure: Figure = lambda settings: 1e-6,
        *,
        elapsed: float = 0.1,
        record: Callable[[Configuration], dict[str, Any]] = loops_record,
        executor: Any = None,
        **more: Any,
    ) -> dict[str, Entry]:
        """The rows of a benchmark by their ids, its own first."""
        acting = executor or ActingExecutor(self.clock, figure, elapsed, record)
        rows = run.measured(BENCHMARKS[identifier], self.given(acting, **more))
        assert rows[0].id == identifier
        return {row.id: row for row in rows}
