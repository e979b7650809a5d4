"""The studies: published experiments that are repeated on this machine, every peer beside the others."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tautochrone.errors import TautoError

if TYPE_CHECKING:
    from tautochrone.studies.study import Study


@dataclass(frozen=True, slots=True)
class Entry:
    """What a study measures, and where its class is: module:class."""

    what: str
    place: str


STUDIES: dict[str, Entry] = {
    "loop": Entry(
        "parallel loops on equal and unequal cores: conjugate gradients on a dense system",
        "tautochrone.studies.loop.study:Loop",
    ),
    "mapreduce": Entry(
        "map/reduce of short tasks: from which task length on each library pays",
        "tautochrone.studies.mapreduce.study:MapReduce",
    ),
    "power": Entry(
        "what threads cost and gain: balanced and unbalanced jobs, two programs at once, energy",
        "tautochrone.studies.power.study:Power",
    ),
    "collective": Entry(
        "all_reduce and all_gather against their length: threads, Open MPI, MPICH",
        "tautochrone.studies.collective.study:Collective",
    ),
    "nbody": Entry(
        "gravitating particles with block timesteps: threads, OpenMP and MPI from one algorithm",
        "tautochrone.studies.nbody.study:Nbody",
    ),
}
"""Each study by its name, as in ``tauto study NAME``."""


def study_named(name: str) -> type[Study[Any, Any, Any]]:
    """The class of a study; imported only when it is wanted. Raises TautoError, listing those that are."""
    if name not in STUDIES:
        known = "; ".join(f"{study} ({entry.what})" for study, entry in STUDIES.items())
        raise TautoError(f"there is no study called {name!r}", f"Studies: {known}")
    module, _, study = STUDIES[name].place.partition(":")
    found: type[Study[Any, Any, Any]] = getattr(import_module(module), study)
    return found


def study_in(folder: Path) -> str:
    """The study whose rows a folder holds. Raises TautoError where it holds none."""
    from tautochrone.results.store import Store

    return Store.study_in(folder)
