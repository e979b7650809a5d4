"""The commands to compare, from the words behind ``--``: ``./old args : ./new args``."""

from __future__ import annotations

import itertools
import os
import re
import shlex
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

from tautochrone.comparing.result import Asked
from tautochrone.comparing.settings import Entry
from tautochrone.errors import TautoError
from tautochrone.options import split_as_a_shell

MOST_COMMANDS = 20
SEPARATOR = ":"
_LITERAL = "::"  # how a word is written that is the separator
_WRITE = "Write tauto compare -- ./old args : ./new args"


def parted(words: Sequence[str]) -> list[tuple[str, ...]]:
    """The words of each command. A lone colon parts two of them; a lone ``::`` is the word ``:``.

    TautoError for a command without words.
    """
    commands: list[list[str]] = [[]]
    for word in words:
        if word == SEPARATOR:
            commands.append([])
        else:
            commands[-1].append(SEPARATOR if word == _LITERAL else word)
    for number, command in enumerate(commands, 1):
        if not command:
            raise TautoError(
                f"command {number} of {len(commands)} is empty", f"{_WRITE}; a colon that is a word is ::"
            )
    return [tuple(command) for command in commands]


def of_lines(lines: Sequence[str]) -> list[tuple[str, ...]]:
    """The words of commands that are written as one text each, as a shell would part them."""
    return [words_of(line) for line in lines]


def words_of(command: str | Sequence[object]) -> tuple[str, ...]:
    """The words of a command. TautoError for an empty one, or a quote that is left open."""
    words = split_as_a_shell(command, "the command") if isinstance(command, str) else tuple(map(str, command))
    if not words:
        raise TautoError("one of the commands is empty", _WRITE)
    return words


def parse_parameters(pairs: Sequence[tuple[str, str]]) -> dict[str, tuple[str, ...]]:
    """[("threads", "1,2")] → {"threads": ("1", "2")}; a backslash before a comma keeps it in a value."""
    found: dict[str, tuple[str, ...]] = {}
    for name, text in pairs:
        values = tuple(value.replace("\\,", ",") for value in re.split(r"(?<!\\),", text))
        if not re.fullmatch(r"[A-Za-z_][\w-]*", name) or not all(values):
            raise TautoError(f"-L {name} {text!r} is no name with values", "Write it like -L threads 1,2,4")
        if name in found:
            raise TautoError(f"-L {name} is given twice", "Give all its values at once: 1,2,4")
        found[name] = values
    return found


def expanded(
    commands: Sequence[tuple[str, ...]], parameters: Mapping[str, Sequence[str]]
) -> list[tuple[tuple[str, ...], dict[str, str]]]:
    """Each command once for each combination of the parameters' values that it names in braces.

    Other braces are left alone. TautoError for a parameter that no command names.
    """
    for name in parameters:
        if not any("{" + name + "}" in word for words in commands for word in words):
            raise TautoError(f"no command has a {{{name}}}, which -L {name} gives", "Write it into a command")
    found = []
    for words in commands:
        named = [name for name in parameters if any("{" + name + "}" in word for word in words)]
        for values in itertools.product(*(parameters[name] for name in named)):
            chosen = dict(zip(named, values, strict=True))
            found.append((tuple(_filled(word, chosen) for word in words), chosen))
    return found


def entries_of(
    commands: Sequence[tuple[str, ...]],
    names: Sequence[str] = (),
    parameters: Mapping[str, Sequence[str]] | None = None,
    shell: str | None = None,
) -> list[Entry]:
    """The commands with their names. TautoError for too many of them, or for names that fit none.

    `shell`: each is one line for that shell.
    """
    several = expanded(commands, parameters or {})
    if len(several) > MOST_COMMANDS:
        raise TautoError(f"{len(several)} commands are too many", f"Compare up to {MOST_COMMANDS} at a time")
    if names and len(names) not in (len(several), len(commands)):
        raise TautoError(
            f"{len(names)} names were given for {len(several)} commands", "Give -n once for each command"
        )
    if len(names) == len(several):
        given = list(names)
    elif names:
        given = _by_parameter(commands, names, parameters or {})
    else:
        given = [shlex.join(words) for words, _ in several]
    if shell is not None:
        start = split_as_a_shell(shell, "--shell")
        several = [((*start, "-c", shlex.join(words)), chosen) for words, chosen in several]
    return [
        Entry(Asked(name=name, words=words))
        for name, (words, _) in zip(_told_apart(given), several, strict=True)
    ]


def check_program(entry: Entry) -> None:
    """TautoError for a command whose program is not there, or is none."""
    word = entry.asked.words[0]
    folder = Path(entry.asked.folder or ".")
    if "/" not in word:
        if shutil.which(word, path=entry.environment.get("PATH")) is None:
            raise TautoError(f"{word} was not found in PATH", f"For a file in this folder write ./{word}")
        return
    path = folder / word
    if not path.exists():
        raise TautoError(f"{path} is not there", "Build it, or correct the path")
    if path.is_dir() or not os.access(path, os.X_OK):
        raise TautoError(
            f"{path} cannot be run: it is {'a folder' if path.is_dir() else 'not executable'}",
            "Name a program"
            if path.is_dir()
            else f"chmod +x {shlex.quote(str(path))}, or name its interpreter",
        )


def _filled(word: str, values: Mapping[str, str]) -> str:
    for name, value in values.items():
        word = word.replace("{" + name + "}", value)
    return word


def _by_parameter(
    commands: Sequence[tuple[str, ...]], names: Sequence[str], parameters: Mapping[str, Sequence[str]]
) -> list[str]:
    """A name for each combination: that of its command, with the values."""
    found = []
    for words, name in zip(commands, names, strict=True):
        for _, chosen in expanded(
            [words],
            {key: parameters[key] for key in parameters if any("{" + key + "}" in word for word in words)},
        ):
            found.append(" ".join([name, *(f"{key}={value}" for key, value in chosen.items())]))
    return found


def _told_apart(names: Sequence[str]) -> list[str]:
    """The names, with a number behind those that stand there more than once."""
    found: list[str] = []
    for place, name in enumerate(names):
        earlier = names[:place].count(name)
        found.append(f"{name} ({earlier + 1})" if names.count(name) > 1 else name)
    return found
