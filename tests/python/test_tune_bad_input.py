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

from tautochrone.energy.find import Found
from tautochrone.energy.meter import Unavailable
from tautochrone.errors import TautoError
from tautochrone.inspection.watching import Watched, watch
from tautochrone.measuring.configuration import Configuration
from tautochrone.measuring.objective import parse_objective
from tautochrone.tune import preparing, same_file
from tautochrone.tune.judging import Judging
from tautochrone.tune.options import TuneRequest
from tautochrone.tune.preparing import input_is_lost, meter_for, prepare
from tautochrone.tune.services import Services
from tautochrone.tune.tuning import announce
from tune_fakes import machine

pytestmark = [pytest.mark.timed, pytest.mark.usefixtures("in_an_empty_folder")]

WORK = "i=0; while [ $i -lt 20000 ]; do i=$((i + 1)); done; "


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


SPEED = {"objective": "regex:speed: ([0-9.]+)"}
RATE = {"objective": "regex-max:rate (.+)"}
TERMINAL = r"needs a terminal.*batch mode"
ON_THE_NODE = r".*this machine's. Start tauto on the node"
JOULES_ELSEWHERE: list[tuple[dict[str, Any], str]] = [
    ({"nodes": 4, "launcher": ("srun", "-N1", "--exclusive")}, f"--nodes 4{ON_THE_NODE}"),
    ({"nodes": 2, "launcher": ("env",)}, f"--nodes 2{ON_THE_NODE}"),
    ({"launcher": ("env", "A=1", "srun", "-N1")}, f"--launcher 'env A=1 srun -N1'{ON_THE_NODE}"),
]


@pytest.mark.parametrize(
    ("command", "options", "why"),
    [
        ((), {}, r"no command was given.*tauto tune -- "),
        (("./solver",), {}, r"there is no command './solver'.*as the shell would find it"),
        (
            "echo no such case >&2; exit 3",
            {},
            r"fails as it is, with exit code 3: no such case.*Fix that first",
        ),
        ("kill -SEGV $$", {}, r"fails as it is, with signal 11"),
        ("sleep 30", {"time_limit_seconds": 0.3}, r"did not end within 0\.3 s.*--time-limit"),
        ("setsid sleep 30 & true", {}, r"in the background.*running: (sleep|setsid|sh).*foreground"),
        ("test -t 0 || { echo 'stdin is not a terminal' >&2; exit 1; }", {}, TERMINAL),
        ("echo 'top: failed tty get' >&2; exit 1", {}, TERMINAL),
        ("echo 'Vim: Warning: Output is not to a terminal' >&2; exit 1", {}, TERMINAL),
        ("read answer </dev/tty", {}, r"needs a terminal"),
        # The number it prints. The inverse of an endless one is 0, and the search took the logarithm of that.
        ("echo speed: fast", SPEED, r"nothing that matches.*in its default run.*in brackets"),
        ("echo speed: 0", SPEED, r"0, which is not positive"),
        ("echo rate inf", RATE, r"it printed inf, which is not finite, .* default run"),
        ("echo rate nan", RATE, r"it printed nan, which is not finite, .* default run"),
        ("true", {"objective": "speed"}, "there is no objective 'speed'"),
        ("true", {"objective": "regex:"}, "there is no objective 'regex:'"),
        ("true", {"objective": "regex:("}, "not a regular expression"),
        ("true", {"objective": "time:5"}, "there is no objective"),
        # The time of the check was in no budget: 8 seconds became 26.
        ("sleep 0.2", {"budget_seconds": 0.9}, r"too small for 2 rounds of [0-9]+ candidates.*--budget"),
        ("true", {"budget_seconds": 3.0, "check": "sleep 0.7"}, r"too small for 2 rounds of .* candidates"),
        # Numbers with which nothing could run.
        ("true", {"most_candidates": 1}, r"--candidates 1 is less than the program as it is.*2 or more"),
        ("true", {"repeat": 0}, r"--repeat 0 .*1 or more"),
        ("true", {"time_limit_seconds": 0.0}, r"--time-limit 0 leaves no time.*seconds above 0"),
        ("true", {"time_limit_seconds": -1.0}, r"--time-limit -1 leaves no time"),
        ("true", {"nodes": 4}, r"--nodes 4 without --launcher.*srun"),
        *(
            ("true", {"objective": objective}, r"no energy meter: there is no meter in a virtual machine")
            for objective in ("energy", "edp", "ed2p")
        ),
        *(
            ("true", {"objective": objective, **options}, f"--objective {objective} cannot be had with {why}")
            for objective in ("energy", "edp")
            for options, why in JOULES_ELSEWHERE
        ),
    ],
)
def test_what_cannot_be_tuned_says_why_and_what_to_do(
    command: Sequence[str] | str, options: dict[str, Any], why: str
) -> None:
    with pytest.raises(TautoError, match=why):
        check(command, **options)


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


def test_a_number_on_standard_error_is_found() -> None:
    check("echo speed: 5 >&2", objective="regex:speed: ([0-9.]+)")


def test_a_command_that_is_too_short_is_offered_a_window(monkeypatch: pytest.MonkeyPatch) -> None:
    assert preparing.SHORTEST_SECONDS == 0.005
    monkeypatch.setattr(preparing, "SHORTEST_SECONDS", 5.0)  # starting it may take longer on a busy machine
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


def test_a_file_that_somebody_else_writes_meanwhile_is_not_the_commands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An editor that saved a file during the first run had the command blamed for it."""
    runs = []

    def beside_an_editor(*given: Any, **options: Any) -> Watched:
        runs.append(1)
        (tmp_path / "notes").write_text("x" * len(runs)) if len(runs) == 1 else None
        (tmp_path / "journal").write_text("x" * len(runs))
        return watch(*given, **options)

    def idle(seconds: float) -> None:
        (tmp_path / "journal").write_text("written while nothing ran")

    monkeypatch.setattr(preparing, "watch", beside_an_editor)
    monkeypatch.setattr(same_file.time, "sleep", idle)
    check("exec sleep 0.01")
    assert len(runs) == 2
    with pytest.raises(TautoError, match=r"writes own in this folder"):
        check("echo >> own")


@pytest.mark.parametrize("what", ["temporary files", "objects", "what it may have written"])
def test_what_a_build_beside_it_writes_is_not_the_commands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    """Its files have new names each time, so a second run did not tell whose the first ones were."""
    made: list[Path] = []

    def builds() -> None:
        if what == "temporary files" and made:
            made[-1].unlink()
        made.append(tmp_path / f"{len(made)}.o")
        made[-1].write_text("x")

    def beside_a_build(*given: Any, **options: Any) -> Watched:
        builds()
        return watch(*given, **options)

    def idle(seconds: float) -> None:
        if what == "objects" and seconds >= 0.5:
            builds()

    monkeypatch.setattr(preparing, "watch", beside_a_build)
    monkeypatch.setattr(same_file.time, "sleep", idle)
    if what == "what it may have written":
        with pytest.raises(TautoError, match=r"writes 0\.o in this folder"):
            check("exec sleep 0.01")
    else:
        check("exec sleep 0.01")


def test_a_log_that_another_process_has_open_is_not_the_commands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with (tmp_path / "log").open("a") as log:

        def beside_a_service(*given: Any, **options: Any) -> Watched:
            log.write("one more line\n")
            log.flush()
            return watch(*given, **options)

        with monkeypatch.context() as changed:
            changed.setattr(preparing, "watch", beside_a_service)
            check("exec sleep 0.01")
    with pytest.raises(TautoError, match=r"writes log in this folder"):
        check("echo >> log")


def test_another_search_in_this_folder_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "rows.jsonl").write_text("")
    check("echo >> other/rows.jsonl; echo >> other/study.json")


def test_what_the_lab_writes_is_not_the_programs(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    command = "echo 1 > out/rows; mkdir -p tautochrone-results; echo 1 > tautochrone-results/x"
    check(command, output=Path("out"))


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


def test_time_is_metered_too_and_without_a_meter_nothing_is_said() -> None:
    messages = io.StringIO()
    request = TuneRequest(command=("sh", "-c", WORK), environment={"X": ("a", "b")}, budget_seconds=60.0)
    services = Services(machine=lambda measure: machine(), meter=no_meter, messages=messages)
    prepared = prepare(request, services)
    assert prepared.meter == no_meter()
    elsewhere = replace(request, nodes=4, launcher=("srun", "-N1"))
    assert meter_for(elsewhere, parse_objective("time"), services) is None
    assert messages.getvalue() == ""


def test_a_budget_that_is_given_shrinks_the_search(tmp_path: Path) -> None:
    values = tuple(str(number) for number in range(40))
    request = TuneRequest(
        command=("sh", "-c", "sleep 0.1"), environment={"X": values}, budget_seconds=4.0, output=tmp_path
    )
    messages = io.StringIO()
    services = Services(machine=lambda measure: machine(), meter=no_meter, messages=messages)
    prepared = prepare(request, services)
    assert 2 <= len(prepared.space.candidates) < 20
    assert len(prepared.space.candidates) == prepared.request.most_candidates
    announce(prepared.space, prepared.summary, services, is_cut=True)
    assert "a longer --budget tries more" in messages.getvalue()


def test_what_blurs_a_meter_is_said_once() -> None:
    messages = io.StringIO()
    found = Found(None, None, (), ("SGX is on",))
    services = Services(meter=lambda: found, messages=messages)
    assert meter_for(TuneRequest(command=("true",)), parse_objective("memory"), services) is found
    assert messages.getvalue() == "tauto: warning: SGX is on\n"


def test_the_trial_runs_the_words_that_are_always_added() -> None:
    command = ("sh", "-c", WORK + '[ "$*" = "-quick 7" ]', "sh")
    check(command, arguments=(("-quick", "7"), ("-t", "{threads}")), values={"threads": ("1", "2")})
    with pytest.raises(TautoError, match=r"fails as it is, with exit code 1"):
        check(command)


def test_braces_without_values_are_refused_before_the_command_runs(tmp_path: Path) -> None:
    with pytest.raises(TautoError, match=r"nothing says what \{level\} stands for"):
        check("echo {level} > result.txt")
    assert not (tmp_path / "result.txt").exists()
