"""What is asked of the power study."""

from __future__ import annotations

import re
from dataclasses import dataclass

from tautochrone.errors import TautoError
from tautochrone.studies.options import StudyRequest
from tautochrone.word_lists import words_of

__all__ = ["PowerRequest", "parse_ratios"]

QUICK_RATIOS = (1.0, 4.0)
FULL_RATIOS = (1.0, 2.0, 4.0, 8.0)
LARGEST_RATIO = 64.0


@dataclass(frozen=True, slots=True, kw_only=True)
class PowerRequest(StudyRequest):
    """The options of ``tauto study power``, parsed. ``None`` means "choose for me"."""

    ratios: tuple[float, ...] | None = None

    @property
    def wanted(self) -> tuple[float, ...]:
        """What the physics' first function costs by its second, ascending."""
        return self.ratios or (QUICK_RATIOS if self.quick else FULL_RATIOS)


def parse_ratios(text: str) -> tuple[float, ...]:
    """``"1,4"`` → (1.0, 4.0). Raises TautoError for what is no ratio of costs."""
    ratios: set[float] = set()
    for word in words_of(text, "--ratios"):
        if not re.fullmatch(r"[0-9]+(\.[0-9]+)?", word) or not 1.0 <= float(word) <= LARGEST_RATIO:
            raise TautoError(
                f"{word!r} is not a ratio of costs", f"Write numbers from 1 to {LARGEST_RATIO:g}, such as 1,4"
            )
        ratios.add(float(word))
    return tuple(sorted(ratios))
