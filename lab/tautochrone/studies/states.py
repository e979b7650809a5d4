"""The states of the machine that a study measures in: unmodified, and with some CPUs made slower.

Between rounds the machine is also measured again. The neighbours of a virtual machine fill the caches that it
shares with them, and its host moves its CPUs: what a probe finds before a study need not be what the study's
runs find. ``tauto simulate --against`` takes the medians of all these records.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, suppress

import msgspec

from tautochrone.errors import TautoError
from tautochrone.measuring.configuration import Configuration
from tautochrone.measuring.executor import Executor, MetersIdle, RunResult
from tautochrone.options import State, state_text
from tautochrone.results.context import NotMeasured
from tautochrone.results.row import Failure
from tautochrone.results.store import Store
from tautochrone.studies.request import StudyRequest
from tautochrone.studies.services import Services, Slowdown

_RESUME_TRIES = 12


class StateExecutor:
    """An executor that brings the machine into the state that a configuration needs before it runs.

    One slowdown a state lives as long as the study; all but the one that is needed are paused, so the others'
    threads sleep. Configurations of one group come together, so the state seldom changes. While this process
    is stopped (Ctrl-Z), an emulation lets its CPUs go: a run during which `continued` was called is repeated.
    """

    def __init__(self, inner: Executor, slowdowns: Mapping[str, Slowdown]) -> None:
        self._inner = inner
        self._slowdowns = slowdowns
        self._current: str | None = None
        self.complaint: Callable[[Configuration, RunResult], str | None] = lambda configuration, result: None
        """What is wrong with what a runner that ended well has printed: such a run is an error."""
        self._was_stopped = False

    def continued(self) -> None:
        """This process was stopped, and goes on."""
        self._was_stopped = True

    def run(self, configuration: Configuration, time_limit: float) -> RunResult:
        """Switch the machine's state if needed, then run. Idle power is that of the machine as it is."""
        if isinstance(self._inner, MetersIdle) and self._inner.idle_is_due():
            # of the machine with nothing slowed: what makes CPUs slow draws power itself
            self.enter_state("")
            self._inner.measure_idle()
        self.enter_state(state_key(configuration.settings.get("emulated") or {}))
        while True:
            if self._was_stopped:
                self._was_stopped = False
                if self._current:
                    _resume(self._slowdowns[self._current])
            result = self._inner.run(configuration, time_limit)
            if not self._was_stopped:
                break
        if result.error is not None or (wrong := self.complaint(configuration, result)) is None:
            return result
        error = Failure("failed", f"the runner {wrong}")
        return msgspec.structs.replace(result, seconds=None, record={}, error=error)

    def idle_stretches(self, *, after_runs: bool) -> tuple[float, ...]:
        """Idle power as the metered executor has it, of the machine as it is; empty where none is metered."""
        if not isinstance(self._inner, MetersIdle):
            return ()
        if after_runs:
            self.enter_state("")
        return self._inner.idle_stretches(after_runs=after_runs)

    def factors(self) -> dict[str, dict[str, float]]:
        """For each state the factor that calibration reached on each slowed CPU."""
        return {key: _by_word(slowdown.factors) for key, slowdown in self._slowdowns.items()}

    def reading_factors(self) -> dict[str, dict[str, float]]:
        """For each state how many times slower each slowed CPU reads."""
        return {key: _by_word(slowdown.reading_factors) for key, slowdown in self._slowdowns.items()}

    def turns(self) -> dict[str, dict[str, float]]:
        """For each state the seconds of a turn on each slowed CPU."""
        return {key: _by_word(slowdown.turns) for key, slowdown in self._slowdowns.items()}

    def enter_state(self, key: str) -> None:
        """Pause what is on, then resume what is needed; the empty state needs nothing."""
        if key == self._current:
            return
        if self._current:
            self._slowdowns[self._current].pause()
        self._current = None
        if key:
            _resume(self._slowdowns[key])
        self._current = key


def _by_word(values: Mapping[int, float]) -> dict[str, float]:
    return {str(cpu): value for cpu, value in values.items()}


def _resume(slowdown: Slowdown) -> None:
    """Resume; while another emulation holds the CPU (each try waits some seconds for it), try again."""
    for _ in range(_RESUME_TRIES - 1):
        with suppress(TautoError):
            return slowdown.resume()
    return slowdown.resume()


def state_key(emulated: object) -> str:
    """{"1": 4.0} → "1:4"; the machine as it is → ""."""
    assert isinstance(emulated, Mapping)
    return "+".join(f"{cpu}:{factor:g}" for cpu, factor in sorted(emulated.items()))


def open_states(
    stack: ExitStack, inner: Executor, request: StudyRequest, services: Services
) -> tuple[StateExecutor, Sequence[State], Sequence[NotMeasured]]:
    """Calibrate all slowdowns that were asked for; they end with ``stack``.

    Returns the executor that switches between them, the states that work, and what could not be had.
    Raises TautoError for one that cannot be had, unless the request takes it only if possible.
    """
    slowdowns: dict[str, Slowdown] = {}
    working: list[State] = []
    refused: list[NotMeasured] = []
    for state in request.states:
        if not state:
            continue
        try:
            slowdown = stack.enter_context(services.slowdown(state))
        except TautoError as error:
            if request.states_are_needed:
                raise
            what = f"emulated unequal cores ({state_text(state)})"
            refused.append(NotMeasured(what=what, why=error.message, remedy=error.remedy))
            services.say(f"tauto: warning: measured without {state_text(state)}: {error}")
            continue
        slowdown.pause()  # the next one is calibrated on the machine as it is
        slowdowns[state_key({str(cpu): factor for cpu, factor in state.items()})] = slowdown
        working.append(state)
    executor = StateExecutor(inner, slowdowns)
    if slowdowns and threading.current_thread() is threading.main_thread():
        before = signal.signal(signal.SIGCONT, lambda number, frame: executor.continued())
        stack.callback(signal.signal, signal.SIGCONT, before)
    return executor, working, refused


LEAST_SECONDS_BETWEEN = 30.0


def machine_again(store: Store, executor: StateExecutor, services: Services) -> Callable[[], None]:
    """To be called between runs, as often as one likes: it measures at most every half minute.

    It measures as the machine is, with no CPU slowed, and stores that. A probe that fails is left out.
    """
    last = services.clock.monotonic()

    def measure() -> None:
        nonlocal last
        if services.clock.monotonic() - last < LEAST_SECONDS_BETWEEN:
            return
        executor.enter_state("")
        try:
            record = services.machine_again()
        except TautoError:
            return
        finally:
            last = services.clock.monotonic()
        if record.get("machine") == store.machine.get("machine"):
            store.append_machine(record)

    return measure
