"""What the tests of the measuring core share: configurations of the mock language, and rows without a run."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tautochrone.measuring.clock import VirtualClock
from tautochrone.measuring.configuration import Configuration
from tautochrone.measuring.measure import Plan
from tautochrone.results.row import ROW_SCHEMA, Row, as_record, read_row
from tautochrone.results.store import Store

MACHINE: Mapping[str, Any] = {"schema": "tautochrone.machine/1", "machine": "0123456789ab", "name": "a test"}


def configuration(
    name: str, command: str = "seconds 1", group: str = "cell", **settings: object
) -> Configuration:
    """A configuration whose settings are its name, its group and `settings`."""
    return Configuration(name, command.split(), {}, {"name": name, "group": group, **settings}, group)


def plan(*configurations: Configuration, rounds: int = 8, **options: Any) -> Plan:
    return Plan("loop", configurations, rounds, machine=MACHINE, **options)


def open_store(folder: Path, of: Plan, clock: VirtualClock, *, fresh: bool = False) -> Store:
    return Store.open(folder, of.study, of.plan_id, of.machine, fresh=fresh, now=clock.now())


def row(config_id: str, number: int, seconds: float | None = 1.0, **fields: Any) -> Row:
    """A row with what must be there; an error row if `seconds` is None."""
    error = {"kind": "failed", "message": "told to"} if seconds is None else None
    return read_row(
        {
            "schema": ROW_SCHEMA,
            "run": f"{config_id}-{number}",
            "study": "loop",
            "source": "measured",
            "name": config_id,
            "group": "cell",
            "config": {"runtime": config_id},
            "config_id": config_id,
            "round": number,
            "position": 0,
            "seconds": seconds,
            "machine": MACHINE["machine"],
            "error": error,
            **fields,
        }
    )


def changed(of: Row, **fields: Any) -> Row:
    """The row with other fields, given as they stand in JSON."""
    return read_row({**as_record(of), **fields})
