"""Runs of the MPI runners under smpirun, and the energy of their ranks."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from math import ceil
from pathlib import Path
from typing import Any, TypedDict, TypeVar, cast

import msgspec

from tautochrone.errors import TautoError, explained
from tautochrone.jobs import spread, work
from tautochrone.machine import runners
from tautochrone.measuring.temporary import temporary_folder
from tautochrone.simulator.machines import Kind, Machine, machine_of
from tautochrone.simulator.smpi import platform

SELECTORS = ("ompi", "mpich", "mvapich2", "impi")
NBODY = "tauto-nbody-smpi.so"
COLLECTIVE = "tauto-collective-smpi.so"
MOST_RANKS = 4096
PARTICLES = 2048
MOST_PARTICLES = 65_536
SERIAL = "serial"


@dataclass(frozen=True, slots=True)
class Simulated:
    """A run of the nbody runner: ``blocks`` blocks of a Plummer sphere of ``particles``."""

    selector: str
    scheme: str
    ranks: int
    particles: int = PARTICLES
    blocks: int = 40
    seed: int = 1

    @property
    def label(self) -> str:
        """The label in charts, without the ranks: ``ompi i``."""
        return SERIAL if self.scheme == SERIAL else f"{self.selector} {self.scheme}"

    def options(self, costs: Mapping[str, float]) -> list[str]:
        """The runner's options except ``--threads``; ``costs``: seconds of each part of the work."""
        words = ["--particles", str(self.particles), "--blocks", str(self.blocks)]
        words += ["--scheme", self.scheme, "--seed", str(self.seed), "--warmup-seconds", "0"]
        return [*words, "--costs", ",".join(f"{name}={value:.17g}" for name, value in costs.items())]


@dataclass(frozen=True, slots=True)
class SimulatedOperation:
    """A run of the collective runner: one operation at several lengths."""

    selector: str
    operation: str
    ranks: int
    words: tuple[int, ...]

    @property
    def label(self) -> str:
        """The label in charts, without the ranks: ``ompi all_reduce``."""
        return f"{self.selector} {self.operation}"

    def options(self, costs: Mapping[str, float]) -> list[str]:
        """The runner's options except ``--threads``; the order of the lengths is fixed.

        Each length is called once before it is timed, because libraries create communicators at the first
        call.
        """
        words = ["--operations", self.operation, "--lengths", ",".join(map(str, self.words))]
        words += ["--sweeps", "1", "--seed", "1", "--warmup-seconds", "1e-9"]
        return [*words, "--word-seconds", f"{costs.get('word_seconds', 0.0):.17g}"]


AnyRun = TypeVar("AnyRun", Simulated, SimulatedOperation)


class BlockClass(TypedDict):
    """Blocks with about the same number of active particles."""

    active_from: int
    median_active: float
    median_seconds: float


class OperationTime(TypedDict):
    """One operation at one length."""

    words: int
    seconds: float


class RunEnergy(TypedDict):
    """Joules of a whole run."""

    joules: float
    working_joules: float
    waiting_joules: float
    idle_joules: float
    rest_joules: float


class Row(TypedDict, total=False):
    """What a runner prints under SMPI, with what :func:`run` adds; the fields that the laboratory reads.

    ``classes`` and those before it are the nbody runner's alone, ``points`` the collective runner's.
    """

    ranks: int
    library: str
    library_version: str
    nodes: int
    particles: int
    mean_seconds: float
    run_seconds: float
    working_seconds: list[float]
    shared_share: float
    check: dict[str, Any]
    energy: RunEnergy
    classes: list[BlockClass]
    points: list[OperationTime]


@dataclass(frozen=True, slots=True)
class Ready:
    """SMPI's launcher, the runner, and the machine to simulate.

    ``costs``: seconds of each part of a block; by default from the machine file.
    """

    smpirun: str
    program: Path
    machine: Machine
    costs: Mapping[str, float] | None = None


def ready_launcher() -> str:
    """The path of smpirun. Raises TautoError if it is missing."""
    smpirun = shutil.which("smpirun")
    if smpirun is None:
        raise TautoError(
            "smpirun was not found: it runs MPI programs on simulated machines",
            "Install libsimgrid-dev and build again (make)",
        )
    return smpirun


def ready(machine: Machine, costs: Mapping[str, float] | None = None, program: str = NBODY) -> Ready:
    """The launcher and the runner. Raises TautoError if SMPI or the runner is missing."""
    smpirun = ready_launcher()
    for folder in runners.folders():
        if (folder / program).is_file():
            return Ready(smpirun, (folder / program).resolve(), machine, costs)
    searched = " and ".join(str(folder) for folder in runners.folders())
    raise TautoError(
        f"the runner {program} was not found in {searched}",
        "It is built where libsimgrid-dev is installed: build again (make)",
    )


def run(with_: Ready, asked: Simulated | SimulatedOperation) -> Row:
    """The runner's row, with ``energy`` if the row has the working times of its ranks.

    Raises TautoError if SMPI or the runner refuses it.
    """
    machine = with_.machine
    nodes = ceil(asked.ranks / machine.cores)  # one rank a core
    messages = platform.messages_of(machine)
    network = platform.network_of(machine) if nodes > 1 else None
    clusters = platform.clusters_of(machine, nodes)
    hosts = [host for cluster in clusters for host in cluster.hosts()][: asked.ranks]
    costs = with_.costs
    if costs is None:
        costs = platform.costs(machine, min(asked.ranks, machine.kind[0].cores))
    command = [
        *_ending_with_us(),
        with_.smpirun,
        "-no-privatize",
        "-quiet",
        *("-np", str(asked.ranks)),
        *("-platform", "platform.xml", "-hostfile", "hosts"),
        *platform.settings(messages, asked.selector, asked.ranks),
        "--log=root.thresh:error",
        str(with_.program),
        *("--threads", str(asked.ranks), "--max-iterations", "1"),
        *asked.options(costs),
    ]
    with (
        explained(
            f"SMPI cannot run in {tempfile.gettempdir()}", "Make room there, or set TMPDIR to another folder"
        ),
        temporary_folder("tauto-smpi-") as folder,
    ):
        text = platform.platform(clusters, messages, network)
        Path(folder, "platform.xml").write_text(text, encoding="utf-8")
        Path(folder, "hosts").write_text("\n".join(hosts) + "\n", encoding="utf-8")
        environment = {**os.environ, "LC_ALL": "C"}
        finished = subprocess.run(
            command, cwd=folder, capture_output=True, text=True, check=False, env=environment
        )
    row = _row_in(finished, asked.ranks, with_.program.stem)
    row["library"] = asked.selector
    row["nodes"] = nodes
    if "working_seconds" in row:
        row["energy"] = energy(row, machine)
    return row


def _ending_with_us() -> list[str]:
    """A prefix that ends smpirun, and with it the ranks, when this process is killed."""
    setpriv = shutil.which("setpriv")
    return [setpriv, "--pdeathsig", "TERM"] if setpriv is not None else []


def _row_in(finished: subprocess.CompletedProcess[str], ranks: int, runner: str) -> Row:
    """The row that a runner printed. Raises TautoError with the refusal of the runner or SMPI."""
    if finished.returncode != 0:
        lines = [line for line in finished.stderr.splitlines() if line.strip()]
        for line in lines:
            if line.startswith(f"{runner}: error: "):
                sentence = line.removeprefix(f"{runner}: error: ")
                raise TautoError.of(sentence, "the simulated ranks refused: ")
        last = lines[-1] if lines else f"exit code {finished.returncode}"
        raise TautoError(
            f"SMPI ended {ranks} ranks with exit code {finished.returncode}: {last}",
            "SimGrid's algorithm may not support this number of ranks: change --ranks; if memory ran out, "
            "reduce --ranks, --particles or --words",
        )
    for line in finished.stdout.splitlines():
        if line.startswith("{"):
            row: Row = json.loads(line)
            return row
    raise TautoError(
        f"SMPI ended {ranks} ranks without a result",
        "SimGrid's algorithm may not support this number of ranks: change --ranks",
    )


def energy(row: Row, machine: Machine) -> RunEnergy:
    """Joules of the whole run. A waiting rank spins in MPI, so it is charged as spinning, never as idle.

    ``waiting_joules``: of ranks while they waited. Cores without a rank are idle.
    """
    seconds, nodes = float(row["run_seconds"]), int(row["nodes"])
    working = waiting = idle = 0.0
    ranks = iter(row["working_seconds"])
    for cluster in platform.clusters_of(machine, nodes):
        kind = machine.kind[cluster.kind]
        watts = _active_watts(kind, min(int(row["ranks"]), kind.cores))
        for _ in range(cluster.cores):
            own = next(ranks, None)
            if own is None:
                idle += seconds * kind.idle_watts
                continue
            working += own * watts
            waiting += (seconds - own) * watts * kind.spinning_share
    rest = nodes * seconds * (machine.power.uncore_active_watts + machine.power.platform_watts)
    return {
        "joules": working + waiting + idle + rest,
        "working_joules": working,
        "waiting_joules": waiting,
        "idle_joules": idle,
        "rest_joules": rest,
    }


def _active_watts(kind: Kind, active: int) -> float:
    """Watts of a working core while ``active`` of its kind work; linear between the file's states."""
    clock = platform.clock_of(kind, active)
    states = list(zip(kind.state_hertz, kind.state_active_watts, strict=True))
    for (low, low_watts), (high, high_watts) in pairwise(states):
        if low < clock <= high:
            return low_watts + (clock - low) / (high - low) * (high_watts - low_watts)
    hertz, watts = states[0] if clock <= states[0][0] else states[-1]
    return watts * clock / hertz


def waiting_share(row: Row) -> float:
    return 1.0 - float(sum(row["working_seconds"]) / (row["ranks"] * row["run_seconds"]))


def run_all(with_: Ready, runs: Iterable[AnyRun]) -> Iterator[tuple[AnyRun, Row | TautoError]]:
    """Each run with its row, in order, spread over what jobs are spread over.

    A run that SMPI refuses gives its TautoError: not every algorithm takes every number of ranks.
    """
    wanted = list(runs)
    come: dict[int, str] = {}
    unread = 0
    for number, answer in spread.answers(work.SMPI, [_job(with_, asked) for asked in wanted]):
        come[number] = answer
        while unread in come:
            yield wanted[unread], _outcome(come.pop(unread))
            unread += 1


# -- as a kind of jobs --

TOGETHER = False


class _Job(msgspec.Struct, frozen=True):
    """A run on a machine, whose file has these tables."""

    tables: dict[str, Any]
    costs: Mapping[str, float] | None
    program: str
    run: Simulated | SimulatedOperation

    @property
    def ready(self) -> Ready:
        return ready(machine_of(self.tables), self.costs, self.program)


class _Answer(msgspec.Struct, frozen=True):
    row: dict[str, Any] | None = None
    refused: tuple[str, str] | None = None


def _job(with_: Ready, asked: Simulated | SimulatedOperation) -> str:
    tables = dict(with_.machine.written)
    job = {"tables": tables, "costs": with_.costs, "program": with_.program.name, "run": asdict(asked)}
    return msgspec.json.encode(job, order="sorted").decode()


def _outcome(answer: str) -> Row | TautoError:
    found = msgspec.json.decode(answer, type=_Answer)
    return TautoError(*found.refused) if found.refused is not None else cast(Row, found.row)


def files() -> list[Path]:
    """The launcher, the runners that are here, and what makes their platform and reads their rows."""
    smpirun = ready_launcher()
    programs = [folder / name for folder in runners.folders() for name in (NBODY, COLLECTIVE)]
    own = [Path(__file__), Path(platform.__file__)]
    return [Path(smpirun), *(path for path in programs if path.is_file()), *own]


def do(asked: Sequence[str], stopped: Callable[[], bool]) -> Iterator[str]:
    for text in asked:
        if stopped():
            return
        job = _job_in(text)
        try:
            answer = _Answer(row=cast(dict[str, Any], run(job.ready, job.run)))
        except TautoError as refused:
            answer = _Answer(refused=(refused.message, refused.remedy))
        yield msgspec.json.encode(answer).decode()


def _job_in(text: str) -> _Job:
    plain = json.loads(text)
    kind: type[Simulated | SimulatedOperation]
    kind = SimulatedOperation if "operation" in plain["run"] else Simulated
    return _Job(plain["tables"], plain["costs"], plain["program"], msgspec.convert(plain["run"], kind))


def all_reduces(
    machine: Machine, selectors: Iterable[str], ranks: int, words: tuple[int, ...]
) -> dict[str, dict[int, float]]:
    """Library → words → seconds. Raises TautoError if SMPI is missing or refuses a run."""
    runs = [SimulatedOperation(selector, "all_reduce", ranks, words) for selector in selectors]
    times: dict[str, dict[int, float]] = {}
    for asked, outcome in run_all(ready(machine, program=COLLECTIVE), runs):
        if isinstance(outcome, TautoError):
            raise outcome
        times[asked.selector] = {point["words"]: point["seconds"] for point in outcome["points"]}
    return times
