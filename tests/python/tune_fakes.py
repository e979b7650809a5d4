"""What the tests of tune share: machines, findings, recorded spaces and a store that is in memory."""

from __future__ import annotations

import io
import os
import shlex
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from processes import run_to_end
from recorded_space import RecordedSpace
from tautochrone.energy.find import Found
from tautochrone.energy.meter import Unavailable
from tautochrone.inspection.findings import Findings, RuntimeFound, Schedules
from tautochrone.machine import runners
from tautochrone.machine.record import Availability, Cpu, Kind, Machine, Measured, MeasuredCpu
from tautochrone.measuring.clock import VirtualClock
from tautochrone.measuring.executor import Executor
from tautochrone.measuring.plan import Plan
from tautochrone.measuring.progress import SilentProgress
from tautochrone.results.row import STORE_SCHEMA
from tautochrone.results.store import Store
from tautochrone.tune.answer import TuneAnalysis
from tautochrone.tune.options import TuneRequest
from tautochrone.tune.search import Decision, Limits, Setup, search
from tautochrone.tune.services import Services
from tautochrone.tune.tuning import run_tune

PROGRAMS = Path(__file__).parent / "programs"


def machine(
    speeds: Sequence[float] = (1.0, 1.0), *, threads_per_core: int = 1, measured: bool = True
) -> Machine:
    """A machine with a CPU for each speed; slower than the first by a fifth: an E core."""
    kinds = {"P": [], "E": []} if min(speeds) < 0.8 * speeds[0] else {"core": []}
    cpus = []
    for number, speed in enumerate(speeds):
        kind = "core" if "core" in kinds else "P" if speed > 0.8 * speeds[0] else "E"
        kinds[kind].append(number)
        cpus.append(Cpu(cpu=number, core=number // threads_per_core, package=0, numa=0, kind=kind))
    found = [MeasuredCpu(cpu=number, compute_per_second=1e9 * speed) for number, speed in enumerate(speeds)]
    return Machine(
        machine="0123456789ab",
        name="a test",
        cpu_model="a test",
        architecture="x86_64",
        kernel="6.0",
        cpus=tuple(cpus),
        kinds=tuple(
            Kind(kind=kind, cpus=tuple(own), hardware_threads_per_core=threads_per_core)
            for kind, own in kinds.items()
        ),
        allowed_cpus=tuple(range(len(speeds))),
        usable_members=len(speeds),
        memory_bytes=1 << 33,
        available_memory_bytes=1 << 32,
        counters=Availability(status="unavailable"),
        energy=Availability(status="unavailable"),
        measured=Measured(when="2026-01-01T00:00:00Z", cpus=tuple(found)) if measured else None,
    )


def here() -> Machine:
    """Equal CPUs, those that this process may use."""
    return machine([1.0] * (max(os.sched_getaffinity(0)) + 1))


def findings(
    *runtimes: str,
    asks: bool | None = False,
    static: bool | None = True,
    mpi: str | None = None,
    cpus: int = 2,
    command: tuple[str, ...] = ("./program",),
    threads: int | None = None,
    memory: int | None = None,
) -> Findings:
    """A program with these runtimes."""
    return Findings(
        command=command,
        programs=("/bin/program",),
        through=(),
        is_script=False,
        mpi_launcher=mpi,
        linked_statically=False,
        runtimes=tuple(
            RuntimeFound(name=name, title=name, how="linked", file=f"/lib/{name}.so", sets="")
            for name in runtimes
        ),
        schedules=Schedules(asks_environment=asks, has_static_loops=static, evidence="a test"),
        was_run=False,
        most_threads=threads,
        peak_memory_bytes=memory,
        cores=cpus,
        cpus=tuple(range(cpus)),
        kinds=(("core", tuple(range(cpus))),),
        usable_members=cpus,
        quota_cpus=None,
        notes=(),
    )


class _Memory:
    """The writer of a store that is never written."""

    def __init__(self, records: dict[int, dict[str, Any]]) -> None:
        self._records = records

    def append(self, record: Mapping[str, Any]) -> None:
        self._records[len(self._records) + 1] = dict(record)

    def close(self) -> None:
        pass


def memory_store() -> Store:
    """A store without a file: a thousand searches need no disk."""
    records: dict[int, dict[str, Any]] = {1: {"schema": STORE_SCHEMA, "study": "tune"}}
    return Store(Path("memory"), records, _Memory(records), ())  # type: ignore[arg-type]


def searched(
    space: RecordedSpace, executor: Executor, clock: VirtualClock, seed: int, limits: Limits
) -> Decision:
    """One search over a space."""
    setup = Setup(
        plan=Plan("tune", space.configurations(), 1, seed=seed),
        store=memory_store(),
        executor=executor,
        clock=clock,
        progress=SilentProgress(),
        limits=limits,
    )
    return search(setup)


def holding(mebibytes: int, folder: Path, how_many: int) -> str:
    """A command that holds memory until so many of them do."""
    return shlex.join([sys.executable, str(PROGRAMS / "hold.py"), str(mebibytes), str(folder), str(how_many)])


# Returns once a program that goes on in the background has its own name.
DAEMON = 'setsid sleep 30 & until [ "$(cat /proc/$!/comm)" = sleep ]; do :; done'


def tune_by_runs(request: TuneRequest, services: Services, runs: int) -> TuneAnalysis:
    """What a search finds in so many runs of a real program: a busy machine makes it no shorter."""

    def limits(seconds: float, **others: Any) -> Limits:
        return Limits(None, runs=runs, **others)

    with patch("tautochrone.tune.tuning.Limits", limits):
        return run_tune(replace(request, budget_seconds=3600.0), services)


def real_services(**changes: Any) -> Services:
    """Services that run real programs on a machine like this one, and say nothing; `changes` go over them."""
    usual: dict[str, Any] = {
        "machine": lambda measure: here(),
        # Idle power would take longer than these budgets.
        "meter": lambda: Found(None, Unavailable("a test")),
        "output": io.StringIO(),
        "messages": io.StringIO(),
    }
    return Services(**(usual | changes))


def compiled(source: str, folder: Path, *options: str, compiler: str = "gcc") -> Path:
    """A program of tests/python/programs; the test is skipped where it cannot be built."""
    program = folder / f"{Path(source).stem}-{compiler}"
    words = [compiler, "-O1", *options, str(PROGRAMS / source), "-o", str(program)]
    try:
        done = run_to_end(words)
    except FileNotFoundError:
        pytest.skip(f"{compiler} is not here")
    if done.returncode != 0:
        pytest.skip(f"{compiler} cannot build it: {done.stderr.splitlines()[-1]}")
    return program


def compiled_with_libomp(source: str, folder: Path) -> Path:
    """The same by clang, with LLVM's OpenMP."""
    libomp = runners.find_libomp()
    if libomp is None:
        pytest.skip("LLVM's OpenMP runtime is not here (Debian: libomp5)")
    (folder / "libomp.so").symlink_to(libomp)
    return compiled(source, folder, "-fopenmp", f"-L{folder}", compiler="clang")
