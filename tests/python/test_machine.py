from __future__ import annotations

import importlib.util
import io
import json
import os
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import msgspec
import pytest
from rich.console import Console

from tautochrone import machine as machines
from tautochrone import runners
from tautochrone.advice import Advice, advise
from tautochrone.errors import TautoError
from tautochrone.machine_file import export_toml
from tautochrone.machine_record import (
    Availability,
    FutexWake,
    Machine,
    Measured,
    MeasuredCpu,
    SlowedCpu,
    TriadPoint,
    frequency_policy,
)
from tautochrone.report import machine_view


def _builder() -> ModuleType:
    path = Path(__file__).parents[1] / "fake_trees" / "build_trees.py"
    spec = importlib.util.spec_from_file_location("build_trees", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["build_trees"] = module  # its dataclasses look their module up
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="session")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """The root of a fake machine, by name."""
    builder = _builder()
    folder = tmp_path_factory.mktemp("trees")
    built: dict[str, Path] = {}

    def root_of(name: str) -> Path:
        if name not in built:
            built[name] = builder.build(name, folder)
        return built[name]

    return root_of


@pytest.fixture(scope="session", autouse=True)
def _probe_is_built() -> None:
    try:
        runners.find("tauto-probe")
    except TautoError as error:
        pytest.fail(f"{error}: these tests need tauto-probe", pytrace=False)


@pytest.fixture
def fake(tree: Callable[[str], Path]) -> Callable[[str], Machine]:
    return lambda name: machines.read_machine(root=tree(name))


def measured_cpu(
    cpu: int, compute: float = 4e9, p99: float = 3e-6, largest: float = 5e-5, steal: float = 0.0
) -> MeasuredCpu:
    return MeasuredCpu(
        cpu=cpu,
        compute_per_second=compute,
        cache_bytes_per_second=3e10,
        memory_bytes_per_second=1e10,
        noise_largest_gap_seconds=largest,
        noise_p99_gap_seconds=p99,
        steal_fraction=steal,
    )


def with_measurements(machine: Machine, cpus: list[MeasuredCpu]) -> Machine:
    n = len(cpus)
    measured = Measured(
        when="2026-01-05T10:00:00Z",
        effort="quick",
        cpus=tuple(cpus),
        triad=(TriadPoint(members=1, bytes_per_second=1e10), TriadPoint(members=n, bytes_per_second=3e10)),
        triad_array_bytes=512 * 2**20,
        latency_seconds=tuple(
            tuple(None if a == b else 1e-7 * (1 + abs(a - b)) for a in range(n)) for b in range(n)
        ),
        round_trip_seconds=2.5e-7,
        fork_join_members=n,
        barrier_seconds=2e-7,
        futex_wake_seconds=FutexWake(waker=2e-6, wakee=9e-6),
    )
    return msgspec.structs.replace(machine, measured=measured)


def about(topic: str, machine: Machine) -> list[Advice]:
    return [advice for advice in advise(machine) if advice.topic == topic]


def the_advice(topic: str, machine: Machine) -> Advice:
    found = about(topic, machine)
    assert len(found) == 1, found
    return found[0]


class TestReading:
    def test_a_hybrid_machine_is_read_with_its_kinds(self, fake: Callable[[str], Machine]) -> None:
        machine = fake("i9_14900k")
        assert [kind.kind for kind in machine.kinds] == ["P", "E"]
        assert [machine.cores(kind) for kind in machine.kinds] == [8, 16]
        assert machine.cpu(0).smt_siblings == (1,)
        assert machine.cpu(8).max_hertz == 6.0e9
        assert machine.measured is None
        with pytest.raises(KeyError):
            machine.cpu(32)

    def test_a_quota_limits_the_members(self, fake: Callable[[str], Machine]) -> None:
        for name in ("container_v1", "container_v2"):
            machine = fake(name)
            assert machine.quota_cpus == 1.5
            assert machine.usable_members == 2
            assert machine.container

    def test_the_record_survives_a_store(self, fake: Callable[[str], Machine]) -> None:
        machine = with_measurements(fake("virtual_machine"), [measured_cpu(0), measured_cpu(1)])
        record = json.loads(json.dumps(machine.to_dict()))
        assert record["schema"] == "tautochrone.machine/1"
        assert record["governor"] is None
        assert msgspec.convert(record, Machine) == machine

    def test_the_record_has_every_field_that_the_probe_prints(self, tree: Callable[[str], Path]) -> None:
        command = [str(runners.find("tauto-probe")), "--json", "--root", str(tree("i9_14900k"))]
        printed = json.loads(subprocess.run(command, capture_output=True, check=True, text=True).stdout)
        assert machines.read_machine(root=tree("i9_14900k")).to_dict() == printed

    def test_an_unknown_measure_is_refused(self) -> None:
        with pytest.raises(TautoError, match="no measure 'slow'"):
            machines.read_machine(measure="slow")

    def test_a_folder_without_a_machine_is_refused_with_the_remedy(self, tmp_path: Path) -> None:
        with pytest.raises(TautoError) as refused:
            machines.read_machine(root=tmp_path)
        assert str(tmp_path) in refused.value.message
        assert refused.value.remedy == "Name the folder that holds sys and proc"

    def test_an_emulation_is_part_of_the_record(
        self, tree: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("TAUTO_EMULATED", "1:4")
        machine = machines.read_machine(root=tree("virtual_machine"))
        assert machine.emulated == (SlowedCpu(cpu=1, factor=4.0),)
        assert "CPU 1 4 times" in the_advice("emulation", machine).finding


class TestProbeCommand:
    def run(self, *options: str) -> subprocess.CompletedProcess[str]:
        command = [str(runners.find("tauto-probe")), *options]
        return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)

    @pytest.mark.parametrize(
        ("selection", "expected"),
        [
            ("P:4", [0, 2, 4, 6]),
            ("E:1,P:1", [0, 16]),
            ("0-1,16", [0, 16, 1]),
            ("cores", [*range(0, 16, 2), *range(16, 32)]),
        ],
    )
    def test_selections_are_printed(
        self, tree: Callable[[str], Path], selection: str, expected: list[int]
    ) -> None:
        done = self.run("--root", str(tree("i9_14900k")), "--select", selection)
        assert json.loads(done.stdout) == expected

    @pytest.mark.parametrize(
        ("options", "sentence"),
        [
            (["--measure", "x"], "--measure"),
            (["--bogus"], "--bogus"),
            (["--measure", "quick", "--root", "/tmp"], "only the machine that runs can be measured"),
            (["--root", "/nonexistent"], "no machine is described below /nonexistent"),
            (["--select", "4096"], "CPU 4096 does not exist"),
            (["--select", ""], "it is empty"),
        ],
    )
    def test_bad_input_is_one_sentence_and_code_2(self, options: list[str], sentence: str) -> None:
        done = self.run(*options)
        assert done.returncode == 2
        assert done.stdout == ""
        assert done.stderr.startswith("tauto-probe: error: ")
        assert done.stderr.count("\n") == 1
        assert sentence in done.stderr

    @pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
    def test_a_full_disk_is_an_error(self, tree: Callable[[str], Path]) -> None:
        command = [str(runners.find("tauto-probe")), "--root", str(tree("virtual_machine"))]
        with Path("/dev/full").open("w") as full:
            done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
        assert done.returncode == 2
        assert "could not be written" in done.stderr

    def test_quick_measures_this_machine_in_seconds(self) -> None:
        machine = machines.read_machine("quick")
        measured = machine.measured
        assert measured is not None
        assert measured.effort == "quick"
        assert [cpu.cpu for cpu in measured.cpus] == list(machine.allowed_cpus)
        assert all((cpu.compute_per_second or 0) > 1e7 for cpu in measured.cpus)
        assert measured.triad[0].members == 1
        if len(machine.allowed_cpus) > 1:
            assert measured.latency_seconds[0][1] == measured.latency_seconds[1][0]
        exported = tomllib.loads(export_toml(machine))
        assert exported["memory"]["triad_bytes_per_second"][0] == pytest.approx(
            measured.triad[0].bytes_per_second, rel=1e-5
        )


class TestProbeThatMisbehaves:
    @pytest.fixture
    def probe(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
        def install(script: str) -> None:
            path = tmp_path / "tauto-probe"
            path.write_text(f"#!/bin/sh\n{script}\n")
            path.chmod(0o755)
            monkeypatch.setenv(runners.RUNNERS_VARIABLE, str(tmp_path))

        return install

    def test_one_that_hangs_is_stopped(
        self, probe: Callable[[str], None], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        probe("exec sleep 600")
        monkeypatch.setitem(machines._LIMIT_SECONDS, "none", 0.2)
        with pytest.raises(TautoError, match="did not end within 0 seconds and was stopped"):
            machines.read_machine()

    def test_one_that_dies_is_an_error(self, probe: Callable[[str], None]) -> None:
        probe("kill -9 $$")
        with pytest.raises(TautoError, match="ended with code -9 and said nothing"):
            machines.read_machine()

    def test_one_that_prints_rubbish_is_an_error(self, probe: Callable[[str], None]) -> None:
        probe("echo 'not json'")
        with pytest.raises(TautoError, match="did not print what the lab understands"):
            machines.read_machine()

    def test_one_of_another_version_is_an_error(
        self, probe: Callable[[str], None], tree: Callable[[str], Path], tmp_path: Path
    ) -> None:
        record = machines.read_machine(root=tree("virtual_machine")).to_dict()
        record["schema"] = "tautochrone.machine/9"
        (tmp_path / "record.json").write_text(json.dumps(record))
        probe(f"cat {tmp_path}/record.json")
        with pytest.raises(
            TautoError, match=r"schema 'tautochrone.machine/9', expected 'tautochrone.machine/1'"
        ):
            machines.read_machine()

    def test_progress_lines_are_not_taken_for_the_error(self, probe: Callable[[str], None]) -> None:
        probe("echo 'progress 0.5 triad' >&2; echo 'tauto-probe: error: asked this; do that' >&2; exit 2")
        with pytest.raises(TautoError) as refused:
            machines.read_machine()
        assert (refused.value.message, refused.value.remedy) == ("asked this", "Do that")


class TestAdvice:
    def test_powersave_of_a_dynamic_driver_is_not_called_slow(self, fake: Callable[[str], Machine]) -> None:
        advice = the_advice("governor", fake("i9_14900k"))
        assert "dynamic default" in advice.finding
        assert "not a slow mode" in advice.finding
        assert advice.remedy == ""

    def test_powersave_of_another_driver_holds_the_lowest_clock(self, fake: Callable[[str], Machine]) -> None:
        machine = msgspec.structs.replace(fake("two_sockets"), governor="powersave")
        advice = the_advice("governor", machine)
        assert "lowest clock" in advice.finding
        assert "schedutil" in advice.remedy

    def test_performance_and_schedutil_need_no_word(self, fake: Callable[[str], Machine]) -> None:
        assert about("governor", fake("two_sockets")) == []
        assert about("governor", fake("big_little")) == []
        assert about("governor", fake("virtual_machine")) == []

    def test_a_quota_smaller_than_the_cpus_is_explained(self, fake: Callable[[str], Machine]) -> None:
        advice = the_advice("quota", fake("container_v2"))
        assert "4 CPUs are allowed but the quota pays for 1.5" in advice.finding
        assert "cpu.max of /app" in advice.finding
        assert "use 2 threads" in advice.remedy
        assert about("quota", fake("i9_14900k")) == []

    def test_cpus_left_out_are_explained(self, fake: Callable[[str], Machine]) -> None:
        assert "cpuset" in the_advice("affinity", fake("container_v2")).finding
        assert "affinity mask" in the_advice("affinity", fake("restricted")).finding
        assert about("affinity", fake("i9_14900k")) == []

    def test_a_noisy_core_is_named_with_how_noisy_it_is(self, fake: Callable[[str], Machine]) -> None:
        machine = with_measurements(
            fake("big_little"),
            [measured_cpu(cpu) for cpu in range(7)] + [measured_cpu(7, p99=3e-4, largest=4.5e-3)],
        )
        advice = the_advice("noise", machine)
        assert "CPU 7 is noisy" in advice.finding
        assert "4.50 ms" in advice.finding
        assert "300 µs" in advice.finding
        assert "TAUTO_CPUS=0-6" in advice.remedy

    def test_when_all_are_noisy_none_is_recommended(self, fake: Callable[[str], Machine]) -> None:
        cpus = [measured_cpu(0, p99=3e-4), measured_cpu(1, largest=9e-3)]
        advice = the_advice("noise", with_measurements(fake("virtual_machine"), cpus))
        assert "Every CPU is noisy" in advice.finding
        assert "TAUTO_CPUS" not in advice.remedy

    def test_quiet_cores_and_no_steal_need_no_word(self, fake: Callable[[str], Machine]) -> None:
        machine = with_measurements(fake("virtual_machine"), [measured_cpu(0), measured_cpu(1, steal=0.009)])
        assert about("noise", machine) == []
        assert about("steal", machine) == []
        assert about("speed", machine) == []

    def test_stolen_time_is_told_by_cpu(self, fake: Callable[[str], Machine]) -> None:
        machine = with_measurements(fake("virtual_machine"), [measured_cpu(0), measured_cpu(1, steal=0.125)])
        finding = the_advice("steal", machine).finding
        assert "CPU 1 12 %" in finding
        assert "CPU 0" not in finding

    def test_unequal_kinds_are_told_with_their_measured_speed(self, fake: Callable[[str], Machine]) -> None:
        assert "was not measured" in the_advice("kinds", fake("i9_14900k")).finding
        cpus = [measured_cpu(cpu, compute=4e9 if cpu < 16 else 2e9) for cpu in range(32)]
        finding = the_advice("kinds", with_measurements(fake("i9_14900k"), cpus)).finding
        assert "8 P + 16 E" in finding
        assert "an E core computes at 0.50 of the speed of a P core" in finding
        assert about("kinds", fake("two_sockets")) == []

    def test_a_slow_cpu_among_equals_is_named_unless_it_is_emulated(
        self, fake: Callable[[str], Machine]
    ) -> None:
        machine = with_measurements(fake("virtual_machine"), [measured_cpu(0), measured_cpu(1, compute=1e9)])
        assert "CPU 1 at 0.25" in the_advice("speed", machine).finding
        emulated = msgspec.structs.replace(machine, emulated=(SlowedCpu(cpu=1, factor=4.0),))
        assert about("speed", emulated) == []

    def test_smt_is_mentioned_where_it_is_on(self, fake: Callable[[str], Machine]) -> None:
        assert "Each P core has 2 hardware threads" in the_advice("smt", fake("i9_14900k")).finding
        assert "TAUTO_CPUS=cores" in the_advice("smt", fake("container_v1")).remedy
        assert about("smt", fake("two_sockets")) == []

    def test_missing_counters_and_meters_come_with_the_way_to_get_them(
        self, fake: Callable[[str], Machine]
    ) -> None:
        machine = fake("virtual_machine")
        assert "virtual machine (kvm)" in the_advice("counters", machine).finding
        assert "pmu=on" in the_advice("counters", machine).remedy
        finding = (
            "An energy meter is listed, but it is not probed; in a virtual machine (kvm) it may read 0 J"
        )
        assert the_advice("energy", machine).finding == finding
        assert "host" in the_advice("energy", machine).remedy
        assert the_advice("counters", fake("container_v2")).remedy.startswith(
            "sudo sysctl kernel.perf_event_paranoid=2"
        )
        assert about("counters", fake("i9_14900k")) == []
        assert about("energy", fake("i9_14900k")) == []  # listed, though not yet proven

    def test_memory_nodes_and_turbo(self, fake: Callable[[str], Machine]) -> None:
        assert "2 nodes" in the_advice("numa", fake("two_sockets")).finding
        assert about("turbo", fake("two_sockets")) == []
        off = msgspec.structs.replace(fake("i9_14900k"), turbo=False)
        assert "no_turbo" in the_advice("turbo", off).remedy

    def test_every_finding_is_a_sentence_without_its_full_stop(self, fake: Callable[[str], Machine]) -> None:
        for name in (
            "i9_14900k",
            "big_little",
            "two_sockets",
            "container_v1",
            "container_v2",
            "virtual_machine",
        ):
            for advice in advise(fake(name)):
                assert not advice.finding[0].islower()
                assert not advice.finding.endswith(".")
                assert not advice.remedy.endswith(".")


class TestMachineFile:
    @pytest.fixture
    def hybrid(self, fake: Callable[[str], Machine]) -> Machine:
        cpus = [measured_cpu(cpu, compute=4e9 if cpu < 16 else 2e9) for cpu in range(32)]
        return with_measurements(fake("i9_14900k"), cpus)

    def test_it_gives_each_kind_with_its_relative_speed(self, hybrid: Machine) -> None:
        file = tomllib.loads(export_toml(hybrid))
        fast, slow = file["kind"]
        assert (fast["kind"], fast["cores"], fast["hardware_threads_per_core"]) == ("P", 8, 2)
        assert (slow["kind"], slow["cores"], slow["hardware_threads_per_core"]) == ("E", 16, 1)
        assert fast["relative_compute_speed"] == 1.0
        assert slow["relative_compute_speed"] == 0.5
        assert slow["relative_memory_speed"] == 1.0
        assert fast["max_hertz"] == 6.0e9
        assert (fast["l2_bytes"], fast["l2_shared_by_cores"]) == (2 * 2**20, 1)
        assert (slow["l2_bytes"], slow["l2_shared_by_cores"]) == (4 * 2**20, 4)

    def test_it_gives_memory_latency_costs_and_noise(self, hybrid: Machine) -> None:
        file = tomllib.loads(export_toml(hybrid))
        assert file["schema"] == "tautochrone.machine-file/1"
        assert file["memory"]["triad_members"] == [1, 32]
        assert file["memory"]["triad_bytes_per_second"] == [1e10, 3e10]
        assert file["memory"]["last_level_cache_bytes"] == 36 * 2**20
        assert file["latency"]["line_one_way_smallest_seconds"] == pytest.approx(2e-7)
        assert file["latency"]["line_one_way_largest_seconds"] == pytest.approx(3.2e-6)
        assert file["costs"]["wake_sleeper_seconds"] == 9e-6
        assert file["costs"]["barrier_seconds"] == 2e-7
        assert file["noise"]["p99_gap_seconds"] == 3e-6

    def test_what_was_not_measured_is_left_out_and_said(self, hybrid: Machine) -> None:
        written = export_toml(hybrid)
        assert "fork_join_seconds" not in tomllib.loads(written)["costs"]
        assert "# fork_join_seconds is missing: not measured" in written

    def test_every_key_has_a_comment_with_its_source(self, hybrid: Machine) -> None:
        lines = [
            line for line in export_toml(hybrid).splitlines() if " = " in line and not line.startswith("#")
        ]
        assert len(lines) > 40
        assert all("  # " in line for line in lines)

    def test_a_slowed_cpu_shows_in_the_speeds_of_its_kind(self, fake: Callable[[str], Machine]) -> None:
        machine = with_measurements(fake("virtual_machine"), [measured_cpu(0), measured_cpu(1, compute=1e9)])
        machine = msgspec.structs.replace(machine, emulated=(SlowedCpu(cpu=1, factor=4.0),))
        written = export_toml(machine)
        assert tomllib.loads(written)["kind"][0]["cpu_relative_speed"] == [1.0, 0.25]
        assert "CPU 1 was made 4 times slower" in written

    def test_names_with_quotes_stay_valid(self, hybrid: Machine) -> None:
        odd = msgspec.structs.replace(hybrid, name='A "quoted" \\ name')
        assert tomllib.loads(export_toml(odd))["name"] == 'A "quoted" \\ name'

    def test_nothing_measured_is_refused(self, fake: Callable[[str], Machine]) -> None:
        with pytest.raises(TautoError) as refused:
            export_toml(fake("i9_14900k"))
        assert "nothing was measured" in refused.value.message
        assert "--measure quick" in refused.value.remedy


class TestCommand:
    @pytest.fixture
    def screen(self) -> Console:
        return Console(file=io.StringIO(), width=100)

    def shown(self, screen: Console) -> str:
        assert isinstance(screen.file, io.StringIO)
        return screen.file.getvalue()

    def test_the_table_shows_what_matters(self, tree: Callable[[str], Path], screen: Console) -> None:
        assert machines.run_machine_command(False, None, "quick", tree("i9_14900k"), screen) == 0
        shown = self.shown(screen)
        for part in ("Intel Core i9-14900K", "8 P + 16 E", "6.00 GHz", "16-31", "Nothing was measured", "• "):
            assert part in shown
        assert "…" not in shown

    def test_the_table_shows_measurements_by_cpu_on_a_small_machine(
        self, fake: Callable[[str], Machine], screen: Console
    ) -> None:
        machine = with_measurements(fake("virtual_machine"), [measured_cpu(0), measured_cpu(1)])
        machines.render_table(machine, screen)
        shown = self.shown(screen)
        for part in ("4.00 Gflop/s", "10.0 GB/s", "30.0 GB/s on 2", "200 ns", "9.00 µs until it runs"):
            assert part in shown
        assert "…" not in shown

    def test_a_narrow_terminal_loses_no_figure(self, fake: Callable[[str], Machine]) -> None:
        screen = Console(file=io.StringIO(), width=60)
        machines.render_table(
            with_measurements(fake("virtual_machine"), [measured_cpu(0), measured_cpu(1)]), screen
        )
        assert "…" not in self.shown(screen)

    def test_json_is_the_record(self, tree: Callable[[str], Path], screen: Console) -> None:
        machines.run_machine_command(True, None, "none", tree("big_little"), screen)
        assert json.loads(self.shown(screen))["kinds"][0]["cpus"] == [4, 5, 6, 7]

    def test_an_export_without_measuring_is_refused_before_anything_is_done(
        self, tree: Callable[[str], Path], tmp_path: Path, screen: Console
    ) -> None:
        target = tmp_path / "machine.toml"
        for measure, root in (("none", None), ("quick", tree("i9_14900k"))):
            with pytest.raises(TautoError, match="nothing would be measured"):
                machines.run_machine_command(False, target, measure, root, screen)
        assert list(tmp_path.iterdir()) == []

    def test_an_export_writes_a_file_that_parses(
        self, fake: Callable[[str], Machine], tmp_path: Path, screen: Console, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        machine = with_measurements(fake("virtual_machine"), [measured_cpu(0), measured_cpu(1)])
        monkeypatch.setattr(machines, "read_machine", lambda measure, root: machine)
        target = tmp_path / "machine.toml"
        machines.run_machine_command(False, target, "quick", None, screen)
        assert tomllib.loads(target.read_text())["name"] == "Intel Xeon (VM)"
        assert [path.name for path in tmp_path.iterdir()] == ["machine.toml"]
        assert str(target) in self.shown(screen).replace("\n", "")

    def test_a_place_that_cannot_be_written_is_an_error(
        self, fake: Callable[[str], Machine], tmp_path: Path, screen: Console, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        machine = with_measurements(fake("virtual_machine"), [measured_cpu(0), measured_cpu(1)])
        monkeypatch.setattr(machines, "read_machine", lambda measure, root: machine)
        with pytest.raises(TautoError, match="cannot be written: No such file or directory"):
            machines.run_machine_command(False, tmp_path / "missing" / "m.toml", "quick", None, screen)


def test_the_frequency_policy_is_recorded_and_shown_as_far_as_it_is_there(
    fake: Callable[[str], Machine],
) -> None:
    machine = fake("i9_14900k")
    assert machine.platform_profile == "balanced"
    policy = "intel_pstate, powersave, preference balance_performance, turbo on, profile balanced"
    assert dict(machine_view.build(machine.to_dict(), []).facts)["Frequency policy"] == policy
    table = io.StringIO()
    machines.render_table(machine, Console(file=table, width=150))
    assert policy in table.getvalue()
    plain = fake("virtual_machine")
    assert plain.platform_profile is None
    assert dict(machine_view.build(plain.to_dict(), []).facts)["Frequency policy"] == "not visible here"
    slow = msgspec.structs.replace(plain, turbo=False)
    assert frequency_policy(slow.to_dict()) == "turbo off"


def test_unproven_meters_are_not_called_missing(fake: Callable[[str], Machine]) -> None:
    machine = fake("i9_14900k")
    assert machine.energy.status == "unproven"
    gone = msgspec.structs.replace(machine, energy=Availability(status="unavailable", reason="no meter"))
    assert the_advice("energy", gone).finding == "Energy cannot be measured: no meter"


def test_the_page_leaves_a_listed_meter_to_the_probe(fake: Callable[[str], Machine]) -> None:
    for name in ("i9_14900k", "virtual_machine"):
        facts = dict(machine_view.build(fake(name).to_dict(), []).facts)
        assert facts["Energy meter"] == "listed, but not probed"
    facts = dict(machine_view.build(fake("container_v2").to_dict(), []).facts)
    assert facts["Energy meter"].startswith("unavailable: ")


def test_the_probe_reports_an_affinity_mask_of_its_own() -> None:
    allowed = sorted(os.sched_getaffinity(0))
    if len(allowed) < 2:
        pytest.skip("needs two CPUs")
    command = [str(runners.find("tauto-probe"))]
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        check=True,
        preexec_fn=lambda: os.sched_setaffinity(0, allowed[-1:]),
    )
    record = json.loads(done.stdout)
    assert record["allowed_cpus"] == allowed[-1:]
    assert record["usable_members"] == 1
