"""Runs one command as if it had been started by hand: terminal, signals and exit status are its own."""

from __future__ import annotations

import ctypes
import os
import signal
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from resource import RUSAGE_SELF, getrusage, struct_rusage

from tautochrone.children import end_with_parent
from tautochrone.errors import TautoError
from tautochrone.measuring.inside import observing

NOT_FOUND = 127
_SET_CHILD_SUBREAPER = 36
_ABOVE_OURS = 1.02


@dataclass(frozen=True)
class Ended:
    """How a command ended, with the CPU time and memory of it and all its offspring that have ended too.

    `left_running` names its processes that go on in the background: nothing from here on is in the figures.
    """

    exit_code: int  # 128 + the signal that ended it
    seconds: float
    user_seconds: float
    system_seconds: float
    max_rss_bytes: int | None  # None where all that is known is the memory of the process that started it
    left_running: tuple[str, ...] = ()

    @property
    def cpu_seconds(self) -> float:
        return self.user_seconds + self.system_seconds


def left_running_words(ended: Ended) -> str:
    """What a user should know of work that goes on in the background; empty where there is none."""
    if not ended.left_running:
        return ""
    names = ", ".join(dict.fromkeys(ended.left_running))
    return (
        f"the command has ended, but goes on in the background ({names}): the time, CPU time and joules of "
        "that are not in these figures. Use its option to stay in the foreground"
    )


def _reap_orphans(wanted: bool) -> None:
    ctypes.CDLL(None).prctl(_SET_CHILD_SUBREAPER, int(wanted), 0, 0, 0)


class Foreground:
    """A command that is held before its start: ``start`` lets it go, ``wait`` returns how it ended.

    TautoError where it cannot be started. Ctrl-C reaches the command itself; this process waits for it.
    """

    def __init__(self, command: list[str]) -> None:
        self._command = command
        # Its orphans become our children, so that what they have used is told to us.
        _reap_orphans(True)
        self._others = set(observing.offspring())
        gate_read, self._gate = os.pipe2(os.O_CLOEXEC)
        self._failed, failed_write = os.pipe2(os.O_CLOEXEC)
        self._ours_bytes = getrusage(RUSAGE_SELF).ru_maxrss * 1024
        self.pid = os.fork()
        if self.pid == 0:
            self._become(gate_read, failed_write)
        os.close(gate_read)
        os.close(failed_write)
        self._started = 0.0

    def start(self) -> None:
        """Let it run. TautoError if the system cannot."""
        self._started = time.monotonic()
        os.write(self._gate, b"go")
        self._close_gate()
        failure = os.read(self._failed, 16)
        os.close(self._failed)
        if failure:
            os.waitpid(self.pid, 0)
            reason = os.strerror(int(failure))
            raise TautoError(
                f"{self._command[0]} cannot be started: {reason}",
                "Write the command as the shell would find it",
            )

    def abandon(self) -> None:
        """End a command that was never started."""
        _reap_orphans(False)
        self._close_gate()
        with suppress(ChildProcessError):
            os.waitpid(self.pid, 0)

    def wait(self) -> Ended:
        """Wait for its end. SIGTERM and SIGHUP are passed on; Ctrl-C came to it by itself."""
        before = {number: signal.signal(number, self._pass_on) for number in (signal.SIGTERM, signal.SIGHUP)}
        before[signal.SIGINT] = signal.signal(signal.SIGINT, lambda number, frame: None)
        try:
            _, status, usage = os.wait4(self.pid, 0)
        finally:
            seconds = time.monotonic() - self._started
            for number, handler in before.items():
                signal.signal(number, handler)
        code = os.waitstatus_to_exitcode(status)
        usages = [usage, *self._orphans()]
        ended = Ended(
            exit_code=code if code >= 0 else 128 - code,
            seconds=seconds,
            user_seconds=sum(one.ru_utime for one in usages),
            system_seconds=sum(one.ru_stime for one in usages),
            max_rss_bytes=self._memory(max(one.ru_maxrss for one in usages) * 1024),
            left_running=tuple(observing.left_running(self._others)),
        )
        _reap_orphans(False)
        return ended

    def _memory(self, most_bytes: int) -> int | None:
        """The kernel counts this process's memory as the command's until the command takes its place."""
        return most_bytes if most_bytes > _ABOVE_OURS * self._ours_bytes else None

    def _orphans(self) -> Iterator[struct_rusage]:
        """What each of its orphans that have ended has used."""
        for pid in observing.offspring():
            if pid not in self._others:
                with suppress(ChildProcessError):
                    ended, _, usage = os.wait4(pid, os.WNOHANG)
                    if ended:
                        yield usage

    def _pass_on(self, number: int, frame: object) -> None:
        with suppress(ProcessLookupError):
            os.kill(self.pid, number)

    def _close_gate(self) -> None:
        if self._gate >= 0:
            gate, self._gate = self._gate, -1  # first: Ctrl-C may come between
            os.close(gate)

    def _become(self, gate: int, failed: int) -> None:
        """In the child: wait for the gate, then exec. Does not return."""
        try:
            os.close(self._gate)
            # A command whose figures nobody takes any more ends too.
            end_with_parent(signal.SIGTERM)
            for number in (signal.SIGPIPE, signal.SIGXFSZ):
                signal.signal(number, signal.SIG_DFL)
            if os.read(gate, 2) == b"go":
                os.execvp(self._command[0], self._command)
        except OSError as error:
            os.write(failed, str(error.errno).encode())
        finally:
            os._exit(NOT_FOUND)
