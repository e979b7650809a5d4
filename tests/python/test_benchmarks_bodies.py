"""What each benchmark compares with what, B1 to B27, on runs that are acted."""

from __future__ import annotations

import contextlib
import math
import os
import shutil
from collections.abc import Callable, Iterator
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any

import pytest
from benchmarks import run, suite
from benchmarks.bodies import collectives, loops, metering, nbody, tasks, tuning
from benchmarks.bodies.loops import Loop, Unequal, cell_of, conclude_unequal, loops_to_optimum
from benchmarks.bodies.tasks import Tasks
from benchmarks.measurement import Measurement
from benchmarks.rounds import bound_pairs, work_over_speeds
from benchmarks.rows import Entry

from benchmark_suite import ActingExecutor, Suite, loops_record, without
from processes import family_of
from tautochrone.energy.find import Found
from tautochrone.energy.meter import Unavailable
from tautochrone.errors import TautoError
from tautochrone.measuring.configuration import Configuration
from tautochrone.results.row import Row


@pytest.fixture
def acted(tmp_path: Path) -> Suite:
    return Suite(tmp_path)


@pytest.fixture
def slowed(monkeypatch: pytest.MonkeyPatch) -> None:
    """CPUs can be made slower, and are not."""
    for module in (loops, tasks, tuning):
        monkeypatch.setattr(module, "emulated", lambda slow: contextlib.nullcontext())


def always(seconds: float) -> Callable[[Any], float]:
    return lambda settings: seconds


def by(setting: str, seconds: dict[str, float], others: float) -> Callable[[Any], float]:
    """Seconds by one of the settings."""
    return lambda settings: seconds.get(settings.get(setting), others)


# -- B1, B6, B7: launches --


def test_the_faster_library_and_wait_policy_is_the_peer_and_is_measured_anew(acted: Suite) -> None:
    seconds = {"tautochrone": 0.4, "libgomp": 1.2, "libomp": 0.9}

    def figure(settings: Any) -> float:
        return float(seconds[settings["library"]]) * (0.9 if settings["wait"] == "active" else 1.0)

    row = acted.rows("B1", figure)["B1"]
    assert row.peer == "libomp, active wait, empty region"
    assert row.ratio == pytest.approx(0.4 / 0.81)
    assert row.met is False
    assert row.rounds >= 8


def test_a_library_that_is_missing_is_named(acted: Suite) -> None:
    row = acted.rows("B1", find_peer=without("libomp"))["B1"]
    assert "; without libomp, which is not here" in row.note
    nobody = acted.rows("B1", find_peer=without("libgomp", "libomp"))["B1"]
    assert (nobody.peer, nobody.met) == ("OpenMP", None)
    assert "libgomp is not here: not installed" in nobody.note


def test_a_loop_too_short_is_judged_by_nanoseconds(acted: Suite) -> None:
    row = acted.rows("B6", lambda settings: 16e-9 if "--plain" in settings["program"] else 34e-9)["B6"]
    assert (row.unit, row.met) == ("ns", True)
    assert row.ratio == pytest.approx(18.0)


def test_use_after_the_last_loop_fails_even_when_loops_are_fast(acted: Suite) -> None:
    def busy(configuration: Configuration) -> dict[str, Any]:
        return {**loops_record(configuration), "idle_cpu_seconds": 0.05}

    rows = acted.rows("B7", always(0.1), record=busy)
    assert rows["B7"].ratio == pytest.approx(1.0)
    assert rows["B7"].met is False
    assert rows["B7/idle"].ratio == pytest.approx(0.5)


# -- B3, B4, B5: the loop study --


def dynamic_64_is_best(settings: Any) -> float:
    """Ours 0.9; libgomp's dynamic is better with larger chunks and an active wait; the rest 2.0."""
    if settings["runtime"] == "tautochrone":
        return 0.9
    if settings["schedule"] == "dynamic":
        return 1.0 + 0.01 * (64 - settings["chunk"]) + (0.005 if settings["wait"] == "default" else 0.0)
    return 2.0


def test_the_best_schedule_chunk_and_wait_is_found_and_only_fresh_rounds_are_reported(acted: Suite) -> None:
    rows = acted.rows("B3", dynamic_64_is_best, elapsed=0.01, cells=[(500, 1.0)])
    assert list(rows) == ["B3", "B3/500"]
    assert rows["B3"].peer == "libgomp dynamic, chunk 64, all cores, active wait"
    assert rows["B3"].ratio == pytest.approx(0.9)
    assert loops.ROUNDS <= rows["B3"].rounds <= loops.MOST_ROUNDS


def test_ours_is_measured_with_no_settings(acted: Suite) -> None:
    settings = cell_of(acted.context, 1000, 4.0).ours.settings
    assert (settings["schedule"], settings["chunk"], settings["wait"]) == ("adaptive", None, "default")
    assert settings["emulated"] == {"1": 4.0}


def test_the_fast_core_alone_and_every_chunk_take_part(acted: Suite) -> None:
    cell = cell_of(acted.context, 1000, 4.0)
    tried = {way.key for way in cell.ways}
    assert ("serial", "serial", "fast", None, "default") in tried
    assert ("openblas", "sgemv", "fast", None, "default") in tried
    for chunk in (1, 2, 4, 8, 16, 32, 64):
        assert ("libgomp", "dynamic", "all", chunk, "active") in tried
    assert {way.peer for way in cell.defaults} == {"libgomp", "libomp", "tbb", "stdpar", "openblas"}
    assert not any(way.peer == "tautochrone" for way in cell.ways)


def test_cells_keep_to_the_seconds_of_an_id_and_are_all_judged(acted: Suite) -> None:
    rows = acted.rows("B3", dynamic_64_is_best, elapsed=0.03, seconds=20.0)
    assert acted.clock.monotonic() <= 20.0
    assert [row.cell for row in rows.values()][1:] == ["500", "1000", "2000", "4000", "8000"]
    assert all(row.met for row in rows.values())


def concluded(acted: Suite, cells: int, best: list[Any], default: dict[str, Any]) -> dict[str, Entry]:
    """B4's rows: cells against the best, then the means."""
    measurement = Measurement(acted.context, suite.BENCHMARKS["B4"])
    for size in range(cells):
        found = loops.compare([(0.9, 1.0)] * 8)
        measurement.row(f"a/{size}:2", found, "a peer", shown=f"{size}:2", factor=2, size=size)
    conclude_unequal(measurement, Unequal(best, default))
    return {row.id: row for row in measurement.concluded()}


def test_the_mean_of_cells_is_geometric(acted: Suite) -> None:
    best = [[(1.0, 2.0)] * 8, [(2.0, 1.0)] * 8, [(1.0, 4.0)] * 8]
    found = concluded(acted, 0, best, {"libgomp": [[(1.0, 2.0)] * 8], "tbb": [[(1.0, 8.0)] * 8]})
    assert found["B4/a/mean"].ratio == pytest.approx(math.exp(-math.log(4.0) / 3))
    assert found["B4/b/mean"].ratio == pytest.approx(0.25)
    assert found["B4/b/libgomp"].ratio == pytest.approx(0.5)


def test_one_part_that_is_missed_misses_all_of_b4(acted: Suite) -> None:
    good = [[(0.9, 1.0)] * 8]
    slow_default = {"tbb": [[(0.9, 1.0)] * 8]}  # 0.9 of the default where 0.75 is wanted
    own = concluded(acted, 1, good, slow_default)["B4"]
    assert (own.ratio, own.met) == (pytest.approx(0.9), False)
    assert concluded(acted, 1, good, {"tbb": [[(0.5, 1.0)] * 8]})["B4"].met is True


@pytest.mark.usefixtures("slowed")
def test_no_command_names_an_option_twice(acted: Suite) -> None:
    for identifier in ("B3", "B4", "B5"):
        acted.rows(identifier, dynamic_64_is_best, elapsed=0.001)
        for ran in acted.executor.ran:
            options = [word for word in ran.command if word.startswith("--")]
            assert len(options) == len(set(options)), ran.command


@pytest.mark.usefixtures("slowed")
def test_unequal_cores_have_their_parts_before_their_cells(acted: Suite) -> None:
    rows = acted.rows("B4", dynamic_64_is_best, elapsed=0.001)
    peers = ["libgomp", "libomp", "tbb", "stdpar", "openblas"]
    parts = ["B4", "B4/a/worst", "B4/a/mean", "B4/b/mean", *(f"B4/b/{peer}" for peer in peers)]
    assert [*rows][: len(parts)] == parts
    assert [row.cell for row in rows.values()][:3] == [None, "500:2", None]
    assert [*rows][len(parts) :][:6:5] == ["B4/a/500:2", "B4/a/500:4"]
    assert rows["B4/a/8000:8"].what == "loop study, core 1 slowed by 8, n = 8000"
    assert rows["B4/a/8000:8"].cell == "8000:8"


@pytest.mark.usefixtures("slowed")
def test_every_cell_of_the_bound_is_judged(acted: Suite) -> None:
    def figure(settings: Any) -> float:
        if settings["runtime"] == "tautochrone":
            return 0.84
        return 1.0 if settings["cpus"] == [0] else float(settings["emulated"]["1"])

    rows = acted.rows("B5", figure)
    assert len(rows) == 10
    assert rows["B5/2000:4"].ratio == pytest.approx(0.84 / 0.8)
    assert rows["B5"].ratio == pytest.approx(0.84 / (2 / 3))  # the worst: factor 2
    assert all(loops.ROUNDS <= row.rounds <= loops.MOST_ROUNDS for row in rows.values())


@pytest.mark.parametrize(("identifier", "cells"), [("B4", 15), ("B5", 9)])
def test_without_the_right_to_slow_cpus_every_cell_says_so(
    acted: Suite, monkeypatch: pytest.MonkeyPatch, identifier: str, cells: int
) -> None:
    def refused(slow: Any) -> Any:
        raise TautoError("SCHED_FIFO was refused", "Run as root")

    monkeypatch.setattr(loops, "emulated", refused)
    rows = acted.rows(identifier)
    assert rows[identifier].met is None
    assert sum("SCHED_FIFO was refused" in row.note for row in rows.values() if row.cell) == cells


def test_the_bound_adds_the_speeds_of_the_same_round() -> None:
    def ran(name: str, number: int, seconds: float) -> Row:
        return Row(config_id=made[name].config_id, round=number, seconds=seconds)

    made = {name: Configuration(name, [name], {}, {"name": name}) for name in ("ours", "fast", "slow")}
    rows = [ran("ours", 0, 0.9), ran("fast", 0, 1.0), ran("slow", 0, 4.0)]
    rows += [ran("ours", 1, 1.7), ran("fast", 1, 2.0), ran("slow", 1, 8.0)]
    rows += [ran("ours", 2, 1.0), ran("fast", 2, 1.0)]  # the slow core failed in this round
    pairs = bound_pairs(rows, made["ours"], [made["fast"], made["slow"]], work_over_speeds)
    assert pairs == [(0.9, pytest.approx(0.8)), (1.7, pytest.approx(1.6))]


# -- B8: following a change --


def trace(*parts: tuple[int, float]) -> list[Loop]:
    taken = [seconds for count, seconds in parts for _ in range(count)]
    return [Loop(end, seconds) for end, seconds in zip(accumulate(taken), taken, strict=True)]


@pytest.mark.parametrize(
    ("parts", "changed", "until", "loops"),
    [
        # From the first that felt the change; the median of five is near with three good loops.
        ([(1000, 1e-3), (12, 4e-3), (2000, 1.5e-3)], 1.0005, 4.0, 12 - 2),
        # A change that comes late: felt when two of three loops are slow.
        ([(1000, 1e-3), (50, 1e-3), (8, 4e-3), (2000, 1.5e-3)], 1.0, 4.0, 8 - 2 + 1),
        # One disturbed loop is no change.
        ([(1000, 1e-3), (20, 1e-3), (1, 9e-3), (2000, 1e-3)], 1.0, 3.0, None),
        # It never settles.
        ([(1000, 1e-3), *[(3, 2e-3), (3, 8e-3)] * 100], 1.0, 4.0, None),
    ],
)
def test_loops_that_follow_a_change_are_counted(
    parts: list[tuple[int, float]], changed: float, until: float, loops: int | None
) -> None:
    assert loops_to_optimum(trace(*parts), changed, until) == loops


# -- B9 to B13: map/reduce and sums --


def task_record(configuration: Configuration) -> dict[str, Any]:
    """How long a task takes, and what waiting cost."""
    cpu = 1.0 if "libgomp" in configuration.name else 0.1
    tasks = configuration.settings.get("tasks")
    return {"tasks": tasks, "task_seconds": 0.01, "cpu_seconds_per_loop": cpu}


def test_the_best_split_gives_whole_tasks_to_whichever_core_ends_first() -> None:
    assert tasks.best_split(50, [1.0, 4.0]) == pytest.approx(40.0)
    assert tasks.best_split(3, [1.0, 1.0]) == pytest.approx(2.0)
    assert tasks.best_split(5, [1.0, 100.0]) == pytest.approx(5.0)
    for count in range(1, 30):  # never below the bound of divisible work, at most one task above it
        bound = count / (1 + 1 / 3)
        assert bound - 1e-9 <= tasks.best_split(count, [1.0, 3.0]) <= bound + 3


def test_whole_tasks_are_held_against_the_rounded_up_share(acted: Suite) -> None:
    rows = acted.rows("B9", always(0.2525), record=task_record)  # 25 tasks of 10 ms, and 1 %
    assert rows["B9"].ratio == pytest.approx(1.01)
    assert list(rows) == ["B9", "B9/50x0.4ms", "B9/50x1ms", "B9/50x3ms"]
    assert rows["B9/50x1ms"].what == "50 tasks of 1ms against ceil(50/2) tasks"


def test_short_tasks_meet_the_fastest_way_of_the_peers_and_qt(acted: Suite) -> None:
    seconds = {"tautochrone": 5.0, "qt": 8.0, "stdpar": 6.0}
    rows = acted.rows("B10", by("runtime", seconds, 9.0), record=task_record, seconds=400.0)
    assert rows["B10/1000x1µs/ideal"].ratio == pytest.approx(1.0)
    assert rows["B10/1000x1µs/best"].peer == "stdpar par"
    assert rows["B10/1000x1µs/best"].ratio == pytest.approx(5 / 6)
    assert rows["B10/1000x1µs/qt"].ratio == pytest.approx(5 / 8)
    assert rows["B10"].met is False  # 5/8 of Qt's time is not half of it
    assert "10000x0.1µs/qt" in rows["B10"].note


def dynamic_128_is_best(settings: Any) -> float:
    """Ours 0.9; libgomp's dynamic is best with chunk 128 and an active wait; the rest takes 2.0."""
    if settings["runtime"] == "tautochrone":
        return 0.9
    if (settings["runtime"], settings["schedule"]) != ("libgomp", "dynamic"):
        return 2.0
    return 1.0 + 1e-4 * abs(settings["chunk"] - 128) + (0.0 if settings["wait"] == "active" else 0.01)


def test_the_best_chunk_and_wait_policy_of_the_peers_is_found_and_reaches_the_runner(acted: Suite) -> None:
    best = acted.rows("B10", dynamic_128_is_best, record=task_record)["B10/1000x1µs/best"]
    assert best.peer == "libgomp dynamic, chunk 128, active wait"
    assert best.ratio == pytest.approx(0.9)
    assert best.rounds >= 8
    for ran in acted.executor.ran:
        words = list(ran.command)
        wait = words[words.index("--wait") + 1] if "--wait" in words else "default"
        chunk = int(words[words.index("--chunk") + 1]) if "--chunk" in words else None
        assert (wait, chunk) == (ran.settings["wait"], ran.settings["chunk"])


def test_every_chunk_and_wait_policy_that_a_peer_has_is_a_way(acted: Suite) -> None:
    ways = tasks.ways(acted.context, Tasks(10_000, 85, "0.1µs"))
    tried = {way.key for way in ways}
    for chunk in (1, 4, 16, 64, 128, 256):
        assert ("tbb", "auto", chunk, "default") in tried
        for library in ("libgomp", "libomp"):
            assert {(library, "dynamic", chunk, wait) for wait in ("default", "active")} <= tried
    assert ("qt", "ordered", None, "default") in tried
    assert not any(way.peer in ("serial", "tautochrone") for way in ways)
    few = {way.chunk for way in tasks.ways(acted.context, Tasks(50, 300_000, "0.4ms"))}
    assert few == {None, 1, 4, 16}  # 50 tasks: with 64 at a time there is nothing to share out


def test_cells_of_tasks_keep_to_the_seconds_of_an_id_and_are_all_judged(acted: Suite) -> None:
    rows = acted.rows("B10", dynamic_128_is_best, record=task_record, elapsed=0.3)
    assert acted.clock.monotonic() <= 100.0
    assert all(row.met is not None for row in rows.values())


def test_peers_that_are_missing_are_named_beside_the_best_of_the_others(acted: Suite) -> None:
    rows = acted.rows("B10", always(1.0), record=task_record, find_peer=without("qt", "libomp"))
    for identifier in ("B10", "B10/1000x1µs/best", "B10/10000x0.1µs/best"):
        assert "without qt and libomp, which are not here" in rows[identifier].note
    assert rows["B10/1000x1µs/qt"].note == "Qt is not here"
    sums = acted.rows("B11", always(1.0), find_peer=without("tbb"))
    assert all("without tbb, which is not here" in row.note for row in sums.values())


def test_with_no_peer_at_all_the_ideal_is_judged_and_the_rest_says_why_not(acted: Suite) -> None:
    nobody = without("libgomp", "libomp", *tasks.RIVALS)
    rows = acted.rows("B10", always(5.0), record=task_record, find_peer=nobody)
    assert rows["B10/1000x1µs/ideal"].met is True
    assert rows["B10/1000x1µs/best"].met is None
    assert "no peer ran; without qt, tbb" in rows["B10/1000x1µs/best"].note.replace(" and", ",")
    sums = acted.rows("B11", always(5.0), find_peer=nobody)
    assert sums["B11"].met is None
    assert "without libgomp and libomp and tbb, which are not here" in sums["B11"].note


def test_sums_meet_the_fastest_sum(acted: Suite) -> None:
    rows = acted.rows("B11", by("label", {"parallel_reduce": 1.0, "std::reduce(par_unseq)": 2.0}, 3.0))
    assert rows["B11/1000"].peer == "std::reduce(par_unseq)"
    assert rows["B11/1000"].ratio == pytest.approx(0.5)


def test_the_order_is_held_against_our_own_unordered(acted: Suite) -> None:
    def figure(settings: Any) -> float:
        unordered = "unordered" in (settings.get("label"), settings.get("schedule"))
        return 1.0 if unordered else 1.04

    rows = acted.rows("B12", figure)
    assert [*rows][1:3] == ["B12/1000-doubles", "B12/1000000-doubles"]
    assert [row.cell for row in rows.values()][1:4] == ["1000 doubles", "1000000 doubles", "1000x1µs"]
    assert all(row.ratio == pytest.approx(1.04) and row.met for row in rows.values())


@pytest.mark.usefixtures("slowed")
def test_slowed_tasks_are_held_against_the_best_split(acted: Suite) -> None:
    def figure(settings: Any) -> float:
        if settings["runtime"].startswith("serial"):
            return 50.0 if settings["cpus"] == [0] else 200.0
        return 41.0 if settings["runtime"] == "tautochrone" else 44.0

    rows = acted.rows("B13", figure, record=task_record, seconds=400.0)
    assert rows["B13/50x0.4ms/bound"].ratio == pytest.approx(41 / 40)
    assert rows["B13/50x0.4ms/best"].ratio == pytest.approx(41 / 44)
    # 100 of the 1,000 tasks were timed on each core: 0.5 and 2 s a task, so 800 and 200 of them
    assert rows["B13/1000x100µs/bound"].ratio == pytest.approx(41 / 400)


def test_waiting_is_held_against_the_wasteful_one_and_the_quick_one(acted: Suite) -> None:
    figure = by("label", {"oneTBB": 2.0, "libgomp": 3.0}, 1.0)
    rows = acted.rows("B14", figure, record=task_record, seconds=400.0)
    assert (rows["B14/cpu"].peer, rows["B14/cpu"].ratio) == ("libgomp, 10 ms", pytest.approx(0.1))
    assert (rows["B14/latency"].peer, rows["B14/latency"].ratio) == ("oneTBB, 10 ms", pytest.approx(0.5))
    assert "ours, passive" in rows["B14"].note


# -- B15 to B18: members --


def smooth(library: str, operation: str, words: int) -> float:
    latency = {"tautochrone": 2e-7, "openmpi": 8e-7, "mpich": 9e-7}[library]
    return latency + words * 5e-10


def points_of(curve: Callable[[str, str, int], float]) -> Callable[[Configuration], dict[str, Any]]:
    """What a launch of a collective runner prints, where its points follow the curve."""

    def record(configuration: Configuration) -> dict[str, Any]:
        settings: Any = configuration.settings
        points = [
            {"operation": operation, "words": words, "seconds": curve(settings["library"], operation, words)}
            for operation in settings["operations"]
            for words in settings["lengths"]
        ]
        return {"points": points}

    return record


def test_barrier_meets_the_better_openmp_and_half_a_round_trip(acted: Suite) -> None:
    def figure(settings: Any) -> float:
        if settings["program"].startswith("round-trip"):
            return 1.2e-7 if settings["pause"] else 1e-7
        if settings["program"] == "openmp barrier":
            return {"libgomp": 3e-7, "libomp": 2e-7}[settings["library"]]
        return 6e-8

    rows = acted.rows("B15", figure)
    assert rows["B15/openmp"].ratio == pytest.approx(0.3)
    assert rows["B15/openmp"].peer.startswith("libomp")
    assert rows["B15/transfer"].ratio == pytest.approx(6e-8 / 5e-8)
    assert rows["B15"].met is True


def test_collectives_meet_the_better_mpi_at_each_length(acted: Suite) -> None:
    def curve(library: str, operation: str, words: int) -> float:
        if library == "mpich" and words >= 1024:
            return smooth("openmpi", operation, words) / 2  # the better one there
        return smooth(library, operation, words)

    rows = acted.rows("B17", record=points_of(curve), elapsed=0.5, find_peer=without("intelmpi"))
    assert rows["B17/all_reduce/512"].peer == "openmpi"
    expected = smooth("tautochrone", "", 512) / smooth("openmpi", "", 512)
    assert rows["B17/all_reduce/512"].ratio == pytest.approx(expected)
    assert rows["B17/all_gather/1024"].peer == "mpich"
    assert rows["B17/all_gather/1024"].met is False
    assert rows["B17"].met is False
    assert "all_gather/1024" in rows["B17"].note
    assert "without intelmpi, which is not here" in rows["B17"].note
    assert rows["B17/all_reduce/mean"].target == 0.4
    assert len(rows) == 1 + 2 * (27 + 1)


def test_short_reductions_are_judged_at_both_lengths(acted: Suite) -> None:
    def curve(library: str, operation: str, words: int) -> float:
        return smooth("tautochrone" if library == "tautochrone" else "mpich", operation, words)

    rows = acted.rows("B16", record=points_of(curve), elapsed=0.5)
    assert list(rows) == ["B16", "B16/all_reduce/1", "B16/all_reduce/7"]
    assert rows["B16"].met is True


@pytest.mark.parametrize("identifier", ["B16", "B17"])
def test_without_any_mpi_the_rows_say_so(acted: Suite, identifier: str) -> None:
    own, cell = acted.rows(identifier, find_peer=without(*collectives.MPI)).values()
    assert (own.met, own.ratio) == (None, None)
    assert (cell.id, cell.note) == (f"{identifier}/mpi", "no MPI is here")
    assert cell.what.endswith("against the better MPI")
    assert "without openmpi and mpich and intelmpi, which are not here" in own.note


def test_smooth_curves_keep_both_laws(acted: Suite) -> None:
    rows = acted.rows("B18", record=points_of(smooth), elapsed=0.5)
    assert rows["B18"].met is True
    assert len(rows) == 5
    assert (rows["B18/all_reduce/jump"].ratio or 9) < 1.06


def test_a_peak_and_a_jump_are_found_and_named(acted: Suite) -> None:
    def curve(library: str, operation: str, words: int) -> float:
        peak = operation == "all_reduce" and 900 <= words < 1100
        return smooth(library, operation, words) * (1.5 if peak else 1.0)

    rows = acted.rows("B18", record=points_of(curve), elapsed=0.5)
    assert rows["B18/all_reduce/cheaper"].met is False
    assert rows["B18/all_reduce/cheaper"].ratio == pytest.approx(1.5, rel=0.06)
    assert rows["B18/all_reduce/jump"].met is False
    assert "words" in rows["B18/all_reduce/jump"].note
    assert rows["B18/all_gather/cheaper"].met is True
    assert rows["B18"].met is False


def test_fine_lengths_are_five_per_cent_apart() -> None:
    lengths = collectives.fine_lengths(8, 65_536, 1.05)
    assert (lengths[0], lengths[-1], len(lengths)) == (8, 65_536, 190)
    assert all(b <= max(a + 1, 1.05 * a) for a, b in pairwise(lengths))


# -- B19 to B23: N-body --


@pytest.mark.parametrize(("instructions", "met"), [("avx512", True), ("avx2", None)])
def test_gravity_is_judged_by_time_and_error_where_there_is_avx512(
    acted: Suite, instructions: str, met: bool | None
) -> None:
    speed = {"pairs_per_second": 1.25e9, "clock_hertz": 3e9, "cycles_per_pair": 2.4}
    record = {**speed, "relative_force_error": 3e-15, "instructions": instructions}
    rows = acted.rows("B19", always(4e-5), record=lambda configuration: record)
    assert (rows["B19"].unit, rows["B19"].ratio) == ("ns", pytest.approx(0.8))
    assert rows["B19"].met is met
    assert rows["B19/error"].met is True
    assert "2.40 cycles a pair" in rows["B19"].note
    assert list(rows) == ["B19", "B19/error"]


def test_speed_up_is_held_against_one_core(acted: Suite) -> None:
    row = acted.rows("B20", lambda settings: 50e-6 / len(settings["cpus"]) * 1.05)["B20"]
    assert row.ratio == pytest.approx(0.5)
    assert row.met is True
    assert "2.00 times as fast" in row.note


def test_blocks_meet_the_fastest_way_of_openmp_and_mpi(acted: Suite) -> None:
    def figure(settings: Any) -> float:
        if settings["library"] == "tautochrone":
            return 27e-6
        if settings["scheme"] == "region-j" and settings["wait"] == "active":
            return 29e-6
        return {"libgomp": 40e-6, "openmpi": 33e-6}.get(settings["library"], 45e-6)

    row = acted.rows("B21", figure, elapsed=0.3, find_peer=without("mpich", "intelmpi"))["B21"]
    assert row.peer == "libgomp region-j, 2 members, active wait"
    assert row.ratio == pytest.approx(27 / 29)
    assert row.met is False
    assert "openmpi 33.0 µs" in row.note
    assert "without mpich and intelmpi, which are not here" in row.note
    tried = {(ran.settings["library"], ran.settings["scheme"]) for ran in acted.executor.ran}
    assert {("openmpi", "i"), ("openmpi", "j"), ("openmpi", "auto"), ("libgomp", "loops-i")} <= tried


def test_each_class_is_held_against_its_best_fixed_scheme(acted: Suite) -> None:
    def seconds(scheme: str, low: int) -> float:
        if scheme == "auto":
            return 1.2e-6 if low == 64 else 1.01e-6
        return 1e-6 if scheme == {1: "serial", 8: "j", 64: "i"}.get(low) else 1.5e-6

    def record(configuration: Configuration) -> dict[str, Any]:
        scheme = str(configuration.settings["scheme"])
        blocks = {1: 90, 8: 50, 64: 30, 512: 2}  # two blocks of 512 are too few
        classes = [
            {"active_from": low, "median_seconds": seconds(scheme, low), "blocks": count}
            for low, count in blocks.items()
        ]
        return {"classes": classes}

    rows = acted.rows("B22", always(1e-5), record=record, elapsed=0.3)
    assert list(rows) == ["B22", "B22/1", "B22/8", "B22/64"]
    assert rows["B22/8"].peer.startswith("tautochrone j")
    assert rows["B22/8"].what == "auto against tautochrone j, 2 members with 8 to 15 active"
    assert rows["B22/1"].ratio == pytest.approx(1.01)
    assert (rows["B22/64"].met, rows["B22"].met) == (False, False)
    assert "missed at 64" in rows["B22"].note


def test_another_program_is_there_while_both_are_measured(
    acted: Suite, monkeypatch: pytest.MonkeyPatch
) -> None:
    there: list[bool] = []
    is_there = False

    @contextlib.contextmanager
    def busy(cpus: Any) -> Iterator[None]:
        nonlocal is_there
        is_there = True
        yield
        is_there = False

    monkeypatch.setattr(nbody, "busy_process", busy)

    def figure(settings: Any) -> float:
        there.append(is_there)
        return 60e-6 if len(settings["cpus"]) > 1 else 50e-6

    row = acted.rows("B23", figure, elapsed=0.3)["B23"]
    assert set(there) == {True}
    assert row.ratio == pytest.approx(1.2)
    assert row.met is False
    assert "slowest round 1.20" in row.note


@pytest.mark.timed
def test_the_busy_process_ends_with_the_measurement() -> None:
    before = family_of(os.getpid())
    cpu = min(os.sched_getaffinity(0))
    with nbody.busy_process((cpu,)):
        assert len(family_of(os.getpid()) - before) == 1
    assert family_of(os.getpid()) == before


# -- B24, B25: meters and samplers --


@pytest.mark.timed
def test_the_samplers_are_judged_by_their_own_cpu_time(acted: Suite) -> None:
    rows = acted.rows("B24", seconds=1.0)
    assert list(rows) == ["B24", "B24/energy", "B24/trace"]
    assert all(row.unit == "%" and row.rounds == metering.ROUNDS for row in rows.values())
    assert rows["B24"].ratio is not None
    assert 0.0 < rows["B24"].ratio < 20.0  # the target is for a quiet machine
    assert rows["B24/trace"].what == "20 samples of 8 threads a second, 5 of the CPUs"


def test_a_metered_run_is_held_against_the_same_run_alone(
    acted: Suite, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(metering, "seconds_of_one_pass", lambda: 1e-4)

    row = acted.rows("B25", by("label", {"metered": 5.02}, 5.0), elapsed=5.5, seconds=116.0)["B25"]
    assert row.ratio == pytest.approx(1.004)
    assert row.met is True
    assert "a run of 5.0 s" in row.note


def test_without_a_meter_files_stand_in_for_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metering, "find_meter", lambda: Found(None, Unavailable("none")))
    found = metering.stand_in(tmp_path)
    assert found.meter is not None
    assert found.meter.read() == {"package-0": 0.0, "dram-0": 0.0, "package-1": 0.0, "dram-1": 0.0}


# -- B26, B27: tauto run, tauto tune --


@pytest.mark.parametrize(
    ("start_ms", "run_seconds", "met", "cell"),
    [(20.0, 5.02, True, "run"), (20.0, 5.2, False, "run"), (60.0, 5.02, False, "start")],
)
def test_both_the_start_and_the_run_under_a_profile_are_judged(
    acted: Suite, monkeypatch: pytest.MonkeyPatch, start_ms: float, run_seconds: float, met: bool, cell: str
) -> None:
    def wall_time(command: Any) -> float:
        return 0.001 + (start_ms / 1000 if "run" in command else 0.0)

    monkeypatch.setattr(tuning, "find", lambda name: Path("/bin") / name)
    monkeypatch.setattr(metering, "seconds_of_one_pass", lambda: 1e-4)
    monkeypatch.setattr(tuning, "seconds_of", wall_time)
    rows = acted.rows("B26", by("label", {"applied": run_seconds}, 5.0))
    assert rows["B26/start"].ratio == pytest.approx(start_ms)
    assert rows["B26/run"].ratio == pytest.approx(run_seconds / 5.0)
    assert rows["B26"].met == met
    assert f"worst of 2: {cell}" in rows["B26"].note


@pytest.fixture
def search(acted: Suite, monkeypatch: pytest.MonkeyPatch, slowed: None) -> ActingExecutor:
    """Stands in for what B27 needs around its runs: a compiler, the search, the processes."""
    executor = ActingExecutor(acted.clock, lambda settings: 1.0)
    answer = tuning.Answer({"weighted_places": "0:4,1:1"}, "Use weighted places.")
    for name, stand_in in {
        "available": lambda: (True, ""),
        "built": lambda compiler, folder: ["./static_loop", "20", "100"],
        "searched": lambda *asked: answer,
        "ProgramExecutor": lambda **options: contextlib.nullcontext(executor),
    }.items():
        monkeypatch.setattr(tuning, name, stand_in)
    monkeypatch.setattr(shutil, "which", lambda name: f"/usr/bin/{name}")
    return executor


def test_a_tuned_loop_is_held_against_the_bound_and_the_default(acted: Suite, search: ActingExecutor) -> None:
    seconds = {"default": 2.0, "tuned": 0.84, "CPU 0": 1.0, "CPU 1": 4.0}
    search.figure = lambda settings: seconds[settings["name"]]
    rows = acted.rows("B27")
    assert rows["B27/bound"].ratio == pytest.approx(0.84 / 0.8)
    assert rows["B27/default"].ratio == pytest.approx(0.42)
    assert (rows["B27"].ratio, rows["B27"].met) == (rows["B27/bound"].ratio, True)
    assert rows["B27"].rounds >= 8

    seconds["default"] = 1.0  # now the cell farthest above its own target is another one
    own = acted.rows("B27")["B27"]
    assert (own.ratio, own.target, own.met) == (pytest.approx(0.84), rows["B27/default"].target, False)


def test_both_sides_run_on_the_same_cpus(acted: Suite, search: ActingExecutor) -> None:
    acted.rows("B27")
    used = {ran.name: ran.start["cpus"] for ran in search.ran}
    assert used == {"default": [0, 1], "tuned": [0, 1], "CPU 0": [0], "CPU 1": [1]}
    (tuned,) = {ran.environment["OMP_PLACES"] for ran in search.ran if ran.name == "tuned"}
    assert tuned == "{0},{0},{0},{0},{1}"


@pytest.mark.usefixtures("search")
def test_a_search_that_fails_is_a_row_with_the_reason(acted: Suite, monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(*asked: Any) -> tuning.Answer:
        raise TautoError("tauto tune failed: a budget of 10 s is too small", "Try it alone")

    monkeypatch.setattr(tuning, "searched", failing)
    assert run.measure(suite.chosen("B27"), acted.context, lambda: None)
    (row,) = acted.context.results.rows()
    assert (row["id"], row["met"]) == ("B27", None)
    assert "too small" in row["note"]
