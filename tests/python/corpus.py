"""Changed stores, study.json files and lines of runners for `fuzzing`; the sums of all lines are right."""

from __future__ import annotations

import contextlib
import io
import json
import random
import tempfile
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import msgspec

from tautochrone.errors import TautoError
from tautochrone.measuring import subprocess_executor
from tautochrone.results import context as contexts
from tautochrone.results.compare import compare_results
from tautochrone.results.export import columns
from tautochrone.results.lines import line_of, read_lines, sum_of
from tautochrone.results.store import ROWS_FILE, Store
from tautochrone.studies import study_named

STUDIES = ("loop", "mapreduce", "power", "collective", "nbody")
FEW_LINES, MANY_LINES = 6, 2000
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


class Known(msgspec.Struct):
    """What a study's fake processes leave."""

    records: list[dict[str, Any]]
    context: dict[str, Any]
    lines: list[dict[str, Any]]  # what its runners printed


@cache
def known(study: str) -> Known:
    """A small store of a study."""
    fakes = import_module(f"study_{study}_fakes")
    particles = {"particles": (256,)} if study == "nbody" else {}
    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stderr(io.StringIO()):
        where = Path(folder) / study
        study_named(study).measure(fakes.request(where, **particles), fakes.laboratory().services)
        records = [*read_lines((where / ROWS_FILE).read_bytes()).records.values()]
        context = json.loads((where / contexts.CONTEXT_FILE).read_bytes())
    lines = [
        {**row["detail"], "seconds": row["seconds"], "check": row["check"], "workers": row["workers"]}
        for row in records
        if "run" in row and row["error"] is None
    ]
    return Known(records, context, lines)


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


def _records(study: str, chance: random.Random, most: int) -> list[Any]:
    """Those of a store, some changed; of the rows so many at the most, one after the other."""
    records = known(study).records
    begin = chance.randrange(2, max(3, len(records) - most))
    copy: list[Any] = [*records[:2], *records[begin : begin + most]]
    for _ in range(chance.choice((1, 1, 2, 5))):
        number = chance.choice((0, 1, chance.randrange(len(copy))))
        copy[number] = changed(copy[number], chance, chance.choice((1, 1, 3)))
    return copy


def small_stores(chance: random.Random) -> bytes:
    return written(_records(chance.choice(STUDIES), chance, FEW_LINES))


def whole_stores(chance: random.Random) -> bytes:
    """The line of its study.json, and the store."""
    study = chance.choice(STUDIES)
    context = known(study).context
    if chance.random() < 0.3:
        context = changed(context, chance)
    return json.dumps(context).encode() + b"\n" + written(_records(study, chance, MANY_LINES))


def context_files(chance: random.Random) -> bytes:
    """The study, and its file."""
    study = chance.choice(STUDIES)
    context = changed(known(study).context, chance, chance.choice((1, 1, 3)))
    return f"{study}\n{json.dumps(context)}".encode()


def runner_lines(chance: random.Random) -> bytes:
    """The study, and what its runner printed."""
    study = chance.choice(STUDIES)
    line = chance.choice(known(study).lines)
    text = json.dumps(changed(line, chance, chance.choice((1, 3))))
    if chance.random() < 0.2:
        place = chance.randrange(len(text))
        odd = chance.choice(("[" * 2000, "1e999", "NaN", '"', "", "\udcff"))
        text = text[:place] + odd + text[place + 1 :]
    return f"{study}\n{text}".encode(errors="surrogateescape")


def store(data: bytes, folder: Path) -> object:
    """Read and exported, not judged."""
    (folder / ROWS_FILE).write_bytes(data)
    read_lines(data).notices(ROWS_FILE)
    with Store.read(folder) as found:
        return columns(found.rows(None))


def analysis(data: bytes, folder: Path) -> object:
    """Compared with itself, and judged by its study."""
    context, _, rows = data.partition(b"\n")
    (folder / contexts.CONTEXT_FILE).write_bytes(context)
    (folder / ROWS_FILE).write_bytes(rows)
    with contextlib.suppress(TautoError):
        compare_results(str(folder), str(folder))
    with Store.read(folder) as found:
        return study_named(found.study).stored(found)


def context(data: bytes, folder: Path) -> object:
    study, _, text = data.partition(b"\n")
    (folder / contexts.CONTEXT_FILE).write_bytes(text)
    return study_named(study.decode(errors="replace")).known_of(folder)


def runner(data: bytes, folder: Path) -> object:
    """Judged as what a runner printed."""
    study, _, text = data.decode(errors="surrogateescape").partition("\n")
    record, unreadable = subprocess_executor._record(text)
    return None if unreadable else study_named(study).ROWS.of_record(record)
