"""From an analysis of the power study to the small tables that its charts draw."""

from __future__ import annotations

import msgspec

from tautochrone.report import text
from tautochrone.report.power.analysis_types import JobCell, PowerAnalysis, SharedJob
from tautochrone.report.tables import Record

SERIAL = "serial"


class Datasets(msgspec.Struct, frozen=True):
    """The tables by name, and what the charts must know before they are drawn."""

    tables: dict[str, list[Record]]
    jobs: list[str]  # titles, in the order of the page
    busy: list[str]  # configurations whose threads are shown, likewise
    setups: list[str]  # labels, likewise
    runtimes: list[str]


def build(analysis: PowerAnalysis) -> Datasets:
    """All tables of an analysis. Linear in the number of configurations."""
    speedups: list[Record] = []
    costs: list[Record] = []
    busy: list[Record] = []
    for cell in analysis.jobs:
        most = max((one.threads for one in cell.shared), default=1)
        for one in cell.shared:
            if one.way == SERIAL or one.speedup is None:
                continue
            record = _record(one, cell)
            if one.threads == most or one.way.startswith("functional"):
                speedups.append(record)
            if cell.ratio is not None and one.threads == 2:
                costs.append(record | {"ratio": cell.ratio})
                busy += [
                    record
                    | {"configuration": f"{_cost(cell.ratio)}, {_split(one)}", "busy": thread.seconds}
                    | {"thread": thread.thread, "does": thread.does}
                    | {"busy_text": text.seconds(thread.seconds)}
                    for thread in one.busy
                ]
    setups: list[Record] = [
        {
            "situation": 0,
            "setup": one.label,
            "relative": one.to_free.value if one.to_free.value is not None else 1.0,
            "low": one.to_free.low,
            "high": one.to_free.high,
            "ratio_text": text.ratio(one.to_free) if one.to_free.value is not None else "1, by definition",
            "verdict": one.to_free.verdict if one.to_free.value is not None else "",
            "time": text.seconds(one.seconds),
        }
        for one in analysis.setups
        if one.seconds is not None and (one.to_free.value is not None or one.name == "free")
    ]
    every = {one.way for cell in analysis.jobs for one in cell.shared}
    return Datasets(
        tables={"speedups": speedups, "costs": costs, "busy": busy, "setups": setups},
        jobs=list(dict.fromkeys(str(one["job"]) for one in speedups)),
        busy=list(dict.fromkeys(str(one["configuration"]) for one in busy)),
        setups=[str(one["setup"]) for one in setups],
        runtimes=sorted(every),
    )


def _cost(ratio: float) -> str:
    return f"cost {ratio:g}:1"


def _split(one: SharedJob) -> str:
    return one.label.rpartition(", ")[0]


def _record(one: SharedJob, cell: JobCell) -> Record:
    return {
        "situation": 0,
        "runtime": one.way,
        "job": cell.title,
        "configuration": one.label,
        "speedup": one.speedup,
        "low": one.speedup_low,
        "high": one.speedup_high,
        "speedup_text": _times_text(one),
        "verdict": one.to_serial.verdict,
        "time": text.seconds(one.seconds),
        "imbalance_text": text.UNKNOWN if one.imbalance is None else f"{one.imbalance:.2f}",
        "rounds": one.rounds,
    }


def _times_text(one: SharedJob) -> str:
    """As people write it: "1.96× (1.94 to 1.98)"."""
    if one.speedup is None:
        return text.UNKNOWN
    if one.speedup_low is None or one.speedup_high is None:
        return f"{one.speedup:.2f}×"
    return f"{one.speedup:.2f}× ({one.speedup_low:.2f} to {one.speedup_high:.2f})"
