"""The timeline as a page that opens offline: a track for each CPU and each thread, drawn as plain SVG."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from importlib import resources

import jinja2
import msgspec

from tautochrone import text
from tautochrone.trace import balanced
from tautochrone.trace.findings import Findings
from tautochrone.trace.first import first_screen, migrations, waited
from tautochrone.trace.threads import Slice, ThreadTrack, Traced, moves_over_time

_WIDTH, _HEIGHT = 1000.0, 20.0
_MOST_PIECES = 12_000  # in all tracks together: 40 bytes each
_MOST_COLUMNS = 600
_LEVELS = 20
_COLORS = 8
_MOST_LINES, _LINES_HEIGHT = 8, 200.0


class Bar(msgspec.Struct, frozen=True):
    """A rectangle of a track, in its own units: 1000 wide, 20 high."""

    x: float
    y: float
    width: float
    height: float
    kind: str  # a CSS class


class Line(msgspec.Struct, frozen=True):
    """One of the curves that share a picture, 1000 wide and 200 high."""

    label: str
    note: str
    points: str
    kind: str  # a CSS class


class Track(msgspec.Struct, frozen=True):
    """One line of the page. ``line``: points of a curve; ``odd``: the thread that the advice names."""

    label: str
    note: str
    bars: list[Bar]
    line: str = ""
    odd: bool = False


def render(traced: Traced, judged: Findings) -> str:
    seconds = max(traced.threads.seconds, traced.ended.seconds, 1e-9)
    tracks = traced.threads.tracks
    shown = sorted(tracks, key=lambda track: -track.run_seconds)
    columns = max(20, min(_MOST_COLUMNS, _MOST_PIECES // max(1, 2 * len(tracks))))
    colors = {track.tid: index % _COLORS for index, track in enumerate(shown)}
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("tautochrone.report", "templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    css = (resources.files("tautochrone.report") / "templates" / "report.css").read_text(encoding="utf-8")
    return environment.get_template("trace.html.j2").render(
        css=css,
        command=shlex.join(traced.command),
        first=first_screen(traced, judged),
        facts=_facts(traced, judged),
        cpus=[_cpu_track(cpu, tracks, colors, seconds, columns) for cpu in _cpus(tracks)],
        threads=[_thread_track(track, judged, colors, seconds, columns) for track in shown],
        progress=_progress(traced, judged, colors, seconds),
        curves=_curves(traced, seconds),
        ticks=[
            (f"{100 * part / 4:g}%", text.seconds(seconds * part / 4) if part else "0 s") for part in range(5)
        ],
        left_out=traced.threads.left_out,
    )


def _facts(traced: Traced, judged: Findings) -> list[tuple[str, str]]:
    ended, sampled = traced.ended, traced.threads
    energy = traced.energy.joules if traced.energy is not None else None
    return [
        ("time", text.seconds(ended.seconds)),
        ("CPU-seconds", text.seconds(ended.cpu_seconds)),
        (
            "imbalance (busiest / mean)",
            "not known" if judged.imbalance is None else f"{judged.imbalance:.2f}",
        ),
        ("migrations", migrations(traced, judged)),
        ("waited for a CPU", waited(judged)),
        ("energy", f"not known: {traced.no_joules}" if energy is None else text.quantity(energy, "J")),
        *([("balancing", balanced.in_words(traced.balance))] if traced.balance is not None else []),
        ("samples", f"{sampled.samples}, in {text.seconds(traced.sampler_cpu_seconds)} of CPU time"),
    ]


def _cpus(tracks: Sequence[ThreadTrack]) -> list[int]:
    return sorted({piece.cpu for track in tracks for piece in track.slices if piece.run_seconds > 0})


def _thread_track(
    track: ThreadTrack, judged: Findings, colors: dict[int, int], seconds: float, columns: int
) -> Track:
    running = _binned(track.slices, seconds, columns, lambda piece: piece.run_seconds)
    waiting = _binned(track.slices, seconds, columns, lambda piece: piece.wait_seconds or 0.0)
    bars = _bars(running, [0.0] * columns, f"c{colors[track.tid]}")
    bars += _bars([min(wait, 1.0 - run) for run, wait in zip(running, waiting, strict=True)], running, "wait")
    note = f"ran {text.seconds(track.run_seconds)}"
    if track.wait_seconds is not None:
        note += f", waited {text.seconds(track.wait_seconds)}"
    odd = judged.unbalanced is not None and judged.unbalanced.tid == track.tid
    return Track(f"{track.name} {track.tid}", f"{note}, moved {track.moves}×", bars, odd=odd)


def _cpu_track(
    cpu: int, tracks: Sequence[ThreadTrack], colors: dict[int, int], seconds: float, columns: int
) -> Track:
    """The threads that ran there, one on top of the other."""
    below = [0.0] * columns
    bars: list[Bar] = []
    total = 0.0
    for track in tracks:
        slices = [piece for piece in track.slices if piece.cpu == cpu and piece.run_seconds > 0]
        if not slices:
            continue
        total += sum(piece.run_seconds for piece in slices)
        shares = _binned(slices, seconds, columns, lambda piece: piece.run_seconds)
        shares = [min(share, 1.0 - low) for share, low in zip(shares, below, strict=True)]
        bars += _bars(shares, below, f"c{colors[track.tid]}")
        below = [low + share for low, share in zip(below, shares, strict=True)]
    return Track(f"CPU {cpu}", f"{text.percent(min(1.0, total / seconds))} of the time", bars)


def _binned(
    slices: Sequence[Slice], seconds: float, columns: int, amount: Callable[[Slice], float]
) -> list[float]:
    """The share of each column of the timeline, from 0 to 1, in levels that make neighbours equal."""
    width = seconds / columns
    sums = [0.0] * columns
    for piece in slices:
        span = piece.end - piece.begin
        value = amount(piece)
        if span <= 0.0 or value <= 0.0:
            continue
        first, last = int(piece.begin / width), min(int(piece.end / width), columns - 1)
        for column in range(max(first, 0), last + 1):
            begin, end = max(piece.begin, column * width), min(piece.end, (column + 1) * width)
            if end > begin:
                sums[column] += value * (end - begin) / span
    return [min(1.0, round(_LEVELS * share / width) / _LEVELS) for share in sums]


def _bars(shares: Sequence[float], below: Sequence[float], kind: str) -> list[Bar]:
    """Rectangles on top of those below; equal neighbours become one."""
    bars: list[Bar] = []
    width = _WIDTH / len(shares)
    start = 0
    for column in range(1, len(shares) + 1):
        if column < len(shares) and (shares[column], below[column]) == (shares[start], below[start]):
            continue
        if shares[start] > 0.0:
            top = _HEIGHT * (1.0 - below[start] - shares[start])
            bars.append(
                Bar(
                    round(start * width, 1),
                    round(max(top, 0.0), 1),
                    round((column - start) * width, 1),
                    round(_HEIGHT * shares[start], 1),
                    kind,
                )
            )
        start = column
    return bars


def _progress(traced: Traced, judged: Findings, colors: dict[int, int], seconds: float) -> list[Line]:
    """How far each thread that works got, where the speeds of the CPUs are known."""
    if traced.balance is None:
        return []
    pace = balanced.paces(traced.balance)
    of_each = [(track, balanced.progress(track, pace)) for track in judged.workers[:_MOST_LINES]]
    most = max((points[-1][1] for _, points in of_each if points), default=0.0) or 1.0
    return [
        Line(
            f"{track.name} {track.tid}",
            f"did {text.seconds(points[-1][1])} of work",
            " ".join(
                f"{_WIDTH * min(when / seconds, 1.0):.1f},{_LINES_HEIGHT * (1.0 - 0.97 * done / most):.1f}"
                for when, done in _thinned([(0.0, 0.0), *points])
            ),
            f"c{colors[track.tid]}",
        )
        for track, points in of_each
        if points
    ]


def _curves(traced: Traced, seconds: float) -> list[Track]:
    """Load and clock of each CPU, power of the machine, migrations, as far as there are any."""
    tracks: list[Track] = []
    for cpu in traced.cpus:
        samples = [sample for sample in traced.load.samples if sample.cpu == cpu]
        load = [(sample.seconds, sample.busy) for sample in samples]
        clock = [(sample.seconds, sample.hertz) for sample in samples if sample.hertz is not None]
        tracks += _curve(f"CPU {cpu} load", load, text.percent, seconds, top=1.0)
        tracks += _curve(f"CPU {cpu} clock", clock, lambda value: text.quantity(value, "Hz"), seconds)
    watts = traced.energy.watts() if traced.energy is not None else []
    tracks += _curve("power", watts, lambda value: text.quantity(value, "W"), seconds)
    moves = moves_over_time(traced.threads.tracks)
    if any(count for _, count in moves):
        tracks += _curve("migrations", moves, lambda value: f"{value:g}", seconds, each="a sample")
    return tracks


def _curve(
    label: str,
    points: Sequence[tuple[float, float]],
    written: Callable[[float], str],
    seconds: float,
    *,
    top: float | None = None,
    each: str = "",
) -> list[Track]:
    """A curve up to `top`, by default its highest point; more points than columns are drawn as means."""
    if not points:
        return []
    low, high = min(value for _, value in points), max(value for _, value in points)
    top = top or high or 1.0
    line = " ".join(
        f"{_WIDTH * min(when / seconds, 1.0):.1f},{_HEIGHT * (1.0 - 0.95 * value / top):.1f}"
        for when, value in _thinned(points)
    )
    return [Track(label, f"{written(low)} to {written(high)} {each}".rstrip(), [], line)]


def _thinned(points: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """At most `_MOST_COLUMNS` points: the mean of neighbours at the time of the last of them."""
    step = -(-len(points) // _MOST_COLUMNS)
    groups = [points[first : first + step] for first in range(0, len(points), step)]
    return [(group[-1][0], sum(value for _, value in group) / len(group)) for group in groups]
