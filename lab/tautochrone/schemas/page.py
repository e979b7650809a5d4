"""The page of all schemas, made from their types; ``python -m tautochrone.schemas.page`` writes it."""

from __future__ import annotations

import ast
import dataclasses
import inspect
import io
import re
import sys
import tokenize
import types
import typing
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Literal, get_args, get_origin, get_type_hints

import msgspec

from tautochrone.schemas.known import KEPT_AS_WRITTEN, Schema, schemas

PAGE = Path("docs/schemas.md")
_HEAD = """# Forms of JSON

Every object says in `schema` what it is, with its version. A field may be added under the same version; a
field that goes or changes makes the next. A reader should pass over fields that it does not know. Units are
in the names of fields. Null is never 0: it means that something was not measured. What a command prints with
`--json` is one object, a field a line; `rows.jsonl` and what executables print are an object a line.

This page is made from the types by `make schemas`. Descriptions of machines (`tautochrone.machine-file/1`)
are TOML: [simulation](simulate.md) and `machines/template.toml` explain them.
"""
_PLAIN: Mapping[Any, str] = {
    str: "text",
    int: "whole number",
    float: "number",
    bool: "true or false",
    type(None): "null",
    Any: "anything",
    object: "anything",
}
_COUNTED = (str, int, float)


def page() -> str:
    """The whole page."""
    found = schemas()
    parts = _parts(found)
    titles = _titles(parts)
    lines = [_HEAD, "| schema | who writes it |", "|---|---|"]
    lines += [f"| [{one.name}](#{_anchor(one.name)}) | {one.who} |" for one in found]
    for one in found:
        lines += ["", f"## {one.name}", "", f"{one.who[:1].upper()}{one.who[1:]}. {_about(one.type)}", ""]
        lines += _table(one.type, titles, one.name)
    lines += ["", "## Parts", "", "What the fields above refer to."]
    for part in parts:
        lines += ["", f"### {titles[part]}", "", _about(part), "", *_table(part, titles)]
    return "\n".join(lines) + "\n"


def _table(of: type, titles: Mapping[type, str], schema: str = "") -> Iterator[str]:
    yield "| field | holds | |"
    yield "|---|---|---|"
    known, meant = _fields(of), _comments(of)
    if schema and "schema" not in known:
        yield f"| `schema` | text | `{schema}` |"
    for name, kind in known.items():
        meaning = f"`{schema}`" if schema and name == "schema" else meant.get(name, "")
        yield f"| `{name}` | {_words(kind, titles)} | {_cell(meaning)} |"


def _fields(of: type) -> dict[str, Any]:
    """The name of each field in JSON, and its type."""
    if dataclasses.is_dataclass(of):
        hints = get_type_hints(of, include_extras=True)
        return {field.name: hints[field.name] for field in dataclasses.fields(of)}
    return {field.encode_name: field.type for field in msgspec.structs.fields(of)}


def _is_structure(kind: Any) -> bool:
    is_struct = isinstance(kind, type) and issubclass(kind, msgspec.Struct)
    return is_struct or (isinstance(kind, type) and dataclasses.is_dataclass(kind))


def _inside(kind: Any) -> Iterator[type]:
    """The structures that a type is made of, not those inside these."""
    if _is_structure(kind):
        yield kind
    for argument in get_args(kind):
        yield from _inside(argument)


def _parts(found: Sequence[Schema]) -> list[type]:
    """Every structure that a schema holds and that is none itself, by name."""
    whole = {one.type for one in found}
    parts: dict[type, None] = {}
    waiting = [*KEPT_AS_WRITTEN]
    waiting += [kind for one in found for field in _fields(one.type).values() for kind in _inside(field)]
    while waiting:
        kind = waiting.pop()
        if kind not in whole and kind not in parts:
            parts[kind] = None
            waiting += [inner for field in _fields(kind).values() for inner in _inside(field)]
    return sorted(parts, key=lambda part: (part.__name__, part.__module__))


def _titles(parts: Sequence[type]) -> dict[type, str]:
    """Their names, and of which package they are where two have the same."""
    names = [part.__name__ for part in parts]
    return {
        part: part.__name__
        if names.count(part.__name__) == 1
        else f"{part.__name__} of {part.__module__.removeprefix('tautochrone.')}"
        for part in parts
    }


def _anchor(title: str) -> str:
    """As GitHub and mkdocs name a heading."""
    return re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-")


def _words(kind: Any, titles: Mapping[type, str]) -> str:
    if kind in _PLAIN:
        return _PLAIN[kind]
    if _is_structure(kind):
        title = titles.get(kind)
        return f"[{title}](#{_anchor(title)})" if title else f"a {kind.__name__}"
    origin, arguments = get_origin(kind), get_args(kind)
    if origin is typing.Annotated:
        return _words(arguments[0], titles)
    if origin is Literal:
        return ", ".join(f"`{value}`" for value in arguments)
    if origin in (typing.Union, types.UnionType):
        return " or ".join(_words(argument, titles) for argument in arguments)
    if origin is tuple and arguments[-1] is not ...:
        return f"list: {', '.join(_words(argument, titles) for argument in arguments)}"
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return f"{_words(arguments[0], titles)} → {_words(arguments[1], titles)}"
    if arguments:
        one = _words(arguments[0], titles)
        return f"list of {one}s" if arguments[0] in _COUNTED else f"list of {one}"
    return "an object" if kind in (dict, Mapping) else str(kind)


# -- what the source says beside the types --


def _about(of: type) -> str:
    """The class's docstring, as one paragraph."""
    said = inspect.cleandoc(of.__dict__.get("__doc__") or "")
    is_generated = said.startswith(f"{of.__name__}(")  # that of a dataclass without one
    return "" if is_generated else re.sub(r"\s+", " ", said).replace("``", "`")


def _comments(of: type) -> dict[str, str]:
    """The comment in the line of each field, of the class and of those that it derives from."""
    found: dict[str, str] = {}
    for base in reversed(of.__mro__):
        if base.__module__.startswith("tautochrone."):
            found |= _of_module(base.__module__).get(base.__qualname__, {})
    return found


@cache
def _of_module(name: str) -> dict[str, dict[str, str]]:
    source = inspect.getsource(sys.modules[name])
    in_line = {
        token.start[0]: token.string.removeprefix("#").strip()
        for token in tokenize.generate_tokens(io.StringIO(source).readline)
        if token.type == tokenize.COMMENT
    }
    return {
        node.name: {
            field.target.id: in_line[field.lineno]
            for field in node.body
            if isinstance(field, ast.AnnAssign)
            and isinstance(field.target, ast.Name)
            and field.lineno in in_line
        }
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.ClassDef)
    }


def _cell(words: str) -> str:
    return words.replace("``", "`").replace("|", "\\|")


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
    print(f"{PAGE}: {len(schemas())} schemas")
