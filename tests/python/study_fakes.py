"""A machine, peers and slow CPUs for the tests of all studies, and scripts that act as executables."""

from __future__ import annotations

import io
import json
import random
import sys
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, TextIO

import pytest

from tautochrone.cli.main import main
from tautochrone.errors import TautoError
from tautochrone.machine import runners
from tautochrone.machine.runners import Description, Peer, PeerState
from tautochrone.measuring.clock import VirtualClock
from tautochrone.measuring.configuration import Configuration
from tautochrone.measuring.executor import RunResult
from tautochrone.measuring.progress import SilentProgress
from tautochrone.results.row import Failure
from tautochrone.studies import STUDIES
from tautochrone.studies.services import Services


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


def peers(schedules: Mapping[str, Sequence[str]], absent: Sequence[str] = ()) -> Any:
    """What `runners.peer_states` does, with every peer here but the absent ones."""

    def states(known: Sequence[Peer], names: Collection[str] | None) -> list[PeerState]:
        for name in names or ():
            if name not in [peer.name for peer in known]:
                raise TautoError(f"there is no peer called {name!r}", "Choose another")
        wanted = [peer for peer in known if names is None or peer.name in names]
        return [_state(peer, schedules[peer.name], absent) for peer in wanted]

    return states


def _state(peer: Peer, schedules: Sequence[str], absent: Sequence[str]) -> PeerState:
    if peer.name in absent:
        return PeerState(peer, None, reason="its library is missing", remedy=f"apt install {peer.package}")
    chunked = ("static_chunk", "dynamic", "guided") if peer.study == "loop" else ()
    description = Description(
        runtime=peer.runtime,
        library=peer.name,
        version="1.0",
        schedules=tuple(schedules),
        schedules_with_chunk=tuple(one for one in schedules if one in chunked),
        wait_policies=("default", "active") if peer.runtime == "openmp" else ("default",),
    )
    return PeerState(peer, description, Path("/runners") / peer.runner)


@dataclass
class FakeExecutor:
    """Processes that cost no time. A study's fake says in `record` what its runner prints.

    ``errors``: text in a name → error kind; ``wrong``: → the answer it gives. ``interrupt_at``: Ctrl-C
    instead of that run (counted from 0, without probes). ``noise``: by what part of the time runs differ.
    ``others``: the share of the time of two CPUs that other programs take.
    """

    clock: VirtualClock
    errors: Mapping[str, str] = field(default_factory=dict)
    wrong: Mapping[str, str] = field(default_factory=dict)
    interrupt_at: int | None = None
    noise: float = 0.002
    others: float = 0.0
    probes: int = 0
    configurations: list[Configuration] = field(default_factory=list)  # that ran, without probes
    on: set[str] = field(default_factory=set)  # what the fake slowdowns have switched on
    chance: random.Random = field(default_factory=lambda: random.Random(7))
    answer: ClassVar[str] = "answer"  # the field that all must agree in; empty where the runner itself checks
    launch_seconds: ClassVar[float] = 0.1

    @property
    def ran(self) -> list[str]:
        return [configuration.name for configuration in self.configurations]

    @property
    def commands(self) -> list[list[str]]:
        return [list(configuration.command) for configuration in self.configurations]

    def record(self, settings: dict[str, Any]) -> dict[str, Any]:
        """What the runner prints, without its answer."""
        raise NotImplementedError

    def probed(self, settings: dict[str, Any]) -> dict[str, Any]:
        """What the runner prints when the study asks how fast this machine is."""
        raise NotImplementedError

    def right(self, settings: dict[str, Any]) -> str:
        """Empty where the runner gives no answer."""
        return "a" * 16

    def beside(self, record: dict[str, Any]) -> dict[str, Any]:
        """What is seen of the run from outside, as fields of its result."""
        return {}

    def run(self, configuration: Configuration, time_limit: float) -> RunResult:
        settings = dict(configuration.settings)
        if settings.get("probe"):
            self.probes += 1
            probed = self.probed(settings)
            return RunResult(1.0, self.launch_seconds, record=probed, **self.beside(probed))
        if self.interrupt_at is not None and len(self.configurations) == self.interrupt_at:
            raise KeyboardInterrupt
        self.configurations.append(configuration)
        self.clock.advance(self.launch_seconds)
        for text, kind in self.errors.items():
            if text in configuration.name:
                error = Failure(kind, f"it was told to end with {kind}")
                return RunResult(None, self.launch_seconds, error=error)
        record = {"check": {"passed": True}} | self.record(settings)
        if self.answer and self.right(settings):
            wrong = (answer for text, answer in self.wrong.items() if text in configuration.name)
            record["check"] |= {self.answer: next(wrong, self.right(settings))}
        return RunResult(
            record["seconds"],
            self.launch_seconds,
            record=record,
            others_cpu_seconds=2 * self.launch_seconds * self.others,
            bridge="fixed work",
            bridge_seconds=1e-3,
            **self.beside(record),
        )


@dataclass
class FakeSlowdown:
    """Notes in `on` whether it is on."""

    key: str
    on: set[str]
    factors: dict[int, float] = field(default_factory=dict)

    @property
    def reading_factors(self) -> dict[int, float]:
        """Reads lose more."""
        return {cpu: 1.1 * factor for cpu, factor in self.factors.items()}

    @property
    def turns(self) -> dict[int, float]:
        """As a thief has them."""
        return dict.fromkeys(self.factors, 5e-5)

    def pause(self) -> None:
        self.on.discard(self.key)

    def resume(self) -> None:
        self.on.add(self.key)


@dataclass
class Laboratory:
    """Services around one executor; `text` holds what was printed as result, `messages` what was said.

    `study` and `schedules` say which peers there are. The executor has a `clock`, and in `on` the slowdowns
    that are switched on.
    """

    executor: Any
    study: str
    schedules: Mapping[str, Sequence[str]]
    machine: dict[str, Any] = field(default_factory=machine)
    absent: tuple[str, ...] = ()
    slowdown_error: TautoError | None = None
    probe_error: TautoError | None = None  # of what is measured again between rounds
    illustrations: bool = False  # load samples, timelines
    probes: list[set[str]] = field(default_factory=list)  # what was slowed at each new look at the machine
    text: io.StringIO = field(default_factory=io.StringIO)
    messages: io.StringIO = field(default_factory=io.StringIO)
    progress: SilentProgress = field(default_factory=SilentProgress)

    @property
    def services(self) -> Services:
        return Services(
            machine=lambda: self.machine,
            machine_again=self._machine_again,
            peers=peers(self.schedules, self.absent),
            executor=lambda seed: nullcontext(self.executor),
            slowdown=self._slowdown,
            progress=lambda title: self.progress,
            clock=self.executor.clock,
            illustrations=self.illustrations,
            output=self.text,
            messages=self.messages,
        )

    def _machine_again(self) -> Mapping[str, Any]:
        self.probes.append(set(getattr(self.executor, "on", ())))
        if self.probe_error is not None:
            raise self.probe_error
        found = {"when": "2026-01-01T00:00:00Z", "cpus": [], "again": len(self.probes)}
        return {**self.machine, "measured": found}

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


def refused(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    """The one line with which a command is refused."""
    assert main(words) == 2
    lines = capsys.readouterr().err.splitlines()
    errors = [line for line in lines if line.startswith("tauto: error: ")]
    assert len(errors) == 1
    assert not any("Traceback" in line for line in lines)
    return errors[0]


def quiet_services(machine: Mapping[str, Any], said: TextIO) -> Services:
    """The real ones, for a machine that was measured before; what is said goes to `said`."""
    return Services(
        machine=lambda: machine, progress=lambda title: SilentProgress(), output=said, messages=said
    )


def need_executables(*names: str) -> None:
    """Skip the test where one of these is not built."""
    try:
        for name in names:
            runners.find(name)
    except TautoError as error:
        pytest.skip(error.message)


def laboratories(
    executor: type[FakeExecutor], study: str, schedules: Mapping[str, Sequence[str]], **usual: Any
) -> Callable[..., Laboratory]:
    """Makes laboratories on a virtual clock; what is given goes to them where they have such a field.

    The rest goes to the executor.
    """

    def laboratory(**changes: Any) -> Laboratory:
        names = ("machine", "absent", "slowdown_error", "probe_error", "illustrations")
        own = {name: changes.pop(name) for name in names if name in changes}
        return Laboratory(executor(VirtualClock(), **changes), study, schedules, **(usual | own))

    return laboratory


# Started a hundred times a study: without site-packages, which it does not need, in a third of the time.
RUNNER = r"""#!{python} -IS
import json, os, sys, time
name = os.path.basename(sys.argv[0])
study, runtime = (name.split("-") + [""])[1:3]
if name == "tauto-probe":
    print(open(os.path.join(os.path.dirname(os.path.abspath(sys.argv[0])), "machine.json")).read())
    sys.exit(0)
if name == "tauto-emulate":
    print("tauto-emulate: error: no right to SCHED_FIFO; start it as root", file=sys.stderr)
    sys.exit(2)
library = "libgomp" if runtime == "openmp" else runtime
openmp = ["pragma", "static"] if study == "loop" else ["dynamic", "static"]
schedules = {{"serial": ["serial"], "openmp": openmp, "tautochrone": ["adaptive"]}}[runtime]
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
answer = "f" * 16 if fate == "wrong" else "a" * 16
if study == "mapreduce":
    task = int(option["--bytes"]) * 1e-9
    seconds = int(option["--tasks"]) * task / len(cpus) * (1 + os.urandom(1)[0] / 25600)
    if "--trace" in option:
        open(option["--trace"], "w").write('{{"traceEvents": []}}')
    print(json.dumps({{"runtime": runtime, "library": library, "seconds": seconds, "task_seconds": task,
                      "waiting_share": 0.1, "cpu_load": 0.9, "check": {{"passed": True, "sum": answer}}}}))
    sys.exit(0)
seconds = int(option["--size"]) ** 2 * 1e-9 / len(cpus) * (1 + os.urandom(1)[0] / 25600)
print(json.dumps({{"runtime": runtime, "library": library, "seconds": seconds, "bytes_per_iteration": 1,
                  "workers": [{{"cpu": cpu, "rows": 10}} for cpu in cpus], "width": len(cpus),
                  "check": {{"passed": True, "solution_fnv1a": answer}}}}))
"""


def write_runners(folder: Path) -> Path:
    """Scripts that behave like the executables, as far as the lab can see.

    FAKE_OPENMP (or another runtime) in the environment: die, hang, garbage, wrong.
    """
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "machine.json").write_text(json.dumps(machine()))
    names = [
        "tauto-probe",
        "tauto-emulate",
        *(f"tauto-{study}-{one}" for study in STUDIES for one in ("serial", "openmp", "tautochrone")),
    ]
    for name in names:
        (folder / name).write_text(RUNNER.format(python=sys.executable))
        (folder / name).chmod(0o755)
    return folder
