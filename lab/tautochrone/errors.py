"""The one exception of the lab that is meant for people."""

from __future__ import annotations

import shutil
import sys
import textwrap
import unicodedata
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Self, TextIO


class TautoError(Exception):
    """Something a user can put right: what was asked and found, and what to do about it.

    `message` says what was asked for and what was found (with the limit that was hit); `remedy` says what
    to do. Neither ends in a full stop. The command line prints ``tauto: error: message. remedy`` and
    exits 2.
    """

    def __init__(self, message: str, remedy: str = "") -> None:
        self.message = message.strip().rstrip(".")
        self.remedy = remedy.strip().rstrip(".")
        super().__init__(str(self))

    @classmethod
    def of(cls, sentence: str, begin: str = "") -> Self:
        """An executable's own words, which have the remedy after the first semicolon."""
        message, _, remedy = sentence.partition("; ")
        return cls(f"{begin}{message}", remedy[:1].upper() + remedy[1:])

    def __str__(self) -> str:
        return f"{self.message}. {self.remedy}" if self.remedy else self.message


def printable(words: str) -> str:
    """Words of somebody else's on one terminal: control characters and marks of direction are escaped.

    Ends of lines and tabs stay.
    """
    if words.isprintable():
        return words
    return "".join(one if one in "\n\t" or not _acts(one) else _escaped(one) for one in words)


def all_printable(value: object) -> object:
    """The same of every string in a value of JSON, names of fields too."""
    if isinstance(value, str):
        return printable(value)
    if isinstance(value, list):
        return [all_printable(each) for each in value]
    if isinstance(value, dict):
        return {printable(name): all_printable(each) for name, each in value.items()}
    return value


def _acts(character: str) -> bool:
    return unicodedata.category(character) in ("Cc", "Cf", "Zl", "Zp")


def _escaped(character: str) -> str:
    return character.encode("unicode_escape").decode()


@contextmanager
def explained(message: str, remedy: str) -> Iterator[None]:
    """Make an OSError of the block a TautoError: the message, and behind it what the system says."""
    try:
        yield
    except OSError as error:
        raise TautoError(f"{message}: {error.strerror or error}", remedy) from error


_quiet = False


def be_quiet(wanted: bool) -> None:
    """Whether warnings and progress are left out; errors never are."""
    global _quiet
    _quiet = wanted


def is_quiet() -> bool:
    return _quiet


def say(sentence: str) -> None:
    """Tell the user how it goes, beside the answer."""
    if not _quiet:
        print(in_lines(f"tauto: {printable(sentence)}", sys.stderr), file=sys.stderr, flush=True)


def in_lines(text: str, stream: TextIO) -> str:
    """A sentence whose lines end between words where a terminal would break them anywhere."""
    if not stream.isatty():
        return text
    columns = shutil.get_terminal_size().columns
    return "\n".join(
        textwrap.fill(line, columns, break_long_words=False, break_on_hyphens=False) if line.strip() else line
        for line in text.split("\n")
    )


@cache
def warn_once(sentence: str) -> None:
    """Tell the user what is no error; the same sentence once in a process."""
    say(f"warning: {sentence}")
