"""Jobs in processes on this machine, as many as there are CPUs that may be used."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from queue import SimpleQueue

from tautochrone.jobs import work
from tautochrone.pool import Pool

_LEAST_JOBS = 2  # for another process


class Here:
    """Callers in several threads share the CPUs: one that finds none free gets one process all the same."""

    def __init__(self) -> None:
        self.width = len(os.sched_getaffinity(0))
        self._free = self.width
        self._lock = threading.Lock()

    def answers(self, kind: str, version: str, wanted: Mapping[str, str]) -> Iterator[tuple[str, str]]:
        together = work.kind_named(kind).TOGETHER
        with self._lent(len(wanted) // _LEAST_JOBS if together else len(wanted)) as processes:
            if processes == 1:
                yield from zip(wanted, work.do(kind, [*wanted.values()]), strict=True)
                return
            shares = work.shares(wanted, processes if together else len(wanted))
            yield from _side_by_side(kind, shares, processes)

    def close(self) -> None:
        pass

    @contextmanager
    def _lent(self, wanted: int) -> Iterator[int]:
        """How many processes may be started until this ends."""
        with self._lock:
            lent = max(1, min(wanted, self._free))
            self._free -= lent
        try:
            yield lent
        finally:
            with self._lock:
                self._free += lent


def _side_by_side(kind: str, shares: list[dict[str, str]], processes: int) -> Iterator[tuple[str, str]]:
    """The answers to all shares, of which so many are done at a time; what waits is left out at an error."""
    stop = threading.Event()
    come: SimpleQueue[tuple[str, str] | BaseException | None] = SimpleQueue()

    def serve(share: dict[str, str]) -> None:
        try:
            if not stop.is_set():
                for pair in zip(share, work.do(kind, [*share.values()], stop.is_set), strict=False):
                    come.put(pair)
            come.put(None)
        except BaseException as error:
            come.put(error)

    with Pool(processes) as pool:
        try:
            for share in shares:
                pool.submit(partial(serve, share))
            left = len(shares)
            while left:
                got = come.get()
                if isinstance(got, BaseException):
                    raise got
                if got is None:
                    left -= 1
                else:
                    yield got
        finally:
            stop.set()
