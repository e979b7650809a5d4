"""What a run took besides time, read from its row: joules where a meter was read, else CPU and core time."""

from __future__ import annotations

import math
import statistics
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import msgspec

from tautochrone import text
from tautochrone.results.row import SCREENING, Energy, Row, energy_of, seconds_of
from tautochrone.results.runs import median_known

METERED = "measured"
"""The status of a row's energy whose joules come from a meter."""

UNAVAILABLE, ESTIMATED = "unavailable", "estimated"

DOUBTED = "doubted"
"""A meter counted, but not what the run took: there are no joules, and the reason says why."""


@dataclass(frozen=True)
class IdlePower:
    """Watts of the machine that does nothing; ``spread_watts`` is the standard deviation over stretches."""

    watts: float
    spread_watts: float


@dataclass(frozen=True)
class Figures:
    """Of one run. What needs a figure that was not measured is None.

    ``run_joules`` (E_run) is all energy drawn: right if the next job starts at once. ``net_joules``
    (E_net = E_run - P_idle T) is what the run added: right if the machine stays on anyway;
    ``net_error_joules`` is its uncertainty from the spread of the idle power. ``common_joules``
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
    mean = math.fsum(power * seconds for power, seconds in watts) / total
    spread = statistics.stdev([power for power, _ in watts]) if len(watts) > 1 else 0.0
    return IdlePower(mean, spread)


def for_row(energy: Mapping[str, object], seconds: float | None) -> dict[str, object]:
    """The record in a row whose result took `seconds`, with the joules of that time.

    A runner repeats its work and reports the seconds of one repetition, so the joules of its process alone
    say little: ``work_joules`` is the mean power times `seconds`. For a program that is timed as a whole it
    is nearly all of ``joules``. ``common_joules`` stays null: the longest time is known only when all rows
    are there, so tables compute it by `figures_of_row`.
    """
    measured = msgspec.convert(energy, Energy)
    if measured.status != METERED or seconds is None or measured.mean_watts is None:
        return dict(energy)
    of_work = figures(measured.mean_watts * seconds, seconds, _idle(measured))
    return {
        **energy,
        "work_joules": of_work.run_joules,
        "net_joules": of_work.net_joules,
        "net_error_joules": of_work.net_error_joules,
        "edp_joule_seconds": of_work.edp_joule_seconds,
        "ed2p_joule_seconds2": of_work.ed2p_joule_seconds2,
    }


def figures_of_row(row: Row, reference_seconds: float | None = None) -> Figures | None:
    """The figures of the work that a row's seconds time; None where :func:`measured_joules` is None."""
    joules = measured_joules(row)
    if joules is None:
        return None
    return figures(joules, seconds_of(row), _idle(energy_of(row)), reference_seconds)


def _idle(energy: Energy) -> IdlePower | None:
    if energy.idle_watts is None or energy.idle_spread_watts is None:
        return None
    return IdlePower(energy.idle_watts, energy.idle_spread_watts)


def measured_joules(row: Row) -> float | None:
    """The joules of a row that may be compared and ranked: measured ones of a good run."""
    energy = energy_of(row)
    if row.error is not None or energy.status != METERED:
        return None
    return energy.joules if energy.work_joules is None else energy.work_joules


def platform_joules(row: Row) -> float | None:
    """What the whole machine took meanwhile, where :func:`measured_joules` are those of its packages."""
    joules, energy = measured_joules(row), energy_of(row)
    if joules is None or energy.platform_joules is None or not energy.joules:
        return None
    return joules * energy.platform_joules / energy.joules


class Joules(msgspec.Struct, frozen=True, kw_only=True):
    """What a meter said of the work that a row's seconds time; medians over the rounds."""

    run: float
    mean_watts: float
    net: float | None  # less idle power
    common: float | None  # with idle power up to the longest time of what it is compared with
    edp: float
    ed2p: float
    platform: float | None = None  # the whole machine's meanwhile, where `run` is that of its packages


class Spent(msgspec.Struct, frozen=True, kw_only=True):
    """What a configuration took besides time; medians over the rounds. Times are those of a whole run."""

    joules: Joules | None = None  # None: not every run was metered
    cpu_seconds: float | None = None
    core_seconds: float | None = None  # of the cores that it held, whether they worked or not


def longest(seconds: Iterable[float | None]) -> float | None:
    """The longest of these times, to which energies are brought; None without any."""
    return max((each for each in seconds if each is not None), default=None)


def joules_of(rows: Sequence[Row], longest_seconds: float | None) -> Joules | None:
    """The energy of good rows of one configuration; None where not every one of them was metered."""
    runs = [run for row in rows if (run := figures_of_row(row, longest_seconds)) is not None]
    if not runs or len(runs) < len(rows):
        return None
    return Joules(
        run=statistics.median(run.run_joules for run in runs),
        mean_watts=statistics.median(run.mean_watts for run in runs),
        net=median_known(run.net_joules for run in runs),
        common=median_known(run.common_joules for run in runs),
        edp=statistics.median(run.edp_joule_seconds for run in runs),
        ed2p=statistics.median(run.ed2p_joule_seconds2 for run in runs),
        platform=median_known(platform_joules(row) for row in rows),
    )


def spent_of(rows: Sequence[Row], longest_seconds: float | None) -> Spent:
    """What good rows of one configuration took: those that are reported, else those of the screening."""
    reported = [row for row in rows if row.source != SCREENING] or rows
    energies = [energy_of(row) for row in reported]
    return Spent(
        joules=joules_of(reported, longest_seconds),
        cpu_seconds=median_known(energy.cpu_seconds for energy in energies),
        core_seconds=median_known(energy.core_seconds for energy in energies),
    )


def why_not_measured(rows: Sequence[Row]) -> str:
    """The reason that most rows give why there are no joules, with what to do, in sentences."""
    reasons = Counter(
        (energy.reason, energy.remedy) for row in rows if (energy := energy_of(row)).reason is not None
    )
    if not reasons:
        return "Energy was not measured."
    reason, remedy = reasons.most_common(1)[0][0]
    words = text.sentence(f"Energy was not measured: {reason}")
    return f"{words} {text.sentence(remedy)}" if remedy else words
