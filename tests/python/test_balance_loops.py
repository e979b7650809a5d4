"""Static loops of LLVM's OpenMP runtime, shared out by the speeds that the balancer publishes."""

from __future__ import annotations

import os
import random
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pytest

from balance_page import BalancePage
from processes import run_to_end
from tune_fakes import compiled_with_libomp

pytestmark = pytest.mark.timed

CPUS = sorted(os.sched_getaffinity(0))[:2]
AS_ALWAYS = {"few", "empty", "one", "chunk", "sections"}
ANY_BOUNDS = {"4", "4u", "8", "8u"}
AGAIN = {"inside-two"}  # the region of inside-one, which has learned from that run


def built(source: str, folder: Path) -> Path:
    if len(CPUS) < 2:
        pytest.skip("needs two CPUs")
    return compiled_with_libomp(source, folder)


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return built("static_loops.c", tmp_path_factory.mktemp("loops"))


def settings(places: Sequence[int]) -> dict[str, str]:
    return {
        "OMP_NUM_THREADS": "2",
        "OMP_PROC_BIND": "true",
        "OMP_PLACES": ",".join(f"{{{cpu}}}" for cpu in places),
        "OMP_MAX_ACTIVE_LEVELS": "2",
    }


class Loops:
    """What each loop gave, and how many iterations each of two threads did."""

    def __init__(self, program: Path, environment: Mapping[str, str], places: Sequence[int]) -> None:
        done = run_to_end([program], env=dict(environment) | settings(places))
        assert done.returncode == 0, done.stderr
        self.results = {}
        self.shares = {}
        for line in done.stdout.splitlines():
            name, result, _, *shares = line.split()
            self.results[name] = int(result)
            self.shares[name] = tuple(map(int, shares))


@pytest.fixture(scope="module")
def plain(program: Path) -> Loops:
    found = Loops(program, os.environ, CPUS)
    assert len(found.results) == 26
    assert all(found.results[name] == 0 for name in (*ANY_BOUNDS, "same", "inside-one", "inside-two"))
    return found


@pytest.fixture
def loops(program: Path) -> Callable[..., Loops]:
    """The program with CPUs that are worth this."""

    def run(*weights: int, places: Sequence[int] = CPUS) -> Loops:
        page = BalancePage()
        by_cpu = [0] * (max(CPUS) + 1 + len(weights))
        for cpu, weight in zip([*CPUS, max(CPUS) + 1], weights, strict=False):
            by_cpu[cpu] = weight
        page.publish(by_cpu)
        found = Loops(program, page.environment(), places)
        assert page.static_loops()
        return found

    return run


@pytest.mark.parametrize("weights", [(1, 4), (4, 1), (7, 9), (1_000_000, 4_000_000_000)])
def test_each_thread_does_its_cpus_share_and_the_results_are_the_same(
    loops: Callable[..., Loops], plain: Loops, weights: tuple[int, int]
) -> None:
    found = loops(*weights)
    assert found.results == plain.results
    for name, shares in found.shares.items():
        if name in AS_ALWAYS:
            assert shares == plain.shares[name]
        elif name in ANY_BOUNDS:
            assert shares == (1, 0)  # they were not equal
        else:
            iterations = sum(plain.shares[name])
            assert sum(shares) == iterations
            if name in AGAIN:
                continue
            assert shares[0] == pytest.approx(iterations * weights[0] / sum(weights), abs=0.6)


def test_a_region_learns_from_its_own_runs_what_its_members_can_do(tmp_path: Path) -> None:
    """The CPUs are as fast as each other, whatever the weights say."""
    program = built("shared_loop.c", tmp_path)
    page = BalancePage()
    by_cpu = [0] * (max(CPUS) + 1)
    by_cpu[CPUS[0]], by_cpu[CPUS[1]] = 9, 1
    page.publish(by_cpu)
    alone, shared = (
        run_to_end([program, "40", "20000"], env=environment | settings(CPUS), check=True).stdout.split()
        for environment in (dict(os.environ), page.environment())
    )
    assert shared[0] == alone[0]
    assert 3 * int(shared[1]) > int(shared[2])


@pytest.mark.parametrize("may_be_set", [False, True])
def test_threads_with_seats_hardly_spin_and_those_without_do_as_usual(
    tmp_path: Path, may_be_set: bool
) -> None:
    program = built("shared_loop.c", tmp_path)
    page = BalancePage()
    if may_be_set:
        page.let_threads_spin()
    chosen = {"KMP_BLOCKTIME", "OMP_WAIT_POLICY"}
    environment = {name: value for name, value in page.environment().items() if name not in chosen}

    def spins(*steps: str) -> tuple[int, int]:
        """At most and at least."""
        words = [program, "20", *steps]
        most, least = run_to_end(words, env=environment | settings(CPUS), check=True).stdout.split()[3:5]
        return int(most), int(least)

    usual, least = spins("60000")
    assert usual == least > 1
    page.publish([2 if cpu == CPUS[0] else 1 for cpu in range(max(CPUS) + 1)])
    first, least = spins("60000")
    assert first == usual, "before it is known who sits where"
    assert least <= 1 if may_be_set else least == usual
    assert spins("60000", "7") == (7, 7), "the program has said it"


def test_who_spins_depends_on_how_far_barriers_are_apart(tmp_path: Path) -> None:
    program = built("shared_loop.c", tmp_path)
    page = BalancePage()
    page.let_threads_spin()
    page.publish([2 if cpu == CPUS[0] else 1 for cpu in range(max(CPUS) + 1)])
    chosen = {"KMP_BLOCKTIME", "OMP_WAIT_POLICY"}
    environment = {name: value for name, value in page.environment().items() if name not in chosen}

    def spins_mostly(regions: int, steps: str, loops: str, *, apart: range) -> bool:
        """Of a run whose barriers were that many microseconds apart: other programs hold some up."""
        words = [program, str(regions), steps, "-1", loops]
        for _ in range(100):
            said = run_to_end(words, env=environment | settings(CPUS), check=True).stdout.split()
            if int(said[-1]) in apart:
                return int(said[-2]) > regions / 2
        pytest.fail("this machine was never quiet")

    assert spins_mostly(400, "50", "1", apart=range(500))
    assert spins_mostly(100, "50", "100", apart=range(500))  # some ms, with a barrier behind each loop
    assert not spins_mostly(20, "20000", "1", apart=range(3000, 1_000_000))


def test_a_member_whose_share_is_empty_does_nothing(loops: Callable[..., Loops], plain: Loops) -> None:
    for weights, idle in ((1, 4_000_000), 0), ((4_000_000, 1), 1):
        found = loops(*weights)
        assert found.results == plain.results
        assert found.shares["int"][idle] == 0
        assert found.shares["unsigned-long"][idle] == 0


@pytest.mark.parametrize("weights", [(), (3, 3), (1, 0), (1, 4, 2)])
def test_weights_that_do_not_fit_the_team_change_nothing(
    loops: Callable[..., Loops], plain: Loops, weights: tuple[int, ...]
) -> None:
    found = loops(*weights)
    assert (found.results, found.shares) == (plain.results, plain.shares)


def test_threads_on_one_cpu_share_equally(loops: Callable[..., Loops], plain: Loops) -> None:
    found = loops(1, 4, places=CPUS[:1] * 2)
    assert (found.results, found.shares) == (plain.results, plain.shares)


def test_weights_that_change_all_the_time_change_no_result(program: Path, plain: Loops) -> None:
    page = BalancePage()
    over = threading.Event()

    def publish() -> None:
        draw = random.Random(1)
        while not over.is_set():
            weights = [0] * (max(CPUS) + 1)
            for cpu in CPUS:
                weights[cpu] = draw.randrange(1, 1000)
            page.publish(weights)

    publisher = threading.Thread(target=publish)
    publisher.start()
    try:
        for _ in range(5):
            found = Loops(program, page.environment(), CPUS)
            assert found.results == plain.results
            assert all(found.shares[name] == plain.shares[name] for name in AS_ALWAYS)
    finally:
        over.set()
        publisher.join()
