"""Arrays as the library for C takes them: one dimension, one after the other in memory, of a known type."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import numpy

FLOAT64 = numpy.dtype(numpy.float64)
INT64 = numpy.dtype(numpy.int64)
UINT64 = numpy.dtype(numpy.uint64)

# An array's memory as an argument of a C call. It has no length of its own, so an empty array has it too.
_Memory = ctypes.c_char * 0
_memory_of = _Memory.from_buffer
_address_of = ctypes.addressof
_ndarray = numpy.ndarray

# A length or a place as an argument: most calls have those of an earlier one. Nobody writes to them.
count = lru_cache(maxsize=256, typed=True)(ctypes.c_int64)

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
    known = " or ".join(str(dtype) for dtype in calls)
    if type(values) is not _ndarray and not isinstance(values, numpy.memmap):
        kind = type(values).__name__
        return TypeError(f"{name} takes a NumPy array of {known}, not {kind}; numpy.asarray() makes one")
    if values.dtype not in calls:
        first = next(iter(calls))
        return TypeError(
            f"{name} takes an array of {known}, not {values.dtype}; .astype(numpy.{first}) makes one"
        )
    return ValueError(f"{name} takes an array of one dimension, not {values.ndim}; .ravel() makes one")


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
