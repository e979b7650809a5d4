"""`tauto compare -- A : B` on commands that take no time: what is said, and how often it is wrong."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import msgspec
import pytest
from rich.console import Console

from compare_fakes import FakeCommands, compared
from measuring import row
from tautochrone.comparing import printing, saved
from tautochrone.comparing.analysis import OTHERS, analyse
from tautochrone.comparing.command import judged, parse_codes, parse_percent
from tautochrone.comparing.entries import entries_of, of_lines, parse_parameters, parted
from tautochrone.comparing.looks import claims, planned
from tautochrone.comparing.result import Asked, CompareContext, Compared
from tautochrone.errors import TautoError
from tautochrone.measuring.clock import VirtualClock
from tautochrone.results.store import Store
from tautochrone.verdicts import rounds_needed

DRIFTS = "noise 1% drift 3% over 40"
BESIDE = "noise 1% spikes 20% of 30%"


# -- what is typed --


def test_a_lone_colon_parts_and_two_are_the_word() -> None:
    words = ["./old", "a:b", ":", "./new", "::", "x"]
    assert parted(words) == [("./old", "a:b"), ("./new", ":", "x")]


@pytest.mark.parametrize("words", [[":"], ["a", ":"], [":", "a"], ["a", ":", ":", "b"]])
def test_an_empty_command_is_refused(words: list[str]) -> None:
    with pytest.raises(TautoError, match="is empty"):
        parted(words)


def test_each_value_is_a_command_and_other_braces_stay() -> None:
    parameters = parse_parameters([("n", "1,2"), ("m", "a\\,b,c")])
    found = entries_of([("awk", "{print}", "{n}"), ("x", "{n}{m}")], (), parameters)
    assert [entry.asked.words for entry in found] == [
        ("awk", "{print}", "1"), ("awk", "{print}", "2"),
        ("x", "1a,b"), ("x", "1c"), ("x", "2a,b"), ("x", "2c"),
    ]  # fmt: skip
    named = entries_of([("a", "{n}"), ("b", "{n}")], ("old", "new"), {"n": ("1", "2")})
    assert [entry.asked.name for entry in named] == ["old n=1", "old n=2", "new n=1", "new n=2"]


def test_equal_commands_are_told_apart() -> None:
    assert [one.asked.name for one in entries_of([("a",), ("a",)])] == ["a (1)", "a (2)"]


@pytest.mark.parametrize(
    ("commands", "names", "parameters", "why"),
    [
        ([("a",)] * 21, (), {}, "21 commands"),
        ([("a",), ("b",)], ("x",), {}, "1 names"),
        ([("a",)], (), {"n": ("1",)}, r"\{n\}"),
    ],
)
def test_what_cannot_be_compared(
    commands: list[tuple[str, ...]], names: tuple[str, ...], parameters: dict[str, tuple[str, ...]], why: str
) -> None:
    with pytest.raises(TautoError, match=why):
        entries_of(commands, names, parameters)


@pytest.mark.parametrize("line", ["", "  ", "a 'b"])
def test_lines_that_are_no_command(line: str) -> None:
    with pytest.raises(TautoError):
        of_lines([line])


def test_shares_and_codes() -> None:
    assert (parse_percent("2%", "-"), parse_percent("0.5 %", "-"), parse_percent("0.02", "-")) == (
        0.02, 0.005, 0.02,
    )  # fmt: skip
    assert (parse_codes("all"), parse_codes("1,3")) == ("all", (1, 3))
    for word in ("", "two", "-2%"):
        with pytest.raises(TautoError):
            parse_percent(word, "--precision")


# -- how long it goes on --


@pytest.mark.parametrize("rivals", [1, 3, 19])
@pytest.mark.parametrize("affordable", [1, 12, 50, 400, 10_000])
def test_the_first_look_can_carry_a_verdict(rivals: int, affordable: int) -> None:
    looks = planned(rivals, None, affordable)
    assert looks[0] >= rounds_needed(comparisons=claims(rivals, len(looks), len(looks) == 1))
    assert list(looks) == sorted(set(looks))
    assert looks[-1] <= 999


def test_it_ends_once_the_ratio_is_known() -> None:
    quiet = compared({"a": "seconds 0.1 noise 0.1%", "b": "seconds 0.11 noise 0.1%"})
    noisy = compared({"a": "seconds 0.1 noise 5%", "b": "seconds 0.11 noise 5%"})
    assert quiet.rounds < noisy.rounds
    assert quiet.sides[1].verdict == "slower"
    assert "10.0 % more time" in quiet.answer


def test_it_says_before_how_long_it_will_take() -> None:
    said: list[str] = []
    compared({"a": "seconds 1.0", "b": "seconds 1.0"}, said=said)
    compared({"a": "seconds 0.1", "b": "seconds 0.1"}, said=said)
    assert said == [
        "2 commands, 14 rounds, about 28 s",
        "2 commands, 18 to 148 rounds, 4 s to 30 s: it ends at one of 4 looks, once the ratio is known "
        "within 1 %",
    ]


def test_a_budget_without_room_for_a_verdict_is_refused_with_one_that_has() -> None:
    with pytest.raises(TautoError, match=r"holds 2 rounds.*Give it --budget \d+s"):
        compared({"a": "seconds 1.0", "b": "seconds 1.0"}, budget_seconds=5.0)


# -- how often it is wrong --


@pytest.mark.parametrize("noise", [DRIFTS, BESIDE])
def test_identical_commands_are_hardly_ever_called_different(noise: str) -> None:
    trials = 150
    words = [
        compared({"a": f"seconds 0.1 {noise}", "b": f"seconds 0.1 {noise}"}, seed, rounds=20).sides[1].verdict
        for seed in range(trials)
    ]
    # At 1 % a trial, more than 6 of 150 have a probability of 1 in 1,000.
    assert sum(word != "no difference resolved" for word in words) <= 6


def test_two_per_cent_are_found_under_drift() -> None:
    pair = {"a": f"seconds 0.1 {DRIFTS}", "b": f"seconds 0.102 {DRIFTS}"}
    verdicts = [compared(pair, seed, rounds=40).sides[1].verdict for seed in range(40)]
    assert verdicts.count("slower") >= 36
    assert "faster" not in verdicts


def test_more_commands_and_looks_share_the_error() -> None:
    several = compared(dict.fromkeys("abcd", "seconds 0.1 noise 1%"), rounds=40)
    pair = compared(dict.fromkeys("ab", "seconds 0.1 noise 1%"), rounds=40)
    confidence = [found.sides[1].ratio.confidence for found in (several, pair) if found.sides[1].ratio]
    assert confidence[0] > confidence[1] >= 0.995  # type: ignore[operator]


# -- what is said --


def test_the_answer_is_one_sentence_with_its_evidence() -> None:
    found = compared({"old": "seconds 0.1 noise 0.2%", "new": "seconds 0.092 noise 0.2%"})
    assert found.answer.startswith("new takes 8.")
    assert "% less time than old (" in found.answer
    assert "99.5 %" in found.answer
    faster = compared({"old": "seconds 0.1 noise 0.2%", "new": "seconds 0.04 noise 0.2%"})
    assert "new is 2.50 times as fast as old (2.4" in faster.answer
    same = compared({"old": "seconds 0.1 noise 1%", "new": "seconds 0.1 noise 1%"}, rounds=20)
    assert same.answer.startswith("No difference is resolved: new takes between ")
    assert compared({"only": "seconds 0.1 noise 1%"}).answer.startswith("only takes 1")


@pytest.mark.parametrize(("commands", "needed"), [("ab", 9), ("abcd", 11)])
def test_too_few_rounds_are_no_verdict_and_the_answer_says_how_many_are_needed(
    commands: str, needed: int
) -> None:
    few = compared({"a": "seconds 0.1", **dict.fromkeys(commands[1:], "seconds 0.2")}, rounds=needed - 1)
    assert {side.verdict for side in few.rivals} == {"not measured"}
    enough = compared({"a": "seconds 0.1", **dict.fromkeys(commands[1:], "seconds 0.2")}, rounds=needed)
    assert {side.verdict for side in enough.rivals} == {"slower"}
    if len(commands) == 2:
        assert f"a verdict needs {needed} rounds" in few.answer


def test_a_command_that_prints_otherwise_or_anew_is_said() -> None:
    one = "seconds 0.1 noise 1%"
    other = compared({"a": one, "b": one}, printed={"a": ["x"], "b": ["y"]}, rounds=10)
    assert any("b prints something else than a" in remark for remark in other.remarks)
    anew = compared({"a": one, "b": one}, printed={"a": ["x"], "b": ["y", "z"]}, rounds=10)
    assert any("b prints differently each time" in remark for remark in anew.remarks)


def test_hardly_any_cpu_time_is_said() -> None:
    found = compared({"a": "seconds 0.1", "b": "seconds 0.001"}, rounds=10)
    assert any("of the CPU time of a" in remark for remark in found.remarks)


def test_a_command_that_keeps_failing_is_left_out_and_said() -> None:
    found = compared({"a": "seconds 0.1", "b": "seconds 0.1 fail after 6"})
    assert "It cannot be told" in found.answer
    assert "failed in 2 of" in found.answer
    assert not found.told


def test_a_command_that_fails_at_once_is_refused() -> None:
    with pytest.raises(TautoError, match="b cannot be measured: it was told to fail"):
        compared({"a": "seconds 0.1", "b": "fail"})


@pytest.mark.parametrize(
    ("sentence", "remark"),
    [
        ("seconds 0.1 noise 0.1% drift 20% over 4", "from the first rounds to the last"),
        ("seconds 0.1 noise 0.2% spikes 40% of 30%", "two modes"),
        ("seconds 0.1 noise 0.2% spikes 10% of 300%", "far from the others"),
    ],
)
def test_what_stood_in_the_way(sentence: str, remark: str) -> None:
    found = compared({"a": sentence, "b": "seconds 0.1 noise 0.1%"}, rounds=60)
    assert any(remark in one for one in found.remarks), found.remarks


def test_noise_without_a_pattern_is_no_remark() -> None:
    remarks = [
        compared({"a": "seconds 0.1 noise 1%", "b": "seconds 0.1 noise 1%"}, seed, rounds=40).remarks
        for seed in range(40)
    ]
    assert sum(map(len, remarks)) <= 2, [one for one in remarks if one]


@pytest.mark.parametrize(
    ("rival", "code"), [("seconds 0.11", 3), ("seconds 0.1005", 0), ("seconds 0.09", 0), ("fail after 6", 4)]
)
def test_the_exit_code_of_fail_if_slower(rival: str, code: int) -> None:
    sentence = f"{rival} noise 0.1%" if "fail" not in rival else f"seconds 0.1 {rival}"
    found = compared({"a": "seconds 0.1 noise 0.1%", "b": sentence})
    assert judged(found, 0.02) == code


def test_a_difference_that_the_interval_leaves_open_cannot_be_told() -> None:
    found = compared({"a": "seconds 0.1 noise 8%", "b": "seconds 0.102 noise 8%"}, rounds=10)
    assert judged(found, 0.02) == 4


# -- what is kept --


def test_an_interrupted_comparison_goes_on_and_a_finished_one_begins_anew(tmp_path: Path) -> None:
    sentences = {"a": "seconds 0.1 noise 1%", "b": "seconds 0.1 noise 1%"}
    first = FakeCommands(VirtualClock(), sentences, interrupt_at=14)
    folder = tmp_path / "out"
    with pytest.raises(KeyboardInterrupt):
        compared(sentences, executor=first, output=folder, rounds=12)
    before = len(Store.read(folder).rows())
    assert before > 0
    again = FakeCommands(VirtualClock(), sentences)
    compared(sentences, executor=again, output=folder, rounds=12)
    assert len(again.ran) + before == 24
    third = FakeCommands(VirtualClock(), sentences)
    compared(sentences, executor=third, output=folder, rounds=12)
    assert len(third.ran) == 24
    assert len(list(folder.glob("rows.*.jsonl"))) == 1


@pytest.mark.parametrize(("bridge", "code"), [(1e-3, 3), (None, 4)])
@pytest.mark.usefixtures("in_an_empty_folder")
def test_two_sittings_need_a_bridge(bridge: float | None, code: int) -> None:
    def sitting(seconds: float, output: Path) -> None:
        sentences = {"it": f"seconds {seconds} noise 0.1%"}
        executor = FakeCommands(VirtualClock(), sentences, bridge_seconds=bridge)
        compared(sentences, executor=executor, output=output, rounds=40)

    sitting(0.1, saved.folder_of("base"))
    sitting(0.12, Path("now"))
    found = saved.against("base", Path("now"))
    assert judged(found, 0.02) == code
    assert any("two sittings" in remark for remark in found.remarks)
    assert [side.name for side in found.sides] == ["it (saved as base)", "it (now)"]


# -- the forms of the answer --


@pytest.fixture(scope="module")
def found() -> Compared:
    return compared({"./old a|b": "seconds 0.1 noise 1%", "new": "seconds 0.09 noise 1%"}, rounds=20)


def test_json_is_the_typed_result(found: Compared) -> None:
    assert msgspec.convert(json.loads(printing.as_json(found)), Compared) == found


def test_markdown_is_a_table_with_the_answer_first(found: Compared) -> None:
    lines = printing.as_markdown(found).splitlines()
    assert lines[0] == found.answer
    table = [line for line in lines if line.startswith("|")][:4]
    assert [line.split(" | ")[0] for line in lines if line.startswith(("| CPU", "| page"))] == [
        "| CPU time",
        "| page faults",
    ]
    assert "a\\|b" in table[2]
    assert len({line.replace("\\|", "").count("|") for line in table}) == 1


def test_csv_has_a_line_for_each_command(found: Compared) -> None:
    lines = list(csv.DictReader(io.StringIO(printing.as_csv(found))))
    assert [line["name"] for line in lines] == ["./old a|b", "new"]
    assert float(lines[1]["ratio"]) == pytest.approx(0.9, abs=0.02)


def test_the_terminal_shows_the_answer_first_and_the_runs_as_strips(found: Compared) -> None:
    out = io.StringIO()
    printing.show(found, Console(file=out, width=80))
    lines = out.getvalue().splitlines()
    assert lines[0].startswith("new takes")
    strips = [line for line in lines if "|" in line and line.startswith(("./old", "new"))]
    assert max(map(len, lines)) <= 80
    assert len(strips) >= 2


def test_figures_beside_time_have_their_ratio_and_counters_are_figures() -> None:
    counted = row("a", 0, counters={"instructions": 5e9, "scope": "user"})
    assert OTHERS["instructions"](counted) == 5e9
    assert OTHERS["cycles"](counted) is None
    pair = compared({"a": "seconds 0.1 noise 0.1%", "b": "seconds 0.2 noise 0.1%"}, rounds=10)
    lines = {line[0]: line[1:] for line in printing.beside(pair)[1]}
    assert lines["CPU time"][2] == "2.00"
    assert lines["page faults"] == ["50", "50", "1.00", "1.00 to 1.00"]


def test_a_shell_whose_quote_is_open_is_refused() -> None:
    with pytest.raises(TautoError, match="--shell"):
        entries_of([("true",)], shell="sh -c 'x")


def test_the_load_of_others_is_a_share_of_the_measured_machine() -> None:
    """Of eight CPUs, however many the machine has that reads the rows."""
    context = CompareContext(commands_compared=(Asked(name="a", words=("a",)),), looks=(8,))
    rows = [row("a", n, name="a", elapsed_seconds=1.0, others_cpu_seconds=4.0) for n in range(8)]
    (remark,) = analyse(rows, context, {"cpus": [{"cpu": number} for number in range(8)]}).remarks
    assert remark.startswith("Other programs took 50 %")


def test_a_command_that_left_early_is_judged_at_the_look_where_it_left() -> None:
    """Its look has a smaller part of the error than the last one, to which another command went on."""
    sentences = {"a": "seconds 0.1 noise 0.1%", "b": "seconds 0.2 noise 0.1%", "c": "seconds 0.1 noise 6%"}
    found = compared(sentences)
    early, late = found.rivals
    assert early.ratio is not None
    assert late.ratio is not None
    assert len(early.points) < len(late.points)
    assert early.ratio.confidence is not None
    assert early.ratio.confidence >= 1 - 0.01 / claims(2, len(found.looks), False)
