"""Work that several threads share ends in order, and does not wait for a thread that never begins."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from contextlib import closing
from io import StringIO
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from processes import wait_until
from tautochrone import threads
from tautochrone.errors import TautoError
from tautochrone.machine import probe
from tautochrone.measuring.configuration import Configuration
from tautochrone.measuring.progress import TerminalProgress
from tautochrone.pool import Pool
from tautochrone.simulator import machines
from tautochrone.simulator.smpi import running
from tautochrone.studies import claims
from tautochrone.terminal import Terminal, spinner
from tautochrone.tune import spreading
from tautochrone.tune.options import TuneRequest

pytestmark = pytest.mark.timed


def test_what_comes_of_each_item_is_in_their_order() -> None:
    last = threading.Event()

    def work(number: int) -> int:
        if number == 0:
            assert last.wait(60)  # the first one ends last
        if number == 9:
            last.set()
        return number * number

    with Pool(3) as pool:
        assert list(pool.map(work, range(10))) == [number * number for number in range(10)]


def test_an_error_is_raised_and_what_waits_is_left_out() -> None:
    done: list[int] = []
    told = threading.Event()

    def work(number: int) -> None:
        done.append(number)
        if number == 1:
            raise TautoError("two")
        assert number == 0 or told.wait(60)

    with Pool(1) as pool:
        with pytest.raises(TautoError, match="two"):
            list(pool.map(work, range(9)))
        told.set()
    assert done in ([0, 1], [0, 1, 2])  # the third one may have begun


def test_a_pool_ends_its_threads() -> None:
    def threads_now() -> set[str]:
        return {one.name for one in Path("/proc/self/task").iterdir()}

    before = threads_now()  # one of another test may end meanwhile
    with Pool(4) as pool:
        (own,) = set(pool.map(lambda _: frozenset(threads_now() - before), range(8)))
    assert len(own) == 4
    wait_until(lambda: not own & threads_now(), "the end of the threads")


@pytest.fixture
def no_thread_begins(monkeypatch: pytest.MonkeyPatch) -> None:
    """As where memory fails in each new thread, for which Python itself waits for ever."""
    monkeypatch.setattr(threads, "start_new_thread", lambda work, words: 1)
    monkeypatch.setattr(threads, "_LOOK_SECONDS", 1e-3)
    monkeypatch.setattr(threading.Thread, "start", waits_for_ever)


def waits_for_ever(thread: threading.Thread) -> None:
    raise AssertionError("Python would wait for ever")


def spread() -> None:
    spreading.SpreadExecutor(cast(Callable[[], spreading.NodeExecutor], None), nodes=2)


def read_nodes() -> None:
    spreading.machine_of_nodes(TuneRequest(command=("true",), launcher=("no-such-launcher",)), "none")


def simulate_ranks() -> None:
    asked = [running.Simulated("mpich", "i", ranks, 64) for ranks in (2, 3)]
    list(running.run_all(running.Ready("", Path(running.NBODY), machines.load("rk3588")), asked))


def try_parameters() -> None:
    knobs = [claims.Knob("cores.P.smt_yield", 1.0, 2.0)]
    claims.sensitivity(machines.load("i9-14900k"), knobs, lambda changed: False)


def spin() -> None:
    with spinner(Terminal(file=StringIO(), force_terminal=True)):
        pass


@pytest.mark.usefixtures("no_thread_begins")
@pytest.mark.parametrize("work", [spread, read_nodes, simulate_ranks, try_parameters, spin])
def test_a_thread_that_never_begins_is_an_error_wherever_one_is_needed(work: Callable[[], None]) -> None:
    with pytest.raises(TautoError, match="no thread could be started"):
        work()


def test_nodes_are_given_back_one_by_one_where_no_thread_begins(request: pytest.FixtureRequest) -> None:
    closed: list[int] = []

    def node(number: int) -> Any:
        return SimpleNamespace(
            start=lambda: None,
            node=lambda: str(number),
            close=lambda: closed.append(number),
            run=lambda configuration, limit: meet.wait(60),
        )

    made = iter(range(2))
    meet = threading.Barrier(2)
    executor = spreading.SpreadExecutor(lambda: node(next(made)), nodes=2)
    with closing(executor):
        wanted: Sequence[Configuration] = [
            Configuration(name, ["true"], settings={"X": name}) for name in "ab"
        ]
        executor.expect([(one, 1.0) for one in wanted])
        for one in wanted:
            executor.run(one, 1.0)
        request.getfixturevalue("no_thread_begins")
    assert set(closed) == {0, 1}


@pytest.mark.usefixtures("no_thread_begins")
def test_bars_are_drawn_without_a_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    output = StringIO()
    console = Terminal(file=output, force_terminal=True, width=100, _environ={"TERM": "xterm"})
    progress = TerminalProgress("Measuring", console)
    progress.update(3, 10, 6.0, 14.0, "first")
    progress.update(4, 10, 6.05, 13.0, "too soon to be drawn")
    progress.update(5, 10, 9.0, 9.0, "then")
    progress.finish()
    text = output.getvalue()
    assert all(words in text for words in ("3/10", "14 s left", "first", "5/10", "then"))
    assert "too soon" not in text

    drawn = StringIO()
    terminal = Terminal(file=drawn, force_terminal=True, width=100, _environ={"TERM": "xterm"})
    monkeypatch.setattr("tautochrone.terminal.Terminal", lambda **_: terminal)
    assert probe._follow(cast(Any, ["progress 0.5 the clock of CPU 1\n", "an error\n"])) == ["an error"]
    assert "the clock of CPU 1" in drawn.getvalue()


SIGNS = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"


def test_a_spinner_turns_beside_the_last_sentence() -> None:
    output = StringIO()
    console = Terminal(file=output, force_terminal=True, width=100, _environ={"TERM": "xterm"})
    with spinner(console) as say:
        say("1 of 2 [runs]")
        wait_until(lambda: "1 of 2 [runs]" in output.getvalue(), "the sentence")
        wait_until(lambda: len(set(SIGNS) & set(output.getvalue())) > 1, "another sign")
