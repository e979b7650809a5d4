"""``tauto simulate``: a study in virtual time, beside a measured one, or its real ranks under SimGrid."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from tautochrone.errors import TautoError
from tautochrone.jobs import spread
from tautochrone.options import Argument, Option
from tautochrone.terminal import Terminal


@dataclass(frozen=True)
class SimulateRequest:
    """Run a study in virtual time on a machine that is not here.

    \b
    Examples:
      tauto simulate loop --machine i9-14900k
      tauto simulate loop --machine i9-14900k --set cores.E.count=32
      tauto simulate loop --machine i9-14900k --sweep cores.E.count=4..32:8
      tauto simulate mapreduce --machine machine.toml --json
      tauto simulate loop --against tautochrone-results/loop
      tauto simulate nbody --smpi all --machine 2x-e5-2650v2 --ranks 16,32,64
      tauto simulate collective --smpi all --machine 2x-e5-2650v2
    """  # noqa: D301

    study: Annotated[str, Argument("STUDY", "loop, mapreduce, power, nbody, collective or balance.")]
    machine: Annotated[
        str | None, Option("A machine that comes with tauto, or a machine file.", "NAME|FILE")
    ] = None
    settings: Annotated[
        tuple[str, ...],
        Option(
            "Change the machine: cores.E.count=32. May be repeated.", "KEY=VALUE", flag="--set", many=True
        ),
    ] = ()
    sweep: Annotated[
        str | None, Option("Draw how the answer changes with a key of the machine.", "KEY=A..B[:STEPS]")
    ] = None
    against: Annotated[
        Path | None,
        Option(
            "The folder of a measured study (loop, mapreduce): simulate it on its machine, and compare.",
            "FOLDER",
        ),
    ] = None
    smpi: Annotated[
        str | None,
        Option(
            "nbody, collective: run the real runner's ranks under SimGrid, with the collectives of ompi, "
            "mpich, mvapich2, impi, or all.",
            "LIBRARY,…",
        ),
    ] = None
    ranks: Annotated[
        str | None, Option("With --smpi: the number of ranks. Default: all cores of one machine.", "N,…")
    ] = None
    kernel: Annotated[
        str | None,
        Option("With loop: published (one chain of additions a row), or tuned.", "NAME"),
    ] = None
    particles: Annotated[
        int | None, Option("With nbody --smpi: the number of particles. Default: 2048.", "N")
    ] = None
    words: Annotated[
        str | None, Option("With collective --smpi: the lengths. Default: 1 to 65536 words.", "N,…")
    ] = None
    output: Annotated[
        Path | None,
        Option("Where rows and the report go. Default: tautochrone-results/simulated-STUDY.", "FOLDER"),
    ] = None
    json: Annotated[bool, Option("Print the rows as JSON lines and write nothing.")] = False
    launcher: Annotated[tuple[str, ...], spread.LAUNCHER] = ()
    nodes: Annotated[int, spread.NODES] = 1
    dask: Annotated[str | None, spread.DASK] = None
    kept: Annotated[Path | None, spread.KEPT] = None

    def run(self) -> int:
        self._check()
        with spread.spread_over(self.launcher, self.nodes, self.dask, self.kept):
            return self._run(Terminal())

    def _run(self, console: Terminal) -> int:
        if self.against is not None:
            from tautochrone.studies.against_command import run_against_command

            return run_against_command(self.study, self.against, self.output, self.json, console)
        if self.machine is None:
            raise TautoError("no machine was named", "Add --machine i9-14900k, or --against FOLDER")
        if self.smpi is None:
            from tautochrone.simulator.command import run_simulate_command

            return run_simulate_command(
                self.study,
                self.machine,
                self.settings,
                self.sweep,
                self.output,
                self.json,
                console,
                self.kernel,
            )
        from tautochrone.simulator.smpi.sweeping import Request

        request = Request(
            self.study, self.machine, self.settings, self.smpi, self.ranks, self.output, self.json
        )
        if self.study == "nbody":
            from tautochrone.studies.nbody.smpi import run_smpi_command as run_nbody

            return run_nbody(request, self.particles, console)
        from tautochrone.studies.collective.smpi import run_smpi_command as run_collective

        return run_collective(request, self.words, console)

    def _check(self) -> None:
        from tautochrone.simulator.requests import STUDIES

        if self.study not in STUDIES:
            raise TautoError(
                f"there is no study {self.study!r} to simulate", f"Choose from {', '.join(STUDIES)}"
            )
        if self.smpi is None and (self.ranks, self.particles, self.words) != (None, None, None):
            raise TautoError(
                "--ranks, --particles and --words belong to --smpi", "Add --smpi all, or leave them out"
            )
        if self.smpi is not None:
            self._check_smpi()
        if self.kernel is not None and (self.smpi is not None or self.against is not None):
            raise TautoError("--kernel belongs to tauto simulate loop --machine", "Leave it out")
        if self.against is not None and (self.machine is not None or self.settings or self.sweep):
            raise TautoError(
                "--against takes the machine that the study was measured on",
                "Leave out --machine, --set and --sweep",
            )

    def _check_smpi(self) -> None:
        if self.study not in ("nbody", "collective"):
            raise TautoError(
                f"--smpi runs the runners of nbody and collective, and not of {self.study}",
                "Use tauto simulate nbody, or tauto simulate collective",
            )
        for option, given, owner in (
            ("--particles", self.particles, "nbody"),
            ("--words", self.words, "collective"),
        ):
            if given is not None and self.study != owner:
                raise TautoError(f"{option} belongs to tauto simulate {owner} --smpi", "Leave it out")
        if self.sweep is not None or self.against is not None:
            raise TautoError(
                "--smpi takes neither --sweep nor --against", "Leave them out, or leave out --smpi"
            )
