"""``tauto simulate``: runs a study on a simulated machine, stores its rows, and writes the report."""

from __future__ import annotations

import json as json_module
import math
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

import msgspec
from rich.console import Console

from tautochrone import report
from tautochrone.errors import TautoError, explained
from tautochrone.files import append_lines
from tautochrone.report.parts import Record
from tautochrone.results import USUAL_FOLDER
from tautochrone.results.context import Command
from tautochrone.results.row import ROW_SCHEMA
from tautochrone.results.row import Row as StoredRow
from tautochrone.simulator import engine, machines
from tautochrone.simulator.contest import contest_of
from tautochrone.simulator.engine import MemberAccount, Row
from tautochrone.simulator.findings import Account, Axis, LineChart, SimulatedAnalysis, Timeline
from tautochrone.simulator.machines import Machine
from tautochrone.simulator.requests import (
    KERNELS,
    PUBLISHED,
    STUDIES,
    Point,
    Sweep,
    representative,
    usual_kernel,
    with_kernel,
)
from tautochrone.text import percent, seconds

StoredRecord = dict[str, object]
"""A simulated row as ``simulated.jsonl`` has it."""

SIMULATED = "This was simulated, not measured."
_ROWS_FILE = "simulated.jsonl"
_MOST_STEPS = 64
_MOST_SLICES = 4000  # slices that a page draws
_MOST_MEMBERS = 128  # members that it names
_DEFAULT_STEPS = 7


def run_simulate_command(
    study: str,
    machine_name: str,
    settings: Sequence[str],
    sweep: str | None,
    output: Path | None,
    json: bool,
    console: Console,
    kernel: str | None = None,
) -> int:
    """Run one of ``STUDIES``. Raises TautoError for an unknown machine or kernel."""
    if kernel is not None and (study != "loop" or kernel not in KERNELS):
        raise TautoError(f"study {study} has no kernel {kernel!r}", "loop has tuned and published")
    machine = machines.change(machines.load(machine_name), settings)
    if kernel == PUBLISHED and usual_kernel(machine) != PUBLISHED:
        raise TautoError(
            f"the published kernel cannot be simulated on {machine.name}: not all its kinds of cores have "
            "chain_cycles_per_element",
            "Add it to the machine file, or choose --kernel tuned",
        )
    if sweep:
        rows, analysis = _swept(study, machine, sweep, kernel)
    else:
        more = ("--kernel", kernel) if kernel else ()
        command = command_line(study, machine_name, settings, *more)
        rows, analysis = _studied(study, machine, command, kernel)
    if json:
        return print_rows(rows)
    return publish(rows, machine, analysis, output or default_folder(study), console)


def command_line(study: str, machine_name: str, settings: Sequence[str], *more: str) -> str:
    """The shell command that runs the same again; ``more``: further options."""
    words = ["tauto", "simulate", study, *more, "--machine", machine_name]
    return shlex.join([*words, *(word for setting in settings for word in ("--set", setting))])


def default_folder(name: str) -> Path:
    return USUAL_FOLDER / f"simulated-{name}"


def print_rows(rows: Sequence[StoredRecord]) -> int:
    for row in rows:
        print(json_module.dumps(row, ensure_ascii=False))
    return 0


def publish(
    rows: Sequence[StoredRecord],
    machine: Machine,
    analysis: SimulatedAnalysis,
    folder: Path,
    console: Console,
) -> int:
    """Store the rows, write the report and print its first sentences. Returns the exit code.

    Raises TautoError if the folder cannot be written.
    """
    with explained(f"the rows cannot be written to {folder}", "Choose another folder with --output"):
        folder.mkdir(parents=True, exist_ok=True)
        append_lines(folder / _ROWS_FILE, (json_module.dumps(row, ensure_ascii=False) for row in rows))
    stored = msgspec.convert(rows, list[StoredRow])
    path = report.write(stored, record_of(machine), folder / "report.html", analysis, study=analysis.study)
    for sentence in (*analysis.verdict_sentences, f"The report: {path}"):
        console.print(sentence, soft_wrap=True, highlight=False)
    return 0


def stored_row(
    study: str,
    row: Mapping[str, object],
    machine: Machine,
    name: str,
    config: Mapping[str, object],
    *key: object,
) -> StoredRecord:
    """The stored record of a run: its row and its settings; ``key`` makes its config_id unique."""
    return {
        **row,
        "schema": ROW_SCHEMA,
        "started": datetime.now(UTC).isoformat(timespec="seconds"),
        "study": study,
        "name": name,
        "config": config,
        "config_id": json_module.dumps([name, *key], sort_keys=True),
        "round": 0,
        "machine_name": machine.name,
    }


def _row(point: Point, row: Row, machine: Machine, **swept: float) -> StoredRecord:
    settings = {key: value for key, value in point.request.items() if key not in ("study", "timeline")}
    config = {**settings, **swept}
    return stored_row(point.request["study"], row, machine, point.series, config, settings, swept)


def _record(point: Point, x: float, y: float, row: Row) -> Record:
    return {
        "runtime": point.series,
        "label": point.series,
        "x": x,
        "y": y,
        "seconds": row.get("seconds"),
        "waiting": row.get("waiting_share"),
        "joules": (row.get("energy") or {}).get("joules"),
    }


def _sweep_of(study: str, machine: Machine, kernel: str | None) -> Sweep:
    sweep = STUDIES[study](machine)
    if kernel is None:
        return sweep
    shown = [Point("", 0.0, sweep.timeline)] if sweep.timeline else []
    timeline = with_kernel(shown, kernel)[0].request if shown else None
    return msgspec.structs.replace(sweep, points=with_kernel(sweep.points, kernel), timeline=timeline)


def _studied(
    study: str, machine: Machine, command: str, kernel: str | None
) -> tuple[list[StoredRecord], SimulatedAnalysis]:
    sweep = _sweep_of(study, machine, kernel)
    timeline = [{**sweep.timeline, "accounts": True}] if sweep.timeline else []
    answers = engine.simulate(machine, [*(point.request for point in sweep.points), *timeline])
    runs = list(zip(sweep.points, answers, strict=False))
    chart = LineChart(
        name=study,
        heading=f"{sweep.y.title.capitalize()} against {sweep.x.title}",
        explanation=f"In virtual time on {machine.name}.",
        x=sweep.x,
        y=sweep.y,
        records=tuple(_record(point, point.x, sweep.value(row), row) for point, row in runs),
    )
    contest = contest_of(study, sweep, runs)
    analysis = msgspec.structs.replace(
        _analysis(study, machine, chart),
        verdict_sentences=(f"On {machine.name}, {contest.sentence}", SIMULATED),
        first=contest.first_screen(machine.name),
        timelines=(_timeline(answers[-1], sweep.shown),) if timeline else (),
        commands=(Command(label="The same again", text=command),),
    )
    return [_row(point, row, machine) for point, row in runs], analysis


def _analysis(study: str, machine: Machine, chart: LineChart) -> SimulatedAnalysis:
    return SimulatedAnalysis(
        verdict_sentences=(chart.heading, SIMULATED),
        study=study,
        machine_name=machine.name,
        charts=(chart,),
        facts=facts_of(machine),
    )


def _timeline(row: Row, shown: str) -> Timeline:
    sort = "core" if row["study"] == "power" else "member"
    slices = [entry for entry in row.get("timeline") or [] if entry[0] < _MOST_MEMBERS][:_MOST_SLICES]
    names = {member: f"{sort} {member}" for member in sorted({int(entry[0]) for entry in slices})}
    share, accounts = row.get("waiting_share"), row["accounts"]
    drawn, whole = max((entry[3] for entry in slices), default=0), accounts["end_nanoseconds"]
    waiting = f": {percent(share)} of the members' time is waiting" if share is not None else ""
    beginning = (
        f" The chart shows the first {seconds(drawn * 1e-9)} of {seconds(whole * 1e-9)}."
        if drawn < whole
        else ""
    )
    return Timeline(
        name="timeline",
        heading=f"What each {sort} does in one run ({shown}){waiting}",
        explanation=(
            f"One bar for each {sort}. A waiting {sort} is awake without work: it spins, or waits for a lock "
            f"or the next chunk. The table below gives the time and energy of each; together with the rest "
            f"of the machine they add up to the whole."
            f"{beginning}"
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


def _accounts(members: Sequence[MemberAccount], sort: str) -> Iterator[Account]:
    """One account for each member; members beyond the limit are summed in one."""
    groups = {f"{sort} {number}": [member] for number, member in enumerate(members[:_MOST_MEMBERS])}
    if others := members[_MOST_MEMBERS:]:
        groups[f"{len(others):,} others"] = list(others)
    for name, group in groups.items():
        yield Account(
            member=name,
            working=sum(member["working_nanoseconds"] for member in group) * 1e-9,
            waiting=sum(member["waiting_nanoseconds"] for member in group) * 1e-9,
            idle=sum(member["idle_nanoseconds"] for member in group) * 1e-9,
            joules=sum(member["picojoules"] for member in group) * 1e-12,
        )


def sweep_values(machine: Machine, text: str) -> tuple[str, list[float]]:
    """``cores.E.count=4..32`` or ``…=1e10..9e10:5`` as a path and its values. Raises TautoError."""
    match = re.fullmatch(r"([\w.-]+)=([-+.\deE]+?)\.\.([-+.\deE]+?)(?::(\d{1,9}))?", text)
    if not match:
        raise TautoError(
            f"--sweep {text} is not a range",
            "Write --sweep cores.E.count=4..32, and :5 after it for five steps",
        )
    path, steps = match.group(1), int(match.group(4) or _DEFAULT_STEPS)
    try:
        low, high = float(match.group(2)), float(match.group(3))
    except ValueError:
        raise TautoError(f"--sweep {text} is not a range", "Give two numbers with .. between them") from None
    if not (low < high and math.isfinite(high - low)) or not 2 <= steps <= _MOST_STEPS:
        raise TautoError(
            f"--sweep {text} is not an ascending range of 2 to {_MOST_STEPS} steps",
            f"Give the smaller number first, and 2 to {_MOST_STEPS} steps",
        )
    whole = machines.is_whole(machine, path)
    values = [low + (high - low) * step / (steps - 1) for step in range(steps)]
    return path, sorted({float(round(value)) if whole else value for value in values})


def _swept(
    study: str, machine: Machine, text: str, kernel: str | None
) -> tuple[list[StoredRecord], SimulatedAnalysis]:
    path, values = sweep_values(machine, text)
    changed = [
        machines.with_values(machine, {path: int(value) if value == int(value) else value})
        for value in values
    ]
    points = [representative(each, study) for each in changed]
    points = [with_kernel(group, kernel) for group in points] if kernel else points
    answers = engine.simulate_many(
        [(each, [point.request for point in group]) for each, group in zip(changed, points, strict=True)]
    )
    sweep = STUDIES[study](machine)
    rows: list[StoredRecord] = []
    records: list[Record] = []
    for value, each, group, answer in zip(values, changed, points, answers, strict=True):
        for point, row in zip(group, answer, strict=True):
            rows.append(_row(point, row, each, **{path: value}))
            records.append(_record(point, value, sweep.value(row), row))
    chart = LineChart(
        name=study,
        heading=f"How {sweep.y.title.split(',')[0]} changes with {path} on {machine.name}",
        explanation=f"{path} from {values[0]:g} to {values[-1]:g}; all else as in the machine file.",
        x=Axis(field="x", title=path),
        y=sweep.y,
        records=tuple(records),
    )
    return rows, _analysis(study, machine, chart)


def facts_of(machine: Machine) -> dict[str, str]:
    facts = {"Name": machine.name}
    for kind in machine.kind:
        facts[f"Cores {kind.kind}"] = f"{kind.cores}, {kind.hardware_threads_per_core} hardware threads each"
    if machine.says("memory", "memory_bytes_per_second"):
        facts["Memory bandwidth"] = f"{machine.memory.memory_bytes_per_second / 1e9:g} GB/s"
    return facts


def record_of(machine: Machine) -> Mapping[str, object]:
    """The machine for the report's machine block: one entry for each hardware thread."""
    kinds = [kind for kind in machine.kind for _ in range(min(kind.cores, 512))]
    threads = [
        (core, kind.kind) for core, kind in enumerate(kinds) for _ in range(kind.hardware_threads_per_core)
    ]
    cpus = [
        {"cpu": cpu, "kind": kind, "core": core, "package": 0} for cpu, (core, kind) in enumerate(threads)
    ]
    return {"name": f"{machine.name} (simulated)", "cpus": cpus}
