"""B24, B25: what reading meters and threads costs, and what it adds to the run that it measures.

Where the machine has no meter, a folder with four zones (two packages with their memory) stands in for one:
the reading costs what it would cost, and the joules mean nothing.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import median

from benchmarks.measurement import Measurement
from benchmarks.rows import joined
from tautochrone.energy.command import EnergyRequest, EnergyServices, run_energy_command
from tautochrone.energy.find import Found, find_meter
from tautochrone.energy.meter import Chosen, Tree, Unavailable
from tautochrone.energy.powercap import open_powercap
from tautochrone.energy.recorder import EnergyRecorder
from tautochrone.errors import TautoError
from tautochrone.measuring.configuration import Configuration
from tautochrone.measuring.sampler import CpuSampler
from tautochrone.trace.command import LOAD_INTERVAL_SECONDS
from tautochrone.trace.threads import HERTZ, ThreadSampler
from tautochrone.verdicts import compare

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
print("started", flush=True)
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
for thread in threads: thread.start()
for thread in threads: thread.join()
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
    meter = open_powercap(Tree(folder))
    if meter is None or isinstance(meter, Unavailable):
        raise TautoError(f"the stand-in for a meter in {folder} cannot be read", "Look whether /tmp is full")
    return Found(Chosen(meter, [domain.name for domain in meter.domains]), None, found.tried)


def sampling(m: Measurement) -> None:
    """B24."""
    seconds = max(0.2, min(5.0, m.budget.left / (2 * ROUNDS) - 0.5))
    folder = m.context.folder / "B24-meter"
    found = stand_in(folder)
    assert found.meter is not None
    source = _STAND_IN if folder.exists() else found.meter.source
    rates: list[float] = []  # the sampler of threads slows down where it would cost too much
    length = f"{seconds:.1f} s a round"
    shares = [100.0 * _meter(found, seconds) for _ in range(ROUNDS)]
    m.values("energy", shares, "nothing", length)
    shares = [100.0 * _threads(m.context.cpus, seconds, rates) for _ in range(ROUNDS)]
    m.values("trace", shares, "nothing", joined(length, _rate_note(rates)), hertz=HERTZ, threads=_THREADS)
    m.missing = joined(source, _rate_note(rates))
    found.meter.close()


def _rate_note(rates: list[float]) -> str:
    return f"{median(rates):.1f} samples of the threads a second were reached"


def _meter(found: Found, seconds: float) -> float:
    assert found.meter is not None
    with EnergyRecorder(found.meter) as recording:
        time.sleep(seconds)
    return recording.sampler_cpu_seconds / seconds


def _threads(cpus: Sequence[int], seconds: float, rates: list[float]) -> float:
    program = subprocess.Popen([sys.executable, "-S", "-c", _RESTLESS], stdout=subprocess.PIPE)
    assert program.stdout is not None
    try:
        program.stdout.readline()
        with CpuSampler(cpus, LOAD_INTERVAL_SECONDS) as load, ThreadSampler(program.pid) as sampled:
            time.sleep(seconds)
    finally:
        program.kill()
        program.communicate()
    if sampled.error is not None or len(sampled.tracks) <= _THREADS:
        raise TautoError(
            f"{len(sampled.tracks)} of {_THREADS + 1} threads were sampled ({sampled.error or 'no error'})",
            "Look whether /proc hides other processes (hidepid)",
        )
    rates.append(sampled.samples / sampled.seconds)
    return (sampled.sampler_cpu_seconds + load.sampler_cpu_seconds) / seconds


def around_a_run(m: Measurement) -> None:
    """B25."""
    # Two runs a round, a second of starting and ending for each.
    seconds = max(0.3, min(LONGEST_RUN_SECONDS, m.budget.left / (2 * ROUNDS + 1) - 1.0))
    plain = busy_command(seconds)
    folder = m.context.folder / "B25-meter"
    metered = [sys.executable, "-c", _METERED, str(folder), *plain]
    ours = Configuration("under tauto energy", metered, {}, {"label": "metered", "passes": plain[-1]})
    peer = Configuration("alone", plain, {}, {"label": "plain", "passes": plain[-1]})
    with m.bench() as bench:
        rows = bench.run([ours, peer], ROUNDS, m.budget.left)
        pairs = bench.pairs(ours, peer)
        if not pairs:
            m.row("", None, peer.name, note=bench.errors())
            return
    walls = [
        median(row.elapsed_seconds for row in rows if row.config_id == made.config_id)
        for made in (ours, peer)
    ]
    note = (
        f"a run of {median(second for _, second in pairs):.1f} s; starting Python, opening the meter and "
        f"the table add {walls[0] - walls[1]:.2f} s before and after it"
    )
    m.row("", compare(pairs), peer.name, note=note)


def metered(folder: str, *command: str) -> int:
    """`tauto energy`, on a stand-in in a folder where there is no meter."""
    services = EnergyServices(find=lambda: stand_in(Path(folder)))
    return run_energy_command(EnergyRequest(command=command, idle_seconds=0.0), services)


_METERED = f"""
import sys
sys.path.insert(0, {str(Path(__file__).resolve().parents[2])!r})
from benchmarks.bodies.metering import metered
sys.exit(metered(*sys.argv[1:]))
"""


def busy_command(seconds: float) -> list[str]:
    """Two busy threads for about so long; the result is by the program's own clock."""
    passes = max(1, round(seconds / seconds_of_one_pass()))
    return [sys.executable, "-S", "-c", WORK, str(passes)]


def seconds_of_one_pass() -> float:
    """How long both threads take for one pass over their data, while both work."""
    done = subprocess.run(
        [sys.executable, "-S", "-c", WORK, "200"], capture_output=True, text=True, check=True, timeout=60
    )
    return float(done.stdout.partition('"seconds": ')[2].partition(",")[0]) / 200
