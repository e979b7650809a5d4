"""Regions of GCC's OpenMP whose parts are run one after the other, by a thread for each CPU."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path

import pytest

from balance_page import BalancePage
from processes import run_to_end, wait_until
from tune_fakes import compiled

pytestmark = pytest.mark.timed

PARTS = 6
# Parts wait in memory for each other: each gets a thread, and the region is not run in a row again. wave()
# waits at a barrier, too, so it may be seen to do that first.
STUCK = {"neighbour": 1, "wave": 2}
FIRST_TO_BE_STUCK = 81
# Parts that wait for each other: on a busy machine that may take too long for another try on stacks.
MEET = {"barrier", "single", "shared", "kept"}
WAYS = (
    "plain",
    "sum",
    "asked",
    "barrier",
    "single",
    "nowait",
    "shared",
    "neighbour",
    "wave",
    "kept",
    "loops",
    "named",
    "nested",
    "locked",
    "forked",
    "left",
)


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    @cache
    def build(*options: str) -> Path:
        return compiled("rows.c", tmp_path_factory.mktemp("rows"), "-fopenmp", "-pthread", *options)

    return build


def settings(**more: str) -> dict[str, str]:
    return {"OMP_NUM_THREADS": str(PARTS), "OMP_WAIT_POLICY": "passive", **more}


def alone(program: Path, way: str, environment: Mapping[str, str]) -> str:
    done = run_to_end([program, way], input="\n\n\n", env=dict(os.environ) | environment, check=True)
    *_, answer = done.stdout.splitlines()
    return str(answer)


class Held:
    """The program's answer with its forking thread on the first CPU, and how many regions were in a row."""

    def __init__(
        self,
        program: Path,
        way: str,
        environment: Mapping[str, str],
        *,
        helped: bool = True,
        gathered: bool = False,
        also: Path | None = None,
    ) -> None:
        allowed = sorted(os.sched_getaffinity(0))
        if len(allowed) < 2:
            pytest.skip("needs two CPUs")
        first, self.second = allowed[:2]
        page = BalancePage()
        preloaded = page.environment()
        if also is not None:
            preloaded["LD_PRELOAD"] += f":{also}"
        with subprocess.Popen(
            [program, way],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=preloaded | environment,
        ) as process:
            try:
                assert process.stdin is not None
                assert process.stdout is not None
                assert process.stdout.readline() == "begun\n"
                if gathered:
                    page.gather(process.pid, first)
                else:
                    page.hold(process.pid, first)
                    page.allow_lending({first: 2, self.second: 2})
                process.stdin.write("\n")
                process.stdin.flush()
                assert process.stdout.readline() == "looked at\n"
                expected = 1 if helped else 0
                wait_until(lambda: len(page.helpers()) == expected, "the threads that take parts")
                self.helpers = page.helpers()
                if not gathered:
                    assert page.in_a_row() == 0  # not before they sit where they shall
                for thread, cpu in self.helpers.items():
                    page.hold(thread, cpu)
                process.stdin.write("\n")
                process.stdin.flush()
                self.answer = process.stdout.readline().strip()
                self.threads = sum(1 for _ in Path(f"/proc/{process.pid}/task").iterdir())
                process.communicate("\n", timeout=60)
            finally:
                process.kill()
        assert process.returncode == 0
        self.in_a_row = page.in_a_row()


@pytest.mark.parametrize("way", WAYS)
def test_an_answer_does_not_depend_on_who_runs_the_parts(built: Callable[..., Path], way: str) -> None:
    expected = alone(built(), way, settings())
    found = Held(built(), way, settings())
    assert found.answer == expected
    if way in STUCK:
        assert 1 <= found.in_a_row <= STUCK[way]
    else:
        assert found.in_a_row >= (1 if way in MEET else 5)
        # Besides its own, one that takes parts and one that looks for rows that do not end.
        assert found.threads == (4 if way == "named" else PARTS) + 2
    assert set(found.helpers.values()) == {found.second}


@pytest.mark.parametrize("way", [one for one in WAYS if one not in STUCK])
def test_where_all_are_on_one_cpu_the_forking_thread_runs_all_parts(
    built: Callable[..., Path], way: str
) -> None:
    found = Held(built(), way, settings(), helped=False, gathered=True)
    assert found.answer == alone(built(), way, settings())
    assert found.in_a_row >= (1 if way in MEET else 5)
    assert found.threads == (4 if way == "named" else PARTS) + 1  # one that looks for rows that do not end


@pytest.mark.parametrize("way", STUCK)
def test_parts_on_one_cpu_that_wait_in_memory_get_threads(built: Callable[..., Path], way: str) -> None:
    found = Held(built(), way, settings(), helped=False, gathered=True)
    assert found.answer == alone(built(), way, settings())
    # Of 800, those before the first one that is stuck.
    assert 1 <= found.in_a_row <= FIRST_TO_BE_STUCK + STUCK[way]


@pytest.mark.parametrize("unsafe", [1, 2, 3, 4, 5])
def test_parts_that_can_tell_their_threads_apart_have_a_thread_each(
    built: Callable[..., Path], unsafe: int
) -> None:
    program = built(f"-DUNSAFE={unsafe}")
    found = Held(program, "sum", settings(), helped=False)
    assert found.answer == alone(program, "sum", settings())
    assert found.threads == PARTS  # none that takes parts
    assert found.in_a_row == 0


@pytest.mark.parametrize(
    ("name", "value"), [("OMP_STACKSIZE", "16M"), ("OMP_MAX_ACTIVE_LEVELS", "2"), ("OMP_THREAD_LIMIT", "5")]
)
def test_what_only_the_runtime_can_give_is_left_to_it(
    built: Callable[..., Path], name: str, value: str
) -> None:
    found = Held(built(), "sum", settings(**{name: value}), helped=False)
    assert found.answer == alone(built(), "sum", settings(**{name: value}))
    assert found.threads == (5 if name == "OMP_THREAD_LIMIT" else PARTS)
    assert found.in_a_row == 0


@pytest.mark.parametrize("way", ["sum", "kept", "loops"])
def test_two_parts_are_run_by_one_thread_where_that_takes_less_time(
    built: Callable[..., Path], way: str
) -> None:
    two = settings(OMP_NUM_THREADS="2")
    found = Held(built(), way, two)
    assert found.answer == alone(built(), way, two)
    assert found.in_a_row >= (1 if way in MEET else 5)


@pytest.mark.parametrize("of_the_system", [True, False])
def test_libraries_of_the_system_may_keep_what_they_want_for_each_thread(
    built: Callable[..., Path], tmp_path: Path, of_the_system: bool
) -> None:
    library = next(Path("/usr/lib").glob("*/libselinux.so.1"), None)
    if library is None:
        pytest.skip("no library with memory for each thread is known here")
    if not of_the_system:
        library = Path(shutil.copy(library, tmp_path))
    found = Held(built(), "sum", settings(), helped=of_the_system, also=library)
    assert found.answer == alone(built(), "sum", settings())
    assert (found.threads > PARTS) == of_the_system
    assert (found.in_a_row > 0) == of_the_system
