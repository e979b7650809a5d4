"""libtauto.so.1, the runtime for C: where it is, how its calls look, and what their codes become."""

from __future__ import annotations

import ctypes
from ctypes import POINTER, c_char_p, c_int, c_int64, c_size_t, c_void_p
from functools import cache
from typing import NoReturn

from tautochrone.errors import TautoError
from tautochrone.machine import runners

NAME = "libtauto.so.1"
VERSION = 100  # of tauto.h, with which the structures below agree

_REFUSED, _NO_MEMORY = 2, 3


class TeamOptions(ctypes.Structure):
    """``tauto_team_options``."""

    _fields_ = (
        ("bytes", c_size_t),
        ("cpus", POINTER(c_int)),
        ("cpu_count", c_size_t),
        ("members", c_int),
        ("wait", c_int),
        ("pin", c_int),
        ("stack_bytes", c_size_t),
        ("name", c_char_p),
        ("on_start", c_void_p),
        ("context", c_void_p),
    )


class Options(ctypes.Structure):
    """``tauto_options``."""

    _fields_ = (
        ("bytes", c_size_t),
        ("schedule", c_int),
        ("chunk", c_int64),
        ("stop", c_void_p),
        ("grain", c_int64),
        ("site", c_void_p),
        ("name", c_char_p),
        ("members", c_int),
        ("priority", c_int),
    )


@cache
def library() -> ctypes.CDLL:
    """The library: where the executables are, else the system's. TautoError where there is none that fits.

    Arguments are objects of ctypes, of the types in ``tauto.h``; an int of Python would become a C int. With
    `argtypes` ctypes would convert each of them once more, half a microsecond a call.
    """
    loaded = _load()
    loaded.tauto_message.restype = c_char_p
    loaded.tauto_team_destroy.argtypes = (c_void_p,)
    loaded.tauto_team_destroy.restype = None
    if loaded.tauto_version() < VERSION:
        raise TautoError(f"{loaded._name} is older than this package", "Remove it, or install both anew")
    return loaded


def _load() -> ctypes.CDLL:
    folders = runners.folders()
    found = [folder / NAME for folder in folders if (folder / NAME).is_file()]
    try:
        return ctypes.CDLL(str(found[0].resolve()) if found else NAME)
    except OSError as error:
        remedy = runners.remedy("", NAME)
        if found:
            raise TautoError(f"{found[0]} cannot be loaded: {error}", remedy) from error
        searched = ", ".join(map(str, folders))
        raise TautoError(
            f"{NAME} was not found in {searched}, nor by the system ({error})", remedy
        ) from error


def fail(status: int) -> NoReturn:
    """Raise what a code other than 0 means, with the words of the library."""
    words = library().tauto_message().decode(errors="replace")
    if status == _REFUSED:
        raise ValueError(words)
    if status == _NO_MEMORY:
        raise MemoryError(words)
    raise RuntimeError(words)
