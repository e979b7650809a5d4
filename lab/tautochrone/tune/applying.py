"""Settings made concrete: the command, the environment and the start of a process."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from tautochrone.configuration import Configuration
from tautochrone.errors import TautoError
from tautochrone.inspection.commands import MpiLaunch, mpi_launch
from tautochrone.studies.options import parse_cpus
from tautochrone.tune.knobs import Settings, knobs
from tautochrone.tune.options import placeholders
from tautochrone.tune.space import Candidate, weighted_variables

REPEAT = 'n=$1; shift; while [ "$n" -gt 0 ]; do "$@" || exit; n=$((n - 1)); done'
_MPI_WORDS = {"mpi_map": "--map-by", "mpi_bind": "--bind-to"}
# What says the number of ranks. To srun and aprun, -c is the number of CPUs of a rank, and -N that of nodes.
_MPIRUN_RANK_OPTIONS = ("-n", "--n", "-np", "--np", "-c")
_RANK_OPTIONS = {"srun": ("-n", "--ntasks"), "aprun": ("-n", "--pes")}


@dataclass(frozen=True)
class Applied:
    """A command with settings: words to start, variables to set, and ``cpus`` and ``nice`` of the process."""

    command: tuple[str, ...]
    environment: Mapping[str, str] = field(default_factory=dict)
    start: Mapping[str, object] = field(default_factory=dict)


def applied(
    command: Sequence[str], arguments: Sequence[Sequence[str]], settings: Settings, has_openmp: bool = True
) -> Applied:
    """The command as it runs under these settings; what stands in braces is filled in."""
    words = list(command)
    for template in arguments:
        if all(name in settings for name in placeholders(template)):
            words += template
    used = placeholders(words)
    words = [_filled(word, settings) for word in words]
    environment: dict[str, str] = {}
    start: dict[str, object] = {}
    for name, value in settings.items():
        one = knobs().get(name)
        if name in used and one is None:
            continue
        if one is None or one.kind == "environment":
            environment[name] = value
        elif one.kind == "places":
            environment |= weighted_variables(value)
        elif name == "cpus":
            start["cpus"] = list(parse_cpus(value))
        elif name == "nice":
            start["nice"] = int(value)
        elif name == "mpi_ranks":
            count, _, threads = value.partition("x")
            words = _with_ranks(words, count)
            if has_openmp:
                environment["OMP_NUM_THREADS"] = threads
        else:
            words = _behind_launcher(words, name, [_MPI_WORDS[name], value])
    return Applied(tuple(words), environment, start)


def configuration(
    candidate: Candidate,
    command: Sequence[str],
    arguments: Sequence[Sequence[str]],
    *,
    has_openmp: bool = True,
    repeat: int = 1,
) -> Configuration:
    """A candidate as the measuring core runs it."""
    made = applied(command, arguments, candidate.settings, has_openmp)
    words = list(made.command)
    if repeat > 1:
        words = ["/bin/sh", "-c", REPEAT, "tauto-repeat", str(repeat), *words]
    settings = dict(candidate.settings)
    return Configuration(candidate.name, words, made.environment, settings, group="tune", start=made.start)


def _filled(word: str, settings: Settings) -> str:
    return re.sub(r"\{([a-z_]+)\}", lambda found: settings.get(found[1], found[0]), word)


def _launch(words: Sequence[str], name: str) -> MpiLaunch:
    found = mpi_launch(words)
    if found is None:
        raise TautoError(
            f"{name} is an option of an MPI launcher, and none stands in the command {shlex.join(words)!r}",
            "Write the launcher into the command itself: tauto tune -- mpirun -n 4 ./solver",
        )
    return found


def ranks_of(words: Sequence[str]) -> str | None:
    """The number of ranks that the words of an MPI launcher ask for; None where they leave it open."""
    launch = mpi_launch(words)
    if launch is None or launch.from_file:
        return None
    found = [_rank_word(words, launch.name, *part) for part in launch.parts]
    counts = [words[one[0]].removeprefix(one[1]) for one in found if one is not None]
    if len(counts) == 1 == len(found):
        return counts[0]
    if len(counts) < len(found) or not all(one.isdecimal() for one in counts):
        return None
    return str(sum(map(int, counts)))


def _with_ranks(words: list[str], count: str) -> list[str]:
    """The launcher's own number of ranks, if it has one, in place; the words of the program stay."""
    launch = _launch(words, "mpi_ranks")
    if launch.several:
        raise TautoError(
            f"mpi_ranks is one number, and {launch.name} starts several programs here",
            "Name the numbers in the command: mpirun -n {a} ./one : -n {b} ./two, with --value a=2,4",
        )
    found = _rank_word(words, launch.name, *launch.parts[0])
    if found is None:
        return _behind_launcher(words, "mpi_ranks", ["-n", count])
    index, before = found
    return [*words[:index], f"{before}{count}", *words[index + 1 :]]


def _rank_word(words: Sequence[str], launcher: str, begin: int, program: int) -> tuple[int, str] | None:
    """The word with a program's number of ranks among its options, and what stands before the number."""
    options = _RANK_OPTIONS.get(launcher, _MPIRUN_RANK_OPTIONS)
    for index in range(begin, program):
        option, equals, _ = words[index].partition("=")
        if option in options and equals:
            return index, f"{option}="
        if option in options and index + 1 < program:
            return index + 1, ""
        if re.fullmatch(r"-n[0-9]+", option):
            return index, "-n"
    return None


def _behind_launcher(words: list[str], name: str, new: list[str]) -> list[str]:
    at = _launch(words, name).launcher
    return [*words[: at + 1], *new, *words[at + 1 :]]
