"""``tauto simulate``: runs a study on a simulated machine, stores its rows, and writes the report."""

from __future__ import annotations

import json as json_module
import math
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from rich.console import Console

from tautochrone import report
from tautochrone.errors import TautoError
from tautochrone.report.analysis_types import Command
from tautochrone.report.simulated.analysis_types import (
    Account,
    Axis,
    LineChart,
    SimulatedAnalysis,
    Timeline,
)
from tautochrone.report.text import percent, seconds
from tautochrone.simulator import engine, machines
from tautochrone.simulator.engine import Row
from tautochrone.simulator.machines import Machine
from tautochrone.simulator.sweeps import STUDIES, Point, Sweep, representative

ROW_SCHEMA = "tautochrone.row/1"
ROWS_FILE = "simulated.jsonl"
_MOST_STEPS = 64
_MOST_SLICES = 4000  # that a page draws
_MOST_MEMBERS = 128  # that it names
_DEFAULT_STEPS = 7


def run_simulate_command(
    study: str,
    machine_name: str,
    settings: Sequence[str],
    sweep: str | None,
    output: Path | None,
    json: bool,
    console: Console,
) -> int:
    """Run one study. Raises TautoError for what is not there."""
    if study not in STUDIES:
        raise TautoError(f"there is no study {study!r} to simulate", f"Choose from {', '.join(STUDIES)}")
    machine = machines.change(machines.load(machine_name), settings)
    rows, analysis = (
        _swept(study, machine, sweep, settings) if sweep else _studied(study, machine, machine_name, settings)
    )
    if json:
        for row in rows:
            print(json_module.dumps(row, ensure_ascii=False))
        return 0
    folder = output or Path("tautochrone-results") / f"simulated-{study}"
    store(rows, folder)
    path = report.write(rows, record_of(machine), folder / "report.html", study=study, extra=analysis)
    for sentence in analysis.verdict_sentences:
        console.print(sentence, soft_wrap=True, highlight=False)
    console.print(f"The report: {path}", soft_wrap=True, highlight=False)
    return 0


def store(rows: Sequence[Row], folder: Path) -> None:
    """Append the rows as JSON lines, one a run."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with (folder / ROWS_FILE).open("a", encoding="utf-8") as file:
            for row in rows:
                file.write(json_module.dumps(row, ensure_ascii=False) + "\n")
    except OSError as error:
        raise TautoError(
            f"the rows cannot be written to {folder}: {error.strerror or error}",
            "Choose another folder with --output",
        ) from error


def _row(point: Point, row: Row, machine: Machine, **config: Any) -> Row:
    now = datetime.now(UTC).isoformat(timespec="seconds")
    settings = {key: value for key, value in point.request.items() if key not in ("study", "timeline")}
    return {
        **row,
        "schema": ROW_SCHEMA,
        "started": now,
        "name": point.series,
        "config": {**settings, **config},
        "config_id": json_module.dumps([point.series, settings, config], sort_keys=True),
        "round": 0,
        "machine_name": machine["name"],
    }


def _record_of(point: Point, x: float, y: float | None, row: Row) -> dict[str, object]:
    return {
        "runtime": point.series,
        "label": point.series,
        "x": x,
        "y": y,
        "seconds": row.get("seconds"),
        "waiting": row.get("waiting_share"),
        "joules": (row.get("energy") or {}).get("joules"),
    }


def _studied(
    study: str, machine: Machine, machine_name: str, settings: Sequence[str]
) -> tuple[list[Row], SimulatedAnalysis]:
    sweep = STUDIES[study](machine)
    requests: list[Mapping[str, Any]] = [point.request for point in sweep.points]
    if sweep.timeline is not None:
        requests.append({**sweep.timeline, "accounts": True})
    found = engine.simulate(machine, requests)
    rows = [_row(point, row, machine) for point, row in zip(sweep.points, found, strict=False)]
    records = tuple(
        _record_of(point, point.x, sweep.value(row), row)
        for point, row in zip(sweep.points, found, strict=False)
    )
    chart = LineChart(
        name=study,
        heading=_finding(study, sweep, found, machine),
        explanation=(
            f"{sweep.y.title.capitalize()} against {sweep.x.title}, in virtual time on {machine['name']}."
        ),
        x=sweep.x,
        y=sweep.y,
        records=records,
    )
    timelines = (_timeline(found[-1]),) if sweep.timeline is not None else ()
    words = ["tauto", "simulate", study, "--machine", machine_name]
    command = shlex.join([*words, *(word for one in settings for word in ("--set", one))])
    analysis = SimulatedAnalysis(
        verdict_sentences=(chart.heading, "This was simulated, not measured."),
        study=study,
        machine_name=machine["name"],
        charts=(chart,),
        timelines=timelines,
        facts=facts_of(machine),
        commands=(Command(label="The same again", text=command),),
    )
    return rows, analysis


def _finding(study: str, sweep: Sweep, found: Sequence[Row], machine: Machine) -> str:
    """The sentence above the chart: the best of the last place on the axis, and the worst."""
    last = max(point.x for point in sweep.points)
    if study == "loop":
        last = 3000
    here = [
        (value, point.series)
        for point, row in zip(sweep.points, found, strict=False)
        if point.x == last and (value := sweep.value(row)) is not None and point.series != "serial"
    ]
    smaller_is_better = sweep.y.seconds or "energy" in sweep.y.title
    best, worst = (min(here), max(here)) if smaller_is_better else (max(here), min(here))

    def words(value: float) -> str:
        return seconds(value) if sweep.y.seconds else f"{value:.3g}"

    place = f"{sweep.x.title} {last:g}"
    what = sweep.y.title.split(",")[0]
    return (
        f"On {machine['name']}, at {place}, {best[1]} has the best {what} of all ({words(best[0])}), "
        f"{worst[1]} the worst ({words(worst[0])})"
    )


def _timeline(row: Row) -> Timeline:
    slices = [one for one in row.get("timeline") or [] if one[0] < _MOST_MEMBERS][:_MOST_SLICES]
    members = sorted({int(one[0]) for one in slices})
    sort = "core" if row["study"] == "power" else "member"
    names = {member: f"{sort} {member}" for member in members}
    share = row.get("waiting_share")
    said = f": {percent(share)} of the members' time is waiting" if share is not None else ""
    accounts = row["accounts"]
    drawn, whole = max((one[3] for one in slices), default=0), accounts["end_nanoseconds"]
    cut = (
        f" Drawn is the beginning, {seconds(drawn * 1e-9)} of {seconds(whole * 1e-9)}."
        if drawn < whole
        else ""
    )
    return Timeline(
        name="timeline",
        heading=f"What each {sort} does{said}",
        explanation=(
            f"One bar a {sort}. Waiting is awake without work: in a spin, at a lock, for the next chunk. The "
            "table below has each one's time and energy; with the rest of the machine they are the whole."
            + cut
        ),
        records=tuple(
            {
                "member": names[int(member)],
                "what": what,
                "begin": begin * 1e-9,
                "end": end * 1e-9,
                "watts": milliwatts * 1e-3,
                "joules": milliwatts * (end - begin) * 1e-12,
            }
            for member, what, begin, end, milliwatts in slices
        ),
        members=tuple(names.values()),
        accounts=tuple(_accounts(accounts["members"], sort)),
        rest_joules=accounts["rest_picojoules"] * 1e-12,
        joules=accounts["picojoules"] * 1e-12,
    )


def _accounts(members: Sequence[Row], sort: str) -> Iterator[Account]:
    """One a member; those whom no page can name are one together."""
    named = [(f"{sort} {number}", [one]) for number, one in enumerate(members[:_MOST_MEMBERS])]
    if others := members[_MOST_MEMBERS:]:
        named.append((f"the {len(others):,} others", list(others)))
    for name, together in named:
        working, waiting, idle, energy = (
            sum(one[key] for one in together)
            for key in ("working_nanoseconds", "waiting_nanoseconds", "idle_nanoseconds", "picojoules")
        )
        yield Account(
            member=name,
            working=working * 1e-9,
            waiting=waiting * 1e-9,
            idle=idle * 1e-9,
            joules=energy * 1e-12,
        )


def sweep_values(machine: Machine, text: str) -> tuple[str, list[float]]:
    """``cores.E.count=0..32`` or ``…=1e10..9e10:5`` as a path and its values. Raises TautoError."""
    found = re.fullmatch(r"([\w.-]+)=([-+.\deE]+?)\.\.([-+.\deE]+?)(?::(\d+))?", text)
    if not found:
        raise TautoError(
            f"--sweep {text} is no range",
            "Write --sweep cores.E.count=4..32, with :5 behind it for five steps",
        )
    path, steps = found.group(1), int(found.group(4) or _DEFAULT_STEPS)
    try:
        low, high = float(found.group(2)), float(found.group(3))
    except ValueError:
        raise TautoError(f"--sweep {text} is no range", "Give two numbers with .. between them") from None
    if not low < high < math.inf or not 2 <= steps <= _MOST_STEPS:
        raise TautoError(
            f"--sweep {text} goes nowhere", f"Give a smaller number first, and 2 to {_MOST_STEPS} steps"
        )
    whole = machines.is_whole(machine, path)
    values = [low + (high - low) * step / (steps - 1) for step in range(steps)]
    return path, sorted({float(round(one)) if whole else one for one in values})


def _swept(
    study: str, machine: Machine, text: str, settings: Sequence[str]
) -> tuple[list[Row], SimulatedAnalysis]:
    path, values = sweep_values(machine, text)
    batches: list[tuple[Machine, list[Point]]] = []
    for value in values:
        changed = machines.change(machine, [])
        machines.set_value(changed, path, int(value) if value == int(value) else value)
        batches.append((changed, representative(changed, study)))
    found = engine.simulate_many([(one, [point.request for point in points]) for one, points in batches])
    value_of = STUDIES[study](machine)
    rows: list[Row] = []
    records: list[dict[str, object]] = []
    for value, (changed, points), answers in zip(values, batches, found, strict=True):
        for point, row in zip(points, answers, strict=True):
            rows.append(_row(point, row, changed, **{path: value}))
            records.append(_record_of(point, value, value_of.value(row), row))
    heading = f"How {value_of.y.title.split(',')[0]} moves with {path} on {machine['name']}"
    chart = LineChart(
        name=study,
        heading=heading,
        explanation=f"{path} from {values[0]:g} to {values[-1]:g}, everything else as in the machine file.",
        x=Axis(field="x", title=path),
        y=value_of.y,
        records=tuple(records),
    )
    return rows, SimulatedAnalysis(
        verdict_sentences=(heading, "This was simulated, not measured."),
        study=study,
        machine_name=machine["name"],
        charts=(chart,),
        facts=facts_of(machine),
    )


def facts_of(machine: Machine) -> dict[str, str]:
    """What the report says of the machine."""
    facts = {"Name": str(machine["name"])}
    for kind in machine["kind"]:
        threads = kind.get("hardware_threads_per_core", 1)
        facts[f"Cores {kind['kind']}"] = f"{kind['cores']}, {threads} hardware threads each"
    bandwidth = machine.get("memory", {}).get("memory_bytes_per_second")
    if bandwidth:
        facts["Memory bandwidth"] = f"{bandwidth / 1e9:g} GB/s"
    return facts


def record_of(machine: Machine) -> dict[str, Any]:
    """The machine as the report's machine block takes it: one entry a hardware thread."""
    cpus: list[dict[str, Any]] = []
    core = 0
    for kind in machine["kind"]:
        for _ in range(min(kind["cores"], 512)):
            for _ in range(kind.get("hardware_threads_per_core", 1)):
                cpus.append({"cpu": len(cpus), "kind": kind["kind"], "core": core, "package": 0})
            core += 1
    return {"name": f"{machine['name']} (simulated)", "cpus": cpus}
