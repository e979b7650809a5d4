"""The suite's rows on collectives and N-body (B15 to B23), on a mock executor."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from runner_processes import children_of
from tautochrone.clock import VirtualClock
from tautochrone.configuration import Configuration
from tautochrone.executor import RunResult
from test_benchmarks import ActingExecutor, context, without

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks import bodies, members


class CollectiveExecutor(ActingExecutor):
    """Launches of the collective runners whose points follow `curve(library, operation, words)`."""

    def __init__(self, clock: VirtualClock, curve: Callable[[str, str, int], float]) -> None:
        super().__init__(clock, lambda settings: 1e-6, elapsed=0.5)
        self.curve = curve

    def run(self, configuration: Configuration, time_limit: float) -> RunResult:
        result = super().run(configuration, time_limit)
        settings: Mapping[str, Any] = configuration.settings
        points = [
            {"operation": one, "words": words, "seconds": self.curve(settings["library"], one, words)}
            for one in settings.get("operations", ())
            for words in settings["lengths"]
        ]
        return RunResult(result.seconds, result.elapsed_seconds, record={"points": points})


class BlocksExecutor(ActingExecutor):
    """Runs of the nbody runners; a class takes `in_class(scheme, active)` seconds, a mean block `figure`."""

    def __init__(
        self,
        clock: VirtualClock,
        figure: Callable[[Any], float],
        in_class: Callable[[str, int], float] = lambda scheme, low: 1e-6 * low,
    ) -> None:
        super().__init__(clock, figure, elapsed=0.3)
        self.in_class = in_class

    def run(self, configuration: Configuration, time_limit: float) -> RunResult:
        result = super().run(configuration, time_limit)
        scheme = str(configuration.settings.get("scheme"))
        classes = [
            {"active_from": low, "median_seconds": self.in_class(scheme, low), "blocks": blocks}
            for low, blocks in ((1, 90), (8, 50), (64, 30), (512, 2))
        ]
        return RunResult(result.seconds, result.elapsed_seconds, record={"classes": classes})


def smooth(library: str, operation: str, words: int) -> float:
    latency = {"tautochrone": 2e-7, "openmpi": 8e-7, "mpich": 9e-7}[library]
    return latency + words * 5e-10


# -- B15 to B18 --


def test_barrier_meets_the_better_openmp_and_half_a_round_trip(tmp_path: Path) -> None:
    clock = VirtualClock()

    def figure(settings: Any) -> float:
        if settings["program"] == "round-trip":
            return 1.2e-7 if settings["pause"] else 1e-7
        if settings["program"] == "barrier-openmp":
            return {"libgomp": 3e-7, "libomp": 2e-7}[settings["library"]]
        return 6e-8

    found = {one.id: one for one in members.barrier(context(tmp_path, clock, ActingExecutor(clock, figure)))}
    assert found["B15/openmp"].ratio == pytest.approx(0.3)
    assert found["B15/openmp"].peer.startswith("libomp")
    assert found["B15/transfer"].ratio == pytest.approx(6e-8 / 5e-8)
    assert found["B15"].met is True


def test_collectives_meet_the_better_mpi_at_each_length(tmp_path: Path) -> None:
    clock = VirtualClock()

    def curve(library: str, operation: str, words: int) -> float:
        if library == "mpich" and words >= 1024:
            return smooth("openmpi", operation, words) / 2  # the better one there
        return smooth(library, operation, words)

    made = context(tmp_path, clock, CollectiveExecutor(clock, curve), find_peer=without("intelmpi"))
    found = {one.id: one for one in members.every_length(made)}
    assert found["B17/all_reduce/512"].peer == "openmpi"
    assert found["B17/all_reduce/512"].ratio == pytest.approx(
        smooth("tautochrone", "", 512) / smooth("openmpi", "", 512)
    )
    assert found["B17/all_gather/1024"].peer == "mpich"
    assert found["B17/all_gather/1024"].met is False
    assert found["B17"].met is False
    assert "all_gather/1024" in found["B17"].note
    assert "without intelmpi, which is not here" in found["B17"].note
    assert found["B17/all_reduce/mean"].target == 0.4


def test_short_reductions_are_judged_at_both_lengths(tmp_path: Path) -> None:
    clock = VirtualClock()
    found = members.short_reductions(context(tmp_path, clock, CollectiveExecutor(clock, _quick_ours)))
    assert [one.id for one in found] == ["B16", "B16/all_reduce/1", "B16/all_reduce/7"]
    assert found[0].met is True


def _quick_ours(library: str, operation: str, words: int) -> float:
    return smooth("tautochrone" if library == "tautochrone" else "mpich", operation, words)


def test_without_any_mpi_the_rows_say_so(tmp_path: Path) -> None:
    clock = VirtualClock()
    nobody = without(*members.MPI)
    made = context(tmp_path, clock, CollectiveExecutor(clock, smooth), find_peer=nobody)
    for measure in (members.short_reductions, members.every_length):
        own, cell = measure(made)
        assert own.met is None
        assert cell.note == "no MPI is here"
        assert own.ratio is None
        assert cell.what.endswith("against the better MPI")
        assert "without openmpi and mpich and intelmpi, which are not here" in own.note


def test_smooth_curves_keep_both_laws(tmp_path: Path) -> None:
    clock = VirtualClock()
    found = {
        one.id: one for one in members.smooth(context(tmp_path, clock, CollectiveExecutor(clock, smooth)))
    }
    assert found["B18"].met is True
    assert len(found) == 5
    assert (found["B18/all_reduce/jump"].ratio or 9) < 1.06


def test_a_peak_and_a_jump_are_found_and_named(tmp_path: Path) -> None:
    clock = VirtualClock()

    def curve(library: str, operation: str, words: int) -> float:
        peak = operation == "all_reduce" and 900 <= words < 1100
        return smooth(library, operation, words) * (1.5 if peak else 1.0)

    found = {
        one.id: one for one in members.smooth(context(tmp_path, clock, CollectiveExecutor(clock, curve)))
    }
    assert found["B18/all_reduce/cheaper"].met is False
    assert found["B18/all_reduce/cheaper"].ratio == pytest.approx(1.5, rel=0.06)
    assert found["B18/all_reduce/jump"].met is False
    assert "words" in found["B18/all_reduce/jump"].note
    assert found["B18/all_gather/cheaper"].met is True
    assert found["B18"].met is False


def test_fine_lengths_are_five_per_cent_apart() -> None:
    lengths = members.fine_lengths()
    assert (lengths[0], lengths[-1]) == (8, 65_536)
    assert all(b <= max(a + 1, 1.05 * a) for a, b in pairwise(lengths))


# -- B19 to B23 --


@pytest.mark.parametrize(("instructions", "met"), [("avx512", True), ("avx2", None)])
def test_gravity_is_judged_by_time_and_error_where_there_is_avx512(
    tmp_path: Path, instructions: str, met: bool | None
) -> None:
    clock = VirtualClock()

    class Kernel(ActingExecutor):
        def run(self, configuration: Configuration, time_limit: float) -> RunResult:
            result = super().run(configuration, time_limit)
            record = {
                "pairs_per_second": 1.25e9,
                "relative_force_error": 3e-15,
                "instructions": instructions,
                "clock_hertz": 3e9,
                "cycles_per_pair": 2.4,
            }
            return RunResult(result.seconds, result.elapsed_seconds, record=record)

    rate, error = bodies.gravity(context(tmp_path, clock, Kernel(clock, lambda settings: 4e-5)))
    assert (rate.unit, rate.ratio) == ("ns", pytest.approx(0.8))
    assert rate.met is met
    assert error.met is True
    assert "2.40 cycles a pair" in rate.note


def test_speed_up_is_held_against_one_core(tmp_path: Path) -> None:
    clock = VirtualClock()
    executor = BlocksExecutor(clock, lambda settings: 50e-6 / len(settings["cpus"]) * 1.05)
    (row,) = bodies.speed_up(context(tmp_path, clock, executor))
    assert row.ratio == pytest.approx(0.5)
    assert row.met is True
    assert "2.00 times as fast" in row.note


def test_blocks_meet_the_fastest_way_of_openmp_and_mpi(tmp_path: Path) -> None:
    clock = VirtualClock()

    def figure(settings: Any) -> float:
        if settings["library"] == "tautochrone":
            return 27e-6
        if settings["scheme"] == "region-j" and settings["wait"] == "active":
            return 29e-6
        return {"libgomp": 40e-6, "openmpi": 33e-6}.get(settings["library"], 45e-6)

    executor = BlocksExecutor(clock, figure)
    (row,) = bodies.rivals(context(tmp_path, clock, executor, find_peer=without("mpich", "intelmpi")))
    assert row.peer == "libgomp region-j, 2 members, active wait"
    assert row.ratio == pytest.approx(27 / 29)
    assert row.met is False
    assert "openmpi 33.0 µs" in row.note
    assert "without mpich and intelmpi, which are not here" in row.note
    tried = {(one.settings["library"], one.settings["scheme"]) for one in executor.ran}
    assert {("openmpi", "i"), ("openmpi", "j"), ("openmpi", "auto"), ("libgomp", "loops-i")} <= tried


def test_each_class_is_held_against_its_best_fixed_scheme(tmp_path: Path) -> None:
    clock = VirtualClock()

    def in_class(scheme: str, low: int) -> float:
        best = {1: "serial", 8: "j", 64: "i"}.get(low)
        if scheme == "auto":
            return 1.2e-6 if low == 64 else 1.01e-6
        return 1e-6 if scheme == best else 1.5e-6

    executor = BlocksExecutor(clock, lambda settings: 1e-5, in_class)
    found = {one.id: one for one in bodies.chosen_schemes(context(tmp_path, clock, executor))}
    assert set(found) == {"B22", "B22/1", "B22/8", "B22/64"}  # two blocks of 512 are too few
    assert found["B22/8"].peer.startswith("tautochrone j")
    assert found["B22/1"].ratio == pytest.approx(1.01)
    assert found["B22/64"].met is False
    assert found["B22"].met is False
    assert "missed at 64" in found["B22"].note


def test_another_program_is_there_while_both_are_measured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = VirtualClock()
    there: list[bool] = []
    is_there = False

    @contextlib.contextmanager
    def busy(cpus: Any) -> Iterator[None]:
        nonlocal is_there
        is_there = True
        yield
        is_there = False

    monkeypatch.setattr(bodies, "busy_process", busy)

    def figure(settings: Any) -> float:
        there.append(is_there)
        return 60e-6 if len(settings["cpus"]) > 1 else 50e-6

    (row,) = bodies.beside_another(context(tmp_path, clock, BlocksExecutor(clock, figure)))
    assert there
    assert all(there)
    assert row.ratio == pytest.approx(1.2)
    assert row.met is False
    assert "slowest round 1.20" in row.note


def test_the_busy_process_ends_with_the_measurement() -> None:
    before = children_of(os.getpid())
    cpu = min(os.sched_getaffinity(0))
    with bodies.busy_process((cpu,)):
        assert len(children_of(os.getpid()) - before) == 1
    assert children_of(os.getpid()) == before
