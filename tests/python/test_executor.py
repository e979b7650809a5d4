"""Real processes: what is counted of them, how they are stopped, and what their failures are called."""

from __future__ import annotations

import errno
import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import textwrap
import time
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import pytest

from processes import is_running, wait_until, with_lab
from tautochrone.errors import TautoError
from tautochrone.measuring.configuration import Configuration
from tautochrone.measuring.executor import RunResult
from tautochrone.measuring.inside import control_group, counters
from tautochrone.measuring.inside.starter import STDOUT_KEPT_BYTES, Output
from tautochrone.measuring.subprocess_executor import (
    PADDING_VARIABLE,
    Printed,
    ProgramExecutor,
    RunnerExecutor,
    output_file,
)

pytestmark = pytest.mark.timed


@pytest.fixture
def executor() -> Iterator[RunnerExecutor]:
    with RunnerExecutor() as one:
        yield one


@pytest.fixture
def plain() -> Iterator[ProgramExecutor]:
    """For programs that print what they like: the figure of merit is the wall time."""
    with ProgramExecutor() as one:
        yield one


def shell(script: str, **environment: str) -> Configuration:
    return Configuration("a script", ["/bin/sh", "-c", script], environment, {"script": script})


def python(code: str) -> Configuration:
    return Configuration("a program", [sys.executable, "-I", "-S", "-c", textwrap.dedent(code)])


def kind_and_message(result: RunResult) -> tuple[str, str]:
    assert result.error is not None
    assert result.seconds is None
    return result.error.kind, result.error.message


def assert_gone(pid: int) -> None:
    wait_until(lambda: not is_running(pid), "the program's end")


def test_a_runners_line_becomes_the_result(executor: RunnerExecutor) -> None:
    result = executor.run(
        shell("""echo '{"seconds": 0.00025, "check": {"passed": true}, "threads": 2}'"""), 60
    )
    assert (result.seconds, result.error) == (0.00025, None)
    assert result.record["threads"] == 2
    assert result.elapsed_seconds > 0
    assert result.voluntary_switches is not None


def test_a_program_that_knows_nothing_of_us_is_timed_from_outside(plain: ProgramExecutor) -> None:
    result = plain.run(shell("echo hello; echo again"), 60)
    assert (result.seconds, result.record, result.error) == (result.elapsed_seconds, {}, None)


SAYS = "echo 'tauto-loop: error: so it is' >&2"


@pytest.mark.parametrize(
    ("script", "kind", "message"),
    [
        (f"{SAYS}; exit 1", "failed", "tauto-loop: error: so it is"),
        (f"{SAYS}; exit 2", "failed", "tauto-loop: error: so it is"),
        (f"{SAYS}; exit 3", "wrong_answer", "tauto-loop: error: so it is"),
        (f"{SAYS}; exit 4", "missing_worker", "tauto-loop: error: so it is"),
        (f"{SAYS}; exit 5", "not_installed", "tauto-loop: error: so it is"),
        (f"{SAYS}; exit 9", "failed", "tauto-loop: error: so it is"),
        ("exit 7", "failed", "it ended with exit code 7"),
        ("echo oops >&2; kill -SEGV $$", "failed", "it was killed by SIGSEGV: oops"),
        ("seq 100000 >&2; exit 1", "failed", "99998; 99999; 100000"),  # the last lines of stderr are kept
    ],
)
def test_a_failure_has_its_kind_and_the_programs_own_words_or_its_code_or_signal(
    executor: RunnerExecutor, script: str, kind: str, message: str
) -> None:
    assert kind_and_message(executor.run(shell(script), 60)) == (kind, message)


@pytest.mark.parametrize(
    ("output", "complaint"),
    [
        ("", "printed 0 lines"),
        ('{"seconds": 1}\n{"seconds": 1}', "printed 2 lines"),
        ("done", "did not print JSON (JSON is malformed"),
        ("[1]", "did not print a JSON object but '[1]'"),
        ("[" * 100_000, "more than 32 levels"),
        ('{"a":' * 100 + "1" + "}" * 100, "more than 32 levels"),
        ('{"seconds": 1e999}', "Number out of range"),
        ('{"seconds": 1, "blocks": ' + "9" * 30 + "}", "more than 64 bits"),
        ('{"seconds": 1, "check": 5}', "Expected `object | null`, got `int` - at `$.check`"),
        ('{"seconds": 1, "energy": 7}', "got `int` - at `$.energy`"),
        ('{"seconds": 1, "workers": [7]}', "got `int` - at `$.workers[0]`"),
        ('{"seconds": NaN}', "did not print JSON"),
        ('{"seconds": null}', "printed no seconds"),
        ('{"seconds": 0}', ">= 1e-15 - at `$.seconds`"),
        ('{"seconds": "1"}', "got `str` - at `$.seconds`"),
        ("{}", "printed no seconds"),
    ],
)
def test_a_runner_that_prints_something_else_has_failed(
    executor: RunnerExecutor, output: str, complaint: str
) -> None:
    kind, message = kind_and_message(executor.run(shell(f"printf '%s\\n' '{output}'"), 60))
    assert kind == "failed"
    assert complaint in message


def test_a_wrong_answer_is_an_error_though_the_program_ends_well(executor: RunnerExecutor) -> None:
    wrong = shell("""echo '{"seconds": 1, "check": {"passed": false, "relative_error": 0.5}}'""")
    kind, message = kind_and_message(executor.run(wrong, 60))
    assert kind == "wrong_answer"
    assert "0.5" in message


def test_a_program_that_is_not_there_is_not_installed(executor: RunnerExecutor) -> None:
    words = "/nowhere/tauto-loop-tbb cannot be started: No such file or directory"
    result = executor.run(Configuration("x", ["/nowhere/tauto-loop-tbb"]), 60)
    assert kind_and_message(result) == ("not_installed", words)


def test_a_file_that_is_no_program_has_failed(executor: RunnerExecutor) -> None:
    assert kind_and_message(executor.run(Configuration("x", ["/etc/passwd"]), 60))[0] == "failed"


def test_a_program_at_its_time_limit_is_stopped(executor: RunnerExecutor) -> None:
    result = executor.run(shell("echo waiting >&2; exec sleep 1000"), 2.0)
    assert kind_and_message(result) == ("timeout", "it was stopped at the time limit of 2 s: waiting")
    assert 2.0 <= result.elapsed_seconds < 100


def test_a_program_that_ignores_the_polite_signal_is_killed(executor: RunnerExecutor) -> None:
    result = executor.run(shell("trap '' TERM; while :; do :; done"), 0.2)
    assert kind_and_message(result)[0] == "timeout"


def test_the_whole_group_is_stopped_and_its_strays_too(plain: ProgramExecutor, tmp_path: Path) -> None:
    script = f"sleep 1000 & echo $! > {tmp_path}/child; setsid sleep 1000 & echo $! > {tmp_path}/stray; wait"
    plain.run(shell(script), 3.0)
    for name in ("child", "stray"):
        assert_gone(int((tmp_path / name).read_text()))


@pytest.mark.parametrize("how", ["", "setsid "], ids=["in its group", "in a session of its own"])
def test_a_run_that_leaves_work_running_is_an_error_and_the_work_is_ended(
    plain: ProgramExecutor, tmp_path: Path, how: str
) -> None:
    result = plain.run(shell(f"{how}sleep 1000 & echo $! > {tmp_path}/stray; echo done"), 60)
    kind, message = kind_and_message(result)
    assert kind == "failed"
    assert "left work running when it ended, which was stopped: " in message
    assert_gone(int((tmp_path / "stray").read_text()))


def test_a_runner_that_leaves_work_running_has_no_result(executor: RunnerExecutor) -> None:
    result = executor.run(shell("""sleep 1000 & echo '{"seconds": 1}'"""), 60)
    assert "left work running" in kind_and_message(result)[1]


MOUNTS = """
22 1 0:20 / /proc rw - proc proc rw
30 22 0:27 / /sys/fs/cgroup rw shared:4 - cgroup2 cgroup2 rw,nsdelegate
"""


@pytest.mark.parametrize(
    ("mounts", "groups", "folder"),
    [
        (MOUNTS, "0::/user.slice/app.scope\n", "/sys/fs/cgroup/user.slice/app.scope"),
        (MOUNTS, "4:memory:/x\n0::/\n", "/sys/fs/cgroup"),
        (MOUNTS.replace("0:27 /", "0:27 /pod/one"), "0::/pod/one/run\n", "/sys/fs/cgroup/run"),
        (MOUNTS.replace("0:27 /", "0:27 /pod/one"), "0::/pod/other\n", None),
        (MOUNTS.replace("cgroup2", "cgroup"), "0::/x\n", None),
        (MOUNTS, "4:memory:/x\n", None),
    ],
)
def test_the_folder_of_our_own_control_group_is_found(mounts: str, groups: str, folder: str | None) -> None:
    assert control_group.own_folder(mounts, groups) == folder


def test_a_mount_whose_name_is_no_text_hides_no_control_group(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "cgroup").write_text("0::/app\n")
    mounts = "29 22 0:26 / /media/caf\xe9 rw - vfat none rw" + MOUNTS.replace("/sys/fs", "/m\xe4")
    (tmp_path / "mountinfo").write_bytes(mounts.encode("latin-1"))

    def opened(path: str, **how: Any) -> IO[str]:
        return (tmp_path / Path(path).name).open(**how)

    monkeypatch.setattr(control_group, "open", opened, raising=False)
    folder = control_group.folder_here()
    assert folder is not None
    assert os.fsencode(folder) == b"/m\xe4/cgroup/app"


def test_where_no_control_group_can_be_made_there_is_none_and_nothing_is_left(tmp_path: Path) -> None:
    for folder in (None, str(tmp_path / "nowhere"), str(tmp_path)):  # the last: a folder without cgroup.procs
        groups = control_group.Groups(folder)
        for _ in range(2):
            assert ended_child_of(groups) == (7, None), folder
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("born_inside", [True, False], ids=["born in its group", "moved there"])
def test_a_child_is_in_its_group_and_what_it_did_before_the_program_is_not_counted(born_inside: bool) -> None:
    groups = control_group.Groups(control_group.folder_here())
    groups._born_inside = born_inside
    gate, opened = os.pipe()
    pid, group = groups.fork()
    if pid == 0:
        os.read(gate, 1)
        os._exit(burnt(0.02))
    if group is None:
        os.write(opened, b".")
        os.waitpid(pid, 0)
        pytest.skip("no control group can be made here")
    assert groups._born_inside == born_inside, "this kernel forks into a group"
    assert group.processes() == [pid]
    group._before = 5.0, 5.0
    group.begin()
    os.write(opened, b".")
    os.waitpid(pid, 0)
    user, system = group.cpu_seconds() or (0.0, 0.0)
    group.end()
    assert 0.02 <= user + system < 1.0
    assert not os.path.exists(group._folder)  # noqa: PTH110


def test_where_a_process_cannot_be_born_in_a_group_it_is_moved_there(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(group: control_group.Group) -> int:
        raise OSError(38, "clone3")

    monkeypatch.setattr(control_group.Group, "fork", refused)
    groups = control_group.Groups(control_group.folder_here())
    code, group = ended_child_of(groups)
    assert code == 7
    assert not groups._born_inside or group is None
    if group is not None:
        group.end()


def burnt(seconds: float) -> int:
    """Use so much CPU time."""
    end = time.process_time() + seconds
    while time.process_time() < end:
        pass
    return 0


def ended_child_of(groups: control_group.Groups) -> tuple[int, control_group.Group | None]:
    """The exit code of a child, and its group."""
    pid, group = groups.fork()
    if pid == 0:
        os._exit(7)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), group


def test_groups_of_killed_starters_are_removed_and_those_of_others_stay(tmp_path: Path) -> None:
    for name in ("tauto-run-999999999-1", f"tauto-run-{os.getpid()}-1", "somebody's"):
        (tmp_path / name).mkdir()
    control_group.Groups(str(tmp_path))
    assert {path.name for path in tmp_path.iterdir()} == {f"tauto-run-{os.getpid()}-1", "somebody's"}


def test_a_run_says_what_held_it_and_leaves_no_control_group(plain: ProgramExecutor) -> None:
    result = plain.run(shell("i=0; while [ $i -lt 50000 ]; do i=$((i+1)); done"), 60)
    assert result.held_by in (control_group.CONTROL_GROUP, control_group.PROCESS_GROUP)
    assert result.user_seconds is not None
    assert result.user_seconds > 0.005
    folder = control_group.folder_here()
    if folder is not None:
        own = {child.pid for child in [plain._process] if child is not None}
        names = [path.name for path in Path(folder).glob("tauto-run-*")]
        assert not [name for name in names if int(name.split("-")[2]) in own]


SHARES = """
import mmap, os, sys, time
held = None
for path in sys.argv[1:3]:
    with open(path, "w+b") as file:
        file.truncate(4096)
        held = held or mmap.mmap(file.fileno(), 4096)
registered = f"/dev/shm/__KMP_REGISTERED_LIB_{os.getpid()}_0"
open(registered, "w").close()
with open(sys.argv[3], "w") as said:
    said.write(registered)
time.sleep(1000)
"""


def test_a_killed_run_leaves_none_of_its_libraries_files_in_shared_memory(
    plain: ProgramExecutor, tmp_path: Path
) -> None:
    own, other = f"/dev/shm/vader_segment.test.{os.getpid()}", f"/dev/shm/users.test.{os.getpid()}"
    said = tmp_path / "said"
    try:
        words = [sys.executable, "-c", SHARES, own, other, str(said)]
        result = plain.run(Configuration("shares", words), 3.0)
        assert kind_and_message(result)[0] == "timeout"
        assert Path(other).exists(), "it was made, and is the program's own"
        assert not Path(own).exists()
        registered = Path(said.read_text())
        assert registered.name.startswith("__KMP")
        assert not registered.exists()
    finally:
        Path(own).unlink(missing_ok=True)
        Path(other).unlink(missing_ok=True)


def test_what_ends_by_itself_is_no_error_and_its_cpu_time_is_counted(
    plain: ProgramExecutor, tmp_path: Path
) -> None:
    # The inner shell's child is an orphan when it computes, and has ended before the program does.
    done = tmp_path / "done"
    orphan = f"i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done; touch {done}"
    waits = f"while [ ! -e {done} ]; do sleep 0.01; done; sleep 0.05"
    result = plain.run(shell(f"(sh -c '{orphan}' &); {waits}"), 60)
    assert result.error is None
    assert result.user_seconds is not None
    assert result.user_seconds > 0.03


LAB = """
    import sys
    from tautochrone.measuring.configuration import Configuration
    from tautochrone.measuring.subprocess_executor import RunnerExecutor
    script = f"echo $$ > {sys.argv[1]}/part; mv {sys.argv[1]}/part {sys.argv[1]}/pid; exec sleep 1000"
    try:
        RunnerExecutor().run(Configuration("x", ["/bin/sh", "-c", script]), 1000)
    except KeyboardInterrupt:
        sys.exit(130)
"""


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGKILL, -9)])
def test_ctrl_c_or_the_death_of_the_lab_ends_the_program(tmp_path: Path, number: int, code: int) -> None:
    command = [sys.executable, "-c", textwrap.dedent(LAB), str(tmp_path)]
    with subprocess.Popen(command, env=with_lab()) as lab:
        while not (tmp_path / "pid").exists():
            assert lab.poll() is None
        pid = int((tmp_path / "pid").read_text())
        assert is_running(pid)
        lab.send_signal(number)
        assert lab.wait(60) == code
    assert_gone(pid)


def test_peak_memory_is_the_programs_own(plain: ProgramExecutor) -> None:
    # One after the other: a later program must be able to show less than an earlier one, and less than we do.
    sizes = []
    for megabytes in (20, 120, 20):
        result = plain.run(python(f"x = bytearray({megabytes} << 20)"), 60)
        sizes.append(result.max_rss_bytes / 2**20)
    assert 20 < sizes[0] < 60
    assert 120 < sizes[1] < 160
    assert sizes[2] == pytest.approx(sizes[0], abs=5)
    ballast = bytearray(100 << 20)
    ballast[::4096] = b"x" * len(ballast[::4096])
    small = plain.run(shell("true"), 60)
    assert small.max_rss_bytes < 16 << 20


def test_cpu_time_is_the_programs_own(plain: ProgramExecutor) -> None:
    busy = plain.run(python("import time\nwhile time.process_time() < 0.3: pass"), 60)
    idle = plain.run(shell("true"), 60)
    assert busy.user_seconds + busy.system_seconds >= 0.3
    assert idle.user_seconds < 0.2


def test_the_environments_size_differs_from_run_to_run_and_repeats_with_the_seed() -> None:
    script = f"""printf '{{"seconds": 1, "size": %d}}' ${{#{PADDING_VARIABLE}}}"""

    def sizes(seed: int) -> list[int]:
        with RunnerExecutor(seed=seed) as one:
            return [int(one.run(shell(script), 60).record["size"]) for _ in range(6)]

    first = sizes(1)
    assert len(set(first)) > 3
    assert all(0 <= size <= 4095 for size in first)
    assert first == sizes(1) != sizes(2)


def test_a_configurations_environment_is_laid_over_ours(
    executor: RunnerExecutor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FIRST", "ours")
    monkeypatch.setenv("SECOND", "ours")
    script = """echo "{\\"seconds\\": 1, \\"said\\": \\"$FIRST $SECOND\\"}" """
    assert executor.run(shell(script, SECOND="theirs"), 60).record["said"] == "ours theirs"


def test_a_program_gets_ordinary_signals_and_an_empty_input(executor: RunnerExecutor) -> None:
    code = """
        import json, os, signal, sys
        names = ("SIGINT", "SIGPIPE", "SIGTERM")
        ignored = [name for name in names if signal.getsignal(signal.Signals[name]) == signal.SIG_IGN]
        group = os.getpgrp() == os.getpid()
        print(json.dumps({"seconds": 1, "input": sys.stdin.read(), "group": group, "ignored": ignored}))
    """
    record = executor.run(python(code), 60).record
    assert record["input"] == ""
    assert record["group"] is True
    # Python itself ignores SIGPIPE and nothing else.
    assert record["ignored"] == ["SIGPIPE"]


def test_much_output_does_not_stop_a_program(plain: ProgramExecutor) -> None:
    assert plain.run(shell("head -c 20000000 /dev/zero; head -c 1000000 /dev/zero >&2"), 60).error is None


def test_counters_are_numbers_or_a_reason_with_a_remedy(plain: ProgramExecutor) -> None:
    result = plain.run(python("x = 0\nfor i in range(1000000): x += i"), 60)
    if result.counters is None:
        assert ". " in result.counters_reason
    else:
        assert any(isinstance(result.counters[name], int) for name in counters.HARDWARE)
        assert result.counters["scope"] in ("user", "user and kernel")
    assert result.migrations is None or result.migrations >= 0


def test_migrations_are_counted_where_the_kernel_allows_it(plain: ProgramExecutor) -> None:
    allowed = sorted(os.sched_getaffinity(0))
    code = f"""
        import os
        for cpu in 10 * {allowed[:2]}:
            os.sched_setaffinity(0, [cpu])
    """
    result = plain.run(python(code), 60)
    if result.migrations is None or len(allowed) < 2:
        pytest.skip("needs two CPUs and the right to count")
    assert result.migrations >= 19


@pytest.mark.parametrize(
    ("code", "word"),
    [
        (errno.EACCES, "perf_event_paranoid"),
        (errno.ENOENT, "virtual"),
        (errno.ENOSYS, "sandbox"),
        (errno.EMFILE, "Too many open files"),
    ],
)
def test_every_refusal_of_a_counter_names_a_remedy(code: int, word: str) -> None:
    reason, remedy = counters.refusal(code).split(". ", 1)
    assert word in reason + remedy
    assert remedy[0].isupper()


def test_a_hybrid_machine_counts_on_each_kind_of_core(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, kind in (("cpu_core", "4"), ("cpu_atom", "10"), ("msr", "9")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "type").write_text(kind + "\n")
    monkeypatch.setattr(counters, "_DEVICES", str(tmp_path))
    assert counters._core_units() == [10, 4]
    monkeypatch.setattr(counters, "_DEVICES", str(tmp_path / "nothing"))
    assert counters._core_units() == [0]


def test_a_counter_that_reads_zero_after_real_work_is_not_believed(monkeypatch: pytest.MonkeyPatch) -> None:
    values = {"cache_references": 0, "cache_misses": 0, "llc_loads": 1000, "llc_load_misses": 10}
    values["migrations"] = 0
    monkeypatch.setattr(counters.Counters, "_open", lambda *ignored: True)
    monkeypatch.setattr(counters.Counters, "_read", lambda self, name: values.get(name))
    hardware, reason, software = counters.Counters(1).read(cpu_seconds=1.0)
    assert (hardware["cache_references"], hardware["cache_misses"]) == (None, None)
    assert (hardware["llc_loads"], hardware["llc_load_misses"]) == (1000, 10)
    assert "reads 0 after 1.00 s" in reason
    assert software["migrations"] == 0
    short, _, _ = counters.Counters(1).read(cpu_seconds=0.001)
    assert short["cache_references"] == 0


def test_a_starter_that_died_is_told_and_the_next_run_gets_a_new_one(executor: RunnerExecutor) -> None:
    good = shell("""echo '{"seconds": 1e-6}'""")
    executor.run(good, 60)
    assert executor._process is not None
    kill = shell("kill -9 $PPID; exec sleep 1000")
    with pytest.raises(TautoError, match="has died"):
        executor.run(kill, 60)
    assert executor.run(good, 60).seconds == 1e-6


@pytest.mark.parametrize("how", ["", "setsid "], ids=["in its session", "in its control group alone"])
def test_what_a_killed_starter_has_left_at_work_is_ended(
    executor: RunnerExecutor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    held = executor.run(shell("""echo '{"seconds": 1e-6}'"""), 60).held_by
    if how and held != control_group.CONTROL_GROUP:
        pytest.skip("no control group can be made here")
    if not how:
        monkeypatch.setattr(control_group, "folder_here", lambda: None)
    begin = f"{how}sh -c 'sleep 1000 & echo $! > {tmp_path}/stray; wait' &"
    wait = f"until [ -s {tmp_path}/stray ]; do :; done"
    with pytest.raises(TautoError, match="has died"):
        executor.run(shell(f"{begin} {wait}; kill -9 $PPID; exec sleep 1000"), 60)
    assert_gone(int((tmp_path / "stray").read_text()))


def test_closing_twice_is_allowed_and_a_closed_executor_starts_anew(executor: RunnerExecutor) -> None:
    executor.close()
    executor.close()
    assert executor.run(shell("""echo '{"seconds": 1e-6}'"""), 60).seconds == 1e-6


def test_the_end_of_a_stream_is_kept() -> None:
    reading, writing = os.pipe()
    output = Output(reading, 10)
    for word in (b"0123456789abc", b"def", b"gh"):
        os.write(writing, word)
        assert output.take()
    os.close(writing)
    assert not output.take()
    os.close(reading)
    assert (output.data, output.total) == (b"89abcdefgh", 18)


def test_reading_costs_the_same_however_much_is_kept() -> None:
    reading, writing = os.pipe()
    output = Output(reading, STDOUT_KEPT_BYTES)
    costs = []
    for _ in range(STDOUT_KEPT_BYTES // (1 << 16) + 64):
        os.write(writing, bytes(1 << 16))
        begun = time.thread_time()
        output.take()
        costs.append(time.thread_time() - begun)
    os.close(reading)
    os.close(writing)
    assert statistics.median(costs[-32:]) < 10 * statistics.median(costs[:8]) + 1e-4


def test_the_file_with_all_output_has_no_name_that_a_killed_search_could_leave(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with output_file() as path:
        path.write_text("all")
        assert path.read_text() == "all"
        assert list(tmp_path.iterdir()) == []


def test_a_judge_can_have_all_that_was_printed() -> None:
    lengths = []

    def judge(printed: Printed, folder: Path | None) -> tuple[dict[str, object], None]:
        lengths.append((len(printed.output), printed.whole and printed.whole.stat().st_size))
        return {}, None

    command = shell("head -c 5000000 /dev/zero; echo end")
    for whole_output in (True, False):
        with ProgramExecutor(judge=judge, whole_output=whole_output) as one:
            assert one.run(command, 60.0).error is None
    assert lengths == [(STDOUT_KEPT_BYTES, 5000004), (STDOUT_KEPT_BYTES, None)]


@pytest.mark.parametrize(
    ("told", "complaint"),
    [
        ({"seconds": 12345}, "a repetition took 1.23e+04 s, but its process lived for"),
        ({"seconds": 1e-6, "timed_seconds": 500.0}, "all that it timed took 500 s, but"),
        (
            {"seconds": 1e-10, "timed_seconds": 1e-3, "iterations": 10, "batch_iterations": 1},
            "says 1e-10 s, but 10 repetitions in 0.001 s are 0.0001 s each",
        ),
        (
            {"seconds": 5e-4, "timed_seconds": 1e-3, "iterations": 100, "batch_iterations": 1},
            "says 0.0005 s, but 100 repetitions",
        ),
        (
            {"seconds": 1e-4, "timed_seconds": 1e-3, "iterations": 3, "batch_iterations": 1}
            | {"batch_seconds": [2e-4, 3e-4, 5e-4]},
            "says 0.0001 s, but the median of its batches is 0.0003 s",
        ),
        ({"seconds": 1e-6, "timed_seconds": "long"}, "wrong field"),
        ({"seconds": 1e-6, "iterations": 0, "timed_seconds": 0, "batch_iterations": 0}, "says 1e-06 s"),
    ],
)
def test_a_runner_whose_times_cannot_be_has_failed(
    executor: RunnerExecutor, told: dict[str, object], complaint: str
) -> None:
    kind, message = kind_and_message(executor.run(shell(f"printf '%s\\n' '{json.dumps(told)}'"), 60))
    assert kind == "failed"
    assert complaint in message


def test_a_runner_whose_times_can_be_is_believed(executor: RunnerExecutor) -> None:
    told = {"seconds": 1e-4, "timed_seconds": 1e-3, "iterations": 9, "batch_iterations": 1}
    batches = {"batch_seconds": [2e-4, 1e-4, 5e-5], "batch_iterations": 3}
    # Another program held up one batch.
    for record in (told, {**told, **batches}, {**told, "seconds": 1e-6}, {"seconds": 1e-6}):
        result = executor.run(shell(f"printf '%s\\n' '{json.dumps(record)}'"), 60)
        assert result.seconds == record["seconds"], result.error
