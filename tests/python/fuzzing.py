"""Hand damaged files and words to every reader, and see whether each ends in words, soon, in little memory.

The corpus is made of what is right: a machine file, an ELF file, scripts, commands, a tree of /proc and /sys.
An input is one of these with some bytes changed, cut, doubled or exchanged. A reader may take it or refuse it
with a TautoError, or an error that the command line explains; anything else is a finding.

    python tests/python/fuzzing.py --seconds 600                    every reader as long
    python tests/python/fuzzing.py --only elf --seed 7 --inputs 1000
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import os
import random
import resource
import signal
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path

import click

from energy_trees import no_rest
from processes import run_to_end
from study_fakes import machine
from tautochrone.cli import streams
from tautochrone.cli.commands import made
from tautochrone.cli.main import COMMANDS
from tautochrone.energy import estimate
from tautochrone.energy.find import find_meter
from tautochrone.energy.meter import Tree
from tautochrone.errors import TautoError
from tautochrone.inspection.commands import behind, mpi_launch
from tautochrone.inspection.elf import closure, read_elf
from tautochrone.machine import runners
from tautochrone.measuring.sampler import parse_cpu_times
from tautochrone.simulator import machines

HANGS_SECONDS = 10
MOST_BYTES = 1 << 30
ROOT = Path(__file__).resolve().parents[2]
REQUESTS = {name: COMMANDS[name] for name in ("simulate", "tune", "trace", "energy", "compare", "export")}
MACHINE = machines.load("i9-14900k")
Reader = Callable[[bytes, Path], object]
INTERESTING = (
    *(b"\0", b"\xff", b"\n", b'"', b"[" * 3000, b"{" * 3000, b"-1e308", b"1e309", b"9" * 5000, b"nan"),
    *(
        b"../",
        b"/dev/zero",
        b"n" * 300,
        b"\x7fELF",
        b"\xff\xff\xff\xff\xff\xff\xff\x7f",
        b"$(",
        b"'",
        b":",
        b"--",
    ),
)


def mutated(seed: bytes, others: list[bytes], chance: random.Random) -> bytes:
    """The seed after one to six changes."""
    data = bytearray(seed)
    for _ in range(chance.randint(1, 6)):
        at = chance.randrange(len(data) + 1)
        match chance.randrange(7):
            case 0 if data:
                data[at % len(data)] ^= 1 << chance.randrange(8)
            case 1 if data:
                data[at % len(data)] = chance.choice((0, 1, 0x7F, 0x80, 0xFF))
            case 2:
                data[at:at] = chance.choice(INTERESTING)
            case 3:
                del data[at : at + chance.choice((1, 8, len(data) // 2))]
            case 4:
                data[at:at] = data[at : at + chance.choice((8, 64, 512))]
            case 5:
                word = chance.choice(INTERESTING)
                data[at : at + len(word)] = word
            case _:
                other = chance.choice(others)
                begin = chance.randrange(len(other) + 1)
                data[at : at + 64] = other[begin : begin + 64]
    return bytes(data)


def elf(data: bytes, folder: Path) -> object:
    path = folder / "program"
    path.write_bytes(data)
    found = read_elf(path)
    if found is None:
        return None
    found.marks(("GOMAXPROCS", "RAYON_NUM_THREADS"))
    return list(closure(found, {}))


def script(data: bytes, folder: Path) -> object:
    path = folder / "job"
    path.write_bytes(data)
    path.chmod(0o755)
    return behind([str(path)])


def command(data: bytes, folder: Path) -> object:
    words = [os.fsdecode(word) for word in data.split(b"\0")] or [""]
    mpi_launch(words)
    return behind(words)


def machine_file(data: bytes, folder: Path) -> object:
    path = folder / "machine.toml"
    path.write_bytes(data)
    return machines.load(str(path))


def model(data: bytes, folder: Path) -> object:
    path = folder / "model.json"
    path.write_bytes(data)
    return estimate.load(path)


def options(data: bytes, folder: Path) -> object:
    """The words of a command line up to what would be run."""
    name, *words = [os.fsdecode(word) for word in data.split(b"\0")]
    request = REQUESTS.get(name, REQUESTS["simulate"])
    module, _, kind = request.partition(":")
    one = made(name, getattr(import_module(module), kind), "", lambda asked: 0)
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), contextlib.suppress(click.ClickException):
        return one.main(args=words, prog_name="tauto", standalone_mode=False)
    return None


def settings(data: bytes, folder: Path) -> object:
    return machines.change(MACHINE, [os.fsdecode(word) for word in data.split(b"\0")])


def trees(data: bytes, folder: Path) -> object:
    """The same bytes in every file of a machine with all meters."""
    files = ("proc/stat", "proc/cpuinfo", "proc/1/cgroup", "sys/bus/event_source/devices/power/type")
    power = "sys/class/powercap/intel-rapl:0"
    zone = tuple(f"{power}/{name}" for name in ("name", "energy_uj", "max_energy_range_uj"))
    hwmon = tuple(f"sys/class/hwmon/hwmon0/{name}" for name in ("name", "power1_input", "power1_label"))
    battery = tuple(f"sys/class/power_supply/BAT0/{name}" for name in ("type", "status", "power_now"))
    parts = data.split(b"\0") * 3
    for name, content in zip((*files, *zone, *hwmon, *battery), (*parts, *[b""] * 20), strict=False):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    with contextlib.suppress(ValueError):  # the sampler says so in its own words
        parse_cpu_times((folder / "proc/stat").read_text(errors="replace"))
    return find_meter(Tree(folder), busy=no_rest, idle=no_rest)


def profile(data: bytes, folder: Path) -> object:
    path = folder / "profile.json"
    path.write_bytes(data)
    return _executable([str(runners.find("tauto")), "run", str(path), "--", "true"], b"")


def simulator(data: bytes, folder: Path) -> object:
    return _executable([str(runners.find("tauto-simulate"))], data)


def _executable(words: list[str], given: bytes) -> int:
    """The exit code of an executable. RuntimeError where it was killed, or calls it a defect."""
    done = run_to_end(words, input=given, text=False, timeout=HANGS_SECONDS)
    if done.returncode < 0 or done.returncode == 70:
        raise RuntimeError(f"it ended with {done.returncode}: {done.stderr[-200:]!r}")
    return done.returncode


READERS: dict[str, Reader] = {
    reader.__name__: reader
    for reader in (elf, script, command, machine_file, model, options, settings, trees, profile, simulator)
}
SLOW = ("profile", "simulator")  # a process for each input


def seeds(name: str) -> list[bytes]:
    """What is right, to be damaged."""
    if name == "elf":
        return [Path(path).read_bytes() for path in ("/bin/true", "/bin/echo") if Path(path).exists()]
    if name == "machine_file":
        return [path.read_bytes() for path in sorted((ROOT / "machines").glob("*.toml"))]
    profile_of = {
        "schema": "tautochrone.profile/1",
        "environment": {"OMP_PLACES": "{0},{1}", "X": "\\udcff"},
        "cpus": [0, 1],
        "nice": 3,
        "command": ["true"],
        "tuned_command": ["true"],
    }
    energy_model = {
        "schema": estimate.MODEL_SCHEMA,
        "machine": "m",
        "source": "perf",
        "idle_watts": 1.5,
        "watts_per_busy_cpu": 2.0,
        "error_percent": 3.0,
        "points": [[0.0, 1.5], [1.0, 3.5]],
    }
    texts: dict[str, list[str]] = {
        "script": [
            "#!/bin/sh\nexport A=1\nA=2 sleep 0 && sort -n /dev/null\nexec env X=1 nice -n 3 ./job \\\n  -a",
            "#!/usr/bin/env -S bash -eu\nif mpirun -n 2 -x A sort; then taskset -c 0 sleep 1 | cat; fi",
            "#!/bin/sh ./job\n(time ./job)\n{ sh -c './job; sh job'; }",
        ],
        "command": [
            "env\0A=1\0nice\0-n\x005\0sleep\x001",
            "mpirun\0-n\x002\0sleep\x001\0:\0-n\x001\0sort\0x",
            "bash\0-euo\0pipefail\0-c\0sleep 1; sort",
            "timeout\0-k\x005\x0010\0taskset\0-c\x000,1\0sh\0-c\0sleep 1",
        ],
        "options": [
            "simulate\0loop\0--machine\0i9-14900k\0--set\0cores.P.count=4\0--sweep\0chunk=1,2,4",
            "tune\0--budget\x005m\0--env\0A=1,2\0--value\0a=1\0--threads\x002,4\0--objective\0energy\0--\0x",
            "trace\0--hertz\x0020\0--output\0x.html\0--\0./x",
            "energy\0--reference-seconds\x0050\0--idle-seconds\x000\0--\0x",
            "compare\0a\0b\0--json",
            "export\0nowhere\0--format\0csv\0--output\0x",
        ],
        "settings": ["cores.P.count=4\0memory.line_bytes=128\0cores.E.cpus=[1, 2]\0cores.P.turbo_hertz=5e9"],
        "trees": [
            "cpu  1 2 3 4 5 6 7 8 9 10\ncpu0 1 2 3 4 5 6 7 8 9 10\n\0vendor_id: x\nflags: sgx\n\x009\0"
            "package-0\x00123456\x00262143328850\0power_meter\x0060000000\0total\0Battery\0Discharging\x008000000",
        ],
        "profile": [json.dumps(profile_of)],
        "model": [json.dumps(energy_model)],
        "simulator": [
            json.dumps({"machine": machine()})
            + "\n"
            + json.dumps({"study": "loop", "size": 300, "chunk": 2}),
            json.dumps({"study": "nbody", "particles": 64, "threads": 2}),
        ],
    }
    return [text.encode(errors="surrogateescape") for text in texts[name]]


def finding(reader: Reader, data: bytes, folder: Path) -> str:
    """What a reader does wrong with an input; empty if nothing."""
    signal.alarm(HANGS_SECONDS)
    try:
        reader(data, folder)
    except TautoError:
        pass
    except Hang:
        return f"hangs: {_place()}"
    except Exception as error:
        if streams.explanation(error) is None or isinstance(error, MemoryError):
            return f"{type(error).__name__}: {str(error)[:100]} at {_place()}"
    finally:
        signal.alarm(0)
    return ""


class Hang(Exception):
    """An input took longer than any person waits."""


def _place() -> str:
    frame = traceback.extract_tb(sys.exc_info()[2])[-1]
    return f"{Path(frame.filename).name}:{frame.lineno}"


def _hang(*_: object) -> None:
    raise Hang


def inputs(name: str, chance: random.Random) -> Iterator[bytes]:
    """All that is right first, then without end what is damaged."""
    corpus = seeds(name)
    yield from corpus
    while True:
        yield mutated(chance.choice(corpus), corpus, chance)


def fuzz(name: str, seed: int, seconds: float, most: int) -> tuple[int, Counter[str]]:
    """How many inputs a reader got, and each finding with how often it came."""
    found: Counter[str] = Counter()
    count = 0
    ends = time.monotonic() + seconds
    before = os.getcwd()  # noqa: PTH109
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            for data in inputs(name, random.Random(f"{seed} {name}")):
                if count >= most or time.monotonic() > ends:
                    break
                count += 1
                if problem := finding(READERS[name], data, Path(folder)):
                    found[problem] += 1
        finally:
            os.chdir(before)
    return count, found


def main() -> int:
    parser = argparse.ArgumentParser(description="Damaged inputs for every reader.")
    parser.add_argument("--seconds", type=float, default=1e9, help="for each reader")
    parser.add_argument("--inputs", type=int, default=10**9, help="for each reader")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", choices=READERS, action="append")
    asked = parser.parse_args()
    signal.signal(signal.SIGALRM, _hang)
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (3 * MOST_BYTES, hard))
    bad = 0
    for name in asked.only or READERS:
        count, found = fuzz(name, asked.seed, asked.seconds, asked.inputs)
        print(f"{name}: {count} inputs, {len(found)} findings", flush=True)
        for problem, times in found.most_common():
            print(f"    {times} x {problem}", flush=True)
        bad += len(found)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
