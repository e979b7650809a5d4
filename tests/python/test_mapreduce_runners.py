"""The mapreduce runners as a user meets them: one process, one row, the right sum, all workers in place."""

from __future__ import annotations

import json
from collections import defaultdict
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from runner_processes import CPUS, Runners, cpu_list, needs_runners, preloading, two_cpus

pytestmark = needs_runners

SCHEDULES: dict[str, list[str]] = {
    "serial": ["serial"],
    "qt": ["unordered", "ordered"],
    "tbb": ["auto", "simple", "static", "deterministic"],
    "openmp": ["dynamic", "static", "guided", "tasks"],
    "stdpar": ["par"],
    "async": ["async"],
    "tautochrone": ["adaptive", "static", "dynamic", "guided", "unordered"],
}
RUNNERS = Runners("mapreduce", always_built=("serial", "async", "tautochrone"))
MAY_DROP = {("tautochrone", "adaptive"), ("tautochrone", "unordered")}
ALL = [(runtime, schedule) for runtime, schedules in SCHEDULES.items() for schedule in schedules]
PARALLEL = [runtime for runtime in SCHEDULES if runtime != "serial"]
# Tasks of about 50 microseconds: long enough for every thread to get some, short enough for a test.
SMALL = ("--tasks", 20, "--bytes", 40_000)
SMALL_SUM = "4190f1814e728eef"  # of 20 parts of the first numbers of mt19937_64, worked out in Python


@two_cpus
@pytest.mark.parametrize(("runtime", "schedule"), ALL)
def test_row_is_complete_and_its_sum_right(runtime: str, schedule: str) -> None:
    cpus = CPUS[:1] if runtime == "serial" else CPUS[:2]
    done = RUNNERS.quick(runtime, *SMALL, "--schedule", schedule, "--cpus", cpu_list(cpus))
    assert (done.code, done.err) == (0, "")
    row = done.row
    assert row["schema"] == "tautochrone.runner/1"
    assert (row["runtime"], row["schedule"], row["tasks"], row["bytes"]) == (runtime, schedule, 20, 40_000)
    assert (row["threads"], row["cpus"], row["wait"]) == (len(cpus), cpus, "default")
    assert 0 < row["seconds"] < 0.5
    assert min(row["batch_seconds"]) <= row["seconds"] <= max(row["batch_seconds"])
    assert row["ideal_seconds"] == pytest.approx(20 / len(cpus) * row["task_seconds"])
    assert row["useful_seconds"] > 0
    assert 0 <= row["waiting_share"] < 1
    # The kernel counts in ticks of up to 10 ms, and the timed part is no longer here.
    assert 0 <= row["cpu_load"] < 3
    assert row["voluntary_switches"] >= 0
    assert row["involuntary_switches"] >= 0
    check = row["check"]
    assert check == {
        "passed": True,
        "wrong_repetitions": 0,
        "sum": SMALL_SUM,
        "right_sum": SMALL_SUM,
    }
    assert set(done.worker_cpus) <= set(cpus)
    assert sum(worker["tasks"] for worker in row["workers"]) == 20 * row["accounted_repetitions"]
    useful = sum(worker["useful_seconds"] for worker in row["workers"])
    assert useful == pytest.approx(row["useful_seconds"] * row["accounted_repetitions"])
    if (runtime, schedule) not in MAY_DROP:
        assert done.worker_cpus == cpus
        assert (row["width"], row["dropped"]) == (len(cpus), False)


@two_cpus
@pytest.mark.parametrize("schedule", SCHEDULES["openmp"])
def test_preloaded_libomp_has_a_worker_on_each_cpu(schedule: str) -> None:
    done = RUNNERS.quick("openmp", *SMALL, "--schedule", schedule, environment=preloading("libomp"))
    assert done.code == 0, done.err
    assert done.row["library"] == "libomp"
    assert done.row["check"]["sum"] == SMALL_SUM
    assert done.worker_cpus == CPUS


@two_cpus
@pytest.mark.parametrize("library", ["libgomp", "libomp"])
def test_settings_from_outside_cost_no_worker(library: str) -> None:
    trap = {"OMP_PROC_BIND": "true", "OMP_NUM_THREADS": "1", "OMP_SCHEDULE": "static,1000"}
    done = RUNNERS.quick("openmp", *SMALL, environment={**trap, **preloading(library)})
    assert done.code == 0, done.err
    assert done.worker_cpus == CPUS


@two_cpus
@pytest.mark.parametrize("runtime", PARALLEL)
def test_one_worker_runs_on_the_cpu_asked_for(runtime: str) -> None:
    done = RUNNERS.quick(runtime, *SMALL, "--cpus", CPUS[1])
    assert done.code == 0, done.err
    assert done.worker_cpus == [CPUS[1]]
    assert done.row["ideal_seconds"] == pytest.approx(20 * done.row["task_seconds"])


@two_cpus
@pytest.mark.parametrize("runtime", PARALLEL)
def test_more_threads_than_cpus_share_them(runtime: str) -> None:
    done = RUNNERS.quick(runtime, *SMALL, "--threads", 4, "--cpus", cpu_list(CPUS[:2]))
    assert done.code == 0, done.err
    assert done.row["threads"] == 4
    assert done.row["ideal_seconds"] == pytest.approx(10 * done.row["task_seconds"])
    assert set(done.worker_cpus) <= set(CPUS[:2])


@two_cpus
@pytest.mark.parametrize("runtime", PARALLEL)
def test_fewer_tasks_than_threads_need_no_more_workers(runtime: str) -> None:
    done = RUNNERS.quick(runtime, "--tasks", 1, "--bytes", 1000, "--cpus", cpu_list(CPUS[:2]))
    assert done.code == 0, done.err
    assert done.row["check"]["passed"] is True


@pytest.mark.parametrize("runtime", list(SCHEDULES))
def test_describe_tells_what_the_runtime_has(runtime: str) -> None:
    done = RUNNERS.start(runtime, "--describe")
    assert (done.code, done.err) == (0, "")
    assert done.row["runtime"] == runtime
    assert done.row["schedules"] == SCHEDULES[runtime]
    assert done.row["wait_policies"][0] == "default"
    if runtime != "serial":
        assert done.row["library"]
        assert done.row["version"]


def slices_by_thread(trace: dict[str, Any]) -> dict[int, list[dict[str, Any]]]:
    tracks: dict[int, list[dict[str, Any]]] = defaultdict(list)
    for event in trace["traceEvents"]:
        if event["ph"] == "X":
            tracks[event["tid"]].append(event)
    return {thread: sorted(slices, key=lambda one: float(one["ts"])) for thread, slices in tracks.items()}


@two_cpus
@pytest.mark.parametrize("runtime", list(SCHEDULES))
def test_trace_has_every_task_of_the_last_repetitions_once(runtime: str, tmp_path: Path) -> None:
    file = tmp_path / "trace.json"
    done = RUNNERS.quick(runtime, *SMALL, "--trace", file)
    assert done.code == 0, done.err
    tracks = slices_by_thread(json.loads(file.read_text(encoding="utf-8")))
    assert set(tracks) >= {worker["thread"] for worker in done.row["workers"]}
    counts: dict[str, int] = defaultdict(int)
    for slices in tracks.values():
        for before, after in pairwise(slices):
            assert before["ts"] + before["dur"] <= after["ts"] + 0.01
        for one in slices:
            assert one["dur"] >= 0
            counts[one["name"]] += 1
    if runtime != "serial":
        assert counts.pop("waiting") > 0
    counts.pop("waiting", None)
    assert counts == {f"task {number}": 10 for number in range(20)}


def test_unwritable_trace_file_is_refused(tmp_path: Path) -> None:
    done = RUNNERS.quick("serial", *SMALL, "--trace", tmp_path / "missing" / "trace.json")
    assert done.code == 2
    assert "cannot write the trace" in done.err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--tasks", "0"], "--tasks is 0; it must be 1 or more"),
        (["--tasks", "2147483648"], "it must be 2147483647 or less"),
        (["--bytes", "0"], "--bytes is 0; it must be 1 or more"),
        (["--bytes", "many"], "many"),
        (["--schedule", "magic"], "async has no schedule 'magic'; it has async"),
        (["--chunk", "2"], "takes no --chunk"),
        (["--wait", "active"], "it has default"),
        (["--cpus", "8000"], "CPU 8000 does not exist or is not allowed"),
        (["--trace-loops", "x"], "--trace-loops"),
    ],
)
def test_bad_input_is_refused_with_one_clear_line(arguments: list[str], message: str) -> None:
    done = RUNNERS.start("async", *arguments)
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith("tauto-mapreduce-async: error: ")
    assert message in done.err
    assert done.err.count("\n") == 1


@pytest.mark.parametrize(("tasks", "size"), [(1, 1), (3, 7), (3, 4_000_001), (1, 16_000_001)])
def test_smallest_and_wrapping_tasks_are_right(tasks: int, size: int) -> None:
    expected = RUNNERS.quick("serial", "--tasks", tasks, "--bytes", size, "--max-iterations", 1).row
    done = RUNNERS.quick("tautochrone", "--tasks", tasks, "--bytes", size, "--max-iterations", 1)
    assert done.code == 0, done.err
    assert done.row["check"]["sum"] == expected["check"]["sum"]
