"""What all commands share of the terminal."""

from __future__ import annotations

from rich.table import Table


def names_and_words(style: str = "dim") -> Table:
    """A table of two columns: a name, and what is said of it."""
    grid = Table.grid(padding=(0, 2, 0, 0))
    grid.add_column(style=style, no_wrap=True)
    grid.add_column(overflow="fold")
    return grid
