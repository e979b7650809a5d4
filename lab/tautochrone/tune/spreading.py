"""Candidates on several equal nodes at a time, through the launcher of a cluster manager."""

from __future__ import annotations

import shlex
import threading
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Protocol

from tautochrone.configuration import Configuration
from tautochrone.energy.metered_executor import ClosingExecutor
from tautochrone.errors import TautoError
from tautochrone.executor import RunResult
from tautochrone.inspection.commands import only_wraps
from tautochrone.tune.objective import Objective
from tautochrone.tune.options import TuneRequest
from tautochrone.tune.scratch import Scratch


class NodeExecutor(ClosingExecutor, Protocol):
    """An executor whose runs take place on a node that may have to be waited for."""

    def start(self) -> None:
        """Ask for the node."""

    def node(self) -> str:
        """Its name, as soon as it is there."""


class SpreadExecutor:
    """Begins what is expected next on up to `nodes` nodes; each has an executor of its own from `make`.

    Which node an executor gets is the cluster manager's business; it keeps it until it is closed. A run is
    given to an executor that has its node: with fewer nodes than `nodes` the search goes on with those.
    """

    def __init__(self, make: Callable[[], NodeExecutor], nodes: int) -> None:
        self._make = make
        self._pool = ThreadPoolExecutor(nodes)
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
        """End what runs, and all executors, side by side."""
        self._refuse(TautoError("the search is over", "Start the same command again"))
        self._pool.shutdown(wait=False, cancel_futures=True)
        if self._executors:
            with ThreadPoolExecutor(len(self._executors)) as closing:
                list(closing.map(lambda one: one.close(), self._executors))

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
        """Nothing more is run; who waits for a run is told why."""
        with self._lock:
            self._refused = self._refused or error
            waiting = list(self._waiting)
            self._waiting.clear()
        for future, _, _ in waiting:
            future.set_exception(error)

    def _serve(self) -> None:
        """Run what waits, on this thread's node."""
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
        """This thread's executor once it has a node; None where the search is over meanwhile."""
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
    """Whether runs take place on other nodes, of which this machine's meter knows nothing."""
    return request.nodes > 1 or not only_wraps(request.launcher)


def scratch_of(request: TuneRequest) -> Scratch:
    """The scratch folders of a request: where all nodes see them, if its runs take place on others."""
    return Scratch(request.folder, beside_results=runs_elsewhere(request))


def check_spreading(request: TuneRequest, objective: Objective) -> None:
    """TautoError for runs side by side on one machine, and for joules of a machine that runs nothing."""
    nodes, launcher = request.nodes, request.launcher
    if nodes < 1:
        raise TautoError(f"--nodes {nodes} leaves nothing to run on", "Ask for 1 or more")
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
            "runs take place on other nodes, and the meter that can be read is this machine's",
            "Start tauto on the node to be measured: "
            f"srun -N1 --exclusive tauto tune --objective {objective.kind} -- {shlex.join(request.command)}",
        )
