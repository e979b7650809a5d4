"""Arrays as the library for C takes them: one dimension, one after the other in memory, of a known type."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import numpy

FLOAT32 = numpy.dtype(numpy.float32)
FLOAT64 = numpy.dtype(numpy.float64)
INT32 = numpy.dtype(numpy.int32)
INT64 = numpy.dtype(numpy.int64)
UINT32 = numpy.dtype(numpy.uint32)
UINT64 = numpy.dtype(numpy.uint64)

# An array's memory as an argument of a C call. It has no length of its own, so an empty array has it too.
_Memory = ctypes.c_char * 0
_memory_of = _Memory.from_buffer
_address_of = ctypes.addressof
_ndarray = numpy.ndarray


@lru_cache(maxsize=256, typed=True)  # most calls have the lengths of an earlier one
def count(number: int) -> ctypes.c_int64:
    """A length or a place as an argument, to which nobody writes. ValueError where 64 bits do not hold it."""
    return ctypes.c_int64(within("length, place or first value", number, 64))


def within(what: str, number: int, bits: int) -> int:
    """The number. ValueError where a signed integer of so many bits does not hold it: C would cut it."""
    if not -(1 << (bits - 1)) <= number < 1 << (bits - 1):
        raise ValueError(f"{number} is no {what}; use -2^{bits - 1} to 2^{bits - 1} - 1")
    return number


Calls = Mapping[Any, Any]  # what is called, by the type of the elements


def call_for(name: str, values: Any, calls: Calls) -> Any:
    """What sorts, scans ... an array of this type. TypeError where there is no such call."""
    # A masked array would lose its mask.
    if type(values) is _ndarray or isinstance(values, numpy.memmap):
        call = calls.get(values.dtype)
        if call is not None and values.ndim == 1:
            return call
    raise _refusal(name, values, calls)


def _refusal(name: str, values: Any, calls: Calls) -> Exception:
    *others, last = (str(dtype) for dtype in calls)
    known = f"{', '.join(others)} or {last}" if others else last
    if type(values) is not _ndarray and not isinstance(values, numpy.memmap):
        kind = type(values).__name__
        return TypeError(f"{name} takes a NumPy array of {known}, not {kind}; numpy.asarray() makes one")
    if values.dtype not in calls:
        remedy = _remedy(name, values.dtype, calls)
        return TypeError(f"{name} takes an array of {known}, not {values.dtype}; {remedy}")
    return ValueError(f"{name} takes an array of one dimension, not {values.ndim}; .ravel() makes one")


def _remedy(name: str, kind: Any, calls: Calls) -> str:
    if kind.kind in "Mm":
        return "these are numbers: .view(numpy.int64) shows them, and NaT is the least"
    # The type that holds all such values.
    whole = kind.kind in "ib" or (kind.kind == "u" and kind.itemsize < INT64.itemsize)
    if not whole and kind.kind != "f":
        return "NumPy's own functions take it"
    wide = "int64" if whole and INT64 in calls else "float64"
    return f"{'sort a copy: ' if name == 'sort' else ''}.astype(numpy.{wide}) makes one"


def writable(name: str, values: Any) -> Any:
    """The memory of an array whose type is right, to be written. ValueError where it cannot be."""
    try:
        return _memory_of(values)
    except (TypeError, BufferError) as error:
        if not values.flags.c_contiguous:
            raise _with_gaps(name) from error
        raise ValueError(
            f"{name} writes to its array, and this one is read-only; .copy() makes one that is not"
        ) from error


def readable(name: str, values: Any) -> Any:
    """The same, to be read only."""
    try:
        return _memory_of(values)
    except (TypeError, BufferError) as error:
        if not values.flags.c_contiguous:
            raise _with_gaps(name) from error
        return _Memory.from_address(values.ctypes.data)  # read-only


def _with_gaps(name: str) -> ValueError:
    return ValueError(
        f"{name} takes an array whose elements lie one after the other, and this one has strides; "
        "numpy.ascontiguousarray() makes one"
    )


def result_like(name: str, values: Any, out: Any) -> Any:
    """The array for the results: `out`, or a new one."""
    if out is None:
        return numpy.empty_like(values)
    same = isinstance(out, _ndarray) and out.shape == values.shape
    if not same or (out.dtype is not values.dtype and out.dtype != values.dtype):
        raise TypeError(f"the `out` of {name} must be an array of {values.dtype} with {values.size} elements")
    return out


def check_apart(name: str, values: Any, memory: Any, to: Any) -> None:
    """ValueError where results share some of the values' memory; they may share all of it."""
    first, second = _address_of(memory), _address_of(to)
    if first != second and abs(first - second) < values.nbytes:
        raise ValueError(f"the `out` of {name} must be the array itself, or share no memory with it")
