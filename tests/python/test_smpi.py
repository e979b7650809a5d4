"""The MPI runners on simulated machines. Tests that start them need SimGrid and the runners built on it."""

from __future__ import annotations

import contextlib
import json
import math
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from processes import run_to_end, wait_until, with_lab
from tautochrone.cli import main
from tautochrone.errors import TautoError
from tautochrone.machine import runners
from tautochrone.simulator import machines
from tautochrone.simulator.machines import Machine, machine_of
from tautochrone.simulator.smpi import platform, running, sweeping
from tautochrone.simulator.smpi.running import Simulated, SimulatedOperation
from tautochrone.studies import claims_command as claims
from tautochrone.studies.collective import places
from tautochrone.studies.collective import smpi as collectives
from tautochrone.studies.nbody import smpi as nbody

pytestmark = pytest.mark.timed

MACHINE = "2x-e5-2650v2"

Simulate = Callable[[str], tuple[str, list[dict[str, Any]], str]]


def _is_here() -> bool:
    try:
        for program in (running.NBODY, running.COLLECTIVE):
            running.ready({}, program=program)
    except TautoError:
        return False
    return True


needs_smpi = pytest.mark.skipif(not _is_here(), reason="SimGrid is not here, or a runner was not built on it")


@pytest.fixture
def machine() -> Machine:
    return machines.load(MACHINE)


@pytest.fixture
def hybrid(machine: Machine) -> Machine:
    """One package, a second kind of half the speed."""
    (kind,) = machine.written["kind"]
    slow = {**kind, "kind": "slow", "cores": 3, "pair_cycles": 9.2}
    return machine_of({**machine.written, "packages": 1, "kind": [{**kind, "cores": 2}, slow]})


def _described(machine: Machine, nodes: int) -> ElementTree.Element:
    network = platform.network_of(machine) if nodes > 1 else None
    text = platform.platform(platform.clusters_of(machine, nodes), platform.messages_of(machine), network)
    return ElementTree.fromstring(text.split("\n", 2)[2])


def test_every_core_is_a_host_of_its_package_and_node(machine: Machine) -> None:
    clusters = platform.clusters_of(machine, 3)
    hosts = [host for one in clusters for host in one.hosts()]
    assert len(set(hosts)) == len(hosts) == 3 * 16
    expected = [(node, package, 8) for node in range(3) for package in range(2)]
    assert [(one.node, one.package, one.cores) for one in clusters] == expected
    assert {one.speed for one in clusters} == {platform.HOST_OPERATIONS_PER_SECOND}


def test_kinds_have_clusters_of_their_own_speed(hybrid: Machine) -> None:
    fast, slow = platform.clusters_of(hybrid, 1)
    assert (fast.cores, slow.cores) == (2, 3)
    # With two cores at work the fast ones' clock is above that of three.
    assert slow.speed / fast.speed == pytest.approx(0.5 * 3.3 / 3.4)


def test_platform_has_the_rates_and_latencies_of_the_machine_file(machine: Machine) -> None:
    root = _described(machine, 2)
    clusters = list(root.iter("cluster"))
    assert len(clusters) == 4
    # Two copies of a message, each a read and a write; two packages.
    assert {one.get("bw") for one in clusters} == {"3000000000Bps"}
    assert {one.get("bb_bw") for one in clusters} == {"8750000000Bps"}
    assert {one.get("lat") for one in clusters} == {f"{0.175e-6:.17g}s"}
    links = {one.attrib["id"]: one.attrib for one in root.iter("link")}
    far, wire = (float(links[name]["latency"].rstrip("s")) for name in ("n0p0k0-n0p1k0", "net1"))
    assert far == pytest.approx(80e-9)
    # With the cores' own links the way takes what the file says.
    assert wire * 2 + 0.35e-6 == pytest.approx(1.0e-6)
    network = {one["bandwidth"] for name, one in links.items() if name.startswith("net")}
    assert network == {"6000000000Bps"}


def test_one_node_has_no_network(machine: Machine) -> None:
    assert "fabric" not in {one.get("id") for one in _described(machine, 1).iter("zone")}


def test_no_constant_of_simgrids_own_calibration_stays(machine: Machine) -> None:
    options = platform.settings(platform.messages_of(machine), "mpich", 16)
    settings = dict(one.removeprefix("--cfg=").split(":", 1) for one in options)
    assert settings["smpi/bw-factor"] == "0:1"
    first, long = settings["smpi/lat-factor"].split(";")
    assert first == "0:1"
    start, factor = long.split(":")
    assert int(start) == 4097
    assert float(factor) == pytest.approx((0.35 + 1.2) / 0.35)
    assert settings["smpi/os"] == settings["smpi/or"] == f"0:{0.12e-6:.17g}:0"
    assert settings["smpi/simulate-computation"] == "no"
    assert settings["smpi/coll-selector"] == "mpich"


def test_work_costs_the_cycles_of_the_file_at_the_clock_of_so_many_cores(machine: Machine) -> None:
    assert platform.costs(machine, 1)["pair_seconds"] == pytest.approx(4.6 / 3.4e9)
    assert platform.costs(machine, 16)["pair_seconds"] == pytest.approx(4.6 / 3.0e9)
    assert platform.costs(machine, 16)["target_seconds"] == pytest.approx(60 / 3.0e9)


def test_a_rank_that_waits_is_charged_as_spinning_and_no_core_is_free(machine: Machine) -> None:
    row = {"run_seconds": 2.0, "nodes": 1, "ranks": 2, "working_seconds": [2.0, 0.5]}
    found = running.energy(row, machine)
    watts = 10.5  # at 3.4 GHz, which two cores reach, as the file says
    assert found["working_joules"] == pytest.approx(2.5 * watts)
    assert found["waiting_joules"] == pytest.approx(1.5 * watts * 0.7)
    assert found["idle_joules"] == pytest.approx(14 * 2.0 * 1.0)
    assert found["rest_joules"] == pytest.approx(2.0 * (40.0 + 80.0))
    parts = ("working_joules", "waiting_joules", "idle_joules", "rest_joules")
    assert found["joules"] == pytest.approx(sum(found[part] for part in parts))
    assert running.waiting_share(row) == pytest.approx(1.5 / 4)


@pytest.mark.parametrize("study", ["nbody", "collective"])
def test_machine_without_messages_is_refused(study: str) -> None:
    words = ["simulate", study, "--machine", "i9-14900k", "--smpi", "all"]
    with pytest.raises(TautoError, match="has no message_latency_seconds"):
        main.app(words, standalone_mode=False)


def test_more_ranks_than_cores_need_a_network(machine: Machine) -> None:
    alone = machine_of({**machine.written, "network": {}})
    with pytest.raises(TautoError, match="has no latency_seconds in"):
        sweeping.check_ranks(alone, "16,32")
    assert sweeping.check_ranks(alone, None) == (16,)


@pytest.mark.parametrize(
    "module",
    ["studies.nbody.smpi", "studies.collective.smpi", "studies.claims_command", "studies.nbody.study"],
)
def test_each_command_can_import_its_module_first(module: str) -> None:
    # A circle of imports shows only where no other module was imported before.
    words = [sys.executable, "-c", f"import tautochrone.{module}"]
    subprocess.run(words, env=with_lab(), check=True)


def test_missing_smpirun_says_what_to_install(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(TautoError, match="smpirun was not found") as refused:
        running.ready({})
    assert "libsimgrid-dev" in refused.value.remedy


def test_crossing_is_where_the_first_stays_faster() -> None:
    def curve(*seconds: float) -> list[dict[str, object]]:
        return [
            {"active_from": 2**k, "median_active": 2.0**k, "median_seconds": one}
            for k, one in enumerate(seconds)
        ]

    # Between 4 active, where the second takes two thirds, and 8, where it takes twice as long.
    between = 4.0 * 2.0 ** (math.log(1.5) / math.log(3.0))
    found = nbody.crossing(curve(3, 1, 3, 1, 1), curve(2, 2, 2, 2, 2))
    assert found == pytest.approx(between)
    assert nbody.crossing(curve(1, 1), curve(2, 2)) == 1.0
    assert nbody.crossing(curve(1, 3), curve(2, 2)) is None
    # A class that only one of them has says nothing.
    assert nbody.crossing(curve(1, 1, 5), curve(2, 2)) == 1.0
    assert nbody.crossing(curve(1), []) is None


def _run(
    machine: Machine,
    scheme: str,
    ranks: int,
    selector: str = "ompi",
    *,
    costs: dict[str, float] | None = None,
    particles: int = 256,
    blocks: int = 12,
) -> dict[str, Any]:
    asked = Simulated(selector, scheme, ranks, particles=particles, blocks=blocks)
    return running.run(running.ready(machine, costs), asked)


@needs_smpi
def test_simulated_ranks_end_with_the_bits_of_a_real_core(machine: Machine) -> None:
    words = [runners.find("tauto-nbody-serial"), "--particles", 256, "--blocks", 12]
    real = json.loads(run_to_end(words, check=True).stdout)["check"]["state_fnv1a"]
    for row in (_run(machine, "i", 16), _run(machine, "i", 3, "mvapich2"), _run(machine, "serial", 1)):
        assert row["check"]["state_fnv1a"] == real
        assert row["check"]["passed"]


@needs_smpi
@pytest.mark.parametrize("scheme", ["i", "j", "grid", "auto"])
def test_the_same_bytes_twice(machine: Machine, scheme: str) -> None:
    first, second = (_run(machine, scheme, 16) for _ in range(2))
    for row in (first, second):
        del row["cpus"]
    assert json.dumps(first) == json.dumps(second)


@needs_smpi
def test_work_in_virtual_time_is_what_the_costs_say(machine: Machine) -> None:
    small: dict[str, Any] = {"costs": {"pair_seconds": 1e-6}, "particles": 64, "blocks": 30}
    alone = _run(machine, "serial", 1, **small)
    pairs = alone["particle_steps"] * 64
    assert alone["run_seconds"] == pytest.approx(pairs * 1e-6)
    assert alone["working_seconds"] == [pytest.approx(pairs * 1e-6)]
    sources = _run(machine, "j", 4, **small)
    assert sources["particle_steps"] == alone["particle_steps"]
    assert sources["working_seconds"] == [pytest.approx(pairs / 4 * 1e-6)] * 4
    assert sources["run_seconds"] > sources["working_seconds"][0]
    targets = _run(machine, "i", 4, **small)
    assert sum(targets["working_seconds"]) == pytest.approx(pairs * 1e-6)


@needs_smpi
def test_slow_cores_take_their_time(hybrid: Machine) -> None:
    row = _run(hybrid, "j", 5, costs={"pair_seconds": 1e-6}, particles=80, blocks=10)
    fast_pairs = row["particle_steps"] * 16 * 1e-6
    # Equal slices; those on the slow kind are the last.
    slow_pairs = fast_pairs / (0.5 * 3.3 / 3.4)
    assert row["working_seconds"] == [pytest.approx(fast_pairs)] * 2 + [pytest.approx(slow_pairs)] * 3
    assert row["run_seconds"] == pytest.approx(slow_pairs, rel=0.05)


@needs_smpi
def test_auto_leaves_slow_cores_out_of_a_block_and_ends_with_the_bits_of_the_others(
    machine: Machine, hybrid: Machine
) -> None:
    slower = machines.change(hybrid, ["cores.slow.pair_cycles=92"])
    small: dict[str, Any] = {"costs": {"pair_seconds": 1e-6}, "particles": 80, "blocks": 10}
    row = _run(slower, "auto", 5, **small)
    # The two fast ones share every block.
    widths = [set(one["widths"]) for one in row["classes"]]
    assert widths == [{"2"}] * len(widths)
    assert row["working_seconds"] == [pytest.approx(row["particle_steps"] * 40 * 1e-6)] * 2 + [0.0] * 3
    assert [width for width, _ in row["model"]["paces"]] == [2, 4, 5]
    paces = dict(row["model"]["paces"])
    assert paces[2] == pytest.approx(0.1 * 0.5 * 3.3 / 3.4, rel=0.01)
    assert paces[4] == paces[5] == 1
    # Whoever is as fast as the others is not left out.
    kind = {**machine.written["kind"][0], "cores": 5}
    equal = machine_of({**machine.written, "packages": 1, "kind": [kind]})
    for one in _run(equal, "auto", 5, **small)["classes"]:
        if one["active_from"] >= 8:
            assert set(one["widths"]) == {"5"}


@needs_smpi
def test_additions_of_a_reduction_take_their_time(machine: Machine) -> None:
    small: dict[str, Any] = {"costs": {"word_seconds": 1e-6}, "particles": 64, "blocks": 10}
    row = _run(machine, "j", 4, **small)
    # Six words a target from three others, each folded by everybody: these are short.
    assert row["working_seconds"] == [pytest.approx(row["particle_steps"] * 6 * 3 * 1e-6)] * 4
    grid = _run(machine, "grid", 4, **small)
    assert grid["working_seconds"] == [pytest.approx(grid["particle_steps"] * 6 * 1e-6)] * 4


@needs_smpi
def test_several_nodes_are_slower_to_agree_than_one(machine: Machine) -> None:
    near = _run(machine, "j", 16, "mpich")
    far = _run(machines.change(machine, ["network.latency_seconds=1e-4"]), "j", 17, "mpich")
    assert (near["nodes"], far["nodes"]) == (1, 2)
    assert far["shared_share"] > near["shared_share"]
    assert far["mean_seconds"] > near["mean_seconds"] + 1e-4


@needs_smpi
def test_costs_that_are_none_are_refused_by_name(machine: Machine) -> None:
    for costs in ({"pairs": 1e-9}, {"pair_seconds": -1.0}, {"pair_seconds": 2.0}):
        with pytest.raises(TautoError, match="--costs has") as refused:
            _run(machine, "i", 2, costs=costs)
        assert "pair_seconds, target_force_seconds" in refused.value.remedy


def test_many_ranks_run_only_what_ends_in_minutes() -> None:
    schemes: dict[int, list[str]] = {}
    for one in nbody.sweep(["ompi"], [128, 256, 1024], 2048):
        schemes.setdefault(one.ranks, []).append(one.scheme)
    assert schemes == {1: ["serial"], 128: ["i", "j", "grid", "auto"], 256: ["i", "j"], 1024: ["i"]}
    # A prime number of ranks forms no rectangle.
    assert "grid" not in [one.scheme for one in nbody.sweep(["ompi"], [13], 2048)]


@needs_smpi
@pytest.mark.parametrize("selector", running.SELECTORS)
@pytest.mark.parametrize("ranks", [5, 8, 12])
def test_every_library_ends_with_the_bits_of_the_others(machine: Machine, selector: str, ranks: int) -> None:
    found = _run(machine, "i", ranks, selector, particles=64, blocks=8)
    alone = _run(machine, "serial", 1, particles=64, blocks=8)
    assert found["check"]["state_fnv1a"] == alone["check"]["state_fnv1a"]


@pytest.fixture
def simulated(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Simulate:
    """What tauto simulate says, the rows that it stores and its report."""

    def simulate(asked: str) -> tuple[str, list[dict[str, Any]], str]:
        assert main.main(["simulate", *asked.split(), "--machine", MACHINE, "--output", str(tmp_path)]) == 0
        said = capsys.readouterr().out
        assert "This was simulated, not measured." in said
        rows = [json.loads(line) for line in (tmp_path / "simulated.jsonl").read_text().splitlines()]
        assert {row["source"] for row in rows} == {"simulated"}
        assert len({row["config_id"] for row in rows}) == len(rows)
        page = (tmp_path / "report.html").read_text(encoding="utf-8")
        assert "<script src" not in page
        assert "under SimGrid’s SMPI" in page
        return said, rows, page

    return simulate


@needs_smpi
def test_what_smpi_cannot_do_is_said_beside_what_it_can(simulated: Simulate) -> None:
    said, _, page = simulated("nbody --smpi ompi --ranks 3 --particles 512")
    assert "sharing the targets was not simulated beside sharing the sources" in said
    assert "ompi j, 3 ranks" in page
    assert "non power of two" in page


@needs_smpi
def test_without_one_core_there_is_nothing_to_compare_with(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    real = running.run

    def run(with_: running.Ready, asked: Simulated) -> dict[str, object]:
        if asked.ranks == 1:
            raise TautoError("the serial run was told to fail", "Let it")
        return real(with_, asked)

    monkeypatch.setattr(running, "run", run)
    words = ["simulate", "nbody", "--smpi", "ompi", "--machine", MACHINE, "--ranks", "4", "--particles", "64"]
    assert main.main([*words, "--json"]) == 2
    error = capsys.readouterr().err.replace("\n", " ")
    assert "one core, to compare with, was not simulated: the serial run was told to fail. Let it" in error


@needs_smpi
def test_command_writes_rows_and_an_offline_report(simulated: Simulate) -> None:
    said, rows, _ = simulated("nbody --smpi ompi,impi --ranks 4,8 --particles 256")
    assert "4 ranks are" in said
    # One core; two libraries, four schemes, two numbers of ranks.
    assert len(rows) == 1 + 2 * 4 * 2


def _operation(
    machine: Machine, operation: str, words: tuple[int, ...], ranks: int = 16, selector: str = "ompi"
) -> dict[int, float]:
    """Seconds by words."""
    with_ = running.ready(machine, program=running.COLLECTIVE)
    row = running.run(with_, SimulatedOperation(selector, operation, ranks, words))
    assert row["source"] == "simulated"
    assert row["check"]["passed"]
    return {point["words"]: point["seconds"] for point in row["points"]}


@needs_smpi
@pytest.mark.parametrize("selector", running.SELECTORS)
@pytest.mark.parametrize("operation", collectives.OPERATIONS)
def test_every_librarys_collectives_are_right_and_the_same_twice(
    machine: Machine, operation: str, selector: str
) -> None:
    words = (1, 16, 511, 512, 1024, 4096)
    first, second = (_operation(machine, operation, words, selector=selector) for _ in range(2))
    assert first == second
    assert min(first.values()) > 2 * platform.messages_of(machine).latency
    assert first[max(first)] > first[min(first)]


@needs_smpi
@pytest.mark.parametrize("ranks", [5, 8])
def test_ranks_whose_broadcast_simgrid_leaves_without_data_have_another(machine: Machine, ranks: int) -> None:
    for operation in collectives.OPERATIONS:
        found = _operation(machine, operation, (64, 4096), ranks=ranks, selector="impi")
        assert all(seconds > 0 for seconds in found.values())
    messages = platform.messages_of(machine)
    for selector, number in (("impi", 16), ("ompi", ranks)):
        assert not any("bcast" in one for one in platform.settings(messages, selector, number))


@needs_smpi
def test_a_length_takes_the_same_whatever_is_called_before(machine: Machine) -> None:
    # The first call of a library makes its communicators, which is no part of any length's time.
    for selector in running.SELECTORS:
        alone = _operation(machine, "all_reduce", (384,), selector=selector)
        among = _operation(machine, "all_reduce", (1, 384, 8192), selector=selector)
        assert alone[384] == pytest.approx(among[384], abs=1e-9)


@needs_smpi
def test_two_ranks_take_what_the_machine_file_says_of_a_message(machine: Machine) -> None:
    messages = platform.messages_of(machine)
    one, many = _operation(machine, "all_gather", (2, 512), ranks=2).values()
    least = messages.latency + 2 * messages.overhead
    assert least <= one < 2 * least
    assert many - one == pytest.approx(255 * 8 / messages.bytes_per_second, rel=0.05)


@needs_smpi
def test_additions_take_the_time_that_the_runner_was_told(machine: Machine) -> None:
    def seconds(of_a_word: float) -> float:
        with_ = running.ready(machine, {"word_seconds": of_a_word}, running.COLLECTIVE)
        row = running.run(with_, SimulatedOperation("ompi", "all_reduce", 2, (64,)))
        return float(row["points"][0]["seconds"])

    assert seconds(1e-6) - seconds(0.0) == pytest.approx(64e-6, abs=2e-9)
    with pytest.raises(TautoError, match="--word-seconds must be a number from 0 to 1"):
        seconds(-1.0)


@needs_smpi
def test_collectives_have_rows_charts_and_a_report(simulated: Simulate) -> None:
    said, rows, page = simulated("collective --smpi ompi,mpich --ranks 4,8 --words 1,384,512,8192")
    assert "all_reduce of 512 words between 4 ranks takes" in said
    # Two operations, two libraries, two numbers of ranks, four lengths; parts need a multiple of the ranks.
    assert len(rows) == 2 * 2 * 2 * 4
    assert all(row["words"] >= 1 and row["seconds"] > 0 and "points" not in row for row in rows)
    for chart in ("all_reduce-4", "all_gather-4", "all_reduce-8", "all_gather-8"):
        assert chart in page


def test_places_of_a_curve_in_words() -> None:
    words = (64, 128, 129, 256, 512)
    assert places.in_words(words, [1, 2, 2.01, 4, 8]) == "neither step nor peak"
    assert places.in_words(words, [1, 2, 3, 4, 8]) == "steps up at 129 words"
    peak = "longer than for a greater length at 256 words"
    assert places.in_words(words, [1, 2, 2.01, 4, 3]) == peak
    many = places.in_words(range(1, 9), [9, 8, 7, 6, 5, 4, 3, 2])
    assert many == "longer than for a greater length at 1, 2, 3, 4 and 3 more words"


@needs_smpi
def test_claim_n4_has_smpis_figures_beside_our_models(monkeypatch: pytest.MonkeyPatch) -> None:
    (n4,) = claims.judge({"N4"})
    assert "as modelled here" in n4.ours
    assert "its ompi" in n4.note
    assert "its mvapich2 takes 0." in n4.note
    monkeypatch.setattr("shutil.which", lambda name: None)
    (alone,) = claims.judge({"N4"})
    assert (alone.ours, alone.holds) == (n4.ours, n4.holds)
    assert "not held against SimGrid's SMPI: smpirun was not found" in alone.note
    assert "libsimgrid-dev" in alone.note


def _ranks_at_work(temporary: Path) -> list[str]:
    """Those whose TMPDIR this is: another test run on this machine has ranks of its own."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            theirs = f"TMPDIR={temporary}\0".encode() in (process / "environ").read_bytes()
            if theirs and b"smpimain" in (process / "cmdline").read_bytes():
                found.append(process.name)
    return found


@needs_smpi
@pytest.mark.skipif(shutil.which("setpriv") is None, reason="setpriv is not here")
def test_ranks_end_with_a_killed_tauto(tmp_path: Path) -> None:
    command = ["simulate", "nbody", "--smpi", "ompi", "--machine", MACHINE, "--ranks", "256"]
    words = [sys.executable, "-m", "tautochrone", *command, "--particles", "4099", "--json"]
    tauto = subprocess.Popen(words, env=with_lab(TMPDIR=str(tmp_path)), stdout=subprocess.DEVNULL)
    try:
        wait_until(lambda: bool(_ranks_at_work(tmp_path)), "ranks at work")
    finally:
        tauto.kill()
        tauto.wait()
    wait_until(lambda: not _ranks_at_work(tmp_path), "the ranks' end")


@needs_smpi
def test_no_folder_is_left_behind(machine: Machine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    _run(machine, "i", 2)
    assert list(tmp_path.iterdir()) == []
