"""The nbody runners as a user meets them: one trajectory on every engine, one clear error, no rank left."""

from __future__ import annotations

import csv
import os
import re
import shutil
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from processes import wait_until
from runner_processes import CPUS, FAMILIES, Finished, cpu_list, finished, needs_runners, ranks_of, two_cpus

pytestmark = [needs_runners, pytest.mark.timed, pytest.mark.machine]

RUNNERS = FAMILIES["nbody"]
MPI = ["openmpi", "mpich"]
LAUNCHER = {
    "openmpi": ["mpirun.openmpi", "--quiet", "--oversubscribe", "--bind-to", "none", "--allow-run-as-root"],
    "mpich": ["mpiexec.mpich"],
}
SHORT = ("--particles", 67, "--blocks", 40, "--warmup-seconds", 0, "--min-seconds", 1e-6)


def workers(count: int) -> tuple[object, ...]:
    return ("--threads", count, "--cpus", cpu_list(CPUS[:2] if count > 1 else CPUS[:1]))


def bits(runtime: str, scheme: str, count: int, *more: object) -> str:
    done = RUNNERS.start(runtime, *SHORT, *workers(count), "--scheme", scheme, *more)
    assert done.code == 0, done.err
    assert done.row["check"]["passed"]
    assert done.row["width"] == count
    return str(done.row["check"]["state_fnv1a"])


def launched(mpi: str, *words: object, ranks: int = 2) -> Finished:
    """The front end under an MPI's launcher."""
    front = RUNNERS.path(mpi).with_name("tauto-nbody")
    return finished([*LAUNCHER[mpi], "-n", ranks, front, *words])


def refusal(done: Finished, executable: str) -> str:
    """The one line of a runner that could not do what was asked; launchers add lines of their own."""
    assert (done.code, done.out) == (2, ""), done
    mine = [line for line in done.err.splitlines() if line.startswith(f"{executable}: error: ")]
    assert len(mine) == 1, done.err
    return mine[0]


# -- one trajectory --


@two_cpus
@pytest.mark.parametrize("order", [4, 6])
def test_members_that_share_the_targets_end_with_the_serial_bits_on_every_engine(order: int) -> None:
    right = bits("serial", "serial", 1, "--order", order)
    ways = [("tautochrone", "serial"), ("tautochrone", "i"), ("openmp", "loops-i"), ("openmp", "region-i")]
    ways += [("openmpi", "i"), ("mpich", "i")]
    built = [way for way in ways if RUNNERS.is_built(way[0])]
    assert {way: bits(*way, 2, "--order", order) for way in built} == dict.fromkeys(built, right)


@two_cpus
def test_members_that_share_the_sources_end_with_the_same_bits_on_every_engine() -> None:
    right = bits("tautochrone", "j", 2)
    ways = [("openmp", "loops-j"), ("openmp", "region-j"), ("openmpi", "j"), ("mpich", "j")]
    built = [way for way in ways if RUNNERS.is_built(way[0])]
    if not built:
        pytest.skip("no other engine was built")
    assert {way: bits(*way, 2) for way in built} == dict.fromkeys(built, right)


@two_cpus
@pytest.mark.parametrize("mpi", MPI)
def test_threads_inside_processes_compute_the_same_bits(mpi: str) -> None:
    hybrid = ("--threads-per-rank", 2)
    # One process has the order of summation of its team.
    assert bits(mpi, "j", 2, *hybrid) == bits("tautochrone", "j", 2)
    assert bits(mpi, "i", 4, *hybrid) == bits("serial", "serial", 1)


@two_cpus
@pytest.mark.parametrize("mpi", MPI)
@pytest.mark.parametrize("order", [4, 6])
def test_rectangle_of_processes_has_the_bits_of_as_many_slices_of_a_team(mpi: str, order: int) -> None:
    # Two groups of targets, and slices that every member adds in their order.
    assert bits(mpi, "grid", 4, "--order", order) == bits("tautochrone", "j", 2, "--order", order)


@two_cpus
@pytest.mark.parametrize("runtime", ["tautochrone", "openmpi"])  # MPICH's ranks give no CPU away: too slow
@pytest.mark.parametrize(("members", "slices"), [(4, 2), (9, 3)])
def test_square_of_more_members_than_cpus_has_the_bits_of_its_slices(
    runtime: str, members: int, slices: int
) -> None:
    assert bits(runtime, "grid", members) == bits("tautochrone", "j", slices)


@two_cpus
@pytest.mark.parametrize("mpi", MPI)
@pytest.mark.parametrize(("members", "threads_per_rank", "slices"), [(4, 2, 2), (6, 3, 3), (6, 2, 3)])
def test_rectangle_of_threads_gives_the_same_bits_in_any_process(
    mpi: str, members: int, threads_per_rank: int, slices: int
) -> None:
    hybrid = ("--threads-per-rank", threads_per_rank)
    assert bits(mpi, "grid", members, *hybrid) == bits("tautochrone", "j", slices)


@two_cpus
@pytest.mark.parametrize("mpi", MPI)
def test_other_orders_of_summation_differ_by_rounding_only(mpi: str) -> None:
    def moved(runtime: str, scheme: str, count: int, *more: object) -> Mapping[str, float]:
        done = RUNNERS.start(runtime, *SHORT, *workers(count), "--scheme", scheme, *more)
        assert done.code == 0, done.err
        return done.row["check"] | {name: done.row[name] for name in ("blocks", "particle_steps")}

    right = moved("serial", "serial", 1)
    ways = [("j", 2, 1), ("grid", 4, 1), ("grid", 4, 2), ("j", 4, 2)]
    for scheme, count, threads_per_rank in ways:
        seen = moved(mpi, scheme, count, "--threads-per-rank", threads_per_rank)
        assert seen["energy_error"] == pytest.approx(right["energy_error"], abs=1e-12)
        assert (seen["blocks"], seen["particle_steps"]) == (right["blocks"], right["particle_steps"])
        # Another order it is: else this would say nothing.
        assert seen["state_fnv1a"] != right["state_fnv1a"]


@two_cpus
@pytest.mark.parametrize("runtime", ["tautochrone", *MPI])
def test_log_of_auto_has_the_members_and_the_prediction_of_each_block(runtime: str, tmp_path: Path) -> None:
    log = tmp_path / "blocks.csv"
    done = RUNNERS.start(runtime, *SHORT, *workers(2), "--scheme", "auto", "--log", log)
    assert done.code == 0, done.err
    with log.open(newline="") as file:
        blocks = list(csv.DictReader(file))
    assert len(blocks) == 40
    for one in blocks:
        assert int(one["width"]) == {"serial": 1, "i": 2, "j": 2}.get(one["scheme"], 0) or (
            # One of the two may have been measured to be much slower.
            (one["scheme"], one["width"]) == ("i", "1")
        )
        assert float(one["predicted_seconds"]) > 0
        assert float(one["seconds"]) > 0
    widths = Counter(one["width"] for one in blocks)
    seen: Counter[str] = Counter()
    for part in done.row["classes"]:
        seen.update(part["widths"])
    assert seen == widths
    model = done.row["model"]
    assert [width for width, _ in model["paces"]][-1] == 2
    assert model["paces"][-1][1] == 1


@two_cpus
def test_row_of_processes_says_how_many_and_where_they_were() -> None:
    done = RUNNERS.start("openmpi", *SHORT, *workers(2))
    row = done.row
    assert (row["runtime"], row["library"], row["ranks"], row["threads_per_rank"]) == (
        "openmpi", "openmpi", 2, 1,
    )  # fmt: skip
    assert (row["threads"], row["cpus"], row["width"]) == (2, CPUS[:2], 2)
    assert row["predicted"] is True


def test_run_that_takes_longer_to_prepare_than_to_do_ends_in_time() -> None:
    began = time.monotonic()
    done = RUNNERS.start("serial", "--particles", 16, "--blocks", 1, "--min-seconds", 0.01)
    assert done.code == 0, done.err
    assert done.row["iterations"] >= 3
    assert time.monotonic() - began < 20  # of 50,000 runs that each fit a model: a minute


# -- the front end --


@two_cpus
@pytest.mark.parametrize("mpi", MPI)
def test_front_end_is_a_rank_of_the_mpi_that_launches_it(mpi: str) -> None:
    RUNNERS.path(mpi)
    done = launched(mpi, *SHORT, "--scheme", "i")
    assert done.code == 0, done.err
    assert (done.row["runtime"], done.row["ranks"], done.row["threads"]) == (mpi, 2, 2)
    assert done.row["check"]["state_fnv1a"] == bits("serial", "serial", 1)


def test_front_end_takes_the_engine_that_is_asked_for() -> None:
    front = RUNNERS.path("serial").with_name("tauto-nbody")
    words = [front, *SHORT, "--threads", 1]

    def start(*more: str) -> Finished:
        return finished([*words, *more])

    assert start().row["runtime"] == "tautochrone"
    assert start("--engine", "serial").row["runtime"] == "serial"
    assert start("--engine=serial").row["runtime"] == "serial"
    expected = "there is no engine 'magic'; there are serial, threads, openmp, openmpi, mpich"
    assert expected in refusal(start("--engine", "magic"), "tauto-nbody")
    assert "--engine has no value" in refusal(start("--engine"), "tauto-nbody")


# -- bad input --


def snapshot(folder: Path, *bodies: str) -> Path:
    file = folder / "snapshot.txt"
    file.write_text("\n".join(["tautochrone-snapshot 1", f"particles {len(bodies)}", "time 0", *bodies, ""]))
    return file


@pytest.mark.parametrize("runtime", ["serial", "tautochrone", "openmp", *MPI])
def test_what_no_engine_can_do_is_refused_in_one_line(runtime: str, tmp_path: Path) -> None:
    broken = snapshot(tmp_path, "0.5 0.75 0 0 0 0.25 0", "0.5 nan 0 0 0 -0.25 0")
    for option, value, message in [
        ("--particles", 0, "--particles is 0; it must be 1 or more"),
        ("--softening", -0.5, "the softening is -0.5"),
        ("--snapshot", broken, "snapshot.txt', line 5"),
        ("--scheme", "magic", "has no schedule 'magic'"),
    ]:
        assert message in refusal(RUNNERS.start(runtime, option, value), f"tauto-nbody-{runtime}")


@pytest.mark.parametrize("mpi", MPI)
def test_fewer_particles_than_ranks_and_ranks_that_do_not_divide_are_refused(mpi: str) -> None:
    name = f"tauto-nbody-{mpi}"
    done = RUNNERS.start(mpi, "--particles", 1, "--threads", 2)
    assert "1 particles for 2 threads" in refusal(done, name)
    done = RUNNERS.start(mpi, "--threads", 3, "--threads-per-rank", 2)
    assert "the first must be a multiple of the second" in refusal(done, name)
    done = launched(mpi, "--particles", 1)
    assert "1 particles for 2 threads" in refusal(done, name)


@two_cpus
@pytest.mark.parametrize("runtime", ["tautochrone", *MPI])
def test_particles_that_coincide_without_softening_are_named_once(runtime: str, tmp_path: Path) -> None:
    twins = snapshot(tmp_path, *["0.25 0.5 0 0 0 0.25 0"] * 2, "0.5 -0.5 0 0 0 -0.25 0")
    done = RUNNERS.start(runtime, "--snapshot", twins, "--softening", 0, *workers(2))
    assert "particles 0 and 1 coincide" in refusal(done, f"tauto-nbody-{runtime}")


@two_cpus
@pytest.mark.parametrize("mpi", MPI)
def test_ranks_of_different_builds_are_refused(mpi: str, tmp_path: Path) -> None:
    here = RUNNERS.path(mpi)
    other = tmp_path / here.name
    shutil.copy(here, other)
    with other.open("ab") as file:
        file.write(b"another build")
    done = finished([*LAUNCHER[mpi], "-n", 1, here, *SHORT, ":", "-n", 1, other, *SHORT])
    assert f"rank 1 runs another build of {here.name} than rank 0" in refusal(done, here.name)


def killed(
    command: Sequence[object], runner: Path, log: Path, size: int, chosen: Callable[[Sequence[int]], int]
) -> tuple[int, str, str]:
    """Kill one of two ranks once the log has that size; the launcher's exit code and what it printed."""
    pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    process = subprocess.Popen([str(word) for word in command], **pipes)
    try:
        wait_until(lambda: log.exists() and log.stat().st_size >= size, "a log of blocks")
        ranks = ranks_of(process, runner)
        assert len(ranks) == 2
        os.kill(chosen(ranks), signal.SIGKILL)
        out, err = process.communicate(timeout=60)
    finally:
        process.kill()
        process.wait()
    return process.returncode, out, err


def assert_complete_lines(log: Path) -> None:
    text = log.read_text()
    assert text.endswith("\n")
    assert {line.count(",") for line in text.splitlines()} == {6}


@two_cpus
@pytest.mark.parametrize("mpi", MPI)
def test_killed_rank_ends_the_others_and_leaves_complete_lines(mpi: str, tmp_path: Path) -> None:
    log = tmp_path / "blocks.csv"
    words = ("--particles", 300, "--end-time", 1000, "--log", log, *workers(2))
    code, out, err = killed([RUNNERS.path(mpi), *words], RUNNERS.path(mpi), log, 1000, max)
    assert code not in (0, 2)
    assert not any(line.startswith("{") for line in out.splitlines())  # MPICH's launcher speaks here
    # Open MPI says so where the other rank was reading from the killed one's memory.
    said = re.sub(r"^\[\S+:\d+\] Read -1, expected \d+, errno = 3\n", "", err, flags=re.MULTILINE)
    assert said == (
        f"tauto-nbody-{mpi}: error: a rank was ended by signal 9 (Killed) before the run was over, and all "
        "ranks with it; nothing was measured\n"
    )
    assert_complete_lines(log)


@two_cpus
@pytest.mark.parametrize("mpi", MPI)
def test_log_has_complete_lines_after_a_kill_under_a_users_launcher(mpi: str, tmp_path: Path) -> None:
    front = RUNNERS.path(mpi).with_name("tauto-nbody")
    log = tmp_path / "blocks.csv"
    command = [*LAUNCHER[mpi], "-n", 2, front, "--particles", 64, "--end-time", 10_000, "--log", log]
    code, _, _ = killed(command, RUNNERS.path(mpi), log, 20_000, the_writer)
    assert code != 0
    assert_complete_lines(log)
    with log.open(newline="") as file:
        times = [float(one["time"]) for one in csv.DictReader(file)]
    assert times == sorted(times)


def the_writer(ranks: Sequence[int]) -> int:
    (writer,) = (child for child in ranks if rank_of(child) == 0)
    return writer


def rank_of(pid: int) -> int:
    variables = Path(f"/proc/{pid}/environ").read_text().split("\0")
    named = dict(one.partition("=")[::2] for one in variables)
    return int(named.get("OMPI_COMM_WORLD_RANK") or named["PMI_RANK"])


# -- several machines --


@two_cpus
def test_two_hosts_with_a_wire_between_them_compute_the_same_bits() -> None:
    script = Path(__file__).resolve().parents[2] / "tools" / "two_hosts.sh"
    front = RUNNERS.path("openmpi").with_name("tauto-nbody")
    done = finished(["sh", script, front, *SHORT, "--scheme", "i"])
    if done.code == 77:
        pytest.skip(done.err.strip())
    assert done.code == 0, done.err
    row = done.row
    assert row["ranks"] == 2
    assert row["check"]["state_fnv1a"] == bits("serial", "serial", 1)
    wire = re.search(r"(\d+) bytes went from the first host to the second", done.err)
    assert int(wire.group(1)) > 40 * 13 * 8  # at least a particle's new state in each block
