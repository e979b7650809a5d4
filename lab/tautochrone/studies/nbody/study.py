"""``tauto study nbody``: what is asked, what runs, in which order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from tautochrone.errors import TautoError
from tautochrone.machine.runners import find
from tautochrone.measuring.session import CheckRows
from tautochrone.options import Option, integers_of
from tautochrone.results import USUAL_FOLDER
from tautochrone.results.row import Row
from tautochrone.studies import models
from tautochrone.studies.nbody import animation
from tautochrone.studies.nbody.analysis import analyse
from tautochrone.studies.nbody.configurations import (
    PEERS,
    Candidate,
    candidates,
    configuration,
    estimated_run_seconds,
    with_hybrids,
    without_members,
)
from tautochrone.studies.nbody.findings import NbodyAnalysis, NbodyContext
from tautochrone.studies.nbody.runs import ROWS, different_bits
from tautochrone.studies.nbody.simulated import RANKS, simulated
from tautochrone.studies.request import OUTPUT, StudyRequest, Times, peers_option
from tautochrone.studies.states import StateExecutor
from tautochrone.studies.study import Run, Study

QUICK_PARTICLES = (256, 1024)
FULL_PARTICLES = (256, 512, 1024, 2048, 4096, 8192, 16384)
MOST_PARTICLES = 65_536
_LEAST_PARTICLES = 16
_OPERATIONS_A_PAIR = 20.0  # a distance, its root and three components of a force, at least
_SUMS_AGREE = 1e-3
_FRAMES = "tauto-nbody-frames"


def parse_particles(text: str) -> tuple[int, ...]:
    """``"256,1024"`` → (256, 1024), ascending. Raises TautoError for any other word."""
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


@dataclass(frozen=True, slots=True, kw_only=True)
class NbodyRequest(StudyRequest):
    """The options of ``tauto study nbody``. None means "choose for me"."""

    output: Annotated[Path, OUTPUT] = USUAL_FOLDER / "nbody"
    particles: Annotated[
        tuple[int, ...] | None,
        Option("Numbers of particles. Default: 256 … 16384.", "N,N,…", parse_particles),
    ] = None
    threads: Annotated[int | None, Option("The number of members. Default: one on each core.")] = None
    peers: Annotated[
        tuple[str, ...] | None,
        peers_option("libgomp, libomp, openmpi, mpich, intelmpi; none for only ours."),
    ] = None
    animation: Annotated[
        Path | None,
        Option("Also draw a cluster, its active particles lit, as one HTML file.", "FILE", flag="--animate"),
    ] = None

    @property
    def wanted(self) -> tuple[int, ...]:
        return self.particles or (QUICK_PARTICLES if self.quick else FULL_PARTICLES)


class Nbody(Study[NbodyRequest, NbodyContext, NbodyAnalysis]):
    """Measure N-body with block timesteps: what a block takes by how many particles move in it.

    Compares one core, tautochrone (sharing the targets, the sources, or what is cheapest for each block),
    OpenMP as parallel loops and as one region, and MPI, with the same kernels, in shuffled rounds. Fits a
    model and says what it expects of 4, 8, 16 and 32 cores. Writes every run as it ends: interrupt it when
    you like, start it again, and it goes on.

    \b
    Examples:
      tauto study nbody --quick
      tauto study nbody --particles 1024,4096 --peers libgomp,openmpi --rounds 20
      tauto study nbody --quick --animate cluster.html
    """  # noqa: D301

    NAME = "nbody"
    REQUEST = NbodyRequest
    CONTEXT = NbodyContext
    PEERS = PEERS
    ROWS = ROWS
    SETTINGS = "one member pinned to a CPU; the same kernels, particles and order of steps in all engines"
    ANSWER = ""
    # The timed part is one run of the particles, however long it takes.
    QUICK = Times(0.02, 1e-6, 8)
    FULL = Times(0.05, 1e-6, 12)
    candidates: Sequence[Candidate]

    def prepare(self) -> None:
        """Check the members, and that there are particles for each."""
        request = self.request
        seen = self.layout()
        members = check_threads(request.threads, len(seen.placement("cores").cpus))
        if min(request.wanted) < members:
            raise TautoError(
                f"{min(request.wanted)} particles are fewer than the {members} members that would share them",
                f"Ask for --particles of {members} or more, or for fewer --threads",
            )
        if request.animation is not None:
            animation.check(request.animation)
            find(_FRAMES)
        self.left_out += without_members(self.peers, members)
        self.peers = with_hybrids(self.peers, members)
        everyone, alone = seen.placement("cores", members), seen.placement("cores", 1)
        self.candidates = tuple(candidates(self.peers, everyone, alone, request.wanted))

    @property
    def work(self) -> str:
        sizes = ", ".join(f"{count:,}" for count in self.request.wanted)
        return f"{sizes} particles, {len(self.candidates)} configurations, {self.times.rounds} rounds"

    def runs(self) -> list[Run]:
        times, quick = self.times, self.request.quick
        return [
            Run(
                candidate,
                configuration(candidate, times, quick=quick),
                estimated_run_seconds(candidate, times, quick=quick),
            )
            for candidate in self.candidates
        ]

    @property
    def check_rows(self) -> CheckRows:
        """Engines with the same arithmetic must agree to the last bit."""
        return different_bits

    def least_seconds(self, settings: Mapping[str, Any], record: Mapping[str, Any]) -> float:
        """For the forces of all particles on those that move in a mean block."""
        pairs = float(settings["particles"]) * (record.get("mean_active") or 1.0)
        return models.least_seconds(
            _OPERATIONS_A_PAIR * pairs, self.machine, "compute_per_second", len(settings["cpus"])
        )

    def contradiction(self, record: Mapping[str, Any]) -> str | None:
        """The classes of blocks are the whole run, where it was one."""
        classes, blocks, seconds = record.get("classes"), record.get("blocks"), record.get("seconds")
        if not classes or not blocks or seconds is None or record.get("iterations", blocks) != blocks:
            return None
        counted = sum(one["blocks"] for one in classes)
        total = sum(one["total_seconds"] for one in classes)
        if counted != blocks or abs(total - blocks * seconds) > _SUMS_AGREE * total:
            return f"says {blocks:g} blocks of {seconds:.3g} s, but {counted} of all counts in {total:.3g} s"
        return None

    def illustrate(self, executor: StateExecutor, limit_seconds: float) -> None:
        """What ranks of MPI would do on more cores, in virtual time."""
        self.services.say(f"Simulating {RANKS} ranks of MPI (some seconds)")
        found = simulated(self.store.rows(None))
        self.context.simulated, self.context.rectangles = found.ranks, found.rectangles
        self.context.not_measured = (*self.context.not_measured, *found.failed)

    def afterwards(self) -> None:
        if self.request.animation is not None:
            animation.write(self.request.animation, find(_FRAMES), self.request.seed)
            self.services.say(f"Animation: {self.request.animation}")

    @classmethod
    def analyse(cls, rows: Sequence[Row], machine: Mapping[str, Any], context: NbodyContext) -> NbodyAnalysis:
        return analyse(rows, machine, context)


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
