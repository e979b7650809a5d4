"""Settings under which a program does not do its work cannot win a search; those under which it does can."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from measuring import row
from tautochrone.results.row import Row
from tautochrone.tune.answer import TuneAnalysis
from tautochrone.tune.options import TuneRequest
from tautochrone.tune.same_work import Words, said_of, same_work, tells_of_work
from tune_fakes import real_services, tune_by_runs


def ran(name: str, output: str = "", errors: str = "", cpu: float = 1.0, number: int = 0) -> Row:
    words = Words.of(output, errors)
    kept = {"exact": words.exact, "lines": words.lines, "errors": words.errors}
    return row(name, number, user_seconds=cpu, system_seconds=0.0, detail={"printed": kept})


def runs(name: str, *outputs: str, errors: str = "", cpu: float = 1.0) -> list[Row]:
    return [ran(name, output, errors, cpu, number) for number, output in enumerate(outputs)]


def refused(own: list[Row], default: list[Row]) -> str:
    """Why; empty for a candidate that may win."""
    wrong = same_work([*default, *own])
    assert wrong.keys() in (set(), {one.run for one in own})
    return next(iter(wrong.values()), "")


SOLVED = "reading case\nstep 1 of 2\nstep 2 of 2\nenergy -1.25e-3\ntime 0.52 s\n"
DEFAULT = runs("default", SOLVED, SOLVED.replace("0.52", "0.49"))


@pytest.mark.parametrize(
    "output",
    [
        SOLVED,
        SOLVED.replace("-1.25e-3", "-1.24e-3").replace("0.52", "12"),
        "step 2 of 2\nstep 1 of 2\nreading case\nenergy 1\ntime 1 s\n",  # another order
        SOLVED + "schedule guided\n",
        SOLVED.replace("reading case", "threads: 4, bound close"),
    ],
)
def test_the_same_lines_with_other_numbers_are_the_same_work(output: str) -> None:
    assert refused(runs("x", output, output), DEFAULT) == ""


@pytest.mark.parametrize("output", ["", "error: no such library\n", "reading case\n", "\0\x01binary"])
def test_most_lines_missing_is_no_work(output: str) -> None:
    assert "its output differs" in refused(runs("x", output, output), DEFAULT)
    assert refused(runs("x", output, SOLVED), DEFAULT) == "", "one run did it"


def test_a_default_whose_runs_print_different_lines_tells_nothing() -> None:
    assert refused(runs("x", "c\n"), runs("default", "a\n", "b\n")) == ""
    assert refused(runs("x", "c\n"), runs("default", "a\n")) == "", (
        "one run has nothing in common with another"
    )


def test_the_trial_counts_as_a_run_of_the_default() -> None:
    wrong = same_work([*DEFAULT[:1], *runs("x", "nothing")], trial=Words.of(SOLVED, ""))
    assert list(wrong) == ["x-0"]


def test_where_the_default_is_silent_news_with_less_work_are_no_work() -> None:
    silent = runs("default", "", "")
    assert "on standard output" in refused(runs("x", "hello\n", cpu=0.5), silent)
    assert "on standard error" in refused(runs("x", "", errors="error\n", cpu=0.5), silent)
    assert refused(runs("x", "", errors="warning: affinity\n"), silent) == "", "warned, and did the work"
    short = runs("default", "", "", cpu=1e-3)
    assert "on standard error" in refused(runs("x", "", errors="error\n", cpu=1e-3), short)


def test_standard_error_stands_for_an_output_and_may_have_new_lines() -> None:
    """GROMACS ends with a quotation that is another one in each run."""
    log = "".join(f"{word} done\n" for word in ("reading", "solving", "writing"))
    default = runs("default", "", "", errors=log + "a quotation\n", cpu=1e-3)
    assert refused(runs("x", "", errors=log + "another one\n", cpu=1e-3), default) == ""
    assert "on standard error" in refused(runs("x", "", errors="no input\n", cpu=1e-3), default)


def test_a_fraction_of_the_cpu_time_is_no_work() -> None:
    other = SOLVED.replace("-1.25e-3", "nan")
    assert "it used 3 % of the CPU time" in refused(runs("x", other, cpu=0.03), DEFAULT)
    assert refused(runs("x", other, cpu=0.3), DEFAULT) == ""
    assert refused(runs("x", cpu=0.0001), runs("default", "", "", cpu=0.001)) == "", "too little to tell"


def test_a_fraction_of_the_cpu_time_is_believed_where_the_same_output_can_tell() -> None:
    """A default whose threads wait by spinning uses many times the CPU time for the same answer."""
    right = runs("default", "sum 49721.5\n", "sum 49721.5\n")
    wrong = same_work([*right, *runs("x", "sum 49721.5\n", cpu=0.03)], telling=True)
    assert wrong == {}
    wrong = same_work([*right, *runs("x", "sum 49721.6\n", cpu=0.03)], telling=True)
    assert "3 % of the CPU time" in wrong["x-0"]
    why = refused(runs("x", "done\n", cpu=0.03), runs("default", "done\n", "done\n"))
    assert "3 % of the CPU time" in why
    assert "the same output, but no number that only the work could give" in why
    assert "--check" in why
    assert "--same-output" in why


def test_an_answer_that_its_first_run_left_for_the_others_is_no_work() -> None:
    right = runs("default", *["sum 49721.5\n"] * 3)
    first, *others = runs("x", *["sum 49721.5\n"] * 6, cpu=0.03)
    worked = replace(first, user_seconds=1.0)
    wrong = same_work([*right, worked, *others], telling=True)
    assert wrong.keys() == {one.run for one in (first, *others)}
    assert "in all runs but its first" in wrong[first.run]
    disturbed = replace(others[0], user_seconds=0.2)
    wrong = same_work([*right, worked, disturbed, *others[1:]], telling=True)
    assert "in all runs but its first" in wrong.get(first.run, ""), "one of the others took long, for once"
    also = runs("y", *["sum 49721.5\n"] * 3, cpu=0.03)
    assert same_work([*right, *also], telling=True) == {}
    wrong = same_work([*right, worked, *others, *also], telling=True)
    assert "another candidate's first run" in wrong[also[0].run]
    assert same_work([*right, worked, *others[:1]], telling=True) == {}, "two runs tell nothing yet"
    assert same_work([*right, first, *others], telling=True) == {}


@pytest.mark.parametrize(
    ("output", "telling"),
    [
        ("sum 49721.5\n", True),
        ("checksum d41d8cd98f00b204\n", True),
        ("-1.49721e-12\n", True),
        ("1,497,213 primes\n", True),
        ("0x7ffe12ab\n", True),
        ("done\n", False),
        ("", False),
        ("100 %, 2 files\n", False),
        ("1000000 steps\n", False),  # a round number is an input
        ("0.00100\n", False),
        ("solver 12.34.56.78\n", False),  # a version
        ("for 271828 cells: done\n", False),  # as in the command
        ("build 31415926\n", False),  # as in the script
        ("build 31415926\nsum 49721.5\n", True),
        ("defaced accede\n", False),  # words
    ],
)
def test_only_a_number_that_was_computed_tells_of_the_work(
    tmp_path: Path, output: str, telling: bool
) -> None:
    script = tmp_path / "job.sh"
    script.write_text("echo build 31415926\n")
    words = (str(script), "--cells=271828")
    assert tells_of_work(output, words, [script, tmp_path / "gone"]) == telling


def test_of_long_outputs_the_end_is_compared() -> None:
    words = [f"line {letter * count}" for letter in "abcdefgh" for count in range(1, 60)]
    default = runs("default", *["\n".join(words * 40)] * 2)
    assert refused(runs("x", "\n".join(words * 40 + ["done"])), default) == ""
    assert "differs" in refused(runs("x", "\n".join(words[:40])), default)


def test_what_is_doubtful_but_not_wrong_is_said() -> None:
    right = runs("default", "42\n", "42\n")
    assert said_of(runs("x", "42\n"), right) == ""
    assert "does not print what" in said_of(runs("x", "43\n"), right)
    assert "30 % of its CPU time" in said_of(runs("x", "42\n", cpu=0.3), right)
    assert said_of(runs("x", SOLVED), DEFAULT) == "", "its numbers are never the same"


def tuned(script: Path, runs: int) -> TuneAnalysis:
    """A search among three values of X."""
    script.chmod(0o755)
    request = TuneRequest(
        command=(str(script),),
        environment={"X": ("a", "b", "c")},
        excluded=("cpus",),
        output=script.parent / "out",
        report=False,
    )
    return tune_by_runs(request, real_services(), runs)


@pytest.mark.timed
@pytest.mark.parametrize(
    ("not_done", "why"),
    [
        ("sleep 0.02 & exit 0", "left work running"),
        ("echo error >&2; exit 0", "on standard error"),
        ("exit 0", "of the CPU time"),
        ("echo finished 31415926 of 31415926; exit 0", "no number that only the work could give"),
        ("sleep 0.005; exit 0", "of the CPU time"),
        ("sh -c 'kill -SEGV $$'; exit 0", "on standard error"),
    ],
    ids=["detached", "an error", "nothing", "the same words", "asleep", "a crash that nobody looks at"],
)
def test_a_setting_under_which_the_work_is_not_done_never_wins(
    tmp_path: Path, not_done: str, why: str
) -> None:
    # To start `sleep` takes 2 ms of CPU time, and a tenth of the work's may be taken for work.
    busy = "i=0; while [ $i -lt 90000 ]; do i=$((i+1)); done"
    script = tmp_path / "job.sh"
    says = "echo finished 31415926 of 31415926" if "finished" in not_done else ""
    script.write_text(f'#!/bin/sh\nif [ "$X" = b ]; then {not_done}; fi\n{busy}\n{says}\n')
    found = tuned(script, 30)
    assert found.settings.get("X") != "b"
    (remark,) = (one.remark for one in found.candidates if one.settings.get("X") == "b")
    assert why in remark
    others = [one for one in found.candidates if one.settings.get("X") in ("a", "c")]
    assert any(one.figure is not None for one in others), "its short time stopped the others"


@pytest.mark.timed
def test_a_setting_under_which_the_answer_comes_from_a_cache_never_wins(tmp_path: Path) -> None:
    script, cache = tmp_path / "job.sh", tmp_path / "cache"
    busy = "i=0; while [ $i -lt 60000 ]; do i=$((i+1)); done; answer=$((i + 271828))"
    script.write_text(
        f'#!/bin/sh\n[ "$X" = b ] && [ -e {cache} ] && exec cat {cache}\n'
        f'{busy}\n[ "$X" = b ] && echo sum $answer > {cache}\necho sum $answer\n'
    )
    found = tuned(script, 60)
    assert cache.exists()
    assert found.settings.get("X") != "b"
    (remark,) = (one.remark for one in found.candidates if one.settings.get("X") == "b")
    assert "in all runs but its first" in remark
