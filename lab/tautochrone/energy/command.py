"""``tauto energy -- COMMAND``: what one run of a command took, in joules where they can be had."""

from __future__ import annotations

import json
import os
import platform
import sys
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TextIO

from rich.console import Console
from rich.table import Table

from tautochrone.energy import estimate, record
from tautochrone.energy.figures import IdlePower
from tautochrone.energy.find import Found, find_meter
from tautochrone.energy.idle import IDLE_SECONDS, IdleLog
from tautochrone.energy.meter import Unavailable, counted
from tautochrone.energy.objective import check_objective
from tautochrone.energy.recorder import EnergyRecorder, Recording
from tautochrone.errors import TautoError
from tautochrone.foreground import NOT_FOUND, Ended, Foreground
from tautochrone.report import text

RUN_SCHEMA = "tautochrone.energy/1"


@dataclass(frozen=True, kw_only=True)
class EnergyRequest:
    """What the user asked for. ``idle_seconds`` is measured before and after the run; 0 leaves it out."""

    command: tuple[str, ...] = ()
    json: bool = False
    objective: str = "time"
    idle_seconds: float = IDLE_SECONDS
    reference_seconds: float | None = None
    estimate: Path | None = None
    fit_model: Path | None = None


@dataclass(frozen=True)
class EnergyServices:
    """What the command needs from outside; tests put in others."""

    find: Callable[[], Found] = find_meter
    idle_log: Callable[[Any], IdleLog] = IdleLog
    output: TextIO = field(default_factory=lambda: sys.stdout)
    messages: TextIO = field(default_factory=lambda: sys.stderr)

    def say(self, sentence: str) -> None:
        """A line for the user that is no result."""
        print(f"tauto: {sentence}", file=self.messages, flush=True)


def run_energy_command(request: EnergyRequest, services: EnergyServices | None = None) -> int:
    """Run, print, and return the command's exit status (127: not found).

    Raises TautoError for what cannot be done, before the command starts.
    """
    services = services or EnergyServices()
    _check(request)
    model = estimate.load(request.estimate) if request.estimate is not None else None
    found = services.find()
    try:
        if request.fit_model is not None:
            return _fit(request.fit_model, found, services)
        check_objective(request.objective, found, lambda sentence: services.say(f"warning: {sentence}"))
        return _run(request, found, model, services)
    finally:
        if found.meter is not None:
            found.meter.close()


def _check(request: EnergyRequest) -> None:
    if not request.command and request.fit_model is None:
        raise TautoError("tauto energy was given no command", "Write it behind --: tauto energy -- ./solver")
    if not 0.0 <= request.idle_seconds <= 3600.0:
        raise TautoError(
            f"--idle-seconds {request.idle_seconds:g} is not from 0 to 3600", "Leave it out for 5 seconds"
        )
    if request.reference_seconds is not None and not 0.0 < request.reference_seconds < float("inf"):
        raise TautoError(
            f"--reference-seconds {request.reference_seconds:g} is no length of a run",
            "Give the seconds of the longest run that you compare with",
        )


def _fit(path: Path, found: Found, services: EnergyServices) -> int:
    if found.meter is None:
        assert found.unavailable is not None
        raise TautoError(
            f"a model is fitted to a meter, and there is none: {found.unavailable.reason}",
            found.unavailable.remedy,
        )
    model = estimate.fit(platform.node(), found.meter.source, estimate.measure_points(found.meter))
    estimate.save(model, path)
    print(
        f"{path}: {model.idle_watts:.1f} W idle + {model.watts_per_busy_cpu:.2f} W a busy CPU, "
        f"error {model.error_percent:.1f} %",
        file=services.output,
    )
    return 0


def _run(request: EnergyRequest, found: Found, model: estimate.Model | None, services: EnergyServices) -> int:
    idle = services.idle_log(found.meter) if found.meter is not None and request.idle_seconds > 0 else None
    if idle is not None:
        services.say(f"measuring the idle power for {request.idle_seconds:g} s")
        idle.measure(request.idle_seconds)
    child = Foreground(list(request.command))
    recording: Recording | None = None
    try:
        if found.meter is None:
            child.start()
            ended = child.wait()
        else:
            with EnergyRecorder(found.meter, watched=child.pid) as recording:
                child.start()
                ended = child.wait()
    except TautoError as error:
        services.say(f"error: {error}")
        return NOT_FOUND
    except BaseException:
        child.abandon()
        raise
    if idle is not None:
        idle.measure(request.idle_seconds)
    power = idle.power() if idle is not None else None
    result = _result(request, found, ended, recording, power, model)
    total = {one.name for one in counted(recording.domains)} if recording is not None else set()
    _show(result, total, request, services)
    return ended.exit_code


def _result(
    request: EnergyRequest,
    found: Found,
    ended: Ended,
    recording: Recording | None,
    idle: IdlePower | None,
    model: estimate.Model | None,
) -> dict[str, Any]:
    if recording is not None:
        energy = record.measured(recording, idle, request.reference_seconds)
        why = recording.unavailable
    else:
        why = found.unavailable or Unavailable("no meter")
        energy = record.unavailable(why)
    if why is not None and model is not None:
        energy = record.estimated(model, ended.seconds, ended.cpu_seconds, why)
    cpus = len(os.sched_getaffinity(0))
    return {
        "schema": RUN_SCHEMA,
        "command": list(request.command),
        "exit_code": ended.exit_code,
        "seconds": ended.seconds,
        "user_seconds": ended.user_seconds,
        "system_seconds": ended.system_seconds,
        "cpu_seconds": ended.cpu_seconds,
        "cpus": cpus,
        "core_seconds": cpus * ended.seconds,
        "max_rss_bytes": ended.max_rss_bytes,
        "energy": energy,
        "sampler_cpu": recording.sampler_cpu if recording else None,
        "watts": [[round(end, 3), watts] for end, watts in recording.watts()] if recording else None,
        "notices": list(found.notices),
    }


def _show(
    result: dict[str, Any], total: Collection[str], request: EnergyRequest, services: EnergyServices
) -> None:
    """On standard error, so that the command's own output stays clean; JSON goes to standard output.

    ``total``: the domains that are added up.
    """
    if request.json:
        print(json.dumps(result, indent=1), file=services.output, flush=True)
        return
    console = Console(file=services.messages, highlight=False)
    table = Table(box=None, show_header=False, padding=(0, 2, 0, 0))
    table.add_column(no_wrap=True)
    table.add_column(justify="right", no_wrap=True)
    table.add_column(overflow="fold")
    for line in _lines(result, total):
        table.add_row(*line)
    console.print(table)


def _lines(result: dict[str, Any], total: Collection[str]) -> list[tuple[str, str, str]]:
    energy = result["energy"]
    busy = result["cpu_seconds"] / result["seconds"] if result["seconds"] > 0 else 0.0
    lines = [
        ("time", text.seconds(result["seconds"]), ""),
        ("CPU-seconds", text.seconds(result["cpu_seconds"]), f"{busy:.2f} CPUs busy on average"),
        ("core-seconds", text.seconds(result["core_seconds"]), f"{result['cpus']} CPUs held"),
    ]
    if energy["status"] == record.ESTIMATED:
        joules, error = energy["estimated_joules"], energy["error_percent"]
        lines.append(
            (
                "energy, estimated",
                f"{text.quantity(joules, 'J')} ± {error:.0f} %",
                f"a model {energy['model']}",
            )
        )
    if energy["status"] != record.MEASURED:
        why = Unavailable(energy["reason"], energy["remedy"] or "")
        return [*lines, ("energy", record.UNAVAILABLE, str(why))]
    return lines + _energy_lines(energy, total)


def _energy_lines(energy: dict[str, Any], total: Collection[str]) -> list[tuple[str, str, str]]:
    joules = text.quantity
    lines = [
        ("energy E_run", joules(energy["joules"], "J"), f"{energy['total']}, from {energy['source']}"),
        ("mean power", joules(energy["mean_watts"], "W"), ""),
    ]
    if energy["idle_watts"] is not None:
        lines += [
            (
                "idle power",
                joules(energy["idle_watts"], "W"),
                f"± {joules(energy['idle_spread_watts'], 'W')}, before and after",
            ),
            (
                "E_net",
                joules(energy["net_joules"], "J"),
                f"± {joules(energy['net_error_joules'], 'J')}: E_run less idle power, what the run added",
            ),
        ]
    if energy["common_joules"] is not None:
        until = text.seconds(energy["reference_seconds"])
        lines.append(("E_common", joules(energy["common_joules"], "J"), f"E_run, then idle until {until}"))
    lines += [
        ("EDP", joules(energy["edp_joule_seconds"], "Js"), "energy times time"),
        ("ED²P", joules(energy["ed2p_joule_seconds2"], "Js²"), "energy times time squared"),
    ]
    lines += [
        (f"  {name}", joules(value, "J"), "" if name in total else "apart")
        for name, value in energy["domain_joules"].items()
    ]
    return [*lines, ("the meter itself", joules(energy["sampler_cpu_seconds"], "s"), "of CPU time")]
