"""The findings about a command: its runtimes, what decides its schedules, the CPUs that it may use."""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import cache
from importlib import resources
from pathlib import Path

import msgspec

from tautochrone.inspection.balancing import balancing
from tautochrone.inspection.watching import Watched
from tautochrone.machine.record import Machine
from tautochrone.programs.commands import Behind, behind
from tautochrone.programs.elf import Elf, closure, read_elf

SCHEMA = "tautochrone.inspection/1"

LINKED, LOADED, INSIDE = "linked", "loaded while it ran", "linked statically"

_ASKS = re.compile(r"^GOMP_(?:loop|parallel_loop)\w*runtime\w*$")
_FIXED_DYNAMIC = re.compile(r"^GOMP_(?:loop|parallel_loop)_\w*(?:dynamic|guided|static)\w*$")
_INTERPRETER = re.compile(r"(python|perl|ruby|node|julia|R$|lua|java$|(ba|da|k|z)?sh$)")
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
    """What decides how loops are shared. None: the files do not show it."""

    asks_environment: bool | None
    has_static_loops: bool | None
    evidence: str


class Findings(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that ``tauto inspect`` finds of a program (schema tautochrone.inspection/1).

    `loads_later`: a script or an interpreter that was not run; its files do not show what it will load.
    `balancing`: what tauto balance can do with it.
    """

    schema: str = SCHEMA
    command: tuple[str, ...]
    programs: tuple[str, ...]
    through: tuple[str, ...]
    is_script: bool
    loads_later: bool = False
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
    balancing: tuple[str, ...] = ()
    notes: tuple[str, ...]

    def has(self, *names: str) -> bool:
        """Whether the program has any of these runtimes."""
        return any(runtime.name in names for runtime in self.runtimes)

    @property
    def has_openmp(self) -> bool:
        return self.has(*_OPENMP)

    @property
    def counts_cpus(self) -> str:
        """The finding that the program starts a thread for each CPU that it may use; empty without one."""
        names = [known.name for known in known_runtimes() if known.counts_cpus and self.has(known.name)]
        return f"{self.why(*names)} and starts a thread for each CPU that it may use" if names else ""

    @property
    def has_own_openmp(self) -> bool:
        """Whether the program's own files call OpenMP, and not only a library such as OpenBLAS."""
        of_its_own = (self.schedules.asks_environment, self.schedules.has_static_loops) != (False, False)
        return self.has_openmp and of_its_own

    def why(self, *names: str) -> str:
        """The finding that proves any of these runtimes: "libgomp.so.1 is linked"."""
        for runtime in self.runtimes:
            if runtime.name in names:
                return f"{runtime.title}: {Path(runtime.file).name} is {runtime.how}"
        return ""


@dataclass(frozen=True)
class Known:
    """A runtime of the table in runtimes.toml.

    `counts_like`: the variables of others that set its number of threads where its own does not.
    """

    name: str
    title: str
    library: re.Pattern[str]
    mark: tuple[str, ...]
    sets: str
    counts_cpus: bool
    counts_like: tuple[str, ...]

    def found(self, how: str, file: Path) -> RuntimeFound:
        """It, in a program that has it so."""
        return RuntimeFound(name=self.name, title=self.title, how=how, file=str(file), sets=self.sets)


@cache
def known_runtimes() -> tuple[Known, ...]:
    text = (resources.files("tautochrone.inspection") / "runtimes.toml").read_text(encoding="utf-8")
    return tuple(
        Known(
            name,
            line["title"],
            re.compile(line["library"]),
            tuple(line["mark"]),
            line["sets"],
            line.get("pool") == "cpus",
            tuple(line.get("else", ())),
        )
        for name, line in tomllib.loads(text).items()
    )


def inspect(command: Sequence[str], machine: Machine, watched: Watched | None = None) -> Findings:
    """Read the program's files, and what a run of it loaded. TautoError where there is no such command."""
    what = behind(command)
    programs = [elf for path in what.programs if (elf := read_elf(path)) is not None]
    runtimes: dict[str, RuntimeFound] = {}
    reached: list[Elf] = []
    environment = {**os.environ, **what.environment}
    for program in programs:
        libraries = list(closure(program, environment))
        _add(runtimes, (library.path for library in libraries), LINKED)
        reached += [program, *libraries]
        _add_inside(runtimes, program)
    if watched is not None:
        loaded = _loaded(watched, {str(elf.path.resolve()) for elf in reached})
        for elf in loaded:
            if elf.is_program and elf.interpreter is not None and not elf.path.name.startswith("lib"):
                _add_inside(runtimes, elf)
        _add(runtimes, (elf.path for elf in loaded), LOADED)
        reached += loaded
    own = _of_its_own(reached)
    called = {name for file in own for name in file.openmp_names}
    return Findings(
        command=tuple(command),
        programs=tuple(str(path) for path in what.programs),
        through=what.through,
        is_script=what.is_script,
        loads_later=watched is None and _loads_later(what, programs),
        mpi_launcher=what.mpi_launcher,
        linked_statically=any(program.linked_statically for program in programs),
        runtimes=tuple(_one_mpi(runtimes)),
        schedules=_schedules(reached),
        was_run=watched is not None,
        most_threads=watched.most_threads if watched is not None else None,
        peak_memory_bytes=watched.peak_bytes if watched is not None else None,
        cores=len({machine.cpu(number).core for number in machine.allowed_cpus}),
        cpus=machine.allowed_cpus,
        kinds=tuple((kind.kind, kind.cpus) for kind in machine.kinds),
        usable_members=machine.usable_members,
        quota_cpus=machine.quota_cpus,
        balancing=balancing(
            programs,
            environment,
            one_kind=len(machine.kinds) < 2,
            llvm_loops=_shared_by_llvm(called),
            gcc_loops=called >= _GCC_STATIC,
            openblas="openblas" in runtimes,
            waits=sorted({word for file in (*programs, *own) for word in file.waits}),
        ),
        notes=tuple(_notes(what, programs, watched)),
    )


def _add(runtimes: dict[str, RuntimeFound], paths: Iterable[Path], how: str) -> None:
    for path in paths:
        for known in known_runtimes():
            if known.name not in runtimes and known.library.search(path.name):
                runtimes[known.name] = known.found(how, path)


def _add_inside(runtimes: dict[str, RuntimeFound], program: Elf) -> None:
    """Runtimes inside the executable, by strings that a program may also have for other reasons."""
    if program.path.name.startswith("python"):
        return
    for known in known_runtimes():
        if known.name not in runtimes and known.mark and program.marks(known.mark) == set(known.mark):
            if known.name in _OPENMP and (not program.openmp_names or _OPENMP & runtimes.keys()):
                continue
            runtimes[known.name] = known.found(INSIDE, program.path)


def _loaded(watched: Watched, already: set[str]) -> list[Elf]:
    fresh = sorted(path for path in watched.files if path not in already and "/dev/" not in path)
    return [elf for path in fresh if (elf := read_elf(Path(path))) is not None]


def _one_mpi(runtimes: Mapping[str, RuntimeFound]) -> list[RuntimeFound]:
    """libmpi.so.12 is an old name of Open MPI and also of Intel MPI: only Open MPI has open-pal."""
    names = dict(runtimes)
    if "openmpi" in names and "mpich" in names:
        both = names["openmpi"].file == names["mpich"].file
        del names["openmpi" if both and names["openmpi"].file.endswith(".so.12") else "mpich"]
    order = {known.name: index for index, known in enumerate(known_runtimes())}
    return sorted(names.values(), key=lambda known: order[known.name])


def _of_its_own(files: Sequence[Elf]) -> list[Elf]:
    """The program and its own libraries that call OpenMP; the OpenMP runtimes export all of these names."""
    return [
        file
        for file in files
        if file.openmp_names and not any(known.library.search(file.path.name) for known in known_runtimes())
    ]


def _shared_by_llvm(names: Set[str]) -> bool:
    return any(name.startswith("__kmpc_for_static") for name in names)


def _schedules(files: Sequence[Elf]) -> Schedules:
    own = _of_its_own(files)
    names = frozenset(name for file in own for name in file.openmp_names)
    if not names:
        return Schedules(
            asks_environment=False, has_static_loops=False, evidence="no call of OpenMP in its files"
        )
    asking = sorted(name for name in names if _ASKS.match(name))
    if asking:
        static = names >= _GCC_STATIC or _shared_by_llvm(names)
        return Schedules(asks_environment=True, has_static_loops=static, evidence=f"it calls {asking[0]}")
    dispatch = [
        file for file in own if any(name.startswith("__kmpc_dispatch_init") for name in file.openmp_names)
    ]
    if dispatch:
        answers = [file.passes_runtime_schedule for file in dispatch]
        asks = True if True in answers else None if None in answers else False
        words = {True: "passes the schedule `runtime`", False: "passes fixed schedules", None: "passes one"}
        return Schedules(
            asks_environment=asks,
            has_static_loops=_shared_by_llvm(names),
            evidence=f"{dispatch[0].path.name} calls __kmpc_dispatch_init and {words[asks]}",
        )
    if _shared_by_llvm(names):
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


def _loads_later(what: Behind, programs: Sequence[Elf]) -> bool:
    return what.is_script or any(_INTERPRETER.match(program.path.name) for program in programs)


def _notes(what: Behind, programs: Sequence[Elf], watched: Watched | None) -> Iterable[str]:
    if watched is None and _loads_later(what, programs):
        yield "what a script or an interpreter loads is known only when it runs: add --run"
    if watched is not None and watched.stopped:
        yield f"it was stopped after {watched.seconds:.3g} s: what it would have loaded later was not seen"
    for program in programs:
        if program.linked_statically:
            yield f"{program.path.name} is linked statically: LD_PRELOAD has no effect on it"
