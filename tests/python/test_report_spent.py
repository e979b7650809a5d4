"""Energy columns in the tables of all configurations and of `tauto compare`, or what stands in for them."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import msgspec
import pytest

import study_collective_fakes as collective
import study_loop_fakes as loop
import study_mapreduce_fakes as mapreduce
import study_nbody_fakes as nbody
from measuring import configuration, open_store, plan, row
from page_content import embedded
from tautochrone import report
from tautochrone.cli import main
from tautochrone.measuring.clock import VirtualClock
from tautochrone.measuring.configuration import Configuration
from tautochrone.measuring.executor import RunResult
from tautochrone.results.compare import as_json, compare_results
from tautochrone.studies.collective.study import Collective
from tautochrone.studies.loop.study import Loop
from tautochrone.studies.mapreduce.study import MapReduce
from tautochrone.studies.nbody.study import Nbody
from tautochrone.tune.analysis import analyse
from tautochrone.tune.space import DEFAULT
from tune_answers import context, rows_of
from tune_fakes import machine

ENERGY = {"joules", "watts", "net", "common", "edp", "ed2p"}
STAND_INS = {"cpu_seconds", "core_seconds"}
WATTS, IDLE_WATTS = 10.0, 4.0
METERED = {"status": "measured", "joules": 50.0, "mean_watts": WATTS, "idle_watts": IDLE_WATTS}
METERED |= {"idle_spread_watts": 0.5, "seconds": 5.0}


@dataclass
class Metered:
    """Another executor whose runs all draw `WATTS`."""

    inner: Any
    ran: int = 0
    idle: tuple[float, ...] = (4.0, 5.0)  # before the runs, and after them
    interrupted_at: int | None = None

    def idle_is_due(self) -> bool:
        return False

    def measure_idle(self) -> None:
        raise AssertionError("it was not due")

    def idle_stretches(self, *, after_runs: bool) -> tuple[float, ...]:
        if not self.ran:
            return ()
        taken, self.idle = self.idle if after_runs else self.idle[:1], ()
        return taken

    def run(self, one: Configuration, time_limit: float) -> RunResult:
        self.ran += 1
        if self.ran == self.interrupted_at:
            raise KeyboardInterrupt
        return msgspec.structs.replace(self.inner.run(one, time_limit), energy=METERED)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)


def records(html: str) -> tuple[set[str], list[dict[str, Any]]]:
    """The columns that are shown, and the cells of the table of all configurations."""
    data = embedded(html)
    table = data["configurations"]
    cells = [dict(zip(table["names"], one, strict=True)) for one in table["rows"]]
    return {name for name, _, _ in data["columns"]}, cells


STUDIES = [
    pytest.param(Loop.measure, loop, {"sizes": (400,)}, "size", id="loop"),
    pytest.param(MapReduce.measure, mapreduce, {}, "work", id="mapreduce"),
    pytest.param(Nbody.measure, nbody, {"particles": (256,)}, "order", id="nbody"),
    pytest.param(Collective.measure, collective, {}, "words", id="collective"),
]


@pytest.mark.parametrize(("run", "fakes", "options", "cell"), STUDIES)
def test_a_metered_study_has_energies_brought_to_the_longest_time_of_the_cell(
    run: Callable[..., Any], fakes: Any, options: dict[str, Any], cell: str, tmp_path: Path
) -> None:
    lab = fakes.laboratory()
    services = replace(lab.services, executor=lambda seed: nullcontext(Metered(lab.executor)))
    run(fakes.request(tmp_path, report=True, **options), services)
    context = json.loads((tmp_path / "study.json").read_text())
    assert context["idle_watts"] == [4.0, 5.0]
    assert any("drew 4.00 W to 5.00 W when nothing ran" in one for one in context["notices"])
    shown, found = records((tmp_path / "report.html").read_text())
    assert shown >= ENERGY
    assert not shown & STAND_INS
    good = [one for one in found if one["seconds"] is not None and one["joules"] is not None]
    assert len(good) > 3
    longest: dict[str, float] = {}
    for one in good:
        key = str((one[cell], one.get("operation")))
        longest[key] = max(longest.get(key, 0.0), one["seconds"])
    for one in good:
        seconds = one["seconds"]
        assert one["joules"] == pytest.approx(WATTS * seconds, rel=0.01)
        assert one["net"] == pytest.approx((WATTS - IDLE_WATTS) * seconds, rel=0.01)
        idle = IDLE_WATTS * (longest[str((one[cell], one.get("operation")))] - seconds)
        assert one["common"] == pytest.approx(WATTS * seconds + idle, rel=0.02)


def idle_of(folder: Path) -> tuple[list[float], list[str]]:
    context = json.loads((folder / "study.json").read_text())
    return context["idle_watts"], [one for one in context["notices"] if "idle" in one or "nothing ran" in one]


def test_idle_power_of_a_study_that_goes_on_is_that_of_all_its_sessions(tmp_path: Path) -> None:
    lab = mapreduce.laboratory()
    request = mapreduce.request(tmp_path)

    def run(**options: Any) -> None:
        executor = Metered(lab.executor, **options)
        MapReduce.measure(request, replace(lab.services, executor=lambda seed: nullcontext(executor)))

    with pytest.raises(KeyboardInterrupt):
        run(interrupted_at=30)
    watts, said = idle_of(tmp_path)
    assert watts == [4.0]
    assert said == ["the study was interrupted: idle power after its last run was not measured"]
    run(idle=(8.0, 8.0))
    watts, said = idle_of(tmp_path)
    assert watts == [4.0, 8.0, 8.0]
    assert ["drew 4.00 W to 8.00 W" in one for one in said] == [True]
    run()  # nothing is left to run
    assert idle_of(tmp_path) == (watts, said)


def test_without_a_meter_core_time_stands_in(tmp_path: Path) -> None:
    lab = loop.laboratory()
    Loop.measure(loop.request(tmp_path, report=True, sizes=(400,)), lab.services)
    shown, found = records((tmp_path / "report.html").read_text())
    assert not shown & ENERGY
    assert "core_seconds" in shown
    assert all(one["core_seconds"] > 0 for one in found if one["seconds"] is not None)


def test_candidates_of_tune_have_them_too(tmp_path: Path) -> None:
    def page(energy: dict[str, Any]) -> tuple[set[str], list[dict[str, Any]]]:
        rows = [*rows_of(DEFAULT, {}, 2.0, energy=energy), *rows_of("b", {"X": "1"}, 1.0, energy=energy)]
        found = analyse(rows, {}, context())
        path = report.write(rows, machine().to_dict(), tmp_path / "r.html", found, study="tune")
        return records(path.read_text())

    shown, found = page(METERED | {"work_joules": 20.0})
    assert shown >= ENERGY
    assert {one["joules"] for one in found} == {20.0}
    shown, found = page({"status": "unavailable", "cpu_seconds": 3.0, "core_seconds": 8.0})
    assert shown >= STAND_INS
    assert not shown & ENERGY
    assert {one["core_seconds"] for one in found} == {8.0}


def compared(folder: Path, a: dict[str, Any], b: dict[str, Any]) -> tuple[str, str]:
    """The two sides of a store: a of 4 s a run and b of 2 s, with these energies."""
    one = plan(configuration("a"), configuration("b"))
    with open_store(folder, one, VirtualClock()) as store:
        for number in range(8):
            store.append(row("a", number, 4.0, energy=a))
            store.append(row("b", number, 2.0, energy=b))
    return f"{folder}@runtime=a", f"{folder}@runtime=b"


def test_compare_brings_both_sides_to_the_longer_time(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    a, b = compared(tmp_path, METERED | {"work_joules": 40.0}, METERED | {"work_joules": 30.0})
    (line,) = json.loads(as_json(compare_results(a, b)))["comparisons"]
    assert line["a_spent"]["joules"]["common"] == 40.0
    assert line["b_spent"]["joules"]["common"] == 38.0
    assert line["b_spent"]["joules"]["ed2p"] == 120.0
    assert main.main(["compare", a, b]) == 0
    shown = capsys.readouterr().out
    for words in ("E common", "38.0 J", "15.0 W", "60.0 Js", "120 Js²"):
        assert words in shown
    assert "core time" not in shown


def test_compare_without_joules_shows_cpu_and_core_time(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    spent = {"status": "unavailable", "joules": None, "cpu_seconds": 3.5, "core_seconds": 8.0}
    assert main.main(["compare", *compared(tmp_path, spent, spent)]) == 0
    shown = capsys.readouterr().out
    for words in ("CPU time of a run", "3.5 s", "8 s"):
        assert words in shown
    assert "E run" not in shown
