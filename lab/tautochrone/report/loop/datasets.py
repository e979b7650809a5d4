"""From an analysis of the loop study to the small tables that its charts draw."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

import msgspec

from tautochrone.report import text
from tautochrone.report.loop.analysis_types import Cell, ConfigurationTime, CpuLoad, LoopAnalysis
from tautochrone.report.palette import runtime_key
from tautochrone.report.tables import Record, ratio_record, situations_of

OURS = "tautochrone"

# Long runs on 128 CPUs must not fill the page: the more strips there are, the fewer intervals each has.
_LOAD_RECORDS = 8000
_LOAD_INTERVALS = 80
_LOAD_RUNS = 12
_POINTS_A_SERIES = 24


class Datasets(msgspec.Struct, frozen=True):
    """The tables by name, and what the charts must know before they are drawn."""

    tables: dict[str, list[Record]]
    situations: list[dict[str, float]]
    sizes: list[int]
    runtimes: list[str]
    load_runs: list[CpuLoad]


def best_of_runtime(cell: Cell) -> dict[str, ConfigurationTime]:
    """The configuration that stands for each runtime in a cell: a peer's fastest, our default.

    Peers are shown at their best; ours is shown as one gets it with no settings.
    """
    chosen: dict[str, ConfigurationTime] = {}
    for candidate in cell.configurations:
        if candidate.seconds is None:
            continue
        key = runtime_key(candidate.runtime, candidate.library)
        present = chosen.get(key)
        if present is None or _preference(key, candidate) < _preference(key, present):
            chosen[key] = candidate
    return chosen


def _preference(key: str, candidate: ConfigurationTime) -> tuple[bool, bool, float]:
    ours_by_default = key == OURS and candidate.is_default
    # a screened configuration has few rounds, which were also used to choose: finalists come first
    return (not ours_by_default, not candidate.is_finalist, candidate.seconds or math.inf)


def build(analysis: LoopAnalysis) -> Datasets:
    """All tables of an analysis. Linear in the number of configurations and samples."""
    situations = situations_of(analysis.cells)
    times: list[Record] = []
    points: list[Record] = []
    bounds: list[Record] = []
    ratios: list[Record] = []
    for cell in sorted(analysis.cells, key=lambda one: one.size):
        place = {"situation": situations.index(dict(cell.emulated)), "size": cell.size}
        for key, configuration in best_of_runtime(cell).items():
            times.append(place | _time_record(key, configuration, cell))
            points.extend(place | point for point in _point_records(key, configuration, cell))
        bounds.extend(place | record for record in _bound_records(cell))
        ratios.extend(place | record for record in map(ratio_record, cell.peer_ratios) if record)
    load_runs = list(analysis.cpu_load[:_LOAD_RUNS])
    strips = sum(len({sample.cpu for sample in run.samples}) for run in load_runs)
    intervals = max(8, min(_LOAD_INTERVALS, _LOAD_RECORDS // max(1, strips)))
    tables = {
        "times": times,
        "points": points,
        "bounds": bounds,
        "ratios": ratios,
        "chunks": _chunk_records(analysis, situations),
        "bandwidth": _bandwidth_records(analysis, situations),
        "load": [one for index, run in enumerate(load_runs) for one in _load_records(index, run, intervals)],
        "misses": _miss_records(analysis, situations),
    }
    runtimes = {
        str(record["runtime"]) for table in tables.values() for record in table if "runtime" in record
    }
    for cell in analysis.cells:
        runtimes |= {runtime_key(one.runtime, one.library) for one in cell.configurations}
    return Datasets(
        tables=tables,
        situations=situations,
        sizes=sorted({cell.size for cell in analysis.cells}),
        runtimes=sorted(runtimes),
        load_runs=load_runs,
    )


def _time_record(key: str, configuration: ConfigurationTime, cell: Cell) -> Record:
    seconds, low, high = configuration.seconds, configuration.low, configuration.high
    record: Record = {
        "runtime": key,
        "configuration": configuration.label,
        "seconds": seconds,
        "low": low,
        "high": high,
        "time": text.seconds(seconds),
        "interval": text.seconds_interval(low, high) or "too few rounds",
        "rounds": configuration.rounds or len(configuration.points),
    }
    sequential = cell.sequential_seconds
    if sequential and seconds:
        record["speedup"] = sequential / seconds
        # the slower end of the time is the lower end of the speed-up
        record["speedup_low"] = sequential / high if high else None
        record["speedup_high"] = sequential / low if low else None
        record["speedup_text"] = f"{text.significant(sequential / seconds)}×"
    return record


def _point_records(key: str, configuration: ConfigurationTime, cell: Cell) -> Iterable[Record]:
    step = max(1, math.ceil(len(configuration.points) / _POINTS_A_SERIES))
    for seconds in configuration.points[::step]:
        speedup = cell.sequential_seconds / seconds if cell.sequential_seconds else None
        yield {"runtime": key, "seconds": seconds, "speedup": speedup}


def _bound_records(cell: Cell) -> Iterable[Record]:
    if cell.bound_seconds is not None or cell.bound_speedup is not None:
        yield {
            "seconds": cell.bound_seconds,
            "speedup": cell.bound_speedup,
            "time": text.seconds(cell.bound_seconds),
            "speedup_text": f"{text.significant(cell.bound_speedup)}×"
            if cell.bound_speedup
            else text.UNKNOWN,
            "fast": text.seconds(cell.fast_seconds),
            "slow": text.seconds(cell.slow_seconds),
        }


def _chunk_records(analysis: LoopAnalysis, situations: Sequence[Mapping[str, float]]) -> list[Record]:
    return [
        {
            "situation": situations.index(dict(point.emulated)),
            "size": point.size,
            "runtime": runtime_key(point.runtime),
            "schedule": point.schedule,
            "chunk": point.chunk,
            "seconds": point.seconds,
            "low": point.low,
            "high": point.high,
            "time": text.seconds(point.seconds),
            "interval": text.seconds_interval(point.low, point.high) or "too few rounds",
        }
        for point in sorted(analysis.chunk_series, key=lambda one: one.chunk)
        if dict(point.emulated) in situations and point.chunk > 0
    ]


def _bandwidth_records(analysis: LoopAnalysis, situations: Sequence[Mapping[str, float]]) -> list[Record]:
    """The fastest configuration of each runtime at each size: one line a runtime."""
    best: dict[tuple[int, int, str], Record] = {}
    for point in analysis.bandwidth:
        if point.triad_share is None or dict(point.emulated) not in situations:
            continue
        key = (situations.index(dict(point.emulated)), point.size, runtime_key(point.runtime))
        present = best.get(key)
        if present is None or point.bytes_per_second > float(str(present["rate"])):
            best[key] = {
                "situation": key[0],
                "size": key[1],
                "runtime": key[2],
                "configuration": point.configuration,
                "share": point.triad_share,
                "rate": point.bytes_per_second,
                "rate_text": text.quantity(point.bytes_per_second, "B/s"),
                "share_text": text.percent(point.triad_share),
                "members": point.members,
            }
    return sorted(best.values(), key=lambda record: int(str(record["size"])))


def _load_records(index: int, run: CpuLoad, intervals: int) -> Iterable[Record]:
    """Samples of each CPU, averaged to at most so many intervals, each with its two ends."""
    for cpu in sorted({sample.cpu for sample in run.samples}):
        samples = sorted((one for one in run.samples if one.cpu == cpu), key=lambda one: one.seconds)
        group = math.ceil(len(samples) / intervals)
        begin = 0.0
        for start in range(0, len(samples), group):
            part = samples[start : start + group]
            clocks = [one.hertz for one in part if one.hertz is not None]
            busy = sum(one.busy for one in part) / len(part)
            hertz = sum(clocks) / len(clocks) if clocks else None
            yield {
                "run": index,
                "cpu": f"CPU {cpu}",
                "begin": begin,
                "end": part[-1].seconds,
                "busy": busy,
                "busy_text": text.percent(busy),
                "clock": text.quantity(hertz, "Hz"),
            }
            begin = part[-1].seconds


def _miss_records(analysis: LoopAnalysis, situations: Sequence[Mapping[str, float]]) -> list[Record]:
    records: list[Record] = []
    for miss in analysis.miss_ratios or ():
        for counter, value in (
            ("cache-misses / cache-references", miss.cache_miss_ratio),
            ("LLC-load-misses / LLC-loads", miss.llc_load_miss_ratio),
        ):
            if value is not None and dict(miss.emulated) in situations:
                records.append(
                    {
                        "situation": situations.index(dict(miss.emulated)),
                        "size": miss.size,
                        "runtime": runtime_key(miss.runtime),
                        "configuration": miss.configuration,
                        "counter": counter,
                        "ratio": value,
                        "ratio_text": text.percent(value),
                    }
                )
    return sorted(records, key=lambda record: int(str(record["size"])))
