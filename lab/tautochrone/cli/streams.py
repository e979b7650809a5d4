"""Standard input, output and error as a command finds them: closed, full, read by nobody, ASCII alone."""

from __future__ import annotations

import codecs
import errno
import io
import os
import sys
from contextlib import suppress

from tautochrone.cli.limits import limits

_ERRORS = "tautochrone"
# What the lab's own words have beside ASCII.
_ASCII = {
    "µ": "u",
    "×": "x",
    "÷": "/",
    "±": "+-",
    "·": "*",
    "²": "2",
    "−": "-",
    "–": "-",
    "—": "-",
    "…": "...",
    "’": "'",
    "‘": "'",
    "“": '"',
    "”": '"',
    "→": "->",
    "≥": ">=",
    "≤": "<=",
    "≈": "~",
    "Σ": "sum",
    "\N{NO-BREAK SPACE}": " ",
    "\N{NARROW NO-BREAK SPACE}": " ",
    "\N{THIN SPACE}": " ",
}

_UNMAPPED = ("failed to map segment", "cannot allocate memory", "cannot create shared object descriptor")
"""What the loader of libraries says, in small letters."""

REMEDIES = {
    errno.ENOSPC: "Make room there",
    errno.EDQUOT: "Make room there, or ask for a larger quota",
    errno.EFBIG: "Raise the limit on file sizes (ulimit -f)",
    errno.EMFILE: "Raise the limit on open files (ulimit -n)",
    errno.ENFILE: "Close files of other programs",
    errno.EAGAIN: "Raise the limit on processes (ulimit -u), or end some",
    errno.ENOMEM: "Free memory, or raise the limit on it (ulimit -v)",
    errno.ENAMETOOLONG: "Give it a shorter name",
    errno.EACCES: "Choose a place that you may use",
    errno.EPERM: "Choose a place that you may use",
    errno.EROFS: "Choose a place that can be written",
}


def prepare() -> None:
    """Let whatever is printed be printable, and let no file get the number of a stream that is closed."""
    codecs.register_error(_ERRORS, _printable)
    for number in (0, 1, 2):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # the lowest number that is free: this one
    for name, number in (("stdout", 1), ("stderr", 2)):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, open(number, "w", encoding="utf-8", closefd=False))  # noqa: SIM115
        elif isinstance(stream, io.TextIOWrapper):
            with suppress(OSError, ValueError):
                stream.reconfigure(errors=_ERRORS)


def explanation(error: Exception) -> str | None:
    """What the system refused, for people; None for an exception that is none of the system's refusals."""
    number = error.errno if isinstance(error, OSError) else None
    if _got_no_memory(error):
        error = MemoryError()
    if isinstance(error, MemoryError) or "can't start new thread" in str(error):
        number = errno.ENOMEM if isinstance(error, MemoryError) else errno.EAGAIN
    elif not isinstance(error, OSError):
        return None
    what = f"{os.fsdecode(error.filename)!s}: " if isinstance(error, OSError) and _named(error) else ""
    words = os.strerror(number) if number is not None else str(error)
    remedy = REMEDIES.get(number or 0, "Put that right, and start the same command again")
    return f"the system refused: {what}{words}. {remedy}"


def _got_no_memory(error: BaseException | None) -> bool:
    """Whether a library could not be loaded for want of memory, whatever was made of that error since.

    Python raises a SystemError where a library failed without a word. Under a limit that is want of memory.
    """
    if isinstance(error, SystemError):
        return bool(limits())
    while error is not None and isinstance(error, ImportError):
        if any(words in str(error).lower() for words in _UNMAPPED):
            return True
        error = error.__cause__ or error.__context__
    return False


def end_output() -> str | None:
    """Write what is still held. Returns why standard output cannot take it; None where it can."""
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        forget_output()
    except (OSError, ValueError) as error:
        forget_output()
        return getattr(error, "strerror", None) or str(error)
    return None


def forget_output() -> None:
    """Let Python find nothing to write, and nobody to complain of, when it ends."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _named(error: OSError) -> bool:
    return isinstance(error.filename, str | bytes) and len(error.filename) > 0


def _printable(error: UnicodeError) -> tuple[str, int]:
    """Words for characters that the terminal's encoding does not have, and for bytes that are no text."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    words = [_word(one) for one in error.object[error.start : error.end]]
    return "".join(words), error.end


def _word(character: str) -> str:
    code = ord(character)
    if 0xDC80 <= code <= 0xDCFF:  # as Python has bytes of names that are not UTF-8
        return f"\\x{code - 0xDC00:02x}"
    if 0x2500 <= code <= 0x259F:  # lines and blocks of tables and bars
        return "-" if code in (0x2500, 0x2501) else "|" if code in (0x2502, 0x2503) else "#"
    return _ASCII.get(character) or character.encode("ascii", "backslashreplace").decode()
