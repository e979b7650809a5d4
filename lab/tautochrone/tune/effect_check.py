"""Whether OpenMP's runtime took what it was given: it is run once more and asked, with OMP_DISPLAY_ENV."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from tautochrone.configuration import Configuration
from tautochrone.executor import Executor, RunError
from tautochrone.subprocess_executor import Printed
from tautochrone.tune.knobs import knobs

_DISPLAYED = "displayed"
# Runtimes list their variables on standard error, of which less is kept than of standard output.
_ERRORS_AS_OUTPUT = ("/bin/sh", "-c", '"$@" 2>&1 >/dev/null', "tauto-effect")
# libgomp:  OMP_NUM_THREADS = '2'     libomp:   [host] OMP_NUM_THREADS='2'
_LINE = re.compile(
    r"^\s*(?:\[\w+\]\s*)?(?P<name>(?:OMP|GOMP|KMP)_\w+)\s*=\s*'(?P<value>[^']*)'", re.MULTILINE
)


def took_effect(winner: Configuration, executor: Executor, time_limit_seconds: float) -> tuple[str, ...]:
    """A sentence for each variable that the runtime has otherwise; nothing where all is as it was set.

    `executor` judges by `read_displayed`, and starts programs as it did in the search.
    """
    wanted = {name: value for name, value in winner.environment.items() if _is_displayed(name)}
    if not wanted:
        return ()
    asking = replace(
        winner,
        command=[*_ERRORS_AS_OUTPUT, *winner.command],
        environment={**winner.environment, "OMP_DISPLAY_ENV": "verbose"},
    )
    result = executor.run(asking, time_limit_seconds)
    shown = result.record.get(_DISPLAYED)
    if not shown:
        said = "failed" if result.error is not None else "said nothing"
        return (f"the run with OMP_DISPLAY_ENV {said}: that the runtime took the settings was not seen",)
    return tuple(
        f"{name} is {shown[name]!r} for the runtime where {value!r} was set"
        for name, value in wanted.items()
        if name in shown and not same(value, shown[name])
    )


def _is_displayed(name: str) -> bool:
    """Whether OMP_DISPLAY_ENV tells a variable in the words in which it was set."""
    if name in knobs():
        return knobs()[name].check == "display_env"
    return name.startswith(("OMP_", "GOMP_", "KMP_"))


def read_displayed(printed: Printed, folder: Path | None) -> tuple[Mapping[str, Any], RunError | None]:
    """What a run's row keeps of its output: the variables that a runtime listed. See `SubprocessExecutor`."""
    return {_DISPLAYED: displayed(printed.output)}, None


def displayed(text: str) -> dict[str, str]:
    """The variables that a runtime listed."""
    return {found["name"]: found["value"] for found in _LINE.finditer(text)}


def same(wanted: str, shown: str) -> bool:
    """Whether two ways of writing a value mean the same: case, blanks, {0} for {0:1}, words for places."""
    left, right = (re.sub(r"\s", "", word).lower() for word in (wanted, shown))
    if left == right or re.sub(r":1(?=\})", "", right) == left:
        return True
    if right.startswith("{") and left.rstrip("s") in ("core", "thread", "socket"):
        return True
    return right.split(",")[0] == left and not left.startswith("{")  # a list for nested levels
