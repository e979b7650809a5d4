"""Whether OpenMP's runtime took what it was given: it is run once more and asked, with OMP_DISPLAY_ENV."""

from __future__ import annotations

import re

from tautochrone.configuration import Configuration
from tautochrone.inspection.findings import Findings
from tautochrone.inspection.watching import watch

_LIMIT_SECONDS = 600.0
# libgomp:  OMP_NUM_THREADS = '2'     libomp:   [host] OMP_NUM_THREADS='2'
_LINE = re.compile(
    r"^\s*(?:\[\w+\]\s*)?(?P<name>(?:OMP|GOMP|KMP)_\w+)\s*=\s*'(?P<value>[^']*)'", re.MULTILINE
)


def took_effect(winner: Configuration, found: Findings) -> tuple[str, ...]:
    """A sentence for each variable that the runtime has otherwise; nothing where all is as it was set."""
    if not found.has("libgomp", "libomp"):
        return ()
    wanted = {
        name: value
        for name, value in winner.environment.items()
        if name.startswith(("OMP_", "GOMP_", "KMP_"))
    }
    if not wanted:
        return ()
    environment = {**winner.environment, "OMP_DISPLAY_ENV": "verbose"}
    said = watch(winner.command, _LIMIT_SECONDS, environment)
    shown = displayed(said.errors + "\n" + said.output.decode(errors="replace"))
    if not shown:
        return ("the runtime did not answer to OMP_DISPLAY_ENV: that it took the settings was not seen",)
    return tuple(
        f"{name} is {shown[name]!r} for the runtime where {value!r} was set"
        for name, value in wanted.items()
        if name in shown and not same(value, shown[name])
    )


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
