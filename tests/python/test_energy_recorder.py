"""Joules over a stretch of time: the ends, the timeline, overflows in mid-run, and what cannot be true."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from energy_trees import UNIT_15_RANGE, UNIT_61_RANGE, Clock, energy, machine, no_rest, steps, zone
from tautochrone.energy.find import find_meter
from tautochrone.energy.meter import Chosen, Tree
from tautochrone.energy.recorder import EnergyRecorder, IdleLog, energy_record
from tautochrone.measuring.sampler import leave_cpus_of, quiet_cpu
from tautochrone.results.spent import figures, idle_power


def package(
    root: Path,
    clock: Clock,
    start: int = 2_000_000,
    range_uj: int = UNIT_61_RANGE,
    tdp_uw: int = 100_000_000,
) -> Chosen:
    """A meter that has been probed, at `start` microjoules."""
    zone(machine(root), "intel-rapl:0", "package-0", start - 1_000_061, range_uj, tdp_uw)
    probed = steps(clock, lambda: energy(root, "intel-rapl:0", start))
    found = find_meter(Tree(root), busy=probed, idle=no_rest, clock=clock)
    assert found.meter is not None, found.unavailable
    return found.meter


def recorded(
    root: Path,
    seconds: float,
    values: list[int],
    *,
    start: int = 2_000_000,
    range_uj: int = UNIT_61_RANGE,
    tdp_uw: int = 100_000_000,
) -> EnergyRecorder:
    """A recording over in which the counter has these values, each so many seconds after the last."""
    clock = Clock()
    left, done = list(values), threading.Event()

    def wait(_: float) -> bool:
        if not left:
            done.set()
            return True
        clock.seconds += seconds
        energy(root, "intel-rapl:0", left.pop(0))
        return False

    meter = package(root, clock, start, range_uj, tdp_uw)
    with EnergyRecorder(meter, seconds, clock=clock, wait=wait) as recording:
        assert done.wait(10.0)
    return recording


@pytest.mark.parametrize(("range_uj", "unit"), [(UNIT_61_RANGE, 61), (UNIT_15_RANGE, 15)])
def test_an_overflow_in_mid_run_loses_nothing(tmp_path: Path, range_uj: int, unit: int) -> None:
    values = [range_uj - 100_000_000, 700_000_000, 1_500_000_000]
    recording = recorded(tmp_path, 20.0, values, start=range_uj - 900_000_000, range_uj=range_uj)
    assert recording.unavailable is None
    assert recording.joules == pytest.approx((900_000_000 + unit + 1_500_000_000) / 1e6, abs=1e-9)
    assert recording.seconds == pytest.approx(60.0)


def test_several_overflows_lose_nothing_when_read_in_time(tmp_path: Path) -> None:
    step = 40_000_000_000  # 2 kW for 20 s
    values = [(2_000_000 + n * step) % (UNIT_15_RANGE + 15) for n in range(1, 11)]
    recording = recorded(tmp_path, 20.0, values, range_uj=UNIT_15_RANGE, tdp_uw=1_000_000_000)
    assert recording.joules == pytest.approx(10 * step / 1e6)


def test_the_timeline_is_watts_between_samples(tmp_path: Path) -> None:
    recording = recorded(tmp_path, 0.2, [12_000_000, 16_000_000])
    drawn = [(round(end, 6), round(watts, 6)) for end, watts in recording.watts()]
    assert drawn[:2] == [(0.2, 50.0), (0.4, 20.0)]


def test_a_power_that_cannot_be_makes_the_run_unavailable_and_not_wrong(tmp_path: Path) -> None:
    recording = recorded(tmp_path, 1.0, [12_000_000, 72_000_000], tdp_uw=15_000_000)
    assert recording.joules is None
    assert recording.unavailable is not None
    assert "showed 60 W at second 2.0 of the run, outside 0 … 45 W" in recording.unavailable.reason


@pytest.mark.parametrize(
    ("values", "doubted"),
    [
        ([12_000_000, 12_000_000, 12_000_000, 32_000_000], True),  # 0.4 s
        ([12_000_000, 12_000_000, 22_000_000, 32_000_000], False),  # 0.2 s
        ([2_000_000, 2_000_000, 22_000_000, 32_000_000], True),
        ([12_000_000, 22_000_000, 22_000_000, 22_000_000], True),
        ([2_000_000] * 3, True),
    ],
)
def test_a_counter_that_stands_still_in_mid_run_gives_no_joules(
    tmp_path: Path, values: list[int], doubted: bool
) -> None:
    """50 W for 2.6 s and then nothing was once measured as 30 J."""
    recording = recorded(tmp_path, 0.2, values)
    record = energy_record(recording, None)
    assert (record["status"], record["joules"] is None) == (
        ("doubted", True) if doubted else ("measured", False)
    )
    if doubted:
        assert "powercap package-0 stood still for 0." in str(record["reason"])
        assert recording.watts() == []


def test_no_joules_at_all_are_never_measured(tmp_path: Path) -> None:
    record = energy_record(recorded(tmp_path, 0.01, [2_000_000]), None)
    assert (record["status"], record["joules"]) == ("unavailable", None)


def test_a_meter_that_vanishes_makes_the_run_unavailable(tmp_path: Path) -> None:
    clock = Clock()
    with EnergyRecorder(package(tmp_path, clock), 1.0, clock=clock) as recording:
        (tmp_path / "sys/class/powercap/intel-rapl:0/energy_uj").unlink()
    assert recording.joules is None
    assert recording.unavailable is not None
    assert "driver was unloaded" in recording.unavailable.remedy


def test_an_interval_that_could_lose_an_overflow_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"at most 30\.0"):
        EnergyRecorder(package(tmp_path, Clock()), 31.0)


def test_the_reading_thread_counts_its_own_cpu_time(tmp_path: Path) -> None:
    recording = recorded(tmp_path, 0.2, [2_000_000 + 1_000_000 * n for n in range(1, 50)])
    assert 0.0 < recording.sampler_cpu_seconds < 1.0


def test_reading_happens_where_nothing_is_measured_if_there_is_such_a_cpu() -> None:
    allowed = sorted(os.sched_getaffinity(0))
    assert quiet_cpu(allowed) is None
    assert quiet_cpu([]) is None
    if len(allowed) > 1:
        assert quiet_cpu(allowed[:-1]) == allowed[-1]


@pytest.mark.timed
def test_the_thread_that_reads_leaves_the_cpus_of_a_pinned_program() -> None:
    allowed = sorted(os.sched_getaffinity(0))
    program = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    found: list[tuple[int | None, set[int]]] = []

    def watch() -> None:
        found.append((leave_cpus_of(program.pid), os.sched_getaffinity(0)))

    try:
        os.sched_setaffinity(program.pid, {allowed[0]})
        thread = threading.Thread(target=watch)
        thread.start()
        thread.join()
    finally:
        program.kill()
        program.wait()
    elsewhere = allowed[-1] if len(allowed) > 1 else None
    assert found[0][0] == elsewhere
    assert set(os.sched_getaffinity(0)) == set(allowed)  # this thread stays where it was


# -- figures --


def test_figures_of_a_run() -> None:
    found = figures(100.0, 10.0, idle_power([(3.0, 5.0), (5.0, 5.0)]), 20.0)
    assert found.mean_watts == 10.0
    assert found.idle_watts == 4.0
    assert found.net_joules == 60.0
    assert found.common_joules == 140.0
    assert (found.edp_joule_seconds, found.ed2p_joule_seconds2) == (1000.0, 10_000.0)
    assert found.net_error_joules == pytest.approx(2**0.5 * 10.0)


def test_the_race_to_idle_as_it_was_published() -> None:
    """34 W for a quarter of a second against 24 W for a half, both in a window of a second, idle at 1 W."""
    idle = idle_power([(1.0, 5.0)])
    fast, slow = figures(34.0 * 0.25, 0.25, idle, 1.0), figures(24.0 * 0.5, 0.5, idle, 1.0)
    assert (fast.common_joules, slow.common_joules) == (9.25, 12.5)


def test_without_idle_power_there_is_no_net_energy_and_no_0() -> None:
    found = figures(100.0, 10.0, None, 20.0)
    assert (found.net_joules, found.common_joules, found.idle_watts) == (None, None, None)
    assert idle_power([]) is None


def test_idle_power_has_a_spread(tmp_path: Path) -> None:
    clock = Clock()
    microjoules = 2_000_000
    watts = iter([4.0, 6.0, 4.0, 6.0, 5.0])

    def sleep(seconds: float) -> None:
        nonlocal microjoules
        clock.seconds += seconds
        microjoules += round(next(watts) * seconds * 1e6)
        energy(tmp_path, "intel-rapl:0", microjoules)

    log = IdleLog(package(tmp_path, clock), sleep, clock)
    assert log.is_older_than(1e9)
    log.measure(5.0)
    power = log.power()
    assert power is not None
    assert power.watts == pytest.approx(5.0)
    assert power.spread_watts == pytest.approx(1.0)
    assert not log.is_older_than(10.0)
