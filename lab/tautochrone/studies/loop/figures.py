"""The charts of the study of loops on hybrid CPUs, on its machine, with its kernel and its placements."""

from __future__ import annotations

from collections.abc import Sequence

from tautochrone.simulator import machines
from tautochrone.simulator.findings import Axis
from tautochrone.simulator.requests import LOOP_SIZES, PUBLISHED
from tautochrone.studies.claims import percent, rows
from tautochrone.studies.figures import Chapter, Curve, Drawn, Published, curve, point
from tautochrone.studies.loop import published
from tautochrone.studies.loop.claims_simulated import SAME_MISSES, Grid, misses, sizes_passed
from tautochrone.studies.loop.findings import Cell, LoopAnalysis

_N = Axis(field="x", title="order of the matrix n", logarithmic=True)
_SPEED_UP = Axis(field="y", title="speed-up over one P-core")
_CHUNKS = (1, 2, 4, 8, 16)
_CHUNK_SIZES = (2000, 3000, 4000, 6000)
# What the source calls the four versions.
_VERSIONS = {
    "Static P+E": "static all",
    "Static P": "static fast",
    "Dynamic P+E": "dynamic all",
    "Static E": "static slow",
}
_WITH_CHUNKS = {**_VERSIONS, "Dynamic P+E, chunk 2": "dynamic,2 all"}
_BOUND = "S_Theor"


def chapter(measured: LoopAnalysis | None) -> Chapter:
    """All its charts; with the curves of a study that was measured here with the published kernel."""
    machine = machines.load(published.FAMILY.machine)
    grid = Grid(machine)
    serial = rows(machine, [_serial(size) for size in LOOP_SIZES])
    alone = {size: float(row["seconds"]) for size, row in zip(LOOP_SIZES, serial, strict=True)}
    cells = _published_cells(measured)
    return Chapter(
        family="H",
        title="Loops on unequal cores: OpenMP on hybrid CPUs (2026)",
        machine=machine.name,
        figures=(
            _first(grid, alone, cells),
            _with_bound(grid, alone, cells),
            _chunks(grid, cells),
            _final(grid, alone, cells),
            _misses(grid),
            _large(grid, alone),
            _load(grid),
        ),
    )


def _serial(size: int) -> dict[str, object]:
    return {
        "study": "loop",
        "size": size,
        "runtime": "serial",
        "schedule": "static",
        "kernel": PUBLISHED,
        "placement": "fast-cores",
    }


def _published_cells(measured: LoopAnalysis | None) -> list[Cell]:
    """Of the state with unequal cores, as the study has them."""
    if measured is None or measured.kernel != PUBLISHED:
        return []
    return sorted((cell for cell in measured.cells if cell.slow_seconds), key=lambda cell: cell.size)


def _speed_ups(grid: Grid, alone: dict[int, float], ways: dict[str, str]) -> list[Curve]:
    return [
        curve(name, [(size, alone[size] / grid.seconds(size, way)) for size in grid.sizes])
        for name, way in ways.items()
    ]


def _bound(grid: Grid, alone: dict[int, float]) -> Curve:
    return curve(_BOUND, [(size, alone[size] / grid.bound(size)) for size in grid.sizes])


def _measured(cells: Sequence[Cell], ways: dict[str, str]) -> list[Curve]:
    """Speed-ups of libgomp's loops over the serial one, here."""
    found = []
    for name, way in ways.items():
        how, placement = way.split()
        schedule, _, chunk = how.partition(",")
        points = []
        for cell in cells:
            wanted = (schedule, placement, int(chunk or 1) if schedule == "dynamic" else None)
            times = [
                each.seconds
                for each in cell.configurations
                if (each.schedule, each.placement, each.chunk) == wanted
                and each.library == "libgomp"
                and each.seconds
            ]
            if times and cell.sequential_seconds:
                points.append((cell.size, cell.sequential_seconds / min(times)))
        if points:
            found.append(curve(name, points, "measured"))
    return found


def _first(grid: Grid, alone: dict[int, float], cells: Sequence[Cell]) -> Drawn:
    gains = {
        size: 1
        - grid.seconds(size, "dynamic all")
        / min(grid.seconds(size, way) for way in ("static fast", "static all"))
        for size in grid.sizes
    }
    best = max(gains, key=lambda size: gains[size])
    return Drawn(
        name="h-first",
        of="The first chart: three versions, and the E-cores alone, against n",
        heading=f"Dynamic over all cores takes up to {percent(gains[best])} less time than the other two, at "
        f"n = {best}; published: up to 30 %, above n = 2000",
        explanation="Speed-up over the serial loop on one P-core. Below n = 2000 the source has Static P "
        "ahead.",
        x=_N,
        y=_SPEED_UP,
        curves=(*_speed_ups(grid, alone, _VERSIONS), *_measured(cells, _VERSIONS)),
        published=(Published(says="up to here Static P is fastest (published)", x=(grid.sizes[0], 2000)),),
        claims=("H1", "H2", "H3", "H10"),
    )


def _with_bound(grid: Grid, alone: dict[int, float], cells: Sequence[Cell]) -> Drawn:
    nearest = min(grid.sizes, key=lambda size: abs(grid.of_bound(size, "dynamic all") - 1))
    return Drawn(
        name="h-bound",
        of="The second chart: the bound S_Theor beside the three versions",
        heading=f"Nearest to the bound, dynamic over all takes {grid.of_bound(nearest, 'dynamic all'):.2f} "
        f"of its time, at n = {nearest}; published: it is reached at some sizes",
        explanation="S_Theor = T_seq (T_P + T_E) / (T_P T_E), of the P-cores and the E-cores side by side.",
        x=_N,
        y=_SPEED_UP,
        curves=(*_speed_ups(grid, alone, _VERSIONS), _bound(grid, alone), *_measured(cells, _VERSIONS)),
        claims=("H4", "H11"),
    )


def _chunks(grid: Grid, cells: Sequence[Cell]) -> Drawn:
    curves = []
    for size in _CHUNK_SIZES:
        times = [grid.seconds(size, f"dynamic,{chunk} all".replace(",1 ", " ")) for chunk in _CHUNKS]
        curves.append(curve(f"n = {size}", [(c, t / times[0]) for c, t in zip(_CHUNKS, times, strict=True)]))
    for cell in cells:
        by_chunk = {
            each.chunk: each.seconds
            for each in cell.configurations
            if (each.library, each.schedule, each.placement) == ("libgomp", "dynamic", "all") and each.seconds
        }
        first = by_chunk.get(1)
        if first and cell.size in _CHUNK_SIZES:
            points = [(chunk, t / first) for chunk, t in sorted(by_chunk.items()) if chunk and t]
            curves.append(curve(f"n = {cell.size}", points, "measured"))
    gain = 1 - grid.seconds(3000, "dynamic,2 all") / grid.seconds(3000, "dynamic all")
    return Drawn(
        name="h-chunk",
        of="The text on chunks: two rows at a time instead of one",
        heading=f"At n = 3000 chunk 2 takes {percent(gain)} less time than chunk 1; published: a notable "
        "gain, and no notable one above 2",
        explanation="Time of dynamic over all cores, as a part of its time with chunk 1.",
        x=Axis(field="x", title="chunk, rows", logarithmic=True),
        y=Axis(field="y", title="time by that of chunk 1"),
        curves=tuple(curves),
        claims=("H5",),
    )


def _final(grid: Grid, alone: dict[int, float], cells: Sequence[Cell]) -> Drawn:
    over = sizes_passed(grid)
    passed = f"passed at n = {', '.join(map(str, over))}" if over else "passed at none of the published sizes"
    return Drawn(
        name="h-final",
        of="The final chart: chunk 2 beside the bound",
        heading=f"With chunk 2 the bound is {passed}; published: exceeded between 3000 and 5000",
        explanation="Above the bound, more cores bring more cache.",
        x=_N,
        y=_SPEED_UP,
        curves=(*_speed_ups(grid, alone, _WITH_CHUNKS), _bound(grid, alone), *_measured(cells, _WITH_CHUNKS)),
        published=(Published(says="the bound is exceeded here (published)", x=published.PASSED_SIZES),),
        claims=("H6",),
    )


def _misses(grid: Grid) -> Drawn:
    both = {size: misses(grid, size) for size in grid.sizes}
    curves = [
        curve(name, [(size, ratios[which]) for size, ratios in both.items()])
        for which, name in enumerate(("Static P", "Dynamic P+E"))
    ]
    more = [size for size, (fast, everyone) in both.items() if fast > everyone + SAME_MISSES]
    span = f"from n = {min(more)} to {max(more)}" if more else "nowhere"
    return Drawn(
        name="h-misses",
        of="The charts of perf: cache-misses / cache-references, LLC-load-misses / LLC-loads",
        heading=f"Static P misses more than Dynamic P+E {span}; published: only from 3000 to 5000",
        explanation="Bytes from memory by bytes that pass the L2 caches; perf counts demand loads alone.",
        x=_N,
        y=Axis(field="y", title="miss ratio", percent=True),
        curves=tuple(curves),
        published=(
            Published(says="only here Static P misses more (published)", x=published.PASSED_SIZES),
            Published(says="near 100 % (published)", x=(12000, 16000), y=(0.9, 1.0)),
        ),
        claims=("H7",),
    )


def _large(grid: Grid, alone: dict[int, float]) -> Drawn:
    large = tuple(size for size in grid.sizes if size >= published.LARGE_SIZE)
    ways = {**_WITH_CHUNKS, "Dynamic P": "dynamic,2 fast"}
    ways.pop("Static E")
    size = large[-1]
    static = alone[size] / grid.seconds(size, "static all")
    fast = alone[size] / grid.seconds(size, "static fast")
    gain = 1 - grid.seconds(size, "static fast") / grid.seconds(size, "static all")
    return Drawn(
        name="h-large",
        of="The large sizes, looked at closely",
        heading=f"At n = {size} Static P takes {percent(gain)} less time than Static P+E; published: 10 "
        "to 15 %, and dynamic 3 % less again",
        explanation="Speed-up over the serial loop, where the memory's bandwidth rules.",
        x=_N,
        y=_SPEED_UP,
        curves=tuple(
            curve(name, [(n, alone[n] / grid.seconds(n, way)) for n in large]) for name, way in ways.items()
        ),
        published=(
            Published(
                says="10 to 15 % less time than Static P+E (published)",
                x=(size, size),
                y=(static / 0.9, static / 0.85),
            ),
            point("3 % less time than Static P (published)", size, fast / 0.97),
        ),
        claims=("H8", "H9"),
    )


def _load(grid: Grid) -> Drawn:
    """s-tui's picture: which threads wait under equal shares."""
    size = 3000
    ways = {"Static P+E": "static all", "Dynamic P+E": "dynamic,2 all", "Static P": "static fast"}
    shares = [float(grid.row(size, way)["waiting_share"]) for way in ways.values()]
    return Drawn(
        name="h-load",
        of="The pictures of s-tui: the load of the cores under static and under dynamic",
        heading=f"With equal shares over all, threads wait {percent(shares[0])} of the time at n = {size}, "
        f"under dynamic {percent(shares[1])}",
        explanation="The part of all threads' time in which they have no work. Spinning counts as waiting, "
        "which s-tui shows as load.",
        x=Axis(field="name", title=""),
        y=Axis(field="y", title="waiting", percent=True),
        names=tuple(ways),
        curves=(curve("simulated", enumerate(shares)),),
        claims=("H9", "H12"),
    )
