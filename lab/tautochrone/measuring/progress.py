"""How far a measurement is: a bar on a terminal, a line per tenth elsewhere, or nothing."""

from __future__ import annotations

import sys
from typing import IO, TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress as Bars
    from rich.progress import TaskID

from tautochrone.errors import is_quiet, printable

SHOW_AFTER_SECONDS = 1.0
_DRAW_AGAIN_SECONDS = 0.1


class Progress(Protocol):
    """What the measuring core tells about its progress. Calls come between runs, from one thread."""

    def update(
        self, done: int, total: int, seconds_gone: float, seconds_left: float | None, doing: str
    ) -> None:
        """`done` of `total` runs have ended; `seconds_left` is an estimate, None while there is none."""

    def say(self, sentence: str) -> None:
        """Something that a user should read now, such as a configuration that was dropped."""

    def finish(self) -> None:
        """The measurement has ended, well or not."""


class SilentProgress:
    """Shows nothing and remembers what was said, for tests and for callers with a display of their own."""

    def __init__(self) -> None:
        self.sentences: list[str] = []

    def update(
        self, done: int, total: int, seconds_gone: float, seconds_left: float | None, doing: str
    ) -> None:
        pass

    def say(self, sentence: str) -> None:
        self.sentences.append(sentence)

    def finish(self) -> None:
        pass


class TerminalProgress:
    """A bar with the time left, on stderr. Work that is over within a second shows nothing.

    It is drawn between the runs, by no thread of its own, which would wake during them.
    """

    def __init__(self, title: str, console: Console | None = None) -> None:
        self._title = title
        self._console = console if console is not None else _stderr()
        self._bars: Bars | None = None
        self._task: TaskID | None = None
        self._drawn = float("-inf")

    def update(
        self, done: int, total: int, seconds_gone: float, seconds_left: float | None, doing: str
    ) -> None:
        expected = seconds_gone + (seconds_left if seconds_left is not None else SHOW_AFTER_SECONDS)
        if self._bars is None and expected < SHOW_AFTER_SECONDS:
            return
        if self._bars is None or self._task is None:
            from rich import progress as bars  # it takes long to load, and most measurements are short

            self._bars = bars.Progress(
                bars.TextColumn("{task.description}"),
                bars.BarColumn(),
                bars.MofNCompleteColumn(),
                bars.TextColumn("{task.fields[left]}"),
                bars.TextColumn("{task.fields[doing]}", style="dim", markup=False),
                console=self._console,
                transient=True,
                auto_refresh=False,
            )
            self._bars.start()
            self._task = self._bars.add_task(self._title, total=total, left="", doing="")
        draws = abs(seconds_gone - self._drawn) >= _DRAW_AGAIN_SECONDS
        if draws:
            self._drawn = seconds_gone
        left = time_left(seconds_left)
        self._bars.update(self._task, completed=done, total=total, left=left, doing=doing, refresh=draws)

    def say(self, sentence: str) -> None:
        self._console.print(sentence, highlight=False)

    def finish(self) -> None:
        if self._bars is not None:
            self._bars.stop()
            self._bars = None


class LineProgress:
    """One line for every tenth of the work, for logs and pipes."""

    def __init__(self, title: str, stream: IO[str] | None = None) -> None:
        self._title = title
        self._stream = stream if stream is not None else sys.stderr
        self._tenths = 0

    def update(
        self, done: int, total: int, seconds_gone: float, seconds_left: float | None, doing: str
    ) -> None:
        tenths = 10 * done // max(total, 1)
        expected = seconds_gone + (seconds_left or 0.0)
        if tenths > self._tenths and expected >= SHOW_AFTER_SECONDS:
            left = f", {time_left(seconds_left)}" if done < total else ""
            self._print(f"{self._title}: {10 * tenths} % ({done} of {total} runs{left})")
        self._tenths = max(self._tenths, tenths)

    def say(self, sentence: str) -> None:
        self._print(f"{self._title}: {sentence}")

    def finish(self) -> None:
        self._tenths = 0  # what comes next, such as the final of a search, has its own tenths

    def _print(self, line: str) -> None:
        print(printable(line), file=self._stream, flush=True)


def progress_for(title: str, console: Console | None = None) -> Progress:
    """The kind that fits where stderr goes: a bar on a terminal, lines elsewhere; none for --quiet."""
    if is_quiet():
        return SilentProgress()
    console = console if console is not None else _stderr()
    # A dumb terminal cannot move its cursor back to draw a bar anew.
    draws = console.is_terminal and not console.is_dumb_terminal
    return TerminalProgress(title, console) if draws else LineProgress(title, console.file)


def _stderr() -> Console:
    from tautochrone.terminal import Terminal

    return Terminal(stderr=True)


def time_left(seconds: float | None) -> str:
    """``2 h 05 min left``, ``3 min 20 s left``, ``12 s left``; empty while nothing is known."""
    if seconds is None:
        return ""
    whole = max(0, round(seconds))
    hours, minutes = whole // 3600, whole % 3600 // 60
    if hours:
        return f"{hours} h {minutes:02d} min left"
    if minutes:
        return f"{minutes} min {whole % 60:02d} s left"
    return f"{whole} s left"
