"""Ctrl-C between two runs, never in the middle of writing a row."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType, TracebackType
from typing import Any, Self

_SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Interrupt:
    """While entered, SIGINT and SIGTERM raise KeyboardInterrupt only inside `allowed()`.

    One that comes elsewhere waits for the next `allowed()`; a second one does not wait. Outside the main
    thread, where Python has no signals, this does nothing.
    """

    def __init__(self) -> None:
        self.pending = False
        self._allowed = False
        self._before: dict[signal.Signals, Any] = {}

    @contextmanager
    def allowed(self) -> Iterator[None]:
        """Where an interrupt may fall: raises KeyboardInterrupt at once if one is pending."""
        self._allowed = True
        try:
            if self.pending:
                raise KeyboardInterrupt
            yield
        finally:
            self._allowed = False

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            for one in _SIGNALS:
                self._before[one] = signal.signal(one, self._handle)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for one, handler in self._before.items():
            signal.signal(one, handler)
        self._before.clear()

    def _handle(self, number: int, frame: FrameType | None) -> None:
        again, self.pending = self.pending, True
        if self._allowed or again:
            raise KeyboardInterrupt
