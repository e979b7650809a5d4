"""Make each call of a command to the system fail once, and kill the command there and at any moment.

As SQLite tests itself: whatever fails, no finished row is lost, no figure is wrong, the error is one for
people, the same command goes on, and nothing is left behind: no file, no process. Studies on a virtual clock,
a search of a program that sleeps and the commands that write files run in forked children of this process,
into which programs/faults.c is loaded.

    python tests/python/faults.py --most 0             at every call: an error, half a write, a kill
    python tests/python/faults.py --kills 1000         killed at random as often
    python tests/python/faults.py --most 0 --seconds 500 --keep build/faults.json      in pieces
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import errno
import faulthandler
import json
import os
import random
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import study_loop_fakes
import study_mapreduce_fakes
import study_power_fakes
from processes import family_of, is_running, name_of, with_lab
from soaking import Totals
from tautochrone.cli import streams
from tautochrone.cli.main import BAD_INPUT, COMMANDS, INTERRUPTED, UNEXPECTED
from tautochrone.cli.main import main as tauto
from tautochrone.errors import TautoError
from tautochrone.measuring import subprocess_executor
from tautochrone.results.lines import plain
from tautochrone.results.store import ROWS_FILE, Store
from tautochrone.studies.loop.study import Loop
from tautochrone.studies.mapreduce.study import MapReduce
from tautochrone.studies.power.study import Power
from tautochrone.studies.study import Study
from tautochrone.tune.options import TuneRequest
from tune_fakes import real_services, tune_by_runs

SEARCH_RUNS = 12
LIMIT_SECONDS = 60
ORPHANS_SECONDS = 10
EARLY_SECONDS = 0.1  # most files are made in the first moments
ERRORS = (errno.EIO, errno.ENOSPC, errno.ENOMEM, errno.EMFILE, errno.EAGAIN, errno.EINTR)
HALF, KILLED, KILLED_AT_HALF = 0, -1, -2  # as in faults.c
WAYS = {HALF: "half", KILLED: "killed", KILLED_AT_HALF: "killed at half"}
ALL = 10**6
CALLS_WITHIN, MOST_WITHIN = 260, 200
SUBREAPER = 36
SOURCE = Path(__file__).with_name("programs") / "faults.c"


@dataclass(frozen=True)
class Work:
    """What is done to a folder, what makes one to begin with, and how many calls of a kind are disturbed."""

    do: Callable[[Path], object]
    prepare: Callable[[Path], object] | None = None
    most_alike: int = 50
    starts: bool = False  # programs, through the starter, whose calls are disturbed too
    passed_on: tuple[int, ...] = ()  # how it may end because its command did


def tune(folder: Path, **changes: Any) -> object:
    asked = TuneRequest(command=("sleep", "0.007"), output=folder, environment={"X": ("a",)}, **changes)
    return tune_by_runs(asked, real_services(), SEARCH_RUNS)


def study(kind: type[Study], fakes: ModuleType, **changes: Any) -> Callable[[Path], object]:
    """A study on a virtual clock."""
    return lambda folder: kind.measure(fakes.request(folder, **changes), fakes.laboratory().services)


def command(*words: str) -> Callable[[Path], int]:
    """A command that is given the folder as OUT."""
    return lambda folder: tauto([word.replace("OUT", str(folder)) for word in words])


LOOP = study(Loop, study_loop_fakes, sizes=(400,), rounds=8)
TWO = ("OUT@library=libgomp,schedule=static", "OUT@library=tbb,schedule=auto")
SLEEP = ("--", "sleep", "0.02")
ENDED = (127, 128 + signal.SIGKILL, 128 + signal.SIGTERM)
WORKS: dict[str, Work] = {
    "study": Work(LOOP, most_alike=ALL),
    "power": Work(study(Power, study_power_fakes)),
    "mapreduce": Work(study(MapReduce, study_mapreduce_fakes)),
    "tune": Work(partial(tune, report=False), most_alike=ALL, starts=True),
    "scratch": Work(partial(tune, report=False, scratch=True, same_output=True), starts=True),
    "report": Work(command("report", "OUT"), LOOP),
    "export": Work(command("export", "OUT", "--format", "csv"), LOOP),
    "compare": Work(command("compare", *TWO, "--json"), LOOP),
    "trace": Work(command("trace", "--output", "OUT/trace.html", *SLEEP), Path.mkdir, passed_on=ENDED),
    "energy": Work(command("energy", "--idle-seconds", "0", *SLEEP), Path.mkdir, passed_on=ENDED),
    "inspect": Work(command("inspect", "--run", "--", "sleep", "0.02"), Path.mkdir, starts=True),
    "simulate": Work(command("simulate", "loop", "--machine", "i9-14900k", "--output", "OUT")),
}


def built(folder: Path) -> Path:
    """The library that makes calls fail."""
    library = folder / "faults.so"
    subprocess.run(["cc", "-O1", "-fPIC", "-shared", "-o", library, SOURCE, "-ldl"], check=True)
    return library


class Place:
    """Where a work is done: its folder, the temporary files beside it, and what it said."""

    def __init__(self, work: Work, scratch: Path) -> None:
        self.work = work
        self.path = Path(tempfile.mkdtemp(dir=scratch))
        self.out = self.path / "out"
        self.temporary = self.path / "temporary"
        self.temporary.mkdir()
        (self.path / "here").mkdir()
        self._prepared = self.path / "prepared"
        if work.prepare is not None:
            work.prepare(self._prepared)
        self.clear()

    def clear(self) -> None:
        shutil.rmtree(self.out, ignore_errors=True)
        shutil.rmtree(self.temporary)
        self.temporary.mkdir()
        if self._prepared.exists():
            shutil.copytree(self._prepared, self.out)

    @property
    def said(self) -> str:
        for name in ("said", "printed"):
            with contextlib.suppress(FileNotFoundError):
                return (self.path / name).read_text(errors="replace")[-2000:]
        return ""

    @property
    def calls(self) -> list[str]:
        """The names of the calls of the last child that ended by itself."""
        return (self.path / "calls").read_text().split()

    def files(self) -> set[str]:
        return {str(path.relative_to(self.out)) for path in self.out.rglob("*") if path.is_file()}

    def whole_lines(self) -> list[bytes]:
        """The lines of a store that are whole."""
        with contextlib.suppress(FileNotFoundError):
            lines = (self.out / ROWS_FILE).read_bytes().splitlines(keepends=True)
            return [line for line in lines if _is_json(line)]
        return []

    @property
    def mark(self) -> Path:
        """A file that is there when a fault in a process of the work came."""
        return self.path / "mark"

    def begun(self, which: int = 0, error: int = 0, *, within: bool = False) -> int:
        """A forked child that does the work; its number. `within`: the faults are those of what it starts."""
        for name in ("said", "calls", "mark"):
            (self.path / name).unlink(missing_ok=True)
        # An interrupt in Python's own functions for a forked child would leave its locks half made.
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        pid = os.fork()
        if pid == 0:
            code = UNEXPECTED
            try:
                signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
                if within:
                    os.environ["TAUTO_FAULT"] = f"{which}:{error}:{self.mark}"
                code = self._child(*((0, 0) if within else (which, error)))
            except KeyboardInterrupt:  # before the work began
                code = INTERRUPTED
            finally:
                os._exit(code)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
        return pid

    def done(self, which: int = 0, error: int = 0, *, within: bool = False) -> int | None:
        """The code of a child that does the work; minus the signal that ended it, None if it hung."""
        return ended(self.begun(which, error, within=within))

    def _child(self, which: int, error: int) -> int:
        os.setpgid(0, 0)
        os.chdir(self.path / "here")
        os.environ["TMPDIR"] = tempfile.tempdir = str(self.temporary)
        with (self.path / "printed").open("w") as printed:
            os.dup2(printed.fileno(), 1)
            os.dup2(printed.fileno(), 2)
        faulthandler.enable()  # says where it hung
        library = ctypes.CDLL(None)
        library.faults_name.restype = ctypes.c_char_p
        library.faults_begin(ctypes.c_long(which), error)
        said = ""
        try:
            result = self.work.do(self.out)
            code = result if isinstance(result, int) else 0
        except KeyboardInterrupt:
            code = INTERRUPTED
        except TautoError as problem:
            code, said = BAD_INPUT, str(problem)
        except Exception as problem:
            said = streams.explanation(problem) or f"defect: {''.join(traceback.format_exception(problem))}"
            code = UNEXPECTED if said.startswith("defect") else BAD_INPUT
        count = library.faults_end()
        if said:
            (self.path / "said").write_text(said)
        names = [library.faults_name(ctypes.c_long(number + 1)) or b"?" for number in range(count)]
        (self.path / "calls").write_bytes(b"\n".join(names))
        return code


def _is_json(line: bytes) -> bool:
    with contextlib.suppress(ValueError):
        return line.endswith(b"\n") and isinstance(plain(line), dict)
    return False


def ended(pid: int) -> int | None:
    """How a child ended; None if it took too long. A time in which this process stood still is none."""
    watched = os.pidfd_open(pid)
    try:
        if not any(select.select([watched], [], [], 1.0)[0] for _ in range(LIMIT_SECONDS)):
            os.kill(pid, signal.SIGABRT)
            os.waitpid(pid, 0)
            return None
    finally:
        os.close(watched)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def orphans() -> list[str]:
    """The names of processes that outlived the works; they are ended then."""
    for _ in range(ORPHANS_SECONDS * 100):
        with contextlib.suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        if not (alive := family_of(os.getpid())):
            return []
        time.sleep(0.01)
    names = [name_of(pid) for pid in alive]
    for pid in alive:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    return names


def complaint(place: Place, code: int | None, good: tuple[int, ...], clean: set[str]) -> str:
    """What an interrupted work breaks of its promises, after the same command went on; empty if nothing."""
    if code is None or code not in (*good, *place.work.passed_on):
        return f"it {'hung' if code is None else f'ended with {code}'}: {place.said}"
    before = place.whole_lines()
    if (code := place.done()) != 0:
        return f"the same command {'hung' if code is None else f'ended with {code}'}: {place.said}"
    after = place.whole_lines()
    if after[: len(before)] != before:
        return "a row that was finished was lost or changed"
    if after:
        with Store.read(place.out) as store:
            rows = store.rows(None)
        if any(row.error is not None and row.error.kind == "wrong_answer" for row in rows):
            return "an answer became wrong"
        times = Counter((row.config_id, row.round, row.source) for row in rows if row.error is None)
        if twice := [run for run, count in times.items() if count > 1]:
            return f"measured twice: {twice}"
    if missing := clean - place.files():
        return f"not there: {sorted(missing)}"
    if names := [name for name in place.files() - clean if not name.endswith(".partial")]:
        return f"left behind: {names}"
    if names := [name for name in sorted(clean) if not is_whole(place.out / name)]:
        return f"not whole: {names}"
    if names := [path.name for path in place.temporary.iterdir()]:
        return f"left in the temporary folder: {names}"
    if names := orphans():
        return f"left running: {names}"
    return ""


def ways_of(name: str, chance: random.Random) -> Iterator[int]:
    """In which ways a call is disturbed, once each."""
    yield chance.choice(ERRORS)
    yield KILLED
    if name == "write":
        yield HALF
        yield KILLED_AT_HALF


def is_whole(path: Path) -> bool:
    """Whether a file of a kind that has an end is there to its end."""
    data = path.read_bytes()
    match path.suffix:
        case ".jsonl":
            return all(map(_is_json, data.splitlines(keepends=True)))
        case ".json":
            with contextlib.suppress(ValueError):
                return json.loads(data) is not None
            return False
        case ".html":
            return data.rstrip().endswith(b"</html>")
    return data.endswith(b"\n")


def _clean(place: Place) -> tuple[list[str], set[str]]:
    """The calls and files of a work that nothing disturbs. RuntimeError where it fails."""
    if (code := place.done()) != 0:
        raise RuntimeError(f"it fails without a fault, with {code}: {place.said}")
    return place.calls, place.files()


def places(work: Work, calls: list[str], most: int, chance: random.Random) -> list[int]:
    """The numbers of the calls that are disturbed: all of them, or so many drawn over all.

    Where a work makes hundreds of one kind, row after row, some of them are drawn in any case.
    """
    numbers: list[int] = []
    for kind in sorted(set(calls)):
        alike = [number for number, name in enumerate(calls, 1) if name == kind]
        numbers += chance.sample(alike, min(len(alike), work.most_alike))
    return sorted(chance.sample(sorted(numbers), most) if 0 < most < len(numbers) else numbers)


def inject(name: str, most: int, seed: int, scratch: Path, totals: Totals) -> None:
    """Disturb every call of a work, or so many drawn over all, from where the totals ended."""
    place = Place(WORKS[name], scratch)
    calls, clean = _clean(place)
    known = totals.of(f"{name} faults", next=0, calls=0, faults=0, kinds={}, failures=[])
    numbers = places(place.work, calls, most, random.Random(f"{seed} {name}"))
    known["calls"] = len(numbers)
    for at in range(known["next"], len(numbers)):
        if totals.over:
            break
        which = numbers[at]
        kind = calls[which - 1]
        for way in ways_of(kind, random.Random(f"{seed} {name} {which}")):
            place.clear()
            code = place.done(which, way)
            good = (0, BAD_INPUT, INTERRUPTED, -signal.SIGKILL) if way < 0 else (0, BAD_INPUT)
            if problem := complaint(place, code, good, clean):
                how = WAYS.get(way) or errno.errorcode[way]
                known["failures"].append(f"{name}, call {which} of {len(calls)} ({kind}), {how}: {problem}")
            known["faults"] += 1
            known["kinds"][kind] = known["kinds"].get(kind, 0) + 1
        known["next"] = at + 1
        totals.keep()


def inject_within(name: str, most: int, seed: int, scratch: Path, totals: Totals) -> None:
    """Disturb the calls of the processes that a work starts: the starter of programs, the programs."""
    place = Place(WORKS[name], scratch)
    _, clean = _clean(place)
    known = totals.of(f"{name} within", next=0, faults=0, failures=[])
    while known["next"] < (most or MOST_WITHIN) and not totals.over:
        chance = random.Random(f"{seed} {name} within {known['next']}")
        which = int(CALLS_WITHIN ** chance.random())  # the first calls are made by all programs
        way = chance.choice((*ERRORS, KILLED, KILLED, HALF, KILLED_AT_HALF))
        place.clear()
        code = place.done(which, way, within=True)
        came = place.mark.exists()
        if problem := complaint(place, code, (0, BAD_INPUT), clean):
            how = WAYS.get(way) or errno.errorcode[way]
            known["failures"].append(f"{name}, call {which} within, {how}: {problem}")
        known["faults"] += came
        known["next"] += 1
        totals.keep()


def disturb(pid: int, chance: random.Random) -> tuple[int, ...]:
    """End a work, or one of its processes. Returns how the work may end then, besides well."""
    with contextlib.suppress(ProcessLookupError):
        match chance.randrange(10):
            case 0:
                os.kill(pid, signal.SIGTERM)
                return (-signal.SIGTERM, INTERRUPTED)
            case 1:
                os.kill(pid, signal.SIGINT)
                return (INTERRUPTED,)
            case 2:
                os.killpg(pid, signal.SIGKILL)
            case 3 if others := sorted(other for other in family_of(pid) if is_running(other)):
                os.kill(chance.choice(others), signal.SIGKILL)
                return (BAD_INPUT,)
            case _:
                os.kill(pid, signal.SIGKILL)
    return (-signal.SIGKILL,)


def kill(name: str, times: int, seed: int, scratch: Path, totals: Totals) -> None:
    """Kill a work at random moments until so many kills were made, and let it go on each time."""
    place = Place(WORKS[name], scratch)
    began = time.monotonic()
    _, clean = _clean(place)
    longest = time.monotonic() - began
    known = totals.of(f"{name} kills", kills=0, early=0, failures=[])
    while known["kills"] < times and not totals.over:
        chance = random.Random(f"{seed} {name} {known['kills']}")
        place.clear()
        again = True
        while again:  # what went on may be killed, too
            after = chance.uniform(0, chance.choice((min(EARLY_SECONDS, longest), longest)))
            pid = place.begun()
            time.sleep(after)
            good = (0, *disturb(pid, chance))
            code = ended(pid)
            again = code in (*good, *place.work.passed_on) and chance.random() < 0.25
        if problem := complaint(place, code, good, clean):
            known["failures"].append(f"{name}, kill {known['kills']} after {after:.4f} s: {problem}")
        known["kills"] += 1
        known["early"] += after < EARLY_SECONDS
        totals.keep()


def run(asked: argparse.Namespace, scratch: Path) -> int:
    for module in (*COMMANDS.values(), "tautochrone.report.page"):
        import_module(module.partition(":")[0])  # once, and not in each child
    ctypes.CDLL(None).prctl(SUBREAPER, 1, 0, 0, 0)
    subprocess_executor.subprocess._USE_VFORK = False  # a child of vfork may not return from a wrapper
    totals = Totals(asked.keep, asked.seconds)
    failures: list[str] = []
    left = 0
    for name in asked.only or WORKS:
        if asked.most >= 0:
            inject(name, asked.most, asked.seed, scratch, totals)
            known = totals.of(f"{name} faults")
            kinds = ", ".join(f"{kind} {times}" for kind, times in Counter(known["kinds"]).most_common())
            count = len(known["failures"])
            print(f"{name}: {known['faults']} faults ({kinds}), {count} failures", flush=True)
            failures += known["failures"]
            left += known["calls"] - known["next"]
        if asked.most >= 0 and WORKS[name].starts:
            inject_within(name, asked.most, asked.seed, scratch, totals)
            known = totals.of(f"{name} within")
            print(f"{name}: {known['faults']} faults within, {len(known['failures'])} failures", flush=True)
            failures += known["failures"]
            left += max(0, (asked.most or MOST_WITHIN) - known["next"])
        if asked.kills:
            kill(name, asked.kills, asked.seed, scratch, totals)
            known = totals.of(f"{name} kills")
            early = f"{known['early']} of them early"
            print(f"{name}: {known['kills']} kills ({early}), {len(known['failures'])} failures", flush=True)
            failures += known["failures"]
            left += asked.kills - known["kills"]
    for one in failures:
        print(one)
    if left:
        print(f"{left} calls and kills are left: the same command goes on with them")
    return 1 if failures else 0


def main() -> int:
    parser = argparse.ArgumentParser(description="Faults and kills, one after the other.")
    parser.add_argument("--most", type=int, default=-1, help="how many calls of each work fail; 0: all")
    parser.add_argument("--kills", type=int, default=0, help="how often each work is killed")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", choices=WORKS, action="append")
    parser.add_argument("--seconds", type=float, default=1e9, help="end after so long")
    parser.add_argument("--keep", type=Path, help="a file of totals: the same command goes on from there")
    asked = parser.parse_args()
    preloaded = Path(os.environ.get("LD_PRELOAD", ""))
    if preloaded.name != "faults.so":
        library = built(Path(tempfile.mkdtemp(prefix="tauto-faults-")))
        # In place of this process: whoever ends it ends all.
        os.execve(sys.executable, [sys.executable, *sys.argv], with_lab(LD_PRELOAD=str(library)))
    try:
        return run(asked, preloaded.parent)
    finally:
        shutil.rmtree(preloaded.parent, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
