"""``tauto study --build``: the executables of the studies, compiled against the peers that are here."""

from __future__ import annotations

import fcntl
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from tautochrone.errors import TautoError, explained, is_quiet, say
from tautochrone.machine import built

_LEFT_OUT = re.compile(r"^-- (?:the runners on )?(.+ left out: .+)$")
_STEP = re.compile(r"^\[\s*(\d+)/(\d+)\]|^\[\s*(\d+)%\]")
_MOST_ERROR_LINES = 12


def build(studies: Sequence[str]) -> None:
    """Compile what these studies start, beside what was compiled before; only what changed is done again.

    Raises TautoError where a compiler, CMake or a library is missing, or compiling fails.
    """
    place = built.folder()
    if place is None:
        raise TautoError(
            f"there are no sources of the studies in {built.SOURCES.parent}",
            "In a tree of the sources type make build; else install tautochrone again with pip",
        )
    _check_tools()
    with explained(f"nothing can be written to {place}", "Set XDG_CACHE_HOME to a folder that you may use"):
        (place / "bin").mkdir(parents=True, exist_ok=True)
        log = place / "build.log"
        with _alone(place), log.open("w", encoding="utf-8") as file:
            _build(place, sorted({*_built_before(place), *studies}), file.fileno())


def _build(place: Path, studies: Sequence[str], log: int) -> None:
    cpus = len(os.sched_getaffinity(0))
    begun = time.monotonic()
    say(f"compiling the runners of {', '.join(studies)} on {cpus} CPUs; the log is {place}/build.log")
    left_out = [
        match[1] for line in _run(_configure(place, studies), place, log) if (match := _LEFT_OUT.match(line))
    ]
    shown = sys.stderr.isatty() and not is_quiet()
    for line in _run(["cmake", "--build", f"{place}/build", "-j", str(cpus)], place, log):
        if shown and (step := _STEP.match(line)):
            how_far = f"{step[3]} %" if step[3] else f"{step[1]} of {step[2]}"
            print(f"\r\033[Ktauto: compiling {how_far}", end="", file=sys.stderr, flush=True)
    if shown:
        print("\r\033[K", end="", file=sys.stderr, flush=True)
    new = place / "new"
    shutil.rmtree(new, ignore_errors=True)
    for _ in _run(["cmake", "--install", f"{place}/build", "--prefix", str(new), "--strip"], place, log):
        pass
    for one in (new / "bin").iterdir():  # each is whole before it takes its name
        one.replace(place / "bin" / one.name)
    (place / "studies").write_text("\n".join(studies), encoding="utf-8")
    for sentence in left_out:
        say(sentence)
    say(f"compiled in {time.monotonic() - begun:.0f} s")


def _built_before(place: Path) -> list[str]:
    try:
        return (place / "studies").read_text(encoding="utf-8").split()
    except FileNotFoundError:
        return []


def _configure(place: Path, studies: Sequence[str]) -> list[str]:
    return [
        *("cmake", "-S", str(built.SOURCES), "-B", f"{place}/build"),
        *("-G", "Ninja" if shutil.which("ninja") else "Unix Makefiles"),
        *(f"-D{name}=OFF" for name in ("TAUTO_BUILD_TOOLS", "TAUTO_BUILD_C", "TAUTO_INSTALL_DEVELOPMENT")),
        *("-DCMAKE_BUILD_TYPE=Release", "-DTAUTO_BIN_DIR=bin", f"-DTAUTO_STUDIES={';'.join(studies)}"),
    ]


def _run(command: Sequence[str], place: Path, log: int) -> Iterator[str]:
    """The lines that a command prints, which go to the log too. Raises TautoError where it fails."""
    last: list[str] = []
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL
    ) as process:
        assert process.stdout is not None
        for raw in process.stdout:
            os.write(log, raw)
            line = raw.decode(errors="replace").rstrip()
            last = [*last, line][-_MOST_ERROR_LINES:]
            yield line
    if process.returncode != 0:
        said = next((line for line in last if "rror" in line), last[-1] if last else "it said nothing")
        raise TautoError(
            f"{' '.join(command[:2])} ended with exit code {process.returncode}: {said.strip()} "
            f"({place}/build.log has all of it)",
            f"On Debian or Ubuntu, as root: {_packages_line()}",
        )


def _check_tools() -> None:
    compiler = os.environ.get("CXX", "c++").split()[0]
    missing = [one for one in (compiler, "cmake", "pkg-config") if shutil.which(one) is None]
    if not (shutil.which("ninja") or shutil.which("make")):
        missing.append("ninja")
    if missing:
        raise TautoError(
            f"compiling the runners of the studies needs {', '.join(missing)}, which is not here",
            f"On Debian or Ubuntu, as root: {_packages_line()}",
        )


def _packages_line() -> str:
    """What installs all that compiling needs; peers are chosen by whoever wants to measure them."""
    words = (line.split() for line in (built.SOURCES / "packages.txt").read_text("utf-8").splitlines())
    names = [word[1].partition("|")[0] for word in words if word[:1] == ["build"] and "python" not in word[1]]
    return f"apt-get install {' '.join(names)}"


@contextmanager
def _alone(place: Path) -> Iterator[None]:
    """Two that build at once take turns; the lock ends with the process."""
    with (place / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
