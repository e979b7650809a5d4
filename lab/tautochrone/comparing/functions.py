"""Compare callables inside one process: blocks of calls in turns, as long as the clock needs them to be."""

from __future__ import annotations

import gc
import inspect
import itertools
import os
import random
import sys
import threading
import time
import tracemalloc
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Literal

from tautochrone import text
from tautochrone.comparing.analysis import narrow
from tautochrone.comparing.entries import MOST_COMMANDS
from tautochrone.comparing.looks import claims_after, planned
from tautochrone.comparing.points import judged, of_points
from tautochrone.comparing.result import Compared
from tautochrone.comparing.settings import Settings
from tautochrone.errors import TautoError

Collector = Literal["between", "inside"]
Nanoseconds = Callable[[], int]

DEFAULT_BUDGET_SECONDS = 5.0
_TICKS = 1000
"""A block is so many times as long as the smallest step of the clock: what reading costs is then 0.1 %."""

_LEAST_BLOCK_NANOSECONDS = 1_000_000
_MOST_CALLS = 1 << 24
_LOOP_NOTICED = 0.02


def functions(
    reference: Callable[[], Any],
    *rivals: Callable[[], Any],
    names: Sequence[str] = (),
    rounds: int | None = None,
    precision: float = 0.01,
    budget_seconds: float | None = None,
    collector: Collector = "between",
    seed: int = 1,
    clock: Nanoseconds = time.perf_counter_ns,
) -> Compared:
    """Compare callables without arguments; the first is the reference. Times are seconds of one call.

    Each round calls a block of each, in shuffled order, until the ratio is known within `precision` or the
    budget (5 s) is over; `rounds`: exactly so many. `collector`: whether the garbage collector runs between
    the rounds alone or as usual. TautoError for what cannot be compared: a callable that raises, or that
    gives a coroutine or generator and so does not work when it is called.
    """
    callables = [reference, *rivals]
    called = _names(callables, names)
    settings = Settings(rounds=rounds, precision=precision, budget_seconds=budget_seconds, seed=seed)
    settings.check_them(len(callables))
    if collector not in ("between", "inside"):
        raise TautoError(f"collector={collector!r} is neither 'between' nor 'inside'", "Choose one of them")
    for name, one in zip(called, callables, strict=True):
        _try_out(name, one)
    with _collecting(collector) as collect:
        calls = [_calls(name, one, clock) for name, one in zip(called, callables, strict=True)]
        return _measure(called, callables, calls, settings, collector, collect, clock)


def _measure(
    names: Sequence[str],
    callables: Sequence[Callable[[], Any]],
    calls: Sequence[int],
    settings: Settings,
    collector: Collector,
    collect: Callable[[], object],
    clock: Nanoseconds,
) -> Compared:
    points: list[list[float]] = [[] for _ in callables]
    chance = random.Random(settings.seed)

    def a_round() -> None:
        collect()
        for place in chance.sample(range(len(callables)), len(callables)):
            nanoseconds = _block(names[place], callables[place], calls[place], clock)
            points[place].append(nanoseconds / calls[place] / 1e9)

    begun = clock()
    a_round()
    round_seconds = max(1e-9, (clock() - begun) / 1e9)
    # The first round warms up and tells how long one takes; it does not count.
    for own in points:
        own.clear()
    budget = settings.budget_seconds or DEFAULT_BUDGET_SECONDS
    looks = planned(len(callables) - 1, settings.rounds, int(budget / round_seconds))
    for look in looks:
        while len(points[0]) < look:
            a_round()
        number = claims_after(len(callables) - 1, looks, look)
        rivals = [judged(own, points[0], number) for own in points[1:]]
        if rivals and all(narrow(one, settings.precision) for one in rivals):
            break
    rounds = len(points[0])
    remarks = [*_conditions(collector), *_loop(names, points, clock)]
    return of_points(names, points, looks=looks, runs=[rounds * number for number in calls], remarks=remarks)


def _names(callables: Sequence[Callable[[], Any]], names: Sequence[str]) -> list[str]:
    if len(callables) > MOST_COMMANDS:
        raise TautoError(
            f"{len(callables)} callables are too many", f"Compare up to {MOST_COMMANDS} at a time"
        )
    for one in callables:
        if not callable(one):
            raise TautoError(
                f"{one!r} cannot be called",
                "Pass functions without arguments, such as lambda: work(7); commands go to compare([...])",
            )
    if names and len(names) != len(callables):
        raise TautoError(f"{len(names)} names were given for {len(callables)} callables", "Name each")
    if names:
        return list(names)
    usual = [getattr(one, "__name__", "") or type(one).__name__ for one in callables]
    alike = len(set(usual)) < len(usual) or any(name == "<lambda>" for name in usual)
    return [f"{name} ({place})" for place, name in enumerate(usual, 1)] if alike else usual


def _try_out(name: str, function: Callable[[], Any]) -> None:
    """Call it once, and see whether the call does the work."""
    result = _called(name, function)
    kind = "coroutine" if inspect.isawaitable(result) else "generator" if inspect.isgenerator(result) else ""
    if kind:
        if inspect.iscoroutine(result):
            result.close()
        how = "asyncio.run(f())" if kind == "coroutine" else "list(f())"
        raise TautoError(
            f"{name} gives a {kind}, and calling it does none of its work", f"Pass lambda: {how}"
        )


def _called(name: str, function: Callable[[], Any]) -> Any:
    try:
        return function()
    except Exception as error:
        words = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
        needs = isinstance(error, TypeError) and "argument" in str(error)
        raise TautoError(
            f"{name} raises {words}",
            "Pass a callable without arguments: lambda: f(7)" if needs else "Call it by itself to see why",
        ) from error


def _block(name: str, function: Callable[[], Any], calls: int, clock: Nanoseconds) -> int:
    """Nanoseconds of so many calls."""
    turns = itertools.repeat(None, calls)
    try:
        begun = clock()
        for _ in turns:
            function()
        return clock() - begun
    except Exception as error:
        raise TautoError(
            f"{name} raises {type(error).__name__}: {error}, after it was called before without",
            "Let each call find what the first one found",
        ) from error


def _calls(name: str, function: Callable[[], Any], clock: Nanoseconds) -> int:
    """How many calls make a block that is long enough for the clock."""
    wanted = max(_LEAST_BLOCK_NANOSECONDS, _TICKS * _tick(clock))
    calls = 1
    while (taken := _block(name, function, calls, clock)) < wanted:
        if calls >= _MOST_CALLS:
            raise TautoError(
                f"{calls:,} calls of {name} take {taken / 1e9:.2g} s, too little to be told",
                "Let each call do more",
            )
        # Not all at once by the time of a few calls: the first ones may be slow.
        calls = min(_MOST_CALLS, calls * max(2, min(16, wanted // max(1, taken))))
    return calls


def _tick(clock: Nanoseconds) -> int:
    """The smallest step of the clock that is seen, in nanoseconds; 1 where it does not move by itself."""
    steps = []
    for _ in range(200):
        first = clock()
        second = clock()
        if second > first:
            steps.append(second - first)
    return min(steps, default=1)


@contextmanager
def _collecting(collector: Collector) -> Iterator[Callable[[], object]]:
    """What is to be called before each round. The collector is as it was at the end."""
    if collector == "inside":
        yield lambda: None
        return
    was_on, others = gc.isenabled(), gc.get_freeze_count()
    gc.disable()
    gc.collect()
    if not others:
        gc.freeze()  # what is there now need not be walked in each round
    try:
        yield gc.collect
    finally:
        if not others:
            gc.unfreeze()
        if was_on:
            gc.enable()


def _conditions(collector: Collector) -> Iterator[str]:
    """What Python does beside the work."""
    between = "the garbage collector ran between the rounds, and not inside blocks"
    inside = f"the garbage collector was {'on' if gc.isenabled() else 'off'}, as it was found"
    allocator = "" if sys.flags.ignore_environment else os.environ.get("PYTHONMALLOC", "")
    if not allocator and sys.flags.dev_mode:
        allocator = "debug"
    version = ".".join(map(str, sys.version_info[:3]))
    yield (
        f"in one process of Python {version}: {between if collector == 'between' else inside}; the allocator "
        f"is {f'that of PYTHONMALLOC={allocator}' if allocator else 'the usual one'}"
    )
    if tracemalloc.is_tracing():
        yield "tracemalloc follows each allocation, which makes them slower: stop it"
    if sys.gettrace() is not None or sys.getprofile() is not None:
        yield "a debugger, profiler or coverage follows this thread and slows Python code, not C: stop it"
    others = threading.active_count() - 1
    if others > 0:
        yield f"{text.count(others, 'other thread')} of this process may have held the interpreter"


def _loop(names: Sequence[str], points: Sequence[Sequence[float]], clock: Nanoseconds) -> Iterator[str]:
    """Where the loop around the calls is a part of their time."""
    calls = 1 << 14
    turns = itertools.repeat(None, calls)
    begun = clock()
    for _ in turns:
        pass
    loop = (clock() - begun) / calls / 1e9
    for name, own in zip(names, points, strict=True):
        if loop > _LOOP_NOTICED * min(own):
            yield (
                f"a call of {name} is so short that the loop around it ({text.seconds(loop)}) is "
                f"{text.percent(loop / min(own))} of it, which draws the ratio to 1: let each call do more"
            )
