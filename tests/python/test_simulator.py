"""Machine files, tauto simulate and tauto claims. Those that start tauto-simulate need it built."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import msgspec
import pytest

from processes import is_running, run_to_end, wait_until, with_lab
from tautochrone.cli import main
from tautochrone.errors import TautoError
from tautochrone.machine import runners
from tautochrone.simulator import engine, machines
from tautochrone.simulator.command import _studied, sweep_values
from tautochrone.simulator.findings import SimulatedAnalysis
from tautochrone.simulator.machines import Machine
from tautochrone.simulator.requests import STUDIES
from tautochrone.simulator.smpi.sweeping import Request
from tautochrone.studies import claims as sensitivities
from tautochrone.studies import claims_command as claims
from tautochrone.studies.claims import Knob, sensitivity

pytestmark = pytest.mark.timed

ROOT = Path(__file__).resolve().parents[2]
FILES = sorted((ROOT / "machines").glob("*.toml"))
PUBLISHED_MACHINES = {"i9-14900k", "i9-7960x", "core-duo-yonah", "2x-e5-2650v2"}


def _simulator_is_built() -> bool:
    try:
        runners.find("tauto-simulate")
    except TautoError:
        return False
    return True


needs_simulator = pytest.mark.skipif(
    not _simulator_is_built() and "TAUTO_RUNNERS" not in os.environ, reason="tauto-simulate is not built"
)

SMALL = 'schema = "tautochrone.machine-file/1"\nname = "small"\n[[kind]]\nkind = "core"\ncores = 4\n'

SCOPED = '[governor]\npolicy = "thresholds"\nscope = "core"\n'


def test_every_published_machine_has_a_file() -> None:
    assert set(machines.shipped()) >= PUBLISHED_MACHINES


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_machine_file_loads_and_every_value_names_its_source(path: Path) -> None:
    machines.read(path.read_text(), path.name)
    values = [line for line in path.read_text().splitlines() if re.match(r"\w+ = ", line)]
    assert [line for line in values if not re.search(r"  # \S.*$", line)] == []


@pytest.mark.parametrize(
    ("line", "number", "words"),
    [
        ("colour = 3", 6, "there is no key colour"),
        ("l2 = 2048", 6, "l2 has no unit"),
        ("l2_bytes = -1", 6, "l2_bytes is -1, which no machine has"),
        ("l2_bytes = 1.5", 6, "Write a whole number"),
        ('l2_bytes = "big"', 6, "Write a whole number"),
        ("turbo_hertz = 4e9", 6, "turbo_hertz must be a list"),
        ("turbo_hertz = [4]", 6, "turbo_hertz is 4, which no machine has"),
        ("state_hertz = [1e9]", 6, "same number of entries"),
        ("memory_bytes_per_secnd = 1e9", 6, "Did you mean memory_bytes_per_second"),
        ("fork_join_seconds = 1e-6", 6, r"It belongs in \[costs\]"),
        ("[memory]\nline_bytes = true", 7, "line_bytes is True"),
        ('[governor]\npolicy = "eager"\nscope = "core"', 7, "Choose from maximum, proportional, thresholds"),
        ('[governor]\npolicy = "maximum"', 6, r"\[governor\] has no scope"),
        ("[secrets]\na = 1", 6, r"there is no table \[secrets\]"),
        ('[[kind]]\nkind = "core"\ncores = 2', 7, "is taken"),
        ("[head]\npackages = 1", 6, r"there is no table \[head\]"),
        ("turbo_hertz = []", 6, "turbo_hertz is empty"),
        ("state_hertz = [3e9, 1e9]\nstate_active_watts = [1, 2]", 6, "state_hertz must ascend"),
        ("l2_bytes = " + "9" * 400, 6, "which no machine has"),
        ("l2_bytes = " + "9" * 5000, 6, "thousands of digits"),
        ("read_set_bytes = [1, 2]\nread_bytes_per_second = [1e9]", 6, "same number of entries"),
        ("[memory]\nread_bytes_per_second = [1e9]", 7, "same number of entries"),
        (f"{SCOPED}down_utilisation = 0.9", 9, "above up_utilisation"),
    ],
)
def test_error_in_a_machine_file_names_line_and_remedy(line: str, number: int, words: str) -> None:
    with pytest.raises(TautoError, match=words) as caught:
        machines.read(f"{SMALL}{line}\n", "my.toml")
    assert f"my.toml, line {number}:" in caught.value.message
    assert caught.value.remedy


@pytest.mark.parametrize(
    ("text", "number", "words"),
    [
        ("\n\nturbo_hertz = [4e9]\n" + SMALL, 3, "there is no key turbo_hertz here"),
        ("kind = [1]\n" + SMALL.split("[[", maxsplit=1)[0], 1, "kind has 1"),
    ],
)
def test_list_in_the_head_is_named_with_its_own_line(text: str, number: int, words: str) -> None:
    with pytest.raises(TautoError, match=words) as caught:
        machines.read(text, "my.toml")
    assert f"my.toml, line {number}:" in caught.value.message


def test_file_that_is_no_text_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "my.toml"
    path.write_bytes(b'schema = "x"\nname = "\xff"\n')
    with pytest.raises(TautoError, match=r"my\.toml, line 2: byte 0xff is not UTF-8"):
        machines.load(str(path))


def test_file_that_is_no_toml_or_names_no_kind_is_refused() -> None:
    with pytest.raises(TautoError, match="is not TOML"):
        machines.read("a = = 3", "my.toml")
    with pytest.raises(TautoError, match="names no kind"):
        machines.read('schema = "tautochrone.machine-file/1"\nname = "x"\n', "my.toml")


def test_set_changes_a_copy_and_refuses_what_is_not_there() -> None:
    machine = machines.load("i9-14900k")
    changed = machines.change(machine, ["cores.E.count=32", "memory.memory_bytes_per_second=9e10"])
    assert [kind.cores for kind in changed.kind] == [8, 32]
    assert [kind.cores for kind in machine.kind] == [8, 16]
    assert changed.memory.memory_bytes_per_second == 9e10
    kinds = ("cores.Q.count=1", "cores.E.cout=1", "cores.E.count=-1", "cores.E.count")
    for setting in (*kinds, "nothing.x=1", "memory=1"):
        with pytest.raises(TautoError):
            machines.change(machine, [setting])


@pytest.mark.parametrize("value", ["nan", "inf"])
def test_set_refuses_what_is_no_number(value: str) -> None:
    with pytest.raises(TautoError, match=r"Write a whole number|no machine has"):
        machines.change(machines.load("i9-14900k"), [f"cores.E.count={value}"])


def test_keys_that_need_each_other_are_set_together() -> None:
    machine = machines.read(SMALL, "small.toml")
    changed = machines.change(machine, ["governor.policy=maximum", "governor.scope=core"])
    assert (changed.governor.policy, changed.governor.scope) == ("maximum", "core")
    assert changed.says("governor", "scope")
    assert not machine.says("governor", "scope")
    with pytest.raises(TautoError, match=r"--set governor.policy: \[governor\] has no scope"):
        machines.change(machine, ["governor.policy=maximum"])


def test_sweep_takes_whole_numbers_where_the_key_does_whatever_the_file_says() -> None:
    settings = ["cores.core.hardware_threads_per_core=2", "cores.core.smt_yield=1"]
    machine = machines.change(machines.read(SMALL, "small.toml"), settings)
    assert sweep_values(machine, "cores.core.smt_yield=1..2:3")[1] == [1, 1.5, 2]
    assert sweep_values(machine, "mpi.eager_bytes=0..5:3")[1] == [0, 2, 5]
    assert not machine.says("mpi", "eager_bytes")


def test_larger_cache_than_all_sets_that_were_read_can_be_asked_for() -> None:
    reads = "l2_bytes = 1000\nread_set_bytes = [500, 1000, 64000]\nread_bytes_per_second = [9e9, 8e9, 1e9]\n"
    machine = machines.read(SMALL + reads, "small.toml")
    for size in (10, 1000, 10**9):
        (kind,) = machines.change(machine, [f"cores.core.l2_bytes={size}"]).kind
        assert bool(kind.retention) == (size > 10)


def test_sweep_is_read_with_both_ends() -> None:
    machine = machines.load("i9-14900k")
    assert sweep_values(machine, "cores.E.count=4..32:8") == ("cores.E.count", [4, 8, 12, 16, 20, 24, 28, 32])
    assert sweep_values(machine, "memory.memory_bytes_per_second=1e10..2e10:2")[1] == [1e10, 2e10]
    for values in (
        "",
        "=4",
        "=9..3",
        "=1..2:1000",
        "=1..1e999",
        "=-1e308..1e308",
        "=-1e999..1",
        f"=1..2:{'9' * 5000}",
    ):
        with pytest.raises(TautoError):
            sweep_values(machine, f"cores.E.count{values}")


@needs_simulator
def test_rows_are_the_same_bytes_twice_and_say_that_they_are_simulated() -> None:
    machine = machines.load("i9-14900k")
    requests = [
        {"study": "loop", "size": 1200, "runtime": "tautochrone", "schedule": "adaptive"},
        {"study": "mapreduce", "threads": 8, "runtime": "qt", "seconds": 0.05},
    ]
    first, second = engine.simulate(machine, requests), engine.simulate(machine, requests)
    assert json.dumps(first) == json.dumps(second)
    assert {row["source"] for row in first} == {"simulated"}
    assert first[0]["cores"] == {"P": 8, "E": 16}


@needs_simulator
def test_energy_and_time_of_all_members_add_up_in_the_row() -> None:
    machine = machines.load("core-duo-yonah")
    request = {"study": "power", "threads": [{"name": "a", "seconds": 3.0, "pace": 0.4}], "accounts": True}
    accounts = engine.simulate(machine, [request])[0]["accounts"]
    members = accounts["members"]
    assert sum(one["picojoules"] for one in members) + accounts["rest_picojoules"] == accounts["picojoules"]
    for one in members:
        times = one["working_nanoseconds"] + one["waiting_nanoseconds"] + one["idle_nanoseconds"]
        assert times == accounts["end_nanoseconds"]


@needs_simulator
def test_smallest_machine_file_can_be_simulated() -> None:
    machine = machines.read(SMALL, "small.toml")
    requests = [{"study": "loop", "size": 500}, {"study": "mapreduce", "threads": 4, "seconds": 0.02}]
    assert all(row["seconds"] > 0 for row in engine.simulate(machine, requests))


@needs_simulator
def test_what_the_simulator_refuses_is_an_error_for_people() -> None:
    with pytest.raises(TautoError, match="hardware threads"):
        engine.simulate(machines.load("rk3588"), [{"study": "mapreduce", "threads": 99}])


@pytest.mark.parametrize("study", list(STUDIES))
def test_the_headline_compares_the_same_work_and_stands_once(study: str) -> None:
    machine = machines.load("i9-14900k")
    _, analysis = _studied(study, machine, "tauto simulate", None)
    headline = analysis.verdict_sentences[0]
    assert " is best (" in headline
    assert headline not in [chart.heading for chart in analysis.charts]
    both = re.fullmatch(r".*?, (.+) is best \(.*\) and (.+) last \(.*\)", headline)
    assert both
    operations = {"all_reduce", "all_gather"}
    assert len({name for side in both.groups() for name in operations & set(side.split())}) <= 1
    assert not {"two programs", "physics and rendering"} & set(both.groups())


@needs_simulator
@pytest.mark.parametrize(
    ("request_line", "said"),
    [
        ('{"study":"loop","size":' + "[" * 200_000, "nested too deeply"),
        ('{"study":"loop","size":' + "[" * 99 + "]" * 99 + "}", "size"),
        ('{"study":"loop","size":1e21}', "size"),
        ('{"study":"loop","size":-1e21}', "size"),
    ],
    ids=["200,000 deep", "as deep as is read", "large", "small"],
)
def test_a_request_that_no_laboratory_writes_is_refused(request_line: str, said: str) -> None:
    machine = msgspec.json.encode({"machine": machines.load("rk3588").described()}).decode()
    done = run_to_end([runners.find("tauto-simulate")], input=f"{machine}\n{request_line}\n")
    assert done.returncode == 2, done.stderr[:1000]
    assert said in done.stderr
    assert len(done.stderr) < 1000


@needs_simulator
@pytest.mark.parametrize("study", ["loop", "mapreduce", "power", "nbody", "collective", "balance"])
def test_simulate_writes_rows_and_an_offline_report(study: str, tmp_path: Path) -> None:
    assert main.main(["simulate", study, "--machine", "template", "--output", str(tmp_path)]) == 0
    page = (tmp_path / "report.html").read_text()
    assert "This was simulated, not measured." in page
    assert len(page) < 1_500_000
    rows = [json.loads(line) for line in (tmp_path / "simulated.jsonl").read_text().splitlines()]
    assert rows
    assert {row["source"] for row in rows} == {"simulated"}


@needs_simulator
@pytest.mark.parametrize(
    ("machine", "changes"),
    [("i9-14900k", ()), ("rk3588", ()), ("epyc-9654", ("cores.core.count=64",))],
)
def test_balancing_ends_near_the_bound_where_pinned_threads_do_not(
    machine: str, changes: Sequence[str]
) -> None:
    on = machines.change(machines.load(machine), changes)
    points = [point for point in STUDIES["balance"](on).points if point.x == 0.05]
    answers = engine.simulate(on, [point.request for point in points])
    rows = {
        point.series: row["seconds"] / row["bound_seconds"]
        for point, row in zip(points, answers, strict=True)
    }
    assert rows["tauto balance"] < (1.05 if len(on.kind) > 1 else 1.12)
    assert rows["pinned"] > 1.15
    assert rows["tauto balance"] < rows["Linux alone"] <= rows["pinned"] * 1.001


@needs_simulator
def test_a_page_of_very_many_cores_draws_the_first_and_counts_the_others(tmp_path: Path) -> None:
    words = ["simulate", "power", "--machine", "2x-e5-2650v2", "--set", "cores.core.count=3000"]
    assert main.main([*words, "--output", str(tmp_path)]) == 0
    page = (tmp_path / "report.html").read_text()
    assert len(page) < 1_500_000
    assert "2,872 others" in page
    assert "The chart shows the first" in page


@needs_simulator
def test_the_command_of_a_report_can_be_pasted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("my machine.toml").write_text(SMALL)
    asked = ["simulate", "collective", "--machine", "my machine.toml", "--set", 'name="a b"']
    written: dict[str, SimulatedAnalysis] = {}

    def write(_: object, __: object, ___: Path, analysis: SimulatedAnalysis, **____: object) -> Path:
        written["page"] = analysis
        return tmp_path / "report.html"

    monkeypatch.setattr("tautochrone.report.write", write)
    assert main.main([*asked, "--output", str(tmp_path)]) == 0
    assert shlex.split(written["page"].commands[0].text) == ["tauto", *asked]
    again = Request("nbody", "my machine.toml", ['name="a b"'], "ompi", None, None, False)
    words = ["tauto", "simulate", "nbody", "--smpi", "ompi", "--machine", "my machine.toml"]
    words += ["--set", 'name="a b"', "--ranks", "2,4", "--particles", "64"]
    assert shlex.split(again.command((2, 4), "--particles", "64")) == words


@needs_simulator
def test_sweep_moves_the_machine(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["simulate", "loop", "--machine", "i9-14900k", "--sweep", "cores.E.count=4..16:2", "--json"]
    assert main.main(words) == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    ours = [row for row in rows if row["name"] == "tautochrone, 3000"]
    times = {row["config"]["cores.E.count"]: row["seconds"] for row in ours}
    assert times[16] < times[4]


@needs_simulator
def test_claims_have_a_row_each_and_those_that_do_not_hold_say_what_would_change_it(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    # Where in its range a parameter changes a verdict is asked of `sensitivity` alone, below.
    monkeypatch.setattr(sensitivities, "_STEPS", 2)
    monkeypatch.setattr(sensitivities, "_FEW_STEPS", 2)
    assert main.main(["claims", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["schema"] == "tautochrone.claims/1"
    found = found["claims"]
    assert [one["id"] for one in found] == list(claims.IDS)
    fields = {"id", "published", "ours", "source", "holds", "tolerance", "command", "note"}
    fields |= {"fails_if", "given", "sensitivity"}
    assert all(set(one) == fields for one in found)
    assert all(one["fails_if"] for one in found)
    # The cause, in a sentence; and whether a published range of some parameter leaves it open.
    assert not [one["id"] for one in found if one["holds"] is False and not one["note"]]
    # A simulation cannot show what asks for a measurement: it is run, where the runners are here.
    assert {one["id"] for one in found if one["holds"] is None} <= {"H12", "M6", "N2", "N3"}
    # What holds today must go on holding: a change of the model that loses one is seen here.
    holds = {one["id"] for one in found if one["holds"]}
    assert {"H1", "H3", "H5", "H10", "H11"} <= holds
    assert {"M1", "M3", "M5", "P1", "P2", "P3", "P4", "P6", "P7"} <= holds
    assert {"N1", "N4", "N5", "N6", "N7", "N9"} <= holds
    ours = {one["id"]: one["ours"] for one in found}
    # Each piece of the published advice comes from a row; what four groups share is not counted for one.
    for words in ("balance", "meet as seldom", "governor", "placement"):
        assert words in ours["P6"]
    assert "over the shared buses" in ours["N8"]


def test_a_claim_that_holds_in_a_part_of_a_parameters_range_is_said_to_with_that_part() -> None:
    machine = machines.load("i9-14900k")
    knobs = [Knob("cores.P.smt_yield", 1.0, 2.0), Knob("cores.E.count", 2, 20, whole=True)]

    def e_cores(changed: Machine) -> int:
        return next(kind.cores for kind in changed.kind if kind.kind == "E")

    found = sensitivity(machine, knobs, lambda changed: e_cores(changed) in (4, 7, 8, 9))
    assert found == "it would hold with cores.E.count = 4 or 7 to 9 (published: 2 to 20)"
    assert sensitivity(machine, knobs, lambda changed: e_cores(changed) == 21) == (
        "no single parameter within its published range changes that: tried cores.P.smt_yield 1 to 2, "
        "cores.E.count 2 to 20"
    )
    assert e_cores(machine) == 16  # what is tried changes nothing


@needs_simulator
def test_claims_are_a_line_each_and_named_ones_in_full(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert main.main(["claims", "--only", "P"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 80
    assert [line[:2] for line in lines if re.match(r"P\d", line)] == [f"P{n}" for n in range(1, 8)]
    assert "7 claims hold" in lines[-1]
    assert main.main(["claims", "--only", "N5,P1"]) == 0
    shown = capsys.readouterr().out
    assert "2 of 2 claims hold." in shown
    for words in ("published", "tolerance", "simulated on 2x-e5-2650v2", "tauto claims --only N5"):
        assert words in shown


HANGS = "#!/bin/sh\necho $$ > pid.part; mv pid.part pid; exec sleep 1000\n"


@pytest.fixture
def hanging(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A simulator that never answers, and writes its number into the file `pid`."""
    simulator = tmp_path / "tauto-simulate"
    simulator.write_text(HANGS)
    simulator.chmod(0o755)
    monkeypatch.setenv("TAUTO_RUNNERS", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_simulation_that_takes_too_long_is_ended(hanging: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "ONE_RUN_LIMIT_SECONDS", 0.2)
    with pytest.raises(TautoError, match=r"did not end within 0\.2 s.*smaller machine"):
        engine.simulate(machines.load("rk3588"), [{"study": "loop"}])
    assert not (hanging / "pid").exists() or not is_running(int((hanging / "pid").read_text()))


def test_a_simulator_ends_with_the_lab(hanging: Path) -> None:
    """After kill -9 of `tauto simulate` the simulator went on computing."""
    code = (
        "from tautochrone.simulator import engine, machines; "
        "engine.simulate(machines.load('rk3588'), [{'study': 'loop'}])"
    )
    lab = subprocess.Popen([sys.executable, "-c", code], env=with_lab())
    wait_until((hanging / "pid").exists, "the simulator")
    lab.kill()
    lab.wait()
    pid = int((hanging / "pid").read_text())
    wait_until(lambda: not is_running(pid), "the simulator's end")
