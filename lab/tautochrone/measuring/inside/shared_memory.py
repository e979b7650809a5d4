"""What libraries leave in shared memory when their process is killed: files that nobody ever removes.

Only names that libomp, Open MPI and MPICH make are removed, and only those of processes of the killed run.
Like the starter it imports next to nothing.
"""

from __future__ import annotations

import os
from contextlib import suppress

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

FOLDER = "/dev/shm"
_LIBOMP = "__KMP_REGISTERED_LIB_"  # and the number of the process; it is not mapped
_MAPPED = ("vader_segment.", "sm_segment.", "mpich_shar_tmp", "mpich_shm")


def files_of(pids: Iterable[int]) -> set[str]:
    """The paths of such files that these processes have made or mapped. They must not have ended."""
    paths = set()
    for pid in pids:
        paths |= {f"{FOLDER}/{name}" for name in _names() if name.startswith(f"{_LIBOMP}{pid}_")}
        with suppress(OSError), open(f"/proc/{pid}/maps", errors="replace") as file:  # noqa: PTH123
            for line in file:
                path = line[line.find("/") :].rstrip("\n") if "/" in line else ""
                if path.startswith(tuple(f"{FOLDER}/{name}" for name in _MAPPED)):
                    paths.add(path)
    return paths


def remove(paths: Iterable[str]) -> None:
    """Remove those that are still there."""
    for path in paths:
        with suppress(OSError):
            os.unlink(path)  # noqa: PTH108


def _names() -> list[str]:
    with suppress(OSError):
        return os.listdir(FOLDER)  # noqa: PTH208
    return []
