"""What a comparison hands to the report."""

from __future__ import annotations

from typing import ClassVar, Self

from tautochrone.comparing.first import first_screen
from tautochrone.comparing.result import CompareContext, Compared
from tautochrone.report.analysis import Analysis


class CompareAnalysis(Analysis, frozen=True, kw_only=True):
    """The result, on a page."""

    PAGE: ClassVar[str] = "tautochrone.comparing.page"

    found: Compared

    @classmethod
    def of(cls, found: Compared, context: CompareContext) -> Self:
        """The page's contents; its first sentence is the answer."""
        return cls(
            verdict_sentences=(found.answer, *(f"{remark}." for remark in found.remarks)),
            first=first_screen(found, context.commands),
            found=found,
            commands=context.commands,
        )
