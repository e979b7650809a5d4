"""One measured run as it is stored: the names of its fields and what must hold between them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

ROW_SCHEMA = "tautochrone.row/1"
STORE_SCHEMA = "tautochrone.store/1"
MACHINE_SCHEMA = "tautochrone.machine/1"

Row: TypeAlias = dict[str, Any]
"""A JSON object of schema `tautochrone.row/1`. Units are in the names; null (None) is never 0."""

MEASURED = "measured"
SCREENING = "screening"
"""`source` of rows that only chose the finalists: stored, never reported."""

ERROR_KINDS = ("failed", "timeout", "wrong_answer", "missing_worker", "not_installed")

FIELDS = (
    "schema",
    "run",
    "study",
    "source",
    "name",
    "group",
    "config",
    "config_id",
    "round",
    "position",
    "started",
    "seconds",
    "elapsed_seconds",
    "user_seconds",
    "system_seconds",
    "max_rss_bytes",
    "voluntary_switches",
    "involuntary_switches",
    "migrations",
    "load_before",
    "others_cpu_seconds",
    "steal_seconds",
    "energy",
    "counters",
    "counters_reason",
    "check",
    "workers",
    "detail",
    "machine",
    "error",
)
REQUIRED = ("schema", "run", "study", "config_id", "round", "seconds", "error")


def check(row: Mapping[str, Any]) -> None:
    """ValueError unless the row may be stored: seconds are null in error rows and only there."""
    missing = [name for name in REQUIRED if name not in row]
    if missing:
        raise ValueError(f"a row lacks {', '.join(missing)}")
    if row["schema"] != ROW_SCHEMA:
        raise ValueError(f"a row of schema {row['schema']!r} was to be stored; expected {ROW_SCHEMA!r}")
    seconds = row["seconds"]
    if row["error"] is None:
        if not isinstance(seconds, int | float) or not seconds > 0:
            raise ValueError(f"a row without an error has seconds {seconds!r}; expected a positive number")
    elif seconds is not None:
        raise ValueError(f"an error row has seconds {seconds!r}; expected null")
    elif row["error"].get("kind") not in ERROR_KINDS:
        raise ValueError(f"error kind {row['error'].get('kind')!r} is none of {', '.join(ERROR_KINDS)}")


def refused(row: Mapping[str, Any], kind: str, message: str) -> Row:
    """The row as an error row: same run, no seconds. Appended to a store it takes the place of the first."""
    return {**row, "seconds": None, "error": {"kind": kind, "message": message}}
