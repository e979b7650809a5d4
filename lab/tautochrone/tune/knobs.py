"""The table of knobs, read from knobs.toml: what can be set from outside, and when it matters."""

from __future__ import annotations

import re
import textwrap
import tomllib
from collections.abc import Mapping
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Literal

import msgspec

from tautochrone.errors import TautoError
from tautochrone.inspection.findings import Findings
from tautochrone.machine import runners
from tautochrone.programs.commands import CLUSTER_LAUNCHERS, mpi_launch
from tautochrone.text import binary_bytes

Kind = Literal["environment", "start", "mpi", "places", "argument"]
Check = Literal["display_env", "affinity", "nice", "environment", "threads", "launcher", "balance", "none"]
Tried = Literal["always", "memory", "large", "asked"]
NO_RUNTIME = "the program has no "
LARGE_BYTES = 64 << 20
_WHEN_TRIED: Mapping[Tried, str] = {
    "always": "Tried by default.",
    "memory": "Tried with --objective memory if the program has several threads, else only with --try {}.",
    "large": "Tried if the program holds 64 MiB or more and the kernel gives huge pages on request, "
    "else only with --try {}.",
    "asked": "Tried only with --try {}.",
}
_HOW_TO_CHECK: Mapping[Check, str] = {
    "display_env": "OMP_DISPLAY_ENV=verbose lists the runtime's values; a search checks those of its winner.",
    "affinity": "taskset -cp PID, or Cpus_allowed_list in /proc/PID/status; ls /proc/PID/task counts "
    "threads. A search checks them for its winner.",
    "nice": "ps -o ni -p PID. A search checks it for its winner.",
    "environment": "tr '\\0' '\\n' < /proc/PID/environ shows that it arrived. A search looks there.",
    "threads": "ps -L -o lwp,psr,time -p PID shows how many threads work. A search counts its winner's.",
    "balance": "tauto balance says at the end what it did and what it brought.",
    "launcher": "sh -c 'taskset -cp $$' in place of the program prints for each rank where it may run.",
}

_HUGE_PAGES = Path("/sys/kernel/mm/transparent_hugepage/enabled")

Settings = Mapping[str, str]
"""Knob → value; a knob that is absent is left as the program has it."""


class Knob(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A line of the table; see the head of knobs.toml for what the fields mean."""

    name: str = ""
    title: str
    kind: Kind
    values: str | tuple[str, ...]
    explain: str
    words: str = ""
    needs: tuple[str, ...] = ()
    requires: tuple[str, ...] = ()
    tried: Tried = "always"
    conflicts: tuple[str, ...] = ()
    never: tuple[str, ...] = ()
    check: Check = "none"

    @property
    def paragraph(self) -> str:
        return " ".join(self.explain.split())


@cache
def knobs() -> Mapping[str, Knob]:
    """All knobs by name, in the table's order."""
    text = (resources.files("tautochrone.tune") / "knobs.toml").read_text(encoding="utf-8")
    return {name: msgspec.convert({**line, "name": name}, Knob) for name, line in tomllib.loads(text).items()}


def knob(name: str) -> Knob:
    """A knob of the table. TautoError for any other name."""
    if name in knobs():
        return knobs()[name]
    raise TautoError(
        f"there is no knob {name!r}",
        f"There are {', '.join(knobs())}; any other variable is added with --env NAME=a,b",
    )


def in_words(settings: Settings) -> str:
    """Settings as a person says them: "4 OpenMP threads, passive waiting"."""
    parts = []
    for name, value in settings.items():
        words = knobs()[name].words if name in knobs() else ""
        if value == "1":
            words = re.sub(r"\b(thread|arena)s\b", r"\1", words)
        parts.append(words.replace("{}", value) if words else f"{name}={value}")
    return " and ".join([", ".join(parts[:-1]), parts[-1]] if len(parts) > 1 else parts)


def missing(knob: Knob, findings: Findings, unequal: bool) -> str:
    """Why a knob cannot matter here; empty where it can. ``unequal``: whether some CPUs are slower."""
    if knob.needs and not findings.has(*knob.needs):
        return f"{NO_RUNTIME}{' or '.join(knob.needs)}"
    launch = mpi_launch(findings.command)
    is_mpirun = launch is not None and launch.name not in CLUSTER_LAUNCHERS
    without_launcher = "the command starts no MPI launcher"
    if findings.mpi_launcher is not None:
        without_launcher = f"{findings.mpi_launcher} is started by a script, which is not changed"
    facts = {
        "asks_schedule": (
            findings.schedules.asks_environment is not False,
            "its loops do not ask the environment for a schedule",
        ),
        "static_loops": (
            findings.schedules.has_static_loops is not False,
            "it has no static OpenMP loops",
        ),
        "unequal": (unequal, "the cores here are equally fast"),
        "balancer": (runners.is_there("tauto-balance"), "tauto-balance is not built here (make tools)"),
        "several_cpus": (len(findings.cpus) > 1, "there is one CPU"),
        "mpi_launcher": (launch is not None, without_launcher),
        "one_program": (
            launch is None or not launch.several,
            "the launcher starts several programs, whose numbers of ranks depend on each other: "
            "write {a} for a number and try it with --value a=2,4",
        ),
        "mpirun": (is_mpirun, "only mpirun has this option"),
        "no_mpi": (findings.mpi_launcher is None, "an MPI launcher places its ranks itself"),
    }
    return next((why for name in knob.requires for holds, why in (facts[name],) if not holds), "")


def not_asked_for(knob: Knob, objective: str, findings: Findings) -> str:
    """Why a knob is not tried unless it is asked for; empty where it is."""
    why = ""
    if knob.tried == "asked":
        why = "tried"
    elif knob.tried == "memory" and objective != "memory":
        why = "tried with --objective memory, otherwise"
    elif knob.tried == "memory" and findings.most_threads == 1:
        why = "it has one thread: tried"
    elif knob.tried == "large" and (findings.peak_memory_bytes or 0) < LARGE_BYTES:
        why = f"it holds less than {binary_bytes(LARGE_BYTES)}: tried"
    elif knob.tried == "large" and "[madvise]" not in _huge_pages():
        why = f"the kernel does not leave huge pages to the program ({_huge_pages() or 'it has none'}): tried"
    return f"{why} only with --try {knob.name}" if why else ""


def _huge_pages() -> str:
    """The kernel's setting in its own words: "always [madvise] never"; empty where it has none."""
    try:
        return _HUGE_PAGES.read_text().strip()
    except OSError:
        return ""


def explain(name: str) -> str:
    """What ``tauto tune --explain KNOB`` prints."""
    known = knob(name)
    written = "made from the machine" if isinstance(known.values, str) else ", ".join(known.values)
    lines = [
        f"{known.name}: {known.title}",
        "",
        textwrap.fill(known.paragraph, 100),
        "",
        f"Values: {written}.",
    ]
    if known.needs:
        lines.append(f"For programs with {' or '.join(known.needs)}.")
    if known.conflicts:
        lines.append(f"Not together with {', '.join(known.conflicts)}.")
    lines.append(f"To see that it took effect: {_HOW_TO_CHECK[known.check]}")
    lines.append(_WHEN_TRIED[known.tried].format(known.name))
    return "\n".join(lines)
