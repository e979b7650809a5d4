"""What a study reads of its rows beside the fields that all rows have, as types that are checked at the door.

A runner that prints another type ends its run with an error; a stored row that has one is refused with its
line. So what reads rows later need not ask. Fields that nobody reads may be anything.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from tautochrone.results.row import Amount, Count, Row

Cpus = Annotated[list[Count], Meta(max_length=1 << 20)]
CpuWord = Annotated[str, Meta(pattern=r"\A[0-9]{1,9}\Z")]
Factor = Annotated[float, Meta(gt=1e-6, le=1e6)]
Threads = Annotated[int, Meta(ge=1, le=1 << 20)]


class Config(msgspec.Struct, kw_only=True):
    """Of a row's ``config``: what all studies' runners are told."""

    runtime: str
    schedule: str
    threads: Threads
    cpus: Cpus
    library: str | None = None
    chunk: Count | None = None
    placement: str = "all"
    wait: str | None = None
    cores: dict[str, Count] | None = None
    emulated: dict[CpuWord, Factor] | None = None


class Detail(msgspec.Struct, kw_only=True):
    """Of what a runner prints beside its result."""

    library: str | None = None
    library_version: str | None = None
    iterations: Count | None = None
    mean_seconds: Amount | None = None


class Worker(msgspec.Struct, kw_only=True):
    """Of a thread that worked."""


class Check(msgspec.Struct, kw_only=True):
    """Of what an answer is compared by."""

    passed: bool | None = None


class Counters(msgspec.Struct, kw_only=True):
    """Of what the kernel counted."""

    cache_references: Amount | None = None
    cache_misses: Amount | None = None
    llc_loads: Amount | None = None
    llc_load_misses: Amount | None = None


class RowTypes(msgspec.Struct, frozen=True, kw_only=True):
    """The types of a study."""

    config: type[Config] = Config
    detail: type[Detail] = Detail
    worker: type[Worker] = Worker
    check: type[Check] = Check

    def complaint(self, row: Row) -> str | None:
        """What is wrong with a row; None where nothing is."""
        try:
            msgspec.convert(row.config, self.config)
            msgspec.convert(row.counters or {}, Counters)
        except ValueError as error:  # msgspec's is one
            return str(error)
        if row.error is not None:  # its runner may have printed anything
            return None
        return self.of_record({**row.detail, "workers": row.workers, "check": row.check})

    def of_record(self, record: Mapping[str, Any]) -> str | None:
        """The same of what a runner printed."""
        try:
            msgspec.convert(record, self.detail)
            msgspec.convert(record.get("workers") or [], list[self.worker])  # type: ignore[name-defined]
            msgspec.convert(record.get("check") or {}, self.check)
        except ValueError as error:  # msgspec's is one
            return str(error)
        return None
