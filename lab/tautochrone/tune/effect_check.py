"""Whether the winner's settings took effect: it is run once more and observed.

The kernel shows where its threads may run, with which priority, and how many of them worked. OpenMP runtimes
list their variables with OMP_DISPLAY_ENV, and OpenBLAS names its kernels with OPENBLAS_VERBOSE.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from tautochrone.measuring.configuration import Configuration
from tautochrone.measuring.executor import Executor
from tautochrone.measuring.subprocess_executor import Printed, SeenProcess
from tautochrone.options import format_cpus
from tautochrone.results.row import Failure
from tautochrone.text import count
from tautochrone.tune.knobs import knobs

_DISPLAYED, _PROCESSES = "displayed", "processes"
_CORE = "OPENBLAS_CORETYPE"
# Runtimes list their variables on standard error, of which less is kept than of standard output.
_ERRORS_AS_OUTPUT = ("/bin/sh", "-c", 'exec "$@" 2>&1 >/dev/null', "tauto-effect")
# libgomp:  OMP_NUM_THREADS = '2'     libomp:   [host] OMP_NUM_THREADS='2'
_LINE = re.compile(
    r"^\s*(?:\[\w+\]\s*)?(?P<name>(?:OMP|GOMP|KMP)_\w+)\s*=\s*'(?P<value>[^']*)'", re.MULTILINE
)
_OPENBLAS = re.compile(r"^Core: (?P<value>\w+)", re.MULTILINE)
_COUNTS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS")
_MOST_NICE = 19
_LEAST_COUNTED_SECONDS = 0.05  # in less time, working threads may be missed


@dataclass(frozen=True)
class Effect:
    """``seen``: what a run with the settings looked like; ``otherwise``: where it differs from them."""

    seen: tuple[str, ...] = ()
    otherwise: tuple[str, ...] = ()


def took_effect(winner: Configuration, executor: Executor, time_limit_seconds: float) -> Effect:
    """Run once more and observe; `otherwise` is empty if all settings took effect.

    `executor` judges by `read_displayed`, and starts programs as it did in the search.
    """
    wanted = {name: value for name, value in winner.environment.items() if _is_displayed(name)}
    asked = {"OMP_DISPLAY_ENV": "verbose"} if wanted.keys() - {_CORE} else {}
    asked |= {"OPENBLAS_VERBOSE": "2"} if _CORE in wanted else {}
    asking = replace(
        winner,
        command=[*_ERRORS_AS_OUTPUT, *winner.command],
        environment={**winner.environment, **asked},
    )
    result = executor.run(asking, time_limit_seconds)
    processes: Sequence[SeenProcess] = result.record.get(_PROCESSES, ())
    shown = result.record.get(_DISPLAYED) or {}
    otherwise = [*_displayed_otherwise(wanted, shown), *_given_otherwise(winner, processes)]
    if result.error is not None or (wanted and not shown):
        ended = "failed" if result.error is not None else "printed nothing"
        how = f"the run with {' and '.join(asked)}" if asked else "the run that checks the settings"
        otherwise.insert(0, f"{how} {ended}: whether the runtime took the settings is not known")
    return Effect(tuple(_in_words(processes)), tuple(otherwise))


def _displayed_otherwise(wanted: Mapping[str, str], shown: Mapping[str, str]) -> Iterable[str]:
    for name, value in wanted.items():
        if name in shown and not same(value, shown[name]):
            yield f"{name} is {shown[name]!r} for the runtime where {value!r} was set"


def _given_otherwise(winner: Configuration, processes: Sequence[SeenProcess]) -> Iterable[str]:
    """What the kernel gave to the processes that worked, where it differs from the settings."""
    cpus = winner.start.get("cpus")
    step = winner.start.get("nice")
    for process in processes:
        name = process.command
        if isinstance(cpus, Sequence) and process.allowed - set(cpus):
            given = format_cpus(process.allowed)
            yield f"{name} may run on CPU {given} where {format_cpus(cpus)} was set"
        if isinstance(step, int) and step:
            asked = min(os.getpriority(os.PRIO_PROCESS, 0) + step, _MOST_NICE)
            if process.nice != (asked,):
                yield f"{name} has the priority {_listed(process.nice)} where {asked} was set"
        for variable, value in winner.environment.items():
            given_value = process.environment.get(variable)
            if given_value != value:
                what = f"{variable}={given_value}" if given_value is not None else f"no {variable}"
                yield f"{name} was started with {what} where {value!r} was set"
    if processes and processes[0].cpu_seconds >= _LEAST_COUNTED_SECONDS:
        busiest = processes[0]
        for variable in _COUNTS:
            value = winner.environment.get(variable, "")
            if value.isdecimal() and int(value) != busiest.threads:
                yield (
                    f"{count(busiest.threads, 'thread')} of {busiest.command} did the work "
                    f"where {variable}={value} was set"
                )


def _in_words(processes: Sequence[SeenProcess]) -> Iterable[str]:
    """The processes that worked, in groups that look the same."""
    alike = Counter(
        (process.command, process.threads, format_cpus(process.allowed), _listed(process.nice))
        for process in processes
    )
    for (name, threads, cpus, nice), times in alike.items():
        many = f"{times} processes of {name}" if times > 1 else name
        each = " each" if times > 1 else ""
        yield f"{many}: {count(threads, 'thread')} worked{each}, on CPU {cpus}, with nice {nice}"


def _listed(values: Iterable[int]) -> str:
    return ", ".join(map(str, values))


def _is_displayed(name: str) -> bool:
    """Whether a runtime can list a variable, in the words in which it was set."""
    if name in knobs():
        return knobs()[name].check == "display_env"
    return name.startswith(("OMP_", "GOMP_", "KMP_")) or name == _CORE


def read_displayed(printed: Printed, folder: Path | None) -> tuple[Mapping[str, object], Failure | None]:
    """What a run's row keeps: the variables that a runtime listed, and the processes that worked."""
    processes = printed.observed.processes if printed.observed is not None else ()
    return {_DISPLAYED: displayed(printed.output), _PROCESSES: processes}, None


def displayed(text: str) -> dict[str, str]:
    variables = {line["name"]: line["value"] for line in _LINE.finditer(text)}
    if core := _OPENBLAS.search(text):
        variables[_CORE] = core["value"]
    return variables


def same(wanted: str, shown: str) -> bool:
    """Whether two ways of writing a value mean the same: case, blanks, {0} for {0:1}, words for places."""
    left, right = (re.sub(r"\s", "", word).lower() for word in (wanted, shown))
    if left == right or re.sub(r":1(?=\})", "", right) == left:
        return True
    if right.startswith("{") and left.rstrip("s") in ("core", "thread", "socket"):
        return True
    return right.split(",")[0] == left and not left.startswith("{")  # a list for nested levels
