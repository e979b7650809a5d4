"""Candidates on several equal nodes at a time, through the launcher of a cluster manager."""

from __future__ import annotations

import shlex
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor

from tautochrone.configuration import Configuration
from tautochrone.energy.metered_executor import ClosingExecutor
from tautochrone.errors import TautoError
from tautochrone.executor import RunResult
from tautochrone.inspection.commands import only_wraps
from tautochrone.tune.objective import Objective
from tautochrone.tune.options import TuneRequest
from tautochrone.tune.scratch import Scratch


class SpreadExecutor:
    """Begins what is expected next on up to `nodes` nodes; each has an executor of its own from `make`.

    Which node an executor gets is the cluster manager's business; it keeps it until it is closed.
    """

    def __init__(self, make: Callable[[], ClosingExecutor], nodes: int) -> None:
        self._make = make
        self._pool = ThreadPoolExecutor(nodes)
        self._own = threading.local()
        self._executors: list[ClosingExecutor] = []
        self._ahead: dict[str, Future[RunResult]] = {}

    def expect(self, coming: Sequence[tuple[Configuration, float]]) -> None:
        """Begin these, each with its time limit, as nodes get free."""
        for configuration, time_limit in coming:
            self._ahead[configuration.config_id] = self._pool.submit(self._run, configuration, time_limit)

    def run(self, configuration: Configuration, time_limit: float) -> RunResult:
        """The result of a run, begun now or before."""
        begun = self._ahead.pop(configuration.config_id, None)
        return (begun or self._pool.submit(self._run, configuration, time_limit)).result()

    def close(self) -> None:
        """End what runs, and all executors."""
        for future in self._ahead.values():
            future.cancel()
        for executor in self._executors:
            executor.close()
        self._pool.shutdown(wait=False, cancel_futures=True)

    def _run(self, configuration: Configuration, time_limit: float) -> RunResult:
        executor: ClosingExecutor | None = getattr(self._own, "executor", None)
        if executor is None:
            executor = self._own.executor = self._make()
            self._executors.append(executor)
        return executor.run(configuration, time_limit)


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
