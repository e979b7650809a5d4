"""One measured run as it is stored: its fields, and what must hold between them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from typing import Annotated, Any

import msgspec

ROW_SCHEMA = "tautochrone.row/1"
STORE_SCHEMA = "tautochrone.store/1"
MACHINE_SCHEMA = "tautochrone.machine/1"

MEASURED = "measured"
SCREENING = "screening"
"""`source` of rows that only chose the finalists: stored, never reported."""

MOST_ROUNDS = 999
"""The most that the exact sign test takes."""

ERROR_KINDS = ("failed", "timeout", "wrong_answer", "missing_worker", "not_installed")


Count = Annotated[int, msgspec.Meta(ge=0, lt=1 << 53)]
Amount = Annotated[float, msgspec.Meta(ge=0.0, le=1e18)]
Round = Annotated[int, msgspec.Meta(ge=0, lt=MOST_ROUNDS)]
Figure = Annotated[float, msgspec.Meta(ge=-1e18, le=1e18)]
Seconds = Annotated[float, msgspec.Meta(ge=1e-15, le=1e12)]
"""Of a figure of merit, whose ratios and powers are finite."""


class Failure(msgspec.Struct, frozen=True):
    """Why a run has no result. `kind` is one of `ERROR_KINDS`."""

    kind: str
    message: str


class Energy(msgspec.Struct, frozen=True, kw_only=True):
    """What a row's `energy` says of joules; see `spent.Figures` for what each figure means.

    `status`: "measured", "unavailable" or "doubted" (both with `reason` and `remedy`), or "estimated".
    `joules` is the whole process's; `work_joules` is the mean power times the row's seconds. Where `joules`
    are those of the packages, `platform_joules` are the whole machine's, if something counts them.
    """

    status: str | None = None
    reason: str | None = None
    remedy: str | None = None
    source: str | None = None
    total: str | None = None
    domain_joules: dict[str, Figure] = {}
    platform_joules: Figure | None = None
    joules: Figure | None = None
    work_joules: Figure | None = None
    mean_watts: Figure | None = None
    idle_watts: Figure | None = None
    idle_spread_watts: Figure | None = None
    net_joules: Figure | None = None
    net_error_joules: Figure | None = None
    reference_seconds: Figure | None = None
    common_joules: Figure | None = None
    edp_joule_seconds: Figure | None = None
    ed2p_joule_seconds2: Figure | None = None
    sampler_cpu_seconds: Figure | None = None
    estimated_joules: Figure | None = None
    error_percent: Figure | None = None
    model: str | None = None
    cpu_seconds: Figure | None = None
    core_seconds: Figure | None = None


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """A JSON object of schema `tautochrone.row/1`. Units are in the names; None (null) is never 0.

    `config` holds the settings of the configuration, `check` what its answer is compared by, `detail`
    whatever else the runner printed: their fields are the study's own. `bridge_seconds`: what a fixed piece
    of work, named by `bridge`, took just before the run: it tells sittings apart. `energy` is kept as it was
    written; `energy_of` reads it. `held_by`: what kept the run's processes together.
    """

    schema: str = ROW_SCHEMA
    run: str = ""
    study: str = ""
    source: str = MEASURED
    name: str = ""
    group: str = ""
    config: dict[str, Any] = {}
    config_id: str = ""
    round: Round = 0
    position: Count = 0
    started: str = ""
    seconds: Seconds | None = None
    elapsed_seconds: Amount = 0.0
    user_seconds: Figure | None = None
    system_seconds: Figure | None = None
    max_rss_bytes: Count | None = None
    voluntary_switches: Count | None = None
    involuntary_switches: Count | None = None
    migrations: Count | None = None
    load_before: Figure | None = None
    others_cpu_seconds: Figure | None = None
    steal_seconds: Figure | None = None
    held_by: str | None = None
    bridge: str | None = None
    bridge_seconds: Seconds | None = None
    energy: dict[str, Any] = {}  # see Energy
    counters: dict[str, Any] | None = None
    counters_reason: str | None = None
    check: dict[str, Any] | None = None
    workers: list[dict[str, Any]] | None = None
    detail: dict[str, Any] = {}
    machine: str | None = None
    error: Failure | None = None


_LEAST_SECONDS_OF_A_CLOCK = 0.02

FIELDS = Row.__struct_fields__
REQUIRED = ("schema", "run", "study", "config_id", "round", "seconds", "error")


def read_row(record: Mapping[str, object]) -> Row:
    """A stored record as a row. ValueError for a field that lacks or has another type."""
    missing = [name for name in REQUIRED if name not in record]
    if missing:
        raise ValueError(f"a row lacks {', '.join(missing)}")
    # Old rows and those of the simulator have null where there is nothing.
    plain = {name: value for name, value in record.items() if value is not None}
    row = msgspec.convert(plain, Row)
    energy_of(row)
    return row


def energy_of(row: Row) -> Energy:
    """What the row says of joules. msgspec.ValidationError, a ValueError, for a field of another type."""
    return msgspec.convert(row.energy, Energy)


def as_record(row: Row) -> dict[str, object]:
    """The row as it is stored, its fields in their order."""
    record: dict[str, object] = msgspec.to_builtins(row)
    return record


def check(row: Row) -> None:
    """ValueError unless the row may be stored: seconds are null in error rows and only there."""
    if row.schema != ROW_SCHEMA:
        raise ValueError(f"a row of schema {row.schema!r} was to be stored; expected {ROW_SCHEMA!r}")
    if row.error is None:
        if row.seconds is None or not row.seconds > 0:
            raise ValueError(
                f"a row without an error has seconds {row.seconds!r}; expected a positive number"
            )
    elif row.seconds is not None:
        raise ValueError(f"an error row has seconds {row.seconds!r}; expected null")
    elif row.error.kind not in ERROR_KINDS:
        raise ValueError(f"error kind {row.error.kind!r} is none of {', '.join(ERROR_KINDS)}")


def refused(row: Row, kind: str, message: str) -> Row:
    """The row as an error row: same run, no seconds. Appended to a store it takes the place of the first."""
    return msgspec.structs.replace(row, seconds=None, error=Failure(kind, message))


def seconds_of(row: Row) -> float:
    """The figure that most comparisons are about. ValueError for an error row, which has none."""
    if row.seconds is None:
        raise ValueError(f"run {row.run} ended in an error: it has no seconds")
    return row.seconds


def clock_of(row: Row) -> float | None:
    """The mean clock of the CPUs while the program was on them, in Hz: cycles by CPU time.

    None where they were not counted, or the CPU time is too short for the kernel's ticks.
    """
    counters = row.counters or {}
    cycles = counters.get("cycles")
    seconds = row.user_seconds if counters.get("scope") == "user" else cpu_seconds_of(row)
    if not isinstance(cycles, int | float) or seconds is None or seconds < _LEAST_SECONDS_OF_A_CLOCK:
        return None
    return cycles / seconds


def cpu_seconds_of(row: Row) -> float | None:
    """User and system time together; None where the system does not tell."""
    if row.user_seconds is None or row.system_seconds is None:
        return None
    return row.user_seconds + row.system_seconds


def pair_rows(
    rows: Iterable[Row], candidate: str, reference: str, figure: Callable[[Row], float] = seconds_of
) -> list[tuple[float, float]]:
    """(candidate, reference) figures of each round in which both config_ids have a good row."""
    seconds: dict[str, dict[int, float]] = {candidate: {}, reference: {}}
    for row in rows:
        if row.error is None and row.config_id in seconds:
            seconds[row.config_id][row.round] = figure(row)
    shared = sorted(seconds[candidate].keys() & seconds[reference].keys())
    return [(seconds[candidate][number], seconds[reference][number]) for number in shared]


def iso(moment: datetime) -> str:
    """ISO 8601 in UTC with milliseconds, as in every stored row: ``2026-01-31T12:00:00.000Z``."""
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
