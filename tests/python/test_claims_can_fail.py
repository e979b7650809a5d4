"""Every published claim can come out false: made-up rows make it so, one part of it at a time."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

import study_loop_fakes
import study_mapreduce_fakes
import study_nbody_fakes
from claim_worlds import (
    BOUND,
    CPUS,
    Blocks,
    Loops,
    Power,
    Tasks,
    World,
    Worlds,
    both,
    equal_shares,
    law,
    published_misses,
    published_time,
    same,
)
from runner_processes import needs_runners
from study_fakes import machine
from tautochrone.errors import TautoError
from tautochrone.simulator import engine
from tautochrone.simulator.machines import Machine
from tautochrone.studies import claims, short_runs
from tautochrone.studies.claims_command import IDS, judge
from tautochrone.studies.collective import claims as collective
from tautochrone.studies.loop import ran as loop_ran
from tautochrone.studies.loop.study import Loop
from tautochrone.studies.mapreduce import ran as mapreduce_ran
from tautochrone.studies.mapreduce.study import MapReduce
from tautochrone.studies.nbody import ran
from tautochrone.studies.nbody.study import Nbody

SHORT, MIDDLE, LONG = 400_000, 1_000_000, 3_000_000


def times(**ways: Callable[[int], float]) -> dict[str, Any]:
    """``dynamic_2_all=…``: the time of dynamic,2 over all."""
    names = {way.replace(",", "_").replace(" ", "_").replace("-", "_"): way for way in WAYS}
    return {"of": {names[name]: time for name, time in ways.items()}}


WAYS = [
    *(f"{schedule} all" for schedule in ("static", "dynamic", "guided")),
    *(f"dynamic,{chunk} all" for chunk in (2, 4, 8, 16)),
    *("static fast", "static fast-cores", "static slow", "dynamic,2 fast"),
]


def only_at(size: int, value: float, way: str) -> Callable[[int], float]:
    return lambda n: value if n == size else published_time(way, n)


SIMULATED: Mapping[str, Worlds] = {
    "H1": both(
        Loops,
        missing={"cpus": {"slow": ()}},
        elsewhere={"cpus": {"fast": CPUS["fast-cores"]}},
        on_too_many={"cpus": {"fast": CPUS["all"]}},
    ),
    "H2": both(
        Loops,
        all_with_equal_shares=times(static_all=same(0.9)),
        all_with_guided=times(guided_all=lambda n: 0.9 if n == 1000 else 1.2),
        never_overtaken=times(dynamic_all=same(1.1), dynamic_2_all=same(1.1)),
    ),
    "H3": both(
        Loops,
        gains_too_little=times(dynamic_all=same(0.9), dynamic_2_all=same(0.9)),
        gains_too_much=times(dynamic_2_all=same(0.5)),
    ),
    "H4": both(
        Loops,
        far_above=times(dynamic_2_all=same(1.05 * BOUND)),
        far_below=times(dynamic_2_all=same(0.9 * BOUND), dynamic_all=same(0.95 * BOUND)),
        at_one_size_alone=times(dynamic_2_all=lambda n: BOUND if n == 4000 else 1.1 * BOUND),
    ),
    "H5": both(
        Loops,
        chunk_2_gains_nothing=times(dynamic_all=lambda n: published_time("dynamic,2 all", n)),
        longer_chunks_gain=times(dynamic_8_all=only_at(4000, 0.9 * BOUND, "dynamic,2 all")),
    ),
    "H6": both(
        Loops,
        no_wider=times(dynamic_all=lambda n: BOUND if n < 8000 else 1.0),
        nowhere_passed=times(dynamic_2_all=lambda n: BOUND if 3000 <= n < 8000 else 1.0),
        passed_at_the_end=times(dynamic_2_all=lambda n: 0.9 * BOUND if n in (4000, 16000) else BOUND),
    ),
    "H7": both(
        Loops,
        more_misses_elsewhere={"misses": lambda n, where: 0.7 if (n, where) == (2000, "fast") else 0.5},
        fewer_everywhere={"misses": lambda n, where: 0.4 if where == "fast" else 0.5},
    ),
    "H8": both(
        Loops,
        no_difference=times(static_all=same(1.0)),
        too_much=times(static_all=same(1.4)),
        far_apart=times(static_fast=lambda n: 1.05 if n > 8000 else 1.0),
    ),
    "H9": both(
        Loops,
        no_gain=times(dynamic_2_fast=same(1.0)),
        no_gain_with_slow_ones=times(dynamic_2_all=same(1.0)),
        too_much=times(dynamic_2_fast=same(0.9)),
    ),
    "H10": both(Loops, worth_less=times(static_slow=same(1.0)), worth_more=times(static_slow=same(3.0))),
    "H11": Worlds(
        equal_shares,
        {
            "equal shares never lose": lambda on, asked: equal_shares(on, asked, lose=False),
            "those of processes do not": lambda on, asked: equal_shares(on, asked, asked["runtime"] != "mpi"),
        },
    ),
    "M1": both(
        Tasks,
        steps_elsewhere={"speedups": {("tbb", LONG): lambda count: min(count, 20) + (count > 28)}},
        no_steps_of_qt={"speedups": {("qt", LONG): lambda count: 0.7 * count}},
    ),
    "M2": both(
        Tasks,
        too_slow={"speedups": {("qt", LONG): lambda count: 0.8 * law(count)}},
        not_alike={"speedups": {("qt", LONG): lambda count: 0.9 * law(count), ("tbb", LONG): law}},
        too_fast={"speedups": {(name, LONG): lambda count: 0.99 * count for name in ("qt", "tbb")}},
    ),
    "M3": both(
        Tasks,
        hardly_better={"speedups": {("qt", MIDDLE): lambda count: 0.66 * count}},
        qt_has_fallen={"speedups": {("qt", MIDDLE): lambda count: min(count, 12) - 0.1 * count}},
    ),
    "M4": both(
        Tasks,
        later={"speedups": {("qt", SHORT): lambda count: min(count, 40 - count)}},
        tbb_falls_too={"speedups": {("tbb", SHORT): lambda count: max(1, min(count, 22 - count))}},
        law_alone={"waits": {"tbb": 1 - 50 / 64}},
    ),
    "M5": both(
        Tasks,
        qt_hardly_waits={"waits": {"qt": 0.4}},
        tbb_waits_long={"waits": {"tbb": 0.5}},
        tbb_does_not_wait={"waits": {"tbb": 0.1}},
        same_clock={"hertz": {"qt": 4e9}},
    ),
    "P1": both(
        Power,
        serial_slowed={"seconds": {"serial": 99.5}},
        hardly_halved={"seconds": {"shared": 30.0}},
        more_than_halved={"seconds": {"shared": 20.0}},
    ),
    "P2": both(
        Power,
        saves_less={"joules": {"shared": 130.0}},
        saves_more={"joules": {"shared": 90.0}},
    ),
    "P3": both(
        Power,
        no_slower={"seconds": {"adaptive": 70.0}},
        slow_at_best={"seconds": {"maximum": 90.0}},
        saves_energy={"joules": {"adaptive": 150.0}},
    ),
    "P4": both(
        Power,
        not_restored={"seconds": {"package": 80.0}},
        costs_energy={"joules": {"package": 240.0}},
        another_cause={"seconds": {"unmoved": 120.0}},
    ),
    "P5": both(
        Power,
        other_times={"seconds": {"pinned": 64.0}},
        pinning_saves={"joules": {"pinned": 99.0}},
        another_cause={"joules": {"pinned, one thread": 101.0}},
    ),
    "P6": both(
        Power,
        balance_costs={"joules": {"shared": 300.0}},
        meetings_are_free={"meetings": 1.0},
        governor_is_right={"seconds": {"adaptive": 64.0}},
        pinning_helps={"seconds": {"free": 70.0}},
    ),
    "P7": Worlds(Power(), {"functions keep it": lambda on, asked: thirds(asked)}),
    "N1": both(Blocks, few={"fork": 3.0}, many={"fork": 2000.0}),
    "N4": both(
        Blocks,
        no_peak_at_1k={"peaks": (8192,)},
        no_peak_at_8k={"peaks": (1024,)},
        mvapich_as_fast={"short": 0.8},
    ),
    "N5": both(Blocks, less={"engines": {"ompi-1.6": 6.0}}, more={"engines": {"ompi-1.6": 12.0}}),
    "N6": both(Blocks, early={"crossing": 20.0}, late={"crossing": 900.0}),
    "N7": both(Blocks, latency_rules={"latency": 0.9}, little_exchange={"exchange": 0.05}),
    "N8": both(
        Blocks,
        much_better={"by_both": (0.37, 0.2)},
        no_better_alone={"by_both": (0.95, 0.9)},
        receives_more={"received": 1.2},
    ),
    "N9": both(
        Blocks,
        threads_slow={"engines": {"threads": 7.5, "openmp_loops": 7.0}},
        below_mpi={"engines": {"ompi-1.6": 12.0}},
        below_a_pragma={"engines": {"openmp_loops": 13.6}},
    ),
}


def thirds(request: Mapping[str, Any]) -> dict[str, Any]:
    """Two threads are always faster than one by the same factor."""
    if request["study"] != "power":
        return dict(Power()(claims.machines.load("core-duo-yonah"), request))
    threads = request["threads"]
    whole = sum(one["seconds"] for one in threads)
    row = dict(Power()(claims.machines.load("core-duo-yonah"), request))
    return (
        row
        if threads[0]["name"] not in ("all", "first")
        else row | {"seconds": whole / (1 + len(threads) / 4)}
    )


def verdict(id: str, world: World, monkeypatch: pytest.MonkeyPatch) -> bool | None:
    def answer(on: Machine, asked: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
        return [dict(world(on, request)) for request in asked]

    monkeypatch.setattr(engine, "simulate", answer)
    monkeypatch.setattr(claims, "_STEPS", 2)
    monkeypatch.setattr(claims, "_FEW_STEPS", 2)
    monkeypatch.setattr(collective, "_under_smpi", lambda machine: "")
    (found,) = judge({id})
    assert found.fails_if
    return found.holds


# -- those that only a measurement decides --


def openblas_beside(folder: Path, beside: bool) -> Any:
    peers = ("libgomp", "openblas") if beside else ("libgomp",)
    asked = study_loop_fakes.request(folder, peers=peers)
    return Loop.measure(asked, study_loop_fakes.laboratory().services)


def short_tasks(folder: Path, slow: bool, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Of Qt, on as many CPUs as the published effect needs."""
    monkeypatch.setitem(study_mapreduce_fakes.HANDING_SECONDS, "qt", 1e-4 if slow else 1e-9)
    if not slow:
        monkeypatch.setitem(study_mapreduce_fakes.START_SECONDS, "qt", 1e-9)
    lab = study_mapreduce_fakes.laboratory(machine=machine(16))
    asked = study_mapreduce_fakes.request(folder, peers=("qt", "tbb"), threads=(1, 16))
    return MapReduce.measure(asked, lab.services)


def same_bits(folder: Path, right: bool) -> Any:
    wrong = {} if right else {"libgomp region-i, 256": "f" * 16, "mpich j, 256": "e" * 16}
    lab = study_nbody_fakes.laboratory(wrong=wrong)
    return Nbody.measure(study_nbody_fakes.request(folder, particles=(256,)), lab.services)


MEASURED: Mapping[str, Callable[[Path, bool, pytest.MonkeyPatch], Any]] = {
    "H12": lambda folder, holds, _: openblas_beside(folder, holds),
    "M6": short_tasks,
    "N2": lambda folder, holds, _: same_bits(folder, holds),
    "N3": lambda folder, holds, _: same_bits(folder, holds),
}


@pytest.mark.parametrize(
    ("other", "holds"),
    [
        ({}, {"N2": True, "N3": True}),
        ({("openmp", "region-i"): "f"}, {"N2": False, "N3": False}),
        ({("mpich", "j"): "f"}, {"N2": True, "N3": False}),
        ({("openmpi", "i"): "f"}, {"N2": True, "N3": False}),
        ({("openmp", "loops-i"): None}, {"N2": None, "N3": True}),
        ({(name, "i"): None for name in ("tautochrone", "openmpi", "mpich")}, {"N2": True, "N3": None}),
    ],
    ids=["alike", "one region", "sources", "targets", "no OpenMP", "one engine"],
)
def test_what_ran_here_is_held_against_the_bits_of_one_core(
    other: dict[tuple[str, str], str | None], holds: dict[str, bool | None], monkeypatch: pytest.MonkeyPatch
) -> None:
    def bits(engine: str, scheme: str) -> str | None:
        return other.get((engine, scheme), "b" if scheme.endswith("j") else "a")

    monkeypatch.setattr(ran, "state_bits", bits)
    assert {id: verdict(id, Blocks(), monkeypatch) for id in holds} == holds


@pytest.mark.timed
@pytest.mark.parametrize("row", ["{}", "[]", '{"check": null}', "nonsense"])
def test_a_runner_without_a_result_is_named(
    row: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for runner in ("tauto-nbody-serial", "tauto-loop-openmp", "tauto-mapreduce-serial"):
        (tmp_path / runner).write_text(f"#!/bin/sh\necho '{row}'\n")
        (tmp_path / runner).chmod(0o755)
    monkeypatch.setenv("TAUTO_RUNNERS", str(tmp_path))
    with pytest.raises(TautoError, match=r"tauto-nbody-serial .* did not end with a result"):
        ran.state_bits("serial", "serial")
    with pytest.raises(TautoError, match=r"tauto-loop-openmp .* did not end with a result"):
        loop_ran.row_of("openmp")
    with pytest.raises(TautoError, match=r"tauto-mapreduce-serial .* did not end with a result"):
        mapreduce_ran.times_of("serial", 50)


@needs_runners
@pytest.mark.timed
def test_the_engines_that_are_here_end_with_the_right_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    assert ran.state_bits("serial", "serial") == ran.state_bits("tautochrone", "i")
    monkeypatch.setattr(short_runs, "_LIMIT_SECONDS", 1e-3)
    with pytest.raises(TautoError, match="did not end with a result"):
        ran.state_bits("serial", "serial")
    monkeypatch.setattr("tautochrone.machine.runners.folders", list)
    assert ran.state_bits("serial", "serial") is None


@pytest.mark.parametrize("id", IDS)
def test_a_claim_holds_in_rows_that_bear_it_out_and_fails_in_others(
    id: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if id in MEASURED:
        for holds in (True, False):
            analysis = MEASURED[id](tmp_path / str(holds), holds, monkeypatch)
            found = {claim.id: claim for claim in analysis.claims}
            assert found[id].holds is holds
            assert found[id].fails_if
        return
    worlds = SIMULATED[id]
    assert verdict(id, worlds.holds, monkeypatch) is True
    assert worlds.false
    for name, world in worlds.false.items():
        assert verdict(id, world, monkeypatch) is False, name


def test_rows_that_say_too_little_make_h12_false_without_a_measurement(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(loop_ran, "row_of", lambda runtime: None)
    assert verdict("H12", Loops(), monkeypatch) is None
    assert verdict("H12", Loops(cpus={"all": ()}), monkeypatch) is False
    assert verdict("H12", Loops(says={"memory_bytes": 0.0}), monkeypatch) is False


@pytest.mark.parametrize(
    ("other", "holds"),
    [
        ({}, True),
        ({"openblas": {"workers": []}}, False),
        ({"openmp": {"bytes_per_iteration": 0}}, False),
        ({"openblas": None}, None),
    ],
    ids=["both say all", "nobody worked", "no traffic", "no BLAS"],
)
def test_the_loop_and_a_blas_that_ran_here_decide_h12(
    other: dict[str, Any], holds: bool | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    def row(runtime: str) -> dict[str, Any] | None:
        changed = other.get(runtime, {})
        usual = {"workers": [{"cpu": 0}], "bytes_per_iteration": 4e6, "batch_seconds": [1e-4]}
        return None if changed is None else usual | changed

    monkeypatch.setattr(loop_ran, "row_of", row)
    assert verdict("H12", Loops(), monkeypatch) is holds


@pytest.mark.parametrize(
    ("qt", "task", "holds"),
    [
        (lambda turn: 2e-4, 1e-6, True),
        (lambda turn: 3e-5, 1e-6, False),
        (lambda turn: 3e-5 if turn == 4 else 2e-4, 1e-6, True),
        (lambda turn: 3e-5 if turn in (4, 7) else 2e-4, 1e-6, None),
        (lambda turn: 2e-4, 4e-6, None),
        (None, 1e-6, None),
    ],
    ids=["slower", "faster", "slower but once", "now and then", "no short task", "no Qt"],
)
def test_tasks_that_ran_here_decide_m6(
    qt: Callable[[int], float] | None, task: float, holds: bool | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    turns = itertools.count()

    def seconds(runtime: str, tasks: int) -> tuple[float, float] | None:
        if runtime == "serial":
            return tasks * task, task
        return None if qt is None else (qt(next(turns)), task)

    monkeypatch.setattr(mapreduce_ran, "times_of", seconds)
    assert verdict("M6", Tasks(), monkeypatch) is holds


def test_a_claim_on_short_tasks_that_fails_says_what_the_other_mutex_would_change(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def world(on: Machine, asked: Mapping[str, Any]) -> dict[str, Any]:
        slower = {("qt", LONG): lambda count: 0.6 * law(count)} if on.system.mutex_handover else {}
        return Tasks(speedups=slower)(on, asked)

    assert verdict("M2", world, monkeypatch) is False
    (found,) = judge({"M2"})
    assert "with Qt 5's mutex of Linux" in found.note
    assert "3 ms reach 23.0× on 32 threads; those of 0.4 ms are fastest on 11" in found.note


def test_miss_ratios_of_the_made_up_machine_are_those_of_the_study() -> None:
    assert published_misses(4000, "fast") > published_misses(4000, "all") > published_misses(2000, "fast")


@pytest.mark.parametrize(
    ("others", "cpus", "holds", "note"),
    [
        (0.0, 2, None, "2 CPUs cannot decide it: it needs 8"),
        (0.0, 8, True, ""),
        (0.3, 8, None, "other programs took"),
    ],
)
def test_a_measured_verdict_looks_at_the_cpus_and_at_what_others_took(
    tmp_path: Path, others: float, cpus: int, holds: bool | None, note: str
) -> None:
    lab = study_nbody_fakes.laboratory(machine=machine(cpus), others=others * cpus / 2)
    analysis = Nbody.measure(study_nbody_fakes.request(tmp_path, particles=(256,), threads=2), lab.services)
    (n1,) = (claim for claim in analysis.claims if claim.id == "N1")
    assert n1.holds is holds
    assert note in n1.note
    (n2,) = (claim for claim in analysis.claims if claim.id == "N2")
    assert n2.holds is True  # the same bits are the same bits on a busy machine
