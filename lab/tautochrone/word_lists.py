"""Lists of words and numbers in an option: ``a,b`` and ``1,2,4``."""

from __future__ import annotations

import re
from collections.abc import Callable

from tautochrone.errors import TautoError


def words_of(text: str, option: str) -> list[str]:
    """``"a,b"`` → ["a", "b"]. Raises TautoError for an empty item."""
    words = [word.strip() for word in text.split(",")]
    if not all(words):
        raise TautoError(f"{option} {text!r} has an empty item", "Separate the items by single commas")
    return words


def integers_of(
    text: str, option: str, least: int, most: int, refusal: Callable[[str], TautoError]
) -> tuple[int, ...]:
    """``"4,1,4"`` → (1, 4). Raises ``refusal(word)`` for what is no number from ``least`` to ``most``."""
    found: set[int] = set()
    for word in words_of(text, option):
        if not re.fullmatch(r"[0-9]{1,18}", word) or not least <= int(word) <= most:
            raise refusal(word)
        found.add(int(word))
    return tuple(sorted(found))
