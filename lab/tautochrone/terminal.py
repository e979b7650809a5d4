"""What is printed for people: tables and sentences, in which somebody else's words are only words."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

from rich.console import Console, ConsoleOptions, ConsoleRenderable, RenderHook
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from tautochrone.errors import printable
from tautochrone.threads import started

_TURNS_A_SECOND = 12.5


class _NoBlanksAtEnds(RenderHook):
    """Lets no line of a table end in blanks, which a file or a paste would keep."""

    def process_renderables(self, renderables: list[ConsoleRenderable]) -> list[ConsoleRenderable]:
        return [_Trimmed(one) if isinstance(one, Table) else one for one in renderables]


class _Trimmed:
    def __init__(self, table: Table) -> None:
        self._table = table

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Segment]:
        for line in console.render_lines(self._table, options, pad=False):
            kept = list(line)
            while kept and not kept[-1].text.rstrip(" ") and not kept[-1].control:
                kept.pop()
            if kept:
                kept[-1] = Segment(kept[-1].text.rstrip(" "), kept[-1].style, kept[-1].control)
            yield from kept
            yield Segment.line()


class Terminal(Console):
    """Names and sentences come from programs, files and results of others.

    So brackets are no markup here, and a character that would control a terminal is shown as an escape.
    """

    def __init__(self, **options: Any) -> None:
        super().__init__(**{"markup": False, "emoji": False, **options})
        self.push_render_hook(_NoBlanksAtEnds())

    def render_str(self, text: str, **options: Any) -> Text:
        """Each sentence and each cell of a table comes through here."""
        return super().render_str(printable(text), **options)


class AnsweringTerminal(Terminal):
    """Of a command that answers by its exit code and files too: it goes on where nobody reads its words."""

    def on_broken_pipe(self) -> None:
        with suppress(SystemExit):
            super().on_broken_pipe()


@contextmanager
def spinner(console: Console) -> Iterator[Callable[[str], None]]:
    """A sign on a terminal that something is at work, beside the sentence that was last said."""
    from rich.live import Live
    from rich.spinner import Spinner

    turning = Spinner("dots", style="status.spinner")
    over = threading.Event()
    with Live(turning, console=console, transient=True, auto_refresh=False) as live:

        def turn() -> None:
            while not over.wait(1 / _TURNS_A_SECOND):
                live.refresh()

        ended = started(turn)
        try:
            yield lambda sentence: turning.update(text=Text(printable(sentence)))
        finally:
            over.set()
            ended.wait()
