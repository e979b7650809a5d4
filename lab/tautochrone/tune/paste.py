"""The answer to paste: for a shell, systemd, Slurm, a Dockerfile; and the profile for tauto run."""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Mapping
from pathlib import Path

from tautochrone.errors import TautoError
from tautochrone.report.analysis_types import Settings
from tautochrone.tune.applying import Applied, applied
from tautochrone.tune.context import TuneContext

PROFILE_FILE = "profile.json"
PROFILE_SCHEMA = "tautochrone.profile/1"


def settings_to_paste(context: TuneContext, settings: Mapping[str, str]) -> tuple[Settings, ...]:
    """The same settings for each place where a program is started; nothing where all stays as it is."""
    if not settings:
        return ()
    made = applied(context.program, context.arguments, settings, context.has_openmp)
    command = shlex.join(made.command)
    profile = f"{context.folder}/{PROFILE_FILE}"
    return (
        Settings(
            label="tauto run",
            language="shell",
            text=f"tauto run {shlex.quote(profile)} -- {shlex.join(context.program)}",
            why="Applies the profile, says where the kernel gave something else, and gets out of the way.",
        ),
        Settings(label="Shell", language="shell", text=_shell(made, command)),
        Settings(label="systemd unit", language="ini", text=_systemd(made, command)),
        Settings(label="Slurm script", language="shell", text=_slurm(made, command)),
        Settings(label="Dockerfile", language="dockerfile", text=_docker(made)),
    )


def _prefix(made: Applied) -> str:
    words = ""
    if cpus := made.start.get("cpus"):
        assert isinstance(cpus, list)
        words += f"taskset -c {','.join(map(str, cpus))} "
    if made.start.get("nice"):
        words += f"nice -n {made.start['nice']} "
    return words


def _shell(made: Applied, command: str) -> str:
    exports = [f"export {name}={shlex.quote(value)}" for name, value in made.environment.items()]
    return "\n".join([*exports, f"{_prefix(made)}{command}"])


def _systemd(made: Applied, command: str) -> str:
    lines = ["[Service]"]
    lines += [f'Environment="{name}={value}"' for name, value in made.environment.items()]
    if cpus := made.start.get("cpus"):
        assert isinstance(cpus, list)
        lines.append(f"CPUAffinity={' '.join(map(str, cpus))}")
    if made.start.get("nice"):
        lines.append(f"Nice={made.start['nice']}")
    return "\n".join([*lines, f"ExecStart={command}"])


def _slurm(made: Applied, command: str) -> str:
    threads = made.environment.get("OMP_NUM_THREADS")
    head = ["#!/bin/sh", "#SBATCH --nodes=1", "#SBATCH --exclusive", "#SBATCH --hint=multithread"]
    exports = [f"export {name}={shlex.quote(value)}" for name, value in made.environment.items()]
    bind = " --cpu-bind=none" if threads or made.start.get("cpus") else ""
    return "\n".join([*head, *exports, f"srun{bind} {_prefix(made)}{command}"])


def _docker(made: Applied) -> str:
    lines = [f'ENV {name}="{value}"' for name, value in made.environment.items()]
    if cpus := made.start.get("cpus"):
        assert isinstance(cpus, list)
        lines.append(f"# docker run --cpuset-cpus={','.join(map(str, cpus))} IMAGE")
    words = ", ".join(json.dumps(word) for word in made.command)
    return "\n".join([*lines, f"CMD [{words}]"])


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
    unfinished = path.with_name(f".{PROFILE_FILE}.{os.getpid()}")
    try:
        unfinished.write_text(json.dumps(profile, indent=1) + "\n", encoding="utf-8")
        unfinished.replace(path)
    except OSError as error:
        raise TautoError(
            f"the profile {path} cannot be written: {error.strerror or error}", "Make room there"
        ) from error
    return path
