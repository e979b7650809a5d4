"""Other processes as the kernel shows them, waiting for what they do, and turns of those that slow CPUs."""

from __future__ import annotations

import fcntl
import os
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
LAB = ROOT / "lab"


@contextmanager
def slowing_cpus() -> Iterator[None]:
    """A turn: the stages of `make test` run side by side, and CPUs that two slow have no known speed."""
    (ROOT / "build").mkdir(exist_ok=True)
    with (ROOT / "build" / "slowing-cpus").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def with_lab(**variables: str) -> dict[str, str]:
    """This environment, in which any Python finds the laboratory."""
    return {**os.environ, "PYTHONPATH": str(LAB), **variables}


def run_to_end(words: Sequence[object], **options: Any) -> subprocess.CompletedProcess[str]:
    """Run a program and take what it prints; one that hangs is ended."""
    # Ranks of MPICH that share CPUs take a time slice for each message.
    usual: dict[str, Any] = {"capture_output": True, "text": True, "timeout": 240, "check": False}
    return subprocess.run(list(map(str, words)), **(usual | options))


def wait_until(condition: Callable[[], bool], what: str, limit_seconds: float = 60.0) -> None:
    """Return as soon as `condition` is true; fail after a time that no machine is busy for."""
    deadline = time.monotonic() + limit_seconds
    while not condition():
        assert time.monotonic() < deadline, f"{what} did not come about within {limit_seconds:g} s"
        time.sleep(0.01)


def stat_of(pid: int) -> list[str]:
    """The fields of /proc/PID/stat from the state on; of a process that is gone, those of a dead one."""
    try:
        return Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()
    except OSError:
        return ["X"] + 50 * ["0"]


def is_running(pid: int) -> bool:
    return stat_of(pid)[0] not in ("Z", "X")


def cpu_seconds(pid: int) -> float:
    user, system = stat_of(pid)[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


def family_of(pid: int) -> set[int]:
    """All descendants of a process."""
    parents = {int(path.name): int(stat_of(int(path.name))[1]) for path in Path("/proc").glob("[0-9]*")}
    found = {pid}
    while more := {child for child, parent in parents.items() if parent in found} - found:
        found |= more
    return found - {pid}


def name_of(pid: int) -> str:
    """The name of the file that it executes; empty for a process that is gone."""
    try:
        return Path(f"/proc/{pid}/exe").resolve().name
    except OSError:
        return ""
