"""The eight bar charts of the study of threads and power, with the figures that its text gives."""

from __future__ import annotations

from tautochrone.simulator import machines
from tautochrone.simulator.engine import Row
from tautochrone.simulator.findings import Axis
from tautochrone.simulator.machines import Machine
from tautochrone.studies.claims import percent
from tautochrone.studies.figures import Chapter, Drawn, curve, point
from tautochrone.studies.power import claims_simulated as simulated
from tautochrone.studies.power.claims import FAMILY

_SECONDS = Axis(field="y", title="seconds")
_CPU = Axis(field="y", title="CPU, mWh")
_PLATFORM = Axis(field="y", title="CPU and platform, mWh")
_ENERGIES = ("common_joules", "platform_common_joules")
_WAYS = ("one thread", "two threads")
_POLICIES = ("always on", "adaptive", "adaptive, by package")
_PINS = ("free", "both pinned", "one pinned")


def chapter() -> Chapter:
    """All its charts; nothing of it was measured here, for want of a Core Duo and of Windows XP."""
    machine = machines.load(FAMILY.machine)
    serial, _ = simulated.alone_and_shared(machine)
    calibrated = simulated.calibrate(machine, serial)
    jobs = simulated.alone_and_shared(calibrated)
    physics = [simulated.run_unbalanced(changed) for changed in simulated.policies(calibrated).values()]
    return Chapter(
        family="P",
        title="Threads and power: two cores under two frequency policies (2006)",
        machine=machine.name,
        figures=(*_balanced(jobs), *_unbalanced(physics), *_side_by_side(calibrated)),
    )


def _mwh(row: Row, what: str) -> float:
    return float(row["energy"][what]) / simulated.JOULES_PER_MWH  # type: ignore[literal-required]


def _bars(
    name: str, of: str, heading: str, names: tuple[str, ...], y: Axis, values: list[float], **more: object
) -> Drawn:
    return Drawn(
        name=name,
        of=of,
        heading=heading,
        x=Axis(field="name", title=""),
        y=y,
        names=names,
        curves=(curve("simulated", enumerate(values)),),
        **more,  # type: ignore[arg-type]
    )


def _balanced(jobs: tuple[Row, ...] | list[Row]) -> tuple[Drawn, ...]:
    times = [float(row["seconds"]) for row in jobs]
    cpu, platform = ([_mwh(row, what) for row in jobs] for what in _ENERGIES)
    given = (
        "150 mWh of one thread are given; video encoding and content creation have no figures in the text."
    )
    return (
        _bars(
            "p-1",
            "Figure 1: time of balanced threads",
            f"Encryption takes {times[0]:.0f} s on one thread and {times[1]:.0f} s on two; published: 50 "
            "and 25 s",
            _WAYS,
            _SECONDS,
            times,
            explanation="Under the adaptive policy. The work is given: 50 s, in two equal parts.",
            published=(point("50 s (published)", 0, 50), point("25 s (published)", 1, 25)),
            claims=("P1",),
        ),
        _bars(
            "p-2",
            "Figure 2: CPU energy of balanced threads, adaptive",
            f"In 50 s two threads take {cpu[1]:.0f} mWh where one takes {cpu[0]:.0f}; published: 110 and 150",
            _WAYS,
            _CPU,
            cpu,
            explanation=given,
            published=(point("150 mWh (published)", 0, 150), point("110 mWh (published)", 1, 110)),
            claims=("P2",),
        ),
        _bars(
            "p-3",
            "Figure 3: platform energy of balanced threads, adaptive",
            f"The platform takes {percent(1 - platform[1] / platform[0])} less with two threads; "
            "published: less",
            _WAYS,
            _PLATFORM,
            platform,
            explanation="The text gives no figure.",
        ),
    )


def _unbalanced(physics: list[Row]) -> tuple[Drawn, ...]:
    times = [float(row["seconds"]) for row in physics]
    energy = [_mwh(row, "platform_common_joules") for row in physics]
    return (
        _bars(
            "p-4",
            "Figure 4: time of unbalanced threads under three policies",
            f"The unbalanced physics takes {times[0]:.0f} s always on, {times[1]:.0f} s adaptive and "
            f"{times[2]:.0f} s with a governor of the package; published: 64, 120 and about 64 s",
            _POLICIES,
            _SECONDS,
            times,
            explanation="One thread works all the time and moves whenever it wakes the other.",
            published=(
                point("64 s (published)", 0, 64),
                point("120 s (published)", 1, 120),
                point("as always on (published)", 2, 64),
            ),
            claims=("P3", "P4"),
        ),
        _bars(
            "p-5",
            "Figure 5: platform energy of unbalanced threads",
            f"The adaptive policy costs the platform {100 * (energy[1] / energy[0] - 1):+.0f} % energy; "
            "published: more",
            _POLICIES,
            _PLATFORM,
            energy,
            explanation="Brought to the longest run.",
            claims=("P7",),
        ),
    )


def _side_by_side(machine: Machine) -> tuple[Drawn, ...]:
    found = simulated.side_by_side(machine)
    times = [float(row["seconds"]) for row in found]
    cpu, platform = ([_mwh(row, what) for row in found] for what in _ENERGIES)
    return (
        _bars(
            "p-6",
            "Figure 6: time of two programs at once",
            f"Pinning changes the time by {percent(max(times) / min(times) - 1)}; published: no notable "
            "difference",
            _PINS,
            _SECONDS,
            times,
            explanation="Two office programs of two threads each that are busy for a part of the time.",
            claims=("P5",),
        ),
        _bars(
            "p-7",
            "Figure 7: CPU energy of two programs at once",
            f"Both pinned take {100 * (cpu[1] / cpu[0] - 1):+.1f} % of the CPU's energy; published: "
            "slightly more",
            _PINS,
            _CPU,
            cpu,
            explanation="The text gives no figure.",
        ),
        _bars(
            "p-8",
            "Figure 8: platform energy of two programs at once",
            f"Both pinned take {100 * (platform[1] / platform[0] - 1):+.1f} % of the platform's; "
            "published: slightly more",
            _PINS,
            _PLATFORM,
            platform,
            explanation="The text gives no figure.",
            claims=("P6",),
        ),
    )
