"""A machine, peers, processes and slow CPUs for the loop study that cost no time: all follow a model."""

from __future__ import annotations

import io
import json
import random
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tautochrone.clock import VirtualClock
from tautochrone.configuration import Configuration
from tautochrone.errors import TautoError
from tautochrone.executor import RunError, RunResult
from tautochrone.progress import SilentProgress
from tautochrone.runners import PEERS, Description, PeerState
from tautochrone.studies.loop.request import LoopRequest
from tautochrone.studies.loop.services import Services

SCHEDULES: Mapping[str, tuple[str, ...]] = {
    "serial": ("serial",),
    "libgomp": ("pragma", "static", "static_chunk", "dynamic", "guided", "auto"),
    "libomp": ("pragma", "static", "static_chunk", "dynamic", "guided", "auto"),
    "tbb": ("auto", "simple", "static", "affinity"),
    "stdpar": ("par",),
    "openblas": ("sgemv",),
    "tautochrone": ("static", "static_chunk", "dynamic", "guided", "weighted", "adaptive"),
}
FORK_SECONDS = 2e-6
DEQUEUE_SECONDS = 5e-8
SECONDS_AN_ELEMENT = 1e-10


def machine(cpus: int = 2, kinds: Sequence[str] | None = None, **changes: object) -> dict[str, Any]:
    """A machine record of cores that are alike, or of the kinds given."""
    record: dict[str, Any] = {
        "schema": "tautochrone.machine/1",
        "machine": "0123456789ab",
        "name": "a machine for tests",
        "cpu_model": "test",
        "architecture": "x86_64",
        "kernel": "6.1",
        "hypervisor": None,
        "emulated": None,
        "cpus": [
            {"cpu": cpu, "core": cpu, "package": 0, "numa": 0, "kind": kinds[cpu] if kinds else "core"}
            | {"smt_siblings": [cpu], "capacity": None, "max_hertz": None, "allowed": True}
            for cpu in range(cpus)
        ],
        "kinds": [],
        "caches": [],
        "numa": [],
        "allowed_cpus": list(range(cpus)),
        "quota_cpus": None,
        "usable_members": cpus,
        "memory_bytes": 16_000_000_000,
        "available_memory_bytes": 8_000_000_000,
        "counters": {
            "status": "unavailable",
            "reason": "a virtual machine",
            "remedy": "use the bare machine",
        },
        "energy_meters": [],
        "energy": {"status": "unavailable", "reason": "none", "remedy": ""},
        "measured": {
            "when": "2026-01-01T00:00:00Z",
            "cpus": [],
            "triad": [{"members": n, "bytes_per_second": 1e10 * n} for n in range(1, cpus + 1)],
        },
    }
    return record | changes


def peers(absent: Sequence[str] = ()) -> Any:
    """What `runners.peer_states` does, with every peer here but the absent ones."""

    def states(names: list[str] | None) -> list[PeerState]:
        known = [peer.name for peer in PEERS]
        for name in names or ():
            if name not in known:
                raise TautoError(f"there is no peer called {name!r}", f"Choose from: {', '.join(known)}")
        return [_state(peer.name, absent) for peer in PEERS if names is None or peer.name in names]

    return states


def _state(name: str, absent: Sequence[str]) -> PeerState:
    peer = next(peer for peer in PEERS if peer.name == name)
    if name in absent:
        return PeerState(peer, None, reason="its library is missing", remedy=f"apt install {peer.package}")
    chunked = ("static_chunk", "dynamic", "guided")
    description = Description(
        runtime=peer.runtime,
        library=name,
        version="1.0",
        schedules=SCHEDULES[name],
        schedules_with_chunk=tuple(one for one in SCHEDULES[name] if one in chunked),
        wait_policies=("default", "active") if peer.runtime == "openmp" else ("default",),
    )
    return PeerState(peer, description, Path("/runners") / peer.runner)


@dataclass
class ModelExecutor:
    """Seconds of a run from the speeds of its CPUs; answers like a runner.

    ``interrupt_at``: Ctrl-C instead of that run (counted from 0). ``errors``: text in a name → error kind.
    ``wrong``: text in a name → the answer it gives.
    """

    clock: VirtualClock
    interrupt_at: int | None = None
    errors: Mapping[str, str] = field(default_factory=dict)
    wrong: Mapping[str, str] = field(default_factory=dict)
    ran: list[str] = field(default_factory=list)
    on: set[str] = field(default_factory=set)  # what the fake slowdowns have switched on
    states: list[tuple[str, frozenset[str]]] = field(default_factory=list)
    chance: random.Random = field(default_factory=lambda: random.Random(7))

    def run(self, configuration: Configuration, time_limit: float) -> RunResult:
        """Note what runs in which state, and answer."""
        if self.interrupt_at is not None and len(self.ran) == self.interrupt_at:
            raise KeyboardInterrupt
        self.ran.append(configuration.name)
        self.states.append((configuration.group, frozenset(self.on)))
        self.clock.advance(0.1)
        for text, kind in self.errors.items():
            if text in configuration.name:
                return RunResult(None, 0.1, error=RunError(kind, f"it was told to end with {kind}"))
        settings = configuration.settings
        seconds = model_seconds(settings) * (1 + 0.002 * self.chance.random())
        cpus = settings["cpus"]
        assert isinstance(cpus, list)
        answer = next((wrong for text, wrong in self.wrong.items() if text in configuration.name), "a" * 16)
        if settings["runtime"] == "openblas":
            answer = "b" * 16
        size = settings["size"]
        assert isinstance(size, int)
        record = {
            "schema": "tautochrone.runner/1",
            "library": settings["library"],
            "library_version": "1.0",
            "seconds": seconds,
            "bytes_per_iteration": 4 * size * size,
            "width": len(cpus),
            "dropped": False,
            "workers": [{"cpu": cpu, "rows": size} for cpu in cpus],
            "check": {"passed": True, "solution_fnv1a": answer},
        }
        return RunResult(seconds, 0.1, record=record, counters_reason="no counters in a model")


def model_seconds(settings: Mapping[str, Any]) -> float:
    """Time of one iteration: work by speeds, a fork, and a price for each chunk."""
    slowed = {int(cpu): factor for cpu, factor in settings["emulated"].items()}
    speeds: list[float] = [1 / slowed.get(cpu, 1.0) for cpu in settings["cpus"]]
    work = SECONDS_AN_ELEMENT * float(settings["size"]) ** 2
    if settings["runtime"] == "serial":
        return work / speeds[0]
    fork = FORK_SECONDS if len(speeds) > 1 else 0.0
    if settings["schedule"] == "adaptive":
        return 0.999 * min(work / sum(speeds) + fork, work / max(speeds))
    if settings["schedule"] in ("dynamic", "guided", "weighted", "simple", "auto"):
        chunks = float(settings["size"]) / (settings["chunk"] or 64)
        return work / sum(speeds) * 1.02 + fork + DEQUEUE_SECONDS * chunks / len(speeds)
    return work / len(speeds) / min(speeds) + fork


@dataclass
class FakeSlowdown:
    """Notes in `on` whether it is on."""

    key: str
    on: set[str]
    factors: dict[int, float] = field(default_factory=dict)

    def pause(self) -> None:
        """Off."""
        self.on.discard(self.key)

    def resume(self) -> None:
        """On."""
        self.on.add(self.key)


@dataclass
class Laboratory:
    """Services around one executor; `text` holds what was printed as result, `messages` what was said."""

    executor: ModelExecutor
    machine: dict[str, Any] = field(default_factory=machine)
    absent: tuple[str, ...] = ()
    slowdown_error: TautoError | None = None
    text: io.StringIO = field(default_factory=io.StringIO)
    messages: io.StringIO = field(default_factory=io.StringIO)
    progress: SilentProgress = field(default_factory=SilentProgress)

    @property
    def services(self) -> Services:
        """As `run_study` takes them."""
        return Services(
            machine=lambda: self.machine,
            peers=peers(self.absent),
            executor=lambda seed: nullcontext(self.executor),
            slowdown=self._slowdown,
            progress=lambda title: self.progress,
            clock=self.executor.clock,
            sample_loads=False,
            output=self.text,
            messages=self.messages,
        )

    @contextmanager
    def _slowdown(self, emulation: Mapping[int, float]) -> Iterator[FakeSlowdown]:
        if self.slowdown_error is not None:
            raise self.slowdown_error
        key = "+".join(f"{cpu}:{factor:g}" for cpu, factor in emulation.items())
        slowdown = FakeSlowdown(key, self.executor.on, dict(emulation))
        slowdown.resume()
        try:
            yield slowdown
        finally:
            slowdown.pause()


def laboratory(**changes: Any) -> Laboratory:
    """A laboratory on a virtual clock; `changes` go to the executor where it has such a field, else to it."""
    own = {name: changes.pop(name) for name in ("machine", "absent", "slowdown_error") if name in changes}
    return Laboratory(ModelExecutor(VirtualClock(), **changes), **own)


RUNNER = r"""#!{python}
import json, os, random, sys, time
name = os.path.basename(sys.argv[0])
runtime = name.removeprefix("tauto-loop-")
if name == "tauto-probe":
    print(open(os.path.join(os.path.dirname(os.path.abspath(sys.argv[0])), "machine.json")).read())
    sys.exit(0)
if name == "tauto-emulate":
    print("tauto-emulate: error: no right to SCHED_FIFO; start it as root", file=sys.stderr)
    sys.exit(2)
library = "libgomp" if runtime == "openmp" else runtime
schedules = {{"serial": ["serial"], "openmp": ["pragma", "static"], "tautochrone": ["adaptive"]}}[runtime]
if "--describe" in sys.argv:
    print(json.dumps({{"runtime": runtime, "library": library, "version": "1", "schedules": schedules,
                      "schedules_with_chunk": [], "wait_policies": ["default"]}}))
    sys.exit(0)
option = dict(zip(sys.argv[1::2], sys.argv[2::2]))
fate = os.environ.get("FAKE_" + runtime.upper(), "")
if fate == "die":
    os.kill(os.getpid(), 11)
if fate == "hang":
    time.sleep(100)
if fate == "garbage":
    print("Segmentation fault (core dumped)")
    sys.exit(0)
cpus = [int(cpu) for cpu in option["--cpus"].split(",")]
seconds = int(option["--size"]) ** 2 * 1e-9 / len(cpus) * random.uniform(1, 1.01)
answer = "f" * 16 if fate == "wrong" else "a" * 16
print(json.dumps({{"runtime": runtime, "library": library, "seconds": seconds, "bytes_per_iteration": 1,
                  "workers": [{{"cpu": cpu, "rows": 10}} for cpu in cpus], "width": len(cpus),
                  "check": {{"passed": True, "solution_fnv1a": answer}}}}))
"""


def write_runners(folder: Path, record: Mapping[str, Any] | None = None) -> Path:
    """Scripts that behave like the executables, as far as the lab can see.

    FAKE_OPENMP (or another runtime) in the environment: die, hang, garbage, wrong.
    """
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "machine.json").write_text(json.dumps(record or machine()))
    names = [
        "tauto-probe",
        "tauto-emulate",
        *(f"tauto-loop-{one}" for one in ("serial", "openmp", "tautochrone")),
    ]
    for name in names:
        (folder / name).write_text(RUNNER.format(python=sys.executable))
        (folder / name).chmod(0o755)
    return folder


def request(folder: Path, **changes: Any) -> LoopRequest:
    """A small quick study."""
    asked: dict[str, Any] = {"output": folder, "quick": True, "sizes": (400, 2000), "report": False}
    return LoopRequest(**(asked | changes))
