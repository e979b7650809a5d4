"""Settings made concrete: for one process, as lines to paste, and as a profile for tauto run."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from tautochrone.errors import TautoError, explained
from tautochrone.files import write_whole
from tautochrone.machine import runners
from tautochrone.measuring.configuration import Configuration
from tautochrone.options import parse_cpus
from tautochrone.programs.commands import MpiLaunch, mpi_launch
from tautochrone.report.analysis import Settings as Lines
from tautochrone.text import as_json
from tautochrone.tune.answer import TuneContext
from tautochrone.tune.knobs import Settings, knobs
from tautochrone.tune.options import placeholders
from tautochrone.tune.space import Candidate, weighted_variables

PROFILE_SCHEMA = "tautochrone.profile/1"


class Profile(msgspec.Struct, frozen=True, kw_only=True):
    """How to start a program with the answer of a search, as `profile.json` keeps it."""

    schema: str = PROFILE_SCHEMA
    program: str  # its name without folders
    verdict: str
    settings: dict[str, str]
    environment: dict[str, str]
    cpus: list[int] | None  # null: wherever it may run
    nice: int | None
    balance: bool  # whether its threads change CPUs to finish at once
    command: list[str]
    tuned_command: list[str]  # the command with names in braces in place of what was tried


REPEAT = 'n=$1; shift; while [ "$n" -gt 0 ]; do "$@" || exit; n=$((n - 1)); done'
PROFILE_FILE = "profile.json"
_MPI_WORDS = {"mpi_map": "--map-by", "mpi_bind": "--bind-to"}
# What says the number of ranks. To srun and aprun, -c is the number of CPUs of a rank, and -N that of nodes.
_MPIRUN_RANK_OPTIONS = ("-n", "--n", "-np", "--np", "-c")
_RANK_OPTIONS = {"srun": ("-n", "--ntasks"), "aprun": ("-n", "--pes")}


@dataclass(frozen=True)
class Applied:
    """A command with settings: the words to start, the variables to set, and the process's CPUs and priority.

    No ``cpus`` and no ``nice``: as the process that starts it. ``balanced``: tauto balance starts the words.
    """

    command: tuple[str, ...]
    environment: Mapping[str, str] = field(default_factory=dict)
    cpus: tuple[int, ...] = ()
    nice: int | None = None
    balanced: bool = False

    @property
    def start(self) -> dict[str, object]:
        """CPUs and priority as a configuration has them."""
        given = {"cpus": list(self.cpus) or None, "nice": self.nice}
        return {name: value for name, value in given.items() if value is not None}


def applied(
    command: Sequence[str], arguments: Sequence[Sequence[str]], settings: Settings, has_openmp: bool = True
) -> Applied:
    """The command as it runs under these settings, with the names in braces filled in."""
    used = placeholders(_with_arguments(command, arguments, settings))
    values = {name: _word_of(name, value) for name, value in settings.items()}
    words = [_filled(word, values) for word in with_names(command, arguments, settings)]
    environment: dict[str, str] = {}
    cpus: tuple[int, ...] = ()
    nice: int | None = None
    balanced = False
    for name, value in settings.items():
        knob = knobs().get(name)
        if name in used and knob is None:
            continue
        if knob is None or knob.kind == "environment":
            environment[name] = value
        elif knob.kind == "places":
            environment |= weighted_variables(value)
        elif name == "cpus":
            cpus = tuple(parse_cpus(value))
        elif name == "nice":
            nice = int(value)
        elif name == "balance":
            balanced = True
        elif name == "mpi_ranks" and has_openmp:
            environment["OMP_NUM_THREADS"] = value.partition("x")[2]
    return Applied(tuple(words), environment, cpus, nice, balanced)


def with_names(
    command: Sequence[str], arguments: Sequence[Sequence[str]], settings: Settings
) -> tuple[str, ...]:
    """The command with all words that these settings need, and names in braces in place of their values."""
    words = _with_arguments(command, arguments, settings)
    for name in settings:
        if name == "mpi_ranks":
            words = _with_ranks(words, "{mpi_ranks}")
        elif name in _MPI_WORDS:
            words = _behind_launcher(words, name, [_MPI_WORDS[name], f"{{{name}}}"])
    return tuple(words)


def _with_arguments(
    command: Sequence[str], arguments: Sequence[Sequence[str]], settings: Settings
) -> list[str]:
    words = list(command)
    for template in arguments:
        if all(name in settings for name in placeholders(template)):
            words += template
    return words


def _word_of(name: str, value: str) -> str:
    """A setting's value as a word has it."""
    return value.partition("x")[0] if name == "mpi_ranks" else value


def configuration(
    candidate: Candidate,
    command: Sequence[str],
    arguments: Sequence[Sequence[str]],
    *,
    has_openmp: bool = True,
    repeat: int = 1,
) -> Configuration:
    made = applied(command, arguments, candidate.settings, has_openmp)
    words = [str(runners.find("tauto-balance")), "--", *made.command] if made.balanced else list(made.command)
    if repeat > 1:
        words = ["/bin/sh", "-c", REPEAT, "tauto-repeat", str(repeat), *words]
    settings = dict(candidate.settings)
    return Configuration(candidate.name, words, made.environment, settings, group="tune", start=made.start)


def _filled(word: str, settings: Settings) -> str:
    return re.sub(r"\{([a-z_]+)\}", lambda match: settings.get(match[1], match[0]), word)


def _launch(words: Sequence[str], name: str) -> MpiLaunch:
    launch = mpi_launch(words)
    if launch is None:
        raise TautoError(
            f"{name} is an option of an MPI launcher, and there is none in the command {shlex.join(words)!r}",
            "Write the launcher into the command itself: tauto tune -- mpirun -n 4 ./solver",
        )
    return launch


def ranks_of(words: Sequence[str]) -> str | None:
    """The number of ranks that the words of an MPI launcher ask for; None where they leave it open."""
    launch = mpi_launch(words)
    if launch is None or launch.from_file:
        return None
    places = [_rank_word(words, launch.name, *part) for part in launch.parts]
    counts = [words[place[0]].removeprefix(place[1]) for place in places if place is not None]
    if len(counts) == 1 == len(places):
        return counts[0]
    if len(counts) < len(places) or not all(count.isdecimal() for count in counts):
        return None
    return str(sum(map(int, counts)))


def _with_ranks(words: list[str], count: str) -> list[str]:
    """The words with that number of ranks among the launcher's options; the program's words stay."""
    launch = _launch(words, "mpi_ranks")
    if launch.several:
        raise TautoError(
            f"mpi_ranks is one number, and {launch.name} starts several programs here",
            "Name the numbers in the command: mpirun -n {a} ./one : -n {b} ./two, with --value a=2,4",
        )
    place = _rank_word(words, launch.name, *launch.parts[0])
    if place is None:
        return _behind_launcher(words, "mpi_ranks", ["-n", count])
    index, before = place
    return [*words[:index], f"{before}{count}", *words[index + 1 :]]


def _rank_word(words: Sequence[str], launcher: str, begin: int, program: int) -> tuple[int, str] | None:
    """The index of the word with a program's number of ranks, and the text before the number in that word."""
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


# -- lines to paste --


def settings_to_paste(context: TuneContext, settings: Mapping[str, str]) -> tuple[Lines, ...]:
    """The settings for each place where a program may be started; empty without settings."""
    if not settings:
        return ()
    made = applied(context.program, context.arguments, settings, context.has_openmp)
    command = shlex.join(made.command)
    return (
        Lines(
            label="tauto run",
            language="shell",
            text=run_line(context, settings),
            why="Applies the profile, warns where the kernel gave something else, and becomes the program.",
        ),
        Lines(label="Shell", language="shell", text=_shell(made, command)),
        Lines(label="systemd unit", language="ini", text=systemd_form(made, context.working_folder)),
        Lines(label="Slurm script", language="shell", text=_slurm(made, command, context.mpi_launcher)),
        Lines(label="Dockerfile", language="dockerfile", text=_docker(made)),
    )


def run_line(context: TuneContext, settings: Settings) -> str:
    """The line that applies the profile of these settings; the profile may change names in braces alone."""
    profile = shlex.quote(f"{context.folder}/{PROFILE_FILE}")
    words = with_names(context.program, context.arguments, settings or context.base)
    return f"tauto run {profile} -- {shlex.join(words)}"


def _before(made: Applied) -> list[str]:
    """The words before those of the command that have no form of their own."""
    nice = ["nice", "-n", str(made.nice)] if made.nice else []
    return nice + _balancing(made)


def _balancing(made: Applied) -> list[str]:
    return ["tauto", "balance", "--"] if made.balanced else []


def _prefix(made: Applied) -> str:
    cpus = f"taskset -c {_comma_list(made.cpus)} " if made.cpus else ""
    return cpus + "".join(f"{word} " for word in _before(made))


def _comma_list(cpus: Sequence[int]) -> str:
    return ",".join(map(str, cpus))


def _shell(made: Applied, command: str) -> str:
    exports = [f"export {name}={shlex.quote(value)}" for name, value in made.environment.items()]
    return "\n".join([*exports, f"{_prefix(made)}{command}"])


def systemd_form(made: Applied, working_folder: str) -> str:
    """A section for a unit of systemd."""
    lines = ["[Service]"]
    if working_folder:
        lines.append(f"WorkingDirectory={working_folder.replace('%', '%%')}")
    lines += [f"Environment={_in_unit(f'{name}={value}', True)}" for name, value in made.environment.items()]
    if made.cpus:
        lines.append(f"CPUAffinity={' '.join(map(str, made.cpus))}")
    if made.nice:
        lines.append(f"Nice={made.nice}")
    words = [_absolute(made.command[0], working_folder), *made.command[1:]]
    if made.balanced:
        words = [_absolute("tauto", ""), *_balancing(made)[1:], *words]
    return "\n".join([*lines, f"ExecStart={' '.join(_in_unit(word.replace('$', '$$')) for word in words)}"])


def _absolute(program: str, working_folder: str) -> str:
    """A program's absolute path, as far as it is known: systemd searches few folders."""
    if "/" not in program:
        return shutil.which(program) or program
    return os.path.normpath(Path(working_folder) / program) if working_folder else program


def _in_unit(word: str, always_quoted: bool = False) -> str:
    """A word as a systemd unit writes it."""
    word = word.replace("%", "%%")
    if not always_quoted and re.fullmatch(r"[^\s\"'\\;]+", word):
        return word
    escaped = word.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'


def _slurm(made: Applied, command: str, launcher: str | None) -> str:
    threads = made.environment.get("OMP_NUM_THREADS")
    numbered = made.cpus or "{" in made.environment.get("OMP_PLACES", "")
    tasks = ranks_of(made.command) if launcher else "1"
    head = ["#!/bin/sh", "#SBATCH --nodes=1", "#SBATCH --exclusive", "#SBATCH --hint=multithread"]
    exports = [f"export {name}={shlex.quote(value)}" for name, value in made.environment.items()]
    if tasks is not None:
        head.append(f"#SBATCH --ntasks={tasks}")
    if threads and not numbered:  # numbered CPUs need the whole node
        head.append(f"#SBATCH --cpus-per-task={threads}")
        exports.append(f"export SRUN_CPUS_PER_TASK={threads}")
    bind = " --cpu-bind=none" if threads or made.cpus else ""
    start = "" if launcher else f"srun{bind} "
    return "\n".join([*head, *exports, f"{start}{_prefix(made)}{command}"])


def _docker(made: Applied) -> str:
    lines = [f'ENV {name}="{_in_dockerfile(value)}"' for name, value in made.environment.items()]
    if made.cpus:
        lines.append(f"# docker run --cpuset-cpus={_comma_list(made.cpus)} IMAGE")
    words = ", ".join(json.dumps(word) for word in [*_before(made), *made.command])
    return "\n".join([*lines, f"CMD [{words}]"])


def _in_dockerfile(value: str) -> str:
    """A value between the quotes of an ENV line, where a dollar sign would name a variable."""
    return re.sub(r'[\\"$]', lambda match: f"\\{match[0]}", value)


def write_profile(folder: Path, context: TuneContext, settings: Mapping[str, str], verdict: str) -> Path:
    """Write the profile that tauto run applies. TautoError where it cannot be written."""
    settings = settings or context.base  # names in braces always have a value
    made = applied(context.program, context.arguments, settings, context.has_openmp)
    tuned = with_names(context.program, context.arguments, settings)
    path = folder / PROFILE_FILE
    with explained(f"the profile {path} cannot be written", "Make room there"):
        write_whole(path, profile_text(made, tuned, settings, verdict))
    return path


def profile_text(made: Applied, tuned: Sequence[str], settings: Mapping[str, str], verdict: str) -> str:
    """A profile as JSON. `tuned`: the command with its names in braces."""
    profile = Profile(
        program=Path(tuned[0]).name,
        verdict=verdict,
        settings=dict(settings),
        environment=dict(made.environment),
        cpus=list(made.cpus) or None,
        nice=made.nice,
        balance=made.balanced,
        command=list(made.command),
        tuned_command=list(tuned),
    )
    return as_json(profile) + "\n"
