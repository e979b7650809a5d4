"""A meter is not believed until it counts while a CPU works.

A meter that opens is not a meter that works: virtual machines list energy events that read exactly 0 J.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping

from tautochrone.energy.meter import Chosen, Domain, Meter, MeterError, Unavailable, counted
from tautochrone.energy.surroundings import IN_A_VM, Surroundings

PROBE_SECONDS = 0.3
_COARSE_UNIT_JOULES = 1.0
# A counter of 61 µJ steps stands at a whole joule once in 16,384 readings, one of 1 J always.
_EXACT = 1e-9

Busy = Callable[[float], None]


def spin(seconds: float) -> None:
    """Keep this CPU busy."""
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        pass


def probe(
    meter: Meter, where: Surroundings, busy: Busy = spin, clock: Callable[[], float] = time.perf_counter
) -> Chosen | Unavailable:
    """The meter with the domains that count, or why it is not believed."""
    try:
        before, begun = meter.read(), clock()
        busy(PROBE_SECONDS)
        after, seconds = meter.read(), clock() - begun
    except MeterError as error:
        return error.unavailable
    doubts = {
        domain: doubt
        for domain in meter.domains
        if (doubt := _doubt(meter, domain, before, after, seconds, where)) is not None
    }
    believed = [domain for domain in meter.domains if domain not in doubts]
    if counted(believed):
        return Chosen(meter, [domain.name for domain in believed])
    for domain in counted(meter.domains):
        if domain in doubts:
            return doubts[domain]
    names = ", ".join(domain.name for domain in meter.domains)
    return Unavailable(
        f"{meter.source} counts parts of the machine alone ({names}), which must not be added up",
        "Use a meter of the whole package, node or battery",
    )


def _doubt(
    meter: Meter,
    domain: Domain,
    before: Mapping[str, float],
    after: Mapping[str, float],
    seconds: float,
    where: Surroundings,
) -> Unavailable | None:
    """Why a domain is not believed; None if it is."""
    name = f"{meter.source} {domain.name}"
    joules = after[domain.name] - before[domain.name]
    if joules == 0.0:
        work = f"through {seconds:.1f} s of work"
        if where.hypervisor:
            return Unavailable(
                f"{name} opens but reads 0 J {work}: this is a virtual machine without a meter", IN_A_VM
            )
        return Unavailable(
            f"{name} opens but stands still {work}",
            "Look for messages of its driver: sudo dmesg | grep -i rapl",
        )
    if joules < 0.0:
        return Unavailable(
            f"{name} went back by {-joules:g} J while a CPU worked",
            "Use another meter, or a newer kernel for this processor",
        )
    watts = joules / seconds
    if watts > domain.largest_watts:
        return Unavailable(
            f"{name} shows {watts:.0f} W, more than the {domain.largest_watts:.0f} W that can be",
            "Use another meter, or a newer kernel that knows this processor's unit",
        )
    if not meter.integrates and _is_whole(joules):
        return Unavailable(
            f"{name} counts in steps of 1 J, which is too coarse for a run",
            "Use another meter: tauto machine lists them",
        )
    return None


def _is_whole(joules: float) -> bool:
    steps = joules / _COARSE_UNIT_JOULES
    return abs(steps - round(steps)) < _EXACT
