"""The collective runners as a user meets them: one command, one row, every result right, no process left."""

from __future__ import annotations

import json
import subprocess

import pytest

from processes import cpu_seconds, family_of, is_running, wait_until
from runner_processes import CPUS, FAMILIES, cpu_list, needs_runners, ranks_of, two_cpus

pytestmark = [needs_runners, pytest.mark.timed, pytest.mark.machine]

RUNNERS = FAMILIES["collective"]
MPI = ["openmpi", "mpich"]
ALL = [("threads", "member"), *((mpi, engine) for mpi in MPI for engine in ("native", "member"))]
OPERATIONS = [
    "barrier",
    "broadcast",
    "all_reduce",
    "all_gather",
    "reduce_scatter",
    "reduce_broadcast",
    "gather_broadcast",
]
PARTS = {"all_gather", "reduce_scatter", "gather_broadcast"}


def offered(runtime: str, engine: str) -> list[str]:
    return OPERATIONS if runtime == "threads" or engine == "native" else OPERATIONS[:5]


@two_cpus
@pytest.mark.parametrize(("runtime", "engine"), ALL)
def test_row_has_every_operation_at_every_length(runtime: str, engine: str) -> None:
    operations = offered(runtime, engine)
    words = ("--operations", ",".join(operations), "--lengths", "1,7,512,20001", "--engine", engine)
    done = RUNNERS.start(runtime, *words, "--min-seconds", 0.001, "--cpus", cpu_list(CPUS[:2]))
    assert done.code == 0, done.err
    row = done.row
    assert row["schema"] == "tautochrone.runner/1"
    assert (row["runtime"], row["engine"], row["threads"], row["cpus"]) == (runtime, engine, 2, CPUS[:2])
    assert row["check"] == {"passed": True, "wrong_repetitions": 0}
    assert [worker["cpu"] for worker in row["workers"]] == CPUS[:2]
    assert 0 <= row["clock_seconds"] < 1e-5
    found = {(point["operation"], point["words"]) for point in row["points"]}
    for operation in operations:
        lengths = {0} if operation == "barrier" else {1, 7, 512, 20_001}
        if operation in PARTS:
            lengths = {2, 8, 512, 20_002}
        assert {words for name, words in found if name == operation} == lengths
    for point in row["points"]:
        assert 0 < point["least_seconds"] <= point["lower_quartile_seconds"] <= point["seconds"]
        assert point["seconds"] <= point["upper_quartile_seconds"] <= point["p95_seconds"]
        assert point["repetitions"] + point["late"] >= 21
    times = [point["seconds"] for point in row["points"]]
    assert min(times) <= row["seconds"] <= max(times)


@two_cpus
@pytest.mark.parametrize(("runtime", "engine"), ALL)
def test_more_ranks_than_cpus_share_them(runtime: str, engine: str) -> None:
    # Few calls: MPICH's ranks spin without giving way, and each call then costs time slices.
    words = ("--lengths", "100", "--engine", engine, "--threads", 3, "--max-iterations", 2, "--sweeps", 1)
    done = RUNNERS.start(runtime, *words, "--cpus", cpu_list(CPUS[:2]), "--warmup-seconds", 0)
    assert done.code == 0, done.err
    assert done.row["threads"] == 3
    assert [worker["cpu"] for worker in done.row["workers"]] == [CPUS[0], CPUS[1], CPUS[0]]
    assert {(point["operation"], point["words"]) for point in done.row["points"]} == {
        ("all_reduce", 100),
        ("all_gather", 102),
    }


@pytest.mark.parametrize("mpi", MPI)
def test_fold_over_messages_has_no_pairs(mpi: str) -> None:
    done = RUNNERS.start(mpi, "--engine", "member", "--operations", "reduce_broadcast")
    assert done.code == 2
    assert "engine 'member' has no reduce_broadcast" in done.err


@pytest.mark.parametrize("mpi", MPI)
def test_missing_launcher_is_named_with_a_remedy(mpi: str) -> None:
    done = RUNNERS.start(mpi, environment={"TAUTO_MPIEXEC": "no-such-launcher"})
    assert done.code == 2
    assert "could not start the launcher no-such-launcher" in done.err
    assert "TAUTO_MPIEXEC" in done.err


@two_cpus
@pytest.mark.parametrize("mpi", MPI)
def test_killed_launcher_leaves_no_rank_behind(mpi: str) -> None:
    runner = RUNNERS.path(mpi)
    words = ["--threads", "2", "--lengths", "65536", "--min-seconds", "60", "--sweeps", "1000"]
    process = subprocess.Popen([runner, *words], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def both_work() -> bool:
        ranks = ranks_of(process, runner)
        # More CPU time than starting MPI takes.
        return len(ranks) == 2 and all(cpu_seconds(rank) > 0.5 for rank in ranks)

    try:
        wait_until(both_work, "two ranks at work")
        family = family_of(process.pid)
        process.kill()
        process.wait()
        wait_until(lambda: not any(map(is_running, family)), "the end of ranks without their launcher")
    finally:
        process.kill()
        process.wait()


@two_cpus
def test_seed_decides_the_order() -> None:
    words = ("--lengths", "1,8,64", "--seed", 5, "--min-seconds", 0.001)
    assert RUNNERS.start("threads", *words).row["seed"] == 5
    assert json.loads(RUNNERS.start("threads", "--lengths", "1", "--max-iterations", 3).out)["seed"] >= 0
