"""The table of all commands, from which help, completion and manual pages are made: ``make table``.

It is made from the commands themselves, and kept as a file, so that ``tauto`` can be built where none of the
laboratory's packages are.
"""

from __future__ import annotations

import inspect
import json
from pathlib import Path
from typing import Any

import click

FILE = Path(__file__).with_name("table.json")

Entry = dict[str, Any]


def written() -> str:
    """The file's text, as the commands are now."""
    from tautochrone.cli.main import app

    context = click.Context(app, info_name="tauto", **app.context_settings)
    found = {name: entry(one, made) for name, one, made in _commands(app, context, "")}
    return json.dumps(found, indent=1, ensure_ascii=False) + "\n"


def entry(command: click.Command, context: click.Context) -> Entry:
    """A command as the table has it."""
    return {
        "usage": " ".join(command.collect_usage_pieces(context)),
        "help": inspect.cleandoc(command.help or ""),
        "words": bool(getattr(command, "words", False)),
        "options": [
            _option(one, context) for one in command.get_params(context) if isinstance(one, click.Option)
        ],
    }


def _commands(
    group: click.Group, context: click.Context, before: str
) -> list[tuple[str, click.Command, click.Context]]:
    found = []
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        made = click.Context(command, parent=context, info_name=name, **command.context_settings)
        found.append((f"{before}{name}", command, made))
        if isinstance(command, click.Group):
            found += _commands(command, made, f"{before}{name} ")
    return found


def _option(parameter: click.Option, context: click.Context) -> Entry:
    names, help = parameter.get_help_record(context) or ("", "")
    return {
        "names": names,
        "help": help,
        "flags": [*parameter.opts, *parameter.secondary_opts],
        "value": _value(parameter),
    }


def _value(parameter: click.Option) -> str | list[str]:
    """What follows the option: "" nothing, "path", "any", or one of these words."""
    if parameter.is_flag or parameter.count:
        return ""
    if isinstance(parameter.type, click.Choice):
        return [str(choice) for choice in parameter.type.choices]
    names_path = {"FILE", "FOLDER"} & {*(parameter.metavar or "").split("|")}
    return "path" if names_path or isinstance(parameter.type, click.Path) else "any"


if __name__ == "__main__":
    text = written()
    FILE.write_text(text, encoding="utf-8")
    print(f"{FILE.name}: {len(json.loads(text))} commands")
