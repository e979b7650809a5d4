from __future__ import annotations

import io
import json
import os
import subprocess
import tomllib
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
import pytest
from rich.console import Console

from machine_trees import trees
from processes import run_to_end
from tautochrone.errors import TautoError
from tautochrone.machine import probe as machines
from tautochrone.machine import runners
from tautochrone.machine.advice import Advice, advise
from tautochrone.machine.file import export_toml
from tautochrone.machine.record import (
    Availability,
    CountedLines,
    FutexWake,
    Machine,
    Measured,
    MeasuredCpu,
    Move,
    SlowedCpu,
    StreamPoint,
    TriadPoint,
)
from tautochrone.machine.table import render_table
from tautochrone.report import machine_view
from tautochrone.text import frequency_policy

pytestmark = pytest.mark.timed

Trees = Callable[[str], Path]
Reader = Callable[[str], Machine]
Cpus = list[MeasuredCpu]


@pytest.fixture(scope="session")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Trees:
    """The root of a fake machine, by name."""
    folder = tmp_path_factory.mktemp("trees")
    return cache(lambda name: trees.build(name, folder))


@pytest.fixture(scope="session", autouse=True)
def _probe_is_built() -> None:
    try:
        runners.find("tauto-probe")
    except TautoError as error:
        pytest.fail(f"{error}: these tests need tauto-probe", pytrace=False)


@pytest.fixture
def fake(tree: Trees) -> Reader:
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
    """The machine as if these CPUs had been measured; none: as it is."""
    if not cpus:
        return machine
    n = len(cpus)
    measured = Measured(
        when="2026-01-05T10:00:00Z",
        effort="quick",
        cpus=tuple(cpus),
        triad=(TriadPoint(members=1, bytes_per_second=1e10), TriadPoint(members=n, bytes_per_second=3e10)),
        triad_array_bytes=512 * 2**20,
        counted_lines=(CountedLines(event="cache_misses", sequential=0.02, scattered=1.0),),
        streams=(
            StreamPoint(streams=1, spacing_bytes=None, bytes_per_second=9e9),
            StreamPoint(streams=32, spacing_bytes=2**21, bytes_per_second=2e9),
            StreamPoint(streams=32, spacing_bytes=2**21 + 17 * 64, bytes_per_second=7e9),
        ),
        latency_seconds=tuple(
            tuple(None if a == b else 1e-7 * (1 + abs(a - b)) for a in range(n)) for b in range(n)
        ),
        round_trip_seconds=2.5e-7,
        fork_join_members=n,
        barrier_seconds=2e-7,
        futex_wake_seconds=FutexWake(waker=2e-6, wakee=9e-6),
        moves=tuple(
            Move(from_cpu=one, to_cpu=other, bytes=size, seconds=seconds * factor)
            for size, seconds in ((0, 1e-5), (2**20, 4e-5))
            for one, other, factor in ((0, n - 1, 0.5), (n - 1, 0, 1.5))
        ),
    )
    return msgspec.structs.replace(machine, measured=measured)


def about(topic: str, machine: Machine) -> list[Advice]:
    return [advice for advice in advise(machine) if advice.topic == topic]


def the_advice(topic: str, machine: Machine) -> Advice:
    found = about(topic, machine)
    assert len(found) == 1, found
    return found[0]


class TestReading:
    def test_a_hybrid_machine_is_read_with_its_kinds(self, fake: Reader) -> None:
        machine = fake("i9_14900k")
        assert [kind.kind for kind in machine.kinds] == ["P", "E"]
        assert [machine.cores(kind) for kind in machine.kinds] == [8, 16]
        assert machine.cpu(0).smt_siblings == (1,)
        assert machine.cpu(8).max_hertz == 6.0e9
        assert machine.measured is None
        with pytest.raises(KeyError):
            machine.cpu(32)

    def test_a_quota_limits_the_members(self, fake: Reader) -> None:
        for name in ("container_v1", "container_v2"):
            machine = fake(name)
            assert machine.quota_cpus == 1.5
            assert machine.usable_members == 2
            assert machine.container

    def test_the_record_survives_a_store(self, fake: Reader) -> None:
        machine = with_measurements(fake("virtual_machine"), EQUAL_CPUS)
        record = json.loads(json.dumps(machine.to_dict()))
        assert record["schema"] == "tautochrone.machine/1"
        assert record["governor"] is None
        assert msgspec.convert(record, Machine) == machine

    def test_the_record_has_every_field_that_the_probe_prints(self, tree: Trees) -> None:
        command = [runners.find("tauto-probe"), "--json", "--root", tree("i9_14900k")]
        printed = json.loads(run_to_end(command, check=True).stdout)
        assert machines.read_machine(root=tree("i9_14900k")).to_dict() == printed

    def test_an_unknown_measure_is_refused(self) -> None:
        with pytest.raises(TautoError, match="no measure 'slow'"):
            machines.read_machine(measure="slow")

    def test_a_folder_without_a_machine_is_refused_with_the_remedy(self, tmp_path: Path) -> None:
        with pytest.raises(TautoError) as refused:
            machines.read_machine(root=tmp_path)
        assert str(tmp_path) in refused.value.message
        assert refused.value.remedy == "Name the folder that holds sys and proc"

    def test_an_emulation_is_part_of_the_record(self, tree: Trees, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("TAUTO_EMULATED", "1:4")
        machine = machines.read_machine(root=tree("virtual_machine"))
        assert machine.emulated == (SlowedCpu(cpu=1, factor=4.0),)
        assert "CPU 1 4 times" in the_advice("emulation", machine).finding


class TestProbeCommand:
    def run(self, *options: object, **more: Any) -> subprocess.CompletedProcess[str]:
        return run_to_end([runners.find("tauto-probe"), *options], **more)

    @pytest.mark.parametrize(
        ("selection", "expected"),
        [
            ("P:4", [0, 2, 4, 6]),
            ("E:1,P:1", [0, 16]),
            ("0-1,16", [0, 16, 1]),
            ("cores", [*range(0, 16, 2), *range(16, 32)]),
        ],
    )
    def test_selections_are_printed(self, tree: Trees, selection: str, expected: list[int]) -> None:
        done = self.run("--root", tree("i9_14900k"), "--select", selection)
        assert json.loads(done.stdout) == expected

    @pytest.mark.parametrize(
        ("options", "sentence"),
        [
            (["--measure", "x"], "--measure"),
            (["--bogus"], "--bogus"),
            (["--measure", "quick", "--root", "/tmp"], "only the running machine can be measured"),
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
    def test_a_full_disk_is_an_error(self, tree: Trees) -> None:
        command = [runners.find("tauto-probe"), "--root", tree("virtual_machine")]
        with Path("/dev/full").open("w") as full:
            done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
        assert done.returncode == 2
        assert "could not be written" in done.stderr

    def test_it_reports_an_affinity_mask_of_its_own(self) -> None:
        allowed = sorted(os.sched_getaffinity(0))
        if len(allowed) < 2:
            pytest.skip("needs two CPUs")
        done = self.run(check=True, preexec_fn=lambda: os.sched_setaffinity(0, allowed[-1:]))
        record = json.loads(done.stdout)
        assert record["allowed_cpus"] == allowed[-1:]
        assert record["usable_members"] == 1

    def test_quick_measures_this_machine_in_seconds(self) -> None:
        machine = machines.read_machine("quick")
        measured = machine.measured
        assert measured.effort == "quick"
        assert [cpu.cpu for cpu in measured.cpus] == list(machine.allowed_cpus)
        assert all((cpu.compute_per_second or 0) > 1e7 for cpu in measured.cpus)
        assert measured.triad[0].members == 1
        if len(machine.allowed_cpus) > 1:
            assert measured.latency_seconds[0][1] == measured.latency_seconds[1][0]
        exported = tomllib.loads(export_toml(machine))["memory"]["triad_bytes_per_second"]
        assert exported[0] == pytest.approx(measured.triad[0].bytes_per_second, rel=1e-5)


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

    @pytest.mark.parametrize(
        ("script", "why"),
        [
            ("kill -9 $$", "ended with code -9 and no message"),
            ("echo 'not json'", "the output of tauto-probe cannot be read"),
        ],
    )
    def test_one_that_dies_or_prints_rubbish_is_an_error(
        self, probe: Callable[[str], None], script: str, why: str
    ) -> None:
        probe(script)
        with pytest.raises(TautoError, match=why):
            machines.read_machine()

    def test_one_of_another_version_is_an_error(
        self, probe: Callable[[str], None], tree: Trees, tmp_path: Path
    ) -> None:
        record = machines.read_machine(root=tree("virtual_machine")).to_dict()
        record["schema"] = "tautochrone.machine/9"
        (tmp_path / "record.json").write_text(json.dumps(record))
        probe(f"cat {tmp_path}/record.json")
        expected = r"schema 'tautochrone.machine/9', expected 'tautochrone.machine/1'"
        with pytest.raises(TautoError, match=expected):
            machines.read_machine()

    def test_progress_lines_are_not_taken_for_the_error(self, probe: Callable[[str], None]) -> None:
        probe("echo 'progress 0.5 triad' >&2; echo 'tauto-probe: error: asked this; do that' >&2; exit 2")
        with pytest.raises(TautoError) as refused:
            machines.read_machine()
        assert (refused.value.message, refused.value.remedy) == ("asked this", "Do that")


def slowed(machine: Machine) -> Machine:
    return msgspec.structs.replace(machine, emulated=(SlowedCpu(cpu=1, factor=4.0),))


HYBRID_CPUS = [measured_cpu(cpu, compute=4e9 if cpu < 16 else 2e9) for cpu in range(32)]
EQUAL_CPUS = [measured_cpu(0), measured_cpu(1)]
SLOW_CPU = [measured_cpu(0), measured_cpu(1, compute=1e9)]
NOISY_CPU = [*(measured_cpu(cpu) for cpu in range(7)), measured_cpu(7, p99=3e-4, largest=4.5e-3)]
ALL_NOISY = [measured_cpu(0, p99=3e-4), measured_cpu(1, largest=9e-3)]
STOLEN = [measured_cpu(0), measured_cpu(1, steal=0.125)]
HARDLY_STOLEN = [measured_cpu(0), measured_cpu(1, steal=0.009)]


class TestAdvice:
    @pytest.mark.parametrize(
        ("name", "cpus", "topic", "finding", "remedy"),
        [
            ("i9_14900k", [], "governor", ["dynamic default", "not a slow mode"], []),
            ("container_v2", [], "quota", ["4 CPUs are allowed but the quota pays for 1.5"], []),
            ("container_v2", [], "quota", ["cpu.max of /app"], ["use 2 threads"]),
            ("container_v2", [], "affinity", ["cpuset"], []),
            ("restricted", [], "affinity", ["affinity mask"], []),
            ("big_little", NOISY_CPU, "noise", ["CPU 7 is noisy", "4.50 ms", "300 µs"], ["TAUTO_CPUS=0-6"]),
            ("virtual_machine", ALL_NOISY, "noise", ["Every CPU is noisy"], []),
            ("virtual_machine", STOLEN, "steal", ["CPU 1 12 %"], []),
            ("i9_14900k", [], "kinds", ["was not measured"], []),
            (
                "i9_14900k",
                HYBRID_CPUS,
                "kinds",
                ["8 P + 16 E", "E core computes at 0.50 of the speed of a P core"],
                [],
            ),
            ("virtual_machine", SLOW_CPU, "speed", ["CPU 1 at 0.25"], []),
            ("i9_14900k", [], "smt", ["Each P core has 2 hardware threads"], []),
            ("container_v1", [], "smt", [], ["TAUTO_CPUS=cores"]),
            ("virtual_machine", [], "counters", ["virtual machine (kvm)"], ["pmu=on"]),
            ("container_v2", [], "counters", [], ["sudo sysctl kernel.perf_event_paranoid=2"]),
            ("virtual_machine", [], "energy", ["in a virtual machine (kvm) it may read 0 J"], ["host"]),
            ("virtual_machine", [], "energy", ["An energy meter is listed, but it is not probed"], []),
            ("two_sockets", [], "numa", ["2 nodes"], []),
        ],
    )
    def test_what_is_seen_is_told_with_what_to_do(
        self, fake: Reader, name: str, cpus: Cpus, topic: str, finding: list[str], remedy: list[str]
    ) -> None:
        advice = the_advice(topic, with_measurements(fake(name), cpus))
        assert all(words in advice.finding for words in finding)
        assert all(words in advice.remedy for words in remedy)

    @pytest.mark.parametrize(
        ("name", "cpus", "topics"),
        [
            ("two_sockets", [], ["governor", "kinds", "smt", "turbo"]),
            ("big_little", [], ["governor"]),
            ("virtual_machine", [], ["governor"]),
            # An energy meter is listed, not yet proven.
            ("i9_14900k", [], ["quota", "affinity", "counters", "energy"]),
            ("virtual_machine", HARDLY_STOLEN, ["noise", "steal", "speed"]),
        ],
    )
    def test_what_is_as_it_should_be_needs_no_word(
        self, fake: Reader, name: str, cpus: Cpus, topics: list[str]
    ) -> None:
        found = advise(with_measurements(fake(name), cpus))
        assert {advice.topic for advice in found}.isdisjoint(topics)

    def test_no_remedy_is_offered_where_nothing_would_help(self, fake: Reader) -> None:
        assert the_advice("governor", fake("i9_14900k")).remedy == ""
        all_noisy = with_measurements(fake("virtual_machine"), ALL_NOISY)
        assert "TAUTO_CPUS" not in the_advice("noise", all_noisy).remedy

    def test_stolen_time_is_told_of_its_cpu_alone(self, fake: Reader) -> None:
        assert "CPU 0" not in the_advice("steal", with_measurements(fake("virtual_machine"), STOLEN)).finding

    def test_powersave_of_another_driver_holds_the_lowest_clock(self, fake: Reader) -> None:
        machine = msgspec.structs.replace(fake("two_sockets"), governor="powersave")
        advice = the_advice("governor", machine)
        assert "lowest clock" in advice.finding
        assert "schedutil" in advice.remedy

    def test_a_slow_cpu_is_not_named_where_it_is_emulated(self, fake: Reader) -> None:
        assert about("speed", slowed(with_measurements(fake("virtual_machine"), SLOW_CPU))) == []

    def test_turbo_that_is_off_says_how_to_switch_it_on(self, fake: Reader) -> None:
        off = msgspec.structs.replace(fake("i9_14900k"), turbo=False)
        assert "no_turbo" in the_advice("turbo", off).remedy

    def test_every_finding_is_a_sentence_without_its_full_stop(self, fake: Reader) -> None:
        names = ("i9_14900k", "big_little", "two_sockets", "container_v1", "container_v2", "virtual_machine")
        for advice in (advice for name in names for advice in advise(fake(name))):
            assert not advice.finding[0].islower()
            assert not advice.finding.endswith(".")
            assert not advice.remedy.endswith(".")


class TestMachineFile:
    @pytest.fixture
    def hybrid(self, fake: Reader) -> Machine:
        return with_measurements(fake("i9_14900k"), HYBRID_CPUS)

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
        assert file["costs"]["move_seconds"] == pytest.approx(1e-5)
        assert file["system"]["migration_cost_seconds"] == pytest.approx(3e-5)
        assert file["costs"]["barrier_seconds"] == 2e-7
        assert file["noise"]["p99_gap_seconds"] == 3e-6

    def test_what_was_not_measured_is_left_out_and_said(self, hybrid: Machine) -> None:
        written = export_toml(hybrid)
        assert "fork_join_seconds" not in tomllib.loads(written)["costs"]
        assert "# fork_join_seconds is missing: not measured" in written

    def test_every_key_has_a_comment_with_its_source(self, hybrid: Machine) -> None:
        written = export_toml(hybrid).splitlines()
        lines = [line for line in written if " = " in line and not line.startswith("#")]
        assert len(lines) > 40
        assert all("  # " in line for line in lines)

    def test_a_slowed_cpu_shows_in_the_speeds_of_its_kind(self, fake: Reader) -> None:
        written = export_toml(slowed(with_measurements(fake("virtual_machine"), SLOW_CPU)))
        assert tomllib.loads(written)["kind"][0]["cpu_relative_speed"] == [1.0, 0.25]
        assert "CPU 1 was made 4 times slower" in written

    def test_names_with_quotes_stay_valid(self, hybrid: Machine) -> None:
        odd = msgspec.structs.replace(hybrid, name='A "quoted" \\ name')
        assert tomllib.loads(export_toml(odd))["name"] == 'A "quoted" \\ name'

    def test_nothing_measured_is_refused(self, fake: Reader) -> None:
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

    def command(self, screen: Console, **options: object) -> int:
        usual: dict[str, Any] = {"json": False, "export": None, "measure": "quick", "root": None}
        return machines.MachineRequest(**(usual | options)).run(screen)

    @pytest.fixture
    def measured(self, fake: Reader, monkeypatch: pytest.MonkeyPatch) -> Machine:
        """What a measurement finds."""
        machine = with_measurements(fake("virtual_machine"), EQUAL_CPUS)
        monkeypatch.setattr(machines, "read_machine", lambda measure, root: machine)
        return machine

    def test_the_table_shows_what_matters(self, tree: Trees, screen: Console) -> None:
        assert self.command(screen, root=tree("i9_14900k")) == 0
        shown = self.shown(screen)
        for part in ("Intel Core i9-14900K", "8 P + 16 E", "6.00 GHz", "16-31", "Nothing was measured", "• "):
            assert part in shown
        assert "…" not in shown

    def test_the_table_shows_measurements_by_cpu_on_a_small_machine(
        self, measured: Machine, screen: Console
    ) -> None:
        render_table(measured, screen)
        shown = self.shown(screen)
        for part in ("4.00 Gflop/s", "10.0 GB/s", "30.0 GB/s on 2", "200 ns", "9.00 µs until it runs"):
            assert part in shown
        for part in ("9.00 GB/s along one on a core", "7.00 GB/s along 32", "2.00 GB/s where a power of two"):
            assert part in shown
        assert "cache_misses 0.0200 of a line that is prefetched, 1.00 of one that is not" in " ".join(
            shown.split()
        )
        assert "10.0 µs, 40.0 µs with 1 MiB in use" in shown
        assert "…" not in shown

    def test_a_narrow_terminal_loses_no_figure(self, measured: Machine) -> None:
        screen = Console(file=io.StringIO(), width=60)
        render_table(measured, screen)
        assert "…" not in self.shown(screen)

    def test_json_is_the_record(self, tree: Trees, screen: Console) -> None:
        self.command(screen, json=True, measure="none", root=tree("big_little"))
        assert json.loads(self.shown(screen))["kinds"][0]["cpus"] == [4, 5, 6, 7]

    def test_an_export_without_measuring_is_refused_before_anything_is_done(
        self, tree: Trees, tmp_path: Path, screen: Console
    ) -> None:
        target = tmp_path / "machine.toml"
        for measure, root in (("none", None), ("quick", tree("i9_14900k"))):
            with pytest.raises(TautoError, match="nothing would be measured"):
                self.command(screen, export=target, measure=measure, root=root)
        assert list(tmp_path.iterdir()) == []

    @pytest.mark.usefixtures("measured")
    def test_an_export_writes_a_file_that_parses(self, tmp_path: Path, screen: Console) -> None:
        target = tmp_path / "machine.toml"
        self.command(screen, export=target)
        assert tomllib.loads(target.read_text())["name"] == "Intel Xeon (VM)"
        assert [path.name for path in tmp_path.iterdir()] == ["machine.toml"]
        assert str(target) in self.shown(screen).replace("\n", "")

    @pytest.mark.usefixtures("measured")
    def test_a_place_that_cannot_be_written_is_an_error(self, tmp_path: Path, screen: Console) -> None:
        with pytest.raises(TautoError, match="cannot be written: No such file or directory"):
            self.command(screen, export=tmp_path / "missing" / "m.toml")


def test_the_frequency_policy_is_recorded_and_shown_as_far_as_it_is_there(fake: Reader) -> None:
    machine = fake("i9_14900k")
    assert machine.platform_profile == "balanced"
    policy = "intel_pstate, powersave, preference balance_performance, turbo on, profile balanced"
    assert dict(machine_view.build(machine.to_dict(), []).facts)["Frequency policy"] == policy
    table = io.StringIO()
    render_table(machine, Console(file=table, width=150))
    assert policy in table.getvalue()
    plain = fake("virtual_machine")
    assert plain.platform_profile is None
    assert dict(machine_view.build(plain.to_dict(), []).facts)["Frequency policy"] == "not visible here"
    slow = msgspec.structs.replace(plain, turbo=False)
    assert frequency_policy(slow.to_dict()) == "turbo off"


def test_unproven_meters_are_not_called_missing(fake: Reader) -> None:
    machine = fake("i9_14900k")
    assert machine.energy.status == "unproven"
    gone = msgspec.structs.replace(machine, energy=Availability(status="unavailable", reason="no meter"))
    assert the_advice("energy", gone).finding == "Energy cannot be measured: no meter"


def test_the_page_leaves_a_listed_meter_to_the_probe(fake: Reader) -> None:
    for name in ("i9_14900k", "virtual_machine"):
        facts = dict(machine_view.build(fake(name).to_dict(), []).facts)
        assert facts["Energy meter"] == "listed, but not probed"
    facts = dict(machine_view.build(fake("container_v2").to_dict(), []).facts)
    assert facts["Energy meter"].startswith("unavailable: ")


def test_a_meter_outside_is_named(fake: Reader, monkeypatch: pytest.MonkeyPatch) -> None:
    def shown() -> str:
        table = io.StringIO()
        render_table(fake("container_v2"), Console(file=table, width=200))
        return table.getvalue()

    assert "Energy cannot be measured" in shown()
    monkeypatch.setenv("TAUTO_METER", "shelly:[::1]")
    assert "shelly:[::1] (TAUTO_METER); tauto energy asks it" in shown()
    assert "Energy cannot be measured" not in shown()
