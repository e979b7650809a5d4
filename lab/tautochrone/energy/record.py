"""Energy as it stands in a row and in JSON: a status, joules or the reason for their absence."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from tautochrone.energy.estimate import Model
from tautochrone.energy.figures import Figures, IdlePower, figures
from tautochrone.energy.meter import Unavailable, total_name
from tautochrone.energy.recorder import Recording

MEASURED, ESTIMATED, UNAVAILABLE = "measured", "estimated", "unavailable"


def measured(
    recording: Recording, idle: IdlePower | None, reference_seconds: float | None = None
) -> dict[str, Any]:
    """The record of one stretch. What its meter could not tell is None, with the reason."""
    if recording.unavailable is not None:
        return unavailable(recording.unavailable, recording.source)
    if recording.joules is None or not recording.seconds > 0.0:
        return unavailable(
            Unavailable("the run was too short to be metered", "Let it run longer"), recording.source
        )
    found = figures(recording.joules, recording.seconds, idle, reference_seconds)
    return {
        "status": MEASURED,
        "joules": recording.joules,
        "reason": None,
        "remedy": None,
        "source": recording.source,
        "total": total_name(recording.domains),
        "domain_joules": dict(recording.domain_joules),
        **{name: value for name, value in asdict(found).items() if name != "run_joules"},
        "sampler_cpu_seconds": recording.sampler_cpu_seconds,
    }


def unavailable(why: Unavailable, source: str | None = None) -> dict[str, Any]:
    """The record where there are no joules."""
    return {
        "status": UNAVAILABLE,
        "joules": None,
        "reason": why.reason,
        "remedy": why.remedy or None,
        "source": source,
    }


def estimated(model: Model, seconds: float, cpu_seconds: float, why: Unavailable) -> dict[str, Any]:
    """A model's figure. Its joules have another name, so that nothing takes them for measured ones."""
    return {
        **unavailable(why),
        "status": ESTIMATED,
        "estimated_joules": model.joules(seconds, cpu_seconds),
        "error_percent": model.error_percent,
        "model": f"fitted on {model.machine} with {model.source}",
    }


def for_row(energy: Mapping[str, Any], seconds: float | None) -> dict[str, Any]:
    """The record in a row whose result took `seconds`, with the joules of that time.

    A runner repeats its work for a while and tells the seconds of one go, so the joules of its process
    say nothing by themselves: ``work_joules`` is the mean power times `seconds`. For a program that is
    timed as a whole it is nearly all of ``joules``. ``common_joules`` stays null: the longest time is known
    only when all rows are there, so tables make it by `figures_of_row`.
    """
    if energy.get("status") != MEASURED or seconds is None or energy.get("mean_watts") is None:
        return dict(energy)
    found = figures(float(energy["mean_watts"]) * seconds, seconds, _idle(energy))
    return {
        **energy,
        "work_joules": found.run_joules,
        "net_joules": found.net_joules,
        "net_error_joules": found.net_error_joules,
        "edp_joule_seconds": found.edp_joule_seconds,
        "ed2p_joule_seconds2": found.ed2p_joule_seconds2,
    }


def figures_of_row(row: Mapping[str, Any], reference_seconds: float | None = None) -> Figures | None:
    """The figures of the work that a row's seconds time; None where :func:`measured_joules` is None."""
    joules = measured_joules(row)
    if joules is None:
        return None
    return figures(joules, float(row["seconds"]), _idle(row["energy"]), reference_seconds)


def _idle(energy: Mapping[str, Any]) -> IdlePower | None:
    if energy.get("idle_watts") is None:
        return None
    return IdlePower(float(energy["idle_watts"]), float(energy["idle_spread_watts"]))


def measured_joules(row: Mapping[str, Any]) -> float | None:
    """The joules of a row that may be compared and ranked: measured ones of a good run."""
    energy = row.get("energy") or {}
    joules = energy.get("work_joules", energy.get("joules"))
    if (
        row.get("error") is not None
        or energy.get("status") != MEASURED
        or not isinstance(joules, int | float)
    ):
        return None
    return float(joules)
