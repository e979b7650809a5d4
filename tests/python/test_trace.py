"""`tauto trace`: threads from a fake /proc, what is made of them, and a real program that is unbalanced."""

from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest

from processes import run_to_end
from tautochrone.cli import main
from tautochrone.energy.meter import Unavailable
from tautochrone.energy.recorder import Recording
from tautochrone.errors import TautoError
from tautochrone.measuring.sampler import LoadSample
from tautochrone.trace import findings, page, perfetto
from tautochrone.trace.balanced import Answer, with_balance
from tautochrone.trace.command import TraceRequest, TraceServices, as_record, run_trace_command
from tautochrone.trace.threads import (
    SampledThreads,
    Slice,
    ThreadSampler,
    ThreadTrack,
    moves_over_time,
)
from trace_fakes import BALANCED, NO_METER, traced, track

pytestmark = pytest.mark.timed


def thread(
    root: Path, pid: int, tid: int, run_ns: int | None, wait_ns: int = 0, cpu: int = 0, children: str = ""
) -> None:
    folder = root / f"proc/{pid}/task/{tid}"
    folder.mkdir(parents=True, exist_ok=True)
    numbers = ["S", "1", *["0"] * 9, "30", "20", *["0"] * 23, str(cpu), *["0"] * 13]
    (folder / "stat").write_text(f"{tid} (work (er)) {' '.join(numbers)}\n")
    (folder / "children").write_text(children)
    if run_ns is not None:
        (folder / "schedstat").write_text(f"{run_ns} {wait_ns} 5\n")


def sampled(root: Path, *readings: Callable[[], object]) -> SampledThreads:
    """One sample of process 7 each 0.1 s, after each of the readings was put in place."""
    seconds, left = [50.0], list(readings)

    def wait(_: float) -> bool:
        left.pop(0)()
        seconds[-1] += 0.1
        return not left

    sampler = ThreadSampler(7, 10.0, root, clock=lambda: seconds[-1], wait=wait)
    with sampler as found:
        assert sampler._ended is not None
        sampler._ended.wait()
    return found


def test_runs_waits_and_moves_come_from_the_differences_of_samples(tmp_path: Path) -> None:
    found = sampled(
        tmp_path,
        lambda: thread(tmp_path, 7, 7, 50_000_000, 10_000_000, 0),
        lambda: thread(tmp_path, 7, 7, 150_000_000, 10_000_000, 1),
        lambda: thread(tmp_path, 7, 7, 150_000_000, 60_000_000, 1),
    )
    (track,) = found.tracks
    assert (track.tid, track.pid, track.name, track.moves) == (7, 7, "work (er)", 1)
    slices = [(round(one.run_seconds, 3), round(one.wait_seconds or 0.0, 3), one.cpu) for one in track.slices]
    assert slices == [(0.05, 0.01, 0), (0.1, 0.0, 1), (0.0, 0.05, 1)]
    assert (track.run_seconds, track.wait_seconds) == (0.15, 0.06)
    assert found.samples == 3
    assert found.sampler_cpu_seconds > 0
    assert found.error is None


def test_children_and_their_threads_are_followed(tmp_path: Path) -> None:
    def first() -> None:
        for pid, tid, children in ((7, 7, "8 "), (8, 8, "9"), (9, 9, ""), (9, 10, "")):
            thread(tmp_path, pid, tid, 1, children=children)

    assert sorted(one.tid for one in sampled(tmp_path, first).tracks) == [7, 8, 9, 10]


def test_without_schedstat_run_time_is_in_ticks_and_waiting_unknown(tmp_path: Path) -> None:
    (track,) = sampled(tmp_path, lambda: thread(tmp_path, 7, 7, None)).tracks
    assert track.run_seconds == pytest.approx(0.5)
    assert track.wait_seconds is None
    assert track.slices[0].run_seconds == pytest.approx(0.1)  # no more than the interval


def test_a_process_that_has_gone_ends_no_sampling(tmp_path: Path) -> None:
    found = sampled(tmp_path, lambda: None, lambda: None)
    assert (found.tracks, found.error, found.samples) == ([], None, 2)


# -- findings --


def advice(*tracks: ThreadTrack, cpus: int = 4) -> str:
    return findings.find(tracks, 10.0, None, cpus).advice


def test_imbalance_is_the_busiest_over_the_mean_of_those_that_work() -> None:
    found = findings.find([track(1, 8.0), track(2, 2.0), track(3, 0.01)], 10.0, 30, 4)
    assert found.imbalance == pytest.approx(1.6)
    assert [one.tid for one in found.workers] == [1, 2]
    assert found.migrations_per_second == 3.0


def test_the_thread_that_works_most_is_named() -> None:
    said = advice(track(11, 8.0, name="collide"), track(12, 2.0, name="draw"))
    assert said.startswith(
        "Thread 11 (collide) worked 8.00 s, where the mean of 2 threads is 5.00 s (imbalance 1.60)"
    )
    assert "the others wait for it" in said


def test_of_two_threads_the_busier_one_is_named_whatever_the_last_bits() -> None:
    # Both are equally far from the middle; in floating point the idle one is a little farther here.
    assert advice(track(1, 4.5), track(2, 1.38)).startswith("Thread 1 (solver)")


def test_a_thread_that_works_least_is_named_too() -> None:
    said = advice(track(1, 8.0), track(2, 8.0), track(3, 8.0), track(4, 1.0))
    assert said.startswith("Thread 4 (solver) worked 1.00 s")
    assert "give it more" in said


def test_balanced_threads_are_told_so_and_that_those_that_never_rest_may_spin() -> None:
    assert advice(track(1, 8.0), track(2, 8.2)).startswith("The 2 threads are balanced (imbalance 1.01)")
    assert "OMP_WAIT_POLICY=passive" in advice(track(1, 9.9), track(2, 9.8))
    assert "nothing to gain" in advice(track(1, 8.2), track(2, 8.0))


def test_more_threads_than_cpus_are_told_so() -> None:
    said = advice(*(track(tid, 4.0, 4.0) for tid in range(4)), cpus=2)
    assert "wait for a CPU in 50 % of their time: use 2 threads" in said


def test_one_thread_alone() -> None:
    assert "did all the work alone, and the program may use 4 CPUs" in advice(track(1, 8.0))
    assert "there is one CPU" in advice(track(1, 8.0), cpus=1)


def test_a_program_that_hardly_works_is_not_told_to_use_more_threads() -> None:
    assert advice(track(1, 0.003, name="sleep")) == (
        "It worked in 0.0 % of 10.0 s, and slept or waited for files in the rest: "
        "threads cannot make that shorter."
    )


def test_threads_that_the_cpus_suffice_for_wait_for_other_programs() -> None:
    said = advice(track(1, 4.0, 4.0), track(2, 4.0, 4.0), cpus=2)
    assert said.endswith("other programs have the CPUs, which are enough for these. Stop those, or wait.")


def test_nothing_is_no_advice() -> None:
    found = findings.find([], 0.0, None, 2)
    assert (found.imbalance, found.migrations_per_second) == (None, None)
    assert "longer run" in found.advice


# -- drawings --


def drawn(tracks: list[ThreadTrack]) -> str:
    return page.render(traced(tracks), findings.find(tracks, 10.0, 5, 2))


def test_the_page_holds_everything_and_asks_nothing_of_the_network() -> None:
    tracks = [track(1, 8.0, name="<script>alert(1)</script>"), track(2, 2.0, 3.0)]
    html = drawn(tracks)
    assert "<script" not in html
    assert "http" not in html.replace("http-equiv", "")
    for words in ("imbalance 1.60", "0.500 a second (counted by the kernel)", "CPU 0 clock", 'class="wait"'):
        assert words in html
    assert "not known: no meter is listed. Load the driver" in html


def test_a_page_of_many_threads_stays_small() -> None:
    tracks = [ThreadTrack(tid, 1, "t", run_seconds=10.0, wait_seconds=0.0) for tid in range(60)]
    for one in tracks:
        one.slices = [
            Slice(n / 20, (n + 1) / 20, 0.05 * ((n * 7 + one.tid) % 11) / 10, 0.0, n % 8) for n in range(600)
        ]
    html = page.render(traced(tracks), findings.find(tracks, 60.0, 5, 8))
    assert len(html) < 3_000_000


def test_progress_is_drawn_where_the_speeds_of_cpus_are_known() -> None:
    # A second on CPU 1 is worth a quarter of one on CPU 0: they arrive together.
    tracks = [
        track(1, 2.0, name="fast"),
        track(2, 8.0, name="slow", cpu=1),
        track(3, 5.0, name="tauto-balance"),
    ]
    assert "Progress" not in drawn(tracks)
    balanced = with_balance(traced(tracks), 99, msgspec.json.encode(BALANCED))
    assert with_balance(traced(tracks), 99, b"").balance is None
    assert [one.tid for one in balanced.threads.tracks] == [1, 2]
    html = page.render(balanced, findings.find(balanced.threads.tracks, 10.0, 5, 2))
    assert html.count("did 2.00 s of work") == 2
    assert html.count('points="0.0,200.0 1000.0,6.0"') == 2
    assert (
        "7 changes of a CPU in 10.0 s; time over Linux alone 0.80 (0.75 to 0.85), 9 pairs of windows" in html
    )


def test_answer_of_another_process_comes_without_a_file() -> None:
    with Answer() as answer:
        assert answer.read() == b""
        content = b"x" * 300_000  # more than a pipe holds that nobody has widened
        subprocess.run(["sh", "-c", 'exec cat > "$0"', answer.path], input=content, check=True, timeout=60)
        assert answer.read() == content


def test_perfetto_has_a_track_a_cpu_and_a_thread_and_counters() -> None:
    written = perfetto.events([track(4, 5.0, cpu=1)], [LoadSample(0, 0.1, 0.5, None)], [(0.2, 12.5)])
    events = json.loads(json.dumps(written))["traceEvents"]
    names = {event["args"]["name"] for event in events if event["ph"] == "M"}
    assert {"CPUs", "threads", "CPU 1", "solver 4"} <= names
    slices = [event for event in events if event["ph"] == "X"]
    assert [(one["pid"], one["tid"], one["dur"]) for one in slices] == [(1, 1, 5e6), (2, 4, 10e6)]
    counters = {event["name"]: event["args"] for event in events if event["ph"] == "C"}
    load, power = {"percent": 50.0}, {"watts": 12.5}
    assert counters == {"load of CPU 0": load, "power": power, "migrations": {"threads": 0}}


def wandering() -> ThreadTrack:
    slices = [Slice(n, n + 1.0, 1.0, 0.0, cpu) for n, cpu in enumerate((0, 1, 1, 0))]
    return ThreadTrack(7, 1, "solver", run_seconds=4.0, wait_seconds=0.0, slices=slices)


def test_migrations_are_counted_at_each_sample() -> None:
    slices = [Slice(2.0, 3.0, 0.5, 0.0, 0), Slice(3.0, 4.0, 0.5, 0.0, 1)]
    other = ThreadTrack(8, 1, "other", run_seconds=1.0, wait_seconds=0.0, slices=slices)
    assert moves_over_time([wandering(), other]) == [(1.0, 0), (2.0, 1), (3.0, 0), (4.0, 2)]
    events = perfetto.events([wandering(), other])["traceEvents"]
    moved = [(one["ts"], one["args"]["threads"]) for one in events if one["name"] == "migrations"]
    assert moved == [(1e6, 0), (2e6, 1), (3e6, 0), (4e6, 2)]


def test_the_page_draws_load_and_migrations_over_time() -> None:
    html = drawn([wandering()])
    assert 'aria-label="CPU 0 load: 50 % to 100 %"' in html
    assert 'aria-label="migrations: 0 to 1 a sample"' in html
    assert 'aria-label="migrations' not in drawn([track(1, 8.0)])


def test_long_curves_are_drawn_as_means() -> None:
    found = page._thinned([(float(n), float(n % 2)) for n in range(12_000)])
    assert len(found) == 600
    assert found[0] == (19.0, 0.5)
    assert page._thinned([(1.0, 3.0)]) == [(1.0, 3.0)]


def test_the_meters_own_cpu_time_is_part_of_what_looking_on_cost() -> None:
    made = traced([track(1, 8.0)])
    made.threads.sampler_cpu_seconds, made.load.sampler_cpu_seconds = 0.25, 0.5
    recording = Recording("perf", (), sampler_cpu_seconds=2.0, unavailable=Unavailable("it went back"))
    metered = replace(made, energy=recording)
    judged = findings.find(made.threads.tracks, 10.0, 5, 2)
    assert as_record(made, judged).sampler_cpu_seconds == 0.75
    written = as_record(metered, judged)
    assert written.sampler_cpu_seconds == 2.75
    assert (written.joules_reason, written.joules_remedy) == ("it went back", None)
    assert "2, in 2.75 s of CPU time" in page.render(metered, judged)
    right = as_record(replace(made, energy=Recording("perf", (), joules=3.0)), judged)
    assert (right.joules, right.joules_reason) == (3.0, None)


# -- the command --


UNBALANCED = """
import threading, zlib
data = bytes(1 << 22)
def work(times):
    for _ in range(times):
        zlib.crc32(data)
threads = [threading.Thread(target=work, args=(times,)) for times in (600, 150)]
for one in threads: one.start()
for one in threads: one.join()
"""


def run(tmp_path: Path, *command: str, **options: Any) -> tuple[int, str, str]:
    output, messages = io.StringIO(), io.StringIO()
    request = TraceRequest(command, tmp_path / "t.html", tmp_path / "t.json", **{"json": True, **options})
    code = run_trace_command(request, TraceServices(lambda: NO_METER, output, messages))
    return code, output.getvalue(), messages.getvalue()


def test_a_real_program_with_one_thread_that_works_four_times_longer(tmp_path: Path) -> None:
    code, printed, said = run(tmp_path, sys.executable, "-c", UNBALANCED)
    found = json.loads(printed)
    assert code == 0
    workers = sorted(found["threads"], key=lambda one: -one["run_seconds"])
    assert found["unbalanced_tid"] == workers[0]["tid"]
    assert 1.2 < found["imbalance"] < 3.0  # the thread that only started them counts for a little
    assert f"hread {workers[0]['tid']} (" in said
    assert found["joules"] is None
    assert (found["joules_reason"], found["joules_remedy"]) == ("no meter is listed", "Load the driver")
    assert "no energy meter" not in said
    assert found["sampler_cpu_seconds"] < 0.2
    assert (tmp_path / "t.html").read_text().startswith("<!doctype html>")
    assert json.loads((tmp_path / "t.json").read_text())["traceEvents"]


def test_a_program_is_traced_while_it_is_balanced(tmp_path: Path) -> None:
    code, printed, said = run(tmp_path, sys.executable, "-c", UNBALANCED, balance=True)
    found = json.loads(printed)
    assert code == 0
    assert found["command"][0] == sys.executable
    assert found["balance"]["exit_status"] == 0
    assert len(found["balance"]["cpus"]) == len(found["cpus"])
    assert not any(one["name"].startswith("tauto-") for one in found["threads"])
    html = (tmp_path / "t.html").read_text()
    assert "<h2>Progress</h2>" in html
    assert "tauto trace --balance -- " in html
    assert said.startswith("tauto balance: ")


def test_a_program_that_is_missing_is_not_balanced(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert run(tmp_path, "no-such-program", balance=True)[0] == 127
    assert "no-such-program" in capfd.readouterr().err
    assert not (tmp_path / "t.html").exists()


def test_work_in_the_background_is_told(tmp_path: Path) -> None:
    _, printed, said = run(tmp_path, "sh", "-c", f"sleep 1000 & echo $! > {tmp_path}/pid")
    pid = int((tmp_path / "pid").read_text())
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    assert json.loads(printed)["left_running"] != []
    assert "goes on in the background" in said


def test_exit_status_and_missing_programs(tmp_path: Path) -> None:
    assert run(tmp_path, sys.executable, "-c", "raise SystemExit(3)")[0] == 3
    code, _, said = run(tmp_path, "no-such-program")
    assert code == 127
    assert "no-such-program cannot be started" in said


def test_what_cannot_be_meant_is_refused_before_the_command_starts(tmp_path: Path) -> None:
    with pytest.raises(TautoError, match="--hertz 500"):
        run(tmp_path, "true", hertz=500.0)
    with pytest.raises(TautoError, match="would both be"):
        run_trace_command(TraceRequest(("true",), tmp_path / "a", tmp_path / "a"))
    with pytest.raises(TautoError, match="there is no folder"):
        run_trace_command(TraceRequest(("true",), tmp_path / "no/a", tmp_path / "b"))


def test_the_command_line_writes_beside_the_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("tautochrone.trace.command.find_meter", lambda: NO_METER)
    assert main.main(["trace", "--output", "night.html", "--", sys.executable, "-c", "pass"]) == 0
    assert {path.name for path in tmp_path.iterdir()} == {"night.html", "night.json"}


def test_ctrl_c_is_the_commands_business(tmp_path: Path) -> None:
    code = (
        "import sys; from tautochrone.cli.main import main; "
        "sys.exit(main(['trace', '--', sys.executable, '-c', "
        "'import signal, os, time; signal.signal(signal.SIGINT, lambda *a: os._exit(9)); "
        "os.kill(os.getppid(), signal.SIGINT); time.sleep(0.3); "
        "os.kill(os.getpid(), signal.SIGINT); time.sleep(9)']))"
    )
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).resolve().parents[2] / "lab")}
    finished = run_to_end([sys.executable, "-c", code], cwd=tmp_path, env=environment)
    assert finished.returncode == 9
