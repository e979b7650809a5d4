"""What may be asked of the map/reduce study, and how bad input is refused."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from study_fakes import machine, peers, refused
from study_mapreduce_fakes import SCHEDULES
from tautochrone.cli.main import main
from tautochrone.errors import TautoError
from tautochrone.machine.placements import Cpu, Layout, cpus_of, layout
from tautochrone.results.store import Store
from tautochrone.studies.mapreduce.configurations import (
    PEERS,
    Candidate,
    Workload,
    candidates,
    cpus_in_order,
    parse_workloads,
    preferred,
    sized,
    sized_all,
)
from tautochrone.studies.mapreduce.study import parse_threads, thread_counts


def test_workloads_are_read_as_they_are_written() -> None:
    assert parse_workloads("50x400kB,500x10us,5×2ms,7x3000B") == (
        Workload(50, bytes=400_000),
        Workload(500, seconds=10e-6),
        Workload(5, seconds=2e-3),
        Workload(7, bytes=3000),
    )


@pytest.mark.parametrize(
    ("workload", "name"),
    [
        (Workload(50, bytes=400_000), "50 × 400 kB"),
        (Workload(50, bytes=3_000_000), "50 × 3000 kB"),
        (Workload(1, bytes=20_000_000), "1 × 20 MB"),
        (Workload(9, bytes=64), "9 × 64 B"),
        (Workload(500, seconds=1e-6), "500 × 1 µs"),
        (Workload(2, seconds=2e-3), "2 × 2 ms"),
    ],
)
def test_workloads_are_named_as_people_write_them(workload: Workload, name: str) -> None:
    assert workload.name == name


@pytest.mark.parametrize(
    "text", ["", "50", "50x", "x400kB", "50x400", "50x400KB", "0x1us", "50x0us", "50x9000MB"]
)
def test_a_bad_workload_is_refused(text: str) -> None:
    with pytest.raises(TautoError):
        parse_workloads(text)


@given(st.floats(1e-3, 1e9))
def test_preferred_numbers_are_near(value: float) -> None:
    assert abs(math.log(preferred(value) / value)) < math.log(1.3) / 2


def test_lengths_that_round_to_the_same_bytes_are_measured_once() -> None:
    works = (Workload(50, bytes=1000), Workload(50, seconds=1e-6), Workload(5, seconds=1e-6))
    assert [(one.tasks, one.bytes) for one in sized_all(works, 1e-9)] == [(5, 1000), (50, 1000)]
    assert sized(Workload(50, bytes=7), 1e-9).bytes == 7  # bytes that were asked for are never rounded


def test_thread_counts_reach_all_cpus_and_twice_as_many() -> None:
    assert thread_counts(1, [50]) == (1, 2)
    assert thread_counts(2, [50]) == (1, 2, 4)
    assert thread_counts(32, [50]) == (*range(1, 33), 64)


def test_many_cpus_keep_the_counts_at_which_the_law_steps() -> None:
    found = thread_counts(128, [50, 500])
    assert {50, 128, 256} <= set(found)
    assert {math.ceil(500 / share) for share in range(4, 16)} <= set(found)
    assert len(found) < 70


@pytest.mark.parametrize("text", ["0", "-1", "2.5", "two", "1,,2"])
def test_a_bad_number_of_threads_is_refused(text: str) -> None:
    with pytest.raises(TautoError):
        parse_threads(text)


def hybrid() -> Layout:
    """Two P-cores with two hardware threads each, two E-cores."""
    p = [Cpu(number, (0, number // 2), "P") for number in range(4)]
    return layout([*p, Cpu(4, (0, 4), "E"), Cpu(5, (0, 5), "E")], {})


def test_cores_come_before_their_second_hardware_threads() -> None:
    assert cpus_in_order(hybrid()) == (0, 2, 4, 5, 1, 3)


def found(quick: bool) -> list[Candidate]:
    """All candidates on two equal CPUs."""
    cpus, _ = cpus_of(machine(2))
    return candidates(peers(SCHEDULES)(PEERS, None), layout(cpus, {}), (1, 2, 4), quick=quick)


def test_each_configuration_occurs_once() -> None:
    for quick in (True, False):
        labels = [one.label for one in found(quick)]
        assert len(labels) == len(set(labels))


def test_only_a_full_study_spins_and_ours_never() -> None:
    assert {one.wait for one in found(quick=True)} == {"default"}
    assert {one.peer for one in found(quick=False) if one.wait == "active"} == {"libgomp", "libomp"}


def test_more_threads_than_cpus_share_all_of_them() -> None:
    wide = next(one for one in found(quick=True) if one.threads == 4)
    assert wide.placement.cpus == (0, 1)
    assert wide.workers == 4


def study(*words: str) -> tuple[str, ...]:
    """A study that would be over at once."""
    return ("study", "mapreduce", "--quick", "--tasks", "50x1kB,50x9kB", "--peers", "libgomp", *words)


@pytest.mark.usefixtures("runners")
def test_whole_study_with_processes_and_its_report(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert main(study("--rounds", "8")) == 0
    said = capsys.readouterr().out
    assert said.startswith("On this machine")
    results = tmp_path / "tautochrone-results/mapreduce"
    assert (results / "traces/libgomp.json").is_file()
    with Store.read(results) as store:
        assert {row.config["threads"] for row in store.rows()} == {1, 2, 4}
        assert all(row.error is None for row in store.rows())
    assert main(["report", str(results)]) == 0
    assert main(["export", str(results), "--format", "csv"]) == 0


@pytest.mark.usefixtures("runners")
def test_folder_of_another_study_is_not_mixed(capsys: pytest.CaptureFixture[str]) -> None:
    loop = (
        "study",
        "loop",
        "--quick",
        "--rounds",
        "8",
        "--sizes",
        "100",
        "--peers",
        "libgomp",
        "--no-report",
    )
    assert main((*loop, "--output", "results")) == 0
    said = refused(capsys, *study("--output", "results"))
    assert "holds the study 'loop', not 'mapreduce'" in said
    assert "--fresh" in said
