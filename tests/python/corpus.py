"""Changed stores, study.json files and lines of runners for `fuzzing`; the sums of all lines are right."""

from __future__ import annotations

import contextlib
import io
import json
import random
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from importlib import import_module
from pathlib import Path
from typing import Any

import compare_fakes
from recorded_space import RecordedSpace, ReplayExecutor, read_space
from tautochrone.cli.report import report_again
from tautochrone.comparing import analysis as comparing_analysis
from tautochrone.comparing import measure as comparing
from tautochrone.comparing import saved
from tautochrone.comparing.result import CompareContext
from tautochrone.errors import TautoError
from tautochrone.machine.record import machine_of
from tautochrone.measuring import subprocess_executor
from tautochrone.measuring.clock import VirtualClock
from tautochrone.measuring.objective import parse_objective
from tautochrone.measuring.plan import Plan
from tautochrone.measuring.progress import SilentProgress
from tautochrone.results import context as contexts
from tautochrone.results.compare import compare_results
from tautochrone.results.export import table
from tautochrone.results.lines import read_lines, sum_of
from tautochrone.results.store import ROWS_FILE, Store
from tautochrone.studies import STUDIES, study_named
from tautochrone.studies.against_command import run_against_command
from tautochrone.studies.against_matching import KINDS as SIMULATED
from tautochrone.terminal import Terminal
from tautochrone.tune import tuning
from tautochrone.tune.analysis import analyse
from tautochrone.tune.answer import TuneContext
from tautochrone.tune.judging import complaint
from tautochrone.tune.search import FinalPlan, Limits, Setup, search
from tune_fakes import machine

SEARCH, COMPARISON, SITTING = tuning.STUDY, comparing.STUDY, "sitting"
KINDS = (*STUDIES, SEARCH, COMPARISON)
SPACE = Path(__file__).parent / "recorded_spaces" / "numpy-openblas.json"
COMMANDS = {"old": "seconds 1.0 noise 1%", "new": "seconds 0.9 noise 1%", "third": "seconds 1.0 noise 2%"}
SAVED = "before"
FEW_LINES = 6
NUMBERS = (
    *(0, -1, 1, 2, 0.5, -0.0, 1e-320, 1e18, 1e308, -1e308, 998, 999, 2**31, 2**53),
    *(2**63 - 1, -(2**63), 2**64, 10**40, float("nan"), float("inf")),
)
OTHERS = (
    *(None, True, False, "", "x", "x" * 300, "1", "-1", "nan", "a\0b", "\udcff", "<b>", "{0}"),
    *([], {}, [[]], [{}], [None], [1, "a"], {"a": {"b": 1}}, {"1": 2}, {"": None}),
)
ODD: tuple[Any, ...] = (*NUMBERS, *OTHERS)
_DEEPER = 0.8


def changed(value: Any, chance: random.Random, changes: int = 1) -> Any:
    """A copy of a JSON value with some places changed: another value there, none, or one twice."""
    for _ in range(changes):
        value = _changed_once(value, chance)
    return value


def _changed_once(value: Any, chance: random.Random) -> Any:
    """What is not on the way to the place is shared with the value."""
    if not isinstance(value, dict | list) or not value:
        return value
    copy: Any = value.copy()
    key = chance.choice([*copy]) if isinstance(copy, dict) else chance.randrange(len(copy))
    if isinstance(copy[key], dict | list) and copy[key] and chance.random() < _DEEPER:
        copy[key] = _changed_once(copy[key], chance)
    else:
        _change(copy, key, chance)
    return copy


def _change(parent: Any, key: Any, chance: random.Random) -> None:
    kind = chance.randrange(8)
    if kind == 0:
        del parent[key]
    elif kind == 1 and isinstance(parent, list):
        parent.insert(key, parent[key])
    elif kind == 2 and isinstance(parent, dict):
        parent[chance.choice(("", "x", "a b", "1", "schema", key * 2))] = parent.pop(key)
    elif kind == 3 and isinstance(parent[key], int | float) and not isinstance(parent[key], bool):
        parent[key] *= chance.choice((-1, 0, 1e-9, 1e9, 1.5))
    elif kind == 4 and isinstance(parent, dict):  # a value that stands elsewhere
        parent[key] = parent[chance.choice([*parent])]
    else:
        parent[key] = chance.choice(ODD)


@dataclass
class Known:
    """What fake processes leave of a kind of results: their records, and the file beside them."""

    records: list[dict[str, Any]]
    context: dict[str, Any]
    lines: list[dict[str, Any]] = field(default_factory=list)  # what the runners printed

    @classmethod
    def left_in(cls, folder: Path) -> Known:
        records = [*read_lines(io.BytesIO((folder / ROWS_FILE).read_bytes())).records.values()]
        return cls(records, json.loads((folder / contexts.CONTEXT_FILE).read_bytes()))

    @property
    def rows(self) -> list[dict[str, Any]]:
        return self.records[2:]


@cache
def known(kind: str) -> Known:
    """A small store of a kind of results."""
    with tempfile.TemporaryDirectory() as name, contextlib.redirect_stderr(io.StringIO()):
        folder = Path(name) / kind
        _measured(kind, folder)
        found = Known.left_in(folder)
    if kind in STUDIES:
        found.lines = [
            {**row["detail"], "seconds": row["seconds"], "check": row["check"], "workers": row["workers"]}
            for row in found.rows
            if "run" in row and row["error"] is None
        ]
    return found


def _measured(kind: str, folder: Path) -> None:
    """Let a study, a search or a comparison measure there what is missing."""
    if kind == SEARCH:
        _searched(folder)
    elif kind == COMPARISON:
        _compared(folder, COMMANDS)
    elif kind == SITTING:
        _compared(folder, {"old": COMMANDS["old"]})
    else:
        fakes, small = import_module(f"study_{kind}_fakes"), {}
        if kind in ("loop", "nbody"):
            small = {"loop": {"sizes": (400,)}, "nbody": {"particles": (256,)}}[kind]
        study_named(kind).measure(fakes.request(folder, **small), fakes.laboratory().services)


@cache
def _space() -> RecordedSpace:
    return read_space(SPACE)


def _searched(folder: Path) -> None:
    """What `run_tune` does between its preparations and its profile, on a recorded program."""
    clock, space = VirtualClock(), _space()
    plan = Plan(SEARCH, space.configurations(), 1, machine=machine().to_dict())
    with Store.open(folder, SEARCH, plan.plan_id, plan.machine, now=clock.now()) as store:
        store.checked(partial(complaint, parse_objective("time")))
        context = contexts.load(TuneContext(folder=str(folder), program=("x",)), folder)
        contexts.save(context, folder)

        def keep(planned: FinalPlan) -> None:
            context.finalists, context.looks = tuple(planned.finalists), tuple(planned.looks)
            context.eliminated = dict(planned.eliminated)

        setup = Setup(
            plan=plan,
            store=store,
            executor=ReplayExecutor(space, clock, 1),
            clock=clock,
            progress=SilentProgress(),
            limits=Limits(None, runs=60),
        )
        planned = (context.finalists, context.looks, context.eliminated)
        context.ended = search(setup, FinalPlan(*planned) if context.finalists else None, keep).ended
        contexts.save(context, folder)
        analyse(store.rows(None), plan.machine, context)


def _compared(folder: Path, commands: dict[str, str]) -> None:
    clock = VirtualClock()
    fake = compare_fakes.FakeCommands(clock, commands, bridge_seconds=1e-3)
    compare_fakes.compared(commands, executor=fake, rounds=10, output=folder)


@cache
def _texts(kind: str) -> dict[int, str]:
    """The records of a kind as JSON, by their identity, which lasts as `known` does."""
    return {id(record): json.dumps(record, separators=(",", ":")) for record in known(kind).records}


def written(records: Sequence[Any], kind: str) -> bytes:
    """Lines whose sums are right, whatever is in them."""
    lines, before, texts = [], sum_of(b""), _texts(kind)
    for record in records:
        text = texts.get(id(record)) or json.dumps(record, separators=(",", ":"))
        if isinstance(record, dict) and record:
            body = f'{text[:-1]},"after":"{before}",'.encode()
            before = sum_of(body)
            lines.append(body + f'"sum":"{before}"}}'.encode())
        else:
            lines.append(text.encode())
    return b"\n".join(lines) + b"\n"


# -- what is changed --


def _some(rows: list[Any], chance: random.Random, most: int = 5) -> list[Any]:
    """The rows of some configurations: small stores are judged sooner."""
    names = [*dict.fromkeys(row.get("config_id") for row in rows)]
    wanted = {names[0], *chance.sample(names, min(len(names), chance.randint(1, most)))}
    return [row for row in rows if row.get("config_id") in wanted]


def _shaken(rows: list[Any], chance: random.Random) -> list[Any]:
    """Rows that are missing, twice, in another order, of another round, configuration, source or end."""
    rows, at = rows.copy(), chance.randrange(len(rows))
    row = rows[at]
    share = chance.choice((0.02, 0.3, 1.0))
    match chance.randrange(11):
        case 0:
            return [one for one in rows if chance.random() > share / 2]
        case 1:
            chance.shuffle(rows)
        case 2:
            rows += [
                {**one, "run": f"{number}"} for number, one in enumerate(rows) if chance.random() < share
            ]
        case 3:
            rows.append({**row, "seconds": chance.choice((1e-15, 1.0, 1e12))})
        case 4:
            same = chance.choice((0, 1, 998, row.get("round")))
            return [{**one, "round": same} if chance.random() < share else one for one in rows]
        case 5:
            other = chance.choice(rows)
            name = chance.choice(("config_id", "config", "group", "check", "detail", "workers", "seconds"))
            rows[at] = {**row, name: other.get(name)}
        case 6:
            error = {"kind": chance.choice(("failed", "wrong_answer", "new")), "message": "<b>\x1b[2J"}
            return [
                {**one, "seconds": None, "error": error} if chance.random() < share else one for one in rows
            ]
        case 7:
            source = chance.choice(("screening", "measured", "simulated", ""))
            return [{**one, "source": source} if chance.random() < share else one for one in rows]
        case 8:
            name = chance.choice(
                ("check", "workers", "detail", "config", "energy", "counters", "bridge_seconds")
            )
            return [{**one, name: None} if chance.random() < share else one for one in rows]
        case 9:
            factor = chance.choice((1e-9, 1.0, 1e9))
            return [
                {**one, "seconds": (row.get("seconds") or 1.0) * factor} if chance.random() < share else one
                for one in rows
            ]
        case _:
            return rows[at:] + rows[:at]
    return rows


def _records(kind: str, rows: list[Any], chance: random.Random) -> list[Any]:
    """The two lines before the rows and these, some of them changed."""
    records = [*known(kind).records[:2], *rows]
    shaken = chance.random() < 0.4
    if shaken and rows:
        records[2:] = _shaken(rows, chance)
    for _ in range(chance.choice((0, 1, 1, 3)) if shaken else chance.choice((1, 1, 2, 5))):
        number = chance.choice((1, *[chance.randrange(len(records)) for _ in range(5)]))
        records[number] = changed(records[number], chance, chance.choice((1, 1, 3)))
    return records


def _whole(kind: str, records: Sequence[Any], chance: random.Random) -> bytes:
    """The kind, the line of its study.json, and the store."""
    context = known(kind).context
    if chance.random() < 0.3:
        context = changed(context, chance, chance.choice((1, 1, 3)))
    return f"{kind}\n{json.dumps(context)}\n".encode() + written(records, kind)


def small_stores(chance: random.Random) -> bytes:
    kind = chance.choice(KINDS)
    rows = known(kind).rows
    begin = chance.randrange(max(1, len(rows) - FEW_LINES))
    return written(_records(kind, rows[begin : begin + FEW_LINES], chance), kind)


def whole_stores(chance: random.Random) -> bytes:
    kind = chance.choice(KINDS)
    return _whole(kind, _records(kind, _some(known(kind).rows, chance), chance), chance)


def all_rows(chance: random.Random) -> bytes:
    """Of a study whose last rows are missing now and then."""
    kind = chance.choice(KINDS)
    rows = known(kind).rows
    end = len(rows) if chance.random() < 0.5 else len(rows) - chance.randrange(min(30, len(rows)))
    return _whole(kind, _records(kind, rows[:end], chance), chance)


def simulated_studies(chance: random.Random) -> bytes:
    kind = chance.choice([*SIMULATED])
    return _whole(kind, _records(kind, _some(known(kind).rows, chance), chance), chance)


def sittings(chance: random.Random) -> bytes:
    """Of one command, as it is saved."""
    return _whole(SITTING, _records(SITTING, known(SITTING).rows, chance), chance)


def context_files(chance: random.Random) -> bytes:
    """The kind, and its file."""
    kind = chance.choice(KINDS)
    context = changed(known(kind).context, chance, chance.choice((1, 1, 3)))
    return f"{kind}\n{json.dumps(context)}".encode()


def runner_lines(chance: random.Random) -> bytes:
    """The study, and what its runner printed."""
    study = chance.choice([*STUDIES])
    line = chance.choice(known(study).lines)
    text = json.dumps(changed(line, chance, chance.choice((1, 3))))
    if chance.random() < 0.2:
        place = chance.randrange(len(text))
        odd = chance.choice(("[" * 2000, "1e999", "NaN", '"', "", "\udcff"))
        text = text[:place] + odd + text[place + 1 :]
    return f"{study}\n{text}".encode(errors="surrogateescape")


# -- who reads it --


def _unpacked(data: bytes, folder: Path) -> str:
    """Put a store and its study.json in a folder. Returns the kind."""
    kind, _, rest = data.partition(b"\n")
    context, _, rows = rest.partition(b"\n")
    folder.mkdir(parents=True, exist_ok=True)
    (folder / contexts.CONTEXT_FILE).write_bytes(context)
    (folder / ROWS_FILE).write_bytes(rows)
    return kind.decode(errors="replace")


def store(data: bytes, folder: Path) -> object:
    """Read and exported, not judged."""
    (folder / ROWS_FILE).write_bytes(data)
    read_lines(io.BytesIO(data)).notices(ROWS_FILE)
    with Store.read(folder) as found:
        return [*table(found.rows(None))[1]]


def analysis(data: bytes, folder: Path) -> object:
    """Compared with itself, and judged by its study."""
    _unpacked(data, folder)
    with contextlib.suppress(TautoError):
        compare_results(str(folder), str(folder))
    with Store.read(folder) as found:
        if found.study == SEARCH:
            known_beside: Any = contexts.load(TuneContext(), folder)
            judge = partial(complaint, parse_objective(known_beside.objective))
            return analyse(found.checked(judge), machine_of(found), known_beside)
        if found.study == COMPARISON:
            known_beside = contexts.load(CompareContext(), folder)
            rows = comparing_analysis.checked(found, known_beside)
            return comparing_analysis.analyse(rows, known_beside, machine_of(found))
        return study_named(found.study).stored(found)


def against(data: bytes, folder: Path) -> object:
    """Held against its simulation."""
    kind = _unpacked(data, folder)
    return run_against_command(kind, folder, None, True, Terminal(file=io.StringIO()))


def page(data: bytes, folder: Path) -> object:
    _unpacked(data, folder)
    return report_again(folder)


def resumed(data: bytes, folder: Path) -> object:
    """Gone on with: what is missing is measured by fakes."""
    kind = _unpacked(data, folder / "resumed")
    return _measured(kind if kind in KINDS else SEARCH, folder / "resumed")


def saved_before(data: bytes, folder: Path) -> object:
    """The same command, measured now, against it."""
    now = folder / "now"
    if not now.exists():
        _unpacked(_whole(SITTING, known(SITTING).records, random.Random(0)), now)
    _unpacked(data, folder / saved.folder_of(SAVED))
    with contextlib.chdir(folder):
        return saved.against(SAVED, now)


def context(data: bytes, folder: Path) -> object:
    kind, _, text = data.partition(b"\n")
    (folder / contexts.CONTEXT_FILE).write_bytes(text)
    empty = {SEARCH: TuneContext(), COMPARISON: CompareContext()}.get(kind.decode(errors="replace"))
    if empty is not None:
        return contexts.load(empty, folder).commands
    return study_named(kind.decode(errors="replace")).known_of(folder).commands


def runner(data: bytes, folder: Path) -> object:
    """Judged as what a runner printed."""
    study, _, text = data.decode(errors="surrogateescape").partition("\n")
    record, unreadable = subprocess_executor._record(text)
    subprocess_executor.against_the_clock(record, 1.0)
    return None if unreadable else study_named(study).ROWS.of_record(record)
