"""What cannot be tuned: each with its own sentence, before anything is measured."""

from __future__ import annotations

import io
import os
from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tautochrone.cli import main
from tautochrone.configuration import Configuration
from tautochrone.energy.find import Found
from tautochrone.energy.meter import Unavailable
from tautochrone.errors import TautoError
from tautochrone.tune import trial
from tautochrone.tune.judging import Judging
from tautochrone.tune.objective import parse_objective
from tautochrone.tune.options import TuneRequest
from tautochrone.tune.services import Services
from tautochrone.tune.trial import input_is_lost
from tautochrone.tune.tuning import _meter, prepare
from tune_fakes import machine

WORK = "i=0; while [ $i -lt 20000 ]; do i=$((i + 1)); done; "


@pytest.fixture(autouse=True)
def in_an_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def no_meter() -> Found:
    return Found(None, Unavailable("there is no meter in a virtual machine", "Measure on the host"))


def check(command: Sequence[str] | str, **options: Any) -> None:
    """All that comes before the first measured run."""
    words = ("sh", "-c", WORK + command) if isinstance(command, str) else tuple(command)
    environment = {"X": ("a", "b")}
    request = TuneRequest(command=words, **{"budget_seconds": 60.0, "environment": environment, **options})
    prepare(request, Services(machine=lambda measure: machine(), meter=no_meter))


def test_what_can_be_tuned_passes() -> None:
    check("true")


def test_no_command() -> None:
    with pytest.raises(TautoError, match=r"no command was given.*tauto tune -- "):
        check(())


def test_a_command_that_does_not_exist() -> None:
    with pytest.raises(TautoError, match=r"there is no command './solver'.*as the shell would find it"):
        check(("./solver",))


def test_a_script_that_does_not_say_what_reads_it(tmp_path: Path) -> None:
    script = tmp_path / "job"
    script.write_text("sleep 1\n")
    script.chmod(0o755)
    with pytest.raises(TautoError, match=r"cannot be started.*first line name what reads it, as #!/bin/sh"):
        check((str(script),))


def test_input_that_no_run_would_read_is_noticed(tmp_path: Path) -> None:
    """tauto tune -- sort < numbers measured how long sorting nothing takes, and did not say so."""
    (tmp_path / "numbers").write_text("2\n1\n")
    with (tmp_path / "numbers").open() as file, Path("/dev/null").open() as nothing:
        assert input_is_lost(file.fileno())
        assert not input_is_lost(nothing.fileno())
    reading, writing = os.pipe()
    assert not input_is_lost(reading)
    os.write(writing, b"1\n")
    assert input_is_lost(reading)
    os.close(writing)
    os.close(reading)
    assert not input_is_lost(reading)


def test_a_command_that_fails_as_it_is() -> None:
    with pytest.raises(TautoError, match=r"fails as it is, with exit code 3: no such case.*Put that right"):
        check("echo no such case >&2; exit 3")


def test_a_command_that_is_killed() -> None:
    with pytest.raises(TautoError, match=r"fails as it is, with signal 11"):
        check("kill -SEGV $$")


def test_a_command_that_needs_a_terminal() -> None:
    with pytest.raises(TautoError, match=r"needs a terminal.*batch mode"):
        check("test -t 0 || { echo 'stdin is not a terminal' >&2; exit 1; }")


@pytest.mark.parametrize("said", ["top: failed tty get", "Vim: Warning: Output is not to a terminal"])
def test_words_that_mean_a_terminal_is_missing(said: str) -> None:
    with pytest.raises(TautoError, match=r"needs a terminal.*batch mode"):
        check(f"echo '{said}' >&2; exit 1")


def test_a_command_that_opens_the_terminal_itself() -> None:
    with pytest.raises(TautoError, match=r"needs a terminal"):
        check("read answer </dev/tty")


def test_an_output_without_the_number() -> None:
    with pytest.raises(TautoError, match=r"nothing that matches.*in its default run.*in brackets"):
        check("echo speed: fast", objective="regex:speed: ([0-9.]+)")


def test_a_number_on_standard_error_is_found() -> None:
    check("echo speed: 5 >&2", objective="regex:speed: ([0-9.]+)")


def test_a_number_that_is_not_positive() -> None:
    with pytest.raises(TautoError, match=r"0, which is not positive"):
        check("echo speed: 0", objective="regex:speed: ([0-9.]+)")


@pytest.mark.parametrize("said", ["inf", "nan"])
def test_a_number_that_is_endless_or_none(said: str) -> None:
    """Its inverse is 0, and the search took the logarithm of that."""
    with pytest.raises(TautoError, match=rf"it printed {said}, which is no figure, for .*in its default run"):
        check(f"echo rate {said}", objective="regex-max:rate (.+)")


def test_a_command_that_goes_into_the_background() -> None:
    with pytest.raises(TautoError, match=r"goes on in the background.*left: (sleep|setsid|sh).*foreground"):
        check("setsid sleep 30 & true")


def test_a_command_that_is_too_short_is_offered_a_window(monkeypatch: pytest.MonkeyPatch) -> None:
    assert trial.SHORTEST_SECONDS == 0.005
    monkeypatch.setattr(trial, "SHORTEST_SECONDS", 5.0)  # starting it may take longer on a busy machine
    with pytest.raises(TautoError, match=r"below 5000 ms.*--repeat [0-9]+"):
        check(("true",))
    check(("true",), repeat=50)


def test_a_command_that_writes_the_same_file_in_each_run(tmp_path: Path) -> None:
    with pytest.raises(TautoError, match=r"writes result\.txt in this folder.*--scratch"):
        check("echo 1 > result.txt")
    (tmp_path / "result.txt").unlink()
    check("echo 1 > result.txt", scratch=True)
    assert not (tmp_path / "result.txt").exists()


def test_a_file_below_this_folder_that_is_written_in_each_run(tmp_path: Path) -> None:
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "a" / "b" / "log").write_text("1\n")
    (tmp_path / "up").symlink_to(tmp_path)
    with pytest.raises(TautoError, match=r"writes a/b/log in this folder.*--scratch"):
        check("echo 2 >> a/b/log")
    with pytest.raises(TautoError, match=r"writes a/new in this folder"):
        check("echo 2 > a/new")


def test_what_the_lab_writes_is_not_the_programs(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    check(
        "echo 1 > out/rows; mkdir -p tautochrone-results; echo 1 > tautochrone-results/x", output=Path("out")
    )


def test_a_budget_that_is_too_small_for_two_rounds() -> None:
    with pytest.raises(TautoError, match=r"too small for 2 rounds of [0-9]+ candidates.*--budget"):
        check("sleep 0.2", budget_seconds=0.9)


def test_a_budget_that_is_too_small_because_of_the_check() -> None:
    """Its time was in no budget: 8 seconds became 26."""
    with pytest.raises(TautoError, match=r"too small for 2 rounds of .* candidates"):
        check("true", budget_seconds=3.0, check="sleep 0.7")


def test_a_command_that_does_not_end() -> None:
    with pytest.raises(TautoError, match=r"did not end within 0\.3 s.*--time-limit"):
        check("sleep 30", time_limit_seconds=0.3)


def test_a_check_that_the_default_does_not_pass() -> None:
    with pytest.raises(TautoError, match=r"default run does not pass --check.*exit code 1"):
        check("echo 1", check="grep -q 2")
    check("echo 2", check="grep -q 2")


def test_a_check_reads_all_that_the_program_prints() -> None:
    check("head -c 5000000 /dev/zero", check="test $(wc -c) -eq 5000000")


def test_answers_are_the_same_only_if_all_that_was_printed_is() -> None:
    request = TuneRequest(command=("sh",), same_output=True)
    judging = Judging(parse_objective("time"), same_output=True)
    found = []
    with closing(Services().executor(request, judging, None)) as executor:
        for first in ("a", "b", "a"):
            words = ["sh", "-c", f"echo {first}; head -c 5000000 /dev/zero"]
            found.append(executor.run(Configuration(first, words), 60.0).record["check"])
    assert found[0] == found[2] != found[1]


@pytest.mark.parametrize("objective", ["energy", "edp", "ed2p"])
def test_energy_without_a_meter(objective: str) -> None:
    with pytest.raises(TautoError, match=r"no energy meter: there is no meter in a virtual machine"):
        check("true", objective=objective)


def test_time_is_metered_too_and_without_a_meter_there_is_one_warning() -> None:
    said = io.StringIO()
    request = TuneRequest(command=("sh", "-c", WORK), environment={"X": ("a", "b")}, budget_seconds=60.0)
    services = Services(machine=lambda measure: machine(), meter=no_meter, messages=said)
    prepared = prepare(request, services)
    assert prepared.meter == no_meter()
    assert said.getvalue().splitlines() == [
        "tauto: warning: no energy meter: there is no meter in a virtual machine. Measure on the host"
    ]
    elsewhere = replace(request, nodes=4, launcher=("srun", "-N1"))
    assert _meter(elsewhere, parse_objective("time"), services) is None
    assert len(said.getvalue().splitlines()) == 1


def test_what_blurs_a_meter_is_said_once() -> None:
    said = io.StringIO()
    found = Found(None, None, (), ("SGX is on",))
    services = Services(meter=lambda: found, messages=said)
    assert _meter(TuneRequest(command=("true",)), parse_objective("memory"), services) is found
    assert said.getvalue() == "tauto: warning: SGX is on\n"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("speed", "there is no objective 'speed'"),
        ("regex:", "there is no objective 'regex:'"),
        ("regex:(", "no regular expression"),
        ("time:5", "there is no objective"),
    ],
)
def test_objectives_that_are_none(words: str, said: str) -> None:
    with pytest.raises(TautoError, match=said):
        parse_objective(words)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (
            {"most_candidates": 1},
            r"--candidates 1 is less than the program as it is.*2 or more",
        ),
        ({"repeat": 0}, r"--repeat 0 .*1 or more"),
        ({"record_rounds": 0}, r"--record-rounds 0 .*1 or more"),
        ({"time_limit_seconds": 0.0}, r"--time-limit 0 leaves no time.*seconds above 0"),
        ({"time_limit_seconds": -1.0}, r"--time-limit -1 leaves no time"),
    ],
)
def test_numbers_with_which_nothing_could_run(options: dict[str, Any], said: str) -> None:
    with pytest.raises(TautoError, match=said):
        check("true", **options)


def test_several_nodes_need_a_launcher() -> None:
    with pytest.raises(TautoError, match=r"--nodes 4 without --launcher.*srun"):
        check("true", nodes=4)


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"nodes": 4, "launcher": ("srun", "-N1", "--exclusive")}, "--nodes 4"),
        ({"nodes": 2, "launcher": ("env",)}, "--nodes 2"),
        ({"launcher": ("env", "A=1", "srun", "-N1")}, "--launcher 'env A=1 srun -N1'"),
    ],
)
@pytest.mark.parametrize("objective", ["energy", "edp"])
def test_joules_of_other_nodes(options: dict[str, Any], named: str, objective: str) -> None:
    said = rf"--objective {objective} cannot be had with {named}.*this machine's. Start tauto on the node"
    with pytest.raises(TautoError, match=said):
        check("true", objective=objective, **options)


def test_joules_of_several_nodes_end_with_code_2(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--objective", "energy", "--nodes", "4", "--launcher", "srun -N1", "--", "true"]
    assert main(["tune", *words]) == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_the_trial_runs_the_words_that_are_always_added() -> None:
    command = ("sh", "-c", WORK + '[ "$*" = "-quick 7" ]', "sh")
    check(command, arguments=(("-quick", "7"), ("-t", "{threads}")), values={"threads": ("1", "2")})
    with pytest.raises(TautoError, match=r"fails as it is, with exit code 1"):
        check(command)


def test_braces_without_values_are_refused_before_the_command_runs(tmp_path: Path) -> None:
    with pytest.raises(TautoError, match=r"nothing says what \{level\} stands for"):
        check("echo {level} > result.txt")
    assert not (tmp_path / "result.txt").exists()


def test_the_command_line_ends_with_code_2(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tune", "--budget", "soon", "--", "true"]) == 2
    assert "--budget 'soon' is no length of time. Write it like 90s" in capsys.readouterr().err
