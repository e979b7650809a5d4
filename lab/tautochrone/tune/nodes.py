"""What has to be known of other nodes before a search: their hardware, and whether it is the same."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import msgspec

from tautochrone.configuration import Configuration
from tautochrone.errors import TautoError
from tautochrone.machine_record import Machine
from tautochrone.runners import RUNNERS_VARIABLE
from tautochrone.studies.options import format_cpus
from tautochrone.subprocess_executor import SubprocessExecutor
from tautochrone.tune.options import TuneRequest

_MACHINE_LIMIT_SECONDS = 600.0  # the launcher may wait for a node
_PACKAGE_FOLDER = Path(__file__).resolve().parents[2]


def machine_of_nodes(request: TuneRequest, measure: str) -> Machine:
    """The machine that the nodes are, read on all that run at a time. TautoError where they differ."""
    executors = [
        SubprocessExecutor(reads="elapsed", runs_here=False, through=request.launcher)
        for _ in range(request.nodes)
    ]
    with ThreadPoolExecutor(request.nodes) as pool:
        try:
            found = list(pool.map(lambda one: _machine_of_node(request, measure, one), executors))
        except BaseException:  # also Ctrl-C: nobody waits for a node any more
            for one in executors:
                one.close()
            raise
    for other in found[1:]:
        if not alike(other, found[0]):
            raise TautoError(
                f"the nodes are not equal: {_in_words(found[0])}, and {_in_words(other)}",
                "Let the launcher choose among equal ones, as srun does with --constraint or --nodelist",
            )
    return found[0]


def alike(one: Machine, other: Machine) -> bool:
    """Whether two nodes have the same CPUs to use."""
    return _hardware(one) == _hardware(other)


def _hardware(machine: Machine) -> Sequence[object]:
    kinds = [(one.kind, one.cpus) for one in machine.kinds]
    return (machine.cpu_model, machine.allowed_cpus, machine.usable_members, kinds)


def _in_words(machine: Machine) -> str:
    return f"{machine.cpu_model} with CPU {format_cpus(machine.allowed_cpus)}"


def _machine_of_node(request: TuneRequest, measure: str, executor: SubprocessExecutor) -> Machine:
    words = [sys.executable, "-m", "tautochrone", "machine", "--json", "--measure", measure]
    runners = {RUNNERS_VARIABLE: os.environ[RUNNERS_VARIABLE]} if RUNNERS_VARIABLE in os.environ else {}
    asking = Configuration("machine", words, {"PYTHONPATH": str(_PACKAGE_FOLDER), **runners})
    with closing(executor):
        answer = executor.answer(asking, _MACHINE_LIMIT_SECONDS)
    try:
        if answer["exit_code"] == 0:
            return msgspec.json.decode(answer["stdout"], type=Machine)
        why = answer["stderr"].strip().splitlines()[-1:] or [f"exit code {answer['exit_code']}"]
    except (KeyError, msgspec.DecodeError) as error:
        why = [str(error)]
    raise TautoError(
        f"the machine could not be read on the node that {request.launcher[0]} gave: {why[0]}",
        "Nodes need the same files: install tautochrone where all of them see it",
    )
