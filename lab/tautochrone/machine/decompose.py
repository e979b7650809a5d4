"""``tauto decompose``: how large each subdomain of an MPI program is to be on cores of unequal speed.

Equal subdomains wait for the slowest core. Partitioners take weights; these are the files that they read.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from tautochrone.errors import TautoError, explained
from tautochrone.files import write_whole
from tautochrone.machine.placements import cpus_of, layout
from tautochrone.machine.probe import read_machine
from tautochrone.machine.record import Machine
from tautochrone.options import Option, words_of
from tautochrone.text import count, digits

_DECIMALS = 6
_FIGURES = {
    "compute": "compute_per_second",
    "cache": "cache_bytes_per_second",
    "memory": "memory_bytes_per_second",
}


@dataclass(frozen=True)
class Rank:
    """One rank: its CPU, and its part of the whole."""

    cpu: int
    fraction: float


def weighted(cpus: Sequence[int], speeds: Sequence[float]) -> list[Rank]:
    """Parts in proportion to the speeds; rounded, and still 1 together."""
    whole = sum(speeds)
    parts = [round(speed / whole, _DECIMALS) for speed in speeds]
    parts[0] = round(parts[0] + 1 - sum(parts), _DECIMALS)
    return [Rank(cpu, part) for cpu, part in zip(cpus, parts, strict=True)]


def equal_takes(speeds: Sequence[float]) -> float:
    """How many times as long equal parts take, where each rank computes by itself."""
    return sum(speeds) / len(speeds) / min(speeds)


def metis(ranks: Sequence[Rank]) -> str:
    """A file for ``gpmetis -tpwgts``."""
    return "".join(f"{number} = {rank.fraction:.{_DECIMALS}f}\n" for number, rank in enumerate(ranks))


def openfoam(ranks: Sequence[Rank]) -> str:
    """``system/decomposeParDict``; Scotch takes weights in any unit."""
    weights = " ".join(f"{rank.fraction * len(ranks):.4f}" for rank in ranks)
    return f"""FoamFile
{{
    version 2.0;
    format  ascii;
    class   dictionary;
    object  decomposeParDict;
}}

numberOfSubdomains {len(ranks)};
method scotch;
scotchCoeffs
{{
    processorWeights ({weights});
}}
"""


def rankfile(ranks: Sequence[Rank]) -> str:
    """For Open MPI's ``--rankfile``: the CPUs are the kernel's."""
    command = (
        f"mpirun --mca rmaps_rank_file_physical 1 --rankfile rankfile -n {len(ranks)} ./solver -parallel"
    )
    lines = [f"rank {number}=localhost slot={rank.cpu}\n" for number, rank in enumerate(ranks)]
    return f"# {command}\n{''.join(lines)}"


def parse_speeds(text: str) -> tuple[float, ...]:
    """``"3.8,3.8,1"`` → speeds. Raises TautoError for what is no positive number."""
    found: list[float] = []
    for word in words_of(text, "--speeds"):
        try:
            speed = float(word)
        except ValueError:
            speed = 0.0
        if not 1e-9 <= speed <= 1e18:
            raise TautoError(f"--speeds: {word!r} is no speed above 0", "Write one a rank, such as 4,4,1,1")
        found.append(speed)
    return tuple(found)


@dataclass(frozen=True, kw_only=True)
class DecomposeRequest:
    """Write how large the subdomains of an MPI program are to be here.

    One rank a core, fast cores first. Each core's speed is measured alone, which takes five seconds. Written
    are the weights for METIS and for OpenFOAM's decomposePar, and a rankfile for Open MPI.

    \b
    Examples:
      tauto decompose
      tauto decompose --by memory --ranks 8 --output case
      tauto decompose --speeds 3.8,3.8,1,1
    """  # noqa: D301

    ranks: Annotated[int | None, Option("How many. Default: one a core.", "N", least=1)] = None
    by: Annotated[
        Literal["compute", "cache", "memory"],
        Option("What the program waits for: arithmetic, the caches, or the memory."),
    ] = "compute"
    speeds: Annotated[
        tuple[float, ...] | None,
        Option("Of the ranks, in any unit, instead of measuring.", "S,S,…", parse_speeds),
    ] = None
    output: Annotated[Path, Option("Where the three files go.", "FOLDER")] = Path("decomposition")

    def run(self) -> int:
        """Write the files, and say what they gain; 0."""
        cpus, speeds = self._speeds()
        ranks = weighted(cpus, speeds)
        files = {"tpwgts": metis(ranks), "decomposeParDict": openfoam(ranks), "rankfile": rankfile(ranks)}
        remedy = "Choose another folder with --output"
        with explained(f"the files cannot be written to {self.output}", remedy):
            self.output.mkdir(parents=True, exist_ok=True)
            for name, text in files.items():
                write_whole(self.output / name, text)
        parts = ", ".join(f"CPU {rank.cpu} {100 * rank.fraction:.1f} %" for rank in ranks)
        print(f"Parts of {count(len(ranks), 'rank')}: {parts}")
        times = digits(equal_takes(speeds))
        print(f"Equal parts would take {times} times as long, where ranks do not wait for one memory.")
        print(f"METIS:    gpmetis -tpwgts={self.output / 'tpwgts'} mesh.graph {len(ranks)}")
        print(f"OpenFOAM: cp {self.output / 'decomposeParDict'} system/ && decomposePar")
        print(f"Open MPI: {self.output / 'rankfile'}, whose first line is the command")
        print(f"MPICH:    mpiexec -bind-to user:{','.join(str(rank.cpu) for rank in ranks)} -n {len(ranks)}")
        return 0

    def _speeds(self) -> tuple[Sequence[int], Sequence[float]]:
        """The CPUs of the ranks, and how fast each is."""
        if self.speeds is None:
            return self._measured(read_machine("quick"))
        wanted = len(self.speeds)
        if self.ranks not in (None, wanted):
            raise TautoError(
                f"--ranks {self.ranks} does not agree with {count(wanted, 'speed')} of --speeds",
                "Give one of them",
            )
        here = _one_a_core(read_machine("none"))
        return here[:wanted] if wanted <= len(here) else range(wanted), self.speeds

    def _measured(self, machine: Machine) -> tuple[Sequence[int], Sequence[float]]:
        here = _one_a_core(machine)
        wanted = self.ranks or len(here)
        if wanted > len(here):
            raise TautoError(
                f"--ranks {wanted}: {count(len(here), 'core')} may be used here",
                f"Ask for up to {len(here)}, or give --speeds for another machine",
            )
        of_cpu = {cpu.cpu: cpu for cpu in machine.measured.cpus} if machine.measured is not None else {}
        speeds: list[float] = []
        for cpu in here[:wanted]:
            speed = getattr(of_cpu.get(cpu), _FIGURES[self.by], None)
            if not speed:
                raise TautoError(f"the speed of CPU {cpu} could not be measured", "Give --speeds")
            speeds.append(float(speed))
        return here[:wanted], speeds


def _one_a_core(machine: Machine) -> Sequence[int]:
    usable, _ = cpus_of(machine.to_dict())
    return layout(usable, {}, machine.usable_members).placement("cores").cpus
