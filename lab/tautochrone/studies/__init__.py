"""The studies: published experiments that are repeated on this machine, every peer beside the others."""

from __future__ import annotations

from tautochrone.errors import TautoError

STUDIES: dict[str, str] = {
    "loop": "parallel loops on equal and unequal cores: conjugate gradients on a dense system",
    "mapreduce": "map/reduce of short tasks: from which task length on each library pays",
    "power": "what threads cost and gain: balanced and unbalanced jobs, two programs at once, energy",
    "collective": "all_reduce and all_gather against their length: threads, Open MPI, MPICH",
    "nbody": "gravitating particles with block timesteps: threads, OpenMP and MPI from one algorithm",
}
"""The name of each study, as in ``tauto study NAME``, and what it measures."""


def unknown_study(name: str) -> TautoError:
    """The error for a name that is no study; it lists those that are."""
    known = "; ".join(f"{study} ({what})" for study, what in STUDIES.items())
    return TautoError(f"there is no study called {name!r}", f"Studies: {known}")
