"""Hand damaged files and words to every reader, and see whether each ends in words, soon, in little memory.

The corpus is made of what is right: a machine file, an ELF file, scripts, commands, a tree of /proc and /sys,
stores. An input is one of these with some bytes changed, cut, doubled or exchanged, or with some values
changed (see `corpus`). A reader may take it or refuse it with a TautoError, or an error that the command line
explains; anything else is a finding.

    python tests/python/fuzzing.py --seconds 600                    every reader as long
    python tests/python/fuzzing.py --seconds 60 --keep build/fuzzing.json      in pieces
    python tests/python/fuzzing.py --only elf --seed 7 --inputs 1000
"""

from __future__ import annotations

import argparse
import contextlib
import io
import itertools
import json
import os
import random
import re
import resource
import signal
import struct
import subprocess
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, partial
from importlib import import_module
from pathlib import Path

import click

import corpus
import foreign
from energy_trees import no_rest
from soaking import Totals
from study_fakes import machine
from tautochrone.cli import streams
from tautochrone.cli.commands import made
from tautochrone.cli.main import COMMANDS
from tautochrone.comparing.command import parse_codes, parse_percent
from tautochrone.energy import estimate
from tautochrone.energy.find import find_meter
from tautochrone.energy.meter import Tree
from tautochrone.errors import TautoError
from tautochrone.machine import runners
from tautochrone.measuring.objective import parse_objective
from tautochrone.measuring.sampler import parse_cpu_times
from tautochrone.options import parse_budget, parse_cpus, parse_states
from tautochrone.programs.commands import behind, mpi_launch
from tautochrone.programs.elf import closure, read_elf
from tautochrone.simulator import machines
from tautochrone.simulator.command import sweep_values
from tautochrone.studies.mapreduce.configurations import parse_workloads
from tautochrone.tune.options import parse_range

HANGS_SECONDS = 10  # of computing
WAITS_SECONDS = 90  # other programs may have the CPUs
MOST_BYTES = 1 << 30
# A disk would be most of the time.
IN_MEMORY = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
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


@cache
def _command(name: str) -> click.Command:
    module, _, kind = REQUESTS[name].partition(":")
    return made(name, getattr(import_module(module), kind), "", lambda asked: 0)


def options(data: bytes, folder: Path) -> object:
    """The words of a command line up to what would be run."""
    name, *words = [os.fsdecode(word) for word in data.split(b"\0")]
    one = _command(name if name in REQUESTS else "simulate")
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), contextlib.suppress(click.ClickException):
        return one.main(args=words, prog_name="tauto", standalone_mode=False)
    return None


PARSERS: tuple[Callable[[str], object], ...] = (
    *(parse_cpus, parse_states, parse_budget, parse_codes, parse_objective, parse_workloads),
    partial(parse_range, option="--threads"),
    partial(parse_percent, option="--precision"),
    partial(sweep_values, MACHINE),
)


def settings(data: bytes, folder: Path) -> object:
    """Values of options, to every reader of such words."""
    words = [os.fsdecode(word) for word in data.split(b"\0")]
    for word, parser in itertools.product(words, PARSERS):
        with contextlib.suppress(TautoError):
            parser(word)
    return machines.change(MACHINE, words)


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


@dataclass(frozen=True)
class Native:
    """A reader of an executable; a program that damages inputs as `mutated` does, ten times as fast."""

    name: str
    hangs_seconds: int = HANGS_SECONDS

    def fuzz(self, seed: int, seconds: float, most: int) -> tuple[int, Counter[str]]:
        """How many inputs it got, and its findings. RuntimeError if it does not say."""
        lists = b"".join(_packed(texts) for texts in (INTERESTING, seeds(self.name)))
        found: Counter[str] = Counter()
        first, ends = 0, time.monotonic() + seconds
        while (left := ends - time.monotonic()) > 0 and first < most:
            limits = (most - first, left, self.hangs_seconds)
            words = [runners.find("tauto-readers"), self.name, seed, first, *limits]
            done = subprocess.run([*map(str, words)], input=lists, capture_output=True, check=False)
            *lines, last = done.stdout.decode(errors="replace").splitlines() or [""]
            found.update(re.sub(r"^input [0-9]+ ", "it ", line) for line in lines)
            if done.returncode == 0:
                first += int(last.removesuffix(" inputs"))
                break
            ended = re.fullmatch("ended at ([0-9]+)", last)
            if ended is None:
                raise RuntimeError(f"it ended with {done.returncode}: {done.stderr.decode(errors='replace')}")
            found[f"it ended with {done.returncode}, as at input {ended[1]} of seed {seed}"] += 1
            first = int(ended[1]) + 1
        return first, found


def _packed(texts: Sequence[bytes]) -> bytes:
    parts = [struct.pack("=I", len(texts))]
    for text in texts:
        parts += struct.pack("=I", len(text)), text
    return b"".join(parts)


NATIVE = {one.name: one for one in (Native("profile"), Native("simulator"), Native("trap", 1))}
READERS: dict[str, Reader] = {
    reader.__name__: reader
    for reader in (elf, script, command, machine_file, model, options, settings, trees)
}
# These inputs are changed by value, not by byte.
CHANGED: dict[str, tuple[Reader, Callable[[random.Random], bytes]]] = {
    "store": (corpus.store, corpus.small_stores),
    "analysis": (corpus.analysis, corpus.whole_stores),
    "against": (corpus.against, corpus.simulated_studies),
    "page": (corpus.page, corpus.whole_stores),
    "resumed": (corpus.resumed, corpus.all_rows),
    "saved": (corpus.saved_before, corpus.sittings),
    "context": (corpus.context, corpus.context_files),
    "runner": (corpus.runner, corpus.runner_lines),
    "imports": (foreign.imports, foreign.files),
    "answers": (foreign.answers, foreign.answer_lines),
}
READERS |= {name: reader for name, (reader, _) in CHANGED.items()}
NAMES = (*READERS, "profile", "simulator")
BYTES_SHARE = 0.2  # of these inputs have bytes changed, too


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
        "settings": [
            "cores.P.count=4\0memory.line_bytes=128\0cores.E.cpus=[1, 2]\0cores.P.turbo_hertz=5e9",
            "cores.E.count=4..32:8\x001..16\x000-3,8\x001:2,1:4,1:2+3:2\x0090s\x002%\x001,3\x0050x1.5us",
            "memory.memory_bytes_per_second=-1e308..1e308\0regex-max:Performance: +([0-9.]+)\0energy",
        ],
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
        "trap": ["a reader of the tests with three faults"],
    }
    return [text.encode(errors="surrogateescape") for text in texts[name]]


def finding(reader: Reader, data: bytes, folder: Path) -> str:
    """What a reader does wrong with an input; empty if nothing."""
    signal.setitimer(signal.ITIMER_PROF, HANGS_SECONDS)
    signal.alarm(WAITS_SECONDS)
    try:
        reader(data, folder)
    except TautoError:
        pass
    except Hang:
        return f"hangs: {_place(-2)}"  # the last place is that of the alarm
    except Exception as error:
        if streams.explanation(error) is None or isinstance(error, MemoryError):
            return f"{type(error).__name__}: {str(error)[:100]} at {_place()}"
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.alarm(0)
    return ""


class Hang(Exception):
    """An input took longer than any person waits."""


def _place(which: int = -1) -> str:
    frame = traceback.extract_tb(sys.exc_info()[2])[which]
    return f"{Path(frame.filename).name}:{frame.lineno}"


def _hang(*_: object) -> None:
    raise Hang


def inputs(name: str, chance: random.Random) -> Iterator[bytes]:
    """Damaged inputs without end."""
    if name in CHANGED:
        make = CHANGED[name][1]
        while True:
            data = make(chance)
            yield mutated(data, [data], chance) if chance.random() < BYTES_SHARE else data
    whole = seeds(name)
    while True:
        yield mutated(chance.choice(whole), whole, chance)


def right(name: str, chance: random.Random) -> list[bytes]:
    """Inputs that are not damaged."""
    return [] if name in CHANGED else seeds(name)


def fuzz(name: str, chance: random.Random, seconds: float, most: int) -> tuple[int, Counter[str]]:
    """How many inputs a reader got, and each finding with how often it came."""
    if name in NATIVE:
        return NATIVE[name].fuzz(chance.randrange(1 << 32), seconds, most)
    found: Counter[str] = Counter()
    count = 0
    ends = time.monotonic() + seconds
    before = os.getcwd()  # noqa: PTH109
    reader = READERS[name]
    with tempfile.TemporaryDirectory(dir=IN_MEMORY) as folder, contextlib.redirect_stderr(io.StringIO()):
        os.chdir(folder)
        try:
            for data in itertools.chain(right(name, chance), inputs(name, chance)):
                if count >= most or time.monotonic() > ends:
                    break
                count += 1
                if problem := finding(reader, data, Path(folder)):
                    found[problem] += 1
        finally:
            os.chdir(before)
    return count, found


def main() -> int:
    parser = argparse.ArgumentParser(description="Damaged inputs for every reader.")
    parser.add_argument("--seconds", type=float, default=1e9, help="for each reader")
    parser.add_argument("--inputs", type=int, default=10**9, help="for each reader")
    parser.add_argument("--inputs-of", action="append", default=[], metavar="READER=N", help="for this one")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", choices=(*READERS, *NATIVE), action="append")
    parser.add_argument("--keep", type=Path, help="a file of totals, to which this call adds")
    asked = parser.parse_args()
    signal.signal(signal.SIGALRM, _hang)
    signal.signal(signal.SIGPROF, _hang)
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (3 * MOST_BYTES, hard))
    totals = Totals(asked.keep)
    most = {name: int(count) for name, _, count in (one.partition("=") for one in asked.inputs_of)}
    bad = 0
    for name in asked.only or NAMES:
        known = totals.of(name, calls=0, inputs=0, seconds=0.0, peak_bytes=0, findings={})
        chance = random.Random(f"{asked.seed} {name} {known['calls']}")  # others than in the calls before
        begun = time.monotonic()
        count, found = fuzz(name, chance, asked.seconds, most.get(name, asked.inputs))
        known["calls"] += 1
        known["inputs"] += count
        known["seconds"] += time.monotonic() - begun
        usages = [
            resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
        ]
        known["peak_bytes"] = max(known["peak_bytes"], *(1024 * usage for usage in usages))
        known["findings"] = Counter(known["findings"]) + found
        totals.keep()
        print(f"{name}: {known['inputs']} inputs, {len(known['findings'])} findings", flush=True)
        for problem, times in known["findings"].most_common():
            print(f"    {times} x {problem}", flush=True)
        if known["peak_bytes"] > MOST_BYTES:
            print(f"    it took {known['peak_bytes'] >> 20} MiB")
            bad += 1
        bad += len(known["findings"])
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
