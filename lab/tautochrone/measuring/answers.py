"""Answers of our own executables, as types. Another version, or a login that greets, gives another text."""

from __future__ import annotations

from typing import Annotated, TypeVar

import msgspec

from tautochrone.errors import TautoError, printable

Errno = Annotated[int, msgspec.Meta(ge=0, lt=1 << 16)]

Kind = TypeVar("Kind")
_SHOWN = 80
_REBUILD = "It may be of another version: build it again (make)"


def read_answer(line: bytes | str, kind: type[Kind], who: str, remedy: str = _REBUILD) -> Kind:
    """The answer in a text of JSON. TautoError, with how the text begins, for anything else."""
    try:
        return msgspec.json.decode(line, type=kind)
    except (ValueError, RecursionError) as error:  # msgspec's own are ValueErrors
        text = line if isinstance(line, str) else line.decode(errors="replace")
        begin = printable(text.strip()[:_SHOWN]).replace("\n", " ")
        raise TautoError(
            f"the output of {who} cannot be read: {error}; it begins with {begin!r}", remedy
        ) from error
