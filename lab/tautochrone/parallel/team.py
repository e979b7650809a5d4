"""A team of threads, and what it does with NumPy arrays."""

from __future__ import annotations

import ctypes
import operator
import weakref
from collections.abc import Sequence
from ctypes import byref, c_double, c_int64, c_void_p, sizeof
from typing import Any, Self

import numpy

from tautochrone.parallel.arrays import (
    FLOAT32,
    FLOAT64,
    INT32,
    INT64,
    UINT32,
    UINT64,
    Calls,
    call_for,
    check_apart,
    count,
    readable,
    result_like,
    within,
    writable,
)
from tautochrone.parallel.library import Options, TeamOptions, fail, library

_COMPILED = ctypes.CFUNCTYPE(None).__mro__[1]  # what all functions of ctypes are
_index = operator.index
_Double, _Int64 = c_double * 1, c_int64 * 1  # where a single result goes
WAITS = ("default", "active", "balanced", "passive")
PRIORITIES = ("normal", "low")
SCHEDULES = ("adaptive", "static", "static_chunk", "dynamic", "guided", "weighted")


def _number(words: Sequence[str], word: str, what: str) -> int:
    if word not in words:
        raise ValueError(f"there is no {what} {word!r}; choose from {', '.join(words)}")
    return words.index(word)


def _address(function: Any) -> Any:
    """A compiled function as an argument: an address, a function of ctypes, or numba's, which has one."""
    if isinstance(function, _COMPILED):
        return function
    address = function if isinstance(function, int) else getattr(function, "address", None)
    if address is None:
        kind = type(function).__name__
        raise TypeError(f"a callback is an address, a function of ctypes or numba's @cfunc, not {kind}")
    return c_void_p(address)


def _context(context: Any) -> Any:
    if isinstance(context, numpy.ndarray):
        return readable("a context", context)
    return c_void_p.from_param(context)


class Team:
    """One thread for each of a set of CPUs; the calling thread is its first member.

    `members` and `cpus` are chosen by the library where they are not given. `pin` keeps each member, and the
    thread that makes the team, on its CPU until the team is closed; what that thread starts meanwhile
    inherits its one CPU. Calls release Python's lock; those of several threads take turns.
    """

    def __init__(
        self,
        members: int = 0,
        cpus: Sequence[int] = (),
        *,
        pin: bool = True,
        wait: str = "default",
        stack_bytes: int = 0,
    ) -> None:
        self._library = library()
        options = TeamOptions(
            bytes=sizeof(TeamOptions),
            cpus=(ctypes.c_int * len(cpus))(*(within("CPU", cpu, 32) for cpu in cpus)) if cpus else None,
            cpu_count=len(cpus),
            members=within("number of members", _index(members), 32),
            wait=_number(WAITS, wait, "wait"),
            pin=pin,
            stack_bytes=within("number of bytes", _index(stack_bytes), 64),
        )
        team = c_void_p()
        status = self._library.tauto_team_create(byref(options), byref(team))
        if status:
            fail(status)
        self._team: c_void_p | None = team
        self._end = weakref.finalize(self, self._library.tauto_team_destroy, team.value)
        calls = self._library
        self._sorts: Calls = {
            FLOAT64: calls.tauto_sort_double,
            INT64: calls.tauto_sort_int64,
            UINT64: calls.tauto_sort_uint64,
            FLOAT32: calls.tauto_sort_float,
            INT32: calls.tauto_sort_int32,
            UINT32: calls.tauto_sort_uint32,
        }
        self._sums: Calls = {
            FLOAT64: (calls.tauto_sum_double, _Double),
            INT64: (calls.tauto_sum_int64, _Int64),
        }
        self._inclusive_scans: Calls = {
            FLOAT64: calls.tauto_inclusive_scan_double,
            INT64: calls.tauto_inclusive_scan_int64,
        }
        self._exclusive_scans: Calls = {
            FLOAT64: calls.tauto_exclusive_scan_double,
            INT64: calls.tauto_exclusive_scan_int64,
        }
        self._exact_sums: Calls = {FLOAT64: calls.tauto_exact_sum}
        self._least: Calls = {FLOAT64: calls.tauto_min_double}
        self._greatest: Calls = {FLOAT64: calls.tauto_max_double}
        self._histograms: Calls = {FLOAT64: calls.tauto_histogram_double, INT64: calls.tauto_histogram_int64}

    def close(self) -> None:
        """End the threads, and give the thread that made them its CPUs back; calls are refused afterwards."""
        self._team = None
        self._end()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __len__(self) -> int:
        """The number of members; 0 once it is closed."""
        return int(self._library.tauto_team_size(self._team))

    @property
    def cpus(self) -> list[int]:
        """The CPU of each member."""
        return [int(self._library.tauto_team_cpu(self._team, rank)) for rank in range(len(self))]

    def sort(self, values: Any) -> None:
        """Sort in place, ascending; NaN comes last, and first where its sign bit is set."""
        call = call_for("sort", values, self._sorts)
        status = call(self._team, writable("sort", values), count(values.size), None)
        if status:
            fail(status)

    def sum(self, values: Any) -> Any:
        """The sum, with the same bits for every team and run; of integers modulo 2 ** 64."""
        call, kind = call_for("sum", values, self._sums)
        result = kind()
        status = call(self._team, readable("sum", values), count(values.size), result, None)
        if status:
            fail(status)
        return result[0]

    def exact_sum(self, values: Any) -> float:
        """The sum, rounded once: the same bits for every order of the values too."""
        call = call_for("exact_sum", values, self._exact_sums)
        result = _Double()
        status = call(self._team, readable("exact_sum", values), count(values.size), result, None)
        if status:
            fail(status)
        return result[0]

    def inclusive_scan(self, values: Any, out: Any = None) -> Any:
        """The sums up to each value, in a new array or in `out`, which may be `values`."""
        call = call_for("inclusive_scan", values, self._inclusive_scans)
        results = result_like("inclusive_scan", values, out)
        place, to = readable("inclusive_scan", values), writable("inclusive_scan", results)
        if out is not None:
            check_apart("inclusive_scan", values, place, to)
        status = call(self._team, place, count(values.size), to, None)
        if status:
            fail(status)
        return results

    def exclusive_scan(self, values: Any, init: float = 0, out: Any = None) -> Any:
        """`init` and the sums before each value, in a new array or in `out`, which may be `values`."""
        call = call_for("exclusive_scan", values, self._exclusive_scans)
        results = result_like("exclusive_scan", values, out)
        place, to = readable("exclusive_scan", values), writable("exclusive_scan", results)
        if out is not None:
            check_apart("exclusive_scan", values, place, to)
        start = count(_index(init)) if values.dtype == INT64 else c_double(init)  # type: ignore[arg-type]
        status = call(self._team, place, count(values.size), start, to, None)
        if status:
            fail(status)
        return results

    def argmin(self, values: Any) -> int:
        """The place of the first least value; ValueError for an empty array. With NaN it is some place."""
        return self._place("argmin", values, self._least)

    def argmax(self, values: Any) -> int:
        """The place of the first greatest value."""
        return self._place("argmax", values, self._greatest)

    def _place(self, name: str, values: Any, calls: Calls) -> int:
        call = call_for(name, values, calls)
        if values.size == 0:
            raise ValueError(f"{name} of an array without elements; it has no place")
        place = _Int64()
        status = call(self._team, readable(name, values), count(values.size), place, None)
        if status:
            fail(status)
        return place[0]

    def histogram(self, values: Any, bins: int, low: float | None = None, high: float | None = None) -> Any:
        """The number of values in each bin, as int64.

        Of doubles: bins of one width from `low` to `high`, as numpy.histogram has them. Of integers: how
        often each of 0 to `bins` - 1 is there; another one is a ValueError.
        """
        call = call_for("histogram", values, self._histograms)
        bins = within("number of bins", _index(bins), 64)
        counts = numpy.zeros(max(bins, 0), dtype=numpy.int64)
        place, to = readable("histogram", values), writable("histogram", counts)
        if values.dtype == INT64:
            if low is not None or high is not None:
                raise TypeError("histogram of integers has the bins 0 to bins - 1; leave out low and high")
            status = call(self._team, place, count(values.size), count(bins), to, None)
        elif low is None or high is None:
            raise TypeError("histogram of doubles needs low and high, the edges of its first and last bin")
        else:
            edges = (c_double(low), c_double(high))
            status = call(self._team, place, count(values.size), *edges, count(bins), to, None)
        if status:
            fail(status)
        return counts

    def parallel_for(
        self,
        first: int,
        last: int,
        body: Any,
        context: Any = None,
        *,
        schedule: str = "adaptive",
        chunk: int = 0,
        members: int = 0,
        priority: str = "normal",
    ) -> None:
        """Call ``body(context, begin, end)`` for ranges [begin, end) that cover [first, last) once.

        ``void body(void* context, int64_t begin, int64_t end)`` is compiled: an address, a function of
        ctypes, or one of numba's ``@cfunc``. `context` is an address, an array, or what else ctypes passes as
        a pointer. (A Python function that ctypes has wrapped works, but one thread at a time runs Python.)
        At most `members` of the team take part, or with 0 all. A loop of `priority` "low" lets the calls of
        other threads come first.
        """
        options = None
        if schedule != "adaptive" or chunk or members or priority != "normal":
            numbers = {
                "schedule": _number(SCHEDULES, schedule, "schedule"),
                "priority": _number(PRIORITIES, priority, "priority"),
            }
            chunk = within("chunk", _index(chunk), 64)
            members = within("number of members", _index(members), 32)
            options = byref(Options(bytes=sizeof(Options), chunk=chunk, members=members, **numbers))
        call = self._library.tauto_parallel_for
        ends = (count(_index(first)), count(_index(last)))
        status = call(self._team, *ends, _address(body), _context(context), options)
        if status:
            fail(status)

    def reduce(
        self,
        first: int,
        last: int,
        map: Any,
        combine: Any = None,
        *,
        identity: float = 0.0,
        context: Any = None,
    ) -> float:
        """One double from all indices, with the same bits for every team and run.

        ``double map(void* context, int64_t begin, int64_t end)`` is the value of a range, and
        ``double combine(void* context, double left, double right)`` that of two neighbours; without it they
        are added. Both are compiled, as the body of :meth:`parallel_for`.
        """
        result = _Double()
        call = self._library.tauto_reduce_double
        ends = (count(_index(first)), count(_index(last)))
        functions = (_address(map), None if combine is None else _address(combine))
        start = c_double(identity)
        status = call(self._team, *ends, start, *functions, _context(context), result, None)
        if status:
            fail(status)
        return result[0]
