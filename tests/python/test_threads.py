"""A thread begins, or there is a clear error soon."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest

from tautochrone import threads
from tautochrone.errors import TautoError


@pytest.mark.timed
def test_a_thread_has_begun_and_tells_its_end() -> None:
    may_end, done = threading.Event(), []
    ended = threads.started(lambda: done.append(may_end.wait(60)))
    assert not ended.is_set()
    may_end.set()
    assert ended.wait(60)
    assert done == [True]


def refuses(work: Callable[[], None], words: tuple[()]) -> int:
    raise RuntimeError("can't start new thread")


def ends_before_it_begins(work: Callable[[], None], words: tuple[()]) -> int:
    """As where memory fails in the new thread."""
    return 1


@pytest.mark.timed
@pytest.mark.parametrize("start", [refuses, ends_before_it_begins])
def test_a_thread_that_does_not_begin_is_an_error(monkeypatch: pytest.MonkeyPatch, start: object) -> None:
    monkeypatch.setattr(threads, "start_new_thread", start)
    monkeypatch.setattr(threads, "_LOOK_SECONDS", 1e-3)
    done: list[int] = []
    with pytest.raises(TautoError, match="no thread could be started"):
        threads.started(lambda: done.append(1))
    assert done == []


@pytest.mark.timed
def test_a_thread_that_begins_too_late_does_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    late: list[Callable[[], None]] = []
    monkeypatch.setattr(threads, "start_new_thread", lambda work, words: late.append(work))
    monkeypatch.setattr(threads, "_LOOK_SECONDS", 1e-3)
    done: list[int] = []
    with pytest.raises(TautoError):
        threads.started(lambda: done.append(1))
    late[0]()
    assert done == []
