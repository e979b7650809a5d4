"""The state of the machine that a run needs: some CPUs made slower, switched between runs."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Protocol

from tautochrone.configuration import Configuration
from tautochrone.errors import TautoError
from tautochrone.executor import Executor, MetersIdle, RunResult

_RESUME_TRIES = 12


class Slowdown(Protocol):
    """Some CPUs made slower, switched on and off without calibrating again."""

    @property
    def factors(self) -> Mapping[int, float]:
        """CPU → how many times slower it really is."""
        ...

    @property
    def turns(self) -> Mapping[int, float]:
        """CPU → the seconds of a turn, in which it is there for a part."""
        ...

    def pause(self) -> None:
        """The CPUs are as they are, once this returns."""
        ...

    def resume(self) -> None:
        """The CPUs are slow, once this returns."""
        ...


class StateExecutor:
    """An executor that brings the machine into the state that a configuration needs before it runs.

    One slowdown a state lives as long as the study; all but the one that is needed are paused, so the others'
    threads sleep. Configurations of one group come together, so the state seldom changes.
    """

    def __init__(self, inner: Executor, slowdowns: Mapping[str, Slowdown]) -> None:
        self._inner = inner
        self._slowdowns = slowdowns
        self._current: str | None = None

    def run(self, configuration: Configuration, time_limit: float) -> RunResult:
        """Switch the machine's state if needed, then run. Idle power is that of the machine as it is."""
        if self.idle_is_due():
            self.measure_idle()
        self.enter_state(state_key(configuration.settings["emulated"]))
        return self._inner.run(configuration, time_limit)

    def idle_is_due(self) -> bool:
        """Whether idle power is to be measured before the next run."""
        return isinstance(self._inner, MetersIdle) and self._inner.idle_is_due()

    def measure_idle(self) -> None:
        """Measure it while nothing is slowed: what makes CPUs slow draws power itself."""
        if isinstance(self._inner, MetersIdle):
            self.enter_state("")
            self._inner.measure_idle()

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
