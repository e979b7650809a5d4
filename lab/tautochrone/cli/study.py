"""``tauto study NAME``: a command for each study, made from what the study says of itself."""

from __future__ import annotations

import inspect

import click

from tautochrone.cli.commands import HELP, made
from tautochrone.studies import STUDIES, study_named

_WIDTH = max(map(len, STUDIES))


class StudyGroup(click.Group):
    """The studies; the module of one is imported only when it is asked for."""

    def __init__(self) -> None:
        listed = "\n".join(f"  {name:<{_WIDTH}}  {entry.what}" for name, entry in STUDIES.items())
        help = f"""Repeat a published experiment on this machine, every runtime beside the others.

\b
Studies:
{listed}
"""
        super().__init__("study", help=help, context_settings=HELP, no_args_is_help=True)

    def list_commands(self, context: click.Context) -> list[str]:
        return list(STUDIES)

    def format_commands(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        """The help lists them."""

    def get_command(self, context: click.Context, name: str) -> click.Command:
        """The command of a study. Raises TautoError, listing the studies, for a name that is none."""
        from tautochrone.studies.study import run

        study = study_named(name)
        return made(name, study.REQUEST, inspect.getdoc(study) or "", lambda request: run(study, request))
