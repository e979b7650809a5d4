"""The timeline as a file for ui.perfetto.dev: the JSON events that it has in common with Chrome."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tautochrone.measuring.sampler import LoadSample
from tautochrone.trace.threads import ThreadTrack, moves_over_time

_CPUS, _THREADS, _MACHINE = 1, 2, 3
_LEAST_SHARE = 0.01

Event = dict[str, object]


def events(
    tracks: Sequence[ThreadTrack],
    load: Iterable[LoadSample] = (),
    watts: Iterable[tuple[float, float]] = (),
) -> dict[str, object]:
    """A track for each CPU and each thread, counters for load, clock, watts, migrations; in microseconds."""
    listed: list[Event] = [
        _named(_CPUS, "process_name", "CPUs"),
        _named(_THREADS, "process_name", "threads"),
        _named(_MACHINE, "process_name", "machine"),
    ]
    cpus = sorted({piece.cpu for track in tracks for piece in track.slices})
    listed += [_named(_CPUS, "thread_name", f"CPU {cpu}", cpu) for cpu in cpus]
    for track in tracks:
        listed.append(_named(_THREADS, "thread_name", f"{track.name} {track.tid}", track.tid))
        listed += _slices(track)
    for sample in load:
        listed.append(_counter(f"load of CPU {sample.cpu}", sample.seconds, "percent", 100 * sample.busy))
        if sample.hertz is not None:
            listed.append(_counter(f"clock of CPU {sample.cpu}", sample.seconds, "hertz", sample.hertz))
    listed += [_counter("power", seconds, "watts", value) for seconds, value in watts]
    listed += [
        _counter("migrations", seconds, "threads", count) for seconds, count in moves_over_time(tracks)
    ]
    return {"displayTimeUnit": "ms", "traceEvents": listed}


def _slices(track: ThreadTrack) -> list[Event]:
    listed: list[Event] = []
    for piece in track.slices:
        span = piece.end - piece.begin
        if span <= 0.0 or piece.run_seconds < _LEAST_SHARE * span:
            continue
        share = f"{100 * piece.run_seconds / span:.0f} %"
        waited = None if piece.wait_seconds is None else round(piece.wait_seconds, 6)
        about = {"tid": track.tid, "run": share, "wait_seconds": waited, "cpu": piece.cpu}
        for pid, tid, seconds, name in (
            # On a CPU's track pieces lie one over the other: each is as long as it ran.
            (_CPUS, piece.cpu, piece.run_seconds, track.name),
            (_THREADS, track.tid, span, f"{share} on CPU {piece.cpu}"),
        ):
            place = {"ph": "X", "ts": 1e6 * piece.begin, "pid": pid, "tid": tid}
            listed.append({**place, "dur": 1e6 * seconds, "name": name, "args": about})
    return listed


def _named(pid: int, what: str, name: str, tid: int = 0) -> Event:
    return {"ph": "M", "pid": pid, "tid": tid, "name": what, "args": {"name": name}}


def _counter(name: str, seconds: float, unit: str, value: float) -> Event:
    return {"ph": "C", "pid": _MACHINE, "ts": 1e6 * seconds, "name": name, "args": {unit: value}}
