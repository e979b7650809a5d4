"""One way to start a runner: which runtime, on which CPUs, with which schedule, chunk and wait policy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tautochrone.machine.placements import Placement
from tautochrone.machine.runners import PeerState
from tautochrone.measuring.configuration import Configuration
from tautochrone.options import State
from tautochrone.studies.request import Times


@dataclass(frozen=True, slots=True, kw_only=True)
class RunnerSetup:
    """What all runners' command lines and all rows' ``config`` have in common."""

    state: PeerState
    schedule: str
    chunk: int | None = None
    wait: str = "default"
    placement: Placement

    @property
    def peer(self) -> str:
        return self.state.peer.name

    @property
    def workers(self) -> int:
        """How many threads work: one on each CPU, unless a study asks for more."""
        return len(self.placement.cpus)

    @property
    def environment(self) -> Mapping[str, str]:
        """What the process finds in its environment beside the laboratory's own."""
        return self.state.environment

    def configuration(
        self,
        name: str,
        group: str,
        times: Times,
        *,
        arguments: Sequence[str],
        settings: Mapping[str, object],
        emulation: State | None = None,
    ) -> Configuration:
        """It as something to measure. ``arguments`` and ``settings`` say how large the work is."""
        words = ["--cpus", ",".join(map(str, self.placement.cpus)), "--threads", str(self.workers)]
        words += ["--schedule", self.schedule]
        words += [] if self.chunk is None else ["--chunk", str(self.chunk)]
        words += [] if self.wait == "default" else ["--wait", self.wait]
        words += ["--warmup-seconds", f"{times.warmup_seconds:g}"]
        words += ["--min-seconds", f"{times.timed_seconds:g}"]
        common = {
            "runtime": self.state.peer.runtime,
            "library": self.peer,
            "schedule": self.schedule,
            "chunk": self.chunk,
            "threads": self.workers,
            "placement": self.placement.name,
            "cpus": list(self.placement.cpus),
            "cores": dict(self.placement.cores),
            "wait": self.wait,
            "emulated": {str(cpu): factor for cpu, factor in sorted((emulation or {}).items())},
        }
        command = [str(self.state.path), *arguments, *words]
        return Configuration(name, command, self.environment, {**common, **settings}, group)


def joined_label(peer: str, schedule: str, *parts: str, wait: str = "default") -> str:
    """What a configuration is called in tables and sentences; empty parts are left out."""
    words = [peer if peer == schedule else f"{peer} {schedule.replace('_', ' ')}", *parts]
    words += [f"{wait} wait"] if wait != "default" else []
    return ", ".join(word for word in words if word)
