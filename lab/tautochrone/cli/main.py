"""The ``tauto`` command: reads what is asked, hands it to the lab, and speaks plainly when it cannot be done.

A command's module is imported only when it is asked for, so that ``tauto --help`` answers at once.
"""

from __future__ import annotations

import inspect
import os
import re
import shutil
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import click

from tautochrone import __version__
from tautochrone.cli import rendering, streams
from tautochrone.cli.commands import CONTEXT, Group, OutputClosed, help_of, made
from tautochrone.cli.limits import GIVE_THE_TERMINAL
from tautochrone.errors import TautoError, be_quiet, in_lines, printable
from tautochrone.studies import STUDIES, study_named

BAD_INPUT = 2
INTERRUPTED = 130
OUTPUT_CLOSED = 141
UNEXPECTED = 70
DEBUG_VARIABLE = "TAUTO_DEBUG"

COMMANDS = {
    "inspect": "tautochrone.inspection.command:InspectRequest",
    "tune": "tautochrone.tune.tuning:TuneCommand",
    "run": "tautochrone.cli.native_command:RunRequest",
    "version": "tautochrone.cli.version:VersionRequest",
    "machine": "tautochrone.machine.probe:MachineRequest",
    "emulate": "tautochrone.machine.emulate:EmulateRequest",
    "balance": "tautochrone.machine.balance:BalanceRequest",
    "decompose": "tautochrone.machine.decompose:DecomposeRequest",
    "energy": "tautochrone.energy.command:EnergyRequest",
    "trace": "tautochrone.trace.command:TraceRequest",
    "compare": "tautochrone.comparing.command:CompareCommand",
    "list": "tautochrone.results.listing:ListRequest",
    "report": "tautochrone.cli.report:ReportRequest",
    "export": "tautochrone.results.export:ExportRequest",
    "simulate": "tautochrone.cli.simulate:SimulateRequest",
    "claims": "tautochrone.studies.claims_command:ClaimsRequest",
    "share": "tautochrone.studies.share_command:ShareRequest",
    "exec": "tautochrone.cli.exec_command:ExecRequest",
    "completion": "tautochrone.cli.completion_command:CompletionRequest",
}

HELP = Path(__file__).with_name("help.txt")
"""The executable ``tauto`` has it built in and prints it without Python."""


class _Tauto(Group):
    def get_help(self, context: click.Context) -> str:
        width = rendering.width_for(shutil.get_terminal_size().columns)
        return rendering.main_help(HELP.read_text(encoding="utf-8"), width).removesuffix("\n")


class _Studies(click.Group):
    """A command for each study, made from what it says of itself and imported only when it is asked for."""

    def __init__(self) -> None:
        width = max(map(len, STUDIES))
        listed = "\n".join(f"  {name:<{width}}  {entry.what}" for name, entry in STUDIES.items())
        help = f"""Repeat a published experiment on this machine.

Every runtime is measured beside the others.

\b
Studies:
{listed}

Their executables are compiled here, against the libraries that are here; --build does it.

\b
Examples:
  tauto study --build             compile those of all studies
  tauto study --build loop        compile those of the study loop, then measure
"""
        super().__init__(
            "study", help=help, context_settings=CONTEXT, no_args_is_help=True, invoke_without_command=True
        )
        self.params.append(
            click.Option(["--build"], is_flag=True, help="Compile first what the study starts.")
        )

    def invoke(self, context: click.Context) -> object:
        if context.params["build"]:
            from tautochrone.studies.building import build

            names = [str(word) for word in context._protected_args] or list(STUDIES)
            for name in names:
                study_named(name)
            build(names)
        return super().invoke(context)

    def get_help(self, context: click.Context) -> str:
        return help_of(self, context)

    def list_commands(self, context: click.Context) -> list[str]:
        return list(STUDIES)

    def format_commands(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        """The help lists them."""

    def get_command(self, context: click.Context, name: str) -> click.Command:
        """The command of a study. Raises TautoError, listing the studies, for a name that is none."""
        from tautochrone.studies.study import run

        study = study_named(name)
        return made(name, study.REQUEST, inspect.getdoc(study) or "", lambda request: run(study, request))


app = _Tauto("tauto", "", COMMANDS)
app.add_command(_Studies())


def _print_version(context: click.Context, option: click.Parameter, wanted: bool) -> None:
    if wanted:
        click.echo(f"tautochrone {__version__}")
        context.exit()


app.params.append(
    click.Option(
        ["--version"],
        is_flag=True,
        is_eager=True,
        expose_value=False,
        callback=_print_version,
        help="Print the version and exit.",
    )
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run ``tauto``. Returns the exit code: 0, 2 bad input, 130 interrupted, 70 a defect of ours.

    141, as of a program that SIGPIPE ends, where nobody reads the output of a search or study any more.
    """
    words = list(sys.argv[1:] if arguments is None else arguments)
    streams.prepare()
    be_quiet(False)
    code = _run(words)
    why = streams.end_output()
    if why is not None and code == 0:
        return _fail(f"standard output cannot be written: {why}. Is the disk full?")
    return code


def _run(words: Sequence[str]) -> int:
    try:
        if not words:
            click.echo(app.get_help(click.Context(app)), err=True)
            return BAD_INPUT
        code = app.main(args=list(words), prog_name="tauto", standalone_mode=False)
        if code == INTERRUPTED:
            return _interrupted(words)
        return code if isinstance(code, int) else 0
    except TautoError as error:
        return _fail(str(error))
    except (KeyboardInterrupt, click.Abort):
        return _interrupted(words)
    except (OutputClosed, BrokenPipeError, SystemExit):  # click ends so where its help is not read
        return _closed(words)
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.format_message(), err=True)
        return BAD_INPUT
    except click.ClickException as error:
        return _fail(f"{_sentence(error.format_message())} {_usage_of(getattr(error, 'ctx', None))}")
    except Exception as error:
        why = streams.explanation(error)
        if why is not None and not os.environ.get(DEBUG_VARIABLE):
            return _fail(why)
        return _unexpected(error)


def _sentence(message: str) -> str:
    words = " ".join(message.split())
    return words if words.endswith("?") else f"{words.rstrip('.')}."


def _usage_of(context: click.Context | None) -> str:
    """The command's own example, and where there is more."""
    if context is None or context.parent is None:
        return "tauto --help shows how it is used"
    example = re.search(r"^ *(tauto .+)$", context.command.help or "", re.MULTILINE)
    written = f"Write it like {example[1]}; " if example else ""
    return f"{written}{context.command_path} --help shows {'more' if written else 'how it is used'}"


def _closed(words: Sequence[str]) -> int:
    """Nobody reads the output. It is all that most commands do; of what was measured nothing is lost."""
    streams.forget_output()
    if words[:1] in (["study"], ["tune"]):
        with suppress(OSError):
            click.echo(
                "tauto: nobody reads standard output any more; what was measured is kept: "
                "the same command goes on from there",
                err=True,
            )
        return OUTPUT_CLOSED
    return 0


def _interrupted(words: Sequence[str]) -> int:
    """Say what became of the work. Commands that run a program stay silent: it was interrupted, not tauto."""
    if words[:1] in (["study"], ["tune"]):
        click.echo(
            "tauto: interrupted; what was measured is kept: the same command goes on from there", err=True
        )
    elif next(iter(words), "") not in GIVE_THE_TERMINAL:
        click.echo("tauto: interrupted", err=True)
    return INTERRUPTED


def _fail(message: str) -> int:
    with suppress(OSError):  # standard error may be full or closed too
        click.echo(in_lines(f"tauto: error: {printable(message)}", sys.stderr), err=True)
    return BAD_INPUT


def _unexpected(error: Exception) -> int:
    """A defect of ours says how to report it."""
    if os.environ.get(DEBUG_VARIABLE):
        raise error
    click.echo(
        f"tauto: defect: {type(error).__name__}: {error}. Please report this line with the command you gave; "
        f"{DEBUG_VARIABLE}=1 shows where it happened",
        err=True,
    )
    return UNEXPECTED


if __name__ == "__main__":
    raise SystemExit(main())
