"""The ``tauto`` command: reads what is asked, hands it to the lab, and speaks plainly when it cannot be done.

A command's module is imported only when it is asked for, so that ``tauto --help`` answers at once.
"""

from __future__ import annotations

import errno
import inspect
import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import click

from tautochrone import __version__
from tautochrone.cli.commands import CONTEXT, Group, made
from tautochrone.errors import TautoError
from tautochrone.studies import STUDIES, study_named

BAD_INPUT = 2
INTERRUPTED = 130
UNEXPECTED = 70
DEBUG_VARIABLE = "TAUTO_DEBUG"
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EFBIG)

COMMANDS = {
    "inspect": "tautochrone.inspection.command:InspectRequest",
    "tune": "tautochrone.tune.tuning:TuneCommand",
    "run": "tautochrone.cli.native_command:RunRequest",
    "version": "tautochrone.cli.version:VersionRequest",
    "machine": "tautochrone.machine.probe:MachineRequest",
    "emulate": "tautochrone.machine.emulate:EmulateRequest",
    "energy": "tautochrone.energy.command:EnergyRequest",
    "trace": "tautochrone.trace.command:TraceRequest",
    "compare": "tautochrone.results.compare:CompareRequest",
    "report": "tautochrone.cli.report:ReportRequest",
    "export": "tautochrone.results.export:ExportRequest",
    "simulate": "tautochrone.cli.simulate:SimulateRequest",
    "claims": "tautochrone.studies.claims_command:ClaimsRequest",
}

HELP = Path(__file__).with_name("help.txt")
"""The executable ``tauto`` has it built in and prints it without Python."""


class _Tauto(Group):
    def get_help(self, context: click.Context) -> str:
        return HELP.read_text(encoding="utf-8").removesuffix("\n")


class _Studies(click.Group):
    """A command for each study, made from what it says of itself and imported only when it is asked for."""

    def __init__(self) -> None:
        width = max(map(len, STUDIES))
        listed = "\n".join(f"  {name:<{width}}  {entry.what}" for name, entry in STUDIES.items())
        help = f"""Repeat a published experiment on this machine, every runtime beside the others.

\b
Studies:
{listed}
"""
        super().__init__("study", help=help, context_settings=CONTEXT, no_args_is_help=True)

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
    """Run ``tauto``. Returns the exit code: 0, 2 bad input, 130 interrupted, 70 a defect of ours."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    try:
        if not words:
            click.echo(app.get_help(click.Context(app)), err=True)
            return BAD_INPUT
        code = app.main(args=words, prog_name="tauto", standalone_mode=False)
        if code == INTERRUPTED:
            return _interrupted(words)
        sys.stdout.flush()
        return code if isinstance(code, int) else 0
    except TautoError as error:
        return _fail(str(error))
    except (KeyboardInterrupt, click.Abort):
        return _interrupted(words)
    except SystemExit as ended:
        if ended.code != 1:  # click's, when the reader of a pipe has gone
            raise
        return _unread(words)
    except BrokenPipeError:
        return _unread(words)
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.format_message(), err=True)
        return BAD_INPUT
    except click.ClickException as error:
        return _fail(f"{error.format_message().rstrip('.')}. tauto --help shows how it is used")
    except OSError as error:
        if error.errno in _FULL and error.filename is None:  # no file that we opened by its name
            return _unwritten(error)
        return _unexpected(error)
    except Exception as error:
        return _unexpected(error)


def _unread(words: Sequence[str]) -> int:
    """Nobody reads on (`| head`): no error of the command, and no reason to lose what it has done."""
    _write_no_more()
    if words[:1] in (["study"], ["tune"]):
        click.echo("tauto: nobody reads standard output; what was measured is kept", err=True)
    return 0


def _unwritten(error: OSError) -> int:
    _write_no_more()
    return _fail(f"standard output cannot be written: {error.strerror}. Make room there, or write elsewhere")


def _write_no_more() -> None:
    """Standard output goes nowhere from here on, so that its last bytes are no error when Python ends."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _interrupted(words: Sequence[str]) -> int:
    """Say what became of the work. Commands that run a program stay silent: it was interrupted, not tauto."""
    if words[:1] in (["study"], ["tune"]):
        click.echo(
            "tauto: interrupted; what was measured is kept: the same command goes on from there", err=True
        )
    elif words[:1] not in (["emulate"], ["energy"], ["trace"]):
        click.echo("tauto: interrupted", err=True)
    return INTERRUPTED


def _fail(message: str) -> int:
    click.echo(f"tauto: error: {message}", err=True)
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
