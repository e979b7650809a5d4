"""Who runs a configuration: the real thing in a process of its own, or a mock on a virtual clock."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

from tautochrone.configuration import Configuration


@dataclass(frozen=True)
class RunError:
    """Why a run gave no result: `kind` is one of `row.ERROR_KINDS`, `message` is for people."""

    kind: str
    message: str


@dataclass(frozen=True)
class RunResult:
    """What one run of a configuration gave. Seconds and bytes; None where the system does not tell.

    `seconds` is the figure of merit, None in case of an `error`. `record` is what the program said about
    itself (a runner's JSON object), empty for programs that say nothing. `energy` is as in a row, None where
    nobody looked at a meter. `cpus` is how many CPUs of this machine it might use.
    """

    seconds: float | None
    elapsed_seconds: float
    user_seconds: float | None = None
    system_seconds: float | None = None
    max_rss_bytes: int | None = None
    voluntary_switches: int | None = None
    involuntary_switches: int | None = None
    migrations: int | None = None
    counters: Mapping[str, int | float | str] | None = None
    counters_reason: str | None = None
    load_before: float | None = None
    others_cpu_seconds: float | None = None
    steal_seconds: float | None = None
    cpus: int | None = None
    record: Mapping[str, Any] = field(default_factory=dict)
    error: RunError | None = None
    energy: Mapping[str, Any] | None = None


class Executor(Protocol):
    """Runs a configuration once. `time_limit` is in seconds; a run that reaches it is an error `timeout`."""

    def run(self, configuration: Configuration, time_limit: float) -> RunResult:
        """Run to the end, or to the limit. KeyboardInterrupt leaves no process behind."""
        ...


@runtime_checkable
class MetersIdle(Protocol):
    """An executor that also knows the power of the machine that does nothing."""

    def idle_is_due(self) -> bool:
        """Whether idle power is to be measured before the next run."""
        ...

    def measure_idle(self) -> None:
        """Measure it once more."""
        ...

    def idle_stretches(self, *, after_runs: bool) -> tuple[float, ...]:
        """The mean watts of each stretch since this was asked before; empty where nothing is metered.

        ``after_runs``: with one more, if anything ran since the last one.
        """
        ...
