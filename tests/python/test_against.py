"""Measured studies beside their simulation: the machine from its record, the errors, and the command."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest

import study_fakes
from measuring import row
from tautochrone.cli import main
from tautochrone.errors import TautoError
from tautochrone.results.journal import Journal
from tautochrone.results.row import STORE_SCHEMA, as_record
from tautochrone.simulator import engine, machines
from tautochrone.simulator.caches import (
    Again,
    Core,
    Reads,
    again_alone,
    again_together,
    again_with_pauses,
    foreign_rate,
    interpolated,
    private_level,
    retained,
    retention,
    share,
    shared_level,
)
from tautochrone.simulator.machines import Machine, machine_of
from tautochrone.simulator.measured_machine import (
    measured_machine,
    placement_of,
    records_around,
    typical_record,
    with_slow_cores,
)
from tautochrone.studies import against_command, against_matching, claims_command
from test_simulator import needs_simulator

L2, LAST_LEVEL = 2 * 2**20, 64 * 2**20
FROM_L2, FROM_LAST_LEVEL, FROM_MEMORY = 100e9, 25e9, 8e9


def reads(kind: str | None, members: int) -> list[dict[str, object]]:
    """What a probe would find: the L2 cache keeps a set or nothing, the last level as random replacement."""
    points = []
    for size in (L2 // 2, L2, 2 * L2, 4 * L2, LAST_LEVEL // 2, LAST_LEVEL, 2 * LAST_LEVEL, 8 * LAST_LEVEL):
        held = retained(members * size, LAST_LEVEL)
        cold = 1 / (held / FROM_LAST_LEVEL + (1 - held) / FROM_MEMORY)
        rate = members * (FROM_L2 if size <= L2 else cold)
        points.append(
            {"kind": kind, "members": members, "rows_at_once": 64, "bytes": members * size}
            | {"bytes_per_second": rate}
        )
    return points


def record() -> dict[str, Any]:
    """A machine of two cores with all the probe's figures."""
    found = study_fakes.machine()
    for cpu in found["cpus"]:
        cpu |= {"smt_siblings": [], "l2_bytes": L2}
    found["kinds"] = [{"kind": "core", "cpus": [0, 1], "hardware_threads_per_core": 1}]
    found["caches"] = [
        {"level": 2, "type": "unified", "size_bytes": L2, "line_bytes": 64, "cpus": [cpu]} for cpu in (0, 1)
    ] + [{"level": 3, "type": "unified", "size_bytes": LAST_LEVEL, "line_bytes": 64, "cpus": [0, 1]}]
    speeds = {"compute_per_second": 1e10, "hash_bytes_per_second": 8e8, "cache_bytes_per_second": 3e10}
    found["measured"] |= {
        "cpus": [{"cpu": cpu, **speeds, "memory_bytes_per_second": 1e10} for cpu in (0, 1)],
        "reads": [*reads("core", 1), *reads(None, 2)],
        "latency_seconds": [[None, 1e-7], [1e-7, None]],
        "fork_join_members": 2,
        "fork_join_seconds": {"tautochrone": 4e-7, "libgomp": 9e-7, "libomp": 9e-7},
        "dequeue_seconds": {"libgomp": 1.5e-7, "libomp": 7e-7},
    }
    return found


def test_rates_between_two_levels_say_which_part_comes_from_which() -> None:
    assert share(100.0, 100.0, 25.0) == 1
    assert share(25.0, 100.0, 25.0) == 0
    # Half of the bytes at each: the mean time of a byte.
    assert share(1 / (0.5 / 100 + 0.5 / 25), 100.0, 25.0) == pytest.approx(0.5)
    assert share(30.0, 25.0, 100.0) == 1  # the far level is not slower: there is nothing to tell apart


def test_a_disturbed_point_does_not_make_a_larger_set_faster() -> None:
    found = Reads.of([1, 4, 2], [100, 80, 10])
    assert found.rates == (100, 80, 80)
    assert found.at(3) == 80
    assert found.at(0) == 100
    # Of rates that only scatter the fastest counts as little as the others.
    assert Reads.of([1, 2, 3, 4, 5], [50, 12, 10, 11, 15]).rates == (50, 12, 11, 11, 11)


def test_levels_are_found_again_in_reads_that_were_made_of_them() -> None:
    own = [(point["bytes"], point["bytes_per_second"]) for point in reads("core", 1)]
    level = private_level(Reads.of(*zip(*own, strict=True)), L2, LAST_LEVEL)  # type: ignore[arg-type]
    assert level.near == FROM_L2
    assert level.far == pytest.approx(FROM_LAST_LEVEL)
    assert level.at(L2) == 1
    assert level.at(2 * L2) == pytest.approx(0, abs=1e-9)
    together = [(point["bytes"], point["bytes_per_second"]) for point in reads(None, 2)]
    cores = [Core(FROM_LAST_LEVEL, FROM_MEMORY, 2)]
    whole = shared_level(Reads.of(*zip(*together, strict=True)), 2 * L2, cores)  # type: ignore[arg-type]
    assert whole.near == pytest.approx(2 * FROM_LAST_LEVEL)
    # Of the largest set a little is still there: memory is slower than what was read.
    assert whole.far == pytest.approx(2 * FROM_MEMORY, rel=0.02)
    assert whole.at(LAST_LEVEL) == pytest.approx(1, abs=0.01)


def test_what_fills_the_memory_bus_says_what_does_not_come_over_it() -> None:
    """Two cores that could take three times of what the bus gives: 16 of every 20 bytes come over it."""
    sets, rates = (4 * L2, LAST_LEVEL, 8 * LAST_LEVEL), (50e9, 20e9, 16e9)
    found = shared_level(Reads.of(sets, rates), L2, [Core(25e9, 24e9, 2)])
    assert found.far == pytest.approx(16e9, rel=0.01)
    assert found.at(LAST_LEVEL) == pytest.approx(1 - 16 / 20, abs=0.01)
    assert found.at(4 * L2) == 1
    # Cores that are slower alone than they were together find everything in the last level.
    slow = shared_level(Reads.of(sets, (50e9, 45e9, 16e9)), L2, [Core(20e9, 15e9, 2)])
    assert slow.at(LAST_LEVEL) == pytest.approx(1)


FOREIGN = 40e9
HELD = ((16e6, 1.0), (30e6, 0.6), (60e6, 0.2), (120e6, 0.0))


def read_again(sets: Iterable[float], members: int, near: float, far: float, pause: float = 0.0) -> Any:
    """Rates of sets that all members read, where `FOREIGN` comes in too and `HELD` says what is left."""
    found = []
    for size in sets:
        held = 1.0
        for _ in range(400):
            rate = members / (held / near + (1 - held) / far)
            since = size + FOREIGN * (pause + size / rate)
            places, shares = zip(*HELD, strict=True)
            held += 0.1 * (interpolated(places, shares, since) - held)
        found.append((size, rate))
    return found


def test_what_others_bring_follows_from_sets_that_take_different_times() -> None:
    """One core has lost 12 MB before it is back at their beginning, and two at once have most of them."""
    near, far = 50e9, 12e9
    sets = [4e6, 8e6, 10e6, 12e6, 16e6, 20e6, 32e6, 128e6]
    one = Reads.of(*zip(*read_again(sets, 1, near, far), strict=True))  # type: ignore[arg-type]
    two = Reads.of(*zip(*read_again(sets, 2, near, far), strict=True))  # type: ignore[arg-type]
    alone = again_alone(one, 5e5, near, far)
    together = again_together(shared_level(two, 1e6, [Core(near, far, 2)]))
    pauses = [(pause, read_again([8e6], 1, near, far, pause)[0][1]) for pause in (5e-4, 1e-3, 2e-3)]
    paused = again_with_pauses(8e6, pauses, near, far)
    for groups in ((alone, together), (alone, paused), (alone, together, paused)):
        assert foreign_rate(groups) == pytest.approx(FOREIGN, rel=0.35)
    assert foreign_rate([alone]) == 0  # nothing that took another time
    curve = retention([*alone, *together, *paused], FOREIGN)
    places, shares = zip(*curve, strict=True)
    for since, held in HELD:
        assert interpolated(places, shares, since) == pytest.approx(held, abs=0.1)
    assert list(places) == sorted(places)
    assert list(shares) == sorted(shares, reverse=True)


def test_an_idle_host_brings_nothing() -> None:
    """The time that a set takes makes no difference then."""
    held = ((8e6, 1.0), (24e6, 0.5), (64e6, 0.1))
    slow, fast = ([Again(size, size / rate, kept) for size, kept in held] for rate in (10e9, 40e9))
    assert foreign_rate([slow, fast]) == 0
    assert retention([*slow, *fast], 0.0) == [(size, kept) for size, kept in held]


def test_paused_reads_and_single_rows_of_each_level_are_exported() -> None:
    found = record()
    one = {"kind": "core", "members": 1, "rows_at_once": 1}
    found["measured"]["reads"] += [
        one | {"bytes": L2 // 2, "bytes_per_second": 9e10},
        one | {"bytes": 8 * LAST_LEVEL, "bytes_per_second": 7e9},
        one | {"bytes": 4 * L2, "bytes_per_second": 2e10},
    ]
    paused = {"rows_at_once": 64, "bytes": LAST_LEVEL // 2, "bytes_per_second": 1.01 * FROM_MEMORY}
    found["measured"]["reads"] += [one | paused | {"pause_seconds": pause} for pause in (1e-3, 4e-3)]
    machine = measured_machine(found)
    (kind,) = machine.written["kind"]
    assert kind["single_row_last_level_bytes_per_second"] == 2e10
    assert kind["single_row_memory_bytes_per_second"] == 7e9
    assert (kind["pause_set_bytes"], kind["pause_seconds"]) == (LAST_LEVEL // 2, [1e-3, 4e-3])
    usual = measured_machine(record())
    assert kind["read_bytes_per_second"] == usual.written["kind"][0]["read_bytes_per_second"]
    assert machine.memory.foreign_bytes_per_second > 0
    assert machine.kind[0].single_row_memory_bytes_per_second == 7e9
    assert usual.memory.foreign_bytes_per_second == 0
    # What a person says of the machine counts, an idle host too; half of what a probe writes says nothing.
    said = machines.change(machine, ["memory.foreign_bytes_per_second=0.0"])
    assert said.memory.foreign_bytes_per_second == 0
    pauses = ("pause_seconds", "pause_read_bytes_per_second")
    half = {key: value for key, value in kind.items() if key not in pauses}
    assert machine_of({**machine.written, "kind": [half]}).memory.foreign_bytes_per_second == 0


def test_machine_of_a_record_has_what_was_measured() -> None:
    machine = measured_machine(record())
    (kind,) = machine.kind
    assert 1 / kind.stream_cycles_per_byte == pytest.approx(FROM_L2 / kind.turbo_hertz[0])
    assert kind.core_last_level_bytes_per_second == pytest.approx(FROM_LAST_LEVEL)
    assert kind.core_memory_bytes_per_second == pytest.approx(FROM_MEMORY, rel=0.05)
    assert kind.hash_cycles_per_byte == pytest.approx(kind.turbo_hertz[0] / 8e8)
    assert machine.memory.last_level_bytes_per_second == pytest.approx(2 * FROM_LAST_LEVEL)
    assert machine.memory.memory_bytes_per_second == pytest.approx(2 * FROM_MEMORY, rel=0.02)
    assert machine.costs.dequeue_libomp_seconds == 7e-7


def test_record_without_measurements_is_refused_with_a_remedy() -> None:
    with pytest.raises(TautoError, match="measured"):
        measured_machine(record() | {"measured": None})


def test_slowed_cpu_becomes_a_kind_of_its_own() -> None:
    machine = measured_machine(record())
    slow = with_slow_cores(machine, {"1": 4.0})
    assert [(kind.kind, kind.cores, kind.cpus) for kind in slow.kind] == [
        ("core", 1, (0,)),
        ("slow", 1, (1,)),
    ]
    assert slow.kind[1].stolen_share == 0.75
    turned = with_slow_cores(machine, {"1": 8.0}, {"1": 1e-4})
    assert [changed.kind[1].stolen_turn_seconds for changed in (slow, turned)] == [5e-5, 1e-4]
    assert slow.kind[1].stolen_reading_share == 0.75  # nothing else was recorded
    reading = with_slow_cores(machine, {"1": 4.0}, None, {"1": 5.0}).kind[1]
    assert (reading.stolen_share, reading.stolen_reading_share) == (0.75, 0.8)
    assert (machine.kind[0].stolen_share, machine.kind[0].stolen_reading_share) == (0, 0)
    assert len(machine.kind) == 1
    assert placement_of(slow, [0, 1]) == "cores"
    assert placement_of(slow, [1]) == "slow:1"
    assert placement_of(machine, [1]) == "core:1"
    with pytest.raises(TautoError, match="CPU 9"):
        with_slow_cores(machine, {"9": 2.0})


def test_a_state_is_as_slow_as_its_calibration_found_it() -> None:
    """A study of an earlier version recorded less: then it is as it was asked for."""
    machine, state = measured_machine(record()), (("1", 4.0),)
    known = against_matching.Slowed({"1:4": {"1": 3.9}}, {"1:4": {"1": 4.5}}, {"1:4": {"1": 6e-5}})
    found = known.machine(machine, state).kind[1]
    assert found.stolen_share == pytest.approx(1 - 1 / 3.9)
    assert found.stolen_reading_share == pytest.approx(1 - 1 / 4.5)
    assert found.stolen_turn_seconds == 6e-5
    older = against_matching.Slowed({"1:4": {"1": 3.9}}).machine(machine, state).kind[1]
    assert older.stolen_reading_share == older.stolen_share == pytest.approx(1 - 1 / 3.9)
    assert against_matching.Slowed().machine(machine, state).kind[1].stolen_share == 0.75
    assert len(known.machine(machine, ()).kind) == 1


def test_what_was_measured_several_times_counts_with_its_medians() -> None:
    once, twice, thrice, other = record(), record(), record(), record()
    for factor, one in ((1, once), (3, twice), (2, thrice)):
        measured = one["measured"]
        measured["reads"] = [point | {"bytes_per_second": factor * 1e9} for point in measured["reads"]]
        measured["latency_seconds"] = [[None, factor * 1e-7], [factor * 1e-7, None]]
    other["measured"]["reads"] = [point | {"bytes_per_second": 1.0} for point in reads("core", 1)]
    found = typical_record([once, twice, other, thrice])  # the third does not say what all read together
    assert {point["bytes_per_second"] for point in found["measured"]["reads"]} == {2e9}
    sizes, expected = ([point["bytes"] for point in one["measured"]["reads"]] for one in (found, once))
    assert sizes == expected
    assert found["measured"]["latency_seconds"] == [[None, 2e-7], [2e-7, None]]
    assert found["machine"] == once["machine"]
    assert typical_record([once]) == once
    measured_machine(found)  # a record like any other


def test_a_state_is_simulated_on_the_machine_as_it_was_meanwhile() -> None:
    times = ("2026-01-01T10:00:00Z", "2026-01-01T10:01:00Z", "2026-01-01T10:02:00Z", "2026-01-01T10:03:00Z")
    records = [{"measured": {"when": time}} for time in times]
    assert records_around(records, "2026-01-01T10:00:30.5Z", "2026-01-01T10:01:30.5Z") == records[:3]
    assert records_around(records, "2026-01-01T10:01:10Z", "2026-01-01T10:01:20Z") == records[1:3]
    assert records_around(records, "2026-01-01T10:02:30Z", "2026-01-01T10:09:00Z") == records[2:]
    assert records_around(records[:1], "2026-01-01T10:02:30Z", "2026-01-01T10:09:00Z") == records[:1]
    assert records_around([*records, {}], *times[:2]) == [*records, {}]
    assert records_around(records, "", "") == records  # a store of an older version


def test_that_one_cpu_is_slow_stays_typical_where_it_is_another_one_each_time() -> None:
    records = [record() for _ in range(3)]
    for slow, one in zip((0, 1, 0), records, strict=True):
        one["measured"]["cpus"][slow]["compute_per_second"] = 6e9
    found = typical_record(records)["measured"]["cpus"]
    assert [cpu["compute_per_second"] for cpu in found] == [6e9, 1e10]
    records[2]["measured"]["cpus"][0]["compute_per_second"] = 1e10  # now each was slow once
    found = typical_record(records)["measured"]["cpus"]
    assert sorted(cpu["compute_per_second"] for cpu in found) == [6e9, 1e10]


def test_speeds_are_typical_of_their_kind_of_core() -> None:
    records = [record() for _ in range(2)]
    for factor, one in zip((1, 3), records, strict=True):
        for cpu, kind in enumerate(("performance", "efficiency")):
            one["cpus"][cpu]["kind"] = kind
            one["measured"]["cpus"][cpu]["compute_per_second"] = factor * (2e9 if cpu else 4e9)
    found = typical_record(records)["measured"]["cpus"]
    assert [cpu["compute_per_second"] for cpu in found] == [8e9, 4e9]


def test_records_that_looked_at_other_sets_are_taken_together() -> None:
    """Each looks for the steep places by itself: between two sets it says what lies between."""
    usual = {"kind": "core", "members": 1, "rows_at_once": 64}

    def with_reads(points: Iterable[tuple[int, float, float]]) -> dict[str, Any]:
        found = record()
        found["measured"]["reads"] = [
            usual | {"bytes": size, "pause_seconds": pause, "bytes_per_second": rate}
            for size, pause, rate in points
        ]
        return found

    first = with_reads([(100, 0.0, 60.0), (300, 0.0, 20.0), (200, 0.0, 50.0), (100, 1e-3, 30.0)])
    second = with_reads([(100, 0.0, 64.0), (300, 0.0, 24.0), (100, 1e-3, 34.0)])
    third = with_reads([(100, 0.0, 62.0), (300, 0.0, 10.0), (150, 0.0, 60.0), (150, 1e-3, 1.0)])
    found = typical_record([first, second, third])["measured"]["reads"]
    assert [(point["bytes"], point["pause_seconds"], point["bytes_per_second"]) for point in found] == [
        (100, 0.0, 62.0),
        (150, 0.0, 55.0),  # of 55, 54 and 60
        (200, 0.0, 44.0),  # of 50, 44 and 43.3
        (300, 0.0, 20.0),
        (100, 1e-3, 32.0),  # the set that most of them read with pauses
    ]
    assert all(point["members"] == 1 for point in found)


def prediction(
    label: str,
    measured: float,
    simulated: float,
    cell: str = "2000",
    halves: tuple[float, float] | None = None,
) -> against_matching.Predicted:
    usual: dict[str, Any] = {"x": 2000, "emulated": {}, "runtime": "tbb", "schedule": "auto", "rounds": 8}
    seconds = {"measured_seconds": measured, "simulated_seconds": simulated}
    return against_matching.Predicted(cell=cell, label=label, halves=halves, **usual, **seconds)


def test_errors_and_whether_the_best_was_named() -> None:
    good = [prediction("a", 1.0, 1.1), prediction("b", 1.04, 1.05), prediction("c", 2.0, 1.9)]
    assert against_matching.names_the_best(good)  # b is named, within 5 % of a
    bad = [prediction("a", 1.0, 1.1, "4000"), prediction("b", 1.06, 1.05, "4000")]
    assert not against_matching.names_the_best(bad)
    found = against_matching.summary("loop", "test", [*good, *bad], {"qt ordered": 2})
    assert (found.near_best, found.cells) == (1, 2)
    assert found.together.median == pytest.approx(0.05)
    assert found.together.bias == pytest.approx(0.05 / 5.3, rel=0.5)
    assert found.groups[0].count == 5


def test_a_study_is_held_against_itself_as_a_prediction_is_held_against_it() -> None:
    steady = [prediction("a", 1.0, 1.0, "1000", (1.0, 1.02)), prediction("b", 1.1, 1.0, "1000", (1.1, 1.1))]
    # The odd rounds say a, the even ones b: who measures again finds something 20 % slower best.
    torn = [prediction("a", 1.1, 1.0, "2000", (1.0, 1.3)), prediction("b", 1.1, 1.0, "2000", (1.2, 1.2))]
    alone = [prediction("a", 1.0, 1.0, "4000")]
    found = against_matching.summary("loop", "test", [*steady, *torn, *alone], {}).repeated
    assert (found.count, found.cells, found.near_best) == (4, 2, 1)
    assert found.median == pytest.approx(0.01)
    assert found.p90 == pytest.approx(0.216)
    assert against_matching.summary("loop", "test", alone, {}).repeated is None


def test_a_prediction_is_counted_in_what_the_study_is_off_itself() -> None:
    halved = [
        prediction("a", 1.0, 1.04, "1000", (1.0, 1.02)),
        prediction("b", 1.0, 0.94, "1000", (1.0, 1.02)),
        prediction("c", 1.0, 1.05, "2000", (1.0, 1.02)),
    ]
    lonely = [prediction("d", 1.0, 9.0, "2000")]  # without rounds enough it counts on neither side
    found = against_matching.summary("loop", "test", [*halved, *lonely], {})
    assert found.beside_itself is not None
    assert found.beside_itself.count == 3
    assert found.beside_itself.median == pytest.approx(2.5, rel=0.03)
    assert found.beside_itself.p90 == pytest.approx(2.9, rel=0.03)
    assert any("that is 2.5 times as far off" in one.lower() for one in against_command.sentences(found))
    same = [prediction("a", 1.0, 1.1, "1000", (1.0, 1.0))]
    assert against_matching.summary("loop", "test", same, {}).beside_itself is None


WAYS: tuple[tuple[str, str, str, int | None], ...] = (
    ("serial", "serial", "serial", None),
    ("openmp", "libgomp", "pragma", None),
    ("openmp", "libomp", "dynamic", 4),
    ("openmp", "libgomp", "guided", 4),
    ("tbb", "oneTBB", "simple", 16),
    ("stdpar", "stdpar", "par", None),
    ("openmpi", "openmpi", "static", None),
    ("tautochrone", "tautochrone", "adaptive", None),
)


def loop_rows(machine: Machine, off: float) -> Iterable[dict[str, Any]]:
    """What a study would have stored if the simulation were `off` times too slow."""
    for emulated in ({}, {"1": 4.0}):
        there = with_slow_cores(machine, emulated)
        for size in (500, 1500, 3000):
            for runtime, library, schedule, chunk in WAYS:
                cpus = [0] if runtime == "serial" else [0, 1]
                config = {"runtime": runtime, "library": library, "schedule": schedule, "chunk": chunk}
                config |= {"placement": "all", "cpus": cpus, "cores": {}, "threads": len(cpus)}
                config |= {"emulated": emulated, "size": size, "wait": "default"}
                request = against_matching.loop_request(config, there)
                assert request is not None
                seconds = engine.simulate(there, [request])[0]["seconds"] / off
                name = f"{library} {schedule} {size} {emulated}"
                for number in range(4):
                    yield as_record(row(name, number, seconds, config=config, name=name))


def stored(
    folder: Path,
    rows: Iterable[Mapping[str, Any]],
    study: str = "loop",
    later: Iterable[Mapping[str, Any]] = (),
) -> Path:
    """A folder as a study leaves it. `later`: more records of its machine."""
    head = {"schema": STORE_SCHEMA, "study": study, "plan_id": "p", "created": "2026-01-01T00:00:00Z"}
    lines = [head | {"tautochrone": "0"}, record(), *rows, *later]
    (folder / "rows.jsonl").unlink(missing_ok=True)
    with Journal.open(folder / "rows.jsonl") as journal:
        for line in lines:
            journal.append(line)
    (folder / "study.json").write_text(json.dumps({"schema": f"tautochrone.{study}/1"}))
    return folder


@pytest.mark.timed
@needs_simulator
def test_study_is_held_against_the_simulation_of_its_own_machine(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = stored(tmp_path, loop_rows(measured_machine(record()), off=1.25))
    assert main.main(["simulate", "loop", "--against", str(folder), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    # Two states, two sizes from 1000 on, eight ways; each off by a quarter.
    assert found["together"]["count"] == 32
    assert found["together"]["median"] == pytest.approx(0.25)
    assert found["together"]["bias"] == pytest.approx(0.25)
    assert (found["near_best"], found["cells"]) == (4, 4)
    assert found["left_out"] == {}
    assert main.main(["simulate", "loop", "--against", str(folder)]) == 0
    shown = capsys.readouterr().out
    assert "median error 25 %, 90th percentile 25 %" in shown
    assert "in 4 of 4 cells" in shown
    assert "against odd ones: median error 0 %" in shown
    (said,) = claims_command.predictions(claims_command.studies_in([folder]))
    assert "predicts 32 configurations: median error 25 %, 90th percentile 25 %" in said
    page = (folder / "against.html").read_text()
    assert "How far off the simulation is" in page
    assert '"strokeDash"' in page


@pytest.mark.timed
@needs_simulator
def test_how_far_simulations_by_single_probes_lie_apart_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A machine that became half as fast in all that counts."""
    half = record()
    half["measured"] |= {"when": "2026-01-01T09:00:00Z"}
    for cpu in half["measured"]["cpus"]:
        cpu["compute_per_second"] /= 2
    for point in half["measured"]["reads"]:
        point["bytes_per_second"] /= 2
    rows = list(loop_rows(measured_machine(record()), off=1))
    alone = stored(tmp_path, rows)
    assert main.main(["simulate", "loop", "--against", str(alone), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["probes_apart"] is None
    both = stored(tmp_path, rows, later=[half])
    assert main.main(["simulate", "loop", "--against", str(both), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["probes_apart"]["count"] == 32
    assert found["probes_apart"]["median"] == pytest.approx(1.0, abs=0.1)
    assert all(len(one["by_probe"]) == 2 for one in found["predicted"])
    assert main.main(["simulate", "loop", "--against", str(both)]) == 0
    assert "32 simulations differ by " in capsys.readouterr().out


@needs_simulator
def test_what_cannot_be_compared_exits_2_in_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = stored(tmp_path, [], "mapreduce")
    for words in (
        ["simulate", "loop", "--against", str(folder)],
        ["simulate", "mapreduce", "--against", str(folder)],
        ["simulate", "power", "--against", str(folder)],
        ["simulate", "loop", "--against", str(folder), "--machine", "i9-14900k"],
        ["simulate", "loop"],
    ):
        assert main.main(words) == 2
        said = capsys.readouterr().err.strip()
        assert said.startswith("tauto: error: ")
        assert "\n" not in said


@pytest.mark.timed
@needs_simulator
def test_short_tasks_are_compared_as_well(tmp_path: Path) -> None:
    def config(runtime: str, schedule: str, threads: int) -> dict[str, Any]:
        usual = {"tasks": 50, "bytes": 8000, "emulated": {"1": 2.0}, "cpus": [0, 1][:threads]}
        return {"runtime": runtime, "schedule": schedule, "threads": threads} | usual

    machine = with_slow_cores(measured_machine(record()), {"1": 2.0})
    alone = against_matching.mapreduce_request(config("serial", "serial", 1), machine)
    assert alone is not None
    both = against_matching.mapreduce_request(config("openmp", "static", 2), machine)
    assert both is not None
    one, static = (row["seconds"] for row in engine.simulate(machine, [alone, both]))
    assert one == pytest.approx(50 * 8000 / 8e8, rel=0.02)
    assert static == pytest.approx(one, rel=0.05)  # half of the tasks on a core that is half as fast
    assert against_matching.mapreduce_request(config("qt", "ordered", 2), machine) is None
    assert against_matching.mapreduce_request(config("qt", "unordered", 3), machine) is None
