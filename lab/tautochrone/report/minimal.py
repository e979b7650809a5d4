"""What can be said of rows without the study's own analysis: medians of each configuration, no verdicts."""

from __future__ import annotations

import json
import statistics
from collections.abc import Mapping, Sequence
from typing import Any

from tautochrone.report import text
from tautochrone.report.analysis_types import Ratio
from tautochrone.report.loop.analysis_types import Cell, ConfigurationTime, LoopAnalysis
from tautochrone.report.page import row_label
from tautochrone.row import SCREENING

_NOT_COMPARED = Ratio(value=None, low=None, high=None, confidence=None, rounds=0, verdict="not measured")


def medians(rows: Sequence[Mapping[str, Any]]) -> LoopAnalysis:
    """An analysis that holds only what needs no statistics; it says so in its first sentence."""
    places: dict[tuple[str, int], dict[str, list[Mapping[str, Any]]]] = {}
    for row in rows:
        if row.get("source") == SCREENING:
            continue
        config = row.get("config") or {}
        place = (json.dumps(config.get("emulated") or {}, sort_keys=True), int(config.get("size") or 0))
        places.setdefault(place, {}).setdefault(str(row["config_id"]), []).append(row)
    measured = sum(1 for row in rows if row.get("seconds") is not None)
    sentence = (
        f"{text.count(measured, 'run')} measured; here are the medians, without an analysis or a verdict."
    )
    if not measured:
        sentence = (
            f"Nothing could be measured: all {text.count(len(rows), 'run')} failed. The reasons are below."
        )
    return LoopAnalysis(
        verdict_sentences=(sentence,),
        cells=tuple(_cell(size, json.loads(emulated), groups) for (emulated, size), groups in places.items()),
    )


def _cell(size: int, emulated: dict[str, float], groups: Mapping[str, Sequence[Mapping[str, Any]]]) -> Cell:
    return Cell(
        size=size,
        emulated=emulated,
        best_peer=None,
        best_peer_seconds=None,
        tautochrone_seconds=None,
        ratio=_NOT_COMPARED,
        bound_seconds=None,
        bound_speedup=None,
        sequential_seconds=None,
        fast_seconds=None,
        slow_seconds=None,
        configurations=tuple(_configuration(group) for group in groups.values()),
    )


def _configuration(rows: Sequence[Mapping[str, Any]]) -> ConfigurationTime:
    config = rows[0].get("config") or {}
    points = tuple(float(row["seconds"]) for row in rows if row.get("seconds") is not None)
    errors = [row["error"] for row in rows if row.get("error")]
    return ConfigurationTime(
        label=row_label(rows[0]),
        runtime=str(config.get("runtime", "unknown")),
        library=str(config.get("library") or ""),
        schedule=str(config.get("schedule") or ""),
        chunk=config.get("chunk"),
        placement=str(config.get("placement") or "all"),
        wait=str(config.get("wait") or "default"),
        threads=int(config.get("threads") or 0),
        cores=config.get("cores") or {},
        seconds=statistics.median(points) if points else None,
        low=None,
        high=None,
        points=points,
        rounds=len(points),
        error=str(errors[0].get("message", "failed")) if errors and not points else None,
    )
