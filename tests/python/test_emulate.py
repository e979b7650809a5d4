"""tauto-emulate as a user and the lab start it: what it does to a CPU, and that it always lets go of it."""

from __future__ import annotations

import ctypes
import json
import os
import resource
import signal
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from processes import cpu_seconds, family_of, is_running, run_to_end, wait_until, with_lab
from tautochrone.errors import TautoError
from tautochrone.machine import runners
from tautochrone.machine.emulate import (
    LARGEST_FACTOR,
    EmulateRequest,
    Emulation,
    available,
    emulated,
    slow_text,
    wrap,
)
from tautochrone.measuring.subprocess_executor import pipes
from tautochrone.schemas import of_executables

pytestmark = [pytest.mark.timed, pytest.mark.machine]
SCHED_FIFO = 1
CAP_SYS_NICE = 23
PR_CAPBSET_DROP = 24
CPU = max(os.sched_getaffinity(0))
ROUNDS = 5  # of one speed each
# Pinned by itself, so that it stands for any program on that CPU. Above all of these and below the thief: no
# other program takes part of what the thief leaves. The median shrugs off a host that takes the CPU away.
PROBE = """
import os, statistics, sys, time
os.sched_setaffinity(0, {int(sys.argv[1])})
os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
rates = []
for _ in range(5):
    blocks, began = 0, time.perf_counter()
    while time.perf_counter() - began < 0.06:
        sum(range(200))
        blocks += 1
    rates.append(blocks / (time.perf_counter() - began))
print(statistics.median(rates))
"""


def executable() -> Path:
    try:
        return runners.find("tauto-emulate")
    except TautoError as missing:
        pytest.skip(f"tauto-emulate is not built: {missing.message}")


@pytest.fixture
def emulator() -> Path:
    """The executable, where it may slow CPUs."""
    path = executable()
    can, reason = available()
    if not can:
        pytest.skip(f"CPUs cannot be slowed here: {reason}")
    return path


def run(
    emulator: Path, *arguments: str, preexec_fn: Callable[[], None] | None = None, **environment: str
) -> subprocess.CompletedProcess[str]:
    return run_to_end([emulator, *arguments], env={**os.environ, **environment}, preexec_fn=preexec_fn)


def may_be_above_others() -> None:
    """The executable's file may have the right to SCHED_FIFO where the tests have not."""
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
    except PermissionError:
        pytest.skip("only the executable has the right to SCHED_FIFO here")
    os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))


def speed(cpu: int) -> float:
    return float(run_to_end([sys.executable, "-I", "-S", "-c", PROBE, cpu], check=True).stdout)


def allowed_cpus(folder: Path) -> str:
    """The line of the file status that lists them."""
    return next(one for one in (folder / "status").read_text().splitlines() if "Cpus_allowed_list" in one)


def thieves() -> set[tuple[int, int]]:
    """(process, thread) of every SCHED_FIFO thread of an emulator; field 41 of stat is the policy."""
    found = set()
    for path in Path("/proc").glob("[0-9]*/task/[0-9]*/stat"):
        try:
            name, _, fields = path.read_text().partition("(")[2].rpartition(")")
        except OSError:
            continue
        if name.startswith("tauto-emulate") and int(fields.split()[38]) == SCHED_FIFO:
            found.add((int(path.parts[2]), int(path.parts[4])))
    return found


# ---- what is asked ----


FACTORS = st.floats(1.0, LARGEST_FACTOR).map(lambda x: round(x, 6))


@given(st.dictionaries(st.integers(0, 4095), FACTORS, min_size=1))
def test_slow_text_reads_back_as_it_was(slow: dict[int, float]) -> None:
    entries = (entry.split(":") for entry in slow_text(slow).split(","))
    assert {int(cpu): float(factor) for cpu, factor in entries} == slow


@pytest.mark.parametrize("factor", [0.0, 0.999, float("nan"), float("inf"), 32.1])
def test_impossible_factors_have_no_text(factor: float) -> None:
    with pytest.raises(TautoError):
        slow_text({1: factor})


@pytest.mark.parametrize(
    ("arguments", "status", "part"),
    [
        (["--", "true"], 2, "--slow CPU:FACTOR"),
        # What else is refused of this text is in emulate_test.cpp.
        (["--slow=1:0", "--", "true"], 2, "only be made slower"),
        (["--slow=-1:4", "--", "true"], 2, "cannot read"),
        (["--slow=", "--", "true"], 2, "--slow"),
        (["--slow", "0:4"], 2, "no command was given"),
        (["--slow", "0:4", "true"], 2, "put -- before the command"),
        (["--slow", "9999:4", "--", "true"], 2, "CPU 9999 does not exist"),
        (["--slow", "0:4", "--period-us", "5", "--", "true"], 2, "choose from 20 to 10000"),
        (["--slow", "0:4", "--bogus", "--", "true"], 2, "--bogus"),
        (["--slow", "0:4@1-2", "--hold"], 2, "use pause and resume"),
        (["--slow", "0:4", "--hold", "--", "true"], 2, "takes no command"),
        (["--slow", "0:4", "--report", "/no/such/folder/r.json", "--", "true"], 2, "cannot write the report"),
        (["--slow", "0:4", "--", "no-such-program-here"], 127, "was not found"),
    ],
)
def test_bad_command_line_has_one_clear_sentence(arguments: list[str], status: int, part: str) -> None:
    finished = run(executable(), *arguments)
    assert finished.returncode == status
    assert part in finished.stderr
    assert finished.stderr.startswith("tauto-emulate: error: ")
    assert finished.stderr.count("\n") == 1
    assert finished.stdout == ""


def test_cpu_outside_the_affinity_mask_is_not_allowed() -> None:
    allowed = sorted(os.sched_getaffinity(0))
    if len(allowed) < 2:
        pytest.skip("one CPU cannot be left out of one")
    words = ("--slow", f"{allowed[1]}:2", "--", "true")
    finished = run(executable(), *words, preexec_fn=lambda: os.sched_setaffinity(0, {allowed[0]}))
    assert finished.returncode == 2
    assert f"CPU {allowed[1]} is not allowed" in finished.stderr


def give_up_the_right() -> None:
    """For this process and whatever it executes: no CAP_SYS_NICE, no real-time priority."""
    ctypes.CDLL(None).prctl(PR_CAPBSET_DROP, CAP_SYS_NICE, 0, 0, 0)
    resource.setrlimit(resource.RLIMIT_RTPRIO, (0, 0))


def test_without_the_right_to_sched_fifo_the_error_tells_how_to_get_it() -> None:
    finished = run(executable(), "--slow", f"{CPU}:4", "--", "true", preexec_fn=give_up_the_right)
    assert finished.returncode == 2
    for remedy in ("root", "setcap cap_sys_nice+ep", "ulimit -r"):
        assert remedy in finished.stderr
    checked = run(executable(), "--check", preexec_fn=give_up_the_right)
    assert checked.returncode == 2
    assert msgspec.json.decode(checked.stdout, type=of_executables.Emulation).available is False


def test_factor_1_needs_no_right_and_starts_no_thief() -> None:
    words = ("--json", "--slow", f"{CPU}:1", "--", "sh", "-c", "exit 3")
    finished = run(executable(), *words, preexec_fn=give_up_the_right)
    assert finished.returncode == 3
    (cpu,) = msgspec.json.decode(finished.stderr, type=of_executables.Emulation).slow
    assert cpu.factor_while_running == 1.0
    assert cpu.period_seconds is None


def test_wrap_puts_the_emulator_in_front_and_nothing_for_no_cpu(emulator: Path) -> None:
    assert wrap(["a", "b"], {1: 4.0}) == [str(emulator), "--slow", "1:4", "--", "a", "b"]
    assert wrap(["a", "b"], {}) == ["a", "b"]


# ---- what it does ----


def test_command_keeps_its_input_output_affinity_status_and_learns_of_the_emulation(emulator: Path) -> None:
    program = "cat; echo $TAUTO_EMULATED; grep Cpus_allowed_list /proc/self/status; exit 5"
    words = [emulator, "--slow", f"{CPU}:4", "--", "sh", "-c", program]
    finished = run_to_end(words, input="typed\n")
    assert finished.stdout.splitlines() == ["typed", f"{CPU}:4", allowed_cpus(Path("/proc/self"))]
    assert finished.returncode == 5


def test_cpus_that_read_together_do_not_wait_for_a_slow_one(emulator: Path) -> None:
    # Regression: the probe took what the slow one allowed, twice an eighth, as the rate of both.
    two = sorted(os.sched_getaffinity(0))[-2:]
    if len(two) < 2:
        pytest.skip("one CPU cannot read together with another")
    words = [runners.find("tauto-probe"), "--measure", "quick", "--compact"]
    done = run_to_end(
        [emulator, "--slow", f"{CPU}:8", "--", *words], preexec_fn=lambda: os.sched_setaffinity(0, two)
    )
    reads = json.loads(done.stdout)["measured"]["reads"]
    smallest = {}
    for members in (1, 2):
        rows = [one for one in reads if one["members"] == members and one["rows_at_once"] > 1]
        smallest[members] = min(rows, key=lambda one: one["bytes"])["bytes_per_second"]
    assert smallest[2] > 0.6 * smallest[1]


def test_command_ended_by_a_signal_gives_128_and_the_signal(emulator: Path) -> None:
    assert run(emulator, "--slow", f"{CPU}:2", "--", "sh", "-c", "kill -9 $$").returncode == 128 + 9


def test_lab_runs_a_command_and_gives_its_status(emulator: Path) -> None:
    assert EmulateRequest(slow=f"{CPU}:2", command=("sh", "-c", "exit 7")).run() == 7


def test_slowing_a_slow_cpu_again_is_refused(emulator: Path) -> None:
    finished = run(emulator, "--slow", f"{CPU}:2", "--", "true", TAUTO_EMULATED=f"{CPU}:4")
    assert finished.returncode == 2
    assert "slowed already" in finished.stderr


def test_factor_that_cannot_be_met_names_what_was_reached(emulator: Path) -> None:
    finished = run(emulator, "--slow", f"{CPU}:1.02", "--", "true")
    assert finished.returncode == 2
    assert "reached" in finished.stderr


def test_report_has_what_was_asked_calibrated_and_given(emulator: Path, tmp_path: Path) -> None:
    may_be_above_others()
    report_path = tmp_path / "report.json"
    probe = (sys.executable, "-c", PROBE, str(CPU))
    finished = run(emulator, "--slow", f"{CPU}:4", "--report", str(report_path), "--", *probe)
    assert finished.returncode == 0
    report = json.loads(report_path.read_text())
    assert report["schema"] == "tautochrone.emulation/1"
    (cpu,) = report["slow"]
    assert (cpu["cpu"], cpu["factor_asked"]) == (CPU, 4.0)
    assert cpu["factor_calibrated"] == pytest.approx(4.0, rel=0.05)
    assert 3.0 < cpu["reading_factor"] < 16.0  # no caches of this machine are empty after each turn
    assert 1.6 < cpu["factor_while_running"] < 10.0  # the machine's own speed changes meanwhile
    assert 20e-6 < cpu["period_seconds"] <= 110e-6
    assert 0.1 < cpu["busy_fraction"] < 0.95


def test_windows_are_slow_only_in_their_time(emulator: Path) -> None:
    finished = run(emulator, "--json", "--slow", f"{CPU}:4@0.3-0.6@0.8-0.9", "--", "sleep", "3")
    assert finished.returncode == 0, finished.stderr
    report = json.loads(finished.stderr.splitlines()[-1])
    started = report["command_started_monotonic_seconds"]
    windows = report["slow"][0]["windows"]
    assert [window["on_seconds"] for window in windows] == [0.3, 0.8]
    on = [window["on_monotonic_seconds"] - started - window["on_seconds"] for window in windows]
    off = [window["off_monotonic_seconds"] - started - window["off_seconds"] for window in windows]
    # On a busy machine the switch may come late, and it says so; it never comes early.
    assert min(on) >= 0.0
    assert min(off) >= -0.001
    assert max(on + off) < 1.5


def test_emulator_keeps_off_the_slow_cpu_and_uses_no_time_while_it_waits(emulator: Path) -> None:
    with Running([str(emulator), "--slow", f"{CPU}:4", "--", "sleep", "60"]) as process:
        main = Path(f"/proc/{process.pid}/task/{process.pid}")
        allowed = allowed_cpus(main)
        if len(os.sched_getaffinity(0)) > 1:
            assert allowed.split()[-1] != str(CPU)
            assert not allowed.endswith(f"-{CPU}")

        def hundredths() -> int:
            return sum(map(int, (main / "stat").read_text().rpartition(")")[2].split()[11:13]))

        before = hundredths()
        time.sleep(1.0)
        assert hundredths() - before <= 2


# ---- how it is removed ----


class Running:
    """An emulator at work, started by a parent of its own, and what must be gone after its death."""

    def __init__(self, command: list[str], under: list[str] | None = None) -> None:
        self.before = thieves()
        self.pid = 0
        self.parent = subprocess.Popen([*(under or []), *command], stdout=subprocess.PIPE, text=True)
        wait_until(self.at_work, "a thief beside the command")
        self.descendants = family_of(self.pid)

    def at_work(self) -> bool:
        """True once the emulator (not its calibration, a process of its own) has thieves and a command."""
        assert self.parent.poll() is None, "the emulator ended early; its reason is on standard error"
        for pid, _ in self.new_thieves():
            self.pid = pid
            if "sleep" in self.names():
                return True
        return False

    def new_thieves(self) -> set[tuple[int, int]]:
        return thieves() - self.before

    def names(self) -> set[str]:
        found = set()
        for pid in family_of(self.pid):
            with suppress(OSError):
                found.add(Path(f"/proc/{pid}/comm").read_text().strip())
        return found

    def assert_gone(self) -> None:
        wait_until(lambda: not is_running(self.pid), "the emulator's end")
        wait_until(lambda: not self.new_thieves(), "the thieves' end")
        family = "the end of the command and its children"
        wait_until(lambda: not any(map(is_running, self.descendants)), family)

    def __enter__(self) -> Running:
        return self

    def __exit__(self, *_: object) -> None:
        for pid in (self.parent.pid, self.pid):
            if is_running(pid):
                os.kill(pid, signal.SIGKILL)
        self.parent.wait(timeout=60)
        assert self.parent.stdout is not None
        self.parent.stdout.close()


@pytest.fixture
def at_work(emulator: Path) -> Iterator[Running]:
    # The command has children: all must go. (In the background of sh they would ignore SIGINT.)
    command = ["sh", "-c", "sleep 60 | sleep 60; true"]
    with Running([str(emulator), "--slow", f"{CPU}:4", "--", *command]) as process:
        yield process


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_signal_reaches_the_command_and_frees_the_cpu(emulator: Path, sent: signal.Signals) -> None:
    # Its children may be gone before the signal reaches the shell: what it then begins must end by it, too.
    command = ["sh", "-c", "sleep 60 | sleep 60; sleep 60"]
    with Running([str(emulator), "--slow", f"{CPU}:4", "--", *command]) as process:
        os.kill(process.pid, sent)
        assert process.parent.wait(timeout=60) == 128 + sent
        process.assert_gone()


def test_kill_9_of_the_emulator_frees_the_cpu_and_takes_the_command_along(at_work: Running) -> None:
    os.kill(at_work.pid, signal.SIGKILL)
    at_work.assert_gone()


def test_end_of_the_command_frees_the_cpu(at_work: Running) -> None:
    for pid in at_work.descendants:
        with suppress(OSError):  # the first one's end takes the others along
            if Path(f"/proc/{pid}/comm").read_text().strip() == "sleep":
                os.kill(pid, signal.SIGTERM)
    assert at_work.parent.wait(timeout=60) == 0
    at_work.assert_gone()


def test_kill_9_of_the_parent_frees_the_cpu_and_takes_the_command_along(emulator: Path) -> None:
    # The shell does not exec its last command when another follows, so it stays the emulator's parent.
    shell = ["sh", "-c", '"$@"; true', "parent"]
    command = [str(emulator), "--slow", f"{CPU}:4", "--", "sh", "-c", "sleep 60 | sleep 60; true"]
    with Running(command, under=shell) as process:
        assert process.parent.pid != process.pid
        process.parent.kill()
        process.assert_gone()


def test_signal_while_calibrating_leaves_nothing(emulator: Path) -> None:
    before = thieves()
    process = subprocess.Popen([str(emulator), "--slow", f"{CPU}:4", "--", "sleep", "60"])
    wait_until(lambda: bool(thieves() - before), "a thief")
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=60) == 128 + signal.SIGINT
    wait_until(lambda: not thieves() - before, "the thieves' end")


def test_an_emulator_that_cannot_be_started_is_said(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    broken = tmp_path / "tauto-emulate"
    broken.write_bytes(b"no program")
    broken.chmod(0o755)
    monkeypatch.setenv(runners.RUNNERS_VARIABLE, str(tmp_path))
    assert available() == (
        False,
        "tauto-emulate could not be started: Exec format error. Build it again (make)",
    )


# ---- held around many runs ----


def test_held_cpu_is_slower_by_the_factor_and_free_while_paused(emulator: Path) -> None:
    may_be_above_others()
    slowed, free = [], []
    with emulated({CPU: 4.0}) as slow:
        for _ in range(ROUNDS):
            slowed.append(speed(CPU))
            slow.pause()
            free.append(speed(CPU))
            slow.resume()
        report = slow.report()
        assert slow.factors[CPU] == pytest.approx(4.0, rel=0.05)
    # How near the factor is to 4 is the calibration's to say, above. A virtual machine's CPU changes its own
    # speed within seconds (2.4 to 4.7 were seen here), so what another program sees is asked with that room.
    factor = statistics.median(fast / slower for fast, slower in zip(free, slowed, strict=True))
    assert 1.6 < factor < 10.0
    assert len(report["slow"][0]["windows"]) == ROUNDS + 1
    assert speed(CPU) > 0.5 * statistics.median(free)


def test_two_may_be_held_for_one_cpu_while_one_is_paused(emulator: Path) -> None:
    with emulated({CPU: 2.0}) as one:
        one.pause()
        with emulated({CPU: 4.0}) as other:
            with pytest.raises(TautoError, match="another tauto-emulate"):
                one.resume()
            other.pause()
            one.resume()
            one.pause()


def test_held_emulation_ends_when_its_holder_is_killed(emulator: Path) -> None:
    before = thieves()
    program = (
        "import time; from tautochrone.machine.emulate import emulated\n"
        f"with emulated({{{CPU}: 4.0}}): print('held', flush=True); time.sleep(60)"
    )
    command = [sys.executable, "-c", program]
    holder = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=with_lab())
    assert holder.stdout is not None
    assert holder.stdout.readline() == "held\n"
    assert thieves() - before
    holder.kill()
    holder.communicate()
    wait_until(lambda: not thieves() - before, "the thieves' end")


def test_a_holder_that_is_stopped_gets_no_thief_until_it_goes_on(emulator: Path) -> None:
    """A study under Ctrl-Z left a thread with real-time priority at work, for as long as it was stopped."""
    program = (
        "import sys; from tautochrone.machine.emulate import emulated\n"
        f"with emulated({{{CPU}: 4.0}}) as slow:\n"
        " for line in sys.stdin: slow.resume(); print('slow', flush=True)"
    )
    before = thieves()
    pipe = subprocess.PIPE
    holder = subprocess.Popen(
        [sys.executable, "-c", program], stdin=pipe, stdout=pipe, text=True, env=with_lab()
    )
    try:
        words, answers = pipes(holder)
        print(file=words, flush=True)
        assert answers.readline() == "slow\n"
        ((emulation, _),) = thieves() - before

        def works() -> bool:
            had = cpu_seconds(emulation)
            time.sleep(0.2)
            return cpu_seconds(emulation) - had > 0.05

        wait_until(works, "the thief's work")
        holder.send_signal(signal.SIGSTOP)
        wait_until(lambda: not works(), "the thief's rest")
        holder.send_signal(signal.SIGCONT)
        print(file=words, flush=True)
        assert answers.readline() == "slow\n"
        wait_until(works, "the thief's work after the break")
    finally:
        holder.kill()
        holder.communicate()


def test_emulation_outlives_the_thread_that_opened_it(emulator: Path) -> None:
    opened: list[Emulation] = []
    thread = threading.Thread(target=lambda: opened.append(Emulation({CPU: 2.0})))
    thread.start()
    thread.join()
    (emulation,) = opened
    try:
        emulation.pause()
        emulation.resume()
    finally:
        emulation.close()
    with pytest.raises(TautoError, match="has ended"):
        emulation.resume()


def test_killed_emulator_is_an_error_for_its_holder(emulator: Path) -> None:
    before = thieves()
    with emulated({CPU: 2.0}) as slow:
        ((pid, _),) = thieves() - before
        os.kill(pid, signal.SIGKILL)
        wait_until(lambda: not is_running(pid), "the emulator's end")
        with pytest.raises(TautoError, match="tauto-emulate ended with status -9"):
            slow.pause()


def test_impossible_hold_is_an_error_with_the_emulator_s_reason() -> None:
    executable()
    with pytest.raises(TautoError, match="does not exist") as refused, emulated({4095: 2.0}):
        pass
    assert refused.value.remedy


def test_nothing_slow_needs_no_emulator(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TAUTO_RUNNERS", "/no/such/folder")
    with emulated({}) as slow:
        slow.pause()
        slow.resume()
        assert slow.factors == {}


def test_missing_executable_is_said_by_available(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runners, "folders", list)
    can, reason = available()
    assert not can
    assert "tauto-emulate" in reason
