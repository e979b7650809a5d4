"""The power runners as a user meets them: one answer from every way, programs side by side, an animation."""

from __future__ import annotations

from pathlib import Path

import pytest

from runner_processes import CPUS, FAMILIES, cpu_list, needs_runners, two_cpus

pytestmark = [needs_runners, two_cpus, pytest.mark.timed, pytest.mark.machine]

RUNNERS = FAMILIES["power"]
SMALL: dict[str, tuple[object, ...]] = {
    "encryption": ("--bytes", 2_000_000, "--files", 4),
    "compression": ("--bytes", 3_000_000),
    "video": ("--width", 160, "--height", 144, "--clips", 3),
    "physics": ("--bodies", 400, "--steps", 5, "--width", 80, "--height", 60),
}
WAYS = {
    "encryption": ("blocks", "files"),
    "compression": ("workers",),
    "video": ("frames", "slices", "clips"),
    "physics": ("domain", "functional"),
}


@pytest.mark.parametrize("job", WAYS)
def test_every_way_gives_the_answer_of_one_thread(job: str) -> None:
    alone = RUNNERS.quick(job, *SMALL[job], "--schedule", "serial", "--cpus", cpu_list(CPUS[:1]))
    assert (alone.code, alone.err) == (0, "")
    for way in WAYS[job]:
        done = RUNNERS.quick(job, *SMALL[job], "--schedule", way, "--cpus", cpu_list(CPUS[:2]))
        assert (done.code, done.err) == (0, "")
        assert done.row["check"] == alone.row["check"]
        assert done.row["check"]["passed"]
        assert done.row["imbalance"] >= 1.0
        assert {worker["cpu"] for worker in done.row["workers"]} <= set(CPUS[:2])


def test_workers_of_the_functional_split_are_named() -> None:
    split = ("--schedule", "functional", "--cpus", cpu_list(CPUS[:2]), "--collide-passes", 20)
    row = RUNNERS.quick("physics", *SMALL["physics"], *split).row
    assert [worker["does"] for worker in row["workers"]] == ["collides", "moves and draws"]
    assert row["imbalance"] > 1.1
    assert row["collide_passes"] == 20


def test_two_programs_run_in_every_set_up() -> None:
    known = RUNNERS.start("together", "--describe").row["schedules"]
    assert {"free", "pinned", "one_pinned", "nice", "same", "same_nice"} <= set(known)
    groups = list(Path("/sys/fs/cgroup").glob("**/tauto-*-first"))
    for setup in known:
        words = ("--schedule", setup, "--first", "physics", "--second", "physics")
        times = ("--first-repetitions", 1, "--second-repetitions", 2)
        done = RUNNERS.start("together", *words, *times, "--cpus", cpu_list(CPUS[:2]))
        assert (done.code, done.err) == (0, "")
        first, second = done.row["programs"]
        assert done.row["seconds"] >= max(first["seconds"], second["seconds"])
        assert second["cpu_seconds"] > first["cpu_seconds"] > 0.0
    assert list(Path("/sys/fs/cgroup").glob("**/tauto-*-first")) == groups


def test_a_program_that_cannot_start_is_one_error() -> None:
    done = RUNNERS.start("together", "--first", "baking", "--cpus", cpu_list(CPUS[:2]))
    assert done.code == 2
    assert "there is no job 'baking' here; use " in done.err
    assert done.out == ""


def test_two_programs_need_two_cpus() -> None:
    done = RUNNERS.start("together", "--cpus", CPUS[0])
    assert done.code == 2
    assert "two programs at once need two CPUs to be pinned apart, and 1 may be used" in done.err


def test_frames_are_written_as_an_animation(tmp_path: Path) -> None:
    film = tmp_path / "bodies.y4m"
    done = RUNNERS.quick("physics", *SMALL["physics"], "--schedule", "serial", "--animation", film)
    assert done.code == 2  # one thread was not asked for
    alone = ("--schedule", "serial", "--threads", 1, "--animation", film)
    done = RUNNERS.quick("physics", *SMALL["physics"], *alone)
    assert (done.code, done.err) == (0, "")
    data = film.read_bytes()
    assert data.startswith(b"YUV4MPEG2 W80 H60 ")
    assert data.count(b"FRAME\n") == 5


def test_the_stream_of_frames_encoded_at_once_is_that_of_one_thread(tmp_path: Path) -> None:
    streams = {}
    for way, threads in (("serial", 1), ("frames", 2), ("slices", 2)):
        split = ("--schedule", way, "--threads", threads, "--stream", tmp_path / way)
        done = RUNNERS.quick("video", *SMALL["video"], *split)
        assert (done.code, done.err) == (0, "")
        streams[way] = (tmp_path / way).read_bytes()
        assert streams[way].startswith(b"\0\0\0\1")
        assert len(streams[way]) == done.row["stream_bytes"]
    assert streams["frames"] == streams["serial"] != streams["slices"]
