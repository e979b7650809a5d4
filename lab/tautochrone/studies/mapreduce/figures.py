"""The chart of the study of map/reduce, six curves of speed-up against threads, and what its text says."""

from __future__ import annotations

from tautochrone.simulator import machines
from tautochrone.simulator.findings import Axis
from tautochrone.studies.claims import percent
from tautochrone.studies.figures import Chapter, Curve, Drawn, Published, curve, point
from tautochrone.studies.mapreduce.claims import LONG, MACHINE, MIDDLE, QT_PEAK, SHORT, TASKS
from tautochrone.studies.mapreduce.claims_simulated import THREADS, Curves
from tautochrone.studies.mapreduce.findings import MapReduceAnalysis

_LENGTHS = {"0.4 ms": SHORT, "1 ms": MIDDLE, "3 ms": LONG}
_LIBRARIES = {"QtConcurrent": "qt", "oneTBB": "tbb"}
_THREADS = Axis(field="x", title="threads")


def chapter(measured: MapReduceAnalysis | None) -> Chapter:
    """Its charts; with the curves of a study that was measured here."""
    machine = machines.load(MACHINE)
    curves = Curves(machine)
    return Chapter(
        family="M",
        title="Short tasks: map/reduce with QtConcurrent and oneTBB",
        machine=machine.name,
        figures=(
            _six_curves(curves),
            *(_one_length(curves, length, measured) for length in _LENGTHS),
            _waiting(curves),
        ),
    )


def _six_curves(curves: Curves) -> Drawn:
    qt, tbb = curves.speedups("qt", SHORT), curves.speedups("tbb", SHORT)
    peak = max(THREADS, key=lambda count: qt[count - 1])
    return Drawn(
        name="m-all",
        of="The chart: speed-up of both libraries on tasks of three lengths",
        heading=f"On 32 threads tasks of 0.4 ms run {tbb[-1]:.1f} times as fast with oneTBB and {qt[-1]:.1f} "
        f"times with Qt, whose best is at {peak} threads; published: it falls from 11 on",
        explanation="50 tasks. Every curve steps where ceil(50 / threads) does: at 17 and at 25 threads.",
        x=_THREADS,
        y=Axis(field="y", title="speed-up over one thread"),
        curves=tuple(
            curve(f"{library}, {length}", zip(THREADS, curves.speedups(runtime, size), strict=True))
            for length, size in _LENGTHS.items()
            for library, runtime in _LIBRARIES.items()
        ),
        published=(
            point("3 ms, 16 threads: 12.7× (published)", 16, 12.7),
            point("3 ms, 32 threads: 23× (published)", 32, 23),
            Published(says="0.4 ms: Qt begins to fall (published)", x=(10.5, 11.5)),
            Published(says="a step (published)", x=(16, 17)),
            Published(says="a step (published)", x=(24, 25)),
        ),
        claims=("M1",),
    )


def _one_length(curves: Curves, length: str, measured: MapReduceAnalysis | None) -> Drawn:
    size = _LENGTHS[length]
    qt, tbb = curves.speedups("qt", size), curves.speedups("tbb", size)
    more = tbb[-1] / qt[-1] - 1
    published = {
        "3 ms": (point("16 threads: 12.7×", 16, 12.7), point("32 threads: 23×", 32, 23)),
        "1 ms": (),
        "0.4 ms": (Published(says="Qt's best (published: falls from 11 on)", x=QT_PEAK),),
    }[length]
    says = {
        "3 ms": "published: alike, 12.7 and 23",
        "1 ms": "published: clearly better, and Qt still rises",
        "0.4 ms": "published: Qt falls",
    }[length]
    claims = {"3 ms": ("M2",), "1 ms": ("M3",), "0.4 ms": ("M4", "M6")}[length]
    return Drawn(
        name=f"m-{size // 1000}",
        of=f"The two curves of {length}",
        heading=f"Tasks of {length}: oneTBB {tbb[15]:.1f}× on 16 threads and {tbb[31]:.1f}× on 32, "
        f"{percent(more)} more than Qt there; {says}",
        explanation="The law of whole tasks allows 50 / ceil(50 / threads) on equal cores.",
        x=_THREADS,
        y=Axis(field="y", title="speed-up over one thread"),
        curves=(
            *(
                curve(name, zip(THREADS, curves.speedups(key, size), strict=True))
                for name, key in _LIBRARIES.items()
            ),
            curve("law of whole tasks", [(count, TASKS / -(-TASKS // count)) for count in THREADS]),
            *_measured(measured, size),
        ),
        published=published,
        claims=claims,
    )


def _measured(measured: MapReduceAnalysis | None, size: int) -> list[Curve]:
    """Both libraries with no settings on this machine as it is."""
    cells = [cell for cell in (measured.cells if measured is not None else ()) if not cell.emulated]
    cell = next((each for each in cells if (each.tasks, each.bytes) == (TASKS, size)), None)
    if cell is None:
        return []
    found = []
    for name, library in _LIBRARIES.items():
        points = sorted(
            (each.threads, each.speedup)
            for each in cell.configurations
            if each.library == library and each.is_default and each.speedup is not None
        )
        if points:
            found.append(curve(name, points, "measured"))
    return found


def _waiting(curves: Curves) -> Drawn:
    waits = {
        name: [(count, curves.row(key, SHORT, count)["waiting_share"]) for count in THREADS]
        for name, key in _LIBRARIES.items()
    }
    return Drawn(
        name="m-waiting",
        of="The profile: waiting for the mutex, and the clock that drops meanwhile",
        heading=f"On 32 threads Qt waits {percent(waits['QtConcurrent'][-1][1])} of the time and oneTBB "
        f"{percent(waits['oneTBB'][-1][1])}; published: 60 and 30 %",
        explanation="Tasks of 0.4 ms. The source does not say at how many threads its profile was taken.",
        x=_THREADS,
        y=Axis(field="y", title="waiting", percent=True),
        curves=tuple(curve(name, points) for name, points in waits.items()),
        published=(
            Published(says="Qt: about 60 % (published)", y=(0.58, 0.62)),
            Published(says="oneTBB: about 30 % (published)", y=(0.28, 0.32)),
        ),
        claims=("M5",),
    )
