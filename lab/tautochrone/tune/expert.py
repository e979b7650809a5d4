"""The expert rule: what somebody who knows the machine would set without a measurement.

It is always in the race, so that a search that runs out of time has looked at what experience says. Where
cores are alike, have one hardware thread each and no quota limits them, most runtimes choose well by
themselves, and the rule leaves them as they are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tautochrone.inspection.findings import Findings
from tautochrone.studies.options import format_cpus
from tautochrone.tune.values import Place, processor_counts

THREADS = "threads"
_BLAS = ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS")
_POOLS = ("RAYON_NUM_THREADS", "GOMAXPROCS")


def expert_settings(tried: Mapping[str, Sequence[str]], found: Findings, place: Place) -> dict[str, str]:
    """What the rule would set, by knob; `tried`: those that are open, with their values."""
    wanted = _openmp_or_ranks(tried, found, place)
    if any(name in tried for name in _BLAS):
        wanted |= _blas(tried, found, place)
    elif found.counts_cpus and not wanted:
        wanted |= _pool(tried, place)
    cores = str(len(place.one_a_core))
    if cores in tried.get(THREADS, ()):
        wanted[THREADS] = cores
    return wanted


def _openmp_or_ranks(tried: Mapping[str, Sequence[str]], found: Findings, place: Place) -> dict[str, str]:
    """Unequal shares for static loops on unequal cores; else threads bound to cores, or a rank a core."""
    if "weighted_places" in tried and not found.schedules.asks_environment:
        return {"weighted_places": tried["weighted_places"][0]}
    if "OMP_NUM_THREADS" in tried or "OMP_PLACES" in tried:
        wanted = {"OMP_PLACES": "cores", "OMP_PROC_BIND": "close"}
        if place.layout.has_smt:
            wanted["OMP_NUM_THREADS"] = str(min(place.usable, len(place.one_a_core)))
        if found.schedules.asks_environment and place.unequal:
            wanted["OMP_SCHEDULE"] = "dynamic,4"
        return wanted
    if "mpi_ranks" in tried:
        return {"mpi_ranks": f"{place.usable}x1"}
    return {}


def _blas(tried: Mapping[str, Sequence[str]], found: Findings, place: Place) -> dict[str, str]:
    """One thread inside a program that has its own; else one a core, and the fast ones where they differ.

    BLAS gives each thread an equal part of a product, and two threads of a core share its arithmetic.
    """
    if found.has_own_openmp:
        return {name: "1" for name in _BLAS if name in tried}
    if found.has_openmp:  # a BLAS whose threads are OpenMP's
        return {}
    cores = place.fast_cores[: place.usable]
    if len(cores) == len(place.numbers):
        return {}
    return {name: str(len(cores)) for name in _BLAS if name in tried} | {"cpus": format_cpus(cores)}


def _pool(tried: Mapping[str, Sequence[str]], place: Place) -> dict[str, str]:
    """A thread a core, and no more than a quota pays for: tasks that are stolen make up for slow cores."""
    count = min(place.usable, len(place.one_a_core))
    if count == len(place.numbers):
        return {}
    wanted = {name: str(count) for name in _POOLS if name in tried}
    if "JAVA_TOOL_OPTIONS" in tried:
        wanted["JAVA_TOOL_OPTIONS"] = processor_counts((str(count),))[0]
    return wanted or {"cpus": format_cpus(place.in_turn[:count])}
