"""``tauto energy -- COMMAND``: what one run of a command took, in joules where they can be had."""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, TextIO

import msgspec
from rich.table import Table

from tautochrone import text
from tautochrone.energy import estimate
from tautochrone.energy.find import Found, check_objective, find_meter
from tautochrone.energy.meter import Chosen, Unavailable, counted
from tautochrone.energy.recorder import (
    IDLE_SECONDS,
    EnergyRecorder,
    IdleLog,
    Recording,
    energy_record,
    no_energy,
)
from tautochrone.errors import TautoError, printable
from tautochrone.measuring.foreground import NOT_FOUND, Ended, Foreground, left_running_words
from tautochrone.options import Option, Words
from tautochrone.results.row import Energy
from tautochrone.results.spent import DOUBTED, ESTIMATED, METERED, UNAVAILABLE, IdlePower
from tautochrone.terminal import Terminal

RUN_SCHEMA = "tautochrone.energy/1"


@dataclass(frozen=True, kw_only=True)
class EnergyRequest:
    """Run a command and report its joules and CPU-seconds.

    Core-seconds are reported too; joules where there is a meter.

    The meter is probed with a busy loop before it is believed; without one there is a reason and a remedy,
    and no joules. TAUTO_METER=shelly:HOST, and other forms, name a smart plug or a serial meter. The table
    goes to standard error, the exit status is the command's.

    \b
    Examples:
      tauto energy -- ./solver case.in
      tauto energy --json --reference-seconds 50 -- ./solver case.in > energy.json
      tauto energy --fit-model model.json        on a machine with a meter
      tauto energy --estimate model.json -- ./solver case.in
    """  # noqa: D301

    command: Annotated[tuple[str, ...], Words("What to run.")] = ()
    json: Annotated[bool, Option("Print the result as JSON on standard output.")] = False
    objective: Annotated[
        str, Option("time, energy, edp or ed2p; all but time need a meter and fail without.")
    ] = "time"
    idle_seconds: Annotated[
        float, Option("Measure the idle power for this long before and after the run; 0: not at all.")
    ] = IDLE_SECONDS
    reference_seconds: Annotated[
        float | None, Option("Also report the energy of the run plus idling until this time.")
    ] = None
    estimate: Annotated[
        Path | None, Option("Without a meter: estimate with this model, and label it as an estimate.", "FILE")
    ] = None
    fit_model: Annotated[
        Path | None, Option("Fit a model for --estimate to this machine's meter.", "FILE")
    ] = None

    def run(self) -> int:
        return run_energy_command(self)


@dataclass(frozen=True)
class EnergyServices:
    """What the command needs from outside; tests pass others."""

    find: Callable[[], Found] = find_meter
    idle_log: Callable[[Chosen], IdleLog] = IdleLog
    output: TextIO = field(default_factory=lambda: sys.stdout)
    messages: TextIO = field(default_factory=lambda: sys.stderr)

    def say(self, sentence: str) -> None:
        """A line for the user that is no result."""
        print(f"tauto: {printable(sentence)}", file=self.messages, flush=True)


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
        raise TautoError(
            f"a model is fitted to a meter, and there is none: {found.why.reason}", found.why.remedy
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
    if said := left_running_words(ended):
        services.say(f"warning: {said}")
    notice = recording.notice if recording is not None else None
    if notice is not None:
        services.say(f"warning: {notice}")
    power = idle.power() if idle is not None else None
    energy = _energy(found, ended, recording, power, request.reference_seconds, model)
    cpus = len(os.sched_getaffinity(0))
    if request.json:
        record = EnergyRecord(
            command=list(request.command),
            exit_code=ended.exit_code,
            seconds=ended.seconds,
            user_seconds=ended.user_seconds,
            system_seconds=ended.system_seconds,
            cpu_seconds=ended.cpu_seconds,
            cpus=cpus,
            core_seconds=cpus * ended.seconds,
            max_rss_bytes=ended.max_rss_bytes,
            left_running=list(ended.left_running),
            energy=energy,
            sampler_cpu=recording.sampler_cpu if recording else None,
            watts=[(round(end, 3), watts) for end, watts in recording.watts()] if recording else None,
            notices=[*found.notices, *([notice] if notice is not None else [])],
        )
        print(text.as_json(record), file=services.output, flush=True)
        return ended.exit_code
    total = {domain.name for domain in counted(recording.domains)} if recording else set()
    _print(_lines(ended, cpus, msgspec.convert(energy, Energy), total), services)
    return ended.exit_code


class EnergyRecord(msgspec.Struct, frozen=True, kw_only=True):
    """What `tauto energy --json` prints."""

    schema: str = RUN_SCHEMA
    command: list[str]
    exit_code: int
    seconds: float
    user_seconds: float
    system_seconds: float
    cpu_seconds: float
    cpus: int  # that it might use
    core_seconds: float  # all of these, for as long as it ran
    max_rss_bytes: int | None
    left_running: list[str]  # processes that it left behind
    energy: dict[str, Any]  # as a row has it: see Energy
    sampler_cpu: int | None
    watts: list[tuple[float, float]] | None  # seconds since the start, mean power until then
    notices: list[str]


def _energy(
    found: Found,
    ended: Ended,
    recording: Recording | None,
    idle: IdlePower | None,
    reference_seconds: float | None,
    model: estimate.Model | None,
) -> dict[str, object]:
    """What the meter showed; without joules the reason, or the model's estimate where there is a model."""
    why = found.why if recording is None else recording.unavailable
    if why is not None and model is not None:
        return estimate.estimated_energy(model, ended.seconds, ended.cpu_seconds, why)
    return no_energy(found.why) if recording is None else energy_record(recording, idle, reference_seconds)


def _print(lines: list[tuple[str, str, str]], services: EnergyServices) -> None:
    """On standard error, so that standard output is the command's own."""
    table = Table(box=None, show_header=False, padding=(0, 2, 0, 0))
    table.add_column(no_wrap=True)
    table.add_column(justify="right", no_wrap=True)
    table.add_column(overflow="fold")
    for line in lines:
        table.add_row(*line)
    Terminal(file=services.messages, highlight=False).print(table)


def _lines(ended: Ended, cpus: int, energy: Energy, total: Collection[str]) -> list[tuple[str, str, str]]:
    """Name, figure, remark. ``total``: the domains that are added up."""
    busy = ended.cpu_seconds / ended.seconds if ended.seconds > 0 else 0.0
    lines = [
        ("time", text.seconds(ended.seconds), ""),
        ("CPU-seconds", text.seconds(ended.cpu_seconds), f"{busy:.2f} CPUs busy on average"),
        ("core-seconds", text.seconds(cpus * ended.seconds), f"{cpus} CPUs held"),
    ]
    if energy.status == METERED:
        return lines + _energy_lines(energy, total)
    if energy.status == ESTIMATED:
        estimated = f"{text.quantity(energy.estimated_joules, 'J')} ± {energy.error_percent:.0f} %"
        lines.append(("energy, estimated", estimated, f"a model {energy.model}"))
    why = Unavailable(energy.reason or "", energy.remedy or "")
    return [*lines, ("energy", DOUBTED if energy.status == DOUBTED else UNAVAILABLE, str(why))]


def _energy_lines(energy: Energy, total: Collection[str]) -> list[tuple[str, str, str]]:
    joules = text.quantity
    lines = [
        ("energy E_run", joules(energy.joules, "J"), f"{energy.total}, from {energy.source}"),
        ("mean power", joules(energy.mean_watts, "W"), ""),
    ]
    if energy.idle_watts is not None:
        lines += [
            (
                "idle power",
                joules(energy.idle_watts, "W"),
                f"± {joules(energy.idle_spread_watts, 'W')}, before and after",
            ),
            (
                "E_net",
                joules(energy.net_joules, "J"),
                f"± {joules(energy.net_error_joules, 'J')}: E_run less idle power, what the run added",
            ),
        ]
    if energy.common_joules is not None:
        until = text.seconds(energy.reference_seconds)
        lines.append(("E_common", joules(energy.common_joules, "J"), f"E_run, then idle until {until}"))
    lines += [
        ("EDP", joules(energy.edp_joule_seconds, "Js"), "energy times time"),
        ("ED²P", joules(energy.ed2p_joule_seconds2, "Js²"), "energy times time squared"),
    ]
    lines += [
        (f"  {name}", joules(value, "J"), "" if name in total else "apart")
        for name, value in energy.domain_joules.items()
    ]
    return [*lines, ("the meter itself", joules(energy.sampler_cpu_seconds, "s"), "of CPU time")]
