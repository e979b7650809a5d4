"""What a traced run left behind: what the command samples, and the page and the files show."""

from __future__ import annotations

from dataclasses import dataclass

from tautochrone.energy.meter import Unavailable
from tautochrone.energy.recorder import Recording
from tautochrone.foreground import Ended
from tautochrone.sampler import SampledLoad
from tautochrone.trace.threads import SampledThreads


@dataclass(frozen=True)
class Traced:
    """A run with everything that was sampled meanwhile."""

    command: tuple[str, ...]
    ended: Ended
    threads: SampledThreads
    load: SampledLoad
    energy: Recording | None
    migrations: int | None  # as the kernel counted them
    cpus: tuple[int, ...]
    meterless: Unavailable | None = None  # why no meter was read at all

    @property
    def no_joules(self) -> Unavailable | None:
        """Why there are no joules; None where there are."""
        return self.meterless if self.energy is None else self.energy.unavailable

    @property
    def sampler_cpu_seconds(self) -> float:
        """What all that looked on took itself."""
        metering = self.energy.sampler_cpu_seconds if self.energy is not None else 0.0
        return self.threads.sampler_cpu_seconds + self.load.sampler_cpu_seconds + metering
