"""The claims on collectives and N-body in one node (N1 to N9), on the simulated two-socket Xeon."""

from __future__ import annotations

from collections.abc import Sequence

from tautochrone.claims.verdict import Family, Knob, Verdict, percent, rows, sensitivity
from tautochrone.errors import TautoError
from tautochrone.simulator import machines, requests
from tautochrone.simulator.engine import Row
from tautochrone.simulator.machines import Machine
from tautochrone.simulator.places import in_words, peaks, steps
from tautochrone.simulator.smpi import running
from tautochrone.studies.collective.lengths import base_lengths

MACHINE = "2x-e5-2650v2"
TOLERANCE = {
    "N1": "share of time in fork/join against the active count",
    "N2": "both versions exist and agree",
    "N3": "both exist on every engine, same trajectories",
    "N4": "simulated with those selectors; steps found automatically",
    "N5": "7 to 9.5×",
    "N6": "crossing from 50 to 200",
    "N7": "shown by the model's terms",
    "N8": "measured and modelled",
    "N9": "modelled for 16 cores",
}
_verdict = Family(MACHINE, TOLERANCE).verdict


def speedup(row: Row) -> float:
    """Against one core at its own clock."""
    return float(row["serial_seconds"]) / float(row["seconds"])


def verdicts() -> list[Verdict]:
    """All nine."""
    machine = machines.load(MACHINE)
    return [judge(machine) for judge in (_n1, _n2, _n3, _n4, _n5, _n6, _n7, _n8, _n9)]


def _n1(machine: Machine) -> Verdict:
    few, many = rows(machine, [requests.block(active, "i", "openmp_loops") for active in (8, 1024)])
    shares = [row["fork_join_seconds"] / row["seconds"] for row in (few, many)]
    ours = f"fork and join take {percent(shares[0])} of a block with 8 active, {percent(shares[1])} with 1024"
    return _verdict("N1", ours, shares[0] > 0.5 > shares[1])


def _n2(machine: Machine) -> Verdict:
    loops, region = rows(
        machine, [requests.block(8, "i", engine) for engine in ("openmp_loops", "openmp_region")]
    )
    ours = (
        f"with 8 active the one region takes {percent(region['seconds'] / loops['seconds'])} of "
        "the loops' time"
    )
    note = "a model has no trajectories to compare: that both agree is for the measured study"
    return _verdict("N2", ours, None, note)


def _n3(machine: Machine) -> Verdict:
    engines = (requests.MPI, "mvapich2-1.9", "threads")
    rows(machine, [requests.block(64, scheme, engine) for engine in engines for scheme in ("i", "j")])
    note = "a model has no trajectories to compare: that they are the same is for the measured study"
    return _verdict("N3", f"one exchange a block, both schemes, on {', '.join(engines)}", None, note)


def _n4_figures(machine: Machine) -> tuple[list[int], list[int], float]:
    ours = [
        row["seconds"]
        for row in rows(
            machine, [requests.collective("all_reduce", requests.MPI, one) for one in requests.WORDS]
        )
    ]
    other = rows(machine, [requests.collective("all_reduce", "mvapich2-1.9", one) for one in (512, 1024)])
    return peaks(requests.WORDS, ours), steps(requests.WORDS, ours), other[0]["seconds"] / other[1]["seconds"]


def _published_places(tops: Sequence[int], up: Sequence[int], times: float) -> bool:
    near_1k = any(900 <= one <= 1500 for one in [*tops, *up])
    near_8k = any(7000 <= one <= 9000 for one in [*tops, *up])
    return near_1k and near_8k and times > 1


def _n4_under_smpi(machine: Machine) -> str:
    """What SimGrid's own selectors show of it, where SimGrid is here."""
    try:
        found = running.all_reduces(machine, ("ompi", "mvapich2"), requests.RANKS, base_lengths())
    except TautoError as error:
        return f"not held against SimGrid's SMPI: {error.message} ({error.remedy})"
    words, times = list(found["ompi"]), list(found["ompi"].values())
    ratio = found["mvapich2"][512] / found["mvapich2"][1024]
    shown = _published_places(peaks(words, times), steps(words, times), ratio)
    return (
        "SimGrid's SMPI, with rules of its own for each library and every core a node, "
        f"{'shows it too' if shown else 'does not show it'}: its ompi: {in_words(words, times)}; "
        f"its mvapich2 takes {ratio:.2f} of 1024 words' time for 512"
    )


def _n4(machine: Machine) -> Verdict:
    high, jumps, ratio = _n4_figures(machine)
    holds = _published_places(high, jumps, ratio)
    ours = (
        f"Open MPI 1.6: longer than a greater length at {', '.join(map(str, high)) or 'none'}, steps at "
        f"{', '.join(map(str, jumps)) or 'none'} words; MVAPICH2 1.9: 512 words take {ratio:.2f} of 1024's "
        "time (both as modelled here)"
    )
    note = _n4_under_smpi(machine)
    if not holds:
        changes = sensitivity(
            machine,
            [
                Knob("mpi.message_bytes_per_second", 4e9, 8e9),
                Knob("memory.copy_bytes_per_second", 50e9, 100e9),
            ],
            lambda changed: _published_places(*_n4_figures(changed)),
        )
        note = f"{changes}; {note}"
    return _verdict("N4", ours, holds, note)


def _n5(machine: Machine) -> Verdict:
    found = [
        speedup(row) for row in rows(machine, [requests.block(active, "i") for active in (512, 1024, 2048)])
    ]
    ours = f"{min(found):.1f} to {max(found):.1f}× with 512 to 2048 active"
    return _verdict("N5", ours, all(7 <= one <= 9.5 for one in found))


def _crossing(machine: Machine, engine: str = requests.MPI) -> float:
    """The active count from which on i-parallel is faster."""
    found = rows(
        machine,
        [requests.block(active, scheme, engine) for active in requests.ACTIVE for scheme in ("i", "j")],
    )
    last = 0
    for position in range(len(requests.ACTIVE)):
        if found[2 * position + 1]["seconds"] < found[2 * position]["seconds"]:
            last = position
    return (requests.ACTIVE[last] + requests.ACTIVE[min(last + 1, len(requests.ACTIVE) - 1)]) / 2


def _n6(machine: Machine) -> Verdict:
    at = _crossing(machine)
    holds = 50 <= at <= 200
    note = ""
    if not holds:
        note = sensitivity(
            machine,
            [Knob("cores.core.predict_cycles", 12, 30), Knob("memory.copy_bytes_per_second", 50e9, 100e9)],
            lambda changed: 50 <= _crossing(changed) <= 200,
        )
    return _verdict("N6", f"j-parallel is faster below about {at:.0f} active", holds, note)


def _n7(machine: Machine) -> Verdict:
    row = rows(machine, [requests.block(2048, "i")])[0]
    latency = row["exchange_latency_seconds"] / row["exchange_seconds"]
    part = row["exchange_seconds"] / row["seconds"]
    ours = (
        f"with 2048 active the all_gather is {percent(part)} of a block, its latency "
        f"{percent(latency)} of that"
    )
    return _verdict("N7", ours, latency < 0.1 and part > 0.2)


def _n8(machine: Machine) -> Verdict:
    """16 cores as 4 × 4: gather among 4 of a quarter of the active, reduce among 4."""
    active = 1024
    both = [
        requests.collective("all_gather", requests.MPI, active * 14 // 4, 4),
        requests.collective("all_reduce", requests.MPI, active * 7 // 4, 4),
    ]
    whole = rows(machine, [requests.collective("all_gather", requests.MPI, active * 14, 16)])[0]
    alone = rows(machine, both)
    # Four groups of four at once share the same buses: a quarter for each.
    copies = machine["memory"]["copy_bytes_per_second"] / 4
    shared = rows(machines.change(machine, [f"memory.copy_bytes_per_second={copies}"]), both)

    def part(found: Sequence[Row]) -> float:
        return float(sum(row["seconds"] for row in found) / whole["seconds"])

    received = sum(row["bytes_moved"] for row in alone) / 4 / (whole["bytes_moved"] / 16)
    ours = (
        f"4 × 4: each core receives {percent(received)} of what it does in i-parallel, which takes "
        f"{percent(part(shared))} of the time over the shared buses, {percent(part(alone))} if each group "
        "had them for itself"
    )
    holds = received < 1 and part(alone) < part(shared) < 1
    return _verdict("N8", ours, holds, "modelled; tauto simulate nbody --smpi runs it (grid)")


def _n9(machine: Machine) -> Verdict:
    mpi, threads = rows(machine, [requests.block(2048, "i", engine) for engine in (requests.MPI, "threads")])
    ours = f"threads {speedup(threads):.1f}×, MPI {speedup(mpi):.1f}× with 2048 active"
    return _verdict("N9", ours, speedup(threads) > speedup(mpi) and speedup(threads) > 8)
