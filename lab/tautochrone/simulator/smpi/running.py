"""Runs of the MPI runners under smpirun, and the energy of their ranks."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise
from math import ceil
from pathlib import Path
from typing import Any, Protocol, TypeVar

from tautochrone import runners
from tautochrone.errors import TautoError
from tautochrone.simulator.engine import Row
from tautochrone.simulator.machines import Machine
from tautochrone.simulator.resolving import resolved
from tautochrone.simulator.smpi import platform

SELECTORS = ("ompi", "mpich", "mvapich2", "impi")
NBODY = "tauto-nbody-smpi.so"
COLLECTIVE = "tauto-collective-smpi.so"
MOST_RANKS = 4096
PARTICLES = 2048
MOST_PARTICLES = 65_536
SERIAL = "serial"


class Asked(Protocol):
    """One run of a runner."""

    @property
    def selector(self) -> str:
        """The library whose collectives are used."""

    @property
    def ranks(self) -> int:
        """How many."""

    @property
    def label(self) -> str:
        """As in charts, without the ranks."""

    def options(self, costs: Mapping[str, float]) -> list[str]:
        """The runner's, without ``--threads``; ``costs``: seconds of each part of the work."""


@dataclass(frozen=True, slots=True)
class Simulated:
    """Of the nbody runner: ``blocks`` blocks of a Plummer sphere of ``particles``."""

    selector: str
    scheme: str
    ranks: int
    particles: int = PARTICLES
    blocks: int = 40
    seed: int = 1

    @property
    def label(self) -> str:
        """``ompi i``."""
        return SERIAL if self.scheme == SERIAL else f"{self.selector} {self.scheme}"

    def options(self, costs: Mapping[str, float]) -> list[str]:
        """As in ``Asked``."""
        words = ["--particles", str(self.particles), "--blocks", str(self.blocks)]
        words += ["--scheme", self.scheme, "--seed", str(self.seed), "--warmup-seconds", "0"]
        return [*words, "--costs", ",".join(f"{name}={value:.17g}" for name, value in costs.items())]


@dataclass(frozen=True, slots=True)
class SimulatedOperation:
    """Of the collective runner: one operation at several lengths."""

    selector: str
    operation: str
    ranks: int
    words: tuple[int, ...]

    @property
    def label(self) -> str:
        """``ompi all_reduce``."""
        return f"{self.selector} {self.operation}"

    def options(self, costs: Mapping[str, float]) -> list[str]:
        """As in ``Asked``; the order of the lengths is always the same one.

        Each length is called once before it is timed: libraries make their communicators at the first call.
        """
        words = ["--operations", self.operation, "--lengths", ",".join(map(str, self.words))]
        words += ["--sweeps", "1", "--seed", "1", "--warmup-seconds", "1e-9"]
        return [*words, "--word-seconds", f"{costs.get('word_seconds', 0.0):.17g}"]


One = TypeVar("One", bound=Asked)


@dataclass(frozen=True, slots=True)
class Ready:
    """SMPI as it was found, and the machine that it simulates.

    ``costs``: seconds of each part of a block, in place of the machine file's.
    """

    smpirun: str
    program: Path
    machine: Machine
    costs: Mapping[str, float] | None = None


def ready(machine: Machine, costs: Mapping[str, float] | None = None, program: str = NBODY) -> Ready:
    """Raises TautoError where SMPI or the runner is missing."""
    smpirun = shutil.which("smpirun")
    if smpirun is None:
        raise TautoError(
            "smpirun was not found, which runs MPI programs on simulated machines",
            "Install libsimgrid-dev and build again (make)",
        )
    for folder in runners.folders():
        if (folder / program).is_file():
            return Ready(smpirun, (folder / program).resolve(), machine, costs)
    searched = " and ".join(str(folder) for folder in runners.folders())
    raise TautoError(
        f"the runner {program} was not found in {searched}",
        "It is built where libsimgrid-dev is installed: build again (make)",
    )


def nodes_for(machine: Machine, ranks: int) -> int:
    """So many, one rank a core."""
    return ceil(ranks / platform.cores_of(machine))


def run(with_: Ready, asked: Asked) -> Row:
    """The runner's row, with ``energy`` where it says how long its ranks worked.

    Raises TautoError with what was refused.
    """
    nodes = nodes_for(with_.machine, asked.ranks)
    messages = platform.messages_of(with_.machine)
    network = platform.network_of(with_.machine) if nodes > 1 else None
    clusters = platform.clusters_of(with_.machine, nodes)
    hosts = [host for one in clusters for host in one.hosts()][: asked.ranks]
    costs = with_.costs
    if costs is None:
        costs = platform.costs(with_.machine, min(asked.ranks, _first_cores(with_.machine)))
    try:
        with tempfile.TemporaryDirectory(prefix="tauto-smpi-") as folder:
            there = Path(folder)
            (there / "platform.xml").write_text(
                platform.platform(clusters, messages, network), encoding="utf-8"
            )
            (there / "hosts").write_text("\n".join(hosts) + "\n", encoding="utf-8")
            finished = subprocess.run(
                [
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
                ],
                cwd=there,
                capture_output=True,
                text=True,
                check=False,
                env={**os.environ, "LC_ALL": "C"},
            )
    except OSError as error:
        raise TautoError(
            f"SMPI cannot be run from {tempfile.gettempdir()}: {error.strerror or error}",
            "Make room there, or set TMPDIR to another folder",
        ) from error
    if finished.returncode != 0:
        raise _refusal(finished, asked, with_.program.stem)
    printed = [line for line in finished.stdout.splitlines() if line.startswith("{")]
    if not printed:
        raise TautoError(
            f"SMPI ended {asked.ranks} ranks without a result",
            "SimGrid's algorithm may not take so many: ask for another number of --ranks",
        )
    row: Row = json.loads(printed[0])
    row["library"] = asked.selector
    row["nodes"] = nodes
    if "working_seconds" in row:
        row["energy"] = energy(row, with_.machine)
    return row


def _ending_with_us() -> list[str]:
    """What lets smpirun end when this process is killed; it ends its ranks then."""
    setpriv = shutil.which("setpriv")
    return [setpriv, "--pdeathsig", "TERM"] if setpriv is not None else []


def _first_cores(machine: Machine) -> int:
    return int(machine["kind"][0]["cores"])


def _refusal(finished: subprocess.CompletedProcess[str], asked: Asked, runner: str) -> TautoError:
    lines = [line for line in finished.stderr.splitlines() if line.strip()]
    said = [line for line in lines if line.startswith(f"{runner}: error: ")]
    if said:
        what, _, remedy = said[0].removeprefix(f"{runner}: error: ").partition("; ")
        return TautoError(f"the simulated ranks refused: {what}", remedy[:1].upper() + remedy[1:])
    last = lines[-1] if lines else f"exit code {finished.returncode}"
    return TautoError(
        f"SMPI ended {asked.ranks} ranks with exit code {finished.returncode}: {last}",
        "SimGrid's algorithm may not take so many: ask for another number of --ranks; for fewer --ranks, "
        "--particles or --words if memory ran out",
    )


def energy(row: Row, machine: Machine) -> dict[str, float]:
    """Joules of the whole run. A rank that waits spins in MPI: it is charged as spinning, never as idle.

    ``waiting_joules`` is what the ranks used while they waited; cores without a rank are idle.
    """
    kinds = resolved(machine)["kinds"]
    power = machine.get("power", {})
    seconds, nodes = float(row["run_seconds"]), int(row["nodes"])
    working = waiting = idle = 0.0
    ranks = iter(row["working_seconds"])
    for cluster in platform.clusters_of(machine, nodes):
        kind = kinds[cluster.kind]
        watts = _active_watts(kind, min(int(row["ranks"]), int(kind["cores"])))
        for _ in range(cluster.cores):
            own = next(ranks, None)
            if own is None:
                idle += seconds * kind.get("idle_watts", 0.0)
                continue
            working += own * watts
            waiting += (seconds - own) * watts * kind.get("spinning_share", 1.0)
    rest = nodes * seconds * (power.get("uncore_active_watts", 0.0) + power.get("platform_watts", 0.0))
    return {
        "joules": working + waiting + idle + rest,
        "working_joules": working,
        "waiting_joules": waiting,
        "idle_joules": idle,
        "rest_joules": rest,
    }


def _active_watts(kind: Mapping[str, Any], active: int) -> float:
    """Of a working core where so many of its kind work; linear between the file's states."""
    clock = platform.clock_of(kind, active)
    states = list(zip(kind["state_hertz"], kind["state_active_watts"], strict=True))
    if clock <= states[0][0]:
        return float(states[0][1] * clock / states[0][0])
    for (low, low_watts), (high, high_watts) in pairwise(states):
        if clock <= high:
            return float(low_watts + (clock - low) / (high - low) * (high_watts - low_watts))
    return float(states[-1][1] * clock / states[-1][0])


def waiting_share(row: Row) -> float:
    """Of the ranks' time."""
    return 1.0 - float(sum(row["working_seconds"]) / (row["ranks"] * row["run_seconds"]))


def run_all(with_: Ready, asked: Iterable[One]) -> Iterator[tuple[One, Row | TautoError]]:
    """All of them, in their order, as many at a time as there are CPUs.

    What SMPI cannot do is an answer: its collectives of a library do not take every number of ranks.
    """
    wanted = list(asked)

    def outcome(one: One) -> Row | TautoError:
        try:
            return run(with_, one)
        except TautoError as refused:
            return refused

    with ThreadPoolExecutor(max_workers=len(os.sched_getaffinity(0))) as pool:
        yield from zip(wanted, pool.map(outcome, wanted), strict=True)


def all_reduces(
    machine: Machine, selectors: Iterable[str], ranks: int, words: tuple[int, ...]
) -> dict[str, dict[int, float]]:
    """Library → words → seconds. Raises TautoError where SMPI is not there or cannot."""
    asked = [SimulatedOperation(one, "all_reduce", ranks, words) for one in selectors]
    found: dict[str, dict[int, float]] = {}
    for one, outcome in run_all(ready(machine, program=COLLECTIVE), asked):
        if isinstance(outcome, TautoError):
            raise outcome
        found[one.selector] = {point["words"]: point["seconds"] for point in outcome["points"]}
    return found
