"""`tauto energy`, joules in rows, and joules in `tauto compare`."""

from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from energy_trees import UNIT_61_RANGE, Clock, RunningTree, energy, machine, no_rest, steps, write, zone
from measuring import configuration, open_store, plan, row
from processes import is_running, wait_until, with_lab
from study_fakes import FakeSlowdown
from tautochrone.cli import main
from tautochrone.energy import estimate
from tautochrone.energy.command import EnergyRequest, EnergyServices, run_energy_command
from tautochrone.energy.find import Found, find_meter
from tautochrone.energy.meter import Tree, Unavailable
from tautochrone.energy.recorder import IDLE_AGAIN_SECONDS, IdleLog, MeteredExecutor
from tautochrone.errors import TautoError
from tautochrone.measuring.clock import VirtualClock
from tautochrone.measuring.configuration import Configuration
from tautochrone.measuring.executor import RunResult
from tautochrone.measuring.measure import run_plan
from tautochrone.measuring.session import _cores_held
from tautochrone.measuring.subprocess_executor import ProgramExecutor
from tautochrone.results.compare import as_json, compare_results
from tautochrone.results.row import Failure, Row
from tautochrone.results.spent import figures_of_row, for_row, measured_joules
from tautochrone.studies.states import StateExecutor

pytestmark = pytest.mark.timed

NO_METER = Found(None, Unavailable("the system lists no energy meter", "Load the driver: sudo modprobe x"))
QUICK = (sys.executable, "-S", "-c", "pass")


class Laboratory:
    """A meter that counts 10 J at each reading, on a fake tree; what is said and printed."""

    def __init__(self, root: Path) -> None:
        self.root, self.microjoules = root, 1_000_000
        self.output, self.messages = io.StringIO(), io.StringIO()
        zone(machine(root), "intel-rapl:0", "package-0", self.microjoules, UNIT_61_RANGE)

    def work(self, joules: float) -> None:
        self.microjoules += round(joules * 1e6)
        energy(self.root, "intel-rapl:0", self.microjoules)

    def found(self, clock: Any = None, tree: type[Tree] = Tree) -> Found:
        clock = clock or Clock()
        return find_meter(
            tree(self.root), busy=steps(clock, lambda: self.work(3.000061)), idle=no_rest, clock=clock
        )

    def services(self, found: Found | None = None) -> EnergyServices:
        return EnergyServices(
            find=lambda: found if found is not None else self.found(tree=RunningTree),
            idle_log=lambda meter: IdleLog(meter, sleep=lambda seconds: self.work(0.0)),
            output=self.output,
            messages=self.messages,
        )


@pytest.fixture
def laboratory(tmp_path: Path) -> Laboratory:
    return Laboratory(tmp_path / "tree")


def run(laboratory: Laboratory, found: Found | None = None, **options: Any) -> int:
    options = {"command": QUICK, "idle_seconds": 0.0, **options}
    return run_energy_command(EnergyRequest(**options), laboratory.services(found))


def energy_of(laboratory: Laboratory, found: Found | None = None, **options: Any) -> dict[str, Any]:
    assert run(laboratory, found, json=True, **options) == 0
    measured: dict[str, Any] = json.loads(laboratory.output.getvalue())["energy"]
    return measured


def test_without_a_meter_there_is_the_reason_and_no_joule(laboratory: Laboratory) -> None:
    assert run(laboratory, NO_METER, json=True) == 0
    result = json.loads(laboratory.output.getvalue())
    assert result["energy"] == {
        "status": "unavailable",
        "joules": None,
        "reason": "the system lists no energy meter",
        "remedy": "Load the driver: sudo modprobe x",
        "source": None,
    }
    assert result["cpu_seconds"] > 0
    assert result["core_seconds"] == pytest.approx(result["cpus"] * result["seconds"])
    assert "estimated" not in laboratory.output.getvalue()  # that is for who asks for it
    said = laboratory.messages.getvalue()
    assert "warning" not in said


def test_work_in_the_background_is_told_and_left_alone(laboratory: Laboratory, tmp_path: Path) -> None:
    background = ("sh", "-c", f"sleep 1000 & echo $! > {tmp_path}/pid")
    assert run(laboratory, NO_METER, command=background, json=True) == 0
    pid = int((tmp_path / "pid").read_text())
    os.kill(pid, signal.SIGKILL)  # it was there
    assert json.loads(laboratory.output.getvalue())["left_running"] != []
    said = laboratory.messages.getvalue()
    assert "goes on in the background" in said
    assert "CPU time and joules of that are not in these figures" in said
    os.waitpid(pid, 0)


def test_the_cpu_time_of_an_orphan_that_has_ended_is_counted(laboratory: Laboratory, tmp_path: Path) -> None:
    done = tmp_path / "done"
    orphan = f"i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done; touch {done}"
    waits = f"while [ ! -e {done} ]; do sleep 0.01; done; sleep 0.05"
    run(laboratory, NO_METER, command=("sh", "-c", f"(sh -c '{orphan}' &); {waits}"), json=True)
    result = json.loads(laboratory.output.getvalue())
    assert result["left_running"] == []
    assert result["cpu_seconds"] > 0.03


def test_a_killed_lab_takes_its_command_with_it(tmp_path: Path) -> None:
    script = f"echo $$ > {tmp_path}/part; mv {tmp_path}/part {tmp_path}/pid; exec sleep 1000"
    code = (
        "import sys; from tautochrone.measuring.foreground import Foreground; "
        "child = Foreground(['sh', '-c', sys.argv[1]]); child.start(); child.wait()"
    )
    lab = subprocess.Popen([sys.executable, "-c", code, script], env=with_lab())
    wait_until((tmp_path / "pid").exists, "the command")
    lab.kill()
    lab.wait()
    pid = int((tmp_path / "pid").read_text())
    wait_until(lambda: not is_running(pid), "the end of the command")


def test_the_table_without_a_meter_shows_what_stands_in_for_joules(laboratory: Laboratory) -> None:
    run(laboratory, NO_METER)
    shown = laboratory.messages.getvalue()
    for words in ("CPU-seconds", "core-seconds", "unavailable"):
        assert words in shown
    assert " J" not in shown


@pytest.mark.parametrize("objective", ["energy", "edp", "ed2p"])
def test_energy_as_objective_without_a_meter_fails_before_the_command_starts(
    laboratory: Laboratory, tmp_path: Path, objective: str
) -> None:
    proof = tmp_path / "started"
    command = (sys.executable, "-c", f"open({str(proof)!r}, 'w')")
    with pytest.raises(TautoError, match="there is no energy meter: the system lists no energy meter"):
        run(laboratory, NO_METER, command=command, objective=objective)
    assert not proof.exists()


def test_an_unknown_objective_is_refused(laboratory: Laboratory) -> None:
    with pytest.raises(TautoError, match="no objective 'joules'"):
        run(laboratory, objective="joules")


def test_with_a_meter_the_joules_are_those_between_start_and_end(laboratory: Laboratory) -> None:
    file = laboratory.root / "sys/class/powercap/intel-rapl:0/energy_uj"
    # The command itself turns the meter on by 12.5 J.
    code = (
        f"p = open({str(file)!r}, 'r+'); v = int(p.read()); p.seek(0); p.write(str(v + 12500000)); p.close()"
    )
    found = energy_of(laboratory, command=(sys.executable, "-c", code), reference_seconds=50.0)
    assert found["status"] == "measured"
    assert found["joules"] == pytest.approx(12.5, abs=0.01)
    assert found["mean_watts"] == pytest.approx(found["joules"] / found["seconds"])
    assert (found["total"], found["source"]) == ("package", "powercap")
    assert found["net_joules"] is None  # no idle power was measured


def test_idle_power_gives_net_and_common_energy(laboratory: Laboratory) -> None:
    found = energy_of(laboratory, idle_seconds=0.5, reference_seconds=50.0)
    seconds, idle = found["joules"] / found["mean_watts"], found["idle_watts"]
    assert idle > 0
    assert found["net_joules"] == pytest.approx(found["joules"] - idle * seconds)
    assert found["common_joules"] == pytest.approx(found["joules"] + idle * (50.0 - seconds))
    assert found["reference_seconds"] == 50.0


def apart(shown: str) -> set[str]:
    return {line.split()[0] for line in shown.splitlines() if line.rstrip().endswith("apart")}


@pytest.mark.parametrize(
    ("zones", "expected"),
    [(("package-0", "core", "psys"), {"core-0", "psys"}), (("package-0-die-0", "dram"), set())],
)
def test_the_table_says_which_domains_are_not_in_the_total(
    laboratory: Laboratory, zones: tuple[str, ...], expected: set[str]
) -> None:
    names = ("intel-rapl:0", "intel-rapl:0:0", "intel-rapl:1")[: len(zones)]
    for at, name in zip(names, zones, strict=True):
        zone(laboratory.root, at, name, 0)

    def work() -> None:
        for at in names:
            energy(laboratory.root, at, 3_000_061)

    clock = Clock()
    found = find_meter(RunningTree(laboratory.root), busy=steps(clock, work), idle=no_rest, clock=clock)
    assert run(laboratory, found) == 0
    assert apart(laboratory.messages.getvalue()) == expected


def test_a_battery_is_the_total_and_not_apart(laboratory: Laboratory, tmp_path: Path) -> None:
    battery = "sys/class/power_supply/BAT0"
    files = {"type": "Battery", "status": "Discharging", "power_now": 8_000_000}
    root = write(machine(tmp_path / "laptop"), {f"{battery}/{name}": value for name, value in files.items()})
    assert run(laboratory, find_meter(Tree(root), busy=no_rest, idle=no_rest)) == 0
    shown = laboratory.messages.getvalue()
    assert "BAT0" in shown
    assert apart(shown) == set()


def test_the_exit_status_is_the_commands(laboratory: Laboratory) -> None:
    assert run(laboratory, NO_METER, command=(sys.executable, "-c", "raise SystemExit(7)")) == 7
    killed = "import os, signal; os.kill(os.getpid(), signal.SIGTERM)"
    assert run(laboratory, NO_METER, command=(sys.executable, "-c", killed)) == 128 + 15


def test_a_command_that_is_not_there_ends_with_127(laboratory: Laboratory) -> None:
    assert run(laboratory, NO_METER, command=("no-such-program",)) == 127
    assert "no-such-program cannot be started: No such file or directory" in laboratory.messages.getvalue()


def test_options_that_cannot_be_meant(laboratory: Laboratory) -> None:
    for options in ({"idle_seconds": -1.0}, {"reference_seconds": 0.0}, {"command": ()}):
        with pytest.raises(TautoError):
            run(laboratory, NO_METER, **options)


# -- estimates --


POINTS = [(0.0, 10.0), (1.0, 15.0), (2.0, 20.0), (2.0, 20.0)]


def test_a_model_is_a_line_with_its_error() -> None:
    model = estimate.fit("a machine", "perf", POINTS)
    assert model.idle_watts == pytest.approx(10.0)
    assert model.watts_per_busy_cpu == pytest.approx(5.0)
    assert model.error_percent == pytest.approx(0.0, abs=1e-6)
    assert model.joules(10.0, 4.0) == pytest.approx(120.0)
    assert estimate.fit("a machine", "perf", [*POINTS, (1.0, 18.0)]).error_percent > 3.0


def test_a_meter_that_shows_no_power_makes_no_model() -> None:
    with pytest.raises(TautoError, match="battery showed no power with 0 busy CPUs"):
        estimate.fit("a machine", "battery", [(0.0, 0.0), *POINTS])


def test_an_estimate_is_labelled_and_never_called_joules(laboratory: Laboratory, tmp_path: Path) -> None:
    estimate.save(estimate.fit("the lab's server", "perf", POINTS), tmp_path / "model.json")
    found = energy_of(laboratory, NO_METER, estimate=tmp_path / "model.json")
    assert (found["status"], found["joules"]) == ("estimated", None)
    assert found["estimated_joules"] > 0
    assert found["model"] == "fitted on the lab's server with perf"
    assert measured_joules(Row(energy=found)) is None


@pytest.mark.parametrize("content", ["{", "[]", '{"schema": "tautochrone.energy_model/1"}'])
def test_a_file_that_is_no_model_is_refused(laboratory: Laboratory, tmp_path: Path, content: str) -> None:
    (tmp_path / "model.json").write_text(content)
    with pytest.raises(TautoError, match="energy model"):
        run(laboratory, NO_METER, estimate=tmp_path / "model.json")


def test_a_model_cannot_be_fitted_without_a_meter(laboratory: Laboratory, tmp_path: Path) -> None:
    with pytest.raises(TautoError, match="fitted to a meter, and there is none"):
        run(laboratory, NO_METER, fit_model=tmp_path / "model.json")


# -- rows --


class WorkingExecutor:
    """Runs take 2 s, give a result of 0.5 s, and move the meter by 20 J."""

    def __init__(self, laboratory: Laboratory, clock: VirtualClock) -> None:
        self.laboratory, self.clock, self.closed = laboratory, clock, False

    def run(self, one: object, time_limit: float) -> RunResult:
        self.laboratory.work(20.0)
        self.clock.advance(2.0)
        return RunResult(0.5, 2.0, user_seconds=3.0, system_seconds=0.25)

    def close(self) -> None:
        self.closed = True


def energy_of_row(laboratory: Laboratory, found: Found) -> Mapping[str, Any]:
    clock = VirtualClock()
    executor = MeteredExecutor(WorkingExecutor(laboratory, clock), found)
    one = plan(configuration("A", threads=4), rounds=1)
    with open_store(laboratory.root / "store", one, clock) as store:
        run_plan(one, store, executor, clock)
        (row,) = store.rows()
        return row.energy


def metered(laboratory: Laboratory, clock: Clock, sleep: Callable[[float], None]) -> MeteredExecutor:
    """Runs that move the meter; `sleep` is what it does when nothing runs."""
    found = laboratory.found()
    assert found.meter is not None
    work = WorkingExecutor(laboratory, VirtualClock())
    return MeteredExecutor(work, found, IdleLog(found.meter, sleep, clock))


@pytest.fixture
def short_runs_are_not_judged(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tautochrone.energy.recorder._SHORTEST_JUDGED_SECONDS", 1e9)


def test_a_row_without_a_meter_has_the_reason_cpu_seconds_and_core_seconds(laboratory: Laboratory) -> None:
    found = energy_of_row(laboratory, NO_METER)
    assert (found["status"], found["joules"]) == ("unavailable", None)
    assert found["reason"] == "the system lists no energy meter"
    assert (found["cpu_seconds"], found["core_seconds"]) == (3.25, 8.0)


@pytest.mark.parametrize(
    ("settings", "cpus", "held"),
    [
        ({"cores": {"P": 2, "E": 3}, "threads": 9}, 8, 5),
        ({"threads": 4}, 2, 4),
        ({"threads": "4"}, 8, 4),
        ({"threads": "16"}, 8, 8),
        ({"OMP_NUM_THREADS": "2"}, 8, 2),
        ({"OMP_NUM_THREADS": "2"}, None, 2),
        ({"OMP_NUM_THREADS": "2,3"}, 8, 8),
        ({}, 8, 8),
        ({}, None, None),
    ],
)
def test_cores_are_held_by_placement_by_threads_or_by_affinity(
    settings: dict[str, Any], cpus: int | None, held: int | None
) -> None:
    assert _cores_held(settings, cpus) == held


def test_the_executor_tells_how_many_cpus_a_program_may_use() -> None:
    allowed = sorted(os.sched_getaffinity(0))
    free = Configuration("a", ["true"])
    bound = Configuration("b", ["true"], start={"cpus": allowed[:1]})
    with ProgramExecutor() as executor:
        assert executor.run(free, 10.0).cpus == len(allowed)
        assert executor.run(bound, 10.0).cpus == 1
    with ProgramExecutor(runs_here=False) as executor:
        assert executor.run(free, 10.0).cpus is None


def test_a_row_has_the_joules_of_its_process_and_of_its_result() -> None:
    measured = {"status": "measured", "joules": 20.0, "mean_watts": 10.0}
    energy = for_row({**measured, "idle_watts": 4.0, "idle_spread_watts": 1.0}, 0.5)
    assert energy["joules"] == 20.0
    assert energy["work_joules"] == 5.0
    assert energy["net_joules"] == 3.0
    assert energy["edp_joule_seconds"] == 2.5
    found = figures_of_row(Row(seconds=0.5, energy=energy), 2.0)
    assert found is not None
    assert (found.run_joules, found.net_joules, found.common_joules) == (5.0, 3.0, 11.0)
    assert figures_of_row(Row(error=Failure("failed", ""), energy=energy)) is None


@pytest.mark.usefixtures("short_runs_are_not_judged")
def test_a_metered_run_stores_what_the_meter_counted(
    laboratory: Laboratory, monkeypatch: pytest.MonkeyPatch
) -> None:
    idle_log = laboratory.services().idle_log
    monkeypatch.setattr("tautochrone.energy.recorder.IdleLog", idle_log)
    found = energy_of_row(laboratory, laboratory.found())
    assert (found["status"], found["source"]) == ("measured", "powercap")
    assert found["joules"] == pytest.approx(20.0)


@pytest.mark.usefixtures("short_runs_are_not_judged")
def test_idle_power_is_measured_after_the_last_run_too(laboratory: Laboratory) -> None:
    clock = Clock()
    drawn = iter([5.0] * 5 + [15.0] * 5)  # joules of each fifth of a stretch

    def sleep(seconds: float) -> None:
        laboratory.work(next(drawn))
        clock.seconds += seconds

    executor = metered(laboratory, clock, sleep)
    assert executor.idle_stretches(after_runs=True) == ()  # nothing was metered yet
    executor.run(configuration("A"), 10.0)
    assert executor.idle_stretches(after_runs=False) == pytest.approx((5.0,))
    assert executor.idle_stretches(after_runs=True) == pytest.approx((15.0,))
    assert executor.idle_stretches(after_runs=True) == ()  # no run since
    without = MeteredExecutor(WorkingExecutor(laboratory, VirtualClock()), NO_METER)
    assert not without.idle_is_due()
    assert without.idle_stretches(after_runs=True) == ()


@pytest.mark.usefixtures("short_runs_are_not_judged")
def test_idle_power_is_measured_while_nothing_is_slowed(laboratory: Laboratory) -> None:
    clock, slow = Clock(), set[str]()

    def sleep(seconds: float) -> None:
        laboratory.work(9.0 * seconds if slow else 5.0 * seconds)
        clock.seconds += seconds

    executor = StateExecutor(metered(laboratory, clock, sleep), {"1:4": FakeSlowdown("1:4", slow)})
    slowed = configuration("A", emulated={"1": 4.0})
    executor.run(slowed, 10.0)
    clock.seconds += 2 * IDLE_AGAIN_SECONDS
    executor.run(slowed, 10.0)
    assert slow
    assert executor.idle_stretches(after_runs=True) == pytest.approx((5.0, 5.0, 5.0))
    assert not slow


# -- compare --


def store_of(folder: Path, joules: dict[str, float], status: str = "measured") -> tuple[str, str]:
    """Its two sides, to compare."""
    one = plan(configuration("a"), configuration("b"))
    with open_store(folder, one, VirtualClock()) as store:
        for number in range(8):
            for name, value in joules.items():
                found = {"status": status, "joules": value * (1 + 0.001 * number), "mean_watts": None}
                store.append(row(name, number, 1.0 + 0.001 * number, energy=found))
    return f"{folder}@runtime=a", f"{folder}@runtime=b"


def test_compare_judges_joules_by_the_same_test(tmp_path: Path) -> None:
    report = compare_results(*store_of(tmp_path / "s", {"a": 10.0, "b": 8.0}))
    (line,) = report.lines
    assert line.energy is not None
    assert (line.energy.verdict, line.energy.ratio) == ("faster", pytest.approx(0.8))
    assert (line.a_joules, line.b_joules) == (pytest.approx(10.035), pytest.approx(8.028))
    (written,) = json.loads(as_json(report))["comparisons"]
    assert written["energy"]["ratio"] == pytest.approx(0.8)


def test_compare_never_ranks_estimates(tmp_path: Path) -> None:
    (line,) = compare_results(*store_of(tmp_path / "s", {"a": 10.0, "b": 8.0}, "estimated")).lines
    assert (line.energy, line.a_joules, line.b_joules) == (None, None, None)


def test_compare_shows_joules_in_a_table_of_their_own(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main.main(["compare", *store_of(tmp_path / "s", {"a": 10.0, "b": 8.0})]) == 0
    shown = capsys.readouterr().out
    for words in ("energy of", "10.0 J", "takes less"):
        assert words in shown
