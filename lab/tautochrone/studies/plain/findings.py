"""What an analysis of a plain study hands to the report. Times are in seconds of the work."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import msgspec

from tautochrone.report.analysis import Analysis
from tautochrone.studies.cells import Measured
from tautochrone.verdicts import Ratio


class PlainConfiguration(Measured, frozen=True, kw_only=True):
    """One way to do a work. ``to_reference``: its time by the reference's in the same rounds."""

    threads: int
    is_reference: bool
    to_reference: Ratio


class PlainCell(msgspec.Struct, frozen=True, kw_only=True):
    """One work in one state of the machine; the ways to do it are sorted by their time, failed ones last."""

    work: str
    emulated: Mapping[str, float]  # CPU → how many times slower it was made
    configurations: tuple[PlainConfiguration, ...]


class PlainAnalysis(Analysis, frozen=True, kw_only=True):
    """What rows of a plain study tell."""

    PAGE: ClassVar[str] = "tautochrone.studies.plain.page"

    cells: tuple[PlainCell, ...] = ()
