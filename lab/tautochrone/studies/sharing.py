"""What ``tauto share`` writes: the rows of a folder and its machine, without names, paths or host data."""

from __future__ import annotations

import gzip
import re
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from tautochrone.errors import TautoError, explained
from tautochrone.files import read_whole, replacing
from tautochrone.machine.record import machine_of
from tautochrone.report.analysis import Claim
from tautochrone.results.row import Row
from tautochrone.results.store import Store
from tautochrone.studies import STUDIES, study_named
from tautochrone.text import format_bytes

SCHEMA = "tautochrone.shared/1"
_MOST_PACKED_BYTES, _MOST_BYTES = 64_000_000, 512_000_000

# What tells cores and caches of one model from another's, and no host from another.
_OF_MACHINE = (
    *("cpu_model", "architecture", "hypervisor", "cpus", "kinds", "caches", "numa", "emulated"),
    *("memory_bytes", "quota_cpus", "usable_members", "measured"),
)
_OF_CPU = (
    *("cpu", "core", "package", "numa", "kind", "smt_siblings", "capacity", "max_hertz", "allowed"),
    *("l1d_bytes", "l2_bytes", "l3_bytes"),
)
_OF_ROW = (
    *("schema", "study", "source", "name", "group", "config", "round", "position", "seconds"),
    *("elapsed_seconds", "user_seconds", "system_seconds", "voluntary_switches", "involuntary_switches"),
    *(
        "migrations",
        "others_cpu_seconds",
        "steal_seconds",
        "energy",
        "counters",
        "check",
        "workers",
        "detail",
    ),
)
_PATH = re.compile(r"(?:^|[\s=:'\"(])/[\w.]")
# Words of a runner or of the system, which may name files.
_FREE_TEXT = ("reason", "remedy", "diagnosis", "message", "trace", "file", "command", "path", "when")


class Shared(msgspec.Struct, frozen=True, kw_only=True):
    """The content of such a file. ``simulated``: the name of the machine file that the rows come from."""

    schema: str = SCHEMA
    study: str
    machine: dict[str, Any]
    rows: tuple[Row, ...]
    simulated: str = ""

    @property
    def name(self) -> str:
        """What people call the machine: its CPU, and that it was simulated."""
        model = str(self.machine.get("cpu_model") or "an unknown CPU")
        return f"{model} (simulated)" if self.simulated else model

    def claims(self) -> tuple[Claim, ...]:
        """What these rows decide."""
        study = study_named(self.study)
        found: tuple[Claim, ...] = study.judged(self.rows, self.machine, study.empty_context()).claims
        return found


def without_free_text(value: Any) -> Any:
    """A copy without texts that a program or the system wrote."""
    if isinstance(value, Mapping):
        return {name: without_free_text(each) for name, each in value.items() if name not in _FREE_TEXT}
    if isinstance(value, list | tuple):
        return [without_free_text(each) for each in value]
    return "" if isinstance(value, str) and _PATH.search(value) else value


def shared(store: Store) -> Shared:
    """What is shared of a store. TautoError where it is of no study, or has no rows."""
    if store.study not in STUDIES:
        raise TautoError(
            f"{store.folder} holds the study {store.study!r}, which cannot be shared",
            f"Name the folder of one of these studies: {', '.join(STUDIES)}",
        )
    record = machine_of(store)
    machine = {name: record[name] for name in _OF_MACHINE if name in record}
    machine["cpus"] = [
        {name: cpu[name] for name in _OF_CPU if name in cpu} for cpu in record.get("cpus") or ()
    ]
    rows = tuple(_shared_row(row, number) for number, row in enumerate(store.rows(None)))
    if not rows:
        raise TautoError(f"{store.folder} holds no rows", f"Measure first: tauto study {store.study}")
    return Shared(study=store.study, machine=without_free_text(machine), rows=rows)


def _shared_row(row: Row, number: int) -> Row:
    """Runs are numbered anew; of an error its kind is left."""
    plain = msgspec.to_builtins(row)
    kept = without_free_text({name: plain[name] for name in _OF_ROW})
    error = {"kind": row.error.kind, "message": ""} if row.error is not None else None
    return msgspec.convert({**kept, "run": str(number), "config_id": row.config_id, "error": error}, Row)


def write(content: Shared, path: Path) -> int:
    """Write it, packed. Returns its bytes. TautoError where it cannot be written."""
    packed = gzip.compress(msgspec.json.encode(content), 9, mtime=0)
    with explained(f"{path} cannot be written", "Choose another file with --output"), replacing(path) as file:
        file.write(packed)
    return len(packed)


def read(path: Path) -> Shared:
    """The content of a shared file. TautoError for a file that is none."""
    remedy = "Name a file that tauto share wrote"
    with explained(f"{path} cannot be read", remedy):
        packed = read_whole(path, _MOST_PACKED_BYTES)
    try:
        unpacking = zlib.decompressobj(wbits=31)
        plain = unpacking.decompress(packed, _MOST_BYTES)
        if unpacking.unconsumed_tail:
            raise TautoError(f"{path} holds more than {format_bytes(_MOST_BYTES)}", remedy)
        content = msgspec.json.decode(plain, type=Shared)
    except (zlib.error, ValueError) as error:  # msgspec's is one
        raise TautoError(f"{path} is no shared study: {error}", remedy) from error
    if content.schema != SCHEMA or content.study not in STUDIES:
        raise TautoError(f"{path} has schema {content.schema!r} of the study {content.study!r}", remedy)
    check = study_named(content.study).ROWS.complaint
    wrong = next((complaint for row in content.rows if (complaint := check(row)) is not None), None)
    if wrong is not None:
        raise TautoError(f"{path} holds a row with a wrong field: {wrong}", remedy)
    return content
