"""The published claims on the power of threads (P1 to P7) as the simulated Core Duo shows them."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from tautochrone.simulator import machines, requests
from tautochrone.simulator.engine import Row
from tautochrone.simulator.machines import Machine
from tautochrone.studies.claims import Finding, Knob, Verdict, percent, rows, sensitivity, within
from tautochrone.studies.power import claims
from tautochrone.studies.power.cells import MATTERS
from tautochrone.studies.power.configurations import DOMAIN, FUNCTIONAL

JOULES_PER_MWH = 3.6
_NO_COST = 1e-3  # P5: of the energy
_FUNCTION_SECONDS = 40.0  # P7: of each function before one grows


def _is_near(value: float, published: float, tolerance: float) -> bool:
    return within(claims.around(published, tolerance), value)


# Deeper sleep takes at most 1.2 to 2.2 W (datasheet 309221), and no less than with the clocks stopped.
_P2_KNOBS = (Knob("power.uncore_idle_watts", 1.0, 2.2),)
_P3_KNOBS = (Knob("governor.down_utilisation", 0.5, 0.75),)
_SECOND_THREADS = (0.1, 0.2, 0.3, 0.4, 0.5)
"""P5: of a program's work. More than half would be the first thread's."""
_DISPATCHER = "that the thread which wakes takes the core of the thread that woke it, as the study saw"


def policies(machine: Machine) -> dict[str, Machine]:
    return {
        "maximum": machines.change(machine, ["governor.policy=maximum"]),
        "adaptive": machine,
        "package": machines.change(machine, ["governor.scope=package"]),
    }


def simulated(wanted: Collection[str]) -> list[Verdict]:
    machine = machines.load(claims.FAMILY.machine)
    under = policies(machine)
    serial, balanced = alone_and_shared(machine)
    unbalanced = {name: run_unbalanced(changed) for name, changed in under.items()}
    found = {
        "P1": _p1(serial, balanced),
        "P2": _p2(machine, serial),
        "P3": _p3(machine, unbalanced),
        "P4": _p4(machine, unbalanced),
        "P5": _p5(under),
        "P7": _p7(machine),
    }
    saves = balanced["energy"]["common_joules"] < serial["energy"]["common_joules"]
    shown = {id: each.holds for id, each in found.items()}
    pinning = _apart(side_by_side(machine))
    found["P6"] = _p6(shown, pinning, saves, _meetings_cost(under["maximum"]))
    return [claims.FAMILY.simulated(id, found[id]) for id in claims.FAMILY.statements if id in wanted]


def alone_and_shared(machine: Machine) -> list[Row]:
    return rows(machine, [requests.power(work, 50) for work in (requests.SERIAL, requests.BALANCED)])


def run_unbalanced(machine: Machine) -> Row:
    (row,) = rows(machine, [requests.power(requests.UNBALANCED, 130)])
    return row


def side_by_side(machine: Machine, beside: float = requests.SECOND_THREAD) -> list[Row]:
    """Two programs at once: free, both pinned, one pinned. ``beside``: as of ``requests.placed``."""
    pins = ((-1, -1), (0, 1), (0, -1))
    return rows(machine, [requests.power(requests.placed(*each, beside), 70) for each in pins])


def _mwh(row: Row) -> float:
    return float(row["energy"]["common_joules"]) / JOULES_PER_MWH


def _platform_joules(row: Row) -> float:
    return float(row["energy"]["platform_common_joules"])


def _p1(serial: Row, balanced: Row) -> Finding:
    least, most = claims.SHARED_SECONDS
    alone, shared = serial["seconds"], balanced["seconds"]
    ours = f"under the adaptive policy {alone:.1f} s serial, {shared:.1f} s with two threads"
    holds = _is_near(alone, claims.SERIAL_SECONDS, claims.P2_TOLERANCE) and least <= shared <= most
    given = "50 s of work at the highest clock, in two equal parts for two threads"
    return Finding(ours, holds, given=given)


def calibrate(machine: Machine, serial: Row) -> Machine:
    """With so many watts beside the cores that the serial run takes what was published."""
    missing = (claims.SERIAL_MWH - _mwh(serial)) * JOULES_PER_MWH
    watts = machine.power.uncore_active_watts + missing / serial["seconds"]
    return machines.with_values(machine, {"power.uncore_active_watts": watts})


def _saves_as_published(serial: Row, balanced: Row) -> bool:
    falls = _platform_joules(balanced) < _platform_joules(serial)
    return falls and _is_near(_mwh(balanced), claims.SHARED_MWH, claims.P2_TOLERANCE)


def _p2(machine: Machine, serial: Row) -> Finding:
    def judge(changed: Machine) -> bool:
        first, _ = alone_and_shared(changed)
        return _saves_as_published(*alone_and_shared(calibrate(changed, first)))

    calibrated = calibrate(machine, serial)
    alone, shared = alone_and_shared(calibrated)
    platform = [_platform_joules(row) / JOULES_PER_MWH for row in (alone, shared)]
    ours = (
        f"{_mwh(shared):.0f} mWh with two threads where {_mwh(alone):.0f} serial are given; platform "
        f"{platform[0]:.0f} and {platform[1]:.0f} mWh"
    )
    holds = _saves_as_published(alone, shared)
    given = (
        f"150 mWh in 50 s, 10.8 W: they set the {calibrated.power.uncore_active_watts:.1f} W that the "
        "package takes beside its cores"
    )
    return Finding(ours, holds, "", given, sensitivity(machine, _P2_KNOBS, judge, holds))


def _slows_as_published(fast: Row, slow: Row) -> bool:
    return (
        _is_near(fast["seconds"], claims.HIGHEST_SECONDS, claims.P3_TOLERANCE)
        and _is_near(slow["seconds"], claims.ADAPTIVE_SECONDS, claims.P3_TOLERANCE)
        and _platform_joules(slow) > _platform_joules(fast)
    )


def _p3(machine: Machine, unbalanced: Mapping[str, Row]) -> Finding:
    fast, slow = unbalanced["maximum"], unbalanced["adaptive"]
    more = _platform_joules(slow) / _platform_joules(fast) - 1
    ours = (
        f"{fast['seconds']:.0f} s at the highest clock, {slow['seconds']:.0f} s adaptive; "
        f"platform energy {100 * more:+.0f} %"
    )

    def judge(changed: Machine) -> bool:
        return _slows_as_published(run_unbalanced(policies(changed)["maximum"]), run_unbalanced(changed))

    holds = _slows_as_published(fast, slow)
    note = "the governor's limits are those of Linux's ondemand; Windows XP's are not published"
    changes = sensitivity(machine, _P3_KNOBS, judge, holds)
    return Finding(ours, holds, note, f"64 s of work; {_DISPATCHER}", changes)


def _p4(machine: Machine, unbalanced: Mapping[str, Row]) -> Finding:
    """The cause is tested by taking it away: the same threads, and nobody wakes anybody."""
    row, fast, slow = (unbalanced[name] for name in ("package", "maximum", "adaptive"))
    still = [{key: value for key, value in each.items() if key != "woken_by"} for each in requests.UNBALANCED]
    (unmoved,) = rows(machine, [{"study": "power", "threads": still, "until_seconds": 130}])
    energy = _platform_joules(row) / _platform_joules(fast)
    ours = (
        f"{row['seconds']:.1f} s and {percent(energy)} of the energy with a package governor; "
        f"{slow['migrations']} migrations before; {unmoved['seconds']:.1f} s adaptive without any"
    )
    restored = _is_near(row["seconds"], claims.HIGHEST_SECONDS, claims.P4_TOLERANCE) and _is_near(
        energy, 1, claims.P4_TOLERANCE
    )
    caused = slow["migrations"] > 0 and slow["seconds"] > (1 + claims.P4_TOLERANCE) * unmoved["seconds"]
    return Finding(ours, restored and caused, given=_DISPATCHER)


def _apart(beside: Sequence[Row]) -> float:
    """How much longer the slowest placement takes than the fastest."""
    times = [float(row["seconds"]) for row in beside]
    return max(times) / min(times) - 1


def _pinning_costs(beside: Sequence[Row]) -> float:
    """How much more energy both pinned take than free, of the cores or of the platform, whichever is less."""
    free, both, _ = beside
    costs = [both["energy"][of] / free["energy"][of] for of in ("common_joules", "platform_common_joules")]
    return float(min(costs) - 1)


def _p5(under: Mapping[str, Machine]) -> Finding:
    """The cause is tested by taking it away: programs of one thread each."""
    policies = (under["maximum"], under["adaptive"])
    beside = [side_by_side(machine, part) for machine in policies for part in _SECOND_THREADS]
    apart = max(map(_apart, beside))
    costs = [_pinning_costs(rows) for rows in beside]
    single = _pinning_costs(side_by_side(under["maximum"], 0))
    caused = abs(single) < _NO_COST < min(costs)
    ours = (
        f"times differ by {percent(apart)} at most; both pinned takes {100 * min(costs):.1f} to "
        f"{100 * max(costs):.1f} % more energy, of CPU or platform, whichever is less; "
        f"{100 * abs(single):.1f} % if each program has one thread"
    )
    note = "a second thread waits for its core while the other one idles, so the package is awake longer"
    least, most = (percent(part) for part in (_SECOND_THREADS[0], _SECOND_THREADS[-1]))
    given = (
        f"office programs that work 35 and 25 % of the time, at irregular times, {least} to {most} of it "
        "in a second thread"
    )
    return Finding(ours, apart < MATTERS and caused, note if caused else "", given)


def _meetings_cost(machine: Machine) -> bool:
    """Both cores hash the same bytes, and meet once or a thousand times as often."""
    seldom, often = rows(
        machine,
        [
            {"study": "mapreduce", "tasks": 2, "bytes": size, "threads": 2, "runtime": "openmp"}
            for size in (1_000_000, 1_000)
        ],
    )
    return bool(often["seconds"] * 1000 > (1 + MATTERS) * seldom["seconds"])


def _p6(
    holds: Mapping[str, bool | None], pinning_changes: float, balance_saves: bool, meetings_cost: bool
) -> Finding:
    advice = [
        ("balance the threads", holds["P1"] and balance_saves and holds["P7"]),
        ("let them meet as seldom as can be", meetings_cost),
        ("let the governor look at the package", holds["P3"] and holds["P4"]),
        ("leave placement to the system: pinning gains no time", pinning_changes < MATTERS),
    ]
    derived = [words for words, shown in advice if shown]
    missing = [words for words, shown in advice if not shown]
    note = f"not derived: {', '.join(missing)}" if missing else ""
    return Finding(f"derived from the rows above: {', '.join(derived)}", not missing, note)


def _p7(machine: Machine) -> Finding:
    """Physics grows by half: split by domain both threads grow, split by function one does."""
    kept = {split: _kept_when_grown(machine, split) for split in (DOMAIN, FUNCTIONAL)}
    ours = (
        f"physics 1.5 times as expensive: {percent(kept[DOMAIN])} of the speed-up are kept by domain, "
        f"{percent(kept[FUNCTIONAL])} by function"
    )
    given = "how much of the work each thread has in either split"
    return Finding(ours, kept[DOMAIN] >= claims.KEPT > kept[FUNCTIONAL], given=given)


def _kept_when_grown(machine: Machine, split: str) -> float:
    """The speed-up of two threads over one after the growth, by that before it."""
    before, after = (
        _speed_up(machine, physics, split) for physics in (_FUNCTION_SECONDS, 1.5 * _FUNCTION_SECONDS)
    )
    return after / before


def _speed_up(machine: Machine, physics: float, split: str) -> float:
    whole = physics + _FUNCTION_SECONDS
    parts = [whole / 2, whole / 2] if split == DOMAIN else [physics, _FUNCTION_SECONDS]
    threads: list[requests.ThreadRequest] = [
        {"name": name, "seconds": seconds} for name, seconds in zip(("first", "second"), parts, strict=True)
    ]
    alone, shared = rows(
        machine, [requests.power([{"name": "all", "seconds": whole}]), requests.power(threads)]
    )
    return float(alone["seconds"] / shared["seconds"])
