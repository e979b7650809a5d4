"""What was found of a command: its runtimes, who decides its loops' schedules, and the machine under it."""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from pathlib import Path

import msgspec

from tautochrone.inspection.commands import Behind, behind
from tautochrone.inspection.elf import Elf, read_elf
from tautochrone.inspection.libraries import closure
from tautochrone.inspection.watching import Watched
from tautochrone.machine_record import Machine

SCHEMA = "tautochrone.inspection/1"

LINKED, LOADED, INSIDE = "linked", "loaded while it ran", "linked statically"

_ASKS = re.compile(r"^GOMP_(?:loop|parallel_loop)\w*runtime\w*$")
_FIXED_DYNAMIC = re.compile(r"^GOMP_(?:loop|parallel_loop)_\w*(?:dynamic|guided|static)\w*$")
_OPENMP = frozenset({"libgomp", "libomp"})
_GCC_STATIC = frozenset({"GOMP_parallel", "omp_get_num_threads", "omp_get_thread_num"})


class RuntimeFound(msgspec.Struct, frozen=True, kw_only=True):
    """A runtime of the program. `how`: linked, loaded while it ran, or linked statically."""

    name: str
    title: str
    how: str
    file: str
    sets: str


class Schedules(msgspec.Struct, frozen=True, kw_only=True):
    """Who decides how loops are shared. None: reading the files cannot tell."""

    asks_environment: bool | None
    has_static_loops: bool | None
    evidence: str


class Findings(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that ``tauto inspect`` says of a program (schema tautochrone.inspection/1)."""

    schema: str = SCHEMA
    command: tuple[str, ...]
    programs: tuple[str, ...]
    through: tuple[str, ...]
    is_script: bool
    mpi_launcher: str | None
    linked_statically: bool
    runtimes: tuple[RuntimeFound, ...]
    schedules: Schedules
    was_run: bool
    most_threads: int | None
    peak_memory_bytes: int | None = None
    cores: int
    cpus: tuple[int, ...]
    kinds: tuple[tuple[str, tuple[int, ...]], ...]
    usable_members: int
    quota_cpus: float | None
    notes: tuple[str, ...]

    def has(self, *names: str) -> bool:
        """Whether the program has any of these runtimes."""
        return any(one.name in names for one in self.runtimes)

    @property
    def has_openmp(self) -> bool:
        """Whether the program has an OpenMP runtime."""
        return self.has(*_OPENMP)

    @property
    def counts_cpus(self) -> str:
        """The finding that the program starts a thread for each CPU that it may use; empty: none says so."""
        names = [one.name for one in known_runtimes() if one.counts_cpus and self.has(one.name)]
        return f"{self.why(*names)} and starts a thread for each CPU that it may use" if names else ""

    @property
    def has_own_openmp(self) -> bool:
        """Whether the program's own files call OpenMP, and not only a library such as OpenBLAS."""
        of_its_own = (self.schedules.asks_environment, self.schedules.has_static_loops) != (False, False)
        return self.has_openmp and of_its_own

    def why(self, *names: str) -> str:
        """The finding that speaks for any of these runtimes: "libgomp.so.1 is linked"."""
        for one in self.runtimes:
            if one.name in names:
                return f"{one.title}: {Path(one.file).name} is {one.how}"
        return ""


@dataclass(frozen=True)
class Known:
    """A runtime of the table in runtimes.toml."""

    name: str
    title: str
    library: re.Pattern[str]
    mark: tuple[str, ...]
    sets: str
    counts_cpus: bool


@cache
def known_runtimes() -> tuple[Known, ...]:
    """The table, in its order."""
    text = (resources.files("tautochrone.inspection") / "runtimes.toml").read_text(encoding="utf-8")
    return tuple(
        Known(
            name,
            one["title"],
            re.compile(one["library"]),
            tuple(one["mark"]),
            one["sets"],
            one.get("pool") == "cpus",
        )
        for name, one in tomllib.loads(text).items()
    )


def inspect(command: Sequence[str], machine: Machine, watched: Watched | None = None) -> Findings:
    """Read the program's files, and what a run of it loaded. TautoError where there is no such command."""
    what = behind(command)
    programs = [elf for path in what.programs if (elf := read_elf(path)) is not None]
    found: dict[str, RuntimeFound] = {}
    reached: list[Elf] = []
    environment = {**os.environ, **what.environment}
    for program in programs:
        libraries = list(closure(program, environment))
        _add(found, (one.path for one in libraries), LINKED)
        reached += [program, *libraries]
        _add_inside(found, program)
    if watched is not None:
        loaded = _loaded(watched, {str(one.path.resolve()) for one in reached})
        for elf in loaded:
            if elf.is_program and elf.interpreter is not None and not elf.path.name.startswith("lib"):
                _add_inside(found, elf)
        _add(found, (one.path for one in loaded), LOADED)
        reached += loaded
    return Findings(
        command=tuple(command),
        programs=tuple(str(path) for path in what.programs),
        through=what.through,
        is_script=what.is_script,
        mpi_launcher=what.mpi_launcher,
        linked_statically=any(one.linked_statically for one in programs),
        runtimes=tuple(_one_mpi(found)),
        schedules=_schedules(reached),
        was_run=watched is not None,
        most_threads=watched.most_threads if watched is not None else None,
        peak_memory_bytes=watched.peak_bytes if watched is not None else None,
        cores=len({machine.cpu(number).core for number in machine.allowed_cpus}),
        cpus=machine.allowed_cpus,
        kinds=tuple((kind.kind, kind.cpus) for kind in machine.kinds),
        usable_members=machine.usable_members,
        quota_cpus=machine.quota_cpus,
        notes=tuple(_notes(what, programs, watched)),
    )


def _add(found: dict[str, RuntimeFound], paths: Iterable[Path], how: str) -> None:
    for path in paths:
        for one in known_runtimes():
            if one.name not in found and one.library.search(path.name):
                found[one.name] = RuntimeFound(
                    name=one.name, title=one.title, how=how, file=str(path), sets=one.sets
                )


def _add_inside(found: dict[str, RuntimeFound], program: Elf) -> None:
    """Runtimes inside the executable, by marks that a program may also have for reasons of its own."""
    if program.path.name.startswith("python"):
        return
    for one in known_runtimes():
        if one.name not in found and one.mark and program.marks(one.mark) == set(one.mark):
            if one.name in _OPENMP and (not program.openmp_names or _OPENMP & found.keys()):
                continue
            found[one.name] = RuntimeFound(
                name=one.name, title=one.title, how=INSIDE, file=str(program.path), sets=one.sets
            )


def _loaded(watched: Watched, already: set[str]) -> list[Elf]:
    fresh = sorted(one for one in watched.files if one not in already and "/dev/" not in one)
    return [elf for one in fresh if (elf := read_elf(Path(one))) is not None]


def _one_mpi(found: Mapping[str, RuntimeFound]) -> list[RuntimeFound]:
    """libmpi.so.12 is Open MPI's old name and Intel MPI's: who brings open-pal is Open MPI."""
    names = dict(found)
    if "openmpi" in names and "mpich" in names:
        both = names["openmpi"].file == names["mpich"].file
        del names["openmpi" if both and names["openmpi"].file.endswith(".so.12") else "mpich"]
    order = {one.name: index for index, one in enumerate(known_runtimes())}
    return sorted(names.values(), key=lambda one: order[one.name])


def _schedules(files: Sequence[Elf]) -> Schedules:
    """Judged over the program and its own libraries; the OpenMP runtimes export all of these names."""
    own = [one for one in files if one.openmp_names and not _is_runtime(one)]
    names = frozenset(name for one in own for name in one.openmp_names)
    if not names:
        return Schedules(
            asks_environment=False, has_static_loops=False, evidence="no call of OpenMP in its files"
        )
    asking = sorted(name for name in names if _ASKS.match(name))
    if asking:
        static = names >= _GCC_STATIC or any(name.startswith("__kmpc_for_static") for name in names)
        return Schedules(asks_environment=True, has_static_loops=static, evidence=f"it calls {asking[0]}")
    dispatch = [one for one in own if any(n.startswith("__kmpc_dispatch_init") for n in one.openmp_names)]
    if dispatch:
        answers = [one.passes_runtime_schedule for one in dispatch]
        asks = True if True in answers else None if None in answers else False
        said = {True: "passes the schedule `runtime`", False: "passes fixed schedules", None: "passes one"}
        return Schedules(
            asks_environment=asks,
            has_static_loops=any(name.startswith("__kmpc_for_static") for name in names),
            evidence=f"{dispatch[0].path.name} calls __kmpc_dispatch_init and {said[asks]}",
        )
    if any(name.startswith("__kmpc_for_static") for name in names):
        return Schedules(
            asks_environment=False, has_static_loops=True, evidence="it calls __kmpc_for_static_init"
        )
    if names >= _GCC_STATIC:
        fixed = any(_FIXED_DYNAMIC.match(name) for name in names)
        also = ", and loops of a fixed other schedule" if fixed else ""
        return Schedules(
            asks_environment=False,
            has_static_loops=True,
            evidence=f"it shares loops by thread number, as GCC compiles static ones{also}",
        )
    return Schedules(
        asks_environment=False, has_static_loops=None, evidence="parallel regions without shared loops"
    )


def _is_runtime(one: Elf) -> bool:
    return any(runtime.library.search(one.path.name) for runtime in known_runtimes())


def _notes(what: Behind, programs: Sequence[Elf], watched: Watched | None) -> Iterable[str]:
    if watched is None and (what.is_script or any(_interprets(one) for one in programs)):
        yield "what a script or an interpreter loads is seen only when it runs: add --run"
    if watched is not None and watched.stopped:
        yield f"it was stopped after {watched.seconds:.3g} s: what it would have loaded later was not seen"
    for one in programs:
        if one.linked_statically:
            yield f"{one.path.name} is linked statically: LD_PRELOAD has no effect on it"


def _interprets(one: Elf) -> bool:
    return re.match(r"(python|perl|ruby|node|julia|R$|lua|java$)", one.path.name) is not None
