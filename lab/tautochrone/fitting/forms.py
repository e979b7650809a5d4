"""What was fitted, as services and containers have it: ``tauto run --fit --print FORM``."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from tautochrone.errors import TautoError
from tautochrone.fitting import Form
from tautochrone.fitting.fit import Fit, value_of
from tautochrone.machine.runners import COMMAND, find
from tautochrone.tune.applying import Applied, profile_text, systemd_form

_LIMIT = "CPU_LIMIT"


def printed(form: Form, fitted: Fit, command: Sequence[str]) -> str:
    """The lines of a form; empty where nothing is set. TautoError for a form that needs a command."""
    if not command and form in ("systemd", "profile"):
        raise TautoError(
            f"--print {form} starts a command, and there is none",
            f"Write it like tauto run --fit --print {form} -- ./solver case.in",
        )
    return _FORMS[form](fitted, command)


def _env(fitted: Fit, command: Sequence[str]) -> str:
    return "".join(f"{name}={value}\n" for name, value in fitted.environment.items())


def _slurm(fitted: Fit, command: Sequence[str]) -> str:
    """What Slurm reads from a TaskProlog: no shell, so nothing is quoted."""
    return "".join(f"export {name}={value}\n" for name, value in fitted.environment.items())


def _systemd(fitted: Fit, command: Sequence[str]) -> str:
    """A unit that fits at each start: its quota is not the one of the shell where this is printed."""
    program = shutil.which(command[0]) or command[0]
    words = (str(find(COMMAND)), "run", "--fit", "--", str(Path(program).absolute()), *command[1:])
    return systemd_form(Applied(words), str(Path.cwd())) + "\n"


def _kubernetes(fitted: Fit, command: Sequence[str]) -> str:
    """Kubernetes itself fills in the container's limit, rounded up to whole CPUs."""
    if not fitted.variables:
        return ""
    lines = [
        "env:",
        f"- name: {_LIMIT}",
        "  valueFrom:",
        "    resourceFieldRef:",
        "      resource: limits.cpu",
    ]
    limit = f"$({_LIMIT})"
    for name in fitted.variables:
        lines += [f"- name: {name}", f"  value: {value_of(name, limit)}"]
    return "\n".join(lines) + "\n"


def _profile(fitted: Fit, command: Sequence[str]) -> str:
    made = Applied(tuple(command), fitted.environment, fitted.cpus)
    return profile_text(made, command, fitted.environment, fitted.sentences[0])


_FORMS: Mapping[Form, Callable[[Fit, Sequence[str]], str]] = {
    "env": _env,
    "slurm": _slurm,
    "systemd": _systemd,
    "kubernetes": _kubernetes,
    "profile": _profile,
}
