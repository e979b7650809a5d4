"""B24, B25: what reading meters and threads costs, and what it adds to the run that it measures.

Where the machine has no meter, a folder with four zones (two packages with their memory) stands in for one:
the reading costs what it would cost, and the joules mean nothing.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

from benchmarks.context import Context
from benchmarks.entry import Entry, not_measured, of_comparison, of_interval, worst
from tautochrone.configuration import Configuration
from tautochrone.energy.find import Found, find_meter
from tautochrone.energy.meter import Chosen
from tautochrone.energy.powercap import open_powercap
from tautochrone.energy.recorder import EnergyRecorder
from tautochrone.energy.surroundings import Surroundings
from tautochrone.energy.tree import Tree
from tautochrone.errors import TautoError
from tautochrone.sampler import CpuSampler
from tautochrone.statistics import VERDICT_CONFIDENCE, compare, median_interval
from tautochrone.trace.command import LOAD_INTERVAL_SECONDS
from tautochrone.trace.threads import HERTZ, ThreadSampler

SAMPLER_TARGET = 1.0  # per cent of one core
RUN_TARGET = 1.01
ROUNDS = 8
LONGEST_RUN_SECONDS = 10.0
_THREADS = 8
_STAND_IN = "a stand-in for a meter: files with four zones"

# Threads that work and sleep in turns, so that every sample has something new to tell.
_RESTLESS = f"""
import threading, time
def work():
    while True:
        end = time.perf_counter() + 2e-3
        while time.perf_counter() < end: pass
        time.sleep(20e-3)
for _ in range({_THREADS}): threading.Thread(target=work, daemon=True).start()
time.sleep(1000)
"""

# A fixed amount of work in two threads that need no lock of Python's; its own seconds are the result.
WORK = """
import json, sys, threading, time, zlib
data = bytes(1 << 20)
def work():
    for _ in range(int(sys.argv[1])): zlib.crc32(data)
threads = [threading.Thread(target=work) for _ in range(2)]
begin = time.perf_counter()
for one in threads: one.start()
for one in threads: one.join()
print(json.dumps({"seconds": time.perf_counter() - begin, "check": {"passed": True}}))
"""


def stand_in(folder: Path) -> Found:
    """The machine's meter, or one of files that stand still."""
    found = find_meter()
    if found.meter is not None:
        return found
    for package in (0, 1):
        for zone, name in (
            (f"intel-rapl:{package}", f"package-{package}"),
            (f"intel-rapl:{package}:0", "dram"),
        ):
            path = folder / "sys/class/powercap" / zone
            path.mkdir(parents=True, exist_ok=True)
            for file, content in (("name", name), ("energy_uj", 1), ("max_energy_range_uj", 262143328850)):
                (path / file).write_text(f"{content}\n")
    meter = open_powercap(Tree(folder), Surroundings())
    if meter is None or not hasattr(meter, "read"):
        raise TautoError(f"the stand-in for a meter in {folder} cannot be read", "Look whether /tmp is full")
    return Found(Chosen(meter, [one.name for one in meter.domains]), None, found.tried)


def _meter_note(found: Found) -> str:
    assert found.meter is not None
    return _STAND_IN if found.tried and found.meter.source == "powercap" else found.meter.source


def sampling(context: Context) -> list[Entry]:
    """B24."""
    budget = context.budget()
    seconds = max(0.2, min(5.0, budget.left / (2 * ROUNDS) - 0.5))
    found = stand_in(context.folder / "B24-meter")
    rates: list[float] = []  # the sampler of threads slows down where it would cost too much
    what = f"{HERTZ:g} samples of {_THREADS} threads a second, 5 of the CPUs"
    meter = _cost(
        context, "energy", "five readings of the meter a second", seconds, lambda: _meter(found, seconds)
    )
    threads = _cost(
        context, "trace", what, seconds, lambda: _threads(context, seconds, rates), lambda: _rate_note(rates)
    )
    cells = [meter, threads]
    note = f"{_meter_note(found)}; {_rate_note(rates)}"
    if found.meter is not None:
        found.meter.close()
    own = worst(
        "B24",
        "CPU time of the samplers at their default rates, in per cent of one core",
        cells,
        SAMPLER_TARGET,
    )
    own = Entry(**{**own.__dict__, "note": f"{own.note}; {note}"})
    return [context.add(own), *cells]


def _cost(
    context: Context,
    cell: str,
    what: str,
    seconds: float,
    share: Callable[[], float],
    more: Callable[[], str] = str,
) -> Entry:
    shares = [100.0 * share() for _ in range(ROUNDS)]
    interval = median_interval(shares, confidence=VERDICT_CONFIDENCE)
    note = "; ".join(filter(None, (f"{seconds:.1f} s a round", more())))
    return context.add(
        of_interval(f"B24/{cell}", what, "nothing", interval, SAMPLER_TARGET, "%", cell=cell, note=note)
    )


def _rate_note(rates: list[float]) -> str:
    return f"{median(rates):.1f} samples of the threads a second were reached"


def _meter(found: Found, seconds: float) -> float:
    assert found.meter is not None
    with EnergyRecorder(found.meter) as recording:
        time.sleep(seconds)
    return recording.sampler_cpu_seconds / seconds


def _threads(context: Context, seconds: float, rates: list[float]) -> float:
    program = subprocess.Popen([sys.executable, "-S", "-c", _RESTLESS])
    try:
        time.sleep(0.2)
        with CpuSampler(context.cpus, LOAD_INTERVAL_SECONDS) as load, ThreadSampler(program.pid) as sampled:
            time.sleep(seconds)
    finally:
        program.kill()
        program.wait()
    if sampled.error is not None or len(sampled.tracks) <= _THREADS:
        raise TautoError(
            f"{len(sampled.tracks)} of {_THREADS + 1} threads were sampled ({sampled.error or 'no error'})",
            "Look whether /proc hides other processes (hidepid)",
        )
    rates.append(sampled.samples / sampled.seconds)
    return (sampled.sampler_cpu_seconds + load.sampler_cpu_seconds) / seconds


def around_a_run(context: Context) -> list[Entry]:
    """B25."""
    what = "a run of two busy threads under `tauto energy`, by its own clock"
    budget = context.budget()
    # Two runs a round, a second of starting and ending for each.
    seconds = max(0.3, min(LONGEST_RUN_SECONDS, budget.left / (2 * ROUNDS + 1) - 1.0))
    passes = str(max(1, round(seconds / seconds_of_one_pass())))
    plain = [sys.executable, "-S", "-c", WORK, passes]
    wrapper = Path(__file__).with_name("metered_run.py")
    folder = context.folder / "B25-meter"
    metered = [sys.executable, str(wrapper), str(folder), *plain]
    ours = Configuration("under tauto energy", metered, {}, {"label": "metered", "passes": passes}, "run")
    peer = Configuration("alone", plain, {}, {"label": "plain", "passes": passes}, "run")
    with context.bench("B25") as bench:
        rows = bench.run([ours, peer], ROUNDS, budget.left)
        pairs = bench.pairs(ours, peer)
        if not pairs:
            return [context.add(not_measured("B25", what, peer.name, RUN_TARGET, "; ".join(bench.errors())))]
        walls = {
            one.config_id: median(row["elapsed_seconds"] for row in rows if row["config_id"] == one.config_id)
            for one in (ours, peer)
        }
        added = walls[ours.config_id] - walls[peer.config_id]
        note = (
            f"a run of {median(second for _, second in pairs):.1f} s; starting Python, opening the meter and "
            f"the table add {added:.2f} s before and after it"
        )
        return [context.add(of_comparison("B25", what, peer.name, compare(pairs), RUN_TARGET, note=note))]


def seconds_of_one_pass() -> float:
    """How long both threads take for one pass over their data, while both work."""
    done = subprocess.run(
        [sys.executable, "-S", "-c", WORK, "200"], capture_output=True, text=True, check=True, timeout=60
    )
    return float(done.stdout.partition('"seconds": ')[2].partition(",")[0]) / 200
