"""What is asked of the nbody study."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from tautochrone.errors import TautoError
from tautochrone.studies.options import StudyRequest
from tautochrone.word_lists import integers_of

QUICK_PARTICLES = (256, 1024)
FULL_PARTICLES = (256, 512, 1024, 2048, 4096, 8192, 16384)
MOST_PARTICLES = 65_536
_LEAST_PARTICLES = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class NbodyRequest(StudyRequest):
    """The options of ``tauto study nbody``, parsed. ``None`` means "choose for me"."""

    particles: tuple[int, ...] | None = None
    threads: int | None = None
    animation: Path | None = None

    @property
    def wanted(self) -> tuple[int, ...]:
        """The numbers of particles."""
        return self.particles or (QUICK_PARTICLES if self.quick else FULL_PARTICLES)


def parse_particles(text: str) -> tuple[int, ...]:
    """``"256,1024"`` → (256, 1024), ascending. Raises TautoError for what is no number of particles."""
    return integers_of(
        text,
        "--particles",
        _LEAST_PARTICLES,
        MOST_PARTICLES,
        lambda word: TautoError(
            f"--particles: {word!r} is not a number of particles from {_LEAST_PARTICLES} to "
            f"{MOST_PARTICLES:,}",
            "Write it like 256,1024,4096",
        ),
    )


def check_threads(threads: int | None, cpus: int) -> int:
    """How many members share the particles: one a CPU unless asked.

    TautoError for fewer than two, and for more than there are CPUs.
    """
    if cpus < 2:
        raise TautoError(
            "sharing a block needs two members with a CPU each, and only 1 CPU may be used here",
            "Start without taskset, or widen the container's cpuset; tauto-nbody runs on one",
        )
    if threads is None:
        return cpus
    if not 2 <= threads <= cpus:
        raise TautoError(
            f"--threads {threads}: two members or more share a block, each with a CPU, and {cpus} may be "
            "used here",
            f"Ask for 2 to {cpus}" if cpus > 2 else "Leave it out, or ask for 2",
        )
    return threads
