"""Who runs a configuration: the real thing in a process of its own, or a mock on a virtual clock."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

import msgspec

from tautochrone.measuring.configuration import Configuration
from tautochrone.results.row import Failure


class Accounted(msgspec.Struct, frozen=True, kw_only=True):
    """What the system tells of a run. Seconds and bytes; None where it does not tell.

    ``held_by``: what keeps all processes of the run together, "control group" or "process group".
    """

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
    held_by: str | None = None
    bridge: str | None = None
    bridge_seconds: float | None = None

    def accounted(self) -> dict[str, Any]:
        """These fields alone, by name."""
        return {name: getattr(self, name) for name in Accounted.__struct_fields__}


class RunResult(Accounted, frozen=True):
    """What one run of a configuration gave.

    `seconds` is the figure of merit, None in case of an `error`. `record` is what the program said about
    itself (a runner's JSON object), empty for programs that say nothing. `energy` is as in a row, None where
    nobody looked at a meter. `cpus` is how many CPUs of this machine it might use.
    """

    seconds: float | None
    elapsed_seconds: float
    cpus: int | None = None
    record: Mapping[str, Any] = {}
    error: Failure | None = None
    energy: Mapping[str, object] | None = None


class Executor(Protocol):
    """Runs a configuration once. `time_limit` is in seconds; a run that reaches it is an error `timeout`."""

    def run(self, configuration: Configuration, time_limit: float) -> RunResult:
        """Run to the end, or to the limit. KeyboardInterrupt leaves no process behind."""


@runtime_checkable
class RunsAhead(Protocol):
    """An executor that can begin several runs at a time."""

    def expect(self, coming: Sequence[tuple[Configuration, float]]) -> None:
        """Begin these, each with its time limit, as soon as there is room; `run` is called for each later."""


@runtime_checkable
class MetersIdle(Protocol):
    """An executor that also knows the power of the machine that does nothing."""

    def idle_is_due(self) -> bool:
        """Whether idle power is to be measured before the next run."""

    def measure_idle(self) -> None:
        """Measure it once more."""

    def idle_stretches(self, *, after_runs: bool) -> tuple[float, ...]:
        """The mean watts of each stretch since this was asked before; empty where nothing is metered.

        ``after_runs``: with one more, if anything ran since the last one.
        """
