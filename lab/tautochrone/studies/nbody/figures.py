"""The charts of the study of MPI in one node: its two of collectives, and its model of 2048 particles."""

from __future__ import annotations

from tautochrone.simulator import machines, requests
from tautochrone.simulator.findings import Axis
from tautochrone.simulator.machines import Machine
from tautochrone.studies.claims import rows
from tautochrone.studies.collective.claims import NEAR_1K, NEAR_8K
from tautochrone.studies.figures import Chapter, Drawn, Published, curve
from tautochrone.studies.nbody import claims

_WORDS = Axis(field="x", title="words", logarithmic=True)
_TIME = Axis(field="y", title="time", logarithmic=True, seconds=True)
_ENGINES = {
    "i, Open MPI": ("i", requests.MPI),
    "j, Open MPI": ("j", requests.MPI),
    "i, threads": ("i", "threads"),
    "i, OpenMP loops": ("i", "openmp_loops"),
    "i, OpenMP region": ("i", "openmp_region"),
}


def chapter() -> Chapter:
    """Both charts, and the model's speed-ups that the text gives."""
    machine = machines.load(claims.FAMILY.machine)
    return Chapter(
        family="N",
        title="MPI in one node, and N-body on it (2015)",
        machine=machine.name,
        figures=(
            _collectives(machine, "n-3", "Figure 3: Open MPI 1.6.5", requests.MPI),
            _collectives(machine, "n-4", "Figure 4: MVAPICH2 1.9", "mvapich2-1.9"),
            _speed_ups(machine),
        ),
    )


def _collectives(machine: Machine, name: str, of: str, library: str) -> Drawn:
    times = {
        operation: [
            float(row["seconds"])
            for row in rows(
                machine, [requests.collective(operation, library, words) for words in requests.WORDS]
            )
        ]
        for operation in ("all_reduce", "all_gather")
    }
    reduce = dict(zip(requests.WORDS, times["all_reduce"], strict=True))
    of_mpi = library == requests.MPI
    if of_mpi:
        says = f"all_reduce of 8192 words takes {reduce[8192] / reduce[6144]:.1f} times what 6144 take"
        says += "; published: peaks at 1k and 8k words"
    else:
        says = f"all_reduce of 512 words takes {reduce[512] / reduce[1024]:.1f} times what 1024 take"
        says += "; published: longer"
    peaks = (NEAR_1K, NEAR_8K) if of_mpi else ((480, 540),)
    words = "a peak (published)" if of_mpi else "slower than 1024 words (published)"
    return Drawn(
        name=name,
        of=f"{of}: time of all_gather and all_reduce against their length",
        heading=f"{'Open MPI' if of_mpi else 'MVAPICH2'}'s {says}",
        explanation="16 processes on two sockets, modelled with the libraries' rules. Words of eight bytes; "
        "of all_gather those of all processes together.",
        x=_WORDS,
        y=_TIME,
        curves=tuple(
            curve(operation, zip(requests.WORDS, seconds, strict=True))
            for operation, seconds in times.items()
        ),
        published=tuple(Published(says=words, x=each) for each in peaks),
        claims=("N4",) if of_mpi else ("N7", "N8"),
    )


def _speed_ups(machine: Machine) -> Drawn:
    found = {
        name: list(map(claims.speedup, rows(machine, [requests.block(n, *way) for n in requests.ACTIVE])))
        for name, way in _ENGINES.items()
    }
    best = found["i, Open MPI"][-1]
    return Drawn(
        name="n-model",
        of="The model of the text: 2048 particles on 16 cores",
        heading=f"With all 2048 active, sharing the targets over MPI gives {best:.1f}×; published: a "
        "little over 8×",
        explanation="Speed-up of a block over one core, against the number of particles that move in it.",
        x=Axis(field="x", title="active particles", logarithmic=True),
        y=Axis(field="y", title="speed-up over one core"),
        curves=tuple(
            curve(name, zip(requests.ACTIVE, values, strict=True)) for name, values in found.items()
        ),
        published=(
            Published(says="a little over 8× with many active (published)", x=(512, 2048), y=(7.8, 8.7)),
            Published(says="below 100 j is faster (published)", x=(1, 100)),
        ),
        claims=("N1", "N2", "N3", "N5", "N6", "N9"),
    )
