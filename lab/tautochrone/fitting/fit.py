"""What is set for a command so that each of its runtimes starts one thread for each CPU that it may use."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from tautochrone.inspection.findings import Findings, inspect, known_runtimes
from tautochrone.machine.record import Machine
from tautochrone.options import format_cpus
from tautochrone.programs.commands import behind
from tautochrone.text import count
from tautochrone.tune.knobs import Knob, knobs
from tautochrone.tune.values import Place, place_of, processor_counts

_RANKS_HERE = ("OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS")
"""How many ranks of one MPI program run on this machine, as Open MPI and hydra tell each of them."""
_JAVA_OPTIONS = ("JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "_JAVA_OPTIONS")
_JAVA_COUNT = "ActiveProcessorCount"
_ROUNDED = 1e-6  # 2.0000001 CPUs from a division are two
_MAKERS = {"threads", "jvm_processors"}


@dataclass(frozen=True)
class Fit:
    """What is set, and why.

    `variables`: all that count threads here and that the user has not set. `environment` has their values;
    it is empty where nothing limits the program. No `cpus`: those that it may use already.
    """

    threads: int
    variables: tuple[str, ...]
    environment: Mapping[str, str]
    cpus: tuple[int, ...]
    sentences: tuple[str, ...]


def fit(command: Sequence[str], machine: Machine, variables: Mapping[str, str]) -> Fit:
    """What to set for a command that is started with these variables; for any command where it is empty.

    TautoError where the command is not there.
    """
    if not command:
        return fit_for(None, machine, variables)
    inside = behind(command).environment  # among the words of the command
    return fit_for(inspect(command, machine), machine, {**variables, **inside})


def fit_for(
    findings: Findings | None,
    machine: Machine,
    variables: Mapping[str, str],
    chance: random.Random | None = None,
) -> Fit:
    """What to set for a program of which this was found, if anything, and that gets these variables.

    `chance` chooses among the CPUs for a runtime that counts them.
    """
    case = _Case(findings, machine, variables, chance or random.Random())
    return case.of_launcher() if findings is not None and findings.mpi_launcher else case.of_program()


@dataclass(frozen=True)
class _Case:
    findings: Findings | None
    machine: Machine
    given: Mapping[str, str]
    chance: random.Random

    def of_launcher(self) -> Fit:
        assert self.findings is not None
        mpi = self.findings.mpi_launcher
        cpus = count(self.threads, "CPU")
        sentence = f"{mpi} starts the ranks: {cpus} for all of them ({self._limit()}); nothing is set"
        return Fit(self.threads, (), {}, (), (sentence,))

    def of_program(self) -> Fit:
        names = tuple(name for name in self.counting if not self.kept(name))
        environment = {name: self._value(name) for name in names} if self.is_limited else {}
        return Fit(self.threads, names, environment, self.cpus, tuple(self._sentences(names)))

    # -- how many --

    @property
    def allowed(self) -> int:
        return len(self.machine.allowed_cpus)

    @property
    def ranks(self) -> int:
        """How many ranks share the quota."""
        counts = [int(value) for name in _RANKS_HERE if (value := self.given.get(name, "")).isdecimal()]
        return max([1, *counts])

    @property
    def threads(self) -> int:
        quota = self.machine.quota_cpus
        if quota is None or self.ranks == 1:
            return self.machine.usable_members
        return min(self.allowed, max(1, math.ceil(quota / self.ranks - _ROUNDED)))

    @property
    def is_limited(self) -> bool:
        return self.threads < len(self.machine.cpus)

    def _limit(self) -> str:
        quota = self.machine.quota_cpus
        if quota is not None and quota / self.ranks < self.allowed:
            shared = f", which {self.ranks} ranks share" if self.ranks > 1 else ""
            return f"the quota is {quota:g} of {self.allowed} CPUs{shared}"
        if self.allowed < len(self.machine.cpus):
            return f"{self.allowed} of {len(self.machine.cpus)} CPUs may be used"
        return "all CPUs may be used"

    # -- which variables --

    @cached_property
    def counting(self) -> tuple[str, ...]:
        """The variables that set the number of threads of what the program has, or may load."""
        return tuple(knob.name for knob in _counting_knobs() if self._matters(knob))

    def _matters(self, knob: Knob) -> bool:
        if self.findings is not None and self.findings.has(*knob.needs):
            return True
        # A Java machine says on standard error that it has read its variable, so no other program gets it.
        return self.is_unknown and knob.values == "threads"

    @property
    def is_unknown(self) -> bool:
        """Whether what the program loads is known only when it runs."""
        return self.findings is None or self.findings.loads_later

    def kept(self, name: str) -> str:
        """What the user has set already instead of this variable: "OMP_NUM_THREADS=3"; else empty."""
        if _is_of_java(name):
            words = self.findings.command if self.findings is not None else ()
            places = [*(self.given.get(each, "") for each in _JAVA_OPTIONS), *words]
            return next((place for place in places if _JAVA_COUNT in place), "")
        needs = knobs()[name].needs
        others = (other for known in known_runtimes() if known.name in needs for other in known.counts_like)
        own = (each for each in (name, *others) if self.given.get(each))
        return next((f"{each}={self.given[each]}" for each in own), "")

    def _value(self, name: str) -> str:
        # Only Java's variable has other words of the user's too.
        before = self.given.get(name, "") if _is_of_java(name) else ""
        return f"{before} {value_of(name, str(self.threads))}".strip()

    # -- which CPUs --

    @cached_property
    def cpus(self) -> tuple[int, ...]:
        """As many as threads, for a runtime that can be told in no other way; a launcher places ranks."""
        if not self._only_masked() or self.ranks > 1 or self.threads == self.allowed:
            return ()
        return some_cpus(place_of(self.machine), self.threads, self.chance)

    def _only_masked(self) -> list[str]:
        """The runtimes that count the CPUs that they may use, and have no variable."""
        told = {need for knob in _counting_knobs() for need in knob.needs}
        known = [one for one in known_runtimes() if one.counts_cpus and one.name not in told]
        return [one.title for one in known if self.findings is not None and self.findings.has(one.name)]

    # -- in words --

    def _sentences(self, names: Sequence[str]) -> list[str]:
        parts = [f"{count(self.threads, 'thread')}: {self._limit()}"]
        if not self.is_limited:
            return [f"{parts[0]}; nothing is set", *self._remarks()]
        if names:
            parts.append(", ".join(names))
        kept = dict.fromkeys(filter(None, map(self.kept, self.counting)))
        if kept:
            parts.append(f"left as you set it: {', '.join(kept)}")
        if masked := " and ".join(self._only_masked()):
            parts.append(f"{masked} counts the CPUs that it may use{self._given_cpus()}")
        if len(parts) == 1:
            parts.append(f"no known runtime was found in {self._program()}, which runs as it is")
        return ["; ".join(parts), *(self._guess() if names else ()), *self._remarks()]

    def _given_cpus(self) -> str:
        if self.cpus:
            return f" and has no variable, so these are CPU {format_cpus(self.cpus)} alone"
        return ", which are the launcher's to choose" if self.threads < self.allowed else ""

    def _program(self) -> str:
        programs = self.findings.programs if self.findings is not None else ()
        return ", ".join(Path(program).name for program in programs)

    def _guess(self) -> list[str]:
        if self.findings is None or not self.is_unknown:
            return []
        return [
            "what a script or an interpreter loads is known only when it runs, so the variables of all "
            "runtimes but Java are set"
        ]

    def _remarks(self) -> list[str]:
        kinds = self._kinds()
        if len(kinds) < 2 or self.threads < 2 or not self._may_wait():
            return []
        return [
            f"the cores are unequal ({', '.join(kinds)}): a static OpenMP loop waits for the slowest. "
            "tauto balance moves its threads, tauto tune measures what is best"
        ]

    def _kinds(self) -> list[str]:
        """The kinds of cores among the CPUs that the program will have."""
        mine = set(self.cpus or self.machine.allowed_cpus)
        shares = [(kind.kind, mine.intersection(kind.cpus)) for kind in self.machine.kinds]
        return [f"{kind}: CPU {format_cpus(cpus)}" for kind, cpus in shares if cpus]

    def _may_wait(self) -> bool:
        """Whether the command has static OpenMP loops, as far as can be told."""
        found = self.findings
        if found is None:
            return False
        return found.loads_later or (found.has_openmp and found.schedules.has_static_loops is not False)


def value_of(name: str, threads: str) -> str:
    """The value of a variable for so many threads; `threads` may be a name that others fill in."""
    return processor_counts((threads,))[0] if _is_of_java(name) else threads


def _is_of_java(name: str) -> bool:
    return knobs()[name].values == "jvm_processors"


def _counting_knobs() -> list[Knob]:
    return [knob for knob in knobs().values() if knob.kind == "environment" and knob.values in _MAKERS]


def some_cpus(place: Place, wanted: int, chance: random.Random) -> tuple[int, ...]:
    """So many CPUs, fast ones and one of each core first. Neighbours, and from anywhere among them.

    Programs that are started one after another should not all be given the same CPUs.
    """
    groups = (place.fast_cores, place.fast, place.one_a_core, place.in_turn)
    pool = next(group for group in groups if len(group) >= wanted)
    begin = chance.randrange(len(pool))
    return tuple(sorted((pool + pool)[begin : begin + wanted]))
