"""Whether an interval says yes, no, or nothing yet: one rule for claims and recommendations."""

from __future__ import annotations

import math
from collections.abc import Sequence

from tautochrone.report.analysis_types import Ratio

MATTERS = 0.03
"""Differences in time or energy below this are none that one would act on (claim P5)."""


def within(found: Ratio, least: float, most: float) -> bool | None:
    """Is the interval inside (True), outside (False), or across an end (None, as without an interval)?"""
    if found.low is None or found.high is None:
        return None
    if least <= found.low and found.high <= most:
        return True
    return False if found.high < least or found.low > most else None


def saves(found: Ratio) -> bool | None:
    """Does the candidate take so much less than the reference that it matters?"""
    return within(found, 0.0, 1 - MATTERS)


def costs(found: Ratio) -> bool | None:
    """Does the candidate take so much more than the reference that it matters?"""
    return within(found, 1 + MATTERS, math.inf)


def any_of(parts: Sequence[bool | None]) -> bool | None:
    """True where one is, None where one is open or there is none, else False."""
    if True in parts:
        return True
    return None if None in parts or not parts else False


def all_of(parts: Sequence[bool | None]) -> bool | None:
    """False where one is, None where one is open or there is none, else True."""
    if False in parts:
        return False
    return None if None in parts or not parts else True
