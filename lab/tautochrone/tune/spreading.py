"""Runs on the nodes of a cluster, through its launcher: several at a time, on equal nodes."""

from __future__ import annotations

import os
import shlex
import sys
import threading
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from contextlib import closing, suppress
from pathlib import Path
from typing import Protocol

import msgspec

from tautochrone.energy.recorder import ClosingExecutor
from tautochrone.errors import TautoError
from tautochrone.machine.record import Machine
from tautochrone.machine.runners import RUNNERS_VARIABLE
from tautochrone.measuring.configuration import Configuration
from tautochrone.measuring.executor import RunResult
from tautochrone.measuring.objective import Objective
from tautochrone.measuring.subprocess_executor import ProgramExecutor
from tautochrone.options import check_nodes, format_cpus
from tautochrone.pool import Pool
from tautochrone.programs.commands import only_wraps
from tautochrone.tune.options import TuneRequest
from tautochrone.tune.scratch import Scratch


class NodeExecutor(ClosingExecutor, Protocol):
    """An executor whose runs take place on a node, which may not be free at once."""

    def start(self) -> None:
        """Ask for the node."""

    def node(self) -> str:
        """Wait for the node; its name."""


class SpreadExecutor:
    """Begins the expected runs on up to `nodes` nodes; each node has an executor of its own from `make`.

    The cluster manager chooses an executor's node, which it keeps until it is closed. A run is given to an
    executor that has its node: if fewer nodes are free, the search continues on those.
    """

    def __init__(self, make: Callable[[], NodeExecutor], nodes: int) -> None:
        self._make = make
        self._pool = Pool(nodes)
        self._own = threading.local()
        self._lock = threading.Lock()
        self._executors: list[NodeExecutor] = []
        self._nodes: set[str] = set()
        self._ahead: dict[str, Future[RunResult]] = {}
        self._waiting: deque[tuple[Future[RunResult], Configuration, float]] = deque()
        self._refused: BaseException | None = None

    def expect(self, coming: Sequence[tuple[Configuration, float]]) -> None:
        """Begin these, each with its time limit, as nodes get free."""
        for configuration, time_limit in coming:
            self._ahead[configuration.config_id] = self._submit(configuration, time_limit)

    def run(self, configuration: Configuration, time_limit: float) -> RunResult:
        """The result of a run, begun now or before."""
        begun = self._ahead.pop(configuration.config_id, None)
        return (begun or self._submit(configuration, time_limit)).result()

    def close(self) -> None:
        """End all runs and executors, in parallel."""
        self._refuse(TautoError("the search is over", "Start the same command again"))
        self._pool.close()
        with suppress(TautoError), Pool(len(self._executors)) as closing:
            list(closing.map(lambda executor: executor.close(), self._executors))
        for executor in self._executors:  # where there was no thread for it
            executor.close()

    def _submit(self, configuration: Configuration, time_limit: float) -> Future[RunResult]:
        future: Future[RunResult] = Future()
        with self._lock:
            if self._refused is not None:
                future.set_exception(self._refused)
                return future
            self._waiting.append((future, configuration, time_limit))
            self._pool.submit(self._serve)
        return future

    def _refuse(self, error: BaseException) -> None:
        """Cancel pending runs and tell each waiter why."""
        with self._lock:
            self._refused = self._refused or error
            waiting = list(self._waiting)
            self._waiting.clear()
        for future, _, _ in waiting:
            future.set_exception(error)

    def _serve(self) -> None:
        """Run the waiting configurations on this thread's node."""
        if not self._waiting:
            return
        try:
            executor = self._executor()
        except BaseException as error:
            self._refuse(error)
            return
        while executor is not None:
            with self._lock:
                if not self._waiting:
                    return
                future, configuration, time_limit = self._waiting.popleft()
            try:
                future.set_result(executor.run(configuration, time_limit))
            except BaseException as error:
                future.set_exception(error)

    def _executor(self) -> NodeExecutor | None:
        """This thread's executor once it has a node; None where the search has ended."""
        executor: NodeExecutor | None = getattr(self._own, "executor", None)
        if executor is not None:
            return executor
        with self._lock:
            if self._refused is not None:
                return None
            executor = self._make()
            self._executors.append(executor)
            executor.start()
        node = executor.node()
        with self._lock:
            if node in self._nodes:
                raise TautoError(
                    f"the launcher gave the node {node} twice at a time, where runs would disturb each other",
                    "Let it give whole nodes: srun -N1 -n1 --exclusive; in an allocation srun -N1 -n1, "
                    "as --exclusive means single CPUs there; for a fixed node leave out --nodes",
                )
            self._nodes.add(node)
        self._own.executor = executor
        return executor


def runs_elsewhere(request: TuneRequest) -> bool:
    """Whether runs take place on other nodes, which this machine's meter does not cover."""
    return request.nodes > 1 or not only_wraps(request.launcher)


def scratch_of(request: TuneRequest) -> Scratch:
    return Scratch(request.folder, beside_results=runs_elsewhere(request))


def check_spreading(request: TuneRequest, objective: Objective) -> None:
    """TautoError for several runs at a time on one machine, and for joules of a machine that runs nothing."""
    nodes, launcher = request.nodes, request.launcher
    check_nodes(nodes)
    if nodes > 1 and not launcher:
        raise TautoError(
            f"--nodes {nodes} without --launcher would run candidates side by side on this machine",
            "Name what starts a run on a node of its own: --launcher 'srun -N1 --exclusive'",
        )
    if not objective.needs_meter:
        return
    if runs_elsewhere(request):
        asked = f"--nodes {nodes}" if nodes > 1 else f"--launcher {shlex.join(launcher)!r}"
        raise TautoError(
            f"--objective {objective.kind} cannot be had with {asked}: "
            "the runs take place on other nodes, and the only meter that can be read is this machine's",
            "Start tauto on the node to be measured: "
            f"srun -N1 --exclusive tauto tune --objective {objective.kind} -- {shlex.join(request.command)}",
        )


_MACHINE_LIMIT_SECONDS = 600.0  # the launcher may wait for a node
_PACKAGE_FOLDER = Path(__file__).resolve().parents[2]


def machine_of_nodes(request: TuneRequest, measure: str) -> Machine:
    """The hardware of the nodes, read on as many as run at a time. TautoError where they differ."""
    executors = [ProgramExecutor(runs_here=False, through=request.launcher) for _ in range(request.nodes)]
    with Pool(request.nodes) as pool:
        try:
            machines = list(pool.map(lambda node: _machine_of_node(request, measure, node), executors))
        except BaseException:  # also Ctrl-C: give up the pending nodes
            for executor in executors:
                executor.close()
            raise
    for other in machines[1:]:
        if not alike(other, machines[0]):
            raise TautoError(
                f"the nodes are not equal: {_in_words(machines[0])}, and {_in_words(other)}",
                "Let the launcher choose among equal ones, as srun does with --constraint or --nodelist",
            )
    return machines[0]


def alike(machine: Machine, other: Machine) -> bool:
    """Whether two nodes have the same CPUs to use."""
    return _hardware(machine) == _hardware(other)


def _hardware(machine: Machine) -> Sequence[object]:
    kinds = [(kind.kind, kind.cpus) for kind in machine.kinds]
    return (machine.cpu_model, machine.allowed_cpus, machine.usable_members, kinds)


def _in_words(machine: Machine) -> str:
    return f"{machine.cpu_model} with CPU {format_cpus(machine.allowed_cpus)}"


def _machine_of_node(request: TuneRequest, measure: str, executor: ProgramExecutor) -> Machine:
    words = [sys.executable, "-P", "-m", "tautochrone", "machine", "--json", "--measure", measure]
    runners = {RUNNERS_VARIABLE: os.environ[RUNNERS_VARIABLE]} if RUNNERS_VARIABLE in os.environ else {}
    asking = Configuration("machine", words, {"PYTHONPATH": str(_PACKAGE_FOLDER), **runners})
    with closing(executor):
        answer = executor.answer(asking, _MACHINE_LIMIT_SECONDS)
    try:
        if answer.exit_code == 0:
            return msgspec.json.decode(answer.stdout, type=Machine)
        why = answer.stderr.strip().splitlines()[-1:] or [f"exit code {answer.exit_code}"]
    except msgspec.DecodeError as error:
        why = [str(error)]
    raise TautoError(
        f"the machine could not be read on the node that {request.launcher[0]} gave: {why[0]}",
        "Nodes need the same files: install tautochrone where all of them see it",
    )
