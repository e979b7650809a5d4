"""What a benchmark is given: machine, peers, clock, executor, a budget, and a place for its rows."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from benchmarks.entry import Entry, Results
from benchmarks.table import interval
from tautochrone import measure, runners
from tautochrone.clock import Clock
from tautochrone.configuration import Configuration
from tautochrone.errors import TautoError
from tautochrone.executor import Executor
from tautochrone.plan import Plan
from tautochrone.progress import Progress, SilentProgress
from tautochrone.row import SCREENING, Row
from tautochrone.runners import PEERS, PEERS_OF_STUDY, Peer, PeerState, peer_state
from tautochrone.session import CheckRows
from tautochrone.store import Store

RUN_LIMIT_SECONDS = 30.0


class Interrupted(Exception):
    """Ctrl-C: the rows so far are written, nothing more is measured."""


class Budget:
    """Seconds that a benchmark may use in all; whole rounds are measured inside it."""

    def __init__(self, clock: Clock, seconds: float) -> None:
        self._clock = clock
        self._end = clock.monotonic() + seconds

    @property
    def left(self) -> float:
        """Seconds that are left, never below 0."""
        return max(0.0, self._end - self._clock.monotonic())

    def share(self, weight: float, weights_left: float) -> float:
        """The seconds of a part with this weight, where `weights_left` is the weight of all parts to come."""
        return self.left * min(1.0, weight / weights_left) if weights_left > 0 else 0.0


@dataclass
class Context:
    """Everything around a benchmark. `peers` finds the states of the peers once, when they are asked for."""

    clock: Clock
    executor: Executor
    results: Results
    folder: Path
    machine: Mapping[str, Any]
    seconds_per_id: float
    cpus: tuple[int, int] = (0, 1)
    cells: Sequence[tuple[int, float]] | None = None  # size and factor; None: all
    verbose: bool = False
    seed: int = 1
    say: Callable[[str], None] = print
    progress: Callable[[str], Progress] = lambda title: SilentProgress()
    find_peer: Callable[[Peer], PeerState] = peer_state
    _states: dict[Peer, PeerState] = field(default_factory=dict)

    def peer(self, name: str, study: str = "loop") -> PeerState:
        """The state of a peer of a study by its name: present, or absent with the reason."""
        peer = next(one for one in PEERS_OF_STUDY[study] if one.name == name)
        if peer not in self._states:
            self._states[peer] = self.find_peer(peer)
        return self._states[peer]

    def peers(self) -> list[PeerState]:
        """Serial, all peers and ours, as far as they are here."""
        states = [self.peer(peer.name) for peer in PEERS]
        return [state for state in states if state.present]

    def absent(self) -> list[str]:
        """A sentence for each peer that is not here."""
        states = [self.peer(peer.name) for peer in PEERS]
        return [f"{state.peer.name} is not here: {state.reason}" for state in states if not state.present]

    def without(self, names: Sequence[str], study: str = "loop") -> str:
        """``without qt and libomp, which are not here``; empty where all of them are."""
        missing = [name for name in names if not self.peer(name, study).present]
        verb = "are" if len(missing) > 1 else "is"
        return f"without {' and '.join(missing)}, which {verb} not here" if missing else ""

    def budget(self) -> Budget:
        """The budget of a benchmark that begins now."""
        return Budget(self.clock, self.seconds_per_id)

    def add(self, entry: Entry) -> Entry:
        """Store a row with the machine and the time in it; returns it so."""
        complete = replace(
            entry,
            machine=str(self.machine.get("machine", "")),
            when=self.clock.now().isoformat("T", "seconds"),
        )
        self.results.add(complete)
        self.say(f"  {complete.id}: {interval(asdict(complete))} {complete.note}")
        return complete

    def program(self, name: str) -> str:
        """The path of one of the suite's programs. Raises TautoError that says how to build them."""
        try:
            return str(runners.find(f"tauto-bench-{name}"))
        except TautoError as missing:
            raise TautoError(
                missing.message, "Build it with cmake -DTAUTO_BUILD_BENCHMARKS=ON (make bench does)"
            ) from None

    def bench(self, name: str) -> Bench:
        """A place for the rows of a benchmark, emptied of what an earlier run left there."""
        return Bench(self, name)


class Bench:
    """Rounds of configurations, stored in a folder of their own, under ``<output folder>/bench/<name>``.

    A context manager. Screening rows and measured rows are kept apart by their source, as in every study.
    """

    def __init__(self, context: Context, name: str) -> None:
        self._context = context
        self._name = name
        folder = context.folder / name.replace("/", "-")
        shutil.rmtree(folder, ignore_errors=True)
        self.store = Store.open(folder, "benchmarks", name, context.machine, clock=context.clock)

    def __enter__(self) -> Bench:
        return self

    def __exit__(self, *ended: object) -> None:
        self.store.close()

    def screen(self, configurations: Sequence[Configuration], rounds: int, max_seconds: float) -> None:
        """Run rounds that only choose; rounds that a configuration has behind it are not run again."""
        self._run(configurations, rounds, max_seconds, SCREENING, "shuffled", None, "choosing")

    def run(
        self,
        configurations: Sequence[Configuration],
        rounds: int,
        max_seconds: float,
        check_rows: CheckRows | None = None,
        on_row: Callable[[Row], None] | None = None,
    ) -> list[Row]:
        """The good rows of fresh, reported rounds."""
        self._run(configurations, rounds, max_seconds, "measured", "latin", check_rows, "measuring", on_row)
        return [row for row in self.store.rows() if row["error"] is None]

    def screened_seconds(self, one: Configuration) -> float | None:
        """The median of a configuration's screening rows; None where it has none."""
        found = [
            float(row["seconds"])
            for row in self.store.rows(SCREENING)
            if row["config_id"] == one.config_id and row["error"] is None
        ]
        return sorted(found)[len(found) // 2] if found else None

    def elapsed_seconds(self, one: Configuration) -> float:
        """How long the last run of a configuration took, from start to end; 0 before any."""
        found = [row for row in self.store.rows(None) if row["config_id"] == one.config_id]
        return float(found[-1]["elapsed_seconds"]) if found else 0.0

    def ranked(self, configurations: Sequence[Configuration]) -> list[Configuration]:
        """Those that were screened, fastest first."""
        timed = [(self.screened_seconds(one), one) for one in configurations]
        known = [(seconds, one) for seconds, one in timed if seconds is not None]
        return [one for _, one in sorted(known, key=lambda pair: pair[0])]

    def pairs(self, ours: Configuration, peer: Configuration) -> list[tuple[float, float]]:
        """(our seconds, the peer's seconds) of each reported round."""
        return measure.pair_rows(self.store.rows(), ours.config_id, peer.config_id)

    def errors(self) -> list[str]:
        """What failed, a sentence each, without repeats."""
        found = (row for row in self.store.rows(None) if row["error"] is not None)
        return list(dict.fromkeys(f"{row['name']}: {row['error']['message']}" for row in found))

    def _run(
        self,
        configurations: Sequence[Configuration],
        rounds: int,
        max_seconds: float,
        source: str,
        order: Any,
        check_rows: CheckRows | None,
        doing: str,
        on_row: Callable[[Row], None] | None = None,
    ) -> None:
        if not configurations:
            return
        context = self._context
        plan = Plan(
            "benchmarks",
            configurations,
            rounds,
            seed=context.seed,
            time_limit_seconds=RUN_LIMIT_SECONDS,
            machine=context.machine,
            order=order,
            source=source,
        )
        outcome = measure.run_plan(
            plan,
            self.store,
            context.executor,
            context.clock,
            context.progress(f"{self._name}: {doing}"),
            on_row,
            check_rows=check_rows,
            max_seconds=max_seconds,
        )
        if outcome.interrupted:
            raise Interrupted
