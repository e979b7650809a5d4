"""Help and manual pages of the commands in the table. Needs nothing but Python, so a build can use it."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator, Mapping
from typing import Any

Entry = Mapping[str, Any]

WIDE, NARROW = 80, 40
"""Columns that a help is made for; a terminal gets the widest that fits."""

UNWRAPPED = "\b"
"""The line above a paragraph whose ends of lines stay."""


def width_for(columns: int) -> int:
    return WIDE if columns >= WIDE else NARROW


def help_text(name: str, entry: Entry, width: int) -> str:
    """What ``tauto NAME --help`` prints in so many columns."""
    usage = f"tauto {name} {entry['usage']}"
    lines = [*_filled(usage, width, "Usage: ", " " * 9), ""]
    for paragraph in paragraphs(entry["help"]):
        lines += _paragraph(paragraph, width)
        lines.append("")
    lines += ["Options:", *_options(entry, width)]
    return "\n".join(line.rstrip() for line in lines) + "\n"


def main_help(help: str, width: int) -> str:
    """What ``tauto --help`` prints in so many columns; `help` is 80 columns wide."""
    if width >= WIDE:
        return help
    lines: list[str] = []
    for line in help.removesuffix("\n").split("\n"):
        what, *others = re.split(r" {2,}", line.strip())
        indent = line[: len(line) - len(line.lstrip())]
        lines += _filled(what, width, indent, f"{indent}  ") or [""]
        for other in others:
            lines += _filled(other, width, " " * 6, " " * 6)
    return "\n".join(lines) + "\n"


def paragraphs(help: str) -> list[str]:
    """The paragraphs of a docstring."""
    return [one.strip("\n") for one in help.split("\n\n") if one.strip()]


def _paragraph(paragraph: str, width: int) -> Iterator[str]:
    first, _, rest = paragraph.partition("\n")
    if first.strip() != UNWRAPPED:
        yield from _filled(" ".join(paragraph.split()), width, "  ", "  ")
        return
    for line in rest.split("\n"):
        if len(line) + 2 <= width:
            yield f"  {line}"
        else:
            yield from _continued(line, width)


def _continued(line: str, width: int) -> Iterator[str]:
    """A line that is too long: a command goes on behind a backslash, so that it can be pasted still."""
    indent = "  " + line[: len(line) - len(line.lstrip())]
    what, *explained = re.split(r" {2,}", line.strip())
    is_command = what.startswith("tauto ")
    quoted = re.sub(r"'[^']*'", lambda match: match[0].replace(" ", _HELD), what)
    parts = [
        part.replace(_HELD, " ") for part in _filled(quoted, width - 2 * is_command, indent, f"{indent}    ")
    ]
    end = " \\" if is_command else ""
    yield from (f"{part}{end}" for part in parts[:-1])
    yield parts[-1]
    for other in explained:
        yield from _filled(other, width, f"{indent}    ", f"{indent}    ")


_HELD = "\0"
"""In place of a space at which no line ends."""


def _options(entry: Entry, width: int) -> Iterator[str]:
    rows = [(option["names"], option["help"]) for option in entry["options"]]
    column = min(max((len(names) for names, _ in rows), default=0), 26) + 4
    for names, help in rows:
        if width == NARROW:
            yield from _filled(names, width, "  ", "    ")
            yield from _filled(help, width, " " * 6, " " * 6)
            continue
        lines = _filled(help, width, " " * column, " " * column) or [""]
        if len(names) + 4 <= column:
            lines[0] = f"  {names}".ljust(column) + lines[0].lstrip()
        else:
            yield f"  {names}"
        yield from lines


def _filled(text: str, width: int, first: str, others: str) -> list[str]:
    """Lines that are broken between words alone."""
    return textwrap.wrap(
        text,
        width,
        initial_indent=first,
        subsequent_indent=others,
        break_long_words=False,
        break_on_hyphens=False,
    )


# -- manual pages --


_EXIT = """0 done; 2 bad input; 70 a defect of tauto; 130 interrupted; 141 nobody reads the output.
A command that tauto runs gives its own."""


def manual(name: str, entry: Entry, version: str) -> str:
    """The page ``tauto-NAME(1)``, for man."""
    title = f"tauto-{name.replace(' ', '-')}"
    first, *others = paragraphs(entry["help"])
    lines = [f'.TH "{title.upper()}" 1 "" "tautochrone {version}" "tautochrone"', ".SH NAME"]
    lines += [f"{_roff(title)} \\- {_roff(' '.join(first.split()).rstrip('.'))}", ".SH SYNOPSIS"]
    lines += [f".B tauto {_roff(name)}", _roff(entry["usage"]), ".SH DESCRIPTION"]
    for paragraph in [first, *others]:
        begin, _, rest = paragraph.partition("\n")
        if begin.strip() == UNWRAPPED:
            lines += [".PP", ".nf", *(_roff(line) for line in rest.split("\n")), ".fi"]
        else:
            lines += [".PP", _roff(" ".join(paragraph.split()))]
    lines.append(".SH OPTIONS")
    for option in entry["options"]:
        lines += [".TP", f".B {_roff(option['names'])}", _roff(option["help"])]
    lines += [".SH EXIT STATUS", _EXIT]
    lines += [".SH SEE ALSO", ".BR tauto (1)"]
    return "\n".join(lines) + "\n"


def main_manual(help: str, version: str) -> str:
    """The page ``tauto(1)``, whose text is what ``tauto --help`` prints."""
    return "\n".join(
        [
            f'.TH "TAUTO" 1 "" "tautochrone {version}" "tautochrone"',
            ".SH NAME",
            "tauto \\- measures, compares and explains parallel programs on cores of unequal speed",
            ".SH SYNOPSIS",
            ".B tauto",
            "COMMAND [OPTIONS]",
            ".SH DESCRIPTION",
            ".nf",
            *(_roff(line) for line in help.split("\n")[1:]),
            ".fi",
            "",
        ]
    )


def _roff(text: str) -> str:
    escaped = text.replace("\\", "\\e").replace("-", "\\-")
    return f"\\&{escaped}" if escaped[:1] in (".", "'") else escaped
