"""One sitting of a measurement: runs configurations one by one, stores each row, drops what keeps failing."""

from __future__ import annotations

import os
import signal
import threading
import uuid
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import FrameType
from typing import Any, Self

from tautochrone.errors import TautoError
from tautochrone.measuring.clock import Clock
from tautochrone.measuring.configuration import Configuration
from tautochrone.measuring.executor import Executor, RunResult, RunsAhead
from tautochrone.measuring.plan import Plan
from tautochrone.measuring.progress import Progress
from tautochrone.results.row import Failure, Row, iso, refused
from tautochrone.results.spent import for_row
from tautochrone.results.store import Store

_SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Interrupt:
    """While entered, SIGINT and SIGTERM raise KeyboardInterrupt only inside `allowed()`.

    One that comes elsewhere waits for the next `allowed()`; a second one does not wait. Outside the main
    thread, where Python has no signals, this does nothing.
    """

    def __init__(self) -> None:
        self.pending = False
        self._allowed = False
        self._before: dict[signal.Signals, Any] = {}

    @contextmanager
    def allowed(self) -> Iterator[None]:
        """Where an interrupt may fall: raises KeyboardInterrupt at once if one is pending."""
        self._allowed = True
        try:
            if self.pending:
                raise KeyboardInterrupt
            yield
        finally:
            self._allowed = False

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            for number in _SIGNALS:
                self._before[number] = signal.signal(number, self._handle)
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)
        self._before.clear()

    def _handle(self, number: int, frame: FrameType | None) -> None:
        again, self.pending = self.pending, True
        if self._allowed or again:
            raise KeyboardInterrupt


FAILURES_ALLOWED = 1
"""A configuration that fails once more than this in a sitting is dropped."""

LOAD_NOTICED = 0.02
"""Share of the machine's CPU time that others may use before a run is called disturbed."""

# The kernel tells CPU time of the whole machine in ticks of 10 ms on each CPU: less than this is no evidence.
_LEAST_NOTICED_SECONDS = 0.05

CheckRows = Callable[[Sequence[Row]], Mapping[str, str]]
"""Given all good rows of a group: what is wrong with which run (``row["run"]``)."""

_OWN_FIELDS = frozenset({"schema", "seconds", "check", "workers", "energy"})
_NOT_METERED = {"status": "unavailable", "joules": None, "reason": "no energy meter was read for this run"}


@dataclass
class Session:
    """Runs, stores, counts. `say` of the progress tells the user what was dropped and why."""

    plan: Plan
    store: Store
    executor: Executor
    clock: Clock
    progress: Progress
    interrupt: Interrupt
    on_row: Callable[[Row], None] | None = None
    check_rows: CheckRows | None = None
    dropped: dict[str, str] = field(default_factory=dict)
    measured: int = 0
    failed: int = 0

    def __post_init__(self) -> None:
        self._id = uuid.uuid4().hex[:12]
        self._count = 0
        self._failures: Counter[str] = Counter()
        self._elapsed: dict[str, list[float]] = {}
        self._disturbed = 0
        self._begun = self.clock.monotonic()

    @property
    def seconds(self) -> float:
        return self.clock.monotonic() - self._begun

    def expect(self, coming: Sequence[tuple[Configuration, float | None]]) -> None:
        """Tell an executor that can begin several runs at a time which ones come next, with their limits."""
        if isinstance(self.executor, RunsAhead):
            usual = self.plan.time_limit_seconds
            self.executor.expect(
                [(configuration, usual if limit is None else limit) for configuration, limit in coming]
            )

    def measure(
        self, configuration: Configuration, number: int, position: int, time_limit: float | None = None
    ) -> Row:
        """Run once and store the row, whether good or an error. KeyboardInterrupt: nothing was stored.

        TautoError where a file that is measured changed meanwhile: nothing was stored either.

        Being stopped at a `time_limit` that is given here is no failure for which a configuration is dropped.
        """
        started = iso(self.clock.now())
        limit = self.plan.time_limit_seconds if time_limit is None else time_limit
        with self.interrupt.allowed():
            result = self.executor.run(configuration, limit)
        self._refuse_other_files()
        self._count += 1
        row = self._row(configuration, number, position, started, result)
        self.store.append(row)
        self._elapsed.setdefault(configuration.config_id, []).append(result.elapsed_seconds)
        self._disturbed += disturbed(row, os.cpu_count() or 1, bool(self.plan.machine.get("emulated")))
        if row.error is None:
            self.measured += 1
        elif time_limit is not None and row.error.kind == "timeout":
            self.failed += 1  # stopped because others are faster: who asked for that judges it
        else:
            self._count_failure(configuration, row.error)
        if self.on_row is not None:
            self.on_row(row)
        return row

    def check(self, members: Iterable[Configuration]) -> set[str]:
        """Let `check_rows` look at all good rows of these configurations, and refuse the runs that it names.

        Returns the config_ids of what was refused.
        """
        if self.check_rows is None:
            return set()
        known = {member.config_id: member for member in members}
        rows = [
            row for row in self.store.rows(self.plan.source) if row.config_id in known and row.error is None
        ]
        wrong = self.check_rows(rows)
        for row in rows:
            if row.run in wrong:
                bad = refused(row, "wrong_answer", wrong[row.run])
                self.store.append(bad)
                # The run may be of an earlier sitting: then it never counted as measured in this one.
                self.measured -= row.run.startswith(self._id)
                self._count_failure(known[row.config_id], Failure("wrong_answer", wrong[row.run]))
                if self.on_row is not None:
                    self.on_row(bad)
        return {row.config_id for row in rows if row.run in wrong}

    def seconds_left(self, remaining: Mapping[str, int]) -> float | None:
        """An estimate for `remaining` runs of each config_id from what runs took so far; None before any."""
        all_runs = [seconds for runs in self._elapsed.values() for seconds in runs]
        if not all_runs:
            return None
        overall = sum(all_runs) / len(all_runs)
        means = {config_id: sum(runs) / len(runs) for config_id, runs in self._elapsed.items()}
        return sum(count * means.get(config_id, overall) for config_id, count in remaining.items())

    def notices(self) -> list[str]:
        """What a reader of the results should know about the sitting, a sentence each."""
        if not self._disturbed:
            return []
        share = f"{LOAD_NOTICED:.0%}".replace("%", " %")
        return [
            f"in {self._disturbed} of {self._count} runs other programs or the hypervisor took more than "
            f"{share} of the CPU time; close them for narrower intervals"
        ]

    def _row(
        self, configuration: Configuration, number: int, position: int, started: str, result: RunResult
    ) -> Row:
        record = result.record
        return Row(
            run=f"{self._id}-{self._count:05d}",
            study=self.plan.study,
            source=self.plan.source,
            name=configuration.name,
            group=configuration.group,
            config=dict(configuration.settings),
            config_id=configuration.config_id,
            round=number,
            position=position,
            started=started,
            seconds=None if result.error else result.seconds,
            elapsed_seconds=result.elapsed_seconds,
            energy=_energy(configuration, result),
            check=record.get("check"),
            workers=record.get("workers"),
            detail={name: value for name, value in record.items() if name not in _OWN_FIELDS},
            machine=self.plan.machine.get("machine"),
            error=result.error,
            **result.accounted(),
        )

    def _refuse_other_files(self) -> None:
        changed = self.plan.identity.changed()
        if changed:
            raise TautoError(
                f"{' and '.join(changed)} changed while it was measured; this run was not stored",
                "Begin anew with --fresh, and build or install nothing meanwhile",
            )

    def _count_failure(self, configuration: Configuration, error: Failure) -> None:
        self.failed += 1
        config_id = configuration.config_id
        self._failures[config_id] += 1
        lasting = error.kind == "not_installed"
        if config_id not in self.dropped and (lasting or self._failures[config_id] > FAILURES_ALLOWED):
            how_often = "cannot run here" if lasting else f"failed {self._failures[config_id]} times"
            self.dropped[config_id] = error.message
            self.progress.say(f"{configuration.name} {how_often} and is left out: {error.message}")


def _energy(configuration: Configuration, result: RunResult) -> dict[str, object]:
    """What the meter said, with what stands in for joules where there are none: CPU time and cores held."""
    energy = result.energy or result.record.get("energy") or _NOT_METERED
    cpu_seconds = None
    if result.user_seconds is not None and result.system_seconds is not None:
        cpu_seconds = result.user_seconds + result.system_seconds
    held = _cores_held(configuration.settings, result.cpus)
    core_seconds = None if held is None else held * result.elapsed_seconds
    complete = for_row(energy, None if result.error else result.seconds)
    return {**complete, "cpu_seconds": cpu_seconds, "core_seconds": core_seconds}


def _cores_held(settings: Mapping[str, object], cpus: int | None) -> int | None:
    """How many cores a configuration has for itself: those of its placement, else one a thread.

    Threads that are told to a program as text are no more than the CPUs; where nothing tells their number, it
    has all `cpus` that it may use.
    """
    cores, threads = settings.get("cores"), settings.get("threads")
    if isinstance(cores, Mapping) and cores:
        return sum(int(number) for number in cores.values())
    if isinstance(threads, int):
        return threads
    told = threads if threads is not None else settings.get("OMP_NUM_THREADS")
    if isinstance(told, str) and told.isdecimal():
        return min(int(told), cpus) if cpus is not None else int(told)
    return cpus


def disturbed(row: Row, cpus: int, emulated: bool = False) -> bool:
    """Whether others took more than `LOAD_NOTICED` of the CPU time of a machine with `cpus` CPUs in a run.

    `emulated`: whether some of its CPUs were made slow around all runs.
    """
    # What makes a CPU slow on purpose is another program too, and takes its share.
    others = 0.0 if emulated or row.config.get("emulated") else row.others_cpu_seconds or 0.0
    taken = float(others + (row.steal_seconds or 0.0))
    return taken > max(LOAD_NOTICED * cpus * row.elapsed_seconds, _LEAST_NOTICED_SECONDS)
