"""What a loop or a set of tasks could reach at best, from the speeds of its cores.

Notation: W is the work of one loop iteration of the study, s_i the speed of core i for *this* loop (work per
second, measured with core i working alone), T_i = W / s_i its time alone. P fast and E slow cores. Times are
seconds, bandwidths bytes per second. Every function is O(number of cores) and raises ``ValueError`` for a
time, speed or count that is not positive: a missing measurement has to be caught before, never passed as 0.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Mapping, Sequence
from typing import Any

_BEYOND_MEASURED = 10.0


def _positive(**values: float) -> None:
    for name, value in values.items():
        if not (math.isfinite(value) and value > 0):
            raise ValueError(f"{name} must be a positive number, got {value!r}")


def bound_seconds(fast_seconds: float, slow_seconds: float) -> float:
    """T* = T_P T_E / (T_P + T_E): the fast and the slow cores work side by side and finish together.

    ``fast_seconds`` (T_P) and ``slow_seconds`` (T_E) are the times of the whole loop on the fast cores alone
    and on the slow cores alone. Their rates add: 1/T* = 1/T_P + 1/T_E. Source: the published study of loops
    on hybrid CPUs, claim H4.
    """
    _positive(fast_seconds=fast_seconds, slow_seconds=slow_seconds)
    return fast_seconds * slow_seconds / (fast_seconds + slow_seconds)


def ideal_seconds_from_times_alone(seconds_alone: Sequence[float]) -> float:
    """1 / Σ (1/T_i): no core ever waits and nothing is lost to the schedule."""
    _check_times(seconds_alone)
    return 1.0 / math.fsum(1.0 / seconds for seconds in seconds_alone)


def equal_split_threshold(fast_count: int, slow_count: int) -> float:
    """1 + E/P: the ratio s_P/s_E above which equal ranges over all cores lose to the fast cores alone.

    From (W/(P+E))/s_E > W/(P s_P). For 8 fast and 16 slow cores it is 3, for 6 and 8 it is 2.33 (claim H11).
    """
    _positive(fast_count=fast_count, slow_count=slow_count)
    return 1.0 + slow_count / fast_count


def slow_cores_worth_one_fast(
    fast_seconds: float, slow_seconds: float, fast_count: int, slow_count: int
) -> float:
    """s_P/s_E per core, from the times of both groups alone: (T_E E) / (T_P P) (claim H10)."""
    _positive(
        fast_seconds=fast_seconds, slow_seconds=slow_seconds, fast_count=fast_count, slow_count=slow_count
    )
    return slow_seconds * slow_count / (fast_seconds * fast_count)


def whole_tasks_seconds(tasks: int, seconds_alone: Sequence[float]) -> float:
    """The least time for ``tasks`` equal tasks that cannot be divided, from each core's time for one.

    On p equal cores it is ceil(tasks / p) times one task: the steps at 17 and 25 threads of 50 tasks (claim
    M1). In general core i ends its k-th task at k times its T_i at the earliest, so the answer is the
    tasks-th smallest of all these moments. O(tasks log cores).
    """
    return _whole_tasks(tasks, seconds_alone)[0]


def whole_tasks_idle_seconds(tasks: int, seconds_alone: Sequence[float]) -> float:
    """Core-seconds without a task in the time of `whole_tasks_seconds`: the law's part of all waiting."""
    last, busy = _whole_tasks(tasks, seconds_alone)
    return len(seconds_alone) * last - busy


def _whole_tasks(tasks: int, seconds_alone: Sequence[float]) -> tuple[float, float]:
    """When the last task ends, and the seconds of all tasks on the cores that take them."""
    _positive(tasks=tasks)
    _check_times(seconds_alone)
    ends = [(seconds, seconds) for seconds in seconds_alone]  # when each core would end its next task
    heapq.heapify(ends)
    last = busy = 0.0
    for _ in range(tasks):
        last, step = ends[0]
        busy += step
        heapq.heapreplace(ends, (last + step, step))
    return last, busy


def bytes_per_second(bytes_per_iteration: float, seconds: float) -> float:
    """The memory traffic of a loop that must read ``bytes_per_iteration`` in each iteration."""
    _positive(bytes_per_iteration=bytes_per_iteration, seconds=seconds)
    return bytes_per_iteration / seconds


def triad_share(bytes_per_iteration: float, seconds: float, triad_bytes_per_second: float) -> float:
    """The loop's traffic as a part of what a triad gets out of the memory with the same number of members.

    Near 1 the memory rules and no schedule helps; above 1 the data come from a cache, which the triad avoids.
    """
    _positive(triad_bytes_per_second=triad_bytes_per_second)
    return bytes_per_second(bytes_per_iteration, seconds) / triad_bytes_per_second


def _check_times(seconds_alone: Sequence[float]) -> None:
    if not seconds_alone:
        raise ValueError("seconds_alone must name at least one core")
    for seconds in seconds_alone:
        _positive(seconds_alone=seconds)


def least_seconds(work: float, machine: Mapping[str, Any], rate: str, cpus: int) -> float:
    """Less than this no machine like `machine` takes for so many bytes or operations on so many of its CPUs.

    Ten times the highest `rate` that was measured of a CPU: nearer caches are faster, and clocks rise. 0
    where it was not measured.
    """
    measured = machine.get("measured") or {}
    rates = [cpu.get(rate) or 0.0 for cpu in measured.get("cpus") or ()]
    fastest = max(rates, default=0.0)
    return work / (_BEYOND_MEASURED * fastest * max(cpus, 1)) if fastest else 0.0
