"""What is to be made small, and what happens where that cannot be measured."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from tautochrone.energy.find import Found
from tautochrone.errors import TautoError

Objective = Literal["time", "energy", "edp", "ed2p"]
OBJECTIVES: tuple[Objective, ...] = ("time", "energy", "edp", "ed2p")


def check_objective(objective: str, found: Found, warn: Callable[[str], None]) -> None:
    """Without a meter, energy as objective is a TautoError with the reason; for time one warning will do.

    Of a meter that is there `warn` hears what blurs it.
    """
    if objective not in OBJECTIVES:
        raise TautoError(f"there is no objective {objective!r}", f"Use one of {', '.join(OBJECTIVES)}")
    if found.unavailable is None:
        for notice in found.notices:
            warn(notice)
        return
    if objective != "time":
        raise TautoError(
            f"{objective} is the objective, and there is no energy meter: {found.unavailable.reason}",
            found.unavailable.remedy,
        )
    warn(f"no energy meter: {found.unavailable}")
