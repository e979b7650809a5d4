"""Runs one command as if it had been started by hand: terminal, signals and exit status are its own."""

from __future__ import annotations

import os
import signal
import time
from contextlib import suppress
from dataclasses import dataclass

from tautochrone.errors import TautoError

NOT_FOUND = 127


@dataclass(frozen=True)
class Ended:
    """How a command ended, with the CPU time and memory of it and all its children that were waited for."""

    exit_code: int  # 128 + the signal that ended it
    seconds: float
    user_seconds: float
    system_seconds: float
    max_rss_bytes: int

    @property
    def cpu_seconds(self) -> float:
        return self.user_seconds + self.system_seconds


class Foreground:
    """A command that is held before its start: ``start`` lets it go, ``wait`` returns how it ended.

    TautoError where it cannot be started. Ctrl-C reaches the command itself; this process waits for it.
    """

    def __init__(self, command: list[str]) -> None:
        self._command = command
        gate_read, self._gate = os.pipe2(os.O_CLOEXEC)
        self._failed, failed_write = os.pipe2(os.O_CLOEXEC)
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
        return Ended(
            exit_code=code if code >= 0 else 128 - code,
            seconds=seconds,
            user_seconds=usage.ru_utime,
            system_seconds=usage.ru_stime,
            max_rss_bytes=usage.ru_maxrss * 1024,
        )

    def _pass_on(self, number: int, frame: object) -> None:
        with suppress(ProcessLookupError):
            os.kill(self.pid, number)

    def _close_gate(self) -> None:
        if self._gate >= 0:
            os.close(self._gate)
            self._gate = -1

    def _become(self, gate: int, failed: int) -> None:
        """In the child: wait for the gate, then exec. Does not return."""
        try:
            os.close(self._gate)
            for number in (signal.SIGPIPE, signal.SIGXFSZ):
                signal.signal(number, signal.SIG_DFL)
            if os.read(gate, 2) == b"go":
                os.execvp(self._command[0], self._command)
        except OSError as error:
            os.write(failed, str(error.errno).encode())
        finally:
            os._exit(NOT_FOUND)
