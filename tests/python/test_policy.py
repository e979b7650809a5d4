"""Frequency policies on fake sysfs trees: read, changed for a while, and always put back."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from energy_trees import write
from processes import is_running, wait_until, with_lab
from tautochrone.cli import main
from tautochrone.energy.meter import Tree
from tautochrone.errors import TautoError
from tautochrone.machine.policy.held import held, require_policies, under_each_policy
from tautochrone.machine.policy.knobs import Knobs, Policy
from tautochrone.report.analysis import Analysis
from tautochrone.results.context import StudyContext
from tautochrone.studies.request import StudyRequest
from tautochrone.studies.services import Services
from tautochrone.studies.study import Study, run, turns_of

pytestmark = pytest.mark.timed
CPUS = "sys/devices/system/cpu"
_PREFERENCES = "default performance balance_performance power"


def laptop(root: Path, governor: str = "powersave", preference: str = "balance_performance") -> Path:
    frequency = {
        "scaling_governor": governor,
        "scaling_available_governors": "performance powersave",
        "energy_performance_preference": preference,
        "energy_performance_available_preferences": _PREFERENCES,
    }
    for cpu in (0, 1, 10):
        write(root / CPUS / f"cpu{cpu}/cpufreq", frequency)
    write(root, {f"{CPUS}/intel_pstate/no_turbo": 0})
    profile = "sys/firmware/acpi/platform_profile"
    return write(root, {profile: "balanced", f"{profile}_choices": "low-power balanced performance"})


def content(root: Path) -> dict[str, str]:
    files = [path for path in root.rglob("*") if path.is_file()]
    return {str(path.relative_to(root)): path.read_text().strip() for path in files}


@pytest.fixture
def knobs(tmp_path: Path) -> Knobs:
    return Knobs(Tree(laptop(tmp_path)))


@pytest.fixture
def before(knobs: Knobs, tmp_path: Path) -> dict[str, str]:
    """What the files of the laptop held when nothing was changed yet."""
    return content(tmp_path)


def test_reads_what_is_set_and_what_could_be(knobs: Knobs) -> None:
    speed = {"governor": "powersave", "preference": "balance_performance"}
    assert knobs.now() == {"profile": "balanced", "turbo": "on", **speed}
    assert [one.name for one in knobs.policies()] == [
        *("as-it-is", "governor-performance", "preference-performance", "preference-power"),
        *("profile-low-power", "profile-performance", "turbo-off"),
    ]


def test_reading_writes_nothing(knobs: Knobs, before: dict[str, str], tmp_path: Path) -> None:
    times = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")}
    knobs.policies()
    assert content(tmp_path) == before
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")} == times


def test_cpus_that_differ_are_all_told_and_the_boost_switch_is_the_other_way_round(tmp_path: Path) -> None:
    write(tmp_path, {f"{CPUS}/cpu0/cpufreq/scaling_governor": "schedutil", f"{CPUS}/cpufreq/boost": 1})
    write(tmp_path, {f"{CPUS}/cpu1/cpufreq/scaling_governor": "ondemand"})
    knobs = Knobs(Tree(tmp_path))
    now = {"profile": None, "turbo": "on", "governor": "schedutil/ondemand", "preference": None}
    assert knobs.now() == now
    assert knobs.writes(Policy("turbo-off", {"turbo": "off"})) == [(f"/{CPUS}/cpufreq/boost", "0")]


def test_under_the_governor_performance_a_preference_takes_another_governor_first(tmp_path: Path) -> None:
    knobs = Knobs(Tree(laptop(tmp_path, "performance", "performance")))
    wanted = next(one for one in knobs.policies() if one.name == "preference-power")
    files = [path.rpartition("/")[2] for path, _ in knobs.writes(wanted)]
    assert files == ["scaling_governor"] * 3 + ["energy_performance_preference"] * 3


def test_every_policy_is_in_force_in_its_turn_and_gone_after_it(
    knobs: Knobs, before: dict[str, str], tmp_path: Path
) -> None:
    seen: list[tuple[str, dict[str, str | None]]] = []
    folders = under_each_policy(
        lambda folder, turn: seen.append((folder.name, knobs.now())),
        tmp_path / "out",
        lambda sentence: None,
        knobs,
    )
    assert [folder.name for folder in folders] == [name for name, _ in seen]
    assert folders[0] == tmp_path / "out" / "as-it-is"
    found = dict(seen)
    assert found["as-it-is"]["governor"] == "powersave"
    assert found["governor-performance"]["governor"] == "performance"
    assert found["preference-power"]["preference"] == "power"
    assert found["turbo-off"] == {**found["as-it-is"], "turbo": "off"}
    assert content(tmp_path) == before


def test_policies_take_turns_there_and_back(knobs: Knobs, before: dict[str, str], tmp_path: Path) -> None:
    seen: list[tuple[str, int, dict[str, str | None]]] = []
    said: list[str] = []
    folders = under_each_policy(
        lambda folder, turn: seen.append((folder.name, turn, knobs.now())),
        tmp_path / "out",
        said.append,
        knobs,
        turns=3,
    )
    names = [folder.name for folder in folders]
    orders = [[name for name, turn, _ in seen if turn == number] for number in range(3)]
    assert orders == [names, names[::-1], names]
    for name in names:  # the same in each of its turns
        assert len({tuple(sorted(now.items())) for one, _, now in seen if one == name}) == 1
    assert "policy turbo-off, turn 2 of 3" in said
    assert content(tmp_path) == before


@pytest.mark.parametrize(
    ("rounds", "ends"), [(8, [2, 4, 6, None]), (9, [3, 6, None]), (24, [6, 12, 18, None]), (2, [None])]
)
def test_a_study_under_policies_comes_back_to_each_four_times(rounds: int, ends: list[int | None]) -> None:
    assert [turn.until_round for turn in turns_of(rounds)] == ends
    assert [turn.number for turn in turns_of(rounds)] == list(range(len(ends)))


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt, SystemExit])
def test_whatever_ends_a_study_the_policy_is_put_back(
    knobs: Knobs, before: dict[str, str], tmp_path: Path, error: type[BaseException]
) -> None:
    def run(folder: Path, turn: int) -> None:
        if folder.name == "turbo-off":
            raise error

    with pytest.raises(error):
        under_each_policy(run, tmp_path / "out", lambda sentence: None, knobs)
    assert content(tmp_path) == before


HOLDER = """
import sys, time
from pathlib import Path
from tautochrone.energy.meter import Tree
from tautochrone.machine.policy.held import held
from tautochrone.machine.policy.knobs import Knobs
knobs = Knobs(Tree(Path(sys.argv[1])))
policies = knobs.policies()
with held(knobs, policies) as holding:
    for policy in policies[1:]:
        holding.enter(policy)
        if policy.name == sys.argv[2]:
            print(holding.watcher_pid, flush=True)
            while True:
                time.sleep(0.05)  # a signal that comes just before a sleep does not shorten it
"""


@contextmanager
def holder(root: Path, policy: str) -> Iterator[tuple[int, int]]:
    """A process of its own that holds a policy until it is killed: its pid and that of its watcher."""
    command = [sys.executable, "-c", HOLDER, str(root), policy]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, env=with_lab(), start_new_session=True
    ) as process:
        assert process.stdout is not None
        yield process.pid, int(process.stdout.readline())
        process.wait(60)


@pytest.mark.parametrize(
    ("policy", "number"),
    [
        *((name, signal.SIGKILL) for name in ("governor-performance", "preference-power", "turbo-off")),
        *(("profile-low-power", number) for number in (signal.SIGKILL, signal.SIGTERM, signal.SIGINT)),
    ],
)
def test_a_killed_process_leaves_nothing_changed(
    before: dict[str, str], tmp_path: Path, policy: str, number: signal.Signals
) -> None:
    with holder(tmp_path, policy) as (process, _):
        assert content(tmp_path) != before
        os.killpg(process, number)  # with all of its group, as a terminal would
    wait_until(lambda: content(tmp_path) == before, "the old policy")


def test_the_watcher_leaves_when_its_work_is_done(tmp_path: Path) -> None:
    with holder(laptop(tmp_path), "turbo-off") as (process, watcher):
        os.kill(process, signal.SIGKILL)
    wait_until(lambda: not is_running(watcher), "the watcher's end")


def test_a_watcher_that_was_killed_is_noticed_and_everything_put_back(
    knobs: Knobs, before: dict[str, str], tmp_path: Path
) -> None:
    policies = knobs.policies()
    with held(knobs, policies) as holding:
        holding.enter(policies[1])
        assert holding.watcher_pid is not None
        os.kill(holding.watcher_pid, signal.SIGKILL)
        wait_until(lambda: holding._watcher is not None and holding._watcher.poll() is not None, "its end")
        with pytest.raises(TautoError, match="has died"):
            holding.enter(policies[2])
    assert content(tmp_path) == before


def test_no_change_needs_no_watcher(knobs: Knobs) -> None:
    with held(knobs, [Policy("as-it-is", {})]) as holding:
        assert holding.watcher_pid is None


def test_a_file_that_refuses_names_itself_and_leaves_nothing_changed(
    knobs: Knobs, before: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_text = Path.write_text

    def refusing(path: Path, text: str) -> int:
        if "cpu1/cpufreq" in str(path):
            raise PermissionError(13, "Permission denied")
        return write_text(path, text)

    monkeypatch.setattr(Path, "write_text", refusing)
    wanted = Policy("governor-performance", {"governor": "performance"})
    refusal = r"governor-performance needs to write .*cpu1.* not permitted"
    with pytest.raises(TautoError, match=refusal) as said, held(knobs, [wanted]) as holding:
        holding.enter(wanted)
    assert "sudo" in str(said.value)
    assert content(tmp_path) == before


def test_what_cannot_be_put_back_is_named_with_a_line_for_each_value(
    knobs: Knobs, monkeypatch: pytest.MonkeyPatch
) -> None:
    policies = [Policy("turbo-off", {"turbo": "off"}), Policy("low", {"profile": "low-power"})]

    def end_with_two_files_changed() -> None:
        with held(knobs, policies) as holding:
            for policy in policies:
                for path, value in knobs.writes(policy):
                    knobs.tree.path(path).write_text(value)
            assert holding.watcher_pid is not None
            os.kill(holding.watcher_pid, signal.SIGKILL)
            monkeypatch.setattr("tautochrone.machine.policy.watcher.restore", lambda originals: [])

    with pytest.raises(TautoError) as said:
        end_with_two_files_changed()
    assert "not restored in /sys/firmware/acpi/platform_profile, /sys/devices" in said.value.message
    assert said.value.remedy == (
        "Type: echo balanced | sudo tee /sys/firmware/acpi/platform_profile; "
        f"echo 0 | sudo tee /{CPUS}/intel_pstate/no_turbo"
    )


def test_a_policy_does_not_begin_on_top_of_one_that_stays(
    knobs: Knobs, before: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    policies = knobs.policies()
    with held(knobs, policies) as holding:
        holding.enter(policies[1])
        with monkeypatch.context() as stuck:
            stuck.setattr("tautochrone.machine.policy.watcher.restore", lambda originals: None)
            with pytest.raises(TautoError, match="was not restored in"):
                holding.enter(policies[2])
    assert content(tmp_path) == before


def test_a_watcher_that_does_not_start_is_an_error_with_a_remedy(
    knobs: Knobs, before: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tautochrone.machine.policy.watcher.COMMAND", ("false",))
    with pytest.raises(TautoError, match="could not be started"), held(knobs, knobs.policies()):
        pass
    assert content(tmp_path) == before


def test_a_machine_without_policies_says_so(tmp_path: Path) -> None:
    with pytest.raises(TautoError, match="needs a frequency policy that can be changed"):
        require_policies(Knobs(Tree(tmp_path)))


def test_under_each_policy_the_work_is_that_of_the_first_and_all_are_concluded_together(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = laptop(tmp_path / "root")
    monkeypatch.setattr("tautochrone.machine.policy.held.Knobs", lambda: Knobs(Tree(root)))
    monkeypatch.setattr("tautochrone.studies.study.compare_policies", lambda folders, services: None)
    asked: list[StudyRequest] = []
    concluded: list[Sequence[Path]] = []

    class Fake(Study[StudyRequest, StudyContext, Analysis]):
        @classmethod
        def measure(cls, request: StudyRequest, services: Services | None = None) -> Analysis:
            asked.append(request)
            return Analysis(verdict_sentences=())

        @classmethod
        def conclude_policies(
            cls, folders: Sequence[Path], request: StudyRequest, services: Services | None = None
        ) -> None:
            concluded.append(folders)

    measured: list[Path] = []

    def machine() -> dict[str, object]:
        measured.append(asked[-1].output if asked else tmp_path)
        return {}

    monkeypatch.setattr("tautochrone.studies.study.Services", lambda: Services(machine=machine))
    assert run(Fake, StudyRequest(output=tmp_path / "out", policies=True, rounds=8, fresh=True)) == 0
    in_first = [one for one in asked if one.turn.number == 0]
    assert {one.like for one in asked} == {tmp_path / "out/as-it-is"}
    assert in_first[0].probed_in == ()
    assert in_first[1].probed_in == (tmp_path / "out/as-it-is",)
    in_second = [one for one in asked if one.turn.number == 1]
    assert [one.output for one in in_second] == [one.output for one in in_first][::-1]
    assert [one.fresh for one in (in_first[0], in_second[0])] == [
        True,
        False,
    ]  # what the first turn gave stays
    assert in_second[0].probed_in == (in_second[0].output, tmp_path / "out/as-it-is")
    assert [one.turn.until_round for one in asked] == [
        until for until in (2, 4, 6, None) for _ in range(len(in_first))
    ]
    assert len(measured) == len(in_first)  # the machine, once under each policy
    assert concluded == [[one.output for one in in_first]]


@pytest.mark.usefixtures("runners")
def test_the_command_line_refuses_policies_where_there_are_none(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("tautochrone.machine.policy.held.Knobs", lambda: Knobs(Tree(tmp_path)))
    assert main.main(["study", "loop", "--quick", "--policies"]) == 2
    assert "--policies needs a frequency policy" in capsys.readouterr().err
