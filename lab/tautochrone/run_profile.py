"""``tauto run PROFILE -- COMMAND``: apply a profile, look what the kernel gave, and become the command.

The command takes the place of this process, so nothing of ours is left while it runs. Only the standard
library is loaded, and as little of it as can be: this is a delay at the start of every run (benchmark B26).
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

SCHEMA = "tautochrone.profile/1"
BAD_INPUT = 2
NOT_FOUND = 127
_THREAD_COUNTS = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "BLIS_NUM_THREADS",
    "RAYON_NUM_THREADS",
    "GOMAXPROCS",
)
_USAGE = "Write it like tauto run profile.json -- ./solver case.in"


class ProfileError(Exception):
    """A profile that cannot be applied: what, and what to do."""


def run_words(words: Sequence[str]) -> int:
    """The words behind ``tauto run``. Returns only if the command could not be started: 2 or 127."""
    try:
        profile_name, command = _split(list(words))
        profile = read(profile_name)
        made = command_of(profile, command, profile_name)
        for warning in apply(profile):
            print(f"tauto: warning: {warning}", file=sys.stderr)
        print(f"tauto: {given(profile)}", file=sys.stderr)
    except ProfileError as error:
        print(f"tauto: error: {error}", file=sys.stderr)
        return BAD_INPUT
    sys.stdout.flush()
    sys.stderr.flush()
    try:
        os.execvp(made[0], made)
    except OSError as error:
        print(
            f"tauto: error: {made[0]} cannot be started: {error.strerror}. "
            "Write the command as the shell would find it",
            file=sys.stderr,
        )
        return NOT_FOUND


def _split(words: list[str]) -> tuple[str, list[str]]:
    name, rest = words[0], words[1:]
    if rest[:1] == ["--"]:
        rest = rest[1:]
    if not rest:
        raise ProfileError(f"no command stands behind the profile {name}. {_USAGE}")
    return name, rest


def read(name: str) -> dict[str, Any]:
    """The profile of a file, or of a folder that tauto tune has written."""
    import json

    path = os.path.join(name, "profile.json") if os.path.isdir(name) else name  # noqa: PTH112, PTH118
    try:
        with open(path, "rb") as file:  # noqa: PTH123
            profile = json.loads(file.read())
    except OSError as error:
        raise ProfileError(
            f"the profile {path} cannot be read: {error.strerror}. tauto tune writes one into its folder"
        ) from error
    except ValueError as error:
        raise ProfileError(f"{path} is no profile: it is not JSON. tauto tune writes one") from error
    if not isinstance(profile, dict) or profile.get("schema") != SCHEMA:
        found = profile.get("schema") if isinstance(profile, dict) else None
        raise ProfileError(f"{path} has the schema {found!r}, expected {SCHEMA!r}. Tune the program again")
    for field, is_right, what in _FIELDS:
        if not is_right(profile.get(field)):
            raise ProfileError(f"{path}: {field} is not {what}. Write it so, or tune the program again")
    return profile


def _is_words(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(one, str) for one in value)


def _is_variables(value: object) -> bool:
    return isinstance(value, dict) and all(isinstance(one, str) for one in value.values())


def _is_cpus(value: object) -> bool:
    return value is None or (isinstance(value, list) and all(type(one) is int and one >= 0 for one in value))


_FIELDS = (
    ("command", _is_words, "a list of words"),
    ("tuned_command", _is_words, "a list of words"),
    ("environment", _is_variables, "an object of variables with their values as text"),
    ("cpus", _is_cpus, "a list of CPU numbers"),
    ("nice", lambda value: value is None or type(value) is int, "a whole number"),
)


def command_of(profile: Mapping[str, Any], command: list[str], name: str) -> list[str]:
    """The command to start: with the profile's own words where it is the one that was tuned."""
    tuned, found = list(profile["tuned_command"]), list(profile["command"])
    if tuned == found:
        return command
    if command == tuned:
        return found
    raise ProfileError(
        f"the profile {name} changes words of the command ({' '.join(found)}), and "
        f"{' '.join(command)} is not the command that was tuned ({' '.join(tuned)}). "
        "Give it that command, or tune this one"
    )


def apply(profile: Mapping[str, Any]) -> list[str]:
    """Set what the profile says for this process; a warning for each thing that came out otherwise."""
    warnings: list[str] = []
    os.environ.update(profile["environment"])
    allowed = os.sched_getaffinity(0)
    if cpus := profile.get("cpus"):
        _set_cpus(set(cpus), allowed)
        allowed = os.sched_getaffinity(0)
        if allowed != set(cpus):
            warnings.append(f"the kernel gave CPU {_listed(allowed)} where {_listed(cpus)} was asked for")
    if step := profile.get("nice"):
        before = os.getpriority(os.PRIO_PROCESS, 0)
        try:
            os.nice(step)
        except OSError as error:
            warnings.append(f"nice {step} was refused: {error.strerror}")
        after = os.getpriority(os.PRIO_PROCESS, 0)
        if after != min(before + step, 19):
            warnings.append(f"the priority is {after} where {before + step} was asked for")
    return warnings + _looked_at(profile["environment"], allowed)


def given(profile: Mapping[str, Any]) -> str:
    """What the command begins with, as the kernel has it for this process, and the variables."""
    cpus = _status("Cpus_allowed_list") or _listed(os.sched_getaffinity(0))
    said = [f"CPU {cpus}", f"nice {os.getpriority(os.PRIO_PROCESS, 0)}"]
    if (quota := _quota()) is not None:
        said.append(f"a quota of {quota:g} CPUs")
    variables = " ".join(f"{name}={value}" for name, value in profile["environment"].items())
    return f"given: {', '.join(said)}{f'; {variables}' if variables else ''}"


def _status(name: str) -> str:
    """A line of what the kernel says of this process; empty where it says nothing."""
    try:
        with open("/proc/self/status") as file:  # noqa: PTH123
            return next((line.partition(":")[2].strip() for line in file if line.startswith(f"{name}:")), "")
    except OSError:
        return ""


def _set_cpus(wanted: set[int], allowed: set[int]) -> None:
    try:
        os.sched_setaffinity(0, wanted)
    except OSError as error:
        raise ProfileError(
            f"the profile asks for CPU {_listed(wanted)}, and CPU {_listed(allowed)} may be used here "
            f"({error.strerror}). Tune the program again on this machine"
        ) from error


def _looked_at(environment: Mapping[str, str], allowed: set[int]) -> list[str]:
    """What the variables ask for and this process does not have."""
    warnings = []
    places = environment.get("OMP_PLACES", "")
    if places.startswith("{"):
        named = {
            int(word) for word in places.replace("{", "").replace("}", "").split(",") if word.isdecimal()
        }
        if named - allowed:
            warnings.append(
                f"OMP_PLACES names CPU {_listed(named - allowed)}, which may not be used here: "
                "the runtime will drop the places"
            )
    quota = _quota()
    for name in _THREAD_COUNTS if quota is not None and not places.startswith("{") else ():
        threads = environment.get(name, "")
        if threads.isdecimal() and quota is not None and int(threads) > quota:
            warnings.append(f"{name} asks for {threads} threads, which share a quota of {quota:g} CPUs")
    return warnings


def _quota() -> float | None:
    """The CPUs that a cgroup's quota pays for, as far as this process sees it."""
    try:
        with open("/sys/fs/cgroup/cpu.max", "rb") as file:  # noqa: PTH123
            quota, period = file.read().split()
        return None if quota == b"max" else int(quota) / int(period)
    except (OSError, ValueError):
        return None


def _listed(cpus: object) -> str:
    return ",".join(str(cpu) for cpu in sorted(cpus))  # type: ignore[call-overload]
