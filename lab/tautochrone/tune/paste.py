"""The answer to paste: for a shell, systemd, Slurm, a Dockerfile; and the profile for tauto run."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
from collections.abc import Mapping
from pathlib import Path

from tautochrone.errors import TautoError
from tautochrone.report.analysis_types import Settings
from tautochrone.tune.applying import Applied, applied, ranks_of
from tautochrone.tune.context import TuneContext
from tautochrone.whole_file import write_whole

PROFILE_FILE = "profile.json"
PROFILE_SCHEMA = "tautochrone.profile/1"


def settings_to_paste(context: TuneContext, settings: Mapping[str, str]) -> tuple[Settings, ...]:
    """The same settings for each place where a program is started; nothing where all stays as it is."""
    if not settings:
        return ()
    made = applied(context.program, context.arguments, settings, context.has_openmp)
    command = shlex.join(made.command)
    return (
        Settings(
            label="tauto run",
            language="shell",
            text=run_line(context),
            why="Applies the profile, says where the kernel gave something else, and gets out of the way.",
        ),
        Settings(label="Shell", language="shell", text=_shell(made, command)),
        Settings(label="systemd unit", language="ini", text=_systemd(made, context.working_folder)),
        Settings(label="Slurm script", language="shell", text=_slurm(made, command, context.mpi_launcher)),
        Settings(label="Dockerfile", language="dockerfile", text=_docker(made)),
    )


def run_line(context: TuneContext) -> str:
    """The line that applies the profile."""
    profile = shlex.quote(f"{context.folder}/{PROFILE_FILE}")
    return f"tauto run {profile} -- {shlex.join(context.program)}"


def _nice(made: Applied) -> list[str]:
    return ["nice", "-n", str(made.start["nice"])] if made.start.get("nice") else []


def _prefix(made: Applied) -> str:
    words = ""
    if cpus := made.start.get("cpus"):
        assert isinstance(cpus, list)
        words += f"taskset -c {','.join(map(str, cpus))} "
    return words + "".join(f"{word} " for word in _nice(made))


def _shell(made: Applied, command: str) -> str:
    exports = [f"export {name}={shlex.quote(value)}" for name, value in made.environment.items()]
    return "\n".join([*exports, f"{_prefix(made)}{command}"])


def _systemd(made: Applied, working_folder: str) -> str:
    lines = ["[Service]"]
    if working_folder:
        lines.append(f"WorkingDirectory={working_folder.replace('%', '%%')}")
    lines += [f"Environment={_in_unit(f'{name}={value}', True)}" for name, value in made.environment.items()]
    if cpus := made.start.get("cpus"):
        assert isinstance(cpus, list)
        lines.append(f"CPUAffinity={' '.join(map(str, cpus))}")
    if made.start.get("nice"):
        lines.append(f"Nice={made.start['nice']}")
    words = [_absolute(made.command[0], working_folder), *made.command[1:]]
    return "\n".join([*lines, f"ExecStart={' '.join(_in_unit(word.replace('$', '$$')) for word in words)}"])


def _absolute(program: str, working_folder: str) -> str:
    """A program's path from the root, as far as it is known: systemd looks into few folders."""
    if "/" not in program:
        return shutil.which(program) or program
    return os.path.normpath(Path(working_folder) / program) if working_folder else program


def _in_unit(word: str, always_quoted: bool = False) -> str:
    """A word as a systemd unit has it."""
    word = word.replace("%", "%%")
    if not always_quoted and re.fullmatch(r"[^\s\"'\\;]+", word):
        return word
    escaped = word.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'


def _slurm(made: Applied, command: str, launcher: str | None) -> str:
    threads = made.environment.get("OMP_NUM_THREADS")
    numbered = made.start.get("cpus") or "{" in made.environment.get("OMP_PLACES", "")
    tasks = ranks_of(made.command) if launcher else "1"
    head = ["#!/bin/sh", "#SBATCH --nodes=1", "#SBATCH --exclusive", "#SBATCH --hint=multithread"]
    exports = [f"export {name}={shlex.quote(value)}" for name, value in made.environment.items()]
    if tasks is not None:
        head.append(f"#SBATCH --ntasks={tasks}")
    if threads and not numbered:  # CPUs with numbers are the whole node's
        head.append(f"#SBATCH --cpus-per-task={threads}")
        exports.append(f"export SRUN_CPUS_PER_TASK={threads}")
    bind = " --cpu-bind=none" if threads or made.start.get("cpus") else ""
    start = "" if launcher else f"srun{bind} "
    return "\n".join([*head, *exports, f"{start}{_prefix(made)}{command}"])


def _docker(made: Applied) -> str:
    lines = [f'ENV {name}="{_in_dockerfile(value)}"' for name, value in made.environment.items()]
    if cpus := made.start.get("cpus"):
        assert isinstance(cpus, list)
        lines.append(f"# docker run --cpuset-cpus={','.join(map(str, cpus))} IMAGE")
    words = ", ".join(json.dumps(word) for word in [*_nice(made), *made.command])
    return "\n".join([*lines, f"CMD [{words}]"])


def _in_dockerfile(value: str) -> str:
    """A value between the quotes of an ENV line, where a dollar would name a variable."""
    return re.sub(r'[\\"$]', lambda found: f"\\{found[0]}", value)


def write_profile(folder: Path, context: TuneContext, settings: Mapping[str, str], verdict: str) -> Path:
    """Write the profile that tauto run applies. TautoError where it cannot be written."""
    settings = settings or context.base  # what stands in braces has a value in any case
    made = applied(context.program, context.arguments, settings, context.has_openmp)
    profile = {
        "schema": PROFILE_SCHEMA,
        "program": Path(context.program[0]).name,
        "verdict": verdict,
        "settings": dict(settings),
        "environment": dict(made.environment),
        "cpus": made.start.get("cpus"),
        "nice": made.start.get("nice"),
        "command": list(made.command),
        "tuned_command": list(context.program),
    }
    path = folder / PROFILE_FILE
    try:
        write_whole(path, json.dumps(profile, indent=1) + "\n")
    except OSError as error:
        raise TautoError(
            f"the profile {path} cannot be written: {error.strerror or error}", "Make room there"
        ) from error
    return path
