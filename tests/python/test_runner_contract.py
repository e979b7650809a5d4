"""What every runner promises, asked of each in the same words: one process, one row, or one clear line."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from runner_processes import (
    CPUS,
    FAMILIES,
    SCHEDULES,
    Finished,
    cpu_list,
    finished,
    needs_runners,
    preloading,
    two_cpus,
)
from tautochrone.schemas.of_executables import RunnerDescription
from tautochrone.studies import STUDIES

pytestmark = [needs_runners, pytest.mark.timed, pytest.mark.machine]

SHARING = [runner for runner in SCHEDULES if runner[0] in ("loop", "mapreduce") and runner[1] != "serial"]
WAYS = [
    (study, runtime, schedule)
    for (study, runtime), schedules in SCHEDULES.items()
    if study in ("loop", "mapreduce")
    for schedule in schedules
]
OPENMP_WAYS = [(study, schedule) for study, runtime, schedule in WAYS if runtime == "openmp"]
# Who may leave out workers, or whose learned shares may leave one without a row, on purpose.
MAY_DROP = {"tautochrone adaptive", "tautochrone weighted", "tautochrone unordered"}
AS_THE_SYSTEM_LIKES = {"qt unpinned"}  # whose threads run on any of the CPUs, and end and begin
MIGHT_BE_MISSING = {"weight", "same_weight"}  # of two programs, where no cgroup may be made
FRAMES = (
    "--bodies",
    100,
    "--steps",
    2,
    "--width",
    80,
    "--height",
    60,
    "--schedule",
    "serial",
    "--threads",
    1,
)
FILM = ("--width", 64, "--height", 64, "--clips", 1, "--schedule", "serial", "--threads", 1)
TASKS_SUM = "57a9f3ee8d3ad67e"  # of 20 parts of the first numbers of mt19937_64, worked out in Python
each_runner = pytest.mark.parametrize(("study", "runtime"), SCHEDULES)


def refusal(done: Finished, study: str, runtime: str) -> str:
    """The one line of a runner that could not do what was asked."""
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith(f"tauto-{study}-{runtime}: error: ")
    assert done.err.count("\n") == 1
    return done.err


def test_every_study_has_its_runners_asked() -> None:
    assert set(FAMILIES) == set(STUDIES)


@each_runner
def test_describe_tells_what_the_runtime_has(study: str, runtime: str) -> None:
    done = FAMILIES[study].start(runtime, "--describe")
    assert (done.code, done.err) == (0, "")
    assert done.row["schema"] == "tautochrone.runner/1"
    msgspec.convert(done.row, RunnerDescription)
    if study != "power":  # its runners are named after their jobs
        assert done.row["runtime"] == runtime
    # The fakes of a study have the schedules of its runners.
    assert {*done.row["schedules"], *MIGHT_BE_MISSING} == {*SCHEDULES[study, runtime], *MIGHT_BE_MISSING}
    assert done.row["wait_policies"][0] == "default"
    assert set(done.row["schedules_with_chunk"]) <= set(done.row["schedules"])
    if runtime not in ("serial", "together"):
        assert done.row["library"]
        assert done.row["version"]


@each_runner
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--frobnicate"], "--frobnicate; see --help"),
        (["--schedule", "magic"], "has no schedule 'magic'; it has "),
        (["--wait", "forever"], "has no wait policy 'forever'; it has default"),
        (["--cpus", "8000"], "CPU 8000 does not exist or is not allowed; this process may use"),
        (["--cpus", f"{CPUS[0]},{CPUS[0]}"], "listed twice"),
        (["--cpus", "zero"], "'zero' is not a list of CPUs"),
        (["--cpus", ""], "is not a list of CPUs"),
        (["--threads", "0"], "--threads is 0"),
        (["--min-seconds", "0"], "--min-seconds must be a number above 0"),
        (["--min-seconds", "nan"], "--min-seconds must be a number above 0"),
        (["--max-iterations", "0"], "--max-iterations is 0; it must be 1 or more"),
    ],
    ids=" ".join,
)
def test_bad_input_is_refused_with_one_clear_line(
    study: str, runtime: str, arguments: list[str], message: str
) -> None:
    family = FAMILIES[study]
    assert message in refusal(family.start(runtime, *family.small, *arguments), study, runtime)


@pytest.mark.parametrize(
    ("runner", "arguments", "message"),
    [
        ("loop openmp", "", "--size is missing"),
        ("loop openmp", "--size 0", "--size is 0; it must be 1 or more"),
        ("loop openmp", "--size -5", "--size is -5; it must be 1 or more"),
        ("loop openmp", "--size many", "many"),
        ("loop openmp", "--size 1000000000", "takes 4 EB of memory and"),
        ("loop openmp", "--size 9000000000000000000", "of memory and"),
        ("loop openmp", "--size 300 --schedule dynamic --chunk 0", "--chunk is 0; it must be 1 or more"),
        ("loop openmp", "--size 300 --schedule static --chunk 4", "takes no --chunk"),
        ("loop openmp", "--size 300 --solution-iterations 0", "--solution-iterations is 0"),
        ("mapreduce async", "--tasks 0", "--tasks is 0; it must be 1 or more"),
        ("mapreduce async", "--tasks 2147483648", "it must be 2147483647 or less"),
        ("mapreduce async", "--bytes 0", "--bytes is 0; it must be 1 or more"),
        ("mapreduce async", "--bytes many", "many"),
        ("mapreduce async", "--chunk 2", "takes no --chunk"),
        ("mapreduce async", "--trace-loops x", "--trace-loops"),
        *(
            (f"collective {runtime}", arguments, message)
            for runtime in ("threads", "openmpi", "mpich")
            for arguments, message in (
                ("--lengths 0", "'0' is not a number of 8-byte words from 1 to 67108864"),
                ("--lengths 1,,2", "--lengths '1,,2' has an empty item"),
                ("--lengths many", "'many' is not a number of 8-byte words"),
                ("--operations all_sum", "there is no operation 'all_sum'; there are barrier, broadcast"),
                ("--engine magic", "has no schedule 'magic'"),
                ("--sweeps 0", "--sweeps is 0; it must be 1 or more"),
            )
        ),
    ],
)
def test_a_works_own_bad_input_is_refused(runner: str, arguments: str, message: str) -> None:
    study, runtime = runner.split()
    assert message in refusal(FAMILIES[study].start(runtime, *arguments.split()), study, runtime)


@two_cpus
@each_runner
def test_cpu_outside_the_affinity_mask_is_refused(study: str, runtime: str) -> None:
    first, second = CPUS[:2]
    family = FAMILIES[study]
    words = [family.path(runtime), *family.small, "--cpus", second]
    line = refusal(finished(["taskset", "-c", first, *words]), study, runtime)
    assert f"CPU {second} does not exist or is not allowed; this process may use {first}" in line


def check_loop(done: Finished) -> None:
    """What a row of the loop says of its work."""
    row = done.row
    assert row["size"] == 300
    assert 0 < row["seconds"] < 0.1
    assert 3 <= len(row["batch_seconds"]) <= 64
    assert row["iterations"] >= 3
    assert row["timed_seconds"] >= 0.01
    assert row["mean_seconds"] == pytest.approx(row["timed_seconds"] / row["iterations"])
    assert row["flops_per_iteration"] == 2 * 300**2 + 10 * 300
    assert row["bytes_per_iteration"] == 4 * (300**2 + 13 * 300)
    assert row["check"]["relative_residual"] <= row["check"]["tolerance"] <= 5e-5
    assert sum(worker["rows"] for worker in row["workers"]) >= 300 - 8


def check_tasks(done: Finished) -> None:
    """What a row of tasks says of them."""
    row = done.row
    assert (row["tasks"], row["bytes"]) == (20, 400_000)
    assert 0 < row["seconds"] < 5
    assert row["ideal_seconds"] == pytest.approx(20 / len(row["cpus"]) * row["task_seconds"])
    assert row["useful_seconds"] > 0
    assert 0 <= row["waiting_share"] < 1
    # The kernel counts in ticks of up to 10 ms, and the timed part is no longer here.
    assert 0 <= row["cpu_load"] < 3
    assert row["voluntary_switches"] >= 0
    assert row["involuntary_switches"] >= 0
    right = {"passed": True, "wrong_repetitions": 0, "sum": TASKS_SUM, "right_sum": TASKS_SUM}
    assert row["check"] == right
    assert sum(worker["tasks"] for worker in row["workers"]) == 20 * row["accounted_repetitions"]
    useful = sum(worker["useful_seconds"] for worker in row["workers"])
    assert useful == pytest.approx(row["useful_seconds"] * row["accounted_repetitions"])


CHECKS: dict[str, Callable[[Finished], None]] = {"loop": check_loop, "mapreduce": check_tasks}


@two_cpus
@pytest.mark.parametrize(("study", "runtime", "schedule"), WAYS)
def test_row_is_complete_and_its_answer_right(study: str, runtime: str, schedule: str) -> None:
    cpus = CPUS[:1] if runtime == "serial" else CPUS[:2]
    done = FAMILIES[study].quick(runtime, "--schedule", schedule, "--cpus", cpu_list(cpus))
    assert (done.code, done.err) == (0, "")
    row = done.row
    assert row["schema"] == "tautochrone.runner/1"
    assert (row["runtime"], row["schedule"]) == (runtime, schedule)
    assert (row["threads"], row["cpus"], row["wait"]) == (len(cpus), cpus, "default")
    assert min(row["batch_seconds"]) <= row["seconds"] <= max(row["batch_seconds"])
    assert row["check"]["passed"] is True
    CHECKS[study](done)
    assert set(done.worker_cpus) <= set(cpus)
    if f"{runtime} {schedule}" not in MAY_DROP | AS_THE_SYSTEM_LIKES:
        assert done.worker_cpus == cpus
        assert (row["width"], row["dropped"]) == (len(cpus), False)


@two_cpus
@pytest.mark.parametrize(("study", "runtime"), SHARING)
def test_one_worker_runs_on_the_cpu_asked_for(study: str, runtime: str) -> None:
    for cpu in CPUS[:2]:
        done = FAMILIES[study].quick(runtime, "--cpus", cpu)
        assert done.code == 0, done.err
        assert done.worker_cpus == [cpu]
        assert done.row["threads"] == 1
        if study == "mapreduce":
            assert done.row["ideal_seconds"] == pytest.approx(20 * done.row["task_seconds"])


@two_cpus
@pytest.mark.parametrize(("study", "runtime"), SHARING)
def test_more_threads_than_cpus_share_them(study: str, runtime: str) -> None:
    words = ("--threads", 4, "--cpus", cpu_list(CPUS[:2]), "--max-iterations", 20)
    done = FAMILIES[study].quick(runtime, *words)
    assert done.code == 0, done.err
    assert done.row["threads"] == 4
    assert set(done.worker_cpus) <= set(CPUS[:2])
    if study == "mapreduce":
        assert done.row["ideal_seconds"] == pytest.approx(10 * done.row["task_seconds"])


@two_cpus
@pytest.mark.parametrize(("study", "schedule"), OPENMP_WAYS)
def test_preloaded_libomp_has_a_worker_on_each_cpu(study: str, schedule: str) -> None:
    words = ("--schedule", schedule, "--cpus", cpu_list(CPUS[:2]))
    done = FAMILIES[study].quick("openmp", *words, environment=preloading("libomp"))
    assert done.code == 0, done.err
    assert done.row["library"] == "libomp"
    assert done.row["check"]["passed"] is True
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
        {"OMP_PROC_BIND": "true", "OMP_NUM_THREADS": "1", "OMP_SCHEDULE": "static,1000"},
    ],
    ids=" ".join,
)
@pytest.mark.parametrize("library", ["libgomp", "libomp"])
@pytest.mark.parametrize("study", ["loop", "mapreduce"])
def test_settings_from_outside_cost_no_worker(study: str, trap: dict[str, str], library: str) -> None:
    # With OMP_PROC_BIND set, libgomp's start-up code pins the main thread although libomp is preloaded;
    # libomp then saw one CPU and ran one thread. The default of --cpus must not come from that mask either.
    done = FAMILIES[study].quick("openmp", environment={**trap, **preloading(library)})
    assert done.code == 0, done.err
    assert done.row["library"] == library
    assert done.row["cpus"] == CPUS
    assert done.worker_cpus == CPUS


@pytest.mark.parametrize(
    ("study", "runtime", "words", "what"),
    [
        ("loop", "serial", ("--trace-loops",), "the trace"),
        ("mapreduce", "serial", ("--trace",), "the trace"),
        (
            "nbody",
            "serial",
            ("--particles", 16, "--warmup-seconds", 0, "--min-seconds", 1e-6, "--write-snapshot"),
            "the snapshot",
        ),
        ("power", "physics", (*FRAMES, "--animation"), "the animation"),
        ("power", "video", (*FILM, "--stream"), "the stream"),
    ],
    ids=str,
)
def test_a_file_that_cannot_be_written_is_refused_and_so_is_anothers_link(
    study: str, runtime: str, words: tuple[object, ...], what: str, tmp_path: Path
) -> None:
    done = FAMILIES[study].quick(runtime, *words, tmp_path / "missing" / "file")
    assert f"cannot write {what}" in refusal(done, study, runtime)
    (tmp_path / "theirs").symlink_to(tmp_path / "file")
    done = FAMILIES[study].quick(runtime, *words, tmp_path / "theirs")
    assert done.code == 0, done.err
    (tmp_path / "file").write_text("mine")
    if os.geteuid() == 0:
        os.lchown(tmp_path / "theirs", 12345, 12345)
        done = FAMILIES[study].quick(runtime, *words, tmp_path / "theirs")
        assert "a link on the way there is another user's" in refusal(done, study, runtime)
        assert (tmp_path / "file").read_text() == "mine"


@pytest.mark.parametrize(
    ("study", "runtime"), [("loop", "serial"), ("loop", "tbb"), ("loop", "stdpar"), ("mapreduce", "async")]
)
def test_runtime_without_a_wait_policy_says_what_it_has(study: str, runtime: str) -> None:
    family = FAMILIES[study]
    line = refusal(family.start(runtime, *family.small, "--wait", "active"), study, runtime)
    assert line.endswith(f": {runtime} has no wait policy 'active'; it has default\n")
