"""The chart of time and energy: its front, its numbers, and the sentence in its place."""

from __future__ import annotations

import json
from typing import Any

import msgspec

from measuring import MACHINE, changed, row
from tautochrone.report import energy, page, spent
from tautochrone.results.row import Row
from tautochrone.results.spent import Joules, Spent, spent_of
from tautochrone.studies.loop.analysis import analyse
from tautochrone.studies.loop.findings import LoopContext


def metered(
    name: str, seconds: float, joules: float, number: int = 0, group: str = "cell", **more: Any
) -> Row:
    found = {"status": "measured", "joules": 99.0, "work_joules": joules}
    return row(name, number, seconds, group=group, energy=found, **more)


def front(rows: list[Row]) -> set[str]:
    return {one.label for one in energy.points(rows) if one.front}


def test_the_front_holds_what_nothing_beats_in_both() -> None:
    rows = [
        metered("fast", 1.0, 9.0),
        metered("thrifty", 3.0, 4.0),
        metered("between", 2.0, 6.0),
        metered("beaten", 2.5, 7.0),
        metered("as fast but dearer", 1.0, 10.0),
    ]
    assert front(rows) == {"fast", "thrifty", "between"}


def test_equal_ones_are_both_on_the_front_and_groups_do_not_meet() -> None:
    assert front([metered("a", 1.0, 5.0), metered("b", 1.0, 5.0)]) == {"a", "b"}
    assert front([metered("a", 1.0, 5.0), metered("b", 2.0, 9.0, group="other")]) == {"a", "b"}


def test_a_point_is_the_median_over_rounds_and_screening_is_left_out() -> None:
    measured = [(1.0, 5.0), (2.0, 7.0), (9.0, 6.0)]
    rows = [metered("a", seconds, joules, number) for number, (seconds, joules) in enumerate(measured)]
    rows.append(metered("a", 100.0, 100.0, 9, source="screening"))
    (one,) = energy.points(rows)
    assert (one.seconds, one.joules, one.runs) == (2.0, 6.0, 3)


def test_errors_and_estimates_are_not_drawn() -> None:
    estimated = row("a", 0, energy={"status": "estimated", "joules": 5.0, "reason": "no meter"})
    failed = row("b", 0, None, energy={"status": "measured", "joules": 5.0})
    assert energy.points([estimated, failed]) == []


def test_without_joules_there_is_the_reason_and_the_remedy() -> None:
    said = {"reason": "this is a virtual machine", "remedy": "Measure on the host"}
    why = {"status": "unavailable", "joules": None, **said}
    part = energy.build([row("a", 0, energy=why)])
    assert part.sentence == "Energy was not measured: this is a virtual machine. Measure on the host."
    assert (part.figures, part.charts, part.tables) == ([], {}, {})
    assert energy.build([row("a", 0)]).sentence == "Energy was not measured."


def test_the_heading_says_whether_the_fastest_is_the_thriftiest() -> None:
    agree = [metered("a", 1.0, 5.0), metered("b", 2.0, 6.0)]
    differ = [metered("a", 1.0, 5.0, group="g"), metered("b", 2.0, 4.0, group="g")]

    def heading(rows: list[Row]) -> str:
        return energy.build(rows).figures[0].heading

    assert heading(agree) == "The fastest configuration also takes the least energy"
    assert heading(differ) == "The fastest configuration does not take the least energy"
    assert heading(agree + differ).endswith("in 1 of 2 cases")


def test_the_platform_is_drawn_above_the_processor_where_both_were_metered() -> None:
    alone = [metered("a", 1.0, 5.0), metered("b", 2.0, 4.0)]
    both = [
        msgspec.structs.replace(one, energy=one.energy | {"platform_joules": 99.0 * times})
        for one, times in zip(alone, (3.0, 4.0), strict=True)
    ]
    assert [one.platform for one in energy.points(both)] == [15.0, 16.0]
    part = energy.build(both)
    assert [record["platform"] for record in part.tables["energy"]] == [15.0, 16.0]
    assert "the hollow ones above them the whole machine" in part.figures[0].explanation
    assert "platform" in json.dumps(part.charts["energy"])
    part = energy.build(alone)
    assert "hollow" not in part.figures[0].explanation
    assert "platform" not in json.dumps(part.charts["energy"])


def test_a_column_of_the_platform_is_there_where_it_was_metered() -> None:
    rows = [metered("a", 1.0, 5.0)]
    records = [spent.record(spent_of(rows, 1.0))]
    assert "platform" not in [name for name, _, _ in spent.columns(records)]
    beside = [msgspec.structs.replace(rows[0], energy=rows[0].energy | {"platform_joules": 198.0})]
    records = [spent.record(spent_of(beside, 1.0))]
    assert spent.columns(records)[-1][0] == "platform"
    assert records[0]["platform"] == 10.0


def test_the_part_stands_in_a_studys_page() -> None:
    config = {"runtime": "openmp", "library": "libgomp", "size": 100, "emulated": {}, "schedule": "pragma"}
    config |= {"placement": "all", "threads": 2, "cpus": [0, 1]}
    rows = [metered("a", 1.0, 5.0, config=config), metered("b", 2.0, 4.0, config=config)]
    machine = {**MACHINE, "cpus": [], "kinds": []}
    html = page.render(rows, machine, analyse(rows, machine, LoopContext()), "loop")
    assert 'data-chart="energy"' in html
    assert "Pareto front" in html
    assert "Energy was not measured" not in html


def test_energy_columns_are_there_where_a_row_was_metered() -> None:
    idle = {"idle_watts": 2.0, "idle_spread_watts": 0.1, "cpu_seconds": 3.0, "core_seconds": 8.0}
    rows = [metered("a", 2.0, 9.0, number) for number in range(3)]
    rows = [changed(one, energy={**one.energy, **idle}) for one in rows]
    found = spent_of(rows, 5.0)
    assert found.joules == Joules(run=9.0, mean_watts=4.5, net=5.0, common=15.0, edp=18.0, ed2p=36.0)
    assert (found.cpu_seconds, found.core_seconds) == (3.0, 8.0)
    records = [spent.record(found), spent.record(None)]
    assert records[0]["common"] == 15.0
    shown = ["joules", "watts", "net", "common", "edp", "ed2p"]
    assert [name for name, _, _ in spent.columns(records)] == shown


def test_one_row_without_joules_leaves_cpu_and_core_time_alone() -> None:
    rows = [metered("a", 2.0, 9.0), row("a", 1, 2.0, energy={"status": "unavailable", "cpu_seconds": 3.0})]
    found = spent_of(rows, 5.0)
    assert (found.joules, found.cpu_seconds, found.core_seconds) == (None, 3.0, None)
    assert [name for name, _, _ in spent.columns([spent.record(found)])] == ["cpu_seconds"]
    assert spent.columns([spent.record(Spent())]) == ()


def test_screening_counts_where_nothing_else_was_measured() -> None:
    screened = changed(metered("a", 2.0, 30.0), source="screening")
    alone = Joules(run=30.0, mean_watts=15.0, net=None, common=None, edp=60.0, ed2p=120.0)
    assert spent_of([screened], None).joules == alone
    both = spent_of([screened, metered("a", 2.0, 9.0, 1)], None)
    assert both.joules is not None
    assert both.joules.run == 9.0
