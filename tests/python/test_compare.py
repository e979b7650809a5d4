"""``tauto compare``: what is compared with what, and what is said when it cannot be."""

from __future__ import annotations

import json
import random
import re
import shlex
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from measuring import MACHINE, changed, row
from tautochrone.errors import TautoError
from tautochrone.results.compare import CompareRequest, compare_results
from tautochrone.results.row import Row, refused
from tautochrone.results.store import Store
from tautochrone.studies.services import Services
from tautochrone.studies.study import compare_policies


def stored(folder: Path, rows: list[Row], machine: str = str(MACHINE["machine"])) -> str:
    record = {**MACHINE, "machine": machine, "name": f"box {machine}"}
    with Store.open(folder, "loop", "plan", record) as store:
        for one in rows:
            store.append(changed(one, machine=machine))
    return str(folder)


def times(
    runtime: str,
    seconds: float,
    size: int = 1000,
    *,
    rounds: int = 8,
    noise: float = 0.001,
    hour: int = 12,
    bridge: float | None = None,
    **config: Any,
) -> list[Row]:
    """One run a minute from that hour on; `bridge`: what a piece of fixed work takes beside each."""
    chance = random.Random(f"{runtime}{seconds}{size}")
    settings = {"runtime": runtime, "size": size, **config}
    identity = "-".join(str(value) for value in settings.values())
    return [
        row(
            identity,
            number,
            seconds * chance.uniform(1 - noise, 1 + noise),
            config=settings,
            group=f"size={size}",
            name=f"{runtime} on {size}",
            started=f"2026-01-05T{hour:02d}:{number:02d}:00.000Z",
            bridge=None if bridge is None else "products",
            bridge_seconds=None if bridge is None else bridge * chance.uniform(1 - noise, 1 + noise),
        )
        for number in range(rounds)
    ]


def said(a: str, b: str, *, width: int = 200, code: int = 0, **options: bool) -> str:
    output = StringIO()
    assert CompareRequest(a, b, **options).run(Console(file=output, width=width)) == code
    return output.getvalue()


@pytest.fixture
def one_store(tmp_path: Path) -> str:
    small = [*times("tautochrone", 1.0, 1000), *times("openmp", 2.0, 1000)]
    large = [*times("tautochrone", 4.0, 2000), *times("openmp", 4.0, 2000)]
    return stored(tmp_path / "loop", [*small, *large])


def test_two_configurations_of_one_store_are_compared_by_round(one_store: str) -> None:
    report = compare_results(f"{one_store}@runtime=openmp", f"{one_store}@runtime=tautochrone")
    assert report.paired
    small, large = report.lines
    assert (small.cell, small.a, small.b) == ("size=1000", "openmp on 1000", "tautochrone on 1000")
    assert (small.comparison.verdict, small.comparison.rounds) == ("faster", 8)
    assert small.comparison.ratio == pytest.approx(0.5, rel=0.01)
    assert large.comparison.ratio == pytest.approx(1.0, rel=0.01)
    assert report.overall.ratio == pytest.approx(0.5**0.5, rel=0.01)
    assert report.notes == []


def test_drift_that_both_share_cancels_in_pairs(tmp_path: Path) -> None:
    rows = [
        changed(one, seconds=one.seconds * (1 + one.round))
        for runtime, seconds in (("a", 1.0), ("b", 1.01))
        for one in times(runtime, seconds, noise=0.0)
    ]
    folder = stored(tmp_path / "x", rows)
    (line,) = compare_results(f"{folder}@runtime=a", f"{folder}@runtime=b").lines
    assert (line.comparison.verdict, line.comparison.ratio) == ("slower", pytest.approx(1.01))


def test_two_stores_with_a_bridge_are_compared_and_the_drift_is_in_the_interval(tmp_path: Path) -> None:
    before = stored(tmp_path / "before", [*times("openmp", 2.0, bridge=0.1), *times("tbb", 3.0, bridge=0.1)])
    later = {"hour": 13, "bridge": 0.11}
    after = stored(tmp_path / "after", [*times("openmp", 1.1, **later), *times("stdpar", 3.0, **later)])
    report = compare_results(before, after)
    (line,) = report.lines
    assert (line.comparison.verdict, line.comparison.paired) == ("faster", False)
    # The machine was 10 % slower: the bridge takes that out, and puts it into the interval.
    assert line.comparison.ratio == pytest.approx(0.5, rel=0.01)
    assert line.comparison.low < 0.5 / 1.1 < 0.5 * 1.1 < line.comparison.high
    assert line.drift.moved == {"products": pytest.approx(0.095, abs=0.002)}
    assert report.overall is None
    moved, widens, left_out = report.notes
    assert re.search(r"fixed work before each run \(products\) took \+(9|10)\.\d % more time in B", moved)
    assert "drift widens the intervals by up to 1" in widens
    assert left_out == "left out: 1 configurations that only A has, 1 that only B has"
    assert "faster" in said(before, after)
    found = json.loads(said(before, after, json=True))["comparisons"][0]
    assert found["drift"]["moved"]["products"] == line.drift.moved["products"]


def test_what_slows_program_and_bridge_alike_is_no_difference(tmp_path: Path) -> None:
    before = stored(tmp_path / "before", times("openmp", 2.0, bridge=0.1))
    after = stored(tmp_path / "after", times("openmp", 2.6, bridge=0.13, hour=13))
    (line,) = compare_results(before, after).lines
    assert (line.comparison.verdict, line.comparison.ratio) == (
        "no difference resolved",
        pytest.approx(1, rel=0.01),
    )


def test_the_serial_run_of_each_round_is_a_bridge(tmp_path: Path) -> None:
    before = stored(tmp_path / "before", [*times("serial", 4.0), *times("openmp", 2.0)])
    after = stored(tmp_path / "after", [*times("serial", 4.4, hour=13), *times("openmp", 1.1, hour=13)])
    serial, openmp = compare_results(before, after).lines
    assert openmp.comparison.verdict == "faster"
    assert [*openmp.drift.moved] == ["the serial run of the same round"]
    # Nothing stands beside the serial run itself.
    assert serial.comparison.verdict == "cannot be told from two sittings"


def test_without_a_bridge_two_sittings_have_no_verdict_and_the_exit_code_says_so(tmp_path: Path) -> None:
    before, after = (
        stored(tmp_path / "a", times("tbb", 2.0)),
        stored(tmp_path / "b", times("tbb", 1.0, hour=13)),
    )
    (line,) = compare_results(before, after).lines
    assert line.comparison.verdict == "cannot be told from two sittings"
    assert (line.comparison.low, line.comparison.high, line.drift) == (None, None, None)
    text = said(before, after, code=4)
    assert "cannot be told from two sittings" in text
    assert "faster" not in text
    assert "nothing that is the same in both sittings was measured beside these runs" in text
    assert "measure both together" in text
    found = json.loads(said(before, after, json=True, code=4))
    assert found["comparisons"][0]["verdict"] == "cannot be told from two sittings"
    assert found["comparisons"][0]["low"] is None
    assert "measure both together" in found["notes"][0]


def test_rows_that_do_not_say_when_they_were_measured_have_no_verdict(tmp_path: Path) -> None:
    sides = [
        stored(tmp_path / name, [changed(one, started="") for one in times("tbb", seconds, bridge=0.1)])
        for name, seconds in (("a", 2.0), ("b", 1.0))
    ]
    (line,) = compare_results(*sides).lines
    assert line.comparison.verdict == "cannot be told from two sittings"
    assert line.reason == "the rows do not say when they were measured"


def test_joules_of_two_sittings_need_joules_of_a_bridge(tmp_path: Path) -> None:
    def metered(rows: list[Row], joules: float) -> list[Row]:
        return [changed(one, energy={"status": "measured", "work_joules": joules}) for one in rows]

    without = [
        stored(tmp_path / name, metered(times("tbb", 2.0, bridge=0.1, hour=hour), joules))
        for name, hour, joules in (("a", 12, 9.0), ("b", 13, 3.0))
    ]
    (line,) = compare_results(*without).lines
    assert line.comparison.verdict == "no difference resolved"
    assert line.energy.verdict == "cannot be told from two sittings"
    beside = [
        stored(
            tmp_path / name,
            [*metered(times("serial", 2.0, hour=hour), 5.0), *metered(times("tbb", 2.0, hour=hour), joules)],
        )
        for name, hour, joules in (("c", 12, 9.0), ("d", 13, 3.0))
    ]
    _, line = compare_results(*beside).lines
    assert line.energy.verdict == "faster"


def test_the_machine_in_two_states_is_compared_without_taking_the_states_out(tmp_path: Path) -> None:
    slow = stored(tmp_path / "powersave", times("tbb", 2.0, bridge=0.2))
    fast = stored(tmp_path / "performance", times("tbb", 1.0, bridge=0.1, hour=13))
    (line,) = compare_results(slow, fast).lines
    assert line.comparison.verdict == "no difference resolved"
    (line,) = compare_results(slow, fast, across_states=True).lines
    assert (line.comparison.verdict, line.comparison.ratio) == ("faster", pytest.approx(0.5, rel=0.01))
    assert "only as it changed within each" in said(slow, fast, across_states=True)


def test_the_table_has_ratio_interval_rounds_and_verdict_in_words(one_store: str) -> None:
    text = said(f"{one_store}@runtime=openmp", f"{one_store}@runtime=tautochrone")
    faster = next(line for line in text.splitlines() if "size=1000" in line)
    assert "0.500" in faster
    assert "…" in faster
    assert "1 s" in faster
    assert faster.split()[-1] == "faster"
    even = next(line for line in text.splitlines() if "size=2000" in line)
    assert re.search(r"0\.\d %\s+no difference resolved", even)
    assert "geometric mean" in text
    assert "openmp on" in text


def test_json_holds_the_same_for_programs(one_store: str) -> None:
    a, b = f"{one_store}@runtime=openmp", f"{one_store}@runtime=tautochrone"
    found = json.loads(said(a, b, json=True))
    assert (found["schema"], found["a"], found["b"]) == ("tautochrone.comparison/1", a, b)
    first = found["comparisons"][0]
    assert (first["verdict"], first["rounds"], first["confidence"]) == ("faster", 8, 0.99)
    assert first["low"] < first["ratio"] < first["high"] < 1
    assert found["geometric_mean"]["rounds"] == 8


def test_rows_of_two_machines_are_refused_unless_that_is_wanted(tmp_path: Path) -> None:
    here = stored(tmp_path / "here", times("openmp", 2.0))
    there = stored(tmp_path / "there", times("openmp", 1.0), machine="ffff")
    with pytest.raises(TautoError, match=r"different machines \(box 0123456789ab .* and box ffff") as caught:
        compare_results(here, there)
    assert "--across-machines" in caught.value.remedy
    report = compare_results(here, there, across_machines=True)
    assert report.lines[0].comparison.verdict == "faster"
    assert "from different machines" in report.notes[0]
    assert "different machines" in said(here, there, across_machines=True)


def test_too_few_rounds_are_not_measured_and_the_reason_is_given(tmp_path: Path) -> None:
    a = stored(tmp_path / "a", times("openmp", 1.0, rounds=7))
    b = stored(tmp_path / "b", times("openmp", 2.0))
    (line,) = compare_results(a, b).lines
    assert (line.comparison.verdict, line.reason) == ("not measured", "7 runs; at least 8 are needed")
    assert "not measured: 7 runs; at least 8 are needed" in said(a, b)


def test_a_side_that_failed_is_not_measured_and_its_words_are_given(tmp_path: Path) -> None:
    failed = [refused(one, "failed", "no memory") for one in times("openmp", 1.0)]
    a, b = stored(tmp_path / "a", times("openmp", 1.0)), stored(tmp_path / "b", failed)
    (line,) = compare_results(a, b).lines
    assert (line.a_seconds, line.b_seconds) == (pytest.approx(1.0, rel=0.01), None)
    assert (line.comparison.verdict, line.reason) == ("not measured", "B failed: no memory")


def test_nothing_in_common_is_told(tmp_path: Path) -> None:
    a, b = stored(tmp_path / "a", times("openmp", 1.0)), stored(tmp_path / "b", times("tbb", 1.0))
    with pytest.raises(TautoError, match="no configuration in common"):
        compare_results(a, b)


def test_one_and_the_same_thing_is_not_compared_with_itself(one_store: str) -> None:
    side = f"{one_store}@runtime=openmp"
    for a, b in ((one_store, f"{one_store}/rows.jsonl"), (side, side)):
        with pytest.raises(TautoError, match="are the same results"):
            compare_results(a, b)


def test_what_is_suggested_in_place_of_the_same_results_twice_can_be_compared(tmp_path: Path) -> None:
    rows = [
        one
        for size in (500, 1000)
        for one in (
            *times("openmp", 1.0, size, schedule="static", chunk=None),
            *times("openmp", 1.1, size, schedule="dynamic", chunk=2),
            *times("openmp", 1.1, size, schedule="dynamic", chunk=4),
            *times("tbb", 1.2, size, schedule="auto", chunk=None),
        )
    ]
    where = stored(tmp_path / "a", rows)
    with pytest.raises(TautoError) as caught:
        compare_results(where, where)
    line = shlex.split(caught.value.remedy.partition("tauto compare ")[2])
    report = compare_results(*line)
    assert len(report.lines) == 2
    assert {one.comparison.verdict for one in report.lines} <= {"faster", "slower"}


def test_a_selection_of_several_configurations_says_what_to_choose_from(tmp_path: Path) -> None:
    rows = [
        *times("openmp", 1.0, schedule="static", chunk=None),
        *times("openmp", 1.0, schedule="dynamic", chunk=2),
        *times("tbb", 1.0, schedule="auto"),
    ]
    folder = stored(tmp_path / "x", rows)
    with pytest.raises(TautoError, match="selects 2 configurations for size=1000") as caught:
        compare_results(f"{folder}@runtime=tbb", f"{folder}@runtime=openmp")
    assert "chunk is 2, none; schedule is dynamic, static" in caught.value.message
    report = compare_results(f"{folder}@runtime=tbb", f"{folder}@runtime=openmp,schedule=dynamic,chunk=2")
    assert report.lines[0].comparison.verdict == "no difference resolved"


def test_values_of_a_selection_are_written_as_people_write_them(tmp_path: Path) -> None:
    rows = [
        *times("a", 1.0, emulated={"1": 4.0}, placement="0-3,8", quick=True, cpus=[0, 1]),
        *times("b", 2.0, emulated={}, placement="all", quick=True, cpus=[0]),
    ]
    folder = stored(tmp_path / "x", rows)
    report = compare_results(
        f"{folder}@placement=0-3,8,emulated=1:4,cpus=0,1", f"{folder}@emulated=none,quick=true,placement=all"
    )
    assert report.lines[0].comparison.verdict == "slower"


@pytest.mark.parametrize(
    ("selection", "message", "remedy"),
    [
        ("colour=red", "has a setting 'colour'", "runtime, size"),
        ("runtime=tbb", "has runtime=tbb", "openmp, tautochrone"),
        ("runtime", "'runtime' .* is not setting=value", "runtime=openmp"),
    ],
)
def test_a_selection_that_selects_nothing_says_what_is_there(
    one_store: str, selection: str, message: str, remedy: str
) -> None:
    with pytest.raises(TautoError, match=message) as caught:
        compare_results(one_store, f"{one_store}@{selection}")
    assert remedy in caught.value.remedy


def test_a_folder_may_have_an_at_sign_in_its_name(tmp_path: Path) -> None:
    a = stored(tmp_path / "x@y=z", times("openmp", 1.0))
    b = stored(tmp_path / "b", times("openmp", 1.0))
    assert len(compare_results(a, b).lines) == 1


def test_many_verdicts_come_with_a_warning(tmp_path: Path) -> None:
    rows = [one for size in range(1, 7) for name in "ab" for one in times(name, 1.0, size)]
    folder = stored(tmp_path / "x", rows)
    (note,) = compare_results(f"{folder}@runtime=a", f"{folder}@runtime=b").notes
    assert note == "each of the 6 verdicts may be wrong by chance with probability up to 0.01"


def test_the_table_fits_a_narrow_terminal(one_store: str) -> None:
    text = said(f"{one_store}@runtime=openmp", f"{one_store}@runtime=tautochrone", width=80)
    row_of_table = next(line for line in text.splitlines() if "0.500" in line)
    assert re.search(r"0\.\d{3} … 0\.\d{3} +8 +0\.\d %", row_of_table)


def test_times_are_told_in_a_unit_that_reads_well(tmp_path: Path) -> None:
    sizes = {1: 2.0, 2: 2e-3, 3: 2e-6, 4: 2e-9}
    pairs = [(name, seconds, size) for size, seconds in sizes.items() for name in "ab"]
    folder = stored(tmp_path / "x", [one for pair in pairs for one in times(*pair, noise=0.0)])
    text = said(f"{folder}@runtime=a", f"{folder}@runtime=b")
    assert all(f"2 {unit} " in text for unit in ("s", "ms", "µs", "ns"))


def test_policies_are_each_held_against_the_first(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name, seconds in (("as-it-is", 2.0), ("governor-performance", 1.0), ("turbo-off", 3.0)):
        stored(tmp_path / name, times("serial", seconds))
    names = ("as-it-is", "governor-performance", "turbo-off")
    compare_policies([tmp_path / name for name in names], Services())
    said_of = capsys.readouterr().err.split("Policy ")[1:]
    assert [one.split()[0] for one in said_of] == ["governor-performance", "turbo-off"]
    assert "faster" in said_of[0]
    assert "slower" in said_of[1]
