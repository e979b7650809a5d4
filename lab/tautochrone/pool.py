"""Several threads that share work; unlike Python's own, they begin or there is an error soon."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future
from functools import partial
from queue import SimpleQueue
from typing import Self, TypeVar

from tautochrone.threads import started

Item = TypeVar("Item")
Result = TypeVar("Result")


class Pool:
    """So many threads, which do what they are given in its order. TautoError where they cannot be had.

    As a context it ends when all of it is done.
    """

    def __init__(self, threads: int) -> None:
        self._work: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        self._ended: list[threading.Event] = []
        try:
            for _ in range(threads):
                self._ended.append(started(self._serve))
        except BaseException:
            self.close()
            raise

    def submit(self, work: Callable[[], Result]) -> Future[Result]:
        """What this will have returned, or raised, in one of the threads."""
        future: Future[Result] = Future()
        self._work.put(partial(_do, work, future))
        return future

    def map(self, work: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[Result]:
        """What comes of each item, in their order. Where one raises, those that wait are left out."""
        futures = [self.submit(partial(work, item)) for item in items]
        try:
            for future in futures:
                yield future.result()
        finally:
            for future in futures:
                future.cancel()

    def close(self) -> None:
        """Let the threads end once they have done what they were given; nothing is waited for."""
        for _ in self._ended:
            self._work.put(None)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
        for ended in self._ended:
            ended.wait()

    def _serve(self) -> None:
        while (work := self._work.get()) is not None:
            work()


def _do(work: Callable[[], Result], future: Future[Result]) -> None:
    if not future.set_running_or_notify_cancel():
        return
    try:
        future.set_result(work())
    except BaseException as error:
        future.set_exception(error)
