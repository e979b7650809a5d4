"""Starts runners as a user does: one process, one row."""

from __future__ import annotations

import ctypes.util
import json
import os
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

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


@dataclass(frozen=True)
class Runners:
    """The runners of a study; those of `always_built` need no peer's library."""

    study: str
    always_built: tuple[str, ...]

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
        done = subprocess.run(
            [self.path(runtime), *map(str, arguments)],
            env={**clean, **(environment or {})},
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        return Finished(done.returncode, done.stdout, done.stderr)

    def quick(
        self, runtime: str, *arguments: object, environment: Mapping[str, str] | None = None
    ) -> Finished:
        times = ("--warmup-seconds", 0.01, "--min-seconds", 0.01)
        return self.start(runtime, *times, *arguments, environment=environment)


def preloading(library: str) -> dict[str, str]:
    if library == "libgomp":
        return {}
    if LIBOMP is None:
        pytest.skip("LLVM's libomp is not installed")
    return {"LD_PRELOAD": LIBOMP}


def cpu_list(cpus: Sequence[int]) -> str:
    return ",".join(map(str, cpus))


def children_of(pid: int) -> set[int]:
    """All descendants of a process."""
    found: set[int] = set()
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[1]) == pid:
            child = int(path.parent.name)
            found |= {child} | children_of(child)
    return found
