"""Commands made from requests: each field's Option, type and default become an option of the command."""

from __future__ import annotations

import dataclasses
import inspect
import shutil
import types
from collections.abc import Callable, Iterator
from difflib import get_close_matches
from importlib import import_module
from pathlib import Path
from typing import Any, Literal, Protocol, TypeVar, Union, get_args, get_origin, get_type_hints

import click

from tautochrone.cli import rendering, table
from tautochrone.errors import be_quiet
from tautochrone.options import Argument, Option, Words

CONTEXT: dict[str, Any] = {"help_option_names": ["-h", "--help"], "max_content_width": 110}
How = Option | Argument | Words
Asked = TypeVar("Asked")


class OutputClosed(Exception):
    """Nobody reads standard output any more. Of a BrokenPipeError click makes an exit code without a word."""


class Request(Protocol):
    """A dataclass that can be run. Its docstring is the help, and what it returns is the exit code."""

    def run(self) -> int:
        """Do what was asked for. Raises TautoError for what cannot be done."""


class Group(click.Group):
    """Commands that are imported only when they are asked for: ``places`` maps a name to module:request."""

    def __init__(self, name: str, help: str, places: dict[str, str]) -> None:
        super().__init__(name, help=help, context_settings=CONTEXT)
        self._places = places

    def list_commands(self, context: click.Context) -> list[str]:
        return [*self._places, *super().list_commands(context)]

    def get_command(self, context: click.Context, name: str) -> click.Command | None:
        if name not in self._places:
            return super().get_command(context, name)
        module, _, request = self._places[name].partition(":")
        return command(name, getattr(import_module(module), request))


def command(name: str, request: type[Request]) -> click.Command:
    """``tauto NAME``, from a request whose docstring is its help."""
    return made(name, request, inspect.getdoc(request) or "", lambda asked: asked.run())


def made(name: str, request: type[Asked], help: str, run: Callable[[Asked], int]) -> click.Command:
    """A command that makes a `request` of what is typed, and runs it."""
    given = list(_given(request))

    def callback(**typed: Any) -> int:
        values = {field.name: _value(how, typed[field.name]) for field, _, how in given}
        try:
            return run(request(**{name: value for name, value in values.items() if value is not None}))
        except BrokenPipeError as error:
            raise OutputClosed from error

    words = next((field.name for field, _, how in given if isinstance(how, Words)), None)
    before = any(isinstance(how, Argument) and how.many for _, _, how in given)
    parameters = [_parameter(*one) for one in given if not (before and isinstance(one[2], Words))]
    if name not in _SPEAK_THEMSELVES:
        parameters.append(_quiet())
    if words is not None and before:
        return _Parted(words, name, CONTEXT, callback, parameters, help=help)
    if words is not None:
        return _Begun(
            words, name, {**CONTEXT, "ignore_unknown_options": True}, callback, parameters, help=help
        )
    return Command(name, CONTEXT, callback, parameters, help=help)


_SPEAK_THEMSELVES = ("exec",)
"""Commands that become an executable, and say nothing themselves."""


def _quiet() -> click.Option:
    def set_quiet(context: click.Context, parameter: click.Parameter, wanted: bool) -> None:
        if wanted:
            be_quiet(True)

    return click.Option(
        ["-q", "--quiet"],
        is_flag=True,
        expose_value=False,
        callback=set_quiet,
        help="Neither progress nor warnings: only the answer, and errors.",
    )


class Command(click.Command):
    """A command whose help is made as the executable ``tauto`` has it."""

    words = False

    def get_help(self, context: click.Context) -> str:
        return help_of(self, context)


def help_of(command: click.Command, context: click.Context) -> str:
    """The help in as many columns as the terminal has."""
    name = context.command_path.partition(" ")[2] or command.name or ""
    width = rendering.width_for(shutil.get_terminal_size().columns)
    return rendering.help_text(name, table.entry(command, context), width).removesuffix("\n")


class _WithWords(Command):
    """A command with somebody else's words, which go into a field of the request."""

    words = True

    def __init__(self, field: str, *given: Any, **others: Any) -> None:
        super().__init__(*given, **others)
        self._field = field


class _Begun(_WithWords):
    """A command with somebody else's words at its end, which may begin behind a lone ``--``."""

    def parse_args(self, context: click.Context, args: list[str]) -> list[str]:
        """Words before ``--`` that begin with ``-`` are options, and no others' programs."""
        before = args[: args.index("--") if "--" in args else len(args)]
        try:
            rest = super().parse_args(context, args)
        except click.MissingParameter:
            self._refuse(next((word for word in before if word.startswith("-")), ""), context)
            raise
        words = context.params.get(self._field) or ()
        if words and words[0] in before:
            self._refuse(words[0], context)
        return rest

    def _refuse(self, word: str, context: click.Context) -> None:
        flag = word.partition("=")[0]
        known = [name for parameter in self.get_params(context) for name in parameter.opts]
        if flag.startswith("-") and flag not in known:
            raise click.NoSuchOption(flag, possibilities=get_close_matches(flag, known), ctx=context)


class _Parted(_WithWords):
    """A command with words of its own before a lone ``--``, and somebody else's behind it."""

    def parse_args(self, context: click.Context, args: list[str]) -> list[str]:
        at = args.index("--") if "--" in args else len(args)
        rest = super().parse_args(context, args[:at])
        context.params[self._field] = tuple(args[at + 1 :])
        return rest

    def collect_usage_pieces(self, context: click.Context) -> list[str]:
        return [*super().collect_usage_pieces(context), "[-- COMMAND…]"]


def _given(request: type) -> Iterator[tuple[dataclasses.Field[Any], Any, How]]:
    """The fields that are given on the command line, those of the class itself before inherited ones."""
    hints = get_type_hints(request, include_extras=True)
    own = inspect.get_annotations(request)
    for field in sorted(dataclasses.fields(request), key=lambda field: field.name not in own):
        kind, *extras = get_args(hints[field.name]) or (hints[field.name],)
        for how in extras:
            if isinstance(how, How):
                yield field, kind, how


def _parameter(field: dataclasses.Field[Any], kind: Any, how: How) -> click.Parameter:
    needed = field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING
    if isinstance(how, Words):
        return click.Argument([field.name], nargs=-1, required=needed, metavar="-- COMMAND…")
    if isinstance(how, Argument):
        number = -1 if how.many else 1
        kind = get_args(kind)[0] if how.many else kind
        return click.Argument(
            [field.name], type=_type_of(kind), required=needed, nargs=number, metavar=how.metavar
        )
    flag = how.flag or f"--{field.name.replace('_', '-')}"
    if kind is bool:
        both = f"{flag}/--no-{flag.removeprefix('--')}" if field.default else flag
        return click.Option([both, field.name], is_flag=True, default=field.default, help=how.help)
    plain = how.parse is None and not how.many
    default: dict[str, Any] = {} if needed else {"default": field.default if plain else None}
    if how.alone is not None:
        default |= {"is_flag": False, "flag_value": how.alone}
    return click.Option(
        [*how.also, flag, field.name],
        type=_type_of(kind, how.least) if plain else str,
        multiple=how.many,
        nargs=how.words,
        required=needed,
        show_default=default.get("default") is not None,
        help=how.help,
        metavar=how.metavar,
        **default,
    )


def _type_of(kind: Any, least: int | None = None) -> Any:
    """What click makes of a word for a field of that type."""
    if get_origin(kind) in (Union, types.UnionType):
        kind = next(one for one in get_args(kind) if one is not types.NoneType)
    if get_origin(kind) is Literal:
        return click.Choice(get_args(kind))
    if kind is int and least is not None:
        return click.IntRange(min=least)
    return click.Path(path_type=Path) if kind is Path else kind


def _value(how: How, typed: Any) -> Any:
    """The field's value; None leaves the default."""
    if typed is None or typed == ():
        return None
    if isinstance(how, Option) and how.parse is not None:
        return how.parse(typed)
    return typed
