"""The loop runners as a user meets them: one process, one row, the right answer, all workers in place."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from runner_processes import CPUS, FAMILIES, SCHEDULES, cpu_list, needs_runners, preloading, two_cpus

pytestmark = [needs_runners, pytest.mark.timed, pytest.mark.machine]

RUNNERS = FAMILIES["loop"]
ALL = [(runtime, way) for (study, runtime), ways in SCHEDULES.items() if study == "loop" for way in ways]


def test_solution_bits_are_those_of_the_serial_run_for_every_schedule() -> None:
    serial = RUNNERS.quick("serial", "--size", 333).row["check"]
    for runtime, schedule in ALL:
        if runtime == "openblas" or not RUNNERS.is_built(runtime):
            continue
        check = RUNNERS.quick(runtime, "--schedule", schedule, "--size", 333).row["check"]
        assert check["solution_fnv1a"] == serial["solution_fnv1a"], (runtime, schedule)
        assert check["solution_iterations"] == serial["solution_iterations"]


@pytest.mark.parametrize("mpi", ["openmpi", "mpich"])
def test_each_process_has_an_equal_part_of_the_rows(mpi: str, tmp_path: Path) -> None:
    file = tmp_path / "trace.json"
    words = ("--size", 10, "--threads", 3, "--cpus", CPUS[0], "--max-iterations", 3, "--trace-loops", file)
    row = RUNNERS.quick(mpi, *words).row
    rows = {worker["thread"]: worker["rows"] for worker in row["workers"]}
    assert [rows[rank] // rows[0] for rank in range(3)] == [1, 1, 1]
    loops = row["waiting"]["loops"]
    assert [rows[rank] / loops for rank in range(3)] == [3, 3, 4]
    assert {len(loop["working_seconds"]) for loop in row["waiting"]["first_loops"]} == {3}
    assert len(json.loads(file.read_text(encoding="utf-8"))) == row["iterations"] + row["warmup_iterations"]
    one = RUNNERS.quick(mpi, "--size", 1, "--threads", 2, "--cpus", CPUS[0], "--max-iterations", 3)
    assert (one.code, one.row["width"]) == (0, 1)  # one row for two processes


@two_cpus
def test_fewer_threads_than_cpus_use_the_first_of_them() -> None:
    done = RUNNERS.quick("openmp", "--threads", 1, "--cpus", cpu_list(CPUS[:2][::-1]))
    assert done.worker_cpus == [CPUS[1]]
    assert done.row["cpus"] == [CPUS[1]]


def test_serial_takes_the_first_cpu_of_the_list() -> None:
    done = RUNNERS.quick("serial", "--cpus", cpu_list(CPUS[::-1]))
    assert done.worker_cpus == [CPUS[-1]]
    assert RUNNERS.quick("serial", "--threads", 2).code == 2


@two_cpus
@pytest.mark.parametrize("library", ["libgomp", "libomp"])
@pytest.mark.parametrize("wait", ["active", "passive"])
def test_openmp_takes_its_wait_policies(library: str, wait: str) -> None:
    done = RUNNERS.quick(
        "openmp", "--wait", wait, "--cpus", cpu_list(CPUS[:2]), environment=preloading(library)
    )
    assert done.code == 0, done.err
    assert (done.row["wait"], done.row["library"]) == (wait, library)
    assert done.worker_cpus == CPUS[:2]


def test_openblas_does_not_run_the_kernels_of_an_old_cpu() -> None:
    flags = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    if " avx2 " not in flags:
        pytest.skip("this CPU has no AVX2")
    modern = {"Haswell", "Zen", "SkylakeX", "Cooperlake", "Sapphirerapids"}
    assert RUNNERS.quick("openblas").row["core_type"] in modern


def test_trace_has_every_product_in_order(tmp_path: Path) -> None:
    file = tmp_path / "trace.json"
    row = RUNNERS.quick("serial", "--trace-loops", str(file)).row
    loops = json.loads(file.read_text(encoding="utf-8"))
    assert len(loops) == row["iterations"] + row["warmup_iterations"]
    ends = [end for end, _ in loops]
    assert ends == sorted(ends)
    assert all(0 < seconds < 1 for _, seconds in loops)
    assert loops[-1][0] - loops[0][0] >= row["timed_seconds"]


def test_given_iterations_are_run_and_judged_by_what_they_can_reach() -> None:
    row = RUNNERS.quick("serial", "--solution-iterations", 2).row
    assert row["check"]["solution_iterations"] == 2
    assert row["check"]["passed"] is True
    assert 5e-5 < row["check"]["relative_residual"] <= row["check"]["tolerance"]


def test_max_iterations_ends_the_timed_part() -> None:
    row = RUNNERS.start("serial", "--size", 300, "--min-seconds", 30, "--max-iterations", 7).row
    assert row["iterations"] == 7


def test_duration_sets_the_length_of_the_timed_part() -> None:
    assert 0.2 <= RUNNERS.quick("serial", "--duration", 0.2).row["timed_seconds"] < 0.4


@pytest.mark.parametrize("size", [1, 2, 3, 17])
@pytest.mark.parametrize("runtime", ["serial", "openmp", "tautochrone"])
def test_smallest_systems_are_solved(runtime: str, size: int) -> None:
    done = RUNNERS.quick(runtime, "--threads", 1, "--size", size)
    assert done.code == 0, done.err
    assert done.row["check"]["passed"] is True
