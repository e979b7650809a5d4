"""`tauto balance` beside Linux alone, in turns: ``python benchmarks/balance.py``.

First with the last CPU four times slower: a static OpenMP loop whose regions take so many milliseconds on one
fast CPU. Its sides are Linux alone with the same settings of waiting (`linux`), Linux with none (`plain`),
one fast CPU alone (`fast`), and `tauto balance` with and without its question whether it helps. Then with
equal CPUs: programs that Linux serves well. Times of the loop are its own; those of other programs are of the
whole process. The emulator calibrates once a turn, and no side has a part of that.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tautochrone.machine import runners
from tautochrone.machine.emulate import emulated
from tautochrone.machine.probe import read_machine
from tautochrone.results.journal import Journal
from tautochrone.verdicts import median_interval

SCHEMA = "tautochrone.balance-benchmark/1"
FACTOR = 4.0
REGIONS_MS = (100.0, 30.0, 10.0, 3.0)
INPUT_BYTES = 48_000_000

PASSIVE = {"OMP_WAIT_POLICY": "passive", "GOMP_SPINCOUNT": "0"}

Line = dict[str, Any]


def loop(steps: int, regions: int) -> list[str]:
    return [str(runners.find("tauto-bench-static-loop")), str(steps), str(regions)]


def seconds_of(words: Sequence[str], variables: Mapping[str, str], cpus: set[int] | None = None) -> float:
    """The loop's own seconds, on these CPUs alone if they are named."""
    done = subprocess.run(
        words,
        env={**os.environ, **variables},
        preexec_fn=(lambda: os.sched_setaffinity(0, cpus)) if cpus else None,
        capture_output=True,
        text=True,
        check=True,
    )
    return float(done.stdout.split()[0])


def balanced(words: Sequence[str], *options: str) -> list[str]:
    return [str(runners.find("tauto-balance")), *options, "--", *words]


def steps_of_a_millisecond(fast: int) -> float:
    times = [seconds_of(loop(4_800_000, 10), {"OMP_NUM_THREADS": "1"}, {fast}) for _ in range(5)]
    return 48_000_000 / min(times) / 1e3


def unequal(chance: random.Random, milliseconds: float, seconds: float, each: float, fast: int) -> Line:
    """One turn of all sides, in an order drawn by lot."""
    words = loop(round(each * milliseconds), max(5, round(seconds * 1e3 / milliseconds)))
    sides: dict[str, tuple[Sequence[str], Mapping[str, str], set[int] | None]] = {
        "fast": (words, {"OMP_NUM_THREADS": "1"}, {fast}),
        "plain": (words, {}, None),
        "linux": (words, PASSIVE, None),
        "balance": (balanced(words), PASSIVE, None),
        "always": (balanced(words, "--always"), PASSIVE, None),
    }
    line: Line = {"region_ms": milliseconds}
    for side in chance.sample(sorted(sides), len(sides)):
        line[side] = seconds_of(*sides[side])
    return line


def programs(folder: Path) -> dict[str, list[str]]:
    """Those that are here, on a file made for them."""
    data = folder / "data"
    chance = random.Random(1)
    words = [bytes(chance.choices(range(97, 123), k=chance.randint(2, 9))) for _ in range(5000)]
    data.write_bytes(b" ".join(chance.choices(words, k=INPUT_BYTES // 7)))
    found = {
        "xz": ["xz", "-T2", "-2", "--block-size=1MiB", "-c", str(data)],
        "zstd": ["zstd", "-T2", "-12", "-q", "-c", str(data)],
    }
    if shutil.which("x264"):
        found["x264"] = [
            *("x264", "--quiet", "--no-progress", "--threads", "2", "--frames", "240"),
            *("--input-res", "352x288", "--demuxer", "raw", "-o", os.devnull, str(data)),
        ]
    return {name: call for name, call in found.items() if shutil.which(call[0])}


def equal(chance: random.Random, name: str, words: Sequence[str]) -> Line:
    sides = {"linux": list(words), "balance": balanced(words)}
    line: Line = {"program": name}
    for side in chance.sample(sorted(sides), len(sides)):
        begun = time.perf_counter()
        subprocess.run(
            sides[side],
            env={**os.environ, **PASSIVE},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            check=True,
        )
        line[side] = time.perf_counter() - begun
    return line


def _ratio(lines: Sequence[Line], side: str, other: str) -> str:
    found = median_interval([one[side] / one[other] for one in lines])
    ends = "" if found.low is None or found.high is None else f" [{found.low:.3f}, {found.high:.3f}]"
    return f"{found.median:.3f}{ends}"


def table(lines: Sequence[Line]) -> str:
    """Medians of the ratios of a turn, with 95 % intervals where there are turns enough, as Markdown."""
    slow = [one for one in lines if "region_ms" in one]
    out = [
        f"Last CPU {FACTOR:g} times slower; times over those of one fast CPU; "
        f"the bound is {FACTOR / (FACTOR + 1):.2f}.",
        "",
        "| region | Linux, no settings | Linux, same settings | always | balance | balance / Linux |",
        "|---|---|---|---|---|---|",
    ]
    for region in dict.fromkeys(one["region_ms"] for one in slow):
        several = [one for one in slow if one["region_ms"] == region]
        cells = [_ratio(several, side, "fast") for side in ("plain", "linux", "always", "balance")]
        cells.append(_ratio(several, "balance", "linux"))
        out.append(f"| {region:g} ms ({len(several)} turns) | {' | '.join(cells)} |")
    out += ["", "| equal CPUs | balance / Linux |", "|---|---|"]
    for name in dict.fromkeys(one["program"] for one in lines if "program" in one):
        several = [one for one in lines if one.get("program") == name]
        out.append(f"| {name} ({len(several)} turns) | {_ratio(several, 'balance', 'linux')} |")
    return "\n".join(out)


def main() -> int:
    parser = argparse.ArgumentParser(description="tauto balance beside Linux alone.")
    parser.add_argument("--turns", type=int, default=6, help="turns of each region and program")
    parser.add_argument("--seconds", type=float, default=4.0, help="of the loop on one fast CPU")
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 30))
    parser.add_argument("--output", type=Path, default=Path("build/balance.jsonl"))
    asked = parser.parse_args()
    chance = random.Random(asked.seed)
    allowed = sorted(os.sched_getaffinity(0))
    with Journal.open(asked.output) as journal, tempfile.TemporaryDirectory() as folder:
        if not journal.records:
            journal.append({"schema": SCHEMA, "machine": read_machine().to_dict()})
        each = steps_of_a_millisecond(allowed[0])
        calls = programs(Path(folder))
        calls["static loop"] = loop(round(each * 10), round(asked.seconds * 100))
        for _ in range(asked.turns):
            with emulated({allowed[-1]: FACTOR}):
                for region in REGIONS_MS:
                    line = unequal(chance, region, asked.seconds, each, allowed[0])
                    journal.append({"schema": SCHEMA, **line})
            for name, words in calls.items():
                journal.append({"schema": SCHEMA, **equal(chance, name, words)})
        lines = list(journal.records.values())
    print(table(lines))
    asked.output.with_suffix(".md").write_text(table(lines) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
