"""What a power study knows beside its rows."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from tautochrone.studies.context import StudyContext


class Probe(msgspec.Struct, frozen=True, kw_only=True):
    """What was tried before the first run, once for a folder: from it sizes and times are chosen.

    ``job_seconds`` and the functions of the physics are those of one repetition on one thread.
    ``metered``: runs come with joules.
    """

    collide_seconds: float | None = None  # the physics' functions; None where the physics is not measured
    draw_seconds: float | None = None
    job_seconds: Mapping[str, float] = {}
    metered: bool = False


class PowerContext(StudyContext, kw_only=True):
    """Everything about a power study that its rows do not hold."""

    schema: str = "tautochrone.power/1"
    command: str = "tauto study power"
    folder: str = "tautochrone-results/power"
    probe: Probe | None = None
    knobs: Mapping[str, str] = {}  # the frequency policy under which it ran, as far as the machine shows one
    policies: tuple[str, ...] = ()  # the folders beside each other of the same study, one for each policy
