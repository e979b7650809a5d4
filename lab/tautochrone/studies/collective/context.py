"""What a collective study knows beside its rows."""

from __future__ import annotations

from tautochrone.studies.context import StudyContext


class CollectiveContext(StudyContext, kw_only=True):
    """Everything about a collective study that its rows do not hold."""

    schema: str = "tautochrone.collective/1"
    command: str = "tauto study collective"
    folder: str = "tautochrone-results/collective"
    refined: tuple[int, ...] = ()  # lengths that were added where curves step
