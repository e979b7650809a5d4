"""What a store of 10^5 rows takes of memory: below 1 GB, judged by what each of some thousands adds."""

from __future__ import annotations

import json
import random
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import corpus
from processes import run_to_end, with_lab
from tautochrone.results.context import CONTEXT_FILE
from tautochrone.results.lines import line_of, sum_of
from tautochrone.results.store import ROWS_FILE, Store

ROWS, MOST_BYTES = 10**5, 10**9
SIZES, FEW_ROUNDS, MANY_ROUNDS = 20, 12, 36
REASON = "perf psys opens but reads 0 J through 0.3 s of work: this is a virtual machine without a meter"
REMEDY = "Measure on the host, or have it pass its meters in (QEMU: -accel kvm,rapl=true)"
# Of the process's own image: what the kernel reports to a parent includes the parent.
COMMAND = """
import sys
from tautochrone.cli.main import main
code = main(sys.argv[2:])
with open(sys.argv[1], "w") as file:
    file.write(next(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM")))
sys.exit(code)
"""


def rows(rounds: int, chance: random.Random) -> Iterator[dict[str, Any]]:
    """Rows of a loop study at many sizes, with as much in each as real runners print."""
    known = corpus.known("loop").rows
    of_round = {row["config_id"]: row for row in known if row["source"] == "measured"}
    for number in range(rounds):
        for size in range(SIZES):
            for config_id, row in of_round.items():
                batches = [chance.lognormvariate(-10.0, 0.01) for _ in range(80)]
                yield row | {
                    "run": f"{size}-{config_id}-{number}",
                    "name": f"{row['name']} at {size}",
                    "group": f"size={size},emulated=none",
                    "config": row["config"] | {"size": 100 + size},
                    "config_id": f"{int(config_id, 16) + size:012x}",
                    "round": number,
                    "seconds": row["seconds"] and sorted(batches)[40],
                    "counters_reason": "this machine shows no such counter, like most virtual machines",
                    "energy": row["energy"] | {"reason": REASON, "remedy": REMEDY},
                    "workers": [{"thread": thread, "cpu": thread, "rows": 3500} for thread in range(2)],
                    "detail": row["detail"] | {"batch_seconds": batches, "instruction_set": "avx512"},
                    "started": f"2026-01-01T00:{number:02d}:00.000Z",
                }


@pytest.fixture(scope="module")
def stores(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Two stores of the same configurations, the second with many more rounds."""
    folder = tmp_path_factory.mktemp("stores")
    for name, rounds in (("few", FEW_ROUNDS), ("many", MANY_ROUNDS)):
        (folder / name).mkdir()
        before = sum_of(b"")
        with (folder / name / ROWS_FILE).open("wb") as file:
            for record in (*corpus.known("loop").records[:2], *rows(rounds, random.Random(name))):
                line, before = line_of(record, before)
                file.write(line)
        study = json.dumps(corpus.known("loop").context)
        (folder / name / CONTEXT_FILE).write_text(study)
    return folder / "few", folder / "many"


def peak_bytes(words: list[str], folder: Path) -> int:
    told = folder / "peak"
    done = run_to_end([sys.executable, "-c", COMMAND, told, *words], env=with_lab(), cwd=folder)
    assert done.returncode == 0, done.stdout + done.stderr
    return int(told.read_text()) * 1024


@pytest.mark.timed
@pytest.mark.parametrize(
    "words",
    [
        ("report", "A"),
        ("export", "A", "--format", "csv"),
        ("export", "A", "--format", "parquet"),
        ("compare", "A", "B", "--json"),
        ("compare", "A@library=libgomp,schedule=static", "A@library=tbb,schedule=auto", "--json"),
    ],
    ids=["report", "csv", "parquet", "two sittings", "one sitting"],
)
def test_a_store_of_100_000_rows_takes_less_than_a_gigabyte(
    stores: tuple[Path, Path], tmp_path: Path, words: tuple[str, ...]
) -> None:
    peaks, counts = [], []
    for store in stores:
        for name in "AB":
            shutil.copytree(store, tmp_path / name, dirs_exist_ok=True)
        counts.append(len(Store.read(store).rows()))
        peaks.append(peak_bytes([*words], tmp_path))
    each = (peaks[1] - peaks[0]) / (counts[1] - counts[0])
    assert peaks[0] + each * ROWS < MOST_BYTES, f"{each:.0f} bytes a row beside {peaks[0] >> 20} MiB"
