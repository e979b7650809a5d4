"""Measure commands together: rounds in shuffled order, looks that are planned before the first run."""

from __future__ import annotations

from collections.abc import Sequence

from tautochrone.comparing.result import Compared
from tautochrone.comparing.settings import Entry, Settings


def measure(entries: Sequence[Entry], settings: Settings) -> Compared:
    """Compare 1 to 20 commands; the first is the reference. Raises TautoError for what cannot be compared."""
    raise NotImplementedError
