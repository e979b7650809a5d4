"""The mapreduce runners as a user meets them: one process, one row, the right sum, all workers in place."""

from __future__ import annotations

import json
from collections import defaultdict
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from runner_processes import CPUS, FAMILIES, SCHEDULES, cpu_list, needs_runners, two_cpus

pytestmark = [needs_runners, pytest.mark.timed, pytest.mark.machine]

RUNNERS = FAMILIES["mapreduce"]
RUNTIMES = [runtime for study, runtime in SCHEDULES if study == "mapreduce"]


@two_cpus
@pytest.mark.parametrize("runtime", RUNTIMES[1:])
def test_fewer_tasks_than_threads_need_no_more_workers(runtime: str) -> None:
    done = RUNNERS.quick(runtime, "--tasks", 1, "--bytes", 1000, "--cpus", cpu_list(CPUS[:2]))
    assert done.code == 0, done.err
    assert done.row["check"]["passed"] is True


def slices_by_thread(trace: dict[str, Any]) -> dict[int, list[dict[str, Any]]]:
    tracks: dict[int, list[dict[str, Any]]] = defaultdict(list)
    for event in trace["traceEvents"]:
        if event["ph"] == "X":
            tracks[event["tid"]].append(event)
    return {thread: sorted(slices, key=lambda event: float(event["ts"])) for thread, slices in tracks.items()}


@two_cpus
@pytest.mark.parametrize("runtime", RUNTIMES)
def test_trace_has_every_task_of_the_last_repetitions_once(runtime: str, tmp_path: Path) -> None:
    file = tmp_path / "trace.json"
    done = RUNNERS.quick(runtime, "--trace", file)
    assert done.code == 0, done.err
    tracks = slices_by_thread(json.loads(file.read_text(encoding="utf-8")))
    assert set(tracks) >= {worker["thread"] for worker in done.row["workers"]}
    counts: dict[str, int] = defaultdict(int)
    for slices in tracks.values():
        for before, after in pairwise(slices):
            assert before["ts"] + before["dur"] <= after["ts"] + 0.01
        for task in slices:
            assert task["dur"] >= 0
            counts[task["name"]] += 1
    if runtime != "serial":
        assert counts.pop("waiting") > 0
    counts.pop("waiting", None)
    assert counts == {f"task {number}": 10 for number in range(20)}


@pytest.mark.parametrize(("tasks", "size"), [(1, 1), (3, 7), (3, 4_000_001), (1, 16_000_001)])
def test_smallest_and_wrapping_tasks_are_right(tasks: int, size: int) -> None:
    expected = RUNNERS.quick("serial", "--tasks", tasks, "--bytes", size, "--max-iterations", 1).row
    done = RUNNERS.quick("tautochrone", "--tasks", tasks, "--bytes", size, "--max-iterations", 1)
    assert done.code == 0, done.err
    assert done.row["check"]["sum"] == expected["check"]["sum"]
