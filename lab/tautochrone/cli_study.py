"""``tauto study``: one command a study, with the options that all of them share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tautochrone.errors import TautoError

if TYPE_CHECKING:
    from tautochrone.studies.options import StudyRequest

study_app = typer.Typer(no_args_is_help=True, rich_markup_mode=None, invoke_without_command=True)

Quick = Annotated[bool, typer.Option("--quick", help="A first look: fewer sizes and settings, some minutes.")]
Emulate = Annotated[
    str | None,
    typer.Option(
        "--emulate",
        metavar="CPU:FACTOR,…",
        help="Also with these CPUs made slower; each item is a state of its own: 1:2,1:4 or 1:2+3:2.",
    ),
]
EmulateIfPossible = Annotated[
    str | None,
    typer.Option(
        "--emulate-if-possible",
        metavar="CPU:FACTOR,…",
        help="Like --emulate, but only a warning where this machine does not permit it.",
    ),
]
Rounds = Annotated[int | None, typer.Option("--rounds", help="Rounds of the comparison, 8 or more.")]
Output = Annotated[Path, typer.Option("--output", metavar="FOLDER", help="Where rows and the report go.")]
Fresh = Annotated[
    bool, typer.Option("--fresh", help="Start anew; otherwise a study that was interrupted goes on.")
]
Report = Annotated[bool, typer.Option("--report/--no-report", help="Write report.html at the end.")]
Json = Annotated[bool, typer.Option("--json", help="Print the analysis as JSON.")]
Seed = Annotated[int, typer.Option("--seed", help="Of the order of the runs.")]
TimeLimit = Annotated[
    float | None,
    typer.Option("--time-limit", metavar="SECONDS", help="For each run. Default: from its size."),
]
Policies = Annotated[
    bool,
    typer.Option(
        "--policies",
        help="Once under each frequency policy of this machine, which is put back at the end (needs root).",
    ),
]


def _run(
    context: typer.Context,
    run: Callable[[Any], object],
    request: StudyRequest,
    conclude: Callable[[Sequence[Path], StudyRequest], object] | None = None,
) -> None:
    """One study; with --policies one of the same work for each policy, in a folder of its own.

    ``conclude``: says at the end what only all of them together tell.
    """
    if not context.params["policies"]:
        run(request)
        return
    from tautochrone.policy.studies import under_each_policy

    first: list[Path] = []

    def under_one(folder: Path) -> None:
        first.append(folder)
        run(replace(request, output=folder, like=first[0]))

    folders = under_each_policy(
        under_one, request.output, lambda sentence: typer.echo(f"tauto: {sentence}", err=True)
    )
    show_policies(folders)
    if conclude is not None:
        conclude(folders, request)


def show_policies(folders: Sequence[Path]) -> None:
    """Time and energy under each policy against the first one, which is the machine as it was."""
    from rich.console import Console

    from tautochrone.compare import run_compare_command

    console = Console(stderr=True)
    first, *others = folders
    for folder in others:
        console.print(f"\nPolicy {folder.name} (B) against {first.name} (A):", highlight=False)
        run_compare_command(str(first), str(folder), False, False, console)


def _common(context: typer.Context) -> dict[str, Any]:
    """The fields of a StudyRequest from the options given. Raises TautoError for what cannot be meant."""
    from tautochrone.studies import options

    given = context.params
    emulate, if_possible = given.get("emulate"), given.get("emulate_if_possible")
    if emulate is not None and if_possible is not None:
        raise TautoError("--emulate and --emulate-if-possible were both given", "Give one of them")
    if given["rounds"] is not None:
        options.check_rounds(given["rounds"])
    emulation = emulate if emulate is not None else if_possible
    plain = ("output", "rounds", "seed", "quick", "fresh", "report", "json")
    return {
        "emulations": options.parse_emulations(emulation) if emulation is not None else (),
        "emulate_if_possible": if_possible is not None,
        "peers": options.parse_names(given["peers"], "--peers") if given["peers"] is not None else None,
        "time_limit_seconds": given["time_limit"],
        **{name: given[name] for name in plain},
    }


@study_app.callback()
def _study(context: typer.Context) -> None:
    """Repeat a published experiment on this machine, every runtime beside the others.

    \b
    Studies:
      loop        parallel loops on equal and unequal cores
      mapreduce   map/reduce of short tasks
      power       balanced and unbalanced threads, two programs at once, energy
      collective  all_reduce and all_gather, threads and MPI
      nbody       gravitating particles with block timesteps: threads, OpenMP and MPI
    """  # noqa: D301


@study_app.command("loop")
def study_loop(
    context: typer.Context,
    quick: Quick = False,
    sizes: Annotated[
        str | None, typer.Option("--sizes", metavar="N,N,…", help="Rows of the matrix. Default: 500 … 16000.")
    ] = None,
    emulate: Emulate = None,
    emulate_if_possible: EmulateIfPossible = None,
    threads: Annotated[
        int | None, typer.Option("--threads", min=1, help="Threads at most. Default: all.")
    ] = None,
    placements: Annotated[
        str | None,
        typer.Option("--placements", metavar="NAME,…", help="all, fast, slow, threads, or CPUs (0-3)."),
    ] = None,
    peers: Annotated[
        str | None,
        typer.Option(
            "--peers", metavar="NAME,…", help="libgomp, libomp, tbb, stdpar, openblas; none for only ours."
        ),
    ] = None,
    all_settings: Annotated[
        bool,
        typer.Option(
            "--all-settings",
            help="Every setting in every round, not only what a first look leaves: several times longer.",
        ),
    ] = False,
    rounds: Rounds = None,
    output: Output = Path("tautochrone-results/loop"),
    fresh: Fresh = False,
    report: Report = True,
    json: Json = False,
    seed: Seed = 1,
    time_limit: TimeLimit = None,
    policies: Policies = False,
) -> None:
    """Measure a parallel loop (conjugate gradients) on this machine, and say what to use.

    Compares plain and tuned OpenMP on libgomp and libomp, oneTBB, std::execution, OpenBLAS and tautochrone,
    in shuffled rounds, on all cores, on the fast and on the slow ones. Writes every run as it ends:
    interrupt it when you like, start it again, and it goes on.

    \b
    Examples:
      tauto study loop --quick
      tauto study loop --quick --emulate 1:2,1:4      also with CPU 1 two and four times slower
      tauto study loop --sizes 2000,4000 --peers libgomp,tbb --rounds 20
      tauto study loop --placements all,fast,0-3 --output results/night
    """  # noqa: D301
    from tautochrone.studies.loop.request import LoopRequest, parse_sizes
    from tautochrone.studies.loop.study import run_study
    from tautochrone.studies.options import parse_names

    request = LoopRequest(
        sizes=parse_sizes(sizes) if sizes is not None else None,
        threads=threads,
        placements=parse_names(placements, "--placements") if placements is not None else None,
        all_settings=all_settings,
        **_common(context),
    )
    _run(context, run_study, request)


@study_app.command("mapreduce")
def study_mapreduce(
    context: typer.Context,
    quick: Quick = False,
    tasks: Annotated[
        str | None,
        typer.Option(
            "--tasks",
            metavar="NxLENGTH,…",
            help="How many tasks of which length: 50x400kB, 500x10us. Default: 50 of 400, 1000 and 3000 kB; "
            "50 and 500 of 1, 10 and 100 µs.",
        ),
    ] = None,
    threads: Annotated[
        str | None,
        typer.Option(
            "--threads", metavar="N,N,…", help="Thread counts. Default: 1 … all CPUs, and twice as many."
        ),
    ] = None,
    emulate: Emulate = None,
    emulate_if_possible: EmulateIfPossible = None,
    peers: Annotated[
        str | None,
        typer.Option(
            "--peers",
            metavar="NAME,…",
            help="qt, tbb, libgomp, libomp, stdpar, async; none for only ours.",
        ),
    ] = None,
    rounds: Rounds = None,
    output: Output = Path("tautochrone-results/mapreduce"),
    fresh: Fresh = False,
    report: Report = True,
    json: Json = False,
    seed: Seed = 1,
    time_limit: TimeLimit = None,
    policies: Policies = False,
) -> None:
    """Measure map/reduce of short tasks (FNV-1a hashes) on this machine: from which length on it pays.

    Compares QtConcurrent::blockingMappedReduced, oneTBB's parallel_reduce, OpenMP on libgomp and libomp,
    std::transform_reduce, std::async and tautochrone with the serial loop, in shuffled rounds, from 1 thread
    to more than there are CPUs. Writes every run as it ends: interrupt it when you like, start it again,
    and it goes on.

    \b
    Examples:
      tauto study mapreduce --quick
      tauto study mapreduce --tasks 50x400kB,50x10us --peers qt,tbb --rounds 20
      tauto study mapreduce --threads 1,2,4,8 --output results/night
      tauto study mapreduce --quick --emulate 1:4     also with CPU 1 made four times slower
    """  # noqa: D301
    from tautochrone.studies.mapreduce.request import MapReduceRequest, parse_threads, parse_workloads
    from tautochrone.studies.mapreduce.study import run_study

    request = MapReduceRequest(
        workloads=parse_workloads(tasks) if tasks is not None else None,
        threads=parse_threads(threads) if threads is not None else None,
        **_common(context),
    )
    _run(context, run_study, request)


@study_app.command("power")
def study_power(
    context: typer.Context,
    quick: Quick = False,
    ratios: Annotated[
        str | None,
        typer.Option(
            "--ratios",
            metavar="N,N,…",
            help="What the physics' first function costs by its second. Default: 1, 2, 4 and 8.",
        ),
    ] = None,
    peers: Annotated[
        str | None,
        typer.Option("--jobs", metavar="NAME,…", help="encryption, compression, physics, together."),
    ] = None,
    rounds: Rounds = None,
    output: Output = Path("tautochrone-results/power"),
    fresh: Fresh = False,
    report: Report = True,
    json: Json = False,
    seed: Seed = 1,
    time_limit: TimeLimit = None,
    policies: Policies = False,
) -> None:
    """Measure what threads cost and gain: time, imbalance and, where there is a meter, energy.

    Compares one thread with encryption by blocks and by files (OpenSSL), compression (zstd's own workers),
    and a small physics engine shared by its bodies and by its functions, balanced and not; then two programs
    at once, free and pinned. Writes every run as it ends: interrupt it when you like, start it again, and it
    goes on.

    \b
    Examples:
      tauto study power --quick
      tauto study power --jobs physics --ratios 1,4,16
      tauto study power --quick --policies            once under each frequency policy (root)
    """  # noqa: D301
    from tautochrone.studies.power.request import PowerRequest, parse_ratios
    from tautochrone.studies.power.study import conclude_policies, run_study

    request = PowerRequest(ratios=parse_ratios(ratios) if ratios is not None else None, **_common(context))
    _run(context, run_study, request, conclude_policies)


@study_app.command("collective")
def study_collective(
    context: typer.Context,
    quick: Quick = False,
    lengths: Annotated[
        str | None,
        typer.Option(
            "--lengths", metavar="N,N,…", help="8-byte words. Default: 1 … 65536, and beside known switches."
        ),
    ] = None,
    ranks: Annotated[int | None, typer.Option("--ranks", help="Members. Default: one on each core.")] = None,
    peers: Annotated[
        str | None,
        typer.Option("--peers", metavar="NAME,…", help="openmpi, mpich, intelmpi; none for only ours."),
    ] = None,
    rounds: Rounds = None,
    output: Output = Path("tautochrone-results/collective"),
    fresh: Fresh = False,
    report: Report = True,
    json: Json = False,
    seed: Seed = 1,
    time_limit: TimeLimit = None,
    policies: Policies = False,
) -> None:
    """Measure all_reduce and all_gather against their length, and name every step and peak.

    Compares tautochrone's threads with Open MPI, MPICH and Intel MPI, each launched anew in every one of the
    shuffled rounds, on data that are written before each call. Looks closer where a curve steps. Writes every
    run as it ends: interrupt it when you like, start it again, and it goes on.

    \b
    Examples:
      tauto study collective --quick
      tauto study collective --lengths 1,64,512,513,4096 --peers openmpi --rounds 20
      tauto study collective --ranks 4 --output results/night
    """  # noqa: D301
    from tautochrone.studies.collective.request import CollectiveRequest, parse_lengths
    from tautochrone.studies.collective.study import run_study

    request = CollectiveRequest(
        lengths=parse_lengths(lengths) if lengths is not None else None,
        ranks=ranks,
        **_common(context),
    )
    _run(context, run_study, request)


@study_app.command("nbody")
def study_nbody(
    context: typer.Context,
    quick: Quick = False,
    particles: Annotated[
        str | None, typer.Option("--particles", metavar="N,N,…", help="Default: 256 … 16384.")
    ] = None,
    threads: Annotated[
        int | None, typer.Option("--threads", help="Members. Default: one on each core.")
    ] = None,
    peers: Annotated[
        str | None,
        typer.Option(
            "--peers", metavar="NAME,…", help="libgomp, libomp, openmpi, mpich, intelmpi; none for only ours."
        ),
    ] = None,
    animate: Annotated[
        Path | None,
        typer.Option(
            "--animate",
            metavar="FILE",
            help="Also draw a cluster, its active particles lit, as one HTML file.",
        ),
    ] = None,
    rounds: Rounds = None,
    output: Output = Path("tautochrone-results/nbody"),
    fresh: Fresh = False,
    report: Report = True,
    json: Json = False,
    seed: Seed = 1,
    time_limit: TimeLimit = None,
    policies: Policies = False,
) -> None:
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
    from tautochrone.studies.nbody.request import NbodyRequest, parse_particles
    from tautochrone.studies.nbody.study import run_study

    request = NbodyRequest(
        particles=parse_particles(particles) if particles is not None else None,
        threads=threads,
        animation=animate,
        **_common(context),
    )
    _run(context, run_study, request)
