"""Settings made concrete: the command, the environment and the start of a process."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from tautochrone.configuration import Configuration
from tautochrone.inspection.commands import MPI_LAUNCHERS
from tautochrone.studies.options import parse_cpus
from tautochrone.tune.knobs import Settings, knobs
from tautochrone.tune.options import placeholders
from tautochrone.tune.space import Candidate, weighted_variables

REPEAT = 'n=$1; shift; while [ "$n" -gt 0 ]; do "$@" || exit; n=$((n - 1)); done'
_MPI_WORDS = {"mpi_map": "--map-by", "mpi_bind": "--bind-to"}


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
            words = _behind_launcher(words, [_MPI_WORDS[name], value])
    return Applied(tuple(words), environment, start)


def configuration(
    candidate: Candidate,
    command: Sequence[str],
    arguments: Sequence[Sequence[str]],
    *,
    has_openmp: bool = True,
    repeat: int = 1,
    launcher: Sequence[str] = (),
) -> Configuration:
    """A candidate as the measuring core runs it."""
    made = applied(command, arguments, candidate.settings, has_openmp)
    words = list(made.command)
    if repeat > 1:
        words = ["/bin/sh", "-c", REPEAT, "tauto-repeat", str(repeat), *words]
    settings = dict(candidate.settings)
    return Configuration(
        candidate.name, [*launcher, *words], made.environment, settings, group="tune", start=made.start
    )


def _filled(word: str, settings: Settings) -> str:
    return re.sub(r"\{([a-z_]+)\}", lambda found: settings.get(found[1], found[0]), word)


def _launcher_at(words: Sequence[str]) -> int:
    return next(
        index for index, word in enumerate(words) if word.split("/")[-1].split(".")[0] in MPI_LAUNCHERS
    )


def _with_ranks(words: list[str], count: str) -> list[str]:
    at = _launcher_at(words)
    for index in range(at + 1, len(words) - 1):
        if words[index] in ("-n", "-np", "--np", "-c", "--ntasks"):
            return [*words[: index + 1], count, *words[index + 2 :]]
    return [*words[: at + 1], "-n", count, *words[at + 1 :]]


def _behind_launcher(words: list[str], new: list[str]) -> list[str]:
    at = _launcher_at(words)
    return [*words[: at + 1], *new, *words[at + 1 :]]
