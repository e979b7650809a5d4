"""Which CPUs a placement means, on machines of several kinds and with some CPUs slowed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest

from study_fakes import machine, peers
from study_loop_fakes import SCHEDULES
from tautochrone.errors import TautoError
from tautochrone.machine.placements import Cpu, Layout, cpus_of, layout
from tautochrone.options import format_cpus, parse_cpus, parse_states
from tautochrone.studies.loop.configurations import PEERS, Candidate, candidates
from tautochrone.studies.loop.study import parse_sizes
from tautochrone.text import format_bytes


def hybrid() -> list[Cpu]:
    """Two P-cores with two hardware threads each (0 1, 2 3), two E-cores (4, 5), one LP-core (6)."""
    p = [Cpu(number, (0, number // 2), "P") for number in range(4)]
    return [*p, Cpu(4, (0, 4), "E"), Cpu(5, (0, 5), "E"), Cpu(6, (0, 6), "LP")]


def equal(count: int) -> list[Cpu]:
    return [Cpu(number, (0, number), "core") for number in range(count)]


def place(
    cpus: Sequence[Cpu], name: str, slowed: Mapping[int, float] | None = None, **more: int
) -> tuple[int, ...]:
    return layout(cpus, slowed or {}, more.get("usable")).placement(name, more.get("threads")).cpus


def test_placements_are_of_hardware_threads_fast_ones_first() -> None:
    assert place(hybrid(), "all") == (0, 1, 2, 3, 4, 5, 6)
    assert place(hybrid(), "cores") == (0, 2, 4, 5, 6)
    assert place(hybrid(), "fast") == (0, 1, 2, 3)
    assert place(hybrid(), "fast-cores") == (0, 2)
    assert place(hybrid(), "slow") == (4, 5, 6)


def test_cores_are_counted_by_kind() -> None:
    assert dict(layout(hybrid(), {}).placement("cores").cores) == {"P": 2, "E": 2, "LP": 1}


def test_one_thread_a_core_is_a_placement_only_where_cores_have_several() -> None:
    assert layout(hybrid(), {}).names == ("all", "cores", "fast", "fast-cores", "slow")
    assert layout(equal(2), {}).names == ("all",)


def test_slowed_cpus_are_the_slow_cores() -> None:
    assert place(equal(4), "fast", {1: 4.0, 3: 2.0}) == (0, 2)
    assert place(equal(4), "slow", {1: 4.0, 3: 2.0}) == (1, 3)
    assert dict(layout(equal(4), {1: 4.0}).placement("all").cores) == {"fast": 3, "slow": 1}


def test_the_kernels_capacity_tells_kinds_that_have_other_names() -> None:
    cpus = [Cpu(0, (0, 0), "little", 300), Cpu(1, (0, 1), "big", 1024)]
    assert place(cpus, "fast") == (1,)


def test_a_quota_leaves_the_fast_cores() -> None:
    assert place(equal(8), "all", usable=2) == (0, 1)
    assert place(equal(4), "all", {0: 2.0}, usable=3) == (1, 2, 3)


def test_threads_takes_the_first_cpus_of_a_placement() -> None:
    assert place(hybrid(), "cores", threads=3) == (0, 2, 4)


def test_a_list_of_cpus_is_a_placement() -> None:
    assert place(hybrid(), "0-1,5") == (0, 1, 5)


@pytest.mark.parametrize("name", ["slow", "9", "quick", "3-1"])
def test_placements_that_mean_nothing_on_equal_cores(name: str) -> None:
    with pytest.raises(TautoError):
        place(equal(4), name)


def test_cpus_that_are_not_allowed_are_never_used() -> None:
    record = machine(3)
    record["cpus"][1]["allowed"] = False
    usable, everything = cpus_of(record)
    assert [cpu.number for cpu in usable] == [0, 2]
    assert everything == (0, 1, 2)


def found(seen: Layout, quick: bool = False) -> list[Candidate]:
    """All candidates of a cell with every peer there."""
    return candidates(peers(SCHEDULES)(PEERS, None), seen, (1, 2, 16), quick=quick)


def test_every_chunk_and_both_wait_policies_are_tried_in_a_full_study() -> None:
    tried = {(one.chunk, one.wait) for one in found(layout(equal(2), {})) if one.schedule == "dynamic"}
    assert tried >= {(chunk, wait) for chunk in (1, 2, 16) for wait in ("default", "active")}


def test_each_configuration_is_there_once() -> None:
    labels = [one.label for one in found(layout(hybrid(), {}))]
    assert len(labels) == len(set(labels))


def test_defaults_references_and_ours_cannot_be_screened_out() -> None:
    kept = {one.label for one in found(layout(equal(4), {1: 4.0})) if one.always_measured}
    assert kept == {
        "serial, CPU 0",
        "serial, slow cores only",
        "libgomp static, fast cores only",
        "libgomp pragma, all cores",
        "libomp pragma, all cores",
        "tbb auto, all cores",
        "stdpar par, all cores",
        "openblas sgemv, all cores",
        "openmpi static, all cores",
        "mpich static, all cores",
        "tautochrone adaptive, all cores",
    }


def test_ours_is_never_given_a_wait_policy() -> None:
    assert {one.wait for one in found(layout(equal(2), {})) if one.peer == "tautochrone"} == {"default"}


def test_quick_tries_less() -> None:
    seen = layout(equal(2), {1: 4.0})
    assert len(found(seen, quick=True)) < len(found(seen))


def test_text_of_the_options() -> None:
    assert parse_sizes("2000,500") == (500, 2000)
    assert parse_states("1:2,1:4,1:2+3:1.5") == ({1: 2.0}, {1: 4.0}, {1: 2.0, 3: 1.5})
    assert parse_states("1:1,1:4") == ({}, {1: 4.0})
    assert parse_cpus("0-3,8,2") == (0, 1, 2, 3, 8)
    assert format_cpus([8, 0, 1, 2, 3]) == "0-3,8"
    sizes = [format_bytes(count) for count in (999, 1500, 64e6, 4e18)]
    assert sizes == ["999 B", "1.5 kB", "64.0 MB", "4.0 EB"]
