"""What is made of joules and seconds, each for its own question."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class IdlePower:
    """Watts of the machine that does nothing; ``spread_watts`` is the standard deviation over stretches."""

    watts: float
    spread_watts: float


@dataclass(frozen=True)
class Figures:
    """Of one run. What needs a figure that was not measured is None.

    ``run_joules`` (E_run) is all that was drawn: right if the next job starts at once. ``net_joules``
    (E_net = E_run - P_idle T) is what the run added: right if the machine stays on anyway;
    ``net_error_joules`` is the part that the spread of the idle power leaves open. ``common_joules``
    (E_common = E_run + P_idle (T_ref - T)) brings runs to one length, idle included. EDP = E T and ED²P =
    E T² are keys for sorting: one per cent of time is worth one or two per cent of energy.
    """

    run_joules: float
    seconds: float
    mean_watts: float
    idle_watts: float | None
    idle_spread_watts: float | None
    net_joules: float | None
    net_error_joules: float | None
    reference_seconds: float | None
    common_joules: float | None
    edp_joule_seconds: float
    ed2p_joule_seconds2: float


def figures(
    joules: float, seconds: float, idle: IdlePower | None = None, reference_seconds: float | None = None
) -> Figures:
    """All figures of a run that took `joules` in `seconds`. ValueError for a time that is not positive."""
    if not seconds > 0.0:
        raise ValueError(f"a run of {seconds} s has no power")
    common = None
    if idle is not None and reference_seconds is not None:
        common = joules + idle.watts * (reference_seconds - seconds)
    return Figures(
        run_joules=joules,
        seconds=seconds,
        mean_watts=joules / seconds,
        idle_watts=idle.watts if idle else None,
        idle_spread_watts=idle.spread_watts if idle else None,
        net_joules=joules - idle.watts * seconds if idle else None,
        net_error_joules=idle.spread_watts * seconds if idle else None,
        reference_seconds=reference_seconds,
        common_joules=common,
        edp_joule_seconds=joules * seconds,
        ed2p_joule_seconds2=joules * seconds**2,
    )


def idle_power(watts: Sequence[tuple[float, float]]) -> IdlePower | None:
    """From (watts, seconds) of idle stretches, weighted by their lengths; None without any."""
    total = sum(seconds for _, seconds in watts)
    if not total > 0.0:
        return None
    mean = math.fsum(one * seconds for one, seconds in watts) / total
    spread = statistics.stdev([one for one, _ in watts]) if len(watts) > 1 else 0.0
    return IdlePower(mean, spread)
