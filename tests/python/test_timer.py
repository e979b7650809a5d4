"""tauto-timer as the lab sees it: what it answers, how it stops programs, and that nothing is left."""

from __future__ import annotations

import errno
import json
import os
import pty
import select
import shlex
import signal
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from processes import family_of, is_running, name_of, wait_until
from tautochrone.machine import runners

pytestmark = pytest.mark.timed

KEPT_BYTES = 64 << 10
ERRORS_KEPT_BYTES = 4 << 10


class Timer:
    """The executable, and a request at a time."""

    def __init__(self, **options: Any) -> None:
        command = [str(runners.find("tauto-timer"))]
        self.process = subprocess.Popen(
            command, **{"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, **options}
        )
        self._requests = 0

    def send(self, command: Sequence[str], **fields: object) -> int:
        self._requests += 1
        self.write(json.dumps({"number": self._requests, "command": list(command), **fields}))
        return self._requests

    def write(self, line: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(line.encode() + b"\n")
        self.process.stdin.flush()

    def answer(self) -> Any:
        assert self.process.stdout is not None
        return json.loads(self.process.stdout.readline())

    def run(self, command: Sequence[str], **fields: object) -> Any:
        number = self.send(command, **fields)
        answer = self.answer()
        assert answer["number"] == number
        return answer

    def shell(self, script: str, **fields: object) -> Any:
        return self.run(["/bin/sh", "-c", script], **fields)

    @property
    def worker(self) -> int:
        """The process that starts the programs; the one that we started guards it."""
        (pid,) = (pid for pid in family_of(self.process.pid) if name_of(pid) == "tauto-timer")
        return pid

    def close(self) -> None:
        with self.process:
            assert self.process.stdin is not None
            self.process.stdin.close()
            assert self.process.wait(60) == 0


@pytest.fixture
def timer() -> Iterator[Timer]:
    one = Timer()
    yield one
    if one.process.poll() is None:
        one.close()


def python(code: str) -> list[str]:
    return [sys.executable, "-I", "-S", "-c", textwrap.dedent(code)]


def pids_in(path: Path, count: int) -> list[int]:
    """The numbers that so many processes have written there, a line each."""
    wait_until(lambda: path.exists() and path.read_text().count("\n") >= count, "the program's start")
    return [int(line) for line in path.read_text().split()]


def assert_gone(pids: Sequence[int]) -> None:
    for pid in pids:
        wait_until(lambda pid=pid: not is_running(pid), f"the end of process {pid}")  # type: ignore[misc]


def executable(path: Path, text: str) -> str:
    path.write_text(text)
    path.chmod(0o755)
    return str(path)


def test_a_run_is_timed_and_accounted_for(timer: Timer) -> None:
    code = """
        import time
        held = bytearray(64 << 20)
        while time.process_time() < 0.2:
            pass
        time.sleep(0.1)
    """
    answer = timer.run(python(code))
    assert (answer["runs"], answer["exit_codes"]) == (1, [0])
    assert (answer["stopped_for"], answer["start_error"], answer["start_error_of"]) == (None, None, None)
    (elapsed,) = answer["elapsed"]
    cpu_seconds = answer["user_seconds"] + answer["system_seconds"]
    assert cpu_seconds >= 0.2
    assert elapsed >= cpu_seconds * 0.99 + 0.1  # the clock of CPU time may be a tick ahead
    assert answer["max_rss_bytes"] > 64 << 20
    assert answer["minor_faults"] > 1000
    assert answer["major_faults"] >= 0
    assert answer["voluntary_switches"] >= 1
    assert answer["involuntary_switches"] >= 0
    assert (answer["left_running"], answer["held_by"]) == ([], "process group")
    assert answer["reads_terminal"] is False
    assert answer["load_before"] >= 0
    assert answer["others_cpu_seconds"] >= 0
    assert answer["steal_seconds"] >= 0
    assert answer["bridge_seconds"] > 0
    assert "congruence" in answer["bridge"]
    assert (answer["stdout"], answer["stdout_bytes"], answer["stdout_hash"]) == (None, None, None)
    assert answer["stderr"] == ""


def test_programs_that_do_nothing_take_next_to_nothing(timer: Timer) -> None:
    """And the timer's own memory is not theirs."""
    shared, alone = (
        timer.run([str(runners.find(f"tauto-nothing{end}"))], repeat=20) for end in ("", "-static")
    )
    for answer in (shared, alone):
        assert answer["exit_codes"] == [0] * 20
    # Not which is less: the kernel counts pages by CPU, so it knows a peak to some hundred KiB only.
    assert all(0 < answer["max_rss_bytes"] < 8 << 20 for answer in (alone, shared))
    assert alone["minor_faults"] < shared["minor_faults"]


def test_runs_are_repeated_as_often_as_asked(timer: Timer) -> None:
    answer = timer.run(["true"], repeat=7)
    assert (answer["runs"], len(answer["elapsed"]), answer["exit_codes"]) == (7, 7, [0] * 7)


def test_a_window_is_filled_with_runs(timer: Timer) -> None:
    answer = timer.run(["true"], window_seconds=0.2)
    assert answer["runs"] >= 2
    assert sum(answer["elapsed"][:-1]) < 0.2
    assert timer.run(["true"], window_seconds=0.0)["runs"] == 1
    assert timer.run(["true"], window_seconds=60, repeat=3)["runs"] == 3


def test_a_failure_ends_a_window_unless_failures_are_wanted(timer: Timer, tmp_path: Path) -> None:
    script = f"echo >> {tmp_path}/runs; test $(wc -l < {tmp_path}/runs) != 3"
    assert timer.shell(script, repeat=10)["exit_codes"] == [0, 0, 1]
    assert timer.shell(script, repeat=3, window_seconds=60)["exit_codes"] == [0, 0, 0]
    assert timer.shell("exit 7", repeat=3, after_failure=True)["exit_codes"] == [7, 7, 7]


def test_exit_codes_and_signals_are_told_apart(timer: Timer) -> None:
    assert timer.shell("exit 9")["exit_codes"] == [9]
    assert timer.shell("kill -SEGV $$")["exit_codes"] == [-signal.SIGSEGV]
    assert timer.shell("kill -KILL $$")["exit_codes"] == [-signal.SIGKILL]


@pytest.mark.parametrize(
    ("make", "error"),
    [
        (lambda folder: str(folder / "missing"), errno.ENOENT),
        (lambda folder: "no-program-has-this-name", errno.ENOENT),
        (lambda folder: "", errno.ENOENT),
        (lambda folder: str(folder), errno.EACCES),
        (lambda folder: executable(folder / "script", "echo a script without a first line\n"), errno.ENOEXEC),
        (lambda folder: executable(folder / "empty", ""), errno.ENOEXEC),
        (lambda folder: executable(folder / "lost", "#!/no/such/interpreter\n"), errno.ENOENT),
    ],
)
def test_what_cannot_be_started_is_an_error_number(
    timer: Timer, tmp_path: Path, make: Callable[[Path], str], error: int
) -> None:
    answer = timer.run([make(tmp_path)], repeat=3)
    assert (answer["runs"], answer["elapsed"], answer["exit_codes"]) == (0, [], [])
    assert (answer["start_error"], answer["start_error_of"]) == (error, "command")
    assert timer.run(["true"])["exit_codes"] == [0]


def test_a_file_that_may_not_be_executed(timer: Timer, tmp_path: Path) -> None:
    (tmp_path / "data").write_text("data")
    answer = timer.run([str(tmp_path / "data")])
    assert (answer["start_error"], answer["start_error_of"]) == (errno.EACCES, "command")
    answer = timer.run(["data"], set={"PATH": str(tmp_path)})
    assert (answer["start_error"], answer["start_error_of"]) == (errno.EACCES, "command")


@pytest.mark.parametrize(
    ("fields", "error", "what"),
    [
        ({"folder": "missing"}, errno.ENOENT, "folder"),
        ({"input": "missing"}, errno.ENOENT, "input"),
        ({"output": "missing/output"}, errno.ENOENT, "output"),
        ({"output": "."}, errno.EISDIR, "output"),
        ({"cpus": [60000]}, errno.EINVAL, "cpus"),
    ],
)
def test_what_a_start_lacks_is_named(timer: Timer, fields: dict[str, object], error: int, what: str) -> None:
    answer = timer.run(["true"], **fields)
    assert (answer["runs"], answer["start_error"], answer["start_error_of"]) == (0, error, what)


def test_programs_are_found_as_the_shell_finds_them(timer: Timer, tmp_path: Path) -> None:
    """The first that may be executed; with the variable that the program gets, and from its folder."""
    for name in ("first", "second"):
        (tmp_path / name).mkdir()
        executable(tmp_path / name / "prog", f"#!/bin/sh\necho {name}\n")
    paths = {"PATH": f"/missing:{tmp_path}/first:{tmp_path}/second"}
    assert timer.run(["prog"], output="keep", set=paths)["stdout"] == "first\n"
    (tmp_path / "first" / "prog").chmod(0o644)
    assert timer.run(["prog"], output="keep", set=paths)["stdout"] == "second\n"
    here = {"folder": str(tmp_path / "second"), "output": "keep"}
    for fields in ({"set": {"PATH": ""}}, {"set": {"PATH": "."}}, {"set": {"PATH": "../second"}}):
        assert timer.run(["prog"], **here, **fields)["stdout"] == "second\n"
    assert timer.run(["./prog"], **here)["stdout"] == "second\n"


def test_variables_are_laid_over_those_of_the_timer(tmp_path: Path) -> None:
    timer = Timer(env={"PATH": os.environ["PATH"], "KEPT": "kept", "CHANGED": "old", "REMOVED": "there"})
    answer = timer.run(["env"], output="keep", set={"CHANGED": "new=1", "ADDED": "", "REMOVED": None})
    assert {line for line in answer["stdout"].splitlines() if not line.startswith("PATH=")} == {
        "KEPT=kept",
        "CHANGED=new=1",
        "ADDED=",
    }
    timer.close()


def test_words_and_variables_may_be_any_bytes(timer: Timer) -> None:
    word, value = (os.fsdecode(text) for text in (b"a\xff b", "ü\x01€".encode() + b"\xc3"))
    script = 'printf "%s|%s" "$1" "$VALUE" | od -An -tx1 | tr -d " \\n"'
    answer = timer.run(["sh", "-c", script, "sh", word], output="keep", set={"VALUE": value})
    assert bytes.fromhex(answer["stdout"]) == os.fsencode(f"{word}|{value}")


def test_a_run_has_its_folder_cpus_and_priority(timer: Timer, tmp_path: Path) -> None:
    cpu = max(os.sched_getaffinity(0))
    script = "pwd; grep Cpus_allowed_list /proc/self/status | cut -f2; nice"
    answer = timer.shell(script, folder=str(tmp_path), cpus=[cpu], nice=3, output="keep")
    least = os.nice(0)
    assert answer["stdout"].splitlines() == [str(tmp_path), str(cpu), str(min(19, least + 3))]
    answer = timer.shell(script, output="keep")  # and the next one those of the timer
    assert answer["stdout"].splitlines()[::2] == [str(Path.cwd()), str(least)]


def test_each_run_reads_its_input_from_the_beginning(timer: Timer, tmp_path: Path) -> None:
    (tmp_path / "input").write_text("some lines\n")
    answer = timer.run(["cat"], input=str(tmp_path / "input"), repeat=3, output="keep")
    assert (answer["stdout"], answer["outputs_differ"]) == ("some lines\n", False)
    assert timer.run(["cat"], output="keep")["stdout"] == ""  # without one there is none
    os.mkfifo(tmp_path / "pipe")
    assert timer.run(["cat"], input=str(tmp_path / "pipe"), output="keep")["stdout"] == ""


def test_outputs_are_kept_counted_and_told_apart(timer: Timer, tmp_path: Path) -> None:
    answer = timer.shell("echo same; echo error >&2", repeat=5, output="keep")
    assert (answer["stdout"], answer["stdout_bytes"], answer["stderr"]) == ("same\n", 5, "error\n")
    assert answer["outputs_differ"] is False
    again = timer.shell("printf 'sam'; printf 'e\\n'", output="keep")
    assert again["stdout_hash"] == answer["stdout_hash"]
    hashes = {timer.shell(f"printf '{text}'", output="keep")["stdout_hash"] for text in (
        "", "a", "b", "ab", "ba", "\\0", "\\0\\0", "aaaaaaaa", "aaaaaaaa\\0", "aaaaaaab", "baaaaaaa"
    )}  # fmt: skip
    assert len(hashes) == 11
    assert {len(one) for one in hashes} == {16}
    answer = timer.shell(f"echo x >> {tmp_path}/runs; wc -l < {tmp_path}/runs", repeat=3, output="keep")
    assert (answer["stdout"], answer["outputs_differ"]) == ("3\n", True)
    assert timer.shell("echo unseen", repeat=2)["outputs_differ"] is None


def test_only_the_ends_of_what_is_printed_are_kept(timer: Timer) -> None:
    answer = timer.shell("seq 100000; seq 100000 >&2", output="keep")
    text = "".join(f"{number}\n" for number in range(1, 100001))
    assert (answer["stdout"], answer["stdout_bytes"]) == (text[-KEPT_BYTES:], len(text))
    assert answer["stderr"] == text[-ERRORS_KEPT_BYTES:]
    answer = timer.run(["printf", r"\377\303\050"], output="keep")  # what is no text is replaced
    assert (answer["stdout"], answer["stdout_bytes"]) == ("��(", 3)


def test_a_hundred_megabytes_are_hashed_and_hold_no_memory(timer: Timer) -> None:
    """And none of it is counted as the next program's."""
    small = timer.run(["true"])["max_rss_bytes"]
    one, other = (
        timer.run(["sh", "-c", f"head -c 100000000 /dev/zero; printf {end}; head -c 100000 /dev/zero"],
                  output="keep")
        for end in "ab"
    )  # fmt: skip
    assert one["stdout_bytes"] == other["stdout_bytes"] == 100_100_001
    assert one["stdout"] == "\0" * KEPT_BYTES
    assert one["stdout_hash"] != other["stdout_hash"]
    assert timer.run(["true"])["max_rss_bytes"] < small + (2 << 20)


def test_a_slow_printer_is_hashed_as_a_fast_one(timer: Timer, tmp_path: Path) -> None:
    """Its output is taken in, and given back to the system, while it runs."""
    part = f"head -c 30000000 {sys.executable} ; head -c 30000000 /dev/zero"
    fast = timer.shell(f"{part}; {part}", output="keep")
    slow = timer.shell(f"{part}; sleep 0.3; {part}; sleep 0.3", output="keep")
    assert (slow["stdout_bytes"], slow["stdout_hash"]) == (fast["stdout_bytes"], fast["stdout_hash"])


def test_an_output_may_be_a_file(timer: Timer, tmp_path: Path) -> None:
    path = tmp_path / "output"
    path.write_text("what was there before")
    answer = timer.shell("echo to the file", repeat=2, output=str(path))
    assert path.read_text() == "to the file\n"
    kept = timer.shell("echo to the file", output="keep")
    assert [answer[name] for name in ("stdout", "stdout_bytes", "stdout_hash")] == [
        kept[name] for name in ("stdout", "stdout_bytes", "stdout_hash")
    ]
    (tmp_path / "link").symlink_to(path)
    answer = timer.run(["true"], output=str(tmp_path / "link"))
    assert (answer["start_error"], answer["start_error_of"]) == (errno.ELOOP, "output")
    assert path.read_text() == "to the file\n"
    assert timer.shell("echo lost", output="/dev/full")["stdout_bytes"] == 0


def test_a_run_beyond_its_limit_is_stopped(timer: Timer) -> None:
    answer = timer.run(["sleep", "60"], time_limit=0.05, repeat=5)
    assert (answer["stopped_for"], answer["exit_codes"]) == ("timeout", [-signal.SIGTERM])
    assert answer["elapsed"][0] >= 0.05
    assert answer["left_running"] == []


def test_a_program_that_will_not_end_is_killed_with_its_children(timer: Timer, tmp_path: Path) -> None:
    deaf = 'trap "" TERM; echo $$ >> $PIDS; while :; do sleep 1; done'
    script = f"sh -c '{deaf}' & setsid sh -c '{deaf}' & {deaf}"
    pids = tmp_path / "pids"
    number = timer.send(["sh", "-c", script], set={"PIDS": str(pids)}, time_limit=600)
    started = pids_in(pids, 3)
    timer.write("cancel")
    answer = timer.answer()
    assert (answer["number"], answer["stopped_for"]) == (number, "cancelled")
    assert answer["exit_codes"] == [-signal.SIGKILL]
    assert not any(map(is_running, started))


def test_a_program_that_handles_the_signal_has_its_own_exit_code(timer: Timer) -> None:
    script = 'trap "exit 5" TERM; kill -STOP $$; while :; do sleep 0.01; done'
    answer = timer.shell(script, time_limit=0.2)
    assert (answer["stopped_for"], answer["exit_codes"]) == ("timeout", [5])


def test_cancel_ends_the_request_and_not_the_timer(timer: Timer, tmp_path: Path) -> None:
    begun = tmp_path / "begun"
    for words in (["sh", "-c", f"touch {begun}; exec sleep 60"], ["touch", str(begun)]):
        timer.send(words, repeat=1_000_000_000)
        wait_until(begun.exists, "the first run")
        timer.write("cancel")
        answer = timer.answer()
        assert (answer["stopped_for"], answer["start_error"]) == ("cancelled", None)
        begun.unlink()
    timer.write("cancel")  # nothing runs, so nothing is cancelled
    assert timer.run(["true"], repeat=3)["exit_codes"] == [0, 0, 0]


def test_requests_may_wait_in_line(timer: Timer) -> None:
    numbers = [timer.send(["sh", "-c", f"exit {code}"]) for code in range(5)]
    answers = [timer.answer() for _ in numbers]
    assert [answer["number"] for answer in answers] == numbers
    assert [answer["exit_codes"] for answer in answers] == [[code] for code in range(5)]


def leaves_running(pids: Path) -> list[str]:
    """A program with a child, a child in a session of its own, and one that was left by its parent."""
    rest = "echo $$ >> $0; exec sleep 600"
    words = f"sh -c {shlex.quote(rest)} {shlex.quote(str(pids))}"
    return ["sh", "-c", f"{words} & setsid {words} & (setsid {words} &) ; {words}"]


def test_the_end_of_the_input_ends_what_runs(tmp_path: Path) -> None:
    """So nothing survives a lab that was killed, nor do its temporary files."""
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "file").touch()
    (tmp_path / "file").touch()
    timer = Timer()
    removed = [str(tmp_path / name) for name in ("folder", "file", "missing")]
    timer.send(leaves_running(tmp_path / "pids"), remove=removed)
    pids = [*pids_in(tmp_path / "pids", 4), timer.worker]
    timer.close()
    assert not any(map(is_running, pids))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["pids"]


def test_files_are_not_removed_while_the_lab_lives(timer: Timer, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    timer.run(["true"], remove=[str(tmp_path / "file")])
    timer.close()
    assert (tmp_path / "file").exists()


@pytest.mark.parametrize("victim", ["guard", "worker"])
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_a_timer_that_is_killed_takes_all_with_it(
    tmp_path: Path, victim: str, number: signal.Signals
) -> None:
    timer = Timer()
    timer.send(leaves_running(tmp_path / "pids"))
    pids = pids_in(tmp_path / "pids", 4)
    worker = timer.worker
    os.kill(worker if victim == "worker" else timer.process.pid, number)
    assert_gone([*pids, worker, timer.process.pid])
    with timer.process:
        assert timer.process.stdin is not None
        timer.process.stdin.close()


def test_what_a_program_leaves_running_is_named_ended_and_counted(timer: Timer, tmp_path: Path) -> None:
    busy = f"""
        import os
        open({str(tmp_path / "pids")!r}, "a").write(f"{{os.getpid()}}\\n")
        while True: pass
    """
    words = shlex.join(python(busy))
    lines = f"while [ $(wc -l < {tmp_path}/pids) -lt 3 ]; do sleep 0.01; done"
    script = f": > {tmp_path}/pids; {words} & setsid {words} & (setsid {words} &) ; {lines}; sleep 0.2"
    answer = timer.shell(script, repeat=2)
    assert answer["exit_codes"] == [0, 0]
    assert answer["left_running"] == [Path(sys.executable).name[:15]]
    assert not any(map(is_running, pids_in(tmp_path / "pids", 3)))
    # Three that never rest, on at least one CPU, for at least the time of the sleep.
    assert answer["user_seconds"] + answer["system_seconds"] > 0.2
    assert timer.run(["true"])["left_running"] == []


def test_a_helper_that_ends_a_moment_later_is_not_left_running(timer: Timer, tmp_path: Path) -> None:
    wait = f"while [ ! -e {tmp_path}/end ]; do sleep 0.01; done"
    timer.send(["sh", "-c", f"(setsid sh -c '{wait}; touch {tmp_path}/ended' &) ; touch {tmp_path}/over"],
               alive_after=60)  # fmt: skip
    wait_until((tmp_path / "over").exists, "the program's end")
    (tmp_path / "end").touch()
    answer = timer.answer()
    assert (answer["left_running"], (tmp_path / "ended").exists()) == ([], True)
    left = f"sh -c 'touch {tmp_path}/begun; while :; do sleep 1; done' &"
    script = f"{left} while [ ! -e {tmp_path}/begun ]; do sleep 0.01; done"
    assert timer.shell(script, alive_after=0)["left_running"] == ["sh"]


def test_a_program_that_wants_the_terminal_is_not_waited_for() -> None:
    def with_terminal() -> None:
        os.setsid()
        os.close(os.open(os.ttyname(terminal), os.O_RDWR))  # the first one that is opened is the session's

    master, terminal = pty.openpty()
    timer = Timer(preexec_fn=with_terminal)
    for words in (["sh", "-c", "read word < /dev/tty"], ["sh", "-c", "cat /dev/tty; :"]):
        answer = timer.run(words, repeat=3)
        assert answer["reads_terminal"] is True
        assert (answer["exit_codes"], answer["stopped_for"]) == ([-signal.SIGTTIN], None)
    assert timer.run(["true"])["reads_terminal"] is False
    timer.close()
    os.close(master)
    os.close(terminal)


def test_signals_are_as_a_program_expects_them() -> None:
    """However the lab has them: nothing is ignored and nothing is held back."""

    def prepare() -> None:
        for number in (signal.SIGINT, signal.SIGPIPE, signal.SIGCHLD, signal.SIGUSR1):
            signal.signal(number, signal.SIG_IGN)
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR2, signal.SIGTERM})

    timer = Timer(preexec_fn=prepare)
    answer = timer.run(["grep", "-E", "Sig(Blk|Ign|Pnd)", "/proc/self/status"], output="keep")
    library = 1 << 31 | 1 << 32  # 32 and 33 are the C library's own, and it lets nobody set them
    assert {int(line.split()[1], 16) & ~library for line in answer["stdout"].splitlines()} == {0}
    timer.close()


def test_a_program_has_three_streams_and_nothing_else_of_ours(tmp_path: Path) -> None:
    with (tmp_path / "open").open("w") as file:
        timer = Timer(pass_fds=[file.fileno()])
        for output in ("null", "keep", str(tmp_path / "output")):
            answer = timer.shell("ls /proc/self/fd >&2; readlink /proc/self/fd/0 >&2", output=output)
            # The fourth is the folder that ls reads.
            assert answer["stderr"].split() == ["0", "1", "2", "3", "/dev/null"]
        timer.close()


def test_a_timer_without_input_has_nothing_to_do() -> None:
    closed = ["sh", "-c", f"exec {runners.find('tauto-timer')} <&-"]
    assert subprocess.run(closed, timeout=60, check=False).returncode == 0
    assert (
        subprocess.run([runners.find("tauto-timer")], stdin=subprocess.DEVNULL, check=False).returncode == 0
    )


def test_a_lab_that_reads_no_answers_does_not_hurt() -> None:
    timer = Timer()
    assert timer.process.stdout is not None
    timer.process.stdout.close()
    timer.send(["true"])
    timer.close()


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("{", "no JSON"),
        ("[]", "no object"),
        ("{}", "no command"),
        ('{"command": []}', "no command"),
        ('{"command": "true"}', "command must be a list of texts"),
        ('{"command": ["true", 1]}', "command must be text"),
        (r'{"command": ["a\u0000b"]}', "zero byte"),
        ('{"command": ["true"], "repeat": 0}', "repeat must be a whole number"),
        ('{"command": ["true"], "repeat": 1.5}', "repeat must be a whole number"),
        ('{"command": ["true"], "repeat": 18446744073709551615}', "repeat must be a whole number"),
        ('{"command": ["true"], "window_seconds": -1}', "window_seconds must be a number of seconds"),
        ('{"command": ["true"], "cpus": []}', "cpus must be a list of CPUs"),
        ('{"command": ["true"], "cpus": [-1]}', "cpus must be a whole number"),
        ('{"command": ["true"], "set": {"A=B": "1"}}', "set must be an object"),
        ('{"command": ["true"], "set": ["A"]}', "set must be an object"),
        ('{"command": ["true"], "folders": "x"}', "field folders"),
    ],
)
def test_a_line_that_is_no_request_ends_the_timer(line: str, words: str) -> None:
    timer = Timer()
    timer.write(line)
    assert words in timer.answer()["error"]
    assert timer.process.wait(60) == 2
    with timer.process:
        pass


def test_fields_that_are_null_are_as_if_they_were_not_there(timer: Timer) -> None:
    names = ("repeat", "window_seconds", "set", "folder", "cpus", "nice", "input", "output", "time_limit")
    assert timer.run(["true"], **dict.fromkeys(names))["exit_codes"] == [0]


def test_an_interrupt_from_the_terminal_is_the_labs_to_handle(timer: Timer, tmp_path: Path) -> None:
    timer.send(["sh", "-c", f"echo $$ > {tmp_path}/pids; while [ ! -e {tmp_path}/end ]; do sleep 0.01; done"])
    pids_in(tmp_path / "pids", 1)
    for pid in (timer.process.pid, timer.worker):
        os.kill(pid, signal.SIGINT)
    (tmp_path / "end").touch()
    answer = timer.answer()
    assert (answer["exit_codes"], answer["stopped_for"]) == ([0], None)


def test_what_libraries_leave_in_shared_memory_is_removed(timer: Timer, tmp_path: Path) -> None:
    """Of a program that is killed: the names of libomp, Open MPI and MPICH alone."""
    other = Path(f"/dev/shm/tauto-test-{os.getpid()}")
    script = f"touch /dev/shm/__KMP_REGISTERED_LIB_$$_0 {other}; echo $$ > {tmp_path}/pids; exec sleep 600"
    timer.send(["sh", "-c", script])
    (pid,) = pids_in(tmp_path / "pids", 1)
    assert Path(f"/dev/shm/__KMP_REGISTERED_LIB_{pid}_0").exists()
    timer.write("cancel")
    assert timer.answer()["stopped_for"] == "cancelled"
    assert not Path(f"/dev/shm/__KMP_REGISTERED_LIB_{pid}_0").exists()
    assert other.exists()
    other.unlink()


def test_an_answer_is_there_as_soon_as_the_program_has_ended(timer: Timer) -> None:
    timer.send(["true"])
    assert timer.process.stdout is not None
    assert select.select([timer.process.stdout], [], [], 60)[0]
    assert timer.answer()["runs"] == 1
