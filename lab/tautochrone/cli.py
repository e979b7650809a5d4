"""The ``tauto`` command: reads what is asked, hands it to the lab, and speaks plainly when it cannot be done.

Modules are imported inside the commands, so that ``tauto --help`` answers at once.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated, NoReturn

import typer

from tautochrone import __version__
from tautochrone.cli_study import study_app
from tautochrone.cli_tune import add_commands
from tautochrone.errors import TautoError

BAD_INPUT = 2
INTERRUPTED = 130
UNEXPECTED = 70
DEBUG_VARIABLE = "TAUTO_DEBUG"

app = typer.Typer(
    name="tauto",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
    help="""
    Measures, compares and explains parallel programs on cores of unequal speed.

    \b
    tauto machine                                  what is this machine
    tauto tune -- ./solver case.in                 the best settings for a program as it is
    tauto study loop --quick                       parallel loops here, every runtime beside the others
    tauto study loop --emulate 1:4                 the same with CPU 1 made four times slower
    tauto study mapreduce --quick                  short tasks: from which length on each library pays
    tauto energy -- ./solver case.in               the joules of one run, or why they cannot be had
    tauto trace -- ./solver case.in                which thread works while the others wait
    tauto study collective --quick                 all_reduce and all_gather: threads and MPI, step by step
    tauto compare before/ after/                   two results, honestly
    tauto simulate loop --machine i9-14900k        the same on a machine that is not here
    tauto claims                                   every published claim, and whether it holds
    """,
)
app.add_typer(study_app, name="study")
add_commands(app)


class Measure(StrEnum):
    """How much `tauto machine` measures."""

    none = "none"
    quick = "quick"
    full = "full"


class ExportFormat(StrEnum):
    """What `tauto export` writes."""

    parquet = "parquet"
    csv = "csv"


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"tautochrone {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool,
        typer.Option("--version", help="Print the version and exit.", callback=_print_version, is_eager=True),
    ] = False,
) -> None: ...


@app.command()
def version() -> None:
    """Print the version, and which runtimes can be measured here.

    \b
    Example:
      tauto version
    """  # noqa: D301
    from tautochrone import runners

    typer.echo(f"tautochrone {__version__}")
    for state in runners.all_peer_states():
        if state.description is not None:
            what = " ".join(filter(None, (state.description.library, state.description.version))) or "here"
        else:
            what = f"not measured: {state.reason}. {state.remedy}"
        typer.echo(f"  {state.peer.name:<12} {what}")


@app.command()
def machine(
    json: Annotated[bool, typer.Option("--json", help="Print the record as JSON.")] = False,
    export: Annotated[
        Path | None,
        typer.Option("--export", metavar="FILE", help="Write a machine file (TOML) for the simulator."),
    ] = None,
    measure: Annotated[
        Measure,
        typer.Option("--measure", help="How much to measure: nothing, a few seconds, or about a minute."),
    ] = Measure.quick,
    root: Annotated[
        Path | None,
        typer.Option("--root", metavar="FOLDER", help="Describe the machine whose sys and proc lie there."),
    ] = None,
) -> None:
    """Show what this machine is: cores and their kinds, caches, limits, and how fast each CPU really is.

    \b
    Examples:
      tauto machine
      tauto machine --measure none               topology and limits only, at once
      tauto machine --json > machine.json
      tauto machine --measure full --export machine.toml
    """  # noqa: D301
    from rich.console import Console

    from tautochrone.machine import run_machine_command

    raise typer.Exit(run_machine_command(json, export, measure.value, root, Console()))


@app.command(context_settings={"ignore_unknown_options": True})
def emulate(
    command: Annotated[list[str], typer.Argument(metavar="-- COMMAND…", help="What to run meanwhile.")],
    slow: Annotated[
        str, typer.Option("--slow", metavar="CPU:FACTOR,…", help="CPUs to slow, and how many times slower.")
    ],
) -> None:
    """Run a command while some CPUs are made slower, so that equal cores can stand in for unequal ones.

    \b
    Examples:
      tauto emulate --slow 1:4 -- ./solver case.in
      tauto emulate --slow 2:2,3:2 -- make -j4 test
    """  # noqa: D301
    from tautochrone.emulate import run_emulate_command

    raise typer.Exit(run_emulate_command(slow, command))


@app.command(context_settings={"ignore_unknown_options": True})
def energy(
    command: Annotated[list[str] | None, typer.Argument(metavar="-- COMMAND…", help="What to run.")] = None,
    json: Annotated[
        bool, typer.Option("--json", help="Print the result as JSON on standard output.")
    ] = False,
    objective: Annotated[
        str,
        typer.Option(help="time, energy, edp or ed2p; all but time need a meter and fail without."),
    ] = "time",
    idle_seconds: Annotated[
        float, typer.Option(help="Measure the idle power for so long before and after; 0: not at all.")
    ] = 5.0,
    reference_seconds: Annotated[
        float | None, typer.Option(help="Also the energy of the run and then idling until this time.")
    ] = None,
    estimate: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Without a meter: an estimate of this model, labelled as one."),
    ] = None,
    fit_model: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Fit such a model to this machine's meter.")
    ] = None,
) -> None:
    """Run a command and say what it took: joules where there is a meter, CPU-seconds and core-seconds always.

    The meter is probed with a busy loop before it is believed; without one there is a reason and a remedy,
    and no joules. The table goes to standard error, the exit status is the command's.

    \b
    Examples:
      tauto energy -- ./solver case.in
      tauto energy --json --reference-seconds 50 -- ./solver case.in > energy.json
      tauto energy --fit-model model.json        on a machine with a meter
      tauto energy --estimate model.json -- ./solver case.in
    """  # noqa: D301
    from tautochrone.energy.command import EnergyRequest, run_energy_command

    raise typer.Exit(
        run_energy_command(
            EnergyRequest(
                command=tuple(command or ()),
                json=json,
                objective=objective,
                idle_seconds=idle_seconds,
                reference_seconds=reference_seconds,
                estimate=estimate,
                fit_model=fit_model,
            )
        )
    )


@app.command(context_settings={"ignore_unknown_options": True})
def trace(
    command: Annotated[list[str], typer.Argument(metavar="-- COMMAND…", help="What to run.")],
    output: Annotated[
        Path, typer.Option("--output", metavar="FILE", help="The timeline, a page that opens offline.")
    ] = Path("tauto-trace.html"),
    perfetto: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="The same for ui.perfetto.dev. Default: beside the page, .json."),
    ] = None,
    hertz: Annotated[float, typer.Option(help="Samples a second, 1 to 50.")] = 20.0,
    json: Annotated[
        bool, typer.Option("--json", help="Print the figures as JSON on standard output.")
    ] = False,
) -> None:
    """Run a command and draw what its threads did: who worked, who waited, on which CPU.

    Samples /proc 20 times a second. Says how uneven the threads' work is (the busiest over the mean), how
    often they moved between CPUs, and names the thread that the others wait for.

    \b
    Examples:
      tauto trace -- ./solver case.in
      tauto trace --output night.html --json -- make -j4 test
    """  # noqa: D301
    from tautochrone.trace.command import TraceRequest, run_trace_command

    beside = perfetto if perfetto is not None else output.with_suffix(".json")
    raise typer.Exit(run_trace_command(TraceRequest(tuple(command), output, beside, hertz, json)))


@app.command()
def compare(
    first: Annotated[
        str,
        typer.Argument(metavar="A", help="A folder of results, or FOLDER@setting=value,… for a part of it."),
    ],
    second: Annotated[str, typer.Argument(metavar="B", help="The other one.")],
    json: Annotated[bool, typer.Option("--json", help="Print the comparison as JSON.")] = False,
    across_machines: Annotated[
        bool, typer.Option("--across-machines", help="Compare results of two machines all the same.")
    ] = False,
) -> None:
    """Compare two results: ratio, interval and verdict for each configuration that both have.

    \b
    Examples:
      tauto compare tautochrone-results/before tautochrone-results/after
      tauto compare results@library=libgomp,schedule=pragma,placement=all \\
                    results@library=tautochrone,schedule=adaptive,placement=all
    """  # noqa: D301
    from rich.console import Console

    from tautochrone.compare import run_compare_command

    raise typer.Exit(run_compare_command(first, second, json, across_machines, Console()))


@app.command()
def report(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="A folder of results.")],
    output: Annotated[
        Path | None,
        typer.Option("--output", metavar="FILE", help="Where to write. Default: FOLDER/report.html."),
    ] = None,
) -> None:
    """Write the report of stored results again.

    \b
    Example:
      tauto report tautochrone-results/loop
    """  # noqa: D301
    from tautochrone.studies.concluding import report_again

    typer.echo(f"The report: {report_again(folder, output)}")


@app.command()
def export(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="A folder of results.")],
    format: Annotated[ExportFormat, typer.Option("--format", help="What to write.")] = ExportFormat.parquet,
    output: Annotated[
        Path | None,
        typer.Option("--output", metavar="FILE", help="Where to write. Default: FOLDER/rows.FORMAT."),
    ] = None,
) -> None:
    """Write stored rows as a table for other programs.

    \b
    Examples:
      tauto export tautochrone-results/loop --format parquet
      tauto export tautochrone-results/loop --format csv --output rows.csv
    """  # noqa: D301
    from tautochrone.export import command as export_command

    typer.echo(export_command(folder, format.value, output))


@app.command()
def simulate(
    study: Annotated[
        str, typer.Argument(metavar="STUDY", help="loop, mapreduce, power, nbody or collective.")
    ],
    machine: Annotated[
        str | None,
        typer.Option(
            "--machine", metavar="NAME|FILE", help="A machine that comes with tauto, or a machine file."
        ),
    ] = None,
    set_: Annotated[
        list[str] | None,
        typer.Option(
            "--set", metavar="KEY=VALUE", help="Change the machine: cores.E.count=32. May be repeated."
        ),
    ] = None,
    sweep: Annotated[
        str | None,
        typer.Option(
            "--sweep", metavar="KEY=A..B[:STEPS]", help="Draw how the answer moves with the machine."
        ),
    ] = None,
    against: Annotated[
        Path | None,
        typer.Option(
            "--against",
            metavar="FOLDER",
            help="A measured study (loop, mapreduce): simulate the same on its machine, and compare.",
        ),
    ] = None,
    smpi: Annotated[
        str | None,
        typer.Option(
            "--smpi",
            metavar="LIBRARY,…",
            help="nbody, collective: run the real runner's ranks under SimGrid, with the collectives of "
            "ompi, mpich, mvapich2, impi, or all.",
        ),
    ] = None,
    ranks: Annotated[
        str | None,
        typer.Option(
            "--ranks", metavar="N,…", help="With --smpi: how many (default: all cores of one machine)."
        ),
    ] = None,
    particles: Annotated[
        int | None,
        typer.Option("--particles", metavar="N", help="With nbody --smpi: how many (default: 2048)."),
    ] = None,
    words: Annotated[
        str | None,
        typer.Option(
            "--words", metavar="N,…", help="With collective --smpi: lengths (default: 1 to 65536 words)."
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", metavar="FOLDER", help="Default: tautochrone-results/simulated-STUDY."),
    ] = None,
    json: Annotated[
        bool, typer.Option("--json", help="Print the rows as JSON lines, write nothing.")
    ] = False,
) -> None:
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
    from rich.console import Console

    if smpi is None and (ranks, particles, words) != (None, None, None):
        raise TautoError(
            "--ranks, --particles and --words belong to --smpi", "Add --smpi all, or leave them out"
        )
    if smpi is not None:
        _check_smpi(study, sweep, against, particles, words)
    if against is not None:
        if machine is not None or set_ or sweep:
            raise TautoError(
                "--against takes the machine that the study was measured on",
                "Leave out --machine, --set and --sweep",
            )
        from tautochrone.against.command import run_against_command

        raise typer.Exit(run_against_command(study, against, output, json, Console()))
    if machine is None:
        raise TautoError("no machine was named", "Add --machine i9-14900k, or --against FOLDER")
    if smpi is not None:
        from tautochrone.simulator.smpi import collectives, nbody
        from tautochrone.simulator.smpi.sweeping import Request

        request = Request(study, machine, set_ or [], smpi, ranks, output, json)
        if study == "nbody":
            raise typer.Exit(nbody.run_smpi_command(request, particles, Console()))
        raise typer.Exit(collectives.run_smpi_command(request, words, Console()))
    from tautochrone.simulator.study import run_simulate_command

    raise typer.Exit(run_simulate_command(study, machine, set_ or [], sweep, output, json, Console()))


def _check_smpi(
    study: str, sweep: str | None, against: Path | None, particles: int | None, words: str | None
) -> None:
    if study not in ("nbody", "collective"):
        raise TautoError(
            f"--smpi runs the runners of nbody and collective, and not of {study}",
            "Use tauto simulate nbody, or tauto simulate collective",
        )
    for option, given, owner in (("--particles", particles, "nbody"), ("--words", words, "collective")):
        if given is not None and study != owner:
            raise TautoError(f"{option} belongs to tauto simulate {owner} --smpi", "Leave it out")
    if sweep is not None or against is not None:
        raise TautoError("--smpi takes neither --sweep nor --against", "Leave them out, or leave out --smpi")


@app.command()
def claims(
    json: Annotated[bool, typer.Option("--json", help="Print the list as JSON.")] = False,
    only: Annotated[
        str, typer.Option("--only", metavar="ID,…", help="Only these: H3,M4, or a family: N.")
    ] = "",
    measured: Annotated[
        list[Path] | None,
        typer.Option(
            "--measured",
            metavar="FOLDER",
            help="A measured study, to decide what no simulation can; may be given several times. "
            "Default: the studies in tautochrone-results, where there are any.",
        ),
    ] = None,
) -> None:
    """Every published claim: what it says, what is shown of it here, and whether it holds.

    Claims are simulated on the published machines. What only a measurement can decide, such as programs that
    agree to the last bit, is taken from the studies that were measured here.

    \b
    Examples:
      tauto claims
      tauto claims --only H3,H6
      tauto claims --only N --measured results/nbody
      tauto claims --json > claims.json
    """  # noqa: D301
    from rich.console import Console

    from tautochrone.claims.command import run_claims_command

    raise typer.Exit(run_claims_command(json, only, measured, Console()))


def main(arguments: Sequence[str] | None = None) -> int:
    """Run ``tauto``. Returns the exit code: 0, 2 bad input, 130 interrupted, 70 a defect of ours."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    try:
        if words[:1] == ["study"]:
            _check_study(words[1:])
        code = app(args=words, prog_name="tauto", standalone_mode=False)
        if code == INTERRUPTED:
            return _interrupted(words)
        return code if isinstance(code, int) else 0
    except TautoError as error:
        return _fail(str(error))
    except KeyboardInterrupt:
        return _interrupted(words)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except Exception as error:
        return _unexpected(error)


def _check_study(words: Sequence[str]) -> None:
    from tautochrone.studies import STUDIES, unknown_study

    if words and not words[0].startswith("-") and words[0] not in STUDIES:
        raise unknown_study(words[0])


def _interrupted(words: Sequence[str]) -> int:
    """Say what became of the work; what runs a command says nothing: that was interrupted, not it."""
    if words[:1] in (["study"], ["tune"]):
        typer.echo(
            "tauto: interrupted; what was measured is kept: the same command goes on from there", err=True
        )
    elif words[:1] not in (["emulate"], ["energy"], ["trace"]):
        typer.echo("tauto: interrupted", err=True)
    return INTERRUPTED


def _fail(message: str) -> int:
    typer.echo(f"tauto: error: {message}", err=True)
    return BAD_INPUT


def _unexpected(error: Exception) -> int:
    """Wrong usage has its own message; anything else is a defect of ours and says how to report it."""
    usage: Callable[[], str] | None = getattr(error, "format_message", None)
    if usage is not None and type(error).__name__ == "NoArgsIsHelpError":
        typer.echo(usage(), err=True)
        return BAD_INPUT
    if usage is not None:
        return _fail(f"{usage().rstrip('.')}. tauto --help shows how it is used")
    if type(error).__name__ == "Abort":
        return _interrupted(())
    if os.environ.get(DEBUG_VARIABLE):
        raise error
    typer.echo(
        f"tauto: defect: {type(error).__name__}: {error}. Please report this line with the command you gave; "
        f"{DEBUG_VARIABLE}=1 shows where it happened",
        err=True,
    )
    return UNEXPECTED


def _exit() -> NoReturn:
    raise SystemExit(main())


if __name__ == "__main__":
    _exit()
