"""What an nbody study knows beside its rows."""

from __future__ import annotations

from tautochrone.report.nbody.analysis_types import SimulatedRanks
from tautochrone.studies.context import StudyContext


class NbodyContext(StudyContext, kw_only=True):
    """Everything about an nbody study that its rows do not hold."""

    schema: str = "tautochrone.nbody/1"
    command: str = "tauto study nbody"
    folder: str = "tautochrone-results/nbody"
    simulated: tuple[SimulatedRanks, ...] = ()
