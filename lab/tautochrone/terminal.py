"""What is printed for people: tables and sentences, in which somebody else's words are only words."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from rich.console import Console
from rich.text import Text

from tautochrone.errors import printable
from tautochrone.threads import started

_TURNS_A_SECOND = 12.5


class Terminal(Console):
    """Names and sentences come from programs, files and results of others.

    So brackets are no markup here, and a character that would control a terminal is shown as an escape.
    """

    def __init__(self, **options: Any) -> None:
        super().__init__(**{"markup": False, "emoji": False, **options})

    def render_str(self, text: str, **options: Any) -> Text:
        """Each sentence and each cell of a table comes through here."""
        return super().render_str(printable(text), **options)


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
