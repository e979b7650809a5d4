"""Changed inputs for the readers of stores, study.json and what runners print.

python tests/python/corpus.py SECONDS [SEED]        as long as wanted; says how many inputs, and what failed
"""

from __future__ import annotations

import contextlib
import io
import json
import random
import resource
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

from tautochrone.errors import TautoError
from tautochrone.measuring import subprocess_executor
from tautochrone.results.compare import compare_results
from tautochrone.results.export import columns
from tautochrone.results.lines import line_of, read_lines, sum_of
from tautochrone.results.store import Store
from tautochrone.studies import study_named

STUDIES = ("loop", "mapreduce", "power", "collective", "nbody")
NUMBERS = (
    0,
    -1,
    1,
    2,
    0.5,
    -0.0,
    1e-320,
    1e18,
    1e308,
    -1e308,
    2**31,
    2**53,
    2**63 - 1,
    -(2**63),
    2**64,
    10**40,
)
OTHERS = (
    None,
    True,
    False,
    "",
    "x",
    "x" * 300,
    "1",
    "-1",
    "nan",
    "a\0b",
    "\udcff",
    "<b>",
    [],
    {},
    [[]],
    [{}],
)
ODD: tuple[Any, ...] = (*NUMBERS, *OTHERS, [1, "a"], {"a": {"b": 1}}, {"1": 2}, {"": None})


def changed(value: Any, chance: random.Random, changes: int = 1) -> Any:
    """A copy of a JSON value with some places changed: another value there, none, or one twice."""
    copy = json.loads(json.dumps(value))
    for _ in range(changes):
        places = list(_places(copy))
        if places:
            parent, key = chance.choice(places)
            _change(parent, key, chance)
    return copy


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        yield value, key
        yield from _places(inner)


def _change(parent: Any, key: Any, chance: random.Random) -> None:
    kind = chance.randrange(8)
    if kind == 0:
        del parent[key]
    elif kind == 1 and isinstance(parent, list):
        parent.insert(key, parent[key])
    elif kind == 2 and isinstance(parent, dict):
        parent[chance.choice(("", "x", "a b", "1", "schema", key * 2))] = parent.pop(key)
    elif kind == 3 and isinstance(parent[key], int | float) and not isinstance(parent[key], bool):
        parent[key] *= chance.choice((-1, 0, 1e-9, 1e9, 1.5))
    else:
        parent[key] = json.loads(json.dumps(chance.choice(ODD)))


def folders(where: Path) -> dict[str, Path]:
    """A small store of each study, as its fake processes leave it."""
    made: dict[str, Path] = {}
    for name in STUDIES:
        fakes = import_module(f"study_{name}_fakes")
        particles = {"particles": (256,)} if name == "nbody" else {}
        study_named(name).measure(fakes.request(where / name, **particles), fakes.laboratory().services)
        made[name] = where / name
    return made


def written(records: list[Any]) -> bytes:
    """Lines whose sums are right, whatever is in them."""
    data, before = b"", sum_of(b"")
    for record in records:
        if isinstance(record, dict):
            line, before = line_of(record, before)
            data += line
        else:
            data += json.dumps(record).encode() + b"\n"
    return data


def store_trial(folder: Path, records: list[Any], chance: random.Random, work: Path) -> None:
    """Read a changed store in the ways that there are. TautoError is an answer."""
    copy = list(records)
    for _ in range(chance.choice((1, 1, 2, 5))):
        number = chance.choice((0, 1, chance.randrange(len(copy))))
        copy[number] = changed(copy[number], chance, chance.choice((1, 1, 3)))
    rows, known = work / "rows.jsonl", work / "study.json"
    rows.write_bytes(written(copy))
    context = json.loads((folder / "study.json").read_text())
    known.write_text(json.dumps(changed(context, chance) if chance.random() < 0.3 else context))
    with contextlib.suppress(TautoError):
        store = Store.read(work)
        with contextlib.suppress(TautoError):
            columns(store.rows())
        with contextlib.suppress(TautoError):
            compare_results(str(work), f"{folder}")
        study_named(store.study).stored(store)


def bytes_trial(data: bytes, chance: random.Random) -> None:
    """Read lines of which some bytes are changed, lost or doubled."""
    for _ in range(chance.choice((1, 2, 5))):
        begin = chance.randrange(len(data))
        end = min(len(data), begin + chance.choice((1, 1, 10, 1000)))
        part = chance.choice((b"", chance.randbytes(1), data[begin:end] * 2, b"[" * 3000, b"\n", b"9" * 400))
        data = data[:begin] + part + data[end:]
    read_lines(data).notices("rows.jsonl")


def runner_trial(line: dict[str, Any], study: str, chance: random.Random) -> None:
    """Judge what a runner printed."""
    text = json.dumps(changed(line, chance, chance.choice((1, 3))))
    if chance.random() < 0.2:
        place = chance.randrange(len(text))
        text = (
            text[:place] + chance.choice(("[" * 2000, "1e999", "NaN", '"', "", "\udcff")) + text[place + 1 :]
        )
    record, unreadable = subprocess_executor._record(text)
    if unreadable is None:
        study_named(study).ROWS.of_record(record)


def run(
    seconds: float, seed: int, say: Callable[[str], None] = print, most: int | None = None
) -> Counter[str]:
    """Try inputs for so long, or so many; returns where it failed, by the last lines of the traceback."""
    chance = random.Random(seed)
    found: Counter[str] = Counter()
    inputs = 0
    with tempfile.TemporaryDirectory() as name, contextlib.redirect_stderr(io.StringIO()):
        where = Path(name)
        made = folders(where)
        whole = {study: (folder / "rows.jsonl").read_bytes() for study, folder in made.items()}
        records = {study: [*read_lines(data).records.values()] for study, data in whole.items()}
        (where / "work").mkdir()
        lines = {
            study: [
                {**row["detail"], "seconds": row["seconds"], "check": row["check"], "workers": row["workers"]}
                for row in rows
                if "run" in row and row["error"] is None
            ]
            for study, rows in records.items()
        }
        until = time.monotonic() + seconds
        while (most is None and time.monotonic() < until) or (most is not None and inputs < most):
            study = STUDIES[inputs % len(STUDIES)]
            inputs += 1
            kind = chance.randrange(4)
            try:
                if kind < 2:
                    store_trial(made[study], records[study], chance, where / "work")
                elif kind == 2:
                    bytes_trial(whole[study], chance)
                else:
                    runner_trial(chance.choice(lines[study]), study, chance)
            except Exception as error:
                place = traceback.extract_tb(error.__traceback__)[-1]
                ours = [
                    one
                    for one in traceback.extract_tb(error.__traceback__)
                    if "/tautochrone/" in one.filename
                ]
                last = ours[-1] if ours else place
                found[
                    f"{Path(last.filename).name}:{last.lineno} {last.name}: {type(error).__name__} {error}"[
                        :160
                    ]
                ] += 1
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    say(f"{inputs} inputs, {len(found)} places failed, peak memory {peak:.0f} MB")
    return found


if __name__ == "__main__":
    failed = run(float(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 1)
    for where_it_failed, times in failed.most_common():
        print(f"{times:6} {where_it_failed}")
    sys.exit(1 if failed else 0)
