"""The machine measured again between a study's rounds.

The neighbours of a virtual machine fill the caches that it shares with them, and its host moves its CPUs:
what a probe finds before a study need not be what the study's runs find. Each record goes into the store
beside the runs; ``tauto simulate --against`` takes the medians of all.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from tautochrone.errors import TautoError
from tautochrone.store import Store
from tautochrone.studies.services import Services
from tautochrone.studies.slowdowns import StateExecutor

LEAST_SECONDS_BETWEEN = 30.0


@dataclass(slots=True)
class MachineAgain:
    """To be called between runs, as often as one likes: it measures at most every half minute."""

    store: Store
    executor: StateExecutor
    services: Services
    _last: float = field(init=False)

    def __post_init__(self) -> None:
        self._last = self.services.clock.monotonic()

    def __call__(self) -> None:
        """Measure as the machine is, with no CPU slowed, and store it. A probe that fails is left out."""
        if self.services.clock.monotonic() - self._last < LEAST_SECONDS_BETWEEN:
            return
        self.executor.enter_state("")
        try:
            record = self.services.machine_again()
        except TautoError:
            return
        finally:
            self._last = self.services.clock.monotonic()
        if record.get("machine") == self.store.machine.get("machine"):
            self.store.append_machine(record)
