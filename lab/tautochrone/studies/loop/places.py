"""Lines to paste that put an OpenMP program on the threads of each placement that was measured."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from tautochrone.machine.placements import FAST_KINDS
from tautochrone.options import format_cpus
from tautochrone.report.analysis import Settings
from tautochrone.studies.loop.cells import CellRuns
from tautochrone.studies.loop.configurations import PLACEMENT_WORDS

# The kinds of cores that KMP_HW_SUBSET tells apart, as Intel's and LLVM's OpenMP call them.
_CORE_TYPES = {"P": "intel_core", "E": "intel_atom"}


def places_of(cpus: Sequence[int]) -> str:
    """Of OMP_PLACES: one CPU a place, in their order."""
    return ",".join(f"{{{cpu}}}" for cpu in cpus)


def placement_settings(cells: Sequence[CellRuns], where: str) -> Iterator[Settings]:
    """The lines of all placements of these cells, which are of one state of the machine."""
    measured: dict[str, tuple[tuple[int, ...], Mapping[str, int]]] = {}
    for cell in cells:
        for contender in cell.contenders:
            if contender.placement in PLACEMENT_WORDS and len(contender.config["cpus"]) > 1:
                cores = contender.config.get("cores") or {}
                measured.setdefault(contender.placement, (tuple(contender.config["cpus"]), cores))
    if len(measured) < 2:
        return
    several = several_a_core(measured)
    parts = [
        "\n".join(_lines(name, *measured[name], several)) for name in PLACEMENT_WORDS if name in measured
    ]
    yield Settings(
        label=f"OpenMP program, {where}: where its threads run",
        language="shell",
        text="\n\n".join(parts),
        why="One of these. OMP_PLACES is for every OpenMP library; KMP_HW_SUBSET says the same to Intel's "
        "and LLVM's, where the kinds of cores have names.",
    )


def several_a_core(measured: Mapping[str, tuple[tuple[int, ...], Mapping[str, int]]]) -> int:
    """Threads of a fast core, by the placements that take all of them and one of each."""
    for whole, single in (("fast", "fast-cores"), ("all", "cores")):
        if whole in measured and single in measured:
            of_whole, of_single = (
                sum(count for kind, count in measured[name][1].items() if kind in FAST_KINDS)
                for name in (whole, single)
            )
            return max(1, of_whole // of_single) if of_single else 1
    return 1


def _lines(name: str, cpus: tuple[int, ...], kinds: Mapping[str, int], several: int) -> Iterator[str]:
    yield f"# {PLACEMENT_WORDS[name]}: CPUs {format_cpus(cpus)}"
    yield f'export OMP_NUM_THREADS={len(cpus)} OMP_PLACES="{places_of(cpus)}" OMP_PROC_BIND=close'
    subset = hardware_subset(name, kinds, several)
    if subset:
        yield f"# or: export KMP_HW_SUBSET={subset}"


def hardware_subset(name: str, kinds: Mapping[str, int], several: int) -> str:
    """The value of KMP_HW_SUBSET; empty where kinds have no names there, as of CPUs that were slowed."""
    if not kinds or not set(kinds) <= {*_CORE_TYPES, "core"}:
        return ""
    one_each = name in ("cores", "fast-cores")
    parts = []
    for kind, threads in kinds.items():
        cores = threads if one_each or kind not in FAST_KINDS else threads // several
        parts.append(f"{cores}c:{_CORE_TYPES[kind]}" if kind in _CORE_TYPES else f"{cores}c")
    return ",".join([*parts, "1t"] if one_each else parts)
