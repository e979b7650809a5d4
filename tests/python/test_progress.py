"""What a user sees while something is measured."""

from __future__ import annotations

from io import StringIO

import pytest
from rich.console import Console

from tautochrone.errors import TautoError, be_quiet
from tautochrone.measuring.clock import VirtualClock
from tautochrone.measuring.progress import (
    LineProgress,
    SilentProgress,
    TerminalProgress,
    progress_for,
    time_left,
)
from tautochrone.results.row import iso
from tautochrone.terminal import Terminal


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (None, ""),
        (0.0, "0 s left"),
        (12.4, "12 s left"),
        (59.6, "1 min 00 s left"),
        (200.0, "3 min 20 s left"),
        (7500.0, "2 h 05 min left"),
    ],
)
def test_the_time_left_is_told_in_words(seconds: float | None, words: str) -> None:
    assert time_left(seconds) == words


def test_a_log_gets_one_line_for_every_tenth() -> None:
    output = StringIO()
    progress = LineProgress("loop", output)
    for done in range(1, 101):
        progress.update(done, 100, float(done), 100.0 - done, "a")
    progress.finish()
    lines = output.getvalue().splitlines()
    assert len(lines) == 10
    assert lines[0] == "loop: 10 % (10 of 100 runs, 1 min 30 s left)"
    assert lines[-1] == "loop: 100 % (100 of 100 runs)"


def test_the_final_of_a_search_has_tenths_of_its_own() -> None:
    output = StringIO()
    progress = LineProgress("tuning", output)
    for _ in range(2):
        for done in range(1, 11):
            progress.update(done, 10, 10.0 * done, 100.0 - 10.0 * done, "a")
        progress.finish()
    assert len(output.getvalue().splitlines()) == 20


def test_quiet_shows_no_progress() -> None:
    be_quiet(True)
    try:
        assert isinstance(progress_for("tuning"), SilentProgress)
    finally:
        be_quiet(False)


def test_few_runs_do_not_repeat_a_tenth() -> None:
    output = StringIO()
    progress = LineProgress("loop", output)
    for done in (1, 2, 3):
        progress.update(done, 3, 10.0 * done, 30.0 - 10.0 * done, "a")
    told = [line.split(" (")[0] for line in output.getvalue().splitlines()]
    assert told == ["loop: 30 %", "loop: 60 %", "loop: 100 %"]


def test_work_of_less_than_a_second_shows_nothing() -> None:
    output = StringIO()
    lines, bar = LineProgress("x", output), TerminalProgress("x", Console(file=output, force_terminal=True))
    for progress in (lines, bar):
        for done in range(1, 11):
            progress.update(done, 10, 0.05 * done, 0.5 - 0.05 * done, "a")
        progress.finish()
    assert output.getvalue() == ""


def test_a_terminal_shows_a_bar_with_the_time_left_and_takes_it_away() -> None:
    output = StringIO()
    console = Terminal(file=output, force_terminal=True, width=100, _environ={"TERM": "xterm"})
    progress = TerminalProgress("Measuring", console)
    progress.update(3, 10, 6.0, 14.0, "adaptive")
    progress.say("openblas cannot run here and is left out: [not] markup")
    progress.finish()
    progress.finish()
    text = output.getvalue()
    for words in ("Measuring", "3/10", "14 s left", "adaptive", "[not] markup"):
        assert words in text


def test_a_sentence_is_shown_even_when_nothing_else_is() -> None:
    output = StringIO()
    LineProgress("loop", output).say("libomp is left out")
    assert output.getvalue() == "loop: libomp is left out\n"


def test_the_kind_of_progress_follows_the_output() -> None:
    assert isinstance(progress_for("x", Console(file=StringIO())), LineProgress)
    for term, kind in (("xterm", TerminalProgress), ("dumb", LineProgress)):
        console = Console(file=StringIO(), force_terminal=True, _environ={"TERM": term})
        assert isinstance(progress_for("x", console), kind)


def test_an_error_for_people_says_what_and_what_to_do() -> None:
    error = TautoError("size 0 was asked for.", "Give a size of 1 or more.")
    assert str(error) == "size 0 was asked for. Give a size of 1 or more"
    assert str(TautoError("nothing there")) == "nothing there"


def test_the_virtual_clock_moves_only_forward_and_only_by_hand() -> None:
    clock = VirtualClock()
    clock.advance(61.5)
    assert (clock.monotonic(), iso(clock.now())) == (61.5, "2026-01-01T00:01:01.500Z")
    with pytest.raises(ValueError, match="cannot go back"):
        clock.advance(-1.0)
