"""``--bisect``: the commit that made the difference, with a bound on the error of the whole search."""

from __future__ import annotations

import random
import tempfile
from collections.abc import Callable, Collection, Sequence
from pathlib import Path

import pytest

from tautochrone.comparing.bisect import Search, bisect
from tautochrone.comparing.bisected import Bisected, as_markdown
from tautochrone.comparing.result import Asked
from tautochrone.comparing.settings import Entry, Settings
from tautochrone.comparing.worktrees import NotBuilt
from tautochrone.errors import TautoError
from tautochrone.verdicts import as_ratio, compare
from toy_repository import WHO, FakeMeasure, ToyRepository


class Line:
    """Commits 0 to `count` one after the other; those in `broken` cannot be built."""

    def __init__(self, count: int, broken: Collection[int] = ()) -> None:
        self.count = count
        self.broken = broken
        self.built: list[int] = []

    def suspects(self, bad: str, good: Sequence[str]) -> list[str]:
        first, last = max(map(int, good)) + 1, int(bad)
        by_distance = sorted(range(first, last), key=lambda one: -min(one - first + 1, last - one))
        return [*map(str, by_distance), bad]

    def parent(self, commit: str) -> str:
        return str(int(commit) - 1)

    def subject(self, commit: str) -> str:
        return f"Change {commit}"

    def entry(self, slot: str, commit: str) -> Entry:
        self.built.append(int(commit))
        if int(commit) in self.broken:
            raise NotBuilt(f"{commit} cannot be built")
        return Entry(Asked(name=commit, words=("./prog",)))


def searched(
    seconds_of: Callable[[int], float | None],
    *,
    count: int = 64,
    noise: float = 0.01,
    drift: float = 0.0,
    seed: int = 1,
    budget: float | None = None,
    broken: Collection[int] = (),
    objective: str = "time",
) -> tuple[Bisected, FakeMeasure, list[str]]:
    measure = FakeMeasure(
        lambda entry: seconds_of(int(entry.asked.name)), noise=noise, drift=drift, seed=seed
    )
    said: list[str] = []
    settings = Settings(budget_seconds=budget, objective=objective)
    search = Search(Line(count, broken), measure, settings, said.append, measure.clock)
    return search.run("0", str(count)), measure, said


def step_at(place: int, size: float = 0.03) -> Callable[[int], float]:
    return lambda commit: 0.1 * (1.0 + size * (commit >= place))


def test_a_step_of_3_percent_is_found_among_64_commits() -> None:
    chance = random.Random(20)
    right = wrong = 0
    for trial in range(100):
        place = chance.randint(1, 64)
        found, _, _ = searched(step_at(place), noise=0.012, drift=0.03, seed=trial)
        right += found.commit == str(place)
        wrong += found.told and found.commit != str(place)
    assert right >= 97
    assert wrong <= 1


def test_where_nothing_changed_nothing_is_named() -> None:
    named = [searched(lambda _: 0.1, noise=0.012, drift=0.03, seed=trial)[0] for trial in range(100)]
    assert sum(found.told for found in named) <= 1
    assert all("no commit to look for" in found.answer for found in named if not found.told)


def test_the_answer_names_commit_ratio_bound_and_effort() -> None:
    found, measure, said = searched(step_at(41))
    assert found.commit == "41"
    assert found.parent == "40"
    assert found.subject == "Change 41"
    assert found.ratio is not None
    assert found.ratio.low is not None
    assert found.ratio.low > 1.0
    assert "41 made it slower (Change 41)" in found.answer
    assert f"{found.measured} commits were measured" in found.answer
    assert "wrong in at most 1 of 100" in found.answer
    assert found.measured == 6
    assert said[0].startswith("64 commits left, about 6 steps")
    # Never across sittings: both ends are in the rounds of each candidate.
    steps = [entries for entries in measure.asked if len(entries) == 3]
    assert all([entry.asked.name for entry in entries[:2]] == ["0", "64"] for entries in steps)


def test_a_change_for_the_better_is_found_too() -> None:
    found, _, _ = searched(step_at(10, -0.05))
    assert found.commit == "10"
    assert "made it faster" in found.answer


def test_what_is_not_time_is_not_called_so() -> None:
    found, _, _ = searched(step_at(10), objective="memory")
    assert found.answer.startswith("10 made it change (Change 10): ")
    assert "time" not in found.answer
    nothing, _, _ = searched(lambda _: 0.1, objective="memory")
    assert "time" not in nothing.answer


def test_commits_that_do_not_build_are_skipped() -> None:
    found, _, _ = searched(step_at(50), broken=range(20, 45))
    assert found.commit == "50"
    assert any("cannot be built" in one for one in found.skipped)


def test_where_the_step_is_among_commits_that_do_not_build_they_are_all_named() -> None:
    found, _, _ = searched(step_at(30), broken=range(28, 32))
    assert not found.told
    assert sorted(map(int, found.suspects)) == [28, 29, 30, 31, 32]
    assert "one of 5 commits" in found.answer
    assert "cannot be built, run or told" in found.answer


def test_a_commit_whose_command_fails_is_skipped() -> None:
    found, _, _ = searched(lambda commit: None if commit == 32 else step_at(40)(commit))
    assert found.commit == "40"
    assert "32 was skipped: 32 failed" in found.skipped[0]


def test_a_noisy_step_is_measured_longer() -> None:
    quiet, few, _ = searched(step_at(20), noise=0.002)
    noisy, many, _ = searched(step_at(20), noise=0.03)
    assert quiet.commit == noisy.commit == "20"
    assert many.clock.monotonic() > 2.0 * few.clock.monotonic()


def test_the_budget_ends_the_search_with_what_is_left() -> None:
    found, measure, _ = searched(step_at(20), noise=0.002, budget=20.0)
    assert not found.told
    assert "20" in found.suspects
    assert 1 < len(found.suspects) < 64
    assert "give it more with --budget" in found.answer
    assert measure.clock.monotonic() < 22.0


def test_a_step_that_is_half_of_the_difference_is_said_to_be_so() -> None:
    found, _, _ = searched(lambda commit: 0.1 * (1.0 + 0.06 * (commit >= 20) + 0.04 * (commit >= 50)))
    assert found.commit == "20"
    assert any("% of the difference" in remark for remark in found.remarks)


def test_two_neighbours_need_no_step() -> None:
    found, measure, _ = searched(step_at(1), count=1)
    assert found.commit == "1"
    assert found.ratio == found.total
    assert all(len(entries) == 2 for entries in measure.asked)


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ToyRepository:
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    for name, value in WHO.items():
        monkeypatch.setenv(name, value)
    toy = ToyRepository(tmp_path / "repository")
    monkeypatch.chdir(toy.path)
    return toy


def in_repository(good: str, bad: str, build: str = "cp seconds prog; chmod +x prog") -> Bisected:
    measure = FakeMeasure(lambda entry: float((Path(entry.asked.folder) / "prog").read_text()), noise=0.002)
    return bisect(
        [good, bad],
        ["./prog"],
        Settings(),
        measure,
        build=build,
        say=lambda _: None,
        clock=measure.clock,
    )


@pytest.mark.timed
def test_in_a_repository_with_a_side_branch(repository: ToyRepository) -> None:
    repository.commit("Begin", seconds="1.0", README="0")
    repository.git("tag", "good")
    repository.commit("On main", README="1")
    repository.git("checkout", "--quiet", "-b", "side", "good")
    repository.commit("Beside", other="1")
    slow = repository.commit("Make it slow", seconds="1.05")
    repository.commit("Beside again", other="2")
    repository.git("checkout", "--quiet", "main")
    repository.commit("On main again", README="2")
    repository.git("merge", "--quiet", "--no-edit", "side")
    repository.commit("Last", README="3")
    before = repository.state()
    found = in_repository("good", "HEAD")
    assert found.commit == slow
    assert found.subject == "Make it slow"
    assert repository.state() == before
    assert list(Path(tempfile.gettempdir()).iterdir()) == []


@pytest.mark.timed
def test_what_an_earlier_commit_built_breaks_no_later_build(repository: ToyRepository) -> None:
    repository.commit("Begin", seconds="1.0", __gitignore="prog\nstale\n")
    repository.git("tag", "good")
    commits = [repository.commit(f"Change {number}", README=str(number)) for number in range(3)]
    slow = repository.commit("Make it slow", seconds="1.05")
    repository.commit("Last", README="last")
    # Refuses to build twice in one folder.
    found = in_repository(
        "good", "HEAD", "test ! -e stale && touch stale && cp seconds prog && chmod +x prog"
    )
    assert found.commit == slow
    assert found.parent == commits[-1]
    assert found.skipped == ()


@pytest.mark.timed
def test_ends_that_do_not_lead_to_each_other_are_refused(repository: ToyRepository) -> None:
    repository.commit("Begin", seconds="1.0")
    repository.git("checkout", "--quiet", "-b", "side")
    repository.commit("Beside", other="1")
    repository.git("checkout", "--quiet", "main")
    repository.commit("On main", README="1")
    with pytest.raises(TautoError, match=r"side is no ancestor of main.*--revisions [0-9a-f]{10} main"):
        in_repository("side", "main")
    with pytest.raises(TautoError, match=r"main comes after main~1. Write --revisions main~1 main"):
        in_repository("main", "main~1")
    with pytest.raises(TautoError, match="Commit first"):
        in_repository("main~1", "WORKTREE")


def test_an_answer_without_figures_has_no_table_and_names_what_is_left() -> None:
    nothing = as_ratio(compare([]))
    found = Bisected(
        answer="Cannot be told", total=nothing, error=0.01, suspects=("c" * 40,), skipped=("why",)
    )
    markdown = as_markdown(found)
    assert "|" not in markdown
    assert markdown.splitlines()[0] == "Cannot be told"
    assert f"- {'c' * 10}" in markdown.splitlines()
    assert markdown.endswith("- Why.")
