"""What is printed for people: tables and sentences, in which somebody else's words are only words."""

from __future__ import annotations

from typing import Any

from rich.console import Console
from rich.text import Text

from tautochrone.errors import printable


class Terminal(Console):
    """Names and sentences come from programs, files and results of others.

    So brackets are no markup here, and a character that would control a terminal is shown as an escape.
    """

    def __init__(self, **options: Any) -> None:
        super().__init__(**{"markup": False, "emoji": False, **options})

    def render_str(self, text: str, **options: Any) -> Text:
        """Each sentence and each cell of a table comes through here."""
        return super().render_str(printable(text), **options)
