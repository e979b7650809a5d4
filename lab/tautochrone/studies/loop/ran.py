"""The loop and a BLAS, run here for a moment, for what H12 asks of every report."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tautochrone import text
from tautochrone.options import format_cpus
from tautochrone.studies import short_runs

_SIZE, _MEMBERS = 1000, 2  # 4 MB: some thousandths of a second
_FIELDS = ("workers", "bytes_per_iteration", "batch_seconds")
_RUNTIMES = {"openmp": "OpenMP's loop", "openblas": "OpenBLAS"}


def row_of(runtime: str) -> Mapping[str, Any] | None:
    """What the runner prints of these fields; None where it is not here."""
    words = ["--size", str(_SIZE), *short_runs.on_cpus(_MEMBERS)]
    words += ["--warmup-seconds", "0.01", "--min-seconds", "0.03"]
    return short_runs.result_of(
        f"tauto-loop-{runtime}", words, lambda row: {name: row[name] for name in _FIELDS}
    )


def beside_blas() -> tuple[str, bool] | None:
    """The two side by side, and whether both rows say who worked where and what they read.

    None where one of the runners is not here.
    """
    rows = {name: row_of(runtime) for runtime, name in _RUNTIMES.items()}
    said = [f"{name} {_told(row)}" for name, row in rows.items() if row is not None]
    if len(said) < len(rows):
        return None
    holds = all(row["workers"] and row["bytes_per_iteration"] > 0 for row in rows.values() if row is not None)
    return f"at n = {_SIZE} here {', '.join(said)}", holds


def _told(row: Mapping[str, Any]) -> str:
    cpus = format_cpus(sorted({worker["cpu"] for worker in row["workers"]})) or "none"
    fastest = min(row["batch_seconds"])  # so short a run is easily disturbed
    rate = row["bytes_per_iteration"] / fastest
    return f"on CPUs {cpus} {text.seconds(fastest)} at {rate / 1e9:.3g} GB/s"
