"""Starts runners as a user does: one process, one row."""

from __future__ import annotations

import ctypes.util
import json
import os
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from itertools import chain
from pathlib import Path
from typing import Any

import pytest

from processes import family_of, name_of, run_to_end
from tautochrone.studies import study_named

FOLDER = os.environ.get("TAUTO_RUNNERS")
needs_runners = pytest.mark.skipif(FOLDER is None, reason="TAUTO_RUNNERS names no folder of runners")

CPUS = sorted(os.sched_getaffinity(0))
LIBOMP = ctypes.util.find_library("omp")
two_cpus = pytest.mark.skipif(len(CPUS) < 2, reason="needs two CPUs")


@dataclass(frozen=True)
class Finished:
    code: int
    out: str
    err: str

    @property
    def row(self) -> dict[str, Any]:
        lines = self.out.splitlines()
        assert len(lines) == 1, self
        parsed: dict[str, Any] = json.loads(lines[0])
        return parsed

    @property
    def worker_cpus(self) -> list[int]:
        return sorted(worker["cpu"] for worker in self.row["workers"])


def finished(words: Sequence[object], **options: Any) -> Finished:
    done = run_to_end(words, **options)
    return Finished(done.returncode, done.stdout, done.stderr)


@dataclass(frozen=True)
class Runners:
    """The runners of a study; those of `always_built` need no peer's library. `small`: a small work."""

    study: str
    always_built: tuple[str, ...]
    small: tuple[object, ...] = ()

    def path(self, runtime: str) -> Path:
        path = Path(FOLDER or "") / f"tauto-{self.study}-{runtime}"
        if not path.exists() and runtime not in self.always_built:
            pytest.skip(f"{path.name} was not built: its library is missing")
        return path

    def is_built(self, runtime: str) -> bool:
        return (Path(FOLDER or "") / f"tauto-{self.study}-{runtime}").exists()

    def start(
        self, runtime: str, *arguments: object, environment: Mapping[str, str] | None = None
    ) -> Finished:
        """Runs one with nothing of OpenMP's in its environment but what is given."""
        openmp = ("OMP_", "GOMP_", "KMP_")
        clean = {name: value for name, value in os.environ.items() if not name.startswith(openmp)}
        return finished([self.path(runtime), *arguments], env={**clean, **(environment or {})})

    def quick(
        self, runtime: str, *arguments: object, environment: Mapping[str, str] | None = None
    ) -> Finished:
        """A small work for a short time, unless the arguments say otherwise."""
        usual = ("--warmup-seconds", 0.01, "--min-seconds", 0.01, *self.small)
        pairs = [pair for pair in zip(usual[::2], usual[1::2], strict=True) if pair[0] not in arguments]
        return self.start(runtime, *chain(*pairs), *arguments, environment=environment)


FAMILIES = {
    family.study: family
    for family in (
        Runners("loop", ("serial", "openmp", "tautochrone"), ("--size", 300)),
        # Tasks of about half a millisecond: no other program keeps a thread from every task of the ten
        # repetitions that are accounted for.
        Runners("mapreduce", ("serial", "async", "tautochrone"), ("--tasks", 20, "--bytes", 400_000)),
        Runners("power", ("physics", "together")),
        Runners("collective", ("threads",)),
        Runners("nbody", ("serial", "tautochrone")),
    )
}
# Of each runner, as its study's fake has them.
SCHEDULES: dict[tuple[str, str], tuple[str, ...]] = {
    (study, peer.runner.removeprefix(f"tauto-{study}-")): tuple(
        import_module(f"study_{study}_fakes").SCHEDULES[peer.name]
    )
    for study in FAMILIES
    for peer in study_named(study).PEERS
}


def preloading(library: str) -> dict[str, str]:
    if library == "libgomp":
        return {}
    if LIBOMP is None:
        pytest.skip("LLVM's libomp is not installed")
    return {"LD_PRELOAD": LIBOMP}


def cpu_list(cpus: Sequence[int]) -> str:
    return ",".join(map(str, cpus))


def ranks_of(launcher: subprocess.Popen[Any], runner: Path) -> list[int]:
    """The processes below a launcher that run this executable."""
    return [pid for pid in family_of(launcher.pid) if name_of(pid) == runner.name]
