"""``tauto inspect``, ``tauto tune`` and ``tauto run``: programs that somebody else wrote."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

_PASSED_ON = {"ignore_unknown_options": True}


def add_commands(app: typer.Typer) -> None:
    """Give the three commands to ``tauto``."""
    app.command(context_settings=_PASSED_ON)(inspect)
    app.command(context_settings=_PASSED_ON)(tune)
    app.command(context_settings=_PASSED_ON)(run)


def inspect(
    command: Annotated[
        list[str] | None, typer.Argument(metavar="-- COMMAND…", help="What to look at.")
    ] = None,
    run: Annotated[
        bool, typer.Option("--run", help="Run it once too, and see what it loads then: for scripts.")
    ] = False,
    time_limit: Annotated[float, typer.Option("--time-limit", metavar="SECONDS", help="Of that run.")] = 60.0,
    json: Annotated[bool, typer.Option("--json", help="Print the findings as JSON.")] = False,
) -> None:
    """Say what a program links and loads, whether its loops ask for their schedule, and what it may use.

    \b
    Examples:
      tauto inspect -- ./solver case.in
      tauto inspect -- mpirun -n 4 ./solver case.in
      tauto inspect --run -- python3 script.py
    """  # noqa: D301
    from rich.console import Console

    from tautochrone.inspection.command import run_inspect_command

    raise typer.Exit(run_inspect_command(command or (), run, time_limit, json, Console()))


def tune(
    command: Annotated[list[str] | None, typer.Argument(metavar="-- COMMAND…", help="What to tune.")] = None,
    objective: Annotated[
        str,
        typer.Option(
            help="time, energy, edp, ed2p, memory, 'regex:PATTERN' (small) or 'regex-max:PATTERN' (large): "
            "a number that it prints on standard output or, if not there, on standard error."
        ),
    ] = "time",
    budget: Annotated[str, typer.Option(help="How long to search: 90s, 5m, 1h.")] = "5m",
    env: Annotated[
        list[str] | None,
        typer.Option("--env", metavar="NAME=A,B", help="Try these values of a variable too."),
    ] = None,
    arg: Annotated[
        list[str] | None,
        typer.Option(
            "--arg", metavar="WORDS", help="Words for the end of the command, such as '-t {threads}'."
        ),
    ] = None,
    threads: Annotated[
        str | None, typer.Option(metavar="RANGE", help="Thread counts, also for {threads}: 1..16 or 1,2,4.")
    ] = None,
    value: Annotated[
        list[str] | None,
        typer.Option(
            "--value", metavar="NAME=A,B", help="What {NAME} in the command stands for; the first is now."
        ),
    ] = None,
    fix: Annotated[
        list[str] | None,
        typer.Option("--fix", metavar="NAME=VALUE", help="Set in every candidate but the default."),
    ] = None,
    exclude: Annotated[
        list[str] | None, typer.Option("--exclude", metavar="KNOB[=VALUE]", help="Do not try this.")
    ] = None,
    try_: Annotated[
        list[str] | None, typer.Option("--try", metavar="KNOB", help="Try this too: nice, MALLOC_ARENA_MAX …")
    ] = None,
    candidates: Annotated[int, typer.Option(help="At most so many candidates.")] = 48,
    check: Annotated[
        str | None,
        typer.Option(metavar="COMMAND", help="Reads the output; a failure makes the answer a wrong one."),
    ] = None,
    same_output: Annotated[
        bool,
        typer.Option("--same-output", help="An output that differs from the default's is a wrong answer."),
    ] = False,
    scratch: Annotated[
        bool, typer.Option("--scratch", help="Each run in a folder of its own, with a copy of what is here.")
    ] = False,
    repeat: Annotated[int, typer.Option(help="Run the command so many times in each run.")] = 1,
    launcher: Annotated[
        str, typer.Option(metavar="WORDS", help="Put in front of each run: 'srun -N1 --exclusive'.")
    ] = "",
    nodes: Annotated[int, typer.Option(help="With --launcher: so many equal nodes at a time.")] = 1,
    time_limit: Annotated[
        float | None,
        typer.Option("--time-limit", metavar="SECONDS", help="For each run. Default: ten times now."),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", metavar="FOLDER", help="Default: tautochrone-results/tune-PROGRAM."),
    ] = None,
    seed: Annotated[int, typer.Option(help="Of the order of the runs.")] = 1,
    fresh: Annotated[bool, typer.Option("--fresh", help="Start anew instead of going on.")] = False,
    report: Annotated[
        bool, typer.Option("--report/--no-report", help="Write report.html at the end.")
    ] = True,
    json: Annotated[bool, typer.Option("--json", help="Print the answer as JSON.")] = False,
    explain: Annotated[
        str | None, typer.Option(metavar="KNOB", help="Say what a knob does, and run nothing.")
    ] = None,
    record: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Search nothing: run all candidates in all rounds and keep the space."
        ),
    ] = None,
    record_rounds: Annotated[int, typer.Option(help="Rounds of --record.")] = 12,
) -> None:
    """Find the best settings for a program as it is: threads, places, schedules, binding, waiting.

    Looks what the program links, tries what can matter, and answers in words: what to set and what it
    brings, or to leave it as it is. Nothing is compiled anew, and nothing is changed in the system.

    \b
    Examples:
      tauto tune -- ./solver case.in
      tauto tune --budget 20m --objective memory -- ./solver case.in
      tauto tune --threads 1..16 -- xz -k -c -T{threads} file
      tauto tune --env MALLOC_ARENA_MAX=1,2 --fix OMP_PROC_BIND=close -- ./solver case.in
      tauto tune --objective 'regex-max:Performance: +([0-9.]+)' -- gmx mdrun -s case.tpr
      tauto tune --explain OMP_PLACES
    """  # noqa: D301
    from tautochrone.tune.options import (
        TuneRequest,
        parse_arguments,
        parse_budget,
        parse_environment,
        parse_fixed,
        parse_launcher,
        parse_range,
    )

    if explain is not None:
        from tautochrone.tune.knobs import explain as explanation

        typer.echo(explanation(explain))
        return
    from tautochrone.tune.tuning import run_tune

    values = parse_environment(value or (), "--value")
    if threads is not None:
        values["threads"] = parse_range(threads, "--threads")
    run_tune(
        TuneRequest(
            command=tuple(command or ()),
            objective=objective,
            budget_seconds=parse_budget(budget),
            environment=parse_environment(env or ()),
            arguments=parse_arguments(arg or ()),
            values=values,
            fixed=parse_fixed(fix or ()),
            excluded=tuple(exclude or ()),
            also=tuple(try_ or ()),
            most_candidates=candidates,
            check=check,
            same_output=same_output,
            scratch=scratch,
            repeat=repeat,
            launcher=parse_launcher(launcher),
            nodes=nodes,
            time_limit_seconds=time_limit,
            output=output,
            seed=seed,
            fresh=fresh,
            report=report,
            json=json,
            record=record,
            record_rounds=record_rounds,
        )
    )


def run(
    profile: Annotated[str, typer.Argument(metavar="PROFILE", help="A profile.json, or the folder of one.")],
    command: Annotated[list[str] | None, typer.Argument(metavar="-- COMMAND…", help="What to run.")] = None,
) -> None:
    """Run a command with the settings of a profile, and say where the kernel gave something else.

    The command takes the place of tauto: nothing of it is left while it runs, and the exit status is the
    command's.

    \b
    Examples:
      tauto run tautochrone-results/tune-solver -- ./solver case.in
      tauto run profile.json -- ./solver case.in
    """  # noqa: D301
    from tautochrone.native_command import become_run

    # What stands behind a lone -- may begin as an option does; the launcher would hand it back.
    name = f"./{profile}" if profile.startswith("-") else profile
    become_run([name, "--", *(command or ())])
