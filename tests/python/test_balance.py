"""tauto-balance as a user starts it: what it does to a program, and what it leaves."""

from __future__ import annotations

import itertools
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import sysconfig
import threading
import time
from contextlib import suppress
from pathlib import Path

import msgspec
import pytest

from processes import family_of, is_running, run_to_end, wait_until
from tautochrone.errors import TautoError
from tautochrone.machine import emulate, runners
from tautochrone.machine.balance import BalanceRequest
from tautochrone.schemas.of_executables import Balance
from tune_fakes import compiled_with_libomp

pytestmark = pytest.mark.timed
LOOP = "tauto-bench-static-loop"


def executable(name: str = "tauto-balance") -> Path:
    try:
        return runners.find(name)
    except TautoError as missing:
        pytest.skip(f"{name} is not built: {missing.message}")


def balance(*words: object, **options: object) -> subprocess.CompletedProcess[str]:
    return run_to_end([executable(), *words], **options)


def answer(finished: subprocess.CompletedProcess[str]) -> dict[str, object]:
    found: dict[str, object] = json.loads(finished.stderr.splitlines()[-1])
    assert found["schema"] == "tautochrone.balance/1"
    msgspec.convert(found, Balance)
    return found


def answered_cpus(found: dict[str, object]) -> list[dict[str, float]]:
    cpus = found["cpus"]
    assert isinstance(cpus, list)
    return cpus


def need_the_slow_cpu_at_start(found: dict[str, object], slow_cpu: int) -> None:
    """Skips where others had the slow CPU, too, when the program was started."""
    (slow,) = (one for one in answered_cpus(found) if one["cpu"] == slow_cpu)
    speed = slow["work_per_cpu_second_at_start"] * slow["share_at_start"]
    if speed < 1 / 6:
        pytest.skip(f"CPU {slow_cpu} did {speed:.2f} of a fast one at the start: others were there")


def need_the_fast_cpus(found: dict[str, object], slow_cpu: int) -> None:
    """Skips where other programs had them; for a program so short that its start and its end are alike."""
    if any(one["share"] < 0.8 for one in answered_cpus(found) if one["cpu"] != slow_cpu):
        pytest.skip("other programs have the fast CPUs: they are no better than the slow one")


@pytest.mark.parametrize(
    ("words", "status", "part"),
    [
        ([], 2, "no command was given"),
        (["true"], 2, "put -- before the command"),
        (["--bogus", "--", "true"], 2, "--bogus"),
        (["--pid", "1", "--", "true"], 2, "takes no command"),
        (["--pid", "-4"], 2, "name a running process of yours"),
        (["--pid", "4194304"], 2, "name a running process of yours"),
        (["--report", "/no/such/folder/r.json", "--", "true"], 2, "cannot write the report"),
        (["--", "no-such-program-here"], 127, "was not found"),
    ],
)
def test_bad_command_line_has_one_clear_sentence(words: list[str], status: int, part: str) -> None:
    finished = balance(*words)
    assert finished.returncode == status
    assert part in finished.stderr
    assert finished.stderr.startswith("tauto-balance: error: ")
    assert finished.stderr.count("\n") == 1
    assert finished.stdout == ""


def test_a_file_that_is_no_program_gives_126(tmp_path: Path) -> None:
    broken = tmp_path / "broken"
    broken.write_text("#!/no/such/interpreter\n")
    broken.chmod(0o755)
    finished = balance("--", broken)
    assert finished.returncode == 126
    assert "cannot run" in finished.stderr


def test_the_lab_says_what_was_asked() -> None:
    asked = BalanceRequest(command=("./a", "b"), even_pinned=True, report="r.json")
    assert asked.words() == ["--even-pinned", "--report=r.json", "--", "./a", "b"]
    assert BalanceRequest(pid=7).words() == ["--pid=7"]
    with pytest.raises(TautoError, match="no command"):
        BalanceRequest().run()


def test_command_keeps_its_input_output_affinity_and_status() -> None:
    finished = balance(
        "--", "sh", "-c", "cat; grep Cpus_allowed_list /proc/self/status; exit 5", input="typed\n"
    )
    own = next(one for one in Path("/proc/self/status").read_text().splitlines() if "allowed_list" in one)
    assert finished.stdout.splitlines() == ["typed", own]
    assert finished.returncode == 5


def test_command_ended_by_a_signal_gives_128_and_the_signal() -> None:
    assert balance("--", "sh", "-c", "kill -9 $$").returncode == 128 + 9


PRELOADED = ["sh", "-c", "echo $LD_PRELOAD"]


def test_the_library_is_preloaded_beside_what_the_user_preloads() -> None:
    finished = balance("--json", "--", *PRELOADED, env={**os.environ, "LD_PRELOAD": ""})
    library = executable().with_name("libtauto-waits.so")
    assert finished.stdout == f"{library}\n"
    assert answer(finished)["preloaded"] is True
    own = executable("tauto-bench-spin").with_name("libtauto-waits.so")
    both = balance("--", *PRELOADED, env={**os.environ, "LD_PRELOAD": str(own)})
    assert both.stdout == f"{library}:{own}\n"
    assert "; preloaded libtauto-waits.so" in both.stderr


def installed() -> Path:
    """What users have: linked statically, where the system allows that."""
    return Path(sysconfig.get_path("platlib"), "tautochrone", "bin", "tauto-balance")


def test_the_installed_one_preloads_its_library(tmp_path: Path) -> None:
    alone = {**os.environ, "LD_PRELOAD": ""}
    finished = run_to_end([installed(), "--json", "--", *PRELOADED], env=alone)
    assert finished.stdout == f"{installed().with_name('libtauto-waits.so')}\n"
    assert answer(finished)["preloaded"] is True
    # Copies whose library is of another system, or damaged, or not all there: the command runs without it.
    (tmp_path / "libtauto-waits.so").write_bytes(b"\x7fELF, but no library")
    for name, reason in (("tauto-balance", "tauto-nothing is missing"), ("tauto-nothing", "does not load")):
        shutil.copy(installed().with_name(name), tmp_path)
        copied = run_to_end([tmp_path / "tauto-balance", "--json", "--", *PRELOADED], env=alone)
        assert copied.stdout == "\n"
        assert reason in str(answer(copied)["not_preloaded_because"])


def test_nothing_is_preloaded_if_it_is_not_wanted() -> None:
    finished = balance("--no-preload", "--", *PRELOADED, env={**os.environ, "LD_PRELOAD": ""})
    assert finished.stdout == "\n"
    assert "nothing preloaded: --no-preload" in finished.stderr


def linker_of(program: Path) -> str:
    told = subprocess.run(["readelf", "-l", program], capture_output=True, text=True, check=True).stdout
    return told.split("interpreter: ")[1].split("]")[0]


@pytest.mark.parametrize(
    ("options", "mode", "reason"),
    [
        (["-static"], 0o755, "is linked statically"),
        ([], 0o4755, "runs with more rights than its user"),
        (["-Wl,--dynamic-linker=ld-other.so"], 0o755, "uses another system library"),
        (["-fsanitize=address"], 0o755, "was built with a sanitizer"),
    ],
)
def test_what_cannot_load_the_library_is_not_told_of_it(
    tmp_path: Path, options: list[str], mode: int, reason: str
) -> None:
    (tmp_path / "a.c").write_text(
        '#include <stdlib.h>\nint main(void) { return getenv("TAUTO_BALANCE_PAGE") != 0; }\n'
    )
    program = tmp_path / "a"
    (tmp_path / "ld-other.so").symlink_to(linker_of(executable("tauto-nothing")))
    subprocess.run(["gcc", "-o", program, tmp_path / "a.c", *options], check=True)
    program.chmod(mode)
    script = tmp_path / "script"
    script.write_text(f"#!{program}\n")
    script.chmod(0o755)
    for ours, command in itertools.product((executable(), installed()), (program, script)):
        finished = run_to_end([ours, "--json", "--", command], cwd=tmp_path)
        found = answer(finished)
        assert found["preloaded"] is False
        assert reason in str(found["not_preloaded_because"])
        assert finished.returncode == 0


@pytest.mark.parametrize("options", ["", "detect_leaks=0"])
def test_a_program_with_a_sanitizer_runs_where_a_balanced_one_starts_it(tmp_path: Path, options: str) -> None:
    (tmp_path / "a.c").write_text("int main(void) { return 7; }\n")
    program = tmp_path / "a"
    for sanitizer in ("address", "thread"):
        subprocess.run(["gcc", f"-fsanitize={sanitizer}", "-o", program, tmp_path / "a.c"], check=True)
        finished = balance(
            "--json", "--", "sh", "-c", f"{program}; exit $?", env={**os.environ, "ASAN_OPTIONS": options}
        )
        assert answer(finished)["preloaded"] is True
        assert finished.returncode == 7, finished.stderr


def test_what_the_user_tells_the_sanitizer_stays() -> None:
    tell = ["sh", "-c", "echo $ASAN_OPTIONS"]
    for own in ("verify_asan_link_order=1", "detect_leaks=0"):
        finished = balance("--", *tell, env={**os.environ, "ASAN_OPTIONS": own})
        assert finished.stdout.split(":")[-1] == f"{own}\n"


def test_the_report_is_the_answer(tmp_path: Path) -> None:
    report = tmp_path / "report.json"
    finished = balance("--report", report, "--", "sh", "-c", "exit 3")
    found = json.loads(report.read_text())
    assert found["exit_status"] == finished.returncode == 3
    assert found["left_alone_because"] in finished.stderr


def test_ctrl_c_goes_to_the_command() -> None:
    program = "trap 'echo heard; exit 9' INT; echo ready; while :; do sleep 0.05; done"
    words = [executable(), "--", "sh", "-c", program]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        process.send_signal(signal.SIGINT)
        heard, _ = process.communicate(timeout=60)
    assert (heard, process.returncode) == ("heard\n", 9)


def test_a_running_process_goes_on_when_balancing_is_interrupted() -> None:
    with subprocess.Popen(["cat"], stdin=subprocess.PIPE) as cat:
        words = [executable(), "--json", "--pid", str(cat.pid)]
        with subprocess.Popen(words, stderr=subprocess.PIPE, text=True) as process:
            wait_until(lambda: bool(family_of(process.pid)), "the guard")
            process.send_signal(signal.SIGINT)
            _, said = process.communicate(timeout=60)
        assert process.returncode == 0
        assert json.loads(said)["command"] == f"process {cat.pid}"
        assert cat.poll() is None
        cat.communicate(timeout=60)


# A program whose threads work until a file is there, and then write down their masks.
MASKS = """
import os, sys, threading
def work():
    value = 0
    while not os.path.exists(sys.argv[1]):
        value = hash((value, len(os.listdir("/"))))
    masks.append(sorted(os.sched_getaffinity(0)))
masks = []
threads = [threading.Thread(target=work) for _ in range(3)]
for thread in threads:
    thread.start()
print("ready", flush=True)
for thread in threads:
    thread.join()
print(masks, flush=True)
"""


@pytest.mark.machine
@pytest.mark.parametrize("options", [["moves"], ["moves", "--no-perf"], ["seats"], ["fastest"]])
def test_a_killed_controller_leaves_the_program_and_its_masks(tmp_path: Path, options: list[str]) -> None:
    allowed = os.sched_getaffinity(0)
    chance = random.Random(str(options))
    for attempt in range(3):
        end = tmp_path / f"end{attempt}"
        words = [executable(), "--only", *options, "--", sys.executable, "-c", MASKS, end]
        with subprocess.Popen(list(map(str, words)), stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
            time.sleep(chance.uniform(0, 0.2))  # any moment will do
            family = family_of(process.pid)
            process.kill()
            process.wait(timeout=60)
            threads = [int(one.name) for pid in family for one in Path(f"/proc/{pid}/task").glob("*")]
            wait_until(lambda threads=threads: masks_are(allowed, threads), "the masks")
            end.touch()
            masks = json.loads(process.stdout.readline())
        assert masks == 3 * [sorted(allowed)]
        wait_until(
            lambda family=family: not any(map(is_running, family)), "the end of the program and the guard"
        )


def masks_are(allowed: set[int], threads: list[int]) -> bool:
    for thread in threads:
        with suppress(ProcessLookupError):
            if os.sched_getaffinity(thread) != allowed:
                return False
    return True


@pytest.fixture
def slow_cpu() -> int:
    can, reason = emulate.available()
    allowed = sorted(os.sched_getaffinity(0))
    if not can or len(allowed) < 2:
        pytest.skip(f"CPUs cannot be slowed here: {reason or 'there is only one'}")
    return allowed[-1]


@pytest.mark.machine
def test_waits_are_set_but_not_those_of_the_user_and_not_if_they_are_to_be_kept(slow_cpu: int) -> None:
    words = ["sh", "-c", "echo $OMP_WAIT_POLICY,$GOMP_SPINCOUNT"]
    environment = {name: value for name, value in os.environ.items() if name != "GOMP_SPINCOUNT"}
    environment["OMP_WAIT_POLICY"] = "active"
    with emulate.emulated({slow_cpu: 4.0}):
        finished = balance("--json", "--", *words, env=environment)
        kept = balance("--json", "--keep-waits", "--keep-threads", "--", *words, env=environment)
    assert finished.stdout == "active,0\n"
    variables = answer(finished)["variables_set"]
    assert isinstance(variables, list)
    assert "GOMP_SPINCOUNT=0" in variables
    assert not any(one.startswith("OMP_WAIT_POLICY") for one in variables)
    assert kept.stdout == "active,\n"
    assert answer(kept)["variables_set"] == []


@pytest.mark.machine
def test_on_cpus_of_one_pace_waits_stay_as_they_are() -> None:
    """Who sleeps after each short loop takes many times as long as who spins."""
    plain = {name: value for name, value in os.environ.items() if name != "OMP_WAIT_POLICY"}
    finished = balance("--json", "--", "sh", "-c", "echo $OMP_WAIT_POLICY", env=plain)
    found = answer(finished)
    is_unequal = any(one["work_per_cpu_second"] < 0.9 for one in answered_cpus(found))
    assert finished.stdout == ("passive\n" if is_unequal else "\n")
    assert bool(found["variables_set"]) == is_unequal


@pytest.mark.machine
@pytest.mark.parametrize("watched", [[], ["--no-perf"]])
def test_threads_on_a_fast_and_a_slow_cpu_change_and_the_result_is_the_same(
    slow_cpu: int, watched: list[str]
) -> None:
    loop = [str(executable(LOOP)), "40000000", "20"]
    environment = {**os.environ, "OMP_NUM_THREADS": "2"}
    alone = run_to_end(loop, check=True, env=environment).stdout.split()[1]
    with emulate.emulated({slow_cpu: 4.0}):
        finished = balance("--json", "--only", "moves", *watched, "--", *loop, env=environment)
    found = answer(finished)
    assert finished.stdout.split()[1] == alone
    assert found["watched_by"] == "files" if watched else found["watched_by"] in ("files", "switches")
    assert found["threads_moved"] == 2
    moves, spent, seconds = (found[name] for name in ("moves", "controller_cpu_seconds", "seconds"))
    assert isinstance(moves, int)
    assert moves >= 10
    assert isinstance(spent, float)
    assert isinstance(seconds, float)
    assert spent < 0.01 * seconds + 0.1  # a start that is paid once


@pytest.mark.machine
@pytest.mark.parametrize(
    ("way", "name"), [("seats", "loops_shared_out_by_speed"), ("fastest", "on_the_fastest_alone")]
)
def test_threads_that_are_held_do_the_same_work(slow_cpu: int, way: str, name: str) -> None:
    loop = [str(executable(LOOP)), "2000000", "400"]
    environment = {**os.environ, "OMP_NUM_THREADS": "2"}
    alone = run_to_end(loop, check=True, env=environment).stdout.split()[1]
    with emulate.emulated({slow_cpu: 4.0}):
        finished = balance("--json", "--only", way, "--", *loop, env=environment)
    found = answer(finished)
    assert finished.stdout.split()[1] == alone
    # On seats the thread that may run the parts of others has one, too, once that is tried.
    assert found["threads_moved"] in ({2, 3} if way == "seats" else {2})
    seconds = found["seconds_of_each_way"]
    assert isinstance(seconds, dict)
    assert seconds[name] > 0.9 * sum(seconds.values())
    assert found["watched_by"] == "files"  # switches are recorded only while threads are moved


@pytest.mark.machine
def test_threads_that_live_for_one_step_hand_their_cpus_over(slow_cpu: int) -> None:
    steps = [str(executable("tauto-bench-barrier-loop")), "8000000", "150", "2", "ends"]
    alone = run_to_end(steps, check=True).stdout.split()[1]
    with emulate.emulated({slow_cpu: 4.0}):
        finished = balance("--json", "--only", "seats", "--", *steps)
    found = answer(finished)
    assert finished.stdout.split()[1] == alone
    need_the_slow_cpu_at_start(found, slow_cpu)
    need_the_fast_cpus(found, slow_cpu)
    moves, handed_over, threads = (found[name] for name in ("moves", "handed_over", "threads"))
    assert isinstance(handed_over, int)
    assert handed_over >= 10  # of 150 steps
    assert isinstance(moves, int)
    assert moves >= handed_over  # where others want CPUs, too, a window may end with a thread to be moved
    assert isinstance(threads, int)
    assert threads >= 300


@pytest.mark.machine
def test_a_loop_of_gcc_gets_more_threads_than_unequal_cpus_unless_they_are_to_be_kept(slow_cpu: int) -> None:
    loop = [str(executable(LOOP)), "4000000", "4"]
    alone = run_to_end(loop, check=True).stdout.split()[1]
    without = {name: value for name, value in os.environ.items() if name != "OMP_NUM_THREADS"}
    with emulate.emulated({slow_cpu: 4.0}):
        finished = balance("--json", "--", *loop, env=without)
        kept = balance("--json", "--keep-threads", "--", *loop, env=without)
        users = balance("--json", "--", *loop, env={**without, "OMP_NUM_THREADS": "3"})
        unseated = [
            balance("--json", "--only", way, "--", *loop, env=without) for way in ("moves", "fastest")
        ]
    for other in (kept, users, *unseated):
        assert "OMP_NUM_THREADS" not in str(answer(other)["variables_set"])
        assert other.stdout.split()[1] == alone
    found = answer(finished)
    assert finished.stdout.split()[1] == alone
    need_the_fast_cpus(found, slow_cpu)
    need_the_slow_cpu_at_start(found, slow_cpu)
    cpus = len(os.sched_getaffinity(0))
    assert isinstance(found["variables_set"], list)
    (threads,) = (one for one in found["variables_set"] if one.startswith("OMP_NUM_THREADS="))
    assert cpus < int(threads.partition("=")[2]) <= 4 * cpus
    assert found["threads"] == int(threads.partition("=")[2])


@pytest.mark.machine
def test_short_regions_of_gcc_have_a_thread_for_each_cpu_and_give_the_same(slow_cpu: int) -> None:
    loop = [str(executable(LOOP)), "200000", "6000"]
    environment = {**os.environ, "OMP_NUM_THREADS": "6"}
    alone = run_to_end(loop, check=True, env=environment).stdout.split()[1]
    with emulate.emulated({slow_cpu: 4.0}):
        found = balance("--json", "--only", "seats", "--", *loop, env=environment)
        without = balance("--json", "--only", "seats", "--no-preload", "--", *loop, env=environment)
    assert found.stdout.split()[1] == without.stdout.split()[1] == alone
    # Whether it stays so depends on who else is on the CPUs; each region is tried both ways.
    assert int(str(answer(found)["regions_in_a_row"])) >= 10
    assert answer(without)["regions_in_a_row"] == 0


@pytest.mark.machine
def test_threads_that_spin_while_they_wait_are_seen_and_moved(slow_cpu: int) -> None:
    """Nothing tells of such waits but code where threads are on fast CPUs alone."""
    # So long that it is looked for more than once: other programs may be on the slow CPU in a window.
    loop = [str(executable("tauto-bench-barrier-loop")), "60000000", "120", "2"]
    fast_cpu = next(cpu for cpu in sorted(os.sched_getaffinity(0)) if cpu != slow_cpu)
    if answer(balance("--json", "--only", "moves", "--", *loop[:2], "2", "2"))["watched_by"] != "switches":
        pytest.skip("perf_event_open is not allowed here")
    alone = run_to_end(loop, check=True).stdout.split()[1]
    words = ("--json", "--", *loop, "spins")
    with emulate.emulated({slow_cpu: 4.0}):
        spinning = balance(*words, preexec_fn=lambda: os.sched_setaffinity(0, {slow_cpu, fast_cpu}))
    assert spinning.stdout.split()[1] == alone
    found = answer(spinning)
    (fast,) = (one for one in answered_cpus(found) if one["cpu"] == fast_cpu)
    if fast["share"] < 0.8:
        pytest.skip(f"other programs have CPU {fast_cpu}: nobody waits for the slow one alone")
    assert 0.1 < float(str(found["waited_unseen"])) < 0.8
    assert found["threads_moved"] in (2, 3), "the first thread may be moved while it starts the others"
    seconds = found["seconds_of_each_way"]
    assert isinstance(seconds, dict)
    assert seconds["moved"] > 0.3 * sum(seconds.values())


@pytest.mark.machine
def test_openblas_gets_no_thread_for_a_cpu_that_would_hold_up_the_others(slow_cpu: int) -> None:
    name = "OPENBLAS_NUM_THREADS"
    read_by_it = (name, "GOTO_NUM_THREADS", "OMP_NUM_THREADS")
    without = {each: value for each, value in os.environ.items() if each not in read_by_it}
    tell = [sys.executable, "-c", f"import os; print(os.environ.get({name!r}, 'none'))"]
    fast = len(os.sched_getaffinity(0)) - 1
    with emulate.emulated({slow_cpu: 4.0 * (fast + 1)}):
        finished = balance("--json", "--", *tell, env=without)
        kept = balance("--json", "--keep-threads", "--", *tell, env=without)
        users = balance("--json", "--", *tell, env={**without, "OMP_NUM_THREADS": "2"})
    for other in (kept, users):
        assert other.stdout.split() == ["none"]
        assert name not in str(answer(other)["variables_set"])
    found = answer(finished)
    need_the_fast_cpus(found, slow_cpu)
    assert finished.stdout.split() == [str(fast)]
    assert f"{name}={fast}" in str(found["variables_set"])


@pytest.mark.machine
def test_a_loop_of_clang_is_shared_out_by_speed(slow_cpu: int, tmp_path: Path) -> None:
    program = compiled_with_libomp("shared_loop.c", tmp_path)
    loop = [program, "600", "2000"]
    environment = {**os.environ, "OMP_NUM_THREADS": "2"}
    alone = run_to_end(loop, check=True, env=environment).stdout.split()
    assert alone[1] == alone[2]  # equal shares
    with emulate.emulated({slow_cpu: 4.0}):
        shared = balance("--only", "seats", "--", *loop, env=environment).stdout.split()
    assert shared[0] == alone[0]
    # Where others compute beside it, both CPUs are slow, and the shares are nearer to each other.
    assert int(shared[2]) > 1.02 * int(shared[1])


@pytest.mark.machine
def test_who_has_a_cpu_of_its_own_spins_shortly_unless_that_was_chosen(slow_cpu: int, tmp_path: Path) -> None:
    program = compiled_with_libomp("shared_loop.c", tmp_path)
    names = ("OMP_NUM_THREADS", "KMP_BLOCKTIME", "OMP_WAIT_POLICY")
    plain = {name: value for name, value in os.environ.items() if name not in names}

    def spin_time(*arguments: str, way: str = "seats", **variables: str) -> tuple[str, str]:
        words = ("--only", way, "--", program, "1000", "100", *arguments)
        number, _, _, most, *_ = balance(*words, env={**plain, **variables}).stdout.split()
        return number, most

    with emulate.emulated({slow_cpu: 4.0}):
        answers, times = zip(
            spin_time(),
            spin_time(way="fastest"),
            spin_time("7"),
            spin_time(OMP_WAIT_POLICY="passive"),
            spin_time(KMP_BLOCKTIME="3"),
            strict=True,
        )
    assert times == ("1", "0", "7", "0", "3")
    assert len(set(answers)) == 1


@pytest.mark.machine
def test_llvms_runtime_starts_a_thread_for_each_cpu(slow_cpu: int, tmp_path: Path) -> None:
    """It asks the kernel itself how many CPUs it has: who is alone must not sit on one."""
    program = compiled_with_libomp("shared_loop.c", tmp_path)
    without = {name: value for name, value in os.environ.items() if name != "OMP_NUM_THREADS"}
    with emulate.emulated({slow_cpu: 4.0}):
        found = answer(balance("--json", "--", program, "600", "2000", env=without))
    assert found["threads"] == len(os.sched_getaffinity(0))
    assert isinstance(found["threads_moved"], int)
    assert found["threads_moved"] > 1


def busy_for(seconds: float) -> list[str]:
    program = f"import time; end = time.monotonic() + {seconds}\nwhile time.monotonic() < end: pass"
    return [sys.executable, "-c", program]


@pytest.mark.machine
def test_a_cpu_that_becomes_slow_while_a_program_runs_is_noticed(slow_cpu: int) -> None:
    def pace(found: dict[str, object]) -> float:
        (one,) = (one for one in answered_cpus(found) if one["cpu"] == slow_cpu)
        return one["work_per_cpu_second"]

    with emulate.emulated({slow_cpu: 4.0}) as emulation:
        if pace(answer(balance("--json", "--", "true"))) > 0.7:
            pytest.skip("the kernel takes the emulator's work for time that the program did not have")
        emulation.pause()
        later = threading.Timer(0.3, emulation.resume)
        later.start()
        found = answer(balance("--json", "--", *busy_for(3)))
        later.join()
    assert pace(found) < 0.8


@pytest.mark.machine
def test_what_linux_does_well_is_left_alone() -> None:
    found = answer(balance("--json", "--", *busy_for(1.5)))
    assert found["helped"] is False
    assert found["left_alone_because"]


@pytest.fixture(autouse=True)
def _nothing_left() -> object:
    """Processes that a failing test left behind."""
    yield
    for pid in family_of(os.getpid()):
        with suppress(OSError):
            if Path(f"/proc/{pid}/comm").read_text() == "tauto-balance\n":
                os.kill(pid, signal.SIGKILL)
