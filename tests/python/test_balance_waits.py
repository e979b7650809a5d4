"""What libtauto-waits.so marks in programs that know nothing of it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import pytest

from balance_page import BalancePage, Waits
from processes import run_to_end, stat_of, wait_until
from tautochrone.machine import runners
from tune_fakes import PROGRAMS, compiled

pytestmark = pytest.mark.timed

COMPILERS = ("gcc", "clang")
MEETINGS = ("barrier", "condition", "futex")
WAYS = ("barrier", "cond", "timedwait", "clockwait", "sem", "timed sem", "join", "timed join", "futex")


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """A program, compiled once with each compiler."""
    folder = tmp_path_factory.mktemp("programs")

    @cache
    def build(source: str, compiler: str, *options: str) -> Path:
        return compiled(source, folder, "-pthread", *options, compiler=compiler)

    return build


def status_of(thread: int, name: str) -> str:
    lines = Path(f"/proc/{thread}/status").read_text().splitlines()
    return next(line.split()[1] for line in lines if line.startswith(f"{name}:"))


class Conversation:
    """A program that says in a line what it does, and goes on when it gets one."""

    def __init__(self, page: BalancePage, process: subprocess.Popen[str]) -> None:
        self.page = page
        self.process = process

    def heard(self, word: str) -> int:
        """The thread that said the next word, which must be this one."""
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line.startswith(f"{word} "), f"{line!r} instead of {word}"
        return int(line.split()[1])

    def go_on(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write("\n")
        self.process.stdin.flush()

    def waits(self, thread: int) -> Waits:
        return self.page.threads()[thread]

    def passed(self, thread: int) -> int:
        """Places that all threads of its team come past."""
        return self.page.passed()[thread]

    def sleeps(self, thread: int) -> bool:
        return stat_of(thread)[0] == "S"


@contextmanager
def conversation(page: BalancePage, *words: object) -> Iterator[Conversation]:
    process = subprocess.Popen(
        list(map(str, words)),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=page.environment(),
    )
    try:
        yield Conversation(page, process)
        process.communicate("\n", timeout=60)
        assert process.returncode == 0
    finally:
        process.kill()
        process.communicate()


@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize("way", [*WAYS, "yield"])
def test_a_thread_is_marked_while_it_waits_and_only_then(
    built: Callable[..., Path], compiler: str, way: str
) -> None:
    page = BalancePage()
    with conversation(page, built("waits.c", compiler), way) as program:
        thread = program.heard("waits")
        wait_until(lambda: thread in page.threads() and program.waits(thread).depth == 1, "the mark")
        if way == "yield":
            before = program.waits(thread)
            wait_until(lambda: program.waits(thread).yields > before.yields + 100, "more yields")
            assert program.waits(thread).begun > before.begun
            assert program.waits(thread).waited > before.waited
        else:
            wait_until(lambda: program.sleeps(thread), "sleep")
            assert program.waits(thread) == Waits(begun=1, depth=1, yields=0)
        program.go_on()
        assert program.heard("works") == thread
        assert program.waits(thread).depth == 0
        main = program.process.pid
        program.go_on()
        assert program.heard("ended") == main
        assert thread not in page.threads()
        assert program.waits(main).depth == 0


@pytest.mark.parametrize("way", ["cancelled cond", "cancelled sem"])
def test_a_thread_that_was_cancelled_works_in_its_cleanup_and_leaves_nothing(
    built: Callable[..., Path], way: str
) -> None:
    page = BalancePage()
    with conversation(page, built("waits.c", "gcc"), way) as program:
        thread = program.heard("waits")
        wait_until(lambda: program.sleeps(thread), "sleep")
        assert program.waits(thread).depth == 1
        program.go_on()
        program.heard("works")
        assert program.waits(thread).depth == 0
        program.go_on()
        program.heard("ended")
        assert thread not in page.threads()


def test_a_wait_that_was_left_by_a_jump_counts_no_more_after_the_next_one(
    built: Callable[..., Path],
) -> None:
    page = BalancePage()
    with conversation(page, built("waits.c", "gcc"), "jump") as program:
        thread = program.heard("waits")
        wait_until(lambda: program.sleeps(thread), "sleep")
        program.go_on()
        program.heard("works")
        assert program.waits(thread) == Waits(begun=2, depth=0, yields=0)
        program.go_on()
        program.heard("ended")


def test_a_child_of_fork_has_a_slot_of_its_own(built: Callable[..., Path]) -> None:
    page = BalancePage()
    with conversation(page, built("waits.c", "gcc"), "fork") as program:
        child = program.heard("waits")
        assert set(page.threads()) == {program.process.pid}
        program.go_on()
        assert program.heard("works") == child
        assert set(page.threads()) == {program.process.pid, child}
        assert program.waits(child) == Waits(begun=1, depth=0, yields=0)
        assert program.waits(program.process.pid).begun == 0
        program.go_on()
        program.heard("ended")


def test_a_program_that_executes_another_keeps_its_one_slot(built: Callable[..., Path]) -> None:
    page = BalancePage()
    with conversation(page, "sh", "-c", 'exec "$0" fork', built("waits.c", "gcc")) as program:
        program.heard("waits")
        assert page.used() == 1
        assert set(page.threads()) == {program.process.pid}
        program.go_on()
        program.heard("works")
        program.go_on()
        program.heard("ended")


@pytest.fixture(scope="module")
def with_openmp(
    built: Callable[..., Path], tmp_path_factory: pytest.TempPathFactory
) -> Callable[[str], Path]:
    """The program with OpenMP: GCC's with its own runtime, clang's with LLVM's; no header is needed."""
    folder = tmp_path_factory.mktemp("libomp")
    if libomp := runners.find_libomp():
        (folder / "libomp.so").symlink_to(libomp)

    def build(source: str, compiler: str) -> Path:
        if compiler == "clang" and libomp is None:
            pytest.skip("LLVM's OpenMP runtime is not here (Debian: libomp5)")
        return built(source, compiler, "-fopenmp", f"-L{folder}")

    return build


@pytest.mark.parametrize("policy", ["active", "passive"])
@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize("way", ["barrier", "loop", "dynamic loop", "join", "between", "task"])
def test_openmp_threads_are_marked_while_they_wait(
    with_openmp: Callable[[str, str], Path],
    compiler: str,
    way: str,
    policy: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OMP_WAIT_POLICY", policy)
    page = BalancePage()
    with conversation(page, with_openmp("openmp_waits.c", compiler), way) as program:
        thread = program.heard("waits")
        wait_until(lambda: thread in page.threads() and program.waits(thread).depth > 0, "the mark")
        # Written after the mark.
        wait_until(lambda: way == "task" or program.waits(thread).since > 0, "the time")
        program.go_on()
        assert program.heard("works") == thread
        assert program.waits(thread).depth == 0
        assert way == "task" or program.waits(thread).waited > 0
        program.go_on()
        main = program.heard("ended")
        assert main == program.process.pid
        assert main not in page.threads() or program.waits(main).depth == 0


class Spinning:
    """The program, whose regions of 2 ms are a hundred a line."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process

    def spins(self) -> bool:
        """Whether who waits does it for most of that time."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        return int(self.process.stdout.readline()) > 100

    def threads(self) -> int:
        return sum(1 for _ in Path(f"/proc/{self.process.pid}/task").iterdir())


@contextmanager
def spinning(program: Path, page: BalancePage) -> Iterator[Spinning]:
    pipe = subprocess.PIPE
    with subprocess.Popen([program], stdin=pipe, stdout=pipe, text=True, env=page.environment()) as process:
        try:
            yield Spinning(process)
            process.communicate("", timeout=60)
        finally:
            process.kill()
    assert process.returncode == 0


def test_waits_of_gcc_sleep_soon_as_long_as_the_controller_wants_it(
    built: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("OMP_WAIT_POLICY", "GOMP_SPINCOUNT"):
        monkeypatch.delenv(name, raising=False)
    page = BalancePage()
    with spinning(built("spinning.c", "gcc", "-fopenmp"), page) as program:
        for _ in range(3):
            assert program.spins()
            page.let_waits_sleep()
            assert not program.spins()
            page.let_waits_sleep(on=False)
            assert program.spins()
            wait_until(lambda: program.threads() == 2, "the end of the idle team")


@pytest.mark.parametrize(("name", "value"), [("OMP_WAIT_POLICY", "active"), ("GOMP_SPINCOUNT", "infinity")])
def test_who_has_set_how_long_threads_spin_keeps_it(
    built: Callable[..., Path], monkeypatch: pytest.MonkeyPatch, name: str, value: str
) -> None:
    monkeypatch.setenv(name, value)
    page = BalancePage()
    page.let_waits_sleep()
    with spinning(built("spinning.c", "gcc", "-fopenmp"), page) as program:
        assert program.spins()
        assert program.threads() == 2


@pytest.mark.parametrize("compiler", COMPILERS)
def test_a_region_may_share_any_number_of_variables(
    with_openmp: Callable[[str, str], Path], compiler: str
) -> None:
    done = run_to_end([with_openmp("many_variables.c", compiler)], env=BalancePage().environment())
    assert done.stdout == f"{2 * sum(range(10, 100))} {2 * (11 + 90 + 99)}\n", done.stderr


def test_calls_go_to_the_runtime_that_the_caller_brought(tmp_path: Path) -> None:
    for number in (1, 2):
        runtime = f"libruntime{number}.so"
        for words in (
            [f"-DANSWER={number}", "-o", runtime, f"-Wl,-soname,{runtime}"],
            ["-o", f"user{number}.so", "-L.", f"-lruntime{number}", "-Wl,-rpath,$ORIGIN"],
        ):
            source = PROGRAMS / "own_runtime.c"
            done = run_to_end(["gcc", "-shared", "-fPIC", source, *words], cwd=tmp_path)
            assert done.returncode == 0, done.stderr
    shutil.copy(tmp_path / "user1.so", tmp_path / "user3.so")
    script = "import ctypes, sys; print(*(ctypes.CDLL(name).answer() for name in sys.argv[1:]))"
    users = [tmp_path / f"user{number}.so" for number in (1, 2, 1, 3, 2)]
    done = run_to_end([sys.executable, "-c", script, *users], env=BalancePage().environment())
    assert done.stdout == "1 2 1 1 2\n", done.stderr


@pytest.mark.parametrize("bound", ["now", "lazily"])
@pytest.mark.parametrize("table", ["relro,-z,now", "norelro"], ids=["sealed", "open"])
@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize("way", ["barrier", "join", "between", "task"])
def test_openmp_threads_of_a_library_that_is_loaded_later_are_marked(
    tmp_path: Path, compiler: str, way: str, table: str, bound: str
) -> None:
    if (libomp := runners.find_libomp()) is not None:
        (tmp_path / "libomp.so").symlink_to(libomp)
    elif compiler == "clang":
        pytest.skip("LLVM's OpenMP runtime is not here (Debian: libomp5)")
    options = ("-fopenmp", "-shared", "-fPIC", "-DLATE", f"-L{tmp_path}", f"-Wl,-z,{table}")
    library = compiled("openmp_waits.c", tmp_path, *options, compiler=compiler)
    program = compiled("late.c", tmp_path, "-ldl")
    page = BalancePage()
    with conversation(page, program, library, bound, way) as talk:
        thread = talk.heard("waits")
        wait_until(lambda: thread in page.threads() and talk.waits(thread).depth > 0, "the mark")
        talk.go_on()
        assert talk.heard("works") == thread
        assert talk.waits(thread).depth == 0
        talk.go_on()
        talk.heard("ended")


def test_answers_are_right_while_users_of_a_late_runtime_come_and_go(tmp_path: Path) -> None:
    users = [tmp_path / f"{number}.so" for number in range(3)]
    options = ("-fopenmp", "-shared", "-fPIC", "-DSUM", "-Wl,-z,relro,-z,now")
    for user in users:
        compiled("late_loads.c", tmp_path, *options).rename(user)
    program = compiled("late_loads.c", tmp_path, "-pthread", "-ldl")
    environment = {**BalancePage().environment(), "OMP_WAIT_POLICY": "passive"}
    done = run_to_end([program, *users], env=environment)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("mpi", ["openmpi", "mpich"])
def test_mpi_ranks_are_marked_while_they_wait(
    built: Callable[..., Path], mpi: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("OMPI_ALLOW_RUN_AS_ROOT", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"):
        monkeypatch.setenv(name, "1")
    launcher = {"openmpi": ["mpirun.openmpi", "--quiet", "--oversubscribe"], "mpich": ["mpiexec.mpich"]}[mpi]
    page = BalancePage()
    with conversation(page, *launcher, "-n", 2, built("mpi_waits.c", f"mpicc.{mpi}")) as program:
        rank = program.heard("waits")
        wait_until(lambda: rank in page.threads() and program.waits(rank).since > 0, "the mark")
        assert program.waits(rank).depth > 0
        before = program.waits(rank)
        seen = time.monotonic_ns()
        program.go_on()
        assert program.heard("works") == rank
        assert program.waits(rank).waited > before.waited + seen - before.since
        program.go_on()
        program.heard("ended")
        wait_until(lambda: program.waits(rank).depth > 0, "the mark of the last barrier")


@pytest.mark.parametrize(("together", "held"), [(True, True), (False, True), (True, False)])
def test_ranks_that_wait_on_one_cpu_sleep_between_two_looks(
    built: Callable[..., Path], together: bool, held: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, *others = sorted(os.sched_getaffinity(0))
    if not together and not others:
        pytest.skip("needs two CPUs")
    for name in ("OMPI_ALLOW_RUN_AS_ROOT", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "OMPI_MCA_mpi_yield_when_idle"):
        monkeypatch.setenv(name, "1")
    monkeypatch.setenv("OMPI_MCA_hwloc_base_binding_policy", "none")
    words = ["mpirun.openmpi", "--quiet", "--oversubscribe", "-n", 2, built("mpi_waits.c", "mpicc.openmpi")]
    page = BalancePage()
    with conversation(page, *words) as program:
        waiting = program.heard("waits")
        wait_until(lambda: waiting in page.threads() and program.waits(waiting).since > 0, "the mark")
        name = status_of(waiting, "Name")
        other = next(one for one in page.threads() if one != waiting and status_of(one, "Name") == name)
        if held:
            page.hold(waiting, first)
            page.hold(other, first if together else others[0])
        before = int(status_of(waiting, "voluntary_ctxt_switches"))

        def slept() -> int:
            return int(status_of(waiting, "voluntary_ctxt_switches")) - before

        if together and held:
            wait_until(lambda: slept() > 100, "its sleeps")
        else:
            time.sleep(0.3)
            assert slept() <= 100
        for _ in range(3):
            program.go_on()


STARTS = ("thread", "system", "popen", "spawn", "fork", "execv", "execl", "execlp", "execle", "fexecve")


@pytest.mark.parametrize("way", [*STARTS, "ask"])
def test_a_held_thread_passes_on_the_programs_own_mask(built: Callable[..., Path], way: str) -> None:
    allowed = sorted(os.sched_getaffinity(0))
    if len(allowed) < 2:
        pytest.skip("needs two CPUs")
    page = BalancePage()
    with conversation(page, built("masks.c", "gcc"), way) as program:
        page.hold(program.heard("held"), allowed[-1])
        assert os.sched_getaffinity(program.process.pid) == {allowed[-1]}
        program.go_on()
        assert program.process.stdout is not None
        assert program.process.stdout.readline() == f"{len(allowed)}\n"


@pytest.mark.parametrize("way", ["pin", "pin pthread"])
def test_a_mask_that_a_held_thread_gives_itself_stays(built: Callable[..., Path], way: str) -> None:
    allowed = sorted(os.sched_getaffinity(0))
    if len(allowed) < 2:
        pytest.skip("needs two CPUs")
    page = BalancePage()
    with conversation(page, built("masks.c", "gcc"), way, allowed[0]) as program:
        page.hold(program.heard("held"), allowed[-1])
        program.go_on()
        assert program.process.stdout is not None
        assert program.process.stdout.readline() == "1\n"


@pytest.mark.parametrize("where", MEETINGS)
@pytest.mark.parametrize(
    ("what", "lends"),
    [("slower", True), ("as fast", False), ("slower, not allowed", False), ("slower, pinned", False)],
)
def test_who_waits_takes_a_thread_on_a_slower_cpu_onto_its_own(
    built: Callable[..., Path], what: str, lends: bool, where: str
) -> None:
    allowed = sorted(os.sched_getaffinity(0))
    if len(allowed) < 2:
        pytest.skip("needs two CPUs")
    first, second = allowed[:2]
    page = BalancePage()
    with conversation(page, built("lending.c", "gcc"), where) as program:
        behind = program.heard("works")
        waiting = program.process.pid
        # Behind the place at which both began.
        wait_until(lambda: program.waits(waiting).depth == 1 and program.sleeps(waiting), "the first wait")
        page.hold(waiting, first)
        page.hold(behind, second)
        if what != "slower, not allowed":
            page.allow_lending({first: 4, second: 4 if what == "as fast" else 1})
        # Nothing is lent before a wait was seen to be long enough.
        for home in ({second}, {first} if lends else {second}):
            if what == "slower, pinned":
                os.sched_setaffinity(behind, home := set(allowed))
            began = program.waits(waiting).begun
            program.go_on()
            assert program.heard("works") == behind
            wait_until(lambda began=began: program.waits(waiting).begun > began, "the next wait")
            wait_until(lambda: program.sleeps(waiting), "sleep")
            assert os.sched_getaffinity(behind) == home
            assert os.sched_getaffinity(waiting) == {first}
        if what == "slower":  # it goes home when the wait ends, and nothing is lent in the next
            page.allow_lending({first: 1, second: 1})
            home = {second}
        program.go_on()
        program.heard("works")
        wait_until(lambda: os.sched_getaffinity(behind) == home, "the way home")
        program.go_on()
        program.heard("ended")
        assert os.sched_getaffinity(waiting) == {first}


def test_threads_that_live_for_one_step_tell_when_it_was_over(built: Callable[..., Path]) -> None:
    page = BalancePage()
    with conversation(page, built("steps.c", "gcc"), 10) as program:
        program.heard("ready")
        program.go_on()
        program.heard("over")
        told = page.steps()
        assert told.count == 9  # that the last is over shows when the next begins
        assert told.ended == 20
        assert told.asked == 2  # of 20
        assert told.ran > 2 * 50_000
        assert told.handed_over == 0
        assert program.process.pid in page.threads()
        assert len(page.threads()) == 1


@pytest.mark.parametrize("what", ["slower", "as fast", "slower, not allowed", "slower, pinned"])
def test_who_ends_puts_a_thread_on_a_slower_cpu_onto_its_own(built: Callable[..., Path], what: str) -> None:
    allowed = sorted(os.sched_getaffinity(0))
    if len(allowed) < 2:
        pytest.skip("needs two CPUs")
    slow = allowed[-1]
    page = BalancePage()
    paces = {cpu: 1 if cpu == slow and what != "as fast" else 4 for cpu in allowed}
    with conversation(page, built("steps.c", "gcc"), 50, slow) as program:
        starter = program.heard("ready")
        wait_until(lambda: len(page.threads()) == 2, "the thread that is behind")
        behind = next(thread for thread in page.threads() if thread != starter)
        if what != "slower, not allowed":
            page.let_ends_hand_over(paces)
        if what == "slower, pinned":
            page.limit(allowed[:1])
        program.go_on()
        program.heard("over")
        told = page.steps()
        assert told.ended == 50
        assert told.count == 49
        assert (told.handed_over > 0) == (what == "slower")
        # It may still be on its own way to the slow CPU.
        wait_until(lambda: os.sched_getaffinity(behind) == set(allowed), "all CPUs again")
        assert os.sched_getaffinity(starter) == set(allowed)


@pytest.mark.parametrize("where", MEETINGS)
def test_each_thread_comes_past_a_meeting_once(built: Callable[..., Path], where: str) -> None:
    page = BalancePage()
    with conversation(page, built("lending.c", "gcc"), where) as program:
        second = program.heard("works")
        first = program.process.pid
        for meetings in (1, 2, 3):
            wait_until(lambda: program.waits(first).depth == 1 and program.sleeps(first), "the next wait")
            # Who comes early to a barrier has come past it; elsewhere nobody knows before its end.
            early = 1 if where == "barrier" else 0
            assert (program.passed(first), program.passed(second)) == (meetings + early, meetings)
            program.go_on()
            assert program.heard("works") == second
        program.go_on()
        program.heard("ended")


@pytest.mark.parametrize("compiler", COMPILERS)
def test_calls_by_number_come_through(built: Callable[..., Path], compiler: str) -> None:
    done = run_to_end([built("calls.c", compiler, "-O2")], env=BalancePage().environment())
    assert (done.returncode, done.stdout) == (0, "right\n")


@pytest.mark.parametrize("page", ["", "/no/such/file", "/dev/zero", "/proc/self/exe"])
def test_without_a_page_the_program_runs_as_always(built: Callable[..., Path], page: str) -> None:
    environment = BalancePage().environment() | {"TAUTO_BALANCE_PAGE": page}
    done = subprocess.run(
        [built("waits.c", "gcc"), "cond"],
        input="\n\n\n",
        capture_output=True,
        text=True,
        env=environment,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert [line.split()[0] for line in done.stdout.splitlines()] == ["waits", "works", "ended"]


def test_the_library_needs_nothing_but_the_systems_own() -> None:
    library = BalancePage().environment()["LD_PRELOAD"]
    done = subprocess.run(["readelf", "-d", library], capture_output=True, text=True, check=True)
    needed = [line.split("[")[1].rstrip("]") for line in done.stdout.splitlines() if "NEEDED" in line]
    assert all(name.startswith(("libc.so", "ld-linux", "libpthread", "libdl")) for name in needed), needed
    assert os.access(library, os.R_OK)
