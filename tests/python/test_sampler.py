"""The load of the CPUs over time, from a fake /proc and /sys and a clock that does not run."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tautochrone.measuring.sampler import CpuSampler, busy_shares, parse_cpu_times, read_hertz

STAT = "cpu  0 0 0 0\ncpu0 {busy0} 0 0 {idle0} 0 0 0 0 0 0\ncpu1 {busy1} 0 0 {idle1} 0 0 0 0 0 0\nintr 1\n"


def write_stat(root: Path, busy0: int, idle0: int, busy1: int, idle1: int) -> None:
    (root / "proc").mkdir(exist_ok=True)
    text = STAT.format(busy0=busy0, idle0=idle0, busy1=busy1, idle1=idle1)
    (root / "proc/stat").write_text(text)


def test_busy_and_total_time_come_from_the_lines_of_single_cpus() -> None:
    # user nice system idle iowait irq softirq steal guest guest_nice; guest is in user already
    times = parse_cpu_times("cpu 1 1 1 1\ncpu3 10 5 5 70 10 1 2 7 4 1\n")
    assert times == {3: (30, 110)}
    assert parse_cpu_times("cpu0 3 0 1 6\n") == {0: (4, 10)}  # of an old kernel, with fewer columns


def test_share_is_busy_time_by_time_gone_of_the_cpus_that_are_still_there() -> None:
    assert busy_shares({0: (10, 100)}, {0: (18, 110)}, [0]) == {0: pytest.approx(0.8)}
    assert busy_shares({0: (10, 100), 1: (0, 0)}, {0: (10, 100)}, [0, 1]) == {}


def test_clock_is_in_hertz_and_none_where_there_is_no_cpufreq(tmp_path: Path) -> None:
    assert read_hertz(0, tmp_path) is None
    folder = tmp_path / "sys/devices/system/cpu/cpu2/cpufreq"
    folder.mkdir(parents=True)
    (folder / "scaling_cur_freq").write_text("3400000\n")
    assert read_hertz(2, tmp_path) == pytest.approx(3.4e9)


def stepping(
    root: Path, seconds: list[float], readings: list[tuple[int, int, int, int]]
) -> Callable[[float], bool]:
    """A wait that puts the next reading in place, moves the clock, and stops after the last one."""

    def wait(interval: float) -> bool:
        write_stat(root, *readings.pop(0))
        seconds.append(seconds[-1] + interval)
        return not readings

    return wait


def test_every_interval_gives_one_sample_a_cpu(tmp_path: Path) -> None:
    write_stat(tmp_path, 0, 0, 0, 0)
    seconds = [100.0]
    wait = stepping(tmp_path, seconds, [(10, 0, 5, 5), (20, 0, 5, 15)])
    sampler = CpuSampler([0, 1], root=tmp_path, clock=lambda: seconds[-1], wait=wait)
    with sampler as load:
        assert sampler._ended is not None
        sampler._ended.wait()
    found = [(sample.cpu, round(sample.seconds, 3), sample.busy) for sample in load.samples]
    assert found == [(0, 0.1, 1.0), (1, 0.1, 0.5), (0, 0.2, 1.0), (1, 0.2, 0.0)]
    assert load.sampler_cpu_seconds > 0
    assert load.error is None


def test_an_unreadable_proc_ends_the_sampling_and_not_the_run(tmp_path: Path) -> None:
    with CpuSampler([0], root=tmp_path) as load:
        pass
    assert load.samples == []
    assert load.error is not None


def test_the_sampler_counts_what_it_costs(tmp_path: Path) -> None:
    write_stat(tmp_path, 0, 0, 0, 0)
    stops = iter([False] * 19 + [True])
    with CpuSampler([0], root=tmp_path, wait=lambda _: next(stops)) as load:
        pass
    assert 0 < load.sampler_cpu_seconds < 1
