"""The program behind a command line: through ``env``, ``mpirun``, ``sh -c`` and the first line of scripts."""

from __future__ import annotations

import os
import re
import shlex
import shutil
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path, PurePath

from tautochrone.errors import TautoError
from tautochrone.files import opened, unless_refused

CLUSTER_LAUNCHERS = ("srun", "aprun")  # of a cluster manager, which chooses the nodes
MPI_LAUNCHERS = ("mpirun", "mpiexec", "orterun", "prterun", *CLUSTER_LAUNCHERS)
# Commands that start another one, with their options that take a separate value.
_WRAPPERS: Mapping[str, tuple[str, ...]] = {
    "env": ("-u", "--unset", "-C", "--chdir"),
    "nice": ("-n", "--adjustment"),
    "ionice": ("-c", "-n"),
    "taskset": (),
    "numactl": ("-N", "-C", "-m", "-i", "-p", "--cpunodebind", "--physcpubind", "--membind", "--interleave"),
    "timeout": ("-s", "-k", "--signal", "--kill-after"),
    "time": ("-f", "-o", "--format", "--output"),
    "stdbuf": ("-i", "-o", "-e"),
    "setsid": (),
    "nohup": (),
    "chrt": ("-T", "-P", "-D"),
}
_OPERANDS = {"taskset": 1, "timeout": 1, "chrt": 1}  # arguments before the command
# Options of launchers that take a separate value: of Open MPI's and hydra's mpirun, and of cluster managers.
_MPIRUN_WITH_VALUE = re.compile(
    r"^-{1,2}(n|np|c|N|host|hosts|H|hostfile|machinefile|f|bind-to|map-by|rank-by|ppn|wd|wdir|path|prefix|x|am|"
    r"tune|cpu-set|cpu-list|output-filename|timeout|iface|launcher|bootstrap|rmk|genvlist|envlist|app|configfile)$"
)
_CLUSTER_WITH_VALUE: Mapping[str, re.Pattern[str]] = {
    "srun": re.compile(
        r"^(-[ABCDFGJLMNSTWcdeimnopqrtwx]|--(account|chdir|clusters|cluster-constraint|comment|constraint|"
        r"core-spec|cores-per-socket|cpu-bind|cpu-freq|cpus-per-gpu|cpus-per-task|deadline|dependency|"
        r"distribution|error|exclude|export|extra-node-info|gpu-bind|gpus|gpus-per-node|gpus-per-socket|"
        r"gpus-per-task|gres|hint|input|job-name|jobid|licenses|mem|mem-bind|mem-per-cpu|mem-per-gpu|mincpus|mpi|"
        r"network|nodefile|nodelist|nodes|ntasks|ntasks-per-core|ntasks-per-gpu|ntasks-per-node|"
        r"ntasks-per-socket|open-mode|output|partition|prolog|epilog|qos|relative|reservation|signal|"
        r"sockets-per-node|switches|task-epilog|task-prolog|threads|threads-per-core|time|time-min|tmp|wait|"
        r"wckey))$"
    ),
    "aprun": re.compile(
        r"^(-(n|N|d|S|sn|j|cc|L|l|m|p|r|e|t)|--(pes|pes-per-node|cpus-per-pe|pes-per-numa-node|"
        r"numa-nodes-per-node|cpus-per-cu|cpu-binding|node-list|memory-per-pe|environment-override))$"
    ),
}
# Options whose file says which rank runs which program.
_PROGRAMS_IN_FILE: Mapping[str, tuple[str, ...]] = {"srun": ("--multi-prog",)}
_MPIRUN_PROGRAMS_IN_FILE = ("-app", "--app", "-configfile", "--configfile")
_MPI_WITH_TWO = re.compile(r"^-{1,2}(mca|gmca|env|genv)$")
_SHELLS = ("sh", "bash", "dash", "zsh", "ksh")
_MOST_SCRIPT_BYTES = 1 << 20
_MOST_DEPTH = 64
_MOST_FIRST_LINE_BYTES = 4096


@dataclass(frozen=True)
class MpiLaunch:
    """An MPI launcher among the words of a command: ``words[launcher]``, its options, ``words[program]``.

    ``parts``: for each program that it starts, the index of its first option and its own; several if they are
    separated by colons (MPMD). ``from_file``: a file names the programs.
    """

    name: str
    launcher: int
    parts: tuple[tuple[int, int], ...]
    from_file: bool = False

    @property
    def program(self) -> int:
        """The index of the first program."""
        return self.parts[0][1]

    @property
    def several(self) -> bool:
        """Whether it starts several programs at once."""
        return len(self.parts) > 1 or self.from_file


@dataclass(frozen=True)
class Behind:
    """`programs`: the files that do the work, as far as reading can tell; `through`: what starts them."""

    programs: tuple[Path, ...]
    through: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    is_script: bool = False  # what it starts is decided when it runs
    mpi_launcher: str | None = None


@dataclass(frozen=True)
class Way:
    """What led to a command: how many others start it, and which scripts were read."""

    depth: int = 0
    scripts: set[Path] = field(default_factory=set)

    def further(self, command: Sequence[str]) -> Way:
        """One command deeper. TautoError where no person wrote so many into each other."""
        if self.depth >= _MOST_DEPTH:
            raise TautoError(
                f"{command[0]} is started through more than {_MOST_DEPTH} other commands",
                "Write fewer of them in front of it",
            )
        return Way(self.depth + 1, self.scripts)

    def first_time(self, script: Path) -> bool:
        """Whether a script was not read before; it may name itself."""
        real = script.resolve()
        seen = real in self.scripts
        self.scripts.add(real)
        return not seen


def find_program(word: str) -> Path:
    """The file that a command's first word names. TautoError where the shell would not find it either."""
    file = shutil.which(word) if "\0" not in word else None  # a file of words may hold anything
    if file is not None:
        return Path(file)
    if "/" in word and _is_file(Path(word)):
        raise TautoError(f"{word} cannot be started: it is not executable", f"Type: chmod +x {word}")
    if "/" in word and os.path.isdir(word):  # noqa: PTH112
        raise TautoError(f"{word} cannot be started: it is a folder", "Name a program in it")
    raise TautoError(
        f"there is no command {word!r}", "Write it as the shell would find it, or with its path: ./program"
    )


def behind(command: Sequence[str], way: Way | None = None) -> Behind:
    """The programs behind a command. TautoError where its first word cannot be found.

    `way`: what led here.
    """
    way = Way() if way is None else way.further(command)
    file = find_program(command[0])
    name = file.name
    rest = list(command[1:])
    if name in _WRAPPERS:
        environment, inner = _without_options(name, rest)
        if inner:
            return _joined(behind(inner, way), name, environment)
    if _launcher_name(name) in MPI_LAUNCHERS:
        commands = [_joined(behind(inner, way), name, {}) for inner in _started(_launcher_name(name), rest)]
        if commands:
            return Behind(
                tuple(dict.fromkeys(path for started in commands for path in started.programs)),
                tuple(dict.fromkeys(word for started in commands for word in started.through)),
                {key: value for started in commands for key, value in started.environment.items()},
                any(started.is_script for started in commands),
                name,
            )
    if name in _SHELLS:
        return _of_shell(file, rest, way)
    return _of_file(file, way)


def mpi_launch(words: Sequence[str]) -> MpiLaunch | None:
    """The MPI launcher in a command's words, after ``env`` and the like; None where a script starts it."""
    inner = list(words)
    while inner:
        name, rest = PurePath(inner[0]).name, inner[1:]
        launcher = _launcher_name(name)
        if launcher in MPI_LAUNCHERS:
            options = len(words) - len(rest)  # the index of the first one
            parts = tuple(
                (options + begin, options + end - len(_after_mpi_options(launcher, rest[begin:end])))
                for begin, end in _between_colons(launcher, rest)
            )
            from_file = _file_of_programs(launcher, rest) is not None
            return MpiLaunch(launcher, options - 1, parts, from_file)
        if name not in _WRAPPERS:
            return None
        _, inner = _without_options(name, rest)
    return None


def only_wraps(words: Sequence[str]) -> bool:
    """Whether these words start what follows on this machine: ``env``, ``nice`` and the like, or none."""
    inner = list(words)
    while inner:
        name = PurePath(inner[0]).name
        if name not in _WRAPPERS:
            return False
        _, inner = _without_options(name, inner[1:])
    return True


def _launcher_name(name: str) -> str:
    """``mpirun`` of ``mpirun.openmpi``."""
    return name.partition(".")[0]


def _started(launcher: str, words: list[str]) -> list[list[str]]:
    """The commands that an MPI launcher starts, without its own options."""
    file = _file_of_programs(launcher, words)
    if file is None:
        parts = [
            _after_mpi_options(launcher, words[begin:end]) for begin, end in _between_colons(launcher, words)
        ]
        return [part for part in parts if part]
    try:
        lines = [shlex.split(line, comments=True) for line in _lines_of(file)]
    except (OSError, ValueError) as error:
        raise TautoError(
            f"the programs that {launcher} starts cannot be read from {file}: {error}",
            "Correct the file, or write the programs into the command: mpirun -n 2 ./a : -n 2 ./b",
        ) from error
    if launcher in CLUSTER_LAUNCHERS:  # "0-3 ./program words": the ranks come first
        return [line[1:] for line in lines if line[1:]]
    parts = [_after_mpi_options(launcher, line) for line in lines]
    return [part for part in parts if part]


def _lines_of(name: str) -> list[str]:
    with opened(Path(name)) as file:
        return file.read(_MOST_SCRIPT_BYTES).decode().splitlines()


def _between_colons(launcher: str, words: Sequence[str]) -> list[tuple[int, int]]:
    """Where each part of a launcher's words begins and ends: ``-n 2 ./a : -n 2 ./b`` has two."""
    colons = [index for index, word in enumerate(words) if word == ":" and launcher != "srun"]
    return list(zip([0, *(colon + 1 for colon in colons)], [*colons, len(words)], strict=True))


def _file_of_programs(launcher: str, words: list[str]) -> str | None:
    """The file that names the programs, where a launcher's options say so."""
    options = _PROGRAMS_IN_FILE.get(launcher, _MPIRUN_PROGRAMS_IN_FILE)
    after = _after_mpi_options(launcher, words)
    own = words[: len(words) - len(after)]
    place = next((index for index, word in enumerate(own) if word in options), None)
    if place is None:
        return None
    if launcher in CLUSTER_LAUNCHERS:
        return after[0] if after else None
    return own[place + 1] if place + 1 < len(own) else None


def _joined(inner: Behind, name: str, environment: Mapping[str, str]) -> Behind:
    merged = {**environment, **inner.environment}
    return Behind(inner.programs, (name, *inner.through), merged, inner.is_script, inner.mpi_launcher)


def _without_options(name: str, words: list[str]) -> tuple[dict[str, str], list[str]]:
    """The variables that a wrapper sets, and the command that it starts."""
    environment: dict[str, str] = {}
    operands = _OPERANDS.get(name, 0)
    while words:
        word = words[0]
        if word == "--":
            words = words[1:]
            break
        if word.startswith("-"):
            words = words[2 if word in _WRAPPERS[name] else 1 :]
        elif name == "env" and "=" in word:
            key, _, value = word.partition("=")
            environment[key] = value
            words = words[1:]
        elif operands:
            operands -= 1
            words = words[1:]
        else:
            break
    return environment, words


def _after_mpi_options(launcher: str, words: list[str]) -> list[str]:
    with_value = _CLUSTER_WITH_VALUE.get(launcher, _MPIRUN_WITH_VALUE)
    while words and words[0].startswith("-"):
        skip = 3 if _MPI_WITH_TWO.match(words[0]) else 2 if with_value.match(words[0]) else 1
        words = words[skip:]
    return words


def _of_shell(shell: Path, words: list[str], way: Way) -> Behind:
    """The programs of a shell's ``-c``, also among other letters (``bash -lc``), else of its script."""
    has_command = False
    while words and words[0][:1] in ("-", "+"):
        option, words = words[0], words[1:]
        if option in ("-", "--"):
            break
        has_command = has_command or (re.fullmatch(r"-[A-Za-z]*c[A-Za-z]*", option) is not None)
        if re.fullmatch(r"[-+][A-Za-z]*[oO]|--rcfile|--init-file", option):
            words = words[1:]
    if has_command and words:
        return _of_lines(words[0], shell.name, way)
    script = Path(words[0]) if words else None
    return _of_file(script, way) if script is not None and _is_file(script) else Behind((shell,))


def _is_file(path: Path) -> bool:
    return os.path.isfile(path)  # noqa: PTH113 - Path raises for long names


def _of_file(path: Path, way: Way) -> Behind:
    """A program, or the programs that a script names."""
    with unless_refused(), opened(path) as file:
        head = file.read(_MOST_SCRIPT_BYTES)
        if head[:2] != b"#!":
            return Behind((path,))
        lines = head.decode(errors="replace")
        words = lines.partition("\n")[0][2:].split()
        interpreter = _interpreter(words)
        if interpreter is None:
            return Behind((path,), is_script=True)
        if interpreter.name in _SHELLS:
            if not way.first_time(path):
                return Behind((), (path.name,), is_script=True)
            inner = _of_lines(lines, path.name, way)
            return Behind(inner.programs or (interpreter,), (path.name,), {}, True, inner.mpi_launcher)
        return Behind((interpreter,), (path.name,), is_script=True)
    return Behind((path,))


def interpreter_of(path: Path) -> Path | None:
    """The program that a script's first line names; None for what is no script."""
    with unless_refused(), path.open("rb") as file:
        head = file.readline(_MOST_FIRST_LINE_BYTES)
        if head[:2] == b"#!":
            return _interpreter(head[2:].decode(errors="replace").split())
    return None


def _interpreter(words: list[str]) -> Path | None:
    if words and Path(words[0]).name == "env":
        words = [word for word in words[1:] if not word.startswith("-") and "=" not in word]
    path = shutil.which(words[0]) if words and "\0" not in words[0] else None
    return Path(path) if path else None


def _of_lines(text: str, name: str, way: Way) -> Behind:
    """The programs of a shell script's lines, as far as they can be found."""
    programs: dict[Path, None] = {}
    launcher = None
    for line in re.split(r"[\n;|&]+", text.replace("\\\n", " ")):
        with suppress(ValueError, TautoError):
            words = shlex.split(line, comments=True)
            while words and re.fullmatch(r"\w+=.*|exec|then|do|else|if|!|time|\{|\(", words[0]):
                words = words[1:]
            if words and shutil.which(words[0]) and os.path.basename(words[0]) not in _SHELLS:  # noqa: PTH119
                inner = behind(words, way)
                launcher = launcher or inner.mpi_launcher
                programs |= dict.fromkeys(inner.programs)
    return Behind(tuple(programs), (name,), {}, True, launcher)
