"""One way to start a runner: which runtime, on which CPUs, with which schedule, chunk and wait policy."""

from __future__ import annotations

from dataclasses import dataclass

from tautochrone.runners import PeerState
from tautochrone.studies.options import Emulation, Times
from tautochrone.studies.placements import Placement


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
        """The name of the runtime under test."""
        return self.state.peer.name

    @property
    def workers(self) -> int:
        """How many threads work: one on each CPU, unless a study asks for more."""
        return len(self.placement.cpus)

    def common_arguments(self, times: Times) -> list[str]:
        """The options that every runner takes, without those that say how large the work is."""
        words = ["--cpus", ",".join(map(str, self.placement.cpus)), "--threads", str(self.workers)]
        words += ["--schedule", self.schedule]
        words += [] if self.chunk is None else ["--chunk", str(self.chunk)]
        words += [] if self.wait == "default" else ["--wait", self.wait]
        words += ["--warmup-seconds", f"{times.warmup_seconds:g}"]
        return [*words, "--min-seconds", f"{times.timed_seconds:g}"]

    def common_settings(self, emulation: Emulation) -> dict[str, object]:
        """The part of a row's ``config`` that does not say how large the work is."""
        return {
            "runtime": self.state.peer.runtime,
            "library": self.peer,
            "schedule": self.schedule,
            "chunk": self.chunk,
            "threads": self.workers,
            "placement": self.placement.name,
            "cpus": list(self.placement.cpus),
            "cores": dict(self.placement.cores),
            "wait": self.wait,
            "emulated": {str(cpu): factor for cpu, factor in sorted(emulation.items())},
        }


def slowed_words(emulation: Emulation) -> str:
    """{1: 4.0} → ", CPU 1 4× slower", to follow a configuration's name; {} → ""."""
    return "".join(f", CPU {cpu} {factor:g}× slower" for cpu, factor in sorted(emulation.items()))


def joined_label(peer: str, schedule: str, *parts: str, wait: str = "default") -> str:
    """What a configuration is called in tables and sentences; empty parts are left out."""
    words = [peer if peer == schedule else f"{peer} {schedule.replace('_', ' ')}", *parts]
    words += [f"{wait} wait"] if wait != "default" else []
    return ", ".join(word for word in words if word)
