"""The published claims on collectives and N-body in one node (N1 to N9), measured here and simulated.

N4 is the collective study's.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence

import msgspec

from tautochrone import text
from tautochrone.errors import TautoError
from tautochrone.report.analysis import Claim
from tautochrone.report.palette import name_of
from tautochrone.results.row import Row
from tautochrone.simulator import engine, machines, requests
from tautochrone.simulator.machines import Machine
from tautochrone.studies.claims import (
    Family,
    Finding,
    Knob,
    Statement,
    Verdict,
    percent,
    rows,
    sensitivity,
    within,
)
from tautochrone.studies.collective import claims as collective
from tautochrone.studies.nbody import ran
from tautochrone.studies.nbody.configurations import SERIAL
from tautochrone.studies.nbody.findings import BlockCurve, Crossing, Forecast
from tautochrone.studies.nbody.sentences import curve_of, ordinary_loops
from tautochrone.text import digits

_PARTICLES, _CORES = 2048, 16
_MANY_CPUS = 8  # fewer cannot decide what forks, copies and buses of 16 cores cost

FAMILY = Family(
    collective.MACHINE,
    {
        "N1": Statement(
            says="ordinary OpenMP starts at least three parallel loops a block; fork/join dominates when few "
            "are active",
            tolerance="more than half of a block with few active, less with many",
            fails_if="fork and join take half of a block or less with 8 active, or half or more with 1024",
            cpus=_MANY_CPUS,
        ),
        "N2": Statement(
            says="one parallel region around everything needs private copies and a rewrite, as much as "
            "MPI does",
            tolerance="both versions exist and agree",
            fails_if="one of the two versions ends with other bits than the serial run",
            waits=False,
        ),
        "N3": Statement(
            says="i-parallel: one all_gather a block; j-parallel: one all_reduce a block",
            tolerance="both exist on every engine, same trajectories",
            fails_if="one of the two schemes ends with other bits on some engine",
            waits=False,
        ),
        "N5": Statement(
            says="model for 2048 particles: 16 cores give a little over 8× when many are active (i-parallel)",
            tolerance="7 to 9.5×",
            fails_if="with 512, 1024 or 2048 active the speed-up is below 7 or above 9.5",
            cpus=_CORES,
        ),
        "N6": Statement(
            says="below about 100 active particles j-parallel is faster",
            tolerance="crossing from 50 to 200",
            fails_if="i-parallel is faster for good from fewer than 50 active on, or only from more than "
            "200 on",
            cpus=_CORES,
        ),
        "N7": Statement(
            says="with many active the limit is all_gather's throughput, not its latency: the bandwidth of "
            "the memory or the last-level cache",
            tolerance="shown by the model's terms: which one moves the time",
            fails_if="with 2048 active the exchange is less than a fifth of a block, or half the latency "
            "shortens it by a tenth, or twice the copy bandwidth by less than a quarter",
            cpus=_CORES,
        ),
        "N8": Statement(
            says="splitting over i and j at once lowers what each core communicates, but on a ring or a "
            "shared bus it hardly improves anything",
            tolerance="at most 15 % less than the exchange of i-parallel; clearly less without that "
            "bottleneck",
            fails_if="each core receives no less, or the exchange takes over 15 % less than that of "
            "i-parallel on the shared buses, or not even that on buses of each group's own",
            cpus=_CORES,
        ),
        "N9": Statement(
            says="threads reading each other's data directly need none of the copies: how much better than "
            "8× is possible",
            tolerance="modelled for 16 cores; OpenMP's loops pay the same coherence traffic",
            fails_if="threads reach 8× or less, or no more than MPI, or less than OpenMP's loops",
            cpus=_CORES,
        ),
    },
)
_DOMINATES = 0.5  # N1: of a block with few active, not of one with many
_SPEED_UP = (7.0, 9.5)  # N5
_CROSSING = (50, 200)  # N6, active particles
_WITHOUT_COPIES = 8  # N9: times one core, and more
_HARDLY = 0.15  # N8: of the time


def _crosses(active: float | None) -> bool:
    """N6: whether i-parallel wins from the published active count on, about."""
    return active is not None and within(_CROSSING, active)


# -- measured and modelled here --


def claims(
    curves: Sequence[BlockCurve],
    crossings: Sequence[Crossing],
    forecasts: Sequence[Forecast],
    rows: Sequence[Row],
) -> tuple[Claim, ...]:
    """Those that can be measured or modelled here; N7 and N8 only the simulator tells."""
    return (
        *_fork_join(curves),
        *_one_region(curves, rows),
        *_both_schemes(rows),
        *_forecast(crossings, forecasts),
    )


def _fork_join(curves: Sequence[BlockCurve]) -> Iterator[Claim]:
    loops = [curve for curve in ordinary_loops(curves) if curve.points]
    if not loops:
        return
    ends = [(curve, curve.points[0], curve.points[-1]) for curve in loops]
    ours = "; ".join(
        f"{name_of(curve.runtime)}, {curve.particles:,} particles: {text.percent(few.shared_share)} with "
        f"{few.active:.0f} active, {text.percent(many.shared_share)} with {many.active:.0f}"
        for curve, few, many in ends
    )
    holds = all(few.shared_share > _DOMINATES > many.shared_share for _, few, many in ends)
    members = text.count(loops[0].members, "thread")
    note = f"measured with {members}; the time to fork grows with their number"
    yield FAMILY.measured("N1", ours, holds, note)


def _one_region(curves: Sequence[BlockCurve], rows: Sequence[Row]) -> Iterator[Claim]:
    times = [
        f"{digits(100 * region.seconds / loops.seconds)} % of the loops’ time "
        f"({name_of(loops.runtime)}, {loops.particles:,} particles)"
        for loops in ordinary_loops(curves)
        if (region := curve_of(curves, loops.particles, loops.runtime, "region-i")) is not None
    ]
    if times:
        agreed, bits = _agreed(rows, ("loops-i", "region-i"), "both versions end with the same bits")
        note = "each thread has targets of its own; the sources stay shared"
        yield FAMILY.measured("N2", f"{bits}; one region takes {', '.join(times)}", agreed, note)


def _both_schemes(rows: Sequence[Row]) -> Iterator[Claim]:
    schemes = ("i", "j")
    good = [row.config for row in rows if row.error is None]
    engines = sorted({str(config["library"]) for config in good if config["schedule"] in schemes})
    if engines:
        same = "every run of a scheme ended with the same bits on all of them"
        agreed, bits = _agreed(rows, schemes, same)
        names = ", ".join(map(name_of, engines))
        ours = f"both, with one exchange a block by construction, on {names}; {bits}"
        yield FAMILY.measured("N3", ours, agreed)


def _agreed(rows: Sequence[Row], schemes: Sequence[str], same: str) -> tuple[bool | None, str]:
    """Whether all runs ended with the bits that they should, in words; None without a run of one core."""
    wrong = [row for row in rows if row.error is not None and row.error.kind == "wrong_answer"]
    if any(row.config["schedule"] in schemes for row in wrong):
        return False, "some runs ended with other bits"
    if any(row.error is None and row.config["schedule"] == SERIAL for row in rows):
        return True, same
    return None, "nothing to compare their bits with"


def _forecast(crossings: Sequence[Crossing], forecasts: Sequence[Forecast]) -> Iterator[Claim]:
    """N5, N6 and N9: of 16 cores like these."""
    sixteen = [forecast for forecast in forecasts if forecast.members == _CORES]
    if not sixteen:
        return
    forecast = min(sixteen, key=lambda forecast: abs(forecast.particles - _PARTICLES))
    where = f"modelled for {_CORES} cores like these and {forecast.particles:,} particles, between threads"
    many = f"{forecast.speed_up_of_many:.1f}× when all move, {forecast.speed_up:.1f}× over all blocks"
    of_mpi = "the claim is of MPI’s processes on cores of 2013"
    yield FAMILY.measured("N5", many, None, f"{where}: {of_mpi}")
    at = "never" if forecast.crossing is None else f"from {forecast.crossing:.0f} active"
    measured = [
        f"{name_of(crossing.runtime)} from {crossing.active:.0f}"
        for crossing in crossings
        if crossing.particles == forecast.particles and crossing.active is not None
    ]
    if measured:
        at += f"; measured with {crossings[0].members} members: {', '.join(measured)}"
    # A model of 16 cores made of few measured ones: it shows, and decides nothing.
    yield FAMILY.measured("N6", f"sharing the targets wins {at}", None, f"{where}: not measured")
    yield FAMILY.measured("N9", many, None, f"{where}: not measured")


# -- on the simulated two-socket Xeon --


def simulated(wanted: Collection[str]) -> list[Verdict]:
    machine = machines.load(FAMILY.machine)
    found: list[Verdict] = []
    for number in range(1, 10):
        id = f"N{number}"
        if id in wanted:
            judge = _JUDGES.get(id)
            found.append(
                collective.simulated(machine) if judge is None else FAMILY.simulated(id, judge(machine))
            )
    return found


def speedup(row: engine.Row) -> float:
    """Against one core at its own clock."""
    return float(row["serial_seconds"]) / float(row["seconds"])


_COPIES = Knob("memory.copy_bytes_per_second", 50e9, 100e9)
_PREDICT = Knob("cores.core.predict_cycles", 12, 30)
_FORK = Knob("costs.fork_join_libgomp_seconds", 4e-6, 8e-6)


def _found(machine: Machine, ours: str, holds: Callable[[Machine], bool], knobs: Sequence[Knob]) -> Finding:
    """The verdict, and which parameter within its published range would change it."""
    now = holds(machine)
    return Finding(ours, now, sensitivity=sensitivity(machine, knobs, holds, now))


def _shares(machine: Machine) -> list[float]:
    """Of fork and join, of a block with few active and of one with many."""
    blocks = rows(machine, [requests.block(active, "i", "openmp_loops") for active in (8, 1024)])
    return [row["fork_join_seconds"] / row["seconds"] for row in blocks]


def _n1(machine: Machine) -> Finding:
    def judge(changed: Machine) -> bool:
        few, many = _shares(changed)
        return few > _DOMINATES > many

    shares = _shares(machine)
    ours = f"fork and join take {percent(shares[0])} of a block with 8 active, {percent(shares[1])} with 1024"
    return _found(machine, ours, judge, [_FORK])


def _ran(run: Callable[[], Finding | None], modelled: str) -> Finding:
    """What the engines end with decides, which no model has; beside it what the model shows."""
    try:
        found, why = run(), "not all engines that it needs are here"
    except TautoError as error:
        found, why = None, str(error)
    if found is None:
        note = f"a model has no trajectories to compare, and {why}: tauto study nbody decides it"
        return Finding(modelled, None, note)
    return msgspec.structs.replace(found, note=f"modelled: {modelled}")


def _n2(machine: Machine) -> Finding:
    engines = ("openmp_loops", "openmp_region")
    loops, region = rows(machine, [requests.block(8, "i", engine) for engine in engines])
    share = percent(region["seconds"] / loops["seconds"])
    ours = f"with 8 active the one region takes {share} of the loops' time"
    return _ran(ran.both_versions, ours)


def _n3(machine: Machine) -> Finding:
    engines = (requests.MPI, "mvapich2-1.9", "threads")
    rows(machine, [requests.block(64, scheme, engine) for engine in engines for scheme in ("i", "j")])
    return _ran(ran.both_schemes, f"one exchange a block, both schemes, on {', '.join(engines)}")


def _speed_ups(machine: Machine) -> list[float]:
    return [speedup(row) for row in rows(machine, [requests.block(n, "i") for n in (512, 1024, 2048)])]


def _n5(machine: Machine) -> Finding:
    speed_ups = _speed_ups(machine)
    ours = f"{min(speed_ups):.1f} to {max(speed_ups):.1f}× with 512 to 2048 active"

    def judge(changed: Machine) -> bool:
        return all(within(_SPEED_UP, times) for times in _speed_ups(changed))

    return _found(machine, ours, judge, [_COPIES])


def _crossing(machine: Machine) -> float:
    """The active count from which on i-parallel is faster."""
    counts = requests.ACTIVE
    by_targets, by_sources = (
        rows(machine, [requests.block(active, scheme, requests.MPI) for active in counts])
        for scheme in ("i", "j")
    )
    last = 0
    for place, (targets, sources) in enumerate(zip(by_targets, by_sources, strict=True)):
        if sources["seconds"] < targets["seconds"]:
            last = place
    return (counts[last] + counts[min(last + 1, len(counts) - 1)]) / 2


def _n6(machine: Machine) -> Finding:
    ours = f"j-parallel is faster below about {_crossing(machine):.0f} active"
    return _found(machine, ours, lambda changed: _crosses(_crossing(changed)), [_PREDICT, _COPIES])


def _exchange(machine: Machine) -> engine.Row:
    (row,) = rows(machine, [requests.block(2048, "i")])
    return row


def _shortened(machine: Machine, changed: dict[str, object]) -> float:
    """By what share the exchange is shorter on the changed machine."""
    other = _exchange(machines.with_values(machine, changed))
    return float(1 - other["exchange_seconds"] / _exchange(machine)["exchange_seconds"])


def _n7(machine: Machine) -> Finding:
    row = _exchange(machine)
    exchange = row["exchange_seconds"] / row["seconds"]
    by_latency = _shortened(machine, {"mpi.message_latency_seconds": machine.mpi.message_latency_seconds / 2})
    by_copies = _shortened(
        machine, {"memory.copy_bytes_per_second": 2 * machine.memory.copy_bytes_per_second}
    )
    ours = (
        f"with 2048 active the all_gather is {percent(exchange)} of a block; half the latency shortens it by "
        f"{percent(by_latency)}, twice the copy bandwidth by {percent(by_copies)}"
    )
    return Finding(ours, exchange > 0.2 and by_latency < 0.1 and by_copies >= 0.25)


def _by_both(machine: Machine) -> tuple[float, float, float]:
    """16 cores as 4 × 4 by i-parallel: what a core receives, the time on shared buses, and on own ones.

    A gather of a quarter of the active among 4, and a reduction among 4.
    """
    active = 1024
    both = [
        requests.collective("all_gather", requests.MPI, active * 14 // 4, 4),
        requests.collective("all_reduce", requests.MPI, active * 7 // 4, 4),
    ]
    (whole,) = rows(machine, [requests.collective("all_gather", requests.MPI, active * 14, 16)])
    alone = rows(machine, both)
    # Four groups of four at once share the same buses: a quarter for each.
    copies = machine.memory.copy_bytes_per_second / 4
    shared = rows(machines.with_values(machine, {"memory.copy_bytes_per_second": copies}), both)
    received = sum(row["bytes_moved"] for row in alone) / 4 / (whole["bytes_moved"] / 16)
    times = [sum(row["seconds"] for row in phases) / whole["seconds"] for phases in (shared, alone)]
    return float(received), float(times[0]), float(times[1])


def _hardly_improves(machine: Machine) -> bool:
    received, shared, alone = _by_both(machine)
    return received < 1 and shared >= 1 - _HARDLY and alone < 1 - _HARDLY


def _n8(machine: Machine) -> Finding:
    received, shared, alone = _by_both(machine)
    ours = (
        f"4 × 4: each core receives {percent(received)} of what it does in i-parallel, which takes "
        f"{percent(shared)} of the time over the shared buses, {percent(alone)} if each group had them "
        "for itself"
    )
    found = _found(machine, ours, _hardly_improves, [_COPIES])
    note = "on a shared bus the time follows the bytes, and 4 × 4 moves fewer of them; "
    note += "tauto simulate nbody --smpi runs it (grid)"
    return msgspec.structs.replace(found, note="" if found.holds else note)


def _direct(machine: Machine) -> dict[str, float]:
    engines = ("threads", requests.MPI, "openmp_loops", "openmp_region")
    return dict(
        zip(
            engines, map(speedup, rows(machine, [requests.block(2048, "i", e) for e in engines])), strict=True
        )
    )


def _better_than_copies(machine: Machine) -> bool:
    times = _direct(machine)
    threads = times["threads"]
    return threads > _WITHOUT_COPIES and threads > times[requests.MPI] and threads >= times["openmp_loops"]


def _n9(machine: Machine) -> Finding:
    times = _direct(machine)
    ours = (
        f"with 2048 active threads {times['threads']:.1f}×, MPI {times[requests.MPI]:.1f}×, OpenMP's loops "
        f"{times['openmp_loops']:.1f}×, one region {times['openmp_region']:.1f}×"
    )
    return _found(machine, ours, _better_than_copies, [_COPIES, _FORK])


_JUDGES: dict[str, Callable[[Machine], Finding]] = {
    "N1": _n1,
    "N2": _n2,
    "N3": _n3,
    "N5": _n5,
    "N6": _n6,
    "N7": _n7,
    "N8": _n8,
    "N9": _n9,
}
