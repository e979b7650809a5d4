"""The published claims on collectives and N-body in one node (N1 to N9), measured here and simulated.

N4 is the collective study's.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from tautochrone import text
from tautochrone.report.analysis import Claim
from tautochrone.report.palette import name_of
from tautochrone.results.row import Row
from tautochrone.simulator import engine, machines, requests
from tautochrone.simulator.machines import Machine
from tautochrone.studies.claims import Family, Knob, Statement, Verdict, percent, rows, sensitivity, within
from tautochrone.studies.collective import claims as collective
from tautochrone.studies.nbody.configurations import SERIAL
from tautochrone.studies.nbody.findings import BlockCurve, Crossing, Forecast
from tautochrone.studies.nbody.sentences import curve_of, ordinary_loops
from tautochrone.text import digits

FAMILY = Family(
    collective.MACHINE,
    {
        "N1": Statement(
            "ordinary OpenMP starts at least three parallel loops a block; fork/join dominates when few are"
            " active",
            "share of time in fork/join against the active count",
        ),
        "N2": Statement(
            "one parallel region around everything needs private copies and a rewrite, as much as MPI does",
            "both versions exist and agree",
        ),
        "N3": Statement(
            "i-parallel: one all_gather a block; j-parallel: one all_reduce a block",
            "both exist on every engine, same trajectories",
        ),
        "N5": Statement(
            "model for 2048 particles: 16 cores give a little over 8× when many are active (i-parallel)",
            "7 to 9.5×",
        ),
        "N6": Statement(
            "below about 100 active particles j-parallel is faster",
            "crossing from 50 to 200",
        ),
        "N7": Statement(
            "with many active the limit is all_gather's throughput, not its latency",
            "shown by the model's terms",
        ),
        "N8": Statement(
            "splitting over i and j at once lowers what each core communicates; a ring or shared bus limits"
            " the gain",
            "measured and modelled",
        ),
        "N9": Statement(
            "threads reading each other's data directly need none of the copies: how much better than 8× is"
            " possible",
            "modelled for 16 cores",
        ),
    },
)
_PARTICLES, _CORES = 2048, 16
_DOMINATES = 0.5  # N1: of a block with few active, not of one with many
_SPEED_UP = (7.0, 9.5)  # N5
_CROSSING = (50, 200)  # N6, active particles
_WITHOUT_COPIES = 8  # N9: times one core, and more


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
    yield FAMILY.measured("N6", f"sharing the targets wins {at}", _crosses(forecast.crossing), where)
    yield FAMILY.measured("N9", many, forecast.speed_up_of_many > _WITHOUT_COPIES, where)


# -- on the simulated two-socket Xeon --


def simulated(wanted: Collection[str]) -> list[Verdict]:
    machine = machines.load(FAMILY.machine)
    judges = (_n1, _n2, _n3, collective.simulated, _n5, _n6, _n7, _n8, _n9)
    return [judge(machine) for number, judge in enumerate(judges, 1) if f"N{number}" in wanted]


def speedup(row: engine.Row) -> float:
    """Against one core at its own clock."""
    return float(row["serial_seconds"]) / float(row["seconds"])


def _n1(machine: Machine) -> Verdict:
    few, many = rows(machine, [requests.block(active, "i", "openmp_loops") for active in (8, 1024)])
    shares = [row["fork_join_seconds"] / row["seconds"] for row in (few, many)]
    ours = f"fork and join take {percent(shares[0])} of a block with 8 active, {percent(shares[1])} with 1024"
    return FAMILY.simulated("N1", ours, shares[0] > _DOMINATES > shares[1])


def _n2(machine: Machine) -> Verdict:
    engines = ("openmp_loops", "openmp_region")
    loops, region = rows(machine, [requests.block(8, "i", engine) for engine in engines])
    share = percent(region["seconds"] / loops["seconds"])
    ours = f"with 8 active the one region takes {share} of the loops' time"
    note = "a model has no trajectories to compare: that both agree is for the measured study"
    return FAMILY.simulated("N2", ours, None, note)


def _n3(machine: Machine) -> Verdict:
    engines = (requests.MPI, "mvapich2-1.9", "threads")
    rows(machine, [requests.block(64, scheme, engine) for engine in engines for scheme in ("i", "j")])
    ours = f"one exchange a block, both schemes, on {', '.join(engines)}"
    note = "a model has no trajectories to compare: that they are the same is for the measured study"
    return FAMILY.simulated("N3", ours, None, note)


def _n5(machine: Machine) -> Verdict:
    blocks = [requests.block(active, "i") for active in (512, 1024, 2048)]
    speed_ups = [speedup(row) for row in rows(machine, blocks)]
    ours = f"{min(speed_ups):.1f} to {max(speed_ups):.1f}× with 512 to 2048 active"
    return FAMILY.simulated("N5", ours, all(within(_SPEED_UP, times) for times in speed_ups))


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


def _n6(machine: Machine) -> Verdict:
    active = _crossing(machine)
    note = ""
    if not _crosses(active):
        knobs = (
            Knob("cores.core.predict_cycles", 12, 30),
            Knob("memory.copy_bytes_per_second", 50e9, 100e9),
        )
        note = sensitivity(machine, knobs, lambda changed: _crosses(_crossing(changed)))
    ours = f"j-parallel is faster below about {active:.0f} active"
    return FAMILY.simulated("N6", ours, _crosses(active), note)


def _n7(machine: Machine) -> Verdict:
    (row,) = rows(machine, [requests.block(2048, "i")])
    latency = row["exchange_latency_seconds"] / row["exchange_seconds"]
    exchange = row["exchange_seconds"] / row["seconds"]
    ours = (
        f"with 2048 active the all_gather is {percent(exchange)} of a block, its latency "
        f"{percent(latency)} of that"
    )
    return FAMILY.simulated("N7", ours, latency < 0.1 and exchange > 0.2)


def _n8(machine: Machine) -> Verdict:
    """16 cores as 4 × 4: gather among 4 of a quarter of the active, reduce among 4."""
    active = 1024
    both = [
        requests.collective("all_gather", requests.MPI, active * 14 // 4, 4),
        requests.collective("all_reduce", requests.MPI, active * 7 // 4, 4),
    ]
    (whole,) = rows(machine, [requests.collective("all_gather", requests.MPI, active * 14, 16)])
    alone = rows(machine, both)
    # Four groups of four at once share the same buses: a quarter for each.
    copies = machine.memory.copy_bytes_per_second / 4
    shared = rows(machines.change(machine, [f"memory.copy_bytes_per_second={copies}"]), both)

    def part(phases: Sequence[engine.Row]) -> float:
        return float(sum(row["seconds"] for row in phases) / whole["seconds"])

    received = sum(row["bytes_moved"] for row in alone) / 4 / (whole["bytes_moved"] / 16)
    ours = (
        f"4 × 4: each core receives {percent(received)} of what it does in i-parallel, which takes "
        f"{percent(part(shared))} of the time over the shared buses, {percent(part(alone))} if each group "
        "had them for itself"
    )
    holds = received < 1 and part(alone) < part(shared) < 1
    return FAMILY.simulated("N8", ours, holds, "modelled; tauto simulate nbody --smpi runs it (grid)")


def _n9(machine: Machine) -> Verdict:
    engines = (requests.MPI, "threads")
    mpi, threads = (speedup(row) for row in rows(machine, [requests.block(2048, "i", e) for e in engines]))
    ours = f"threads {threads:.1f}×, MPI {mpi:.1f}× with 2048 active"
    return FAMILY.simulated("N9", ours, threads > mpi and threads > _WITHOUT_COPIES)
