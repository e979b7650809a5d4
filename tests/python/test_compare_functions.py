"""Callables in one process, on a clock that they move themselves; and the comparison from Python."""

from __future__ import annotations

import gc
import random
import subprocess
import sys
import threading
import tracemalloc
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from processes import with_lab
from tautochrone import compare
from tautochrone.comparing.functions import functions
from tautochrone.comparing.result import Compared
from tautochrone.comparing.settings import Settings
from tautochrone.errors import TautoError


class Time:
    """A clock in nanoseconds, and callables that take some."""

    def __init__(self, seed: int = 1) -> None:
        self.now = 0.0
        self.chance = random.Random(seed)
        self.order: list[str] = []

    def __call__(self) -> int:
        self.now += 20.0
        return int(self.now)

    def taking(
        self, nanoseconds: float, name: str, noise: float = 0.0, drift: float = 0.0
    ) -> Callable[[], None]:
        def work() -> None:
            slower = 1.0 + drift * self.now / 1e9
            self.now += nanoseconds * slower * (1.0 + abs(self.chance.gauss(0.0, noise)))
            if not self.order or self.order[-1] != name:
                self.order.append(name)

        work.__name__ = name
        return work


def test_ratio_and_verdict() -> None:
    time = Time()
    found = functions(time.taking(100e3, "old"), time.taking(90e3, "new"), clock=time)
    assert [side.name for side in found.sides] == ["old", "new"]
    assert found.rivals[0].verdict == "faster"
    assert found.rivals[0].ratio is not None
    assert found.rivals[0].ratio.value == pytest.approx(0.9, rel=1e-3)
    assert found.sides[0].figure == pytest.approx(100e-6, rel=1e-3)
    assert found.answer.startswith("new takes 10.0 % less time than old")


def test_drift_cancels_and_the_order_is_shuffled() -> None:
    time = Time()
    found = functions(
        time.taking(1e6, "f", 0.01, 0.5), time.taking(1e6, "g", 0.01, 0.5), clock=time, rounds=64
    )
    assert found.rivals[0].verdict == "no difference resolved"
    # A round that begins with what the last one ended with adds one name, not two.
    assert 70 < len(time.order) < 125


def test_identical_callables_are_rarely_called_different() -> None:
    wrong = 0
    for seed in range(40):
        time = Time(seed)
        found = functions(
            time.taking(2e6, "f", 0.05),
            time.taking(2e6, "g", 0.05),
            clock=time,
            seed=seed,
            budget_seconds=0.5,
            precision=1e-5,
        )
        assert len(found.looks) > 1
        wrong += found.rivals[0].verdict != "no difference resolved"
    assert wrong <= 3


def test_short_calls_are_repeated_until_the_clock_can_tell() -> None:
    time = Time()
    found = functions(time.taking(50, "f"), time.taking(5e6, "g"), clock=time, rounds=10)
    assert found.sides[0].runs >= 10 * 1_000_000 / 50
    assert found.sides[1].runs == 10
    assert found.rivals[0].ratio is not None
    assert found.rivals[0].ratio.value == pytest.approx(1e5, rel=0.01)


def test_it_ends_once_the_ratio_is_known_or_the_budget_is_over() -> None:
    time = Time()
    quick = functions(time.taking(1e6, "f"), time.taking(2e6, "g"), clock=time, budget_seconds=3.0)
    assert quick.rounds == quick.looks[0] < quick.looks[-1]
    time = Time()
    noisy = (time.taking(1e6, "f", 0.3), time.taking(1e6, "g", 0.3))
    functions(*noisy, clock=time, budget_seconds=0.4, precision=1e-4)
    assert time.now / 1e9 < 0.6


def test_one_callable_is_measured_and_three_are_compared() -> None:
    time = Time()
    alone = functions(time.taking(1e6, "f"), clock=time, rounds=10)
    assert alone.answer.startswith("f takes 1.00 ms")
    three = functions(*(time.taking(1e6 * size, f"f{size}") for size in (1, 2, 3)), clock=time, rounds=16)
    assert [side.verdict for side in three.rivals] == ["slower", "slower"]


def raising() -> None:
    raise ValueError("no such case")


async def asynchronous() -> None:
    """Does nothing when it is called."""


def generating() -> Iterator[int]:
    yield 1


def needing(argument: int) -> int:
    return argument


class SometimesRaising:
    calls = 0

    def __call__(self) -> None:
        self.calls += 1
        if self.calls > 3:
            raise KeyError("used up")


@pytest.mark.parametrize(
    ("function", "sentence"),
    [
        (raising, r"raising \(2\) raises ValueError: no such case"),
        (asynchronous, r"asynchronous \(2\) gives a coroutine.*Pass lambda: asyncio.run\(f\(\)\)"),
        (generating, r"generating \(2\) gives a generator.*Pass lambda: list\(f\(\)\)"),
        (needing, "without arguments: lambda"),
        (SometimesRaising(), "after it was called before without"),
        ("./old", "'./old' cannot be called"),
    ],
)
def test_what_cannot_be_compared_is_one_sentence(function: Any, sentence: str) -> None:
    was_on = gc.isenabled()
    with pytest.raises(TautoError, match=sentence):
        functions(lambda: None, function)
    assert gc.isenabled() == was_on


def test_calls_that_take_no_time_are_refused() -> None:
    with pytest.raises(TautoError, match="too little to be told"):
        functions(lambda: None, clock=lambda: 0)


def test_bad_settings() -> None:
    with pytest.raises(TautoError, match="--rounds 3 is outside"):
        functions(raising, raising, rounds=3)
    with pytest.raises(TautoError, match="1 names were given for 2"):
        functions(raising, raising, names=["f"])
    with pytest.raises(TautoError, match="neither 'between' nor 'inside'"):
        functions(raising, collector="never")  # type: ignore[arg-type]


def test_the_collector_is_off_inside_blocks_unless_it_is_asked_for() -> None:
    seen: set[bool] = set()
    time = Time()
    work = time.taking(1e6, "f")

    def f() -> None:
        seen.add(gc.isenabled())
        work()

    gc.enable()
    found = functions(f, clock=time, rounds=10)
    assert seen == {True, False}  # the first call is a trial
    assert gc.isenabled()
    assert "ran between the rounds" in found.remarks[0]
    seen.clear()
    found = functions(f, clock=time, rounds=10, collector="inside")
    assert seen == {True}
    assert "collector was on" in found.remarks[0]


def test_what_slows_python_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    time = Time()
    monkeypatch.setenv("PYTHONMALLOC", "debug")
    tracemalloc.start()
    wait = threading.Event()
    thread = threading.Thread(target=wait.wait)
    thread.start()
    try:
        found = functions(time.taking(1e6, "f"), clock=time, rounds=10)
    finally:
        tracemalloc.stop()
        wait.set()
        thread.join()
    words = " ".join(found.remarks)
    assert "PYTHONMALLOC=debug" in words
    assert "tracemalloc follows each allocation" in words
    assert "1 other thread of this process" in words


def test_real_callables_with_the_real_clock() -> None:
    # Ten times the work: no machine is so busy that the medians change places.
    found = functions(lambda: sum(range(300)), lambda: sum(range(3000)), rounds=30, names=["few", "many"])
    assert found.rivals[0].verdict == "slower"
    assert found.rivals[0].ratio is not None
    assert found.rivals[0].ratio.value is not None
    assert found.rivals[0].ratio.value > 3.0


# -- from Python --


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    from tautochrone.comparing import library

    calls: list[Any] = []

    def measure(entries: Any, settings: Settings) -> Compared:
        calls.append((entries, settings))
        return functions(lambda: None, rounds=10)

    monkeypatch.setattr(library, "measure", measure)
    return calls


def test_commands_are_lists_or_texts(asked: list[Any]) -> None:
    compare([["./old", 7], "./new 'a b'"], rounds=20, objective="memory", names=["old", "new"])
    entries, settings = asked[0]
    assert [entry.asked.words for entry in entries] == [("./old", "7"), ("./new", "a b")]
    assert [entry.asked.name for entry in entries] == ["old", "new"]
    assert settings == Settings(rounds=20, objective="memory")
    compare(["./a", "./a"], environments=[{}, {"X": "1"}])
    assert [entry.environment for entry in asked[1][0]] == [{}, {"X": "1"}]


def test_bad_commands_are_one_sentence(asked: list[Any]) -> None:
    for commands, sentence in (("./old", "one text"), ([[]], "is empty"), (["a 'b"], "cannot be split")):
        with pytest.raises(TautoError, match=sentence):
            compare(commands)
    with pytest.raises(TypeError):
        compare(["./a"], speed=1)


def test_the_function_has_the_other_as_its_attribute() -> None:
    assert compare.functions is functions


@pytest.mark.timed
def test_importing_the_package_imports_nothing_of_it() -> None:
    script = "import sys, tautochrone; print(sorted(name for name in sys.modules if 'tautochrone' in name))"
    done = subprocess.run([sys.executable, "-c", script], env=with_lab(), capture_output=True, text=True)
    assert done.stdout.strip() == "['tautochrone']", done.stderr
