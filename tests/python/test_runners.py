"""The loop runners as a user meets them: one process, one row, the right answer, all workers in place."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

from runner_processes import (
    CPUS,
    FOLDER,
    Finished,
    Runners,
    cpu_list,
    needs_runners,
    preloading,
    two_cpus,
)

pytestmark = needs_runners

SCHEDULES: dict[str, list[str]] = {
    "serial": ["serial"],
    "openmp": ["pragma", "static", "static_chunk", "dynamic", "guided", "auto"],
    "tbb": ["auto", "simple", "static", "affinity"],
    "stdpar": ["par"],
    "openblas": ["sgemv"],
    "tautochrone": ["adaptive", "static", "static_chunk", "dynamic", "guided", "weighted"],
}
RUNNERS = Runners("loop", always_built=("serial", "openmp", "tautochrone"))
# Who may leave out workers, or whose learned shares may leave one without a row, on purpose.
MAY_DROP = {("tautochrone", "adaptive"), ("tautochrone", "weighted")}


def start(runtime: str, *arguments: object, environment: Mapping[str, str] | None = None) -> Finished:
    return RUNNERS.start(runtime, *arguments, environment=environment)


def quick(
    runtime: str, *arguments: object, size: int = 300, environment: Mapping[str, str] | None = None
) -> Finished:
    return RUNNERS.quick(runtime, "--size", size, *arguments, environment=environment)


ALL = [(runtime, schedule) for runtime, schedules in SCHEDULES.items() for schedule in schedules]


@two_cpus
@pytest.mark.parametrize(("runtime", "schedule"), ALL)
def test_row_is_complete_and_its_answer_right(runtime: str, schedule: str) -> None:
    cpus = CPUS[:1] if runtime == "serial" else CPUS[:2]
    done = quick(runtime, "--schedule", schedule, "--cpus", cpu_list(cpus))
    assert (done.code, done.err) == (0, "")
    row = done.row
    assert row["schema"] == "tautochrone.runner/1"
    assert (row["runtime"], row["schedule"], row["size"]) == (runtime, schedule, 300)
    assert (row["threads"], row["cpus"]) == (len(cpus), cpus)
    assert row["wait"] == "default"
    assert 0 < row["seconds"] < 0.1
    assert 3 <= len(row["batch_seconds"]) <= 64
    assert row["iterations"] >= 3
    assert row["timed_seconds"] >= 0.01
    assert row["mean_seconds"] == pytest.approx(row["timed_seconds"] / row["iterations"])
    assert min(row["batch_seconds"]) <= row["seconds"] <= max(row["batch_seconds"])
    assert row["flops_per_iteration"] == 2 * 300**2 + 10 * 300
    assert row["bytes_per_iteration"] == 4 * (300**2 + 13 * 300)
    check = row["check"]
    assert check["passed"] is True
    assert check["relative_residual"] <= check["tolerance"] <= 5e-5
    if (runtime, schedule) not in MAY_DROP:
        assert done.worker_cpus == cpus
        assert row["width"] == len(cpus)
        assert row["dropped"] is False
    assert set(done.worker_cpus) <= set(cpus)
    assert sum(worker["rows"] for worker in row["workers"]) >= 300 - 8


def test_solution_bits_are_those_of_the_serial_run_for_every_schedule() -> None:
    serial = quick("serial", size=333).row["check"]
    for runtime, schedule in ALL:
        if runtime == "openblas" or not (Path(FOLDER or "") / f"tauto-loop-{runtime}").exists():
            continue
        check = quick(runtime, "--schedule", schedule, size=333).row["check"]
        assert check["solution_fnv1a"] == serial["solution_fnv1a"], (runtime, schedule)
        assert check["solution_iterations"] == serial["solution_iterations"]


@two_cpus
@pytest.mark.parametrize("runtime", [name for name in SCHEDULES if name != "serial"])
def test_one_worker_runs_on_the_cpu_asked_for(runtime: str) -> None:
    for cpu in CPUS[:2]:
        done = quick(runtime, "--cpus", cpu)
        assert done.code == 0, done.err
        assert done.worker_cpus == [cpu]
        assert done.row["threads"] == 1


@two_cpus
@pytest.mark.parametrize("runtime", [name for name in SCHEDULES if name != "serial"])
def test_more_threads_than_cpus_share_them(runtime: str) -> None:
    done = quick(runtime, "--threads", 4, "--cpus", cpu_list(CPUS[:2]), "--max-iterations", 20)
    assert done.code == 0, done.err
    assert done.row["threads"] == 4
    assert set(done.worker_cpus) <= set(CPUS[:2])


@two_cpus
def test_fewer_threads_than_cpus_use_the_first_of_them() -> None:
    done = quick("openmp", "--threads", 1, "--cpus", cpu_list(CPUS[:2][::-1]))
    assert done.worker_cpus == [CPUS[1]]
    assert done.row["cpus"] == [CPUS[1]]


def test_serial_takes_the_first_cpu_of_the_list() -> None:
    done = quick("serial", "--cpus", cpu_list(CPUS[::-1]))
    assert done.worker_cpus == [CPUS[-1]]
    assert quick("serial", "--threads", 2).code == 2


@two_cpus
@pytest.mark.parametrize("schedule", SCHEDULES["openmp"])
def test_preloaded_libomp_has_a_worker_on_each_cpu(schedule: str) -> None:
    done = quick(
        "openmp", "--schedule", schedule, "--cpus", cpu_list(CPUS[:2]), environment=preloading("libomp")
    )
    assert done.code == 0, done.err
    assert done.row["library"] == "libomp"
    assert done.worker_cpus == CPUS[:2]


@two_cpus
@pytest.mark.parametrize(
    "trap",
    [
        {"OMP_PROC_BIND": "true"},
        {"OMP_PLACES": f"{{{CPUS[0]}}}"},
        {"GOMP_CPU_AFFINITY": str(CPUS[0])},
        {"OMP_NUM_THREADS": "1"},
        {"KMP_HW_SUBSET": "1c"},
        {"OMP_THREAD_LIMIT": "1"},
    ],
    ids=lambda trap: next(iter(trap)),
)
@pytest.mark.parametrize("library", ["libgomp", "libomp"])
def test_settings_from_outside_cost_no_worker(trap: dict[str, str], library: str) -> None:
    # With OMP_PROC_BIND set, libgomp's start-up code pins the main thread although libomp is preloaded;
    # libomp then saw one CPU and ran one thread. The default of --cpus must not come from that mask either.
    done = quick("openmp", environment={**trap, **preloading(library)})
    assert done.code == 0, done.err
    assert done.row["library"] == library
    assert done.row["cpus"] == CPUS
    assert done.worker_cpus == CPUS


@two_cpus
@pytest.mark.parametrize("library", ["libgomp", "libomp"])
@pytest.mark.parametrize("wait", ["active", "passive"])
def test_openmp_takes_its_wait_policies(library: str, wait: str) -> None:
    done = quick("openmp", "--wait", wait, "--cpus", cpu_list(CPUS[:2]), environment=preloading(library))
    assert done.code == 0, done.err
    assert (done.row["wait"], done.row["library"]) == (wait, library)
    assert done.worker_cpus == CPUS[:2]


@pytest.mark.parametrize("runtime", ["serial", "tbb", "stdpar"])
def test_runtime_without_a_wait_policy_says_what_it_has(runtime: str) -> None:
    done = quick(runtime, "--wait", "active")
    assert (done.code, done.out) == (2, "")
    assert done.err == f"tauto-loop-{runtime}: error: {runtime} has no wait policy 'active'; it has default\n"


def test_openblas_does_not_run_the_kernels_of_an_old_cpu() -> None:
    flags = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    if " avx2 " not in flags:
        pytest.skip("this CPU has no AVX2")
    modern = {"Haswell", "Zen", "SkylakeX", "Cooperlake", "Sapphirerapids"}
    assert quick("openblas").row["core_type"] in modern


@pytest.mark.parametrize("runtime", list(SCHEDULES))
def test_describe_tells_what_the_runtime_has(runtime: str) -> None:
    done = start(runtime, "--describe")
    assert (done.code, done.err) == (0, "")
    assert done.row["runtime"] == runtime
    assert sorted(done.row["schedules"]) == sorted(SCHEDULES[runtime])
    assert done.row["wait_policies"][0] == "default"
    assert set(done.row["schedules_with_chunk"]) <= set(done.row["schedules"])
    if runtime != "serial":
        assert done.row["library"]
        assert done.row["version"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--size", "0"], "--size is 0; it must be 1 or more"),
        (["--size", "-5"], "--size is -5; it must be 1 or more"),
        (["--size", "many"], "many"),
        ([], "--size is missing"),
        (["--size", "1000000000"], "takes 4 EB of memory and"),
        (["--size", "9000000000000000000"], "of memory and"),
        (["--size", "300", "--schedule", "dynamic", "--chunk", "0"], "--chunk is 0; it must be 1 or more"),
        (["--size", "300", "--schedule", "static", "--chunk", "4"], "takes no --chunk"),
        (
            ["--size", "300", "--cpus", "8000"],
            "CPU 8000 does not exist or is not allowed; this process",
        ),
        (["--size", "300", "--cpus", f"{CPUS[0]},{CPUS[0]}"], "listed twice"),
        (["--size", "300", "--cpus", "zero"], "'zero' is not a list of CPUs"),
        (["--size", "300", "--cpus", ""], "is not a list of CPUs"),
        (["--size", "300", "--threads", "0"], "--threads is 0"),
        (
            ["--size", "300", "--schedule", "magic"],
            "it has pragma, static, static_chunk,",
        ),
        (["--size", "300", "--wait", "forever"], "it has default, active, passive"),
        (["--size", "300", "--min-seconds", "0"], "--min-seconds must be a number above 0"),
        (["--size", "300", "--min-seconds", "nan"], "--min-seconds must be a number above 0"),
        (["--size", "300", "--solution-iterations", "0"], "--solution-iterations is 0"),
        (["--size", "300", "--max-iterations", "0"], "--max-iterations is 0"),
        (["--size", "300", "--frobnicate"], "--frobnicate"),
    ],
)
def test_bad_input_is_refused_with_one_clear_line(arguments: list[str], message: str) -> None:
    done = start("openmp", *arguments)
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith("tauto-loop-openmp: error: ")
    assert message in done.err
    assert done.err.count("\n") == 1


@two_cpus
def test_cpu_outside_the_affinity_mask_is_refused() -> None:
    first, second = CPUS[:2]
    done = subprocess.run(
        ["taskset", "-c", str(first), RUNNERS.path("openmp"), "--size", "300", "--cpus", str(second)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert f"CPU {second} does not exist or is not allowed; this process may use {first}" in done.stderr


def test_unwritable_trace_file_is_refused(tmp_path: Path) -> None:
    done = quick("serial", "--trace-loops", str(tmp_path / "missing" / "trace.json"))
    assert done.code == 2
    assert "cannot write the trace" in done.err


def test_trace_has_every_product_in_order(tmp_path: Path) -> None:
    file = tmp_path / "trace.json"
    row = quick("serial", "--trace-loops", str(file)).row
    loops = json.loads(file.read_text(encoding="utf-8"))
    assert len(loops) == row["iterations"] + row["warmup_iterations"]
    ends = [end for end, _ in loops]
    assert ends == sorted(ends)
    assert all(0 < seconds < 1 for _, seconds in loops)
    assert loops[-1][0] - loops[0][0] >= row["timed_seconds"]


def test_given_iterations_are_run_and_judged_by_what_they_can_reach() -> None:
    row = quick("serial", "--solution-iterations", 2).row
    assert row["check"]["solution_iterations"] == 2
    assert row["check"]["passed"] is True
    assert 5e-5 < row["check"]["relative_residual"] <= row["check"]["tolerance"]


def test_max_iterations_ends_the_timed_part() -> None:
    row = start("serial", "--size", 300, "--min-seconds", 30, "--max-iterations", 7).row
    assert row["iterations"] == 7


def test_duration_sets_the_length_of_the_timed_part() -> None:
    assert 0.2 <= quick("serial", "--duration", 0.2).row["timed_seconds"] < 0.4


@pytest.mark.parametrize("size", [1, 2, 3, 17])
@pytest.mark.parametrize("runtime", ["serial", "openmp", "tautochrone"])
def test_smallest_systems_are_solved(runtime: str, size: int) -> None:
    done = quick(runtime, "--threads", 1, size=size)
    assert done.code == 0, done.err
    assert done.row["check"]["passed"] is True
