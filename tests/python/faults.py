"""Make each call of a study and of a search to the system fail once, and kill them at any moment.

As SQLite tests itself: whatever fails, no finished row is lost, no figure is wrong, the error is one for
people, and the same command goes on. A study on a virtual clock and a search of a program that sleeps
run in forked children of this process, into which programs/faults.c is loaded.

    python tests/python/faults.py --most 0             every call, with an error and with half a write
    python tests/python/faults.py --kills 1000         killed at random as often
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import errno
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from processes import with_lab
from study_loop_fakes import laboratory, request
from tautochrone.cli import streams
from tautochrone.errors import TautoError
from tautochrone.measuring import subprocess_executor
from tautochrone.results.store import Store
from tautochrone.studies.loop.study import Loop
from tautochrone.tune.options import TuneRequest
from tune_fakes import real_services, tune_by_runs

GOOD, SAID, DEFECT = 0, 2, 70
SEARCH_RUNS = 12
LIMIT_SECONDS = 60
SOURCE = Path(__file__).with_name("programs") / "faults.c"
Work = Callable[[Path], object]


def study(folder: Path) -> object:
    return Loop.measure(request(folder, sizes=(400,), rounds=8), laboratory().services)


def tune(folder: Path) -> object:
    asked = TuneRequest(command=("sleep", "0.01"), output=folder, environment={"X": ("a",)}, report=False)
    return tune_by_runs(asked, real_services(), SEARCH_RUNS)


WORKS: dict[str, Work] = {"study": study, "tune": tune}


def built(folder: Path) -> Path:
    """The library that makes calls fail."""
    library = folder / "faults.so"
    subprocess.run(["cc", "-O1", "-fPIC", "-shared", "-o", library, SOURCE, "-ldl"], check=True)
    return library


def child(work: Work, folder: Path, which: int, error: int) -> int:
    """In a forked child: do the work with one failing call. Returns the code that tauto would end with."""
    library = ctypes.CDLL(None)
    library.faults_begin(ctypes.c_long(which), error)
    code = GOOD
    try:
        work(folder)
    except TautoError as problem:
        code = SAID
        said = str(problem)
    except Exception as problem:
        said = streams.explanation(problem) or f"defect: {type(problem).__name__}: {problem}"
        code = DEFECT if said.startswith("defect") else SAID
    calls = library.faults_end()
    if code != GOOD:
        (folder.parent / "said").write_text(said)
    (folder.parent / "calls").write_text(str(calls))
    return code


def forked(work: Work, folder: Path, which: int = 0, error: int = 0, kill_after: float | None = None) -> int:
    """The code of a child that does the work; minus the signal that ended it."""
    pid = os.fork()
    if pid == 0:
        signal.alarm(LIMIT_SECONDS)
        os.setpgid(0, 0)
        with (folder.parent / "printed").open("w") as printed:
            os.dup2(printed.fileno(), 1)
            os.dup2(printed.fileno(), 2)
        code = DEFECT
        with contextlib.suppress(BaseException):
            code = child(work, folder, which, error)
        os._exit(code)
    if kill_after is not None:
        time.sleep(kill_after)
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def whole_lines(folder: Path) -> list[bytes]:
    """The lines of a store that are whole."""
    with contextlib.suppress(FileNotFoundError):
        return [
            line for line in (folder / "rows.jsonl").read_bytes().splitlines(keepends=True) if _is_json(line)
        ]
    return []


def _is_json(line: bytes) -> bool:
    with contextlib.suppress(ValueError):
        return line.endswith(b"\n") and isinstance(json.loads(line), dict)
    return False


def complaint(work: Work, folder: Path, code: int, *, killed: bool, most_lines: int) -> str:
    """What an interrupted work breaks of its promises, after the same command went on; empty if nothing."""
    if code not in ((GOOD, SAID, -signal.SIGKILL) if killed else (GOOD, SAID)):
        return f"it ended with {code}: {_text(folder.parent / 'said')}"
    before = whole_lines(folder)
    if (code := forked(work, folder)) != GOOD:
        return f"the same command ended with {code}: {_text(folder.parent / 'said')}"
    after = whole_lines(folder)
    if after[: len(before)] != before:
        return "a row that was finished was lost or changed"
    if most_lines and len(after) > most_lines:
        return f"{len(after)} lines in place of {most_lines}"
    with Store.read(folder) as store:
        if any(row.error is not None and row.error.kind == "wrong_answer" for row in store.rows(None)):
            return "an answer became wrong"
    if left := [path.name for path in folder.iterdir() if "unfinished" in path.name]:
        return f"left behind: {left}"
    return ""


def _text(path: Path) -> str:
    return (
        path.read_text() if path.exists() else _text(path.with_name("printed")) if path.name == "said" else ""
    )


def places(calls: int, most: int, chance: random.Random) -> list[int]:
    """The numbers of the calls that fail: all of them, or so many drawn over all."""
    numbers = range(1, calls + 1)
    return sorted(chance.sample(numbers, most)) if 0 < most < calls else list(numbers)


def inject(name: str, most: int, scratch: Path, chance: random.Random) -> tuple[int, list[str]]:
    """How many faults were injected, and what went wrong."""
    work, failures, count = WORKS[name], [], 0
    folder = scratch / "clean" / "out"
    folder.parent.mkdir()
    if forked(work, folder) != GOOD:
        return 0, [f"{name} fails without a fault: {_text(folder.parent / 'said')}"]
    calls = int((folder.parent / "calls").read_text())
    lines = len(whole_lines(folder)) if name == "study" else 0
    for which in places(calls, most, chance):
        for error in (chance.choice((errno.EIO, errno.ENOSPC, errno.ENOMEM, errno.EMFILE)), 0):
            folder = scratch / "one" / "out"
            folder.parent.mkdir()
            code = forked(work, folder, which, error)
            problem = complaint(work, folder, code, killed=False, most_lines=lines)
            if problem:
                failures.append(
                    f"{name}, call {which} of {calls}, {errno.errorcode.get(error, 'half')}: {problem}"
                )
            shutil.rmtree(folder.parent)
            count += 1
    return count, failures


def kill(name: str, times: int, scratch: Path, chance: random.Random) -> list[str]:
    """Kill a work at random moments, so often, going on each time; what went wrong."""
    work, failures = WORKS[name], []
    folder = scratch / "killed" / "out"
    folder.parent.mkdir()
    began = time.monotonic()
    forked(work, folder)
    longest = time.monotonic() - began
    for number in range(times):
        shutil.rmtree(folder, ignore_errors=True)
        code = forked(work, folder, kill_after=chance.uniform(0, longest))
        problem = complaint(work, folder, code, killed=True, most_lines=0)
        if problem:
            failures.append(f"{name}, kill {number}: {problem}")
    return failures


def main() -> int:
    parser = argparse.ArgumentParser(description="Faults and kills, one after the other.")
    parser.add_argument("--most", type=int, default=-1, help="how many calls of each work fail; 0: all")
    parser.add_argument("--kills", type=int, default=0, help="how often each work is killed")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", choices=WORKS, action="append")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        if "faults.so" not in os.environ.get("LD_PRELOAD", ""):
            environment = with_lab(LD_PRELOAD=str(built(Path(scratch))))
            return subprocess.run([sys.executable, *sys.argv], env=environment, check=False).returncode
        subprocess_executor.subprocess._USE_VFORK = False  # a child of vfork may not return from a wrapper
        failures: list[str] = []
        for name in asked.only or WORKS:
            chance = random.Random(f"{asked.seed} {name}")
            if asked.most >= 0:
                count, found = inject(name, asked.most, Path(tempfile.mkdtemp(dir=scratch)), chance)
                print(f"{name}: {count} faults, {len(found)} failures", flush=True)
                failures += found
            if asked.kills:
                found = kill(name, asked.kills, Path(tempfile.mkdtemp(dir=scratch)), chance)
                print(f"{name}: {asked.kills} kills, {len(found)} failures", flush=True)
                failures += found
        for one in failures:
            print(one)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
