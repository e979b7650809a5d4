"""Run a command once and see what reading files cannot tell: what it loads, how it ends, what it leaves."""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from tautochrone.errors import TautoError
from tautochrone.observing import peak_bytes

_FIRST_LOOKS_SECONDS = 0.01  # a library is loaded in the first moments, as a rule
_LATER_LOOKS_SECONDS = 0.1
_SET_CHILD_SUBREAPER = 36
_OUTPUT_KEPT_BYTES = 4 << 20
_ERRORS_KEPT_BYTES = 16 << 10


@dataclass(frozen=True)
class Watched:
    """One run. `left_running` names what was still there after the command had ended (and was ended then)."""

    exit_code: int
    seconds: float
    stopped: bool
    output: bytes
    errors: str
    files: frozenset[str]  # mapped into the command or its children
    most_threads: int
    left_running: tuple[str, ...] = ()
    peak_bytes: int = 0  # of all its processes at a time, as far as it was looked at


def watch(
    command: Sequence[str],
    time_limit_seconds: float,
    environment: Mapping[str, str] | None = None,
    folder: Path | None = None,
    output_file: Path | None = None,
) -> Watched:
    """Run with no terminal and no input, and look at it now and then. TautoError where it cannot start.

    All that it prints goes to `output_file`, if there is one; `Watched` has the end of it.
    """
    ctypes.CDLL(None).prctl(_SET_CHILD_SUBREAPER, 1, 0, 0, 0)  # what a daemon leaves becomes our child
    before = _children()
    with _output(output_file) as output, tempfile.TemporaryFile() as errors:
        begun = time.monotonic()  # a short program may have ended when Popen returns
        try:
            process = subprocess.Popen(
                list(command),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=errors,
                env={**os.environ, **(environment or {})},
                cwd=folder,
                start_new_session=True,
            )
        except OSError as error:
            raise TautoError(
                f"{command[0]} cannot be started: {error.strerror}",
                "Write the command as the shell would find it",
            ) from error
        looker = _Looker(process.pid)
        looker.start()
        stopped = False
        try:
            process.wait(time_limit_seconds)
        except subprocess.TimeoutExpired:
            stopped = True
        finally:
            seconds = time.monotonic() - begun
            looker.end()
            with suppress(ProcessLookupError):
                if stopped:
                    os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            left = _end_strays(before | {process.pid})
        output.seek(max(0, output.seek(0, os.SEEK_END) - _OUTPUT_KEPT_BYTES))
        errors.seek(max(0, errors.seek(0, os.SEEK_END) - _ERRORS_KEPT_BYTES))
        return Watched(
            exit_code=process.returncode,
            seconds=seconds,
            stopped=stopped,
            output=output.read(),
            errors=errors.read().decode(errors="replace"),
            files=frozenset(looker.files),
            most_threads=looker.most_threads,
            left_running=() if stopped else left,
            peak_bytes=looker.peak_bytes,
        )


def _output(path: Path | None) -> IO[bytes]:
    return tempfile.TemporaryFile() if path is None else path.open("w+b")


class _Looker(threading.Thread):
    """Reads the maps of a session's processes, often at first and then now and then."""

    def __init__(self, session: int) -> None:
        super().__init__(daemon=True)
        self.files: set[str] = set()
        self.most_threads = 0
        self.peak_bytes = 0
        self._session = session
        self._ended = threading.Event()

    def run(self) -> None:
        looks = 0
        while True:
            self._look()
            looks += 1
            if self._ended.wait(_FIRST_LOOKS_SECONDS if looks < 50 else _LATER_LOOKS_SECONDS):
                return

    def end(self) -> None:
        self._ended.set()
        self.join()

    def _look(self) -> None:
        threads = total = 0
        for pid in _processes(self._session):
            with suppress(OSError):
                for line in Path(f"/proc/{pid}/maps").read_text(errors="replace").splitlines():
                    _, _, path = line.partition("/")
                    if path:
                        self.files.add(f"/{path}")
                threads += len(os.listdir(f"/proc/{pid}/task"))  # noqa: PTH208
                total += peak_bytes(pid)
        self.most_threads = max(self.most_threads, threads)
        self.peak_bytes = max(self.peak_bytes, total)


def _processes(session: int) -> list[int]:
    """The processes of a session, also those that were handed to another parent."""
    found = []
    for name in os.listdir("/proc"):  # noqa: PTH208
        if name.isdecimal():
            with suppress(OSError):
                if os.getsid(int(name)) == session:
                    found.append(int(name))
    return found


def _children() -> set[int]:
    """The processes whose parent this one is."""
    found: set[int] = set()
    for task in os.listdir("/proc/self/task"):  # noqa: PTH208
        with suppress(OSError):
            found |= {int(word) for word in Path(f"/proc/self/task/{task}/children").read_text().split()}
    return found


def _end_strays(known: set[int]) -> tuple[str, ...]:
    """End what a command has left behind, and its children in turn; the names of what was still running."""
    names: list[str] = []
    while strays := _children() - known:
        for pid in strays:
            with suppress(OSError):
                state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
                if state != "Z":
                    names.append(Path(f"/proc/{pid}/comm").read_text().strip())
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
            with suppress(ChildProcessError):
                os.waitpid(pid, 0)
    return tuple(names)
