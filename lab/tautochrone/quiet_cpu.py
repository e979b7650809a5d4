"""A CPU for a thread that only watches: one that what it watches may not use, where there is such a one."""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import suppress


def quiet_cpu(measured: Iterable[int]) -> int | None:
    """The last CPU that this process may use and the measured program may not; None where there is none."""
    busy = set(measured)
    return max(os.sched_getaffinity(0) - busy, default=None) if busy else None


def leave_cpus_of(pid: int) -> int | None:
    """Move the calling thread off the CPUs that a process may use; returns where to, None if it stays."""
    with suppress(OSError):
        cpu = quiet_cpu(os.sched_getaffinity(pid))
        if cpu is not None:
            os.sched_setaffinity(0, {cpu})  # of this thread alone
        return cpu
    return None
