"""``tauto compare --revisions``: worktrees are made, built, measured and removed; nothing else is touched."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from processes import wait_until, with_lab
from tautochrone.cli.main import main
from tautochrone.comparing import command, github
from tautochrone.comparing.result import Compared
from tautochrone.comparing.revisions import compare_revisions
from tautochrone.comparing.settings import Entry, Settings
from tautochrone.errors import TautoError
from tautochrone.measuring import temporary
from toy_repository import WHO, FakeMeasure, ToyRepository

pytestmark = pytest.mark.timed

OLD, NEW = "#!/bin/sh\necho old\n", "#!/bin/sh\necho new\n"


@pytest.fixture(autouse=True)
def own_temporary_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    for name, value in WHO.items():
        monkeypatch.setenv(name, value)
    temporary.remove_left_over.cache_clear()
    return folder


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ToyRepository:
    toy = ToyRepository(tmp_path / "repository")
    toy.commit("Begin", prog=OLD, __gitignore="made\n")
    toy.git("tag", "begin")
    toy.commit("Make it new", prog=NEW)
    monkeypatch.chdir(toy.path)
    return toy


class Looking(FakeMeasure):
    """Also notes what the program of each entry prints."""

    def __init__(self) -> None:
        super().__init__(lambda entry: 1.0)
        self.printed: list[str] = []

    def __call__(self, entries: Sequence[Entry], settings: Settings) -> Compared:
        for entry in entries:
            words, where = list(entry.asked.words), entry.asked.folder
            self.printed.append(subprocess.check_output(words, cwd=where, text=True).strip())
        return super().__call__(entries, settings)


def compare(
    names: Sequence[str], build: str | None = None, words: Sequence[str] = ("./prog",)
) -> tuple[Compared, Looking]:
    measure = Looking()
    said: list[str] = []
    return compare_revisions(names, words, Settings(), measure, build=build, say=said.append), measure


def refused(names: Sequence[str], build: str | None = None, words: Sequence[str] = ("./prog",)) -> TautoError:
    with pytest.raises(TautoError) as refusal:
        compare(names, build, words)
    return refusal.value


def test_each_revision_runs_its_own_program(repository: ToyRepository, own_temporary_files: Path) -> None:
    before = repository.state()
    found, measure = compare(["begin", "main"])
    assert measure.printed == ["old", "new"]
    assert [entry.asked.name for entry in measure.asked[0]] == ["begin", "main"]
    folders = [Path(entry.asked.folder) for entry in measure.asked[0]]
    assert len({len(str(folder)) for folder in folders}) == 1, "lengths of paths would be a difference"
    assert any("Make it new" in remark for remark in found.remarks)
    assert repository.state() == before
    assert list(own_temporary_files.iterdir()) == []


def test_each_is_built_where_it_is(repository: ToyRepository) -> None:
    before = repository.state()
    _, measure = compare(["begin", "HEAD"], "cp prog made", ["./made"])
    assert measure.printed == ["old", "new"]
    assert repository.state() == before


def test_the_folder_of_the_user_is_that_of_the_command(
    repository: ToyRepository, monkeypatch: pytest.MonkeyPatch
) -> None:
    repository.write("sub/prog", OLD)
    repository.commit("Add a folder")
    repository.write("sub/prog", NEW)
    repository.commit("Change it")
    monkeypatch.chdir(repository.path / "sub")
    _, measure = compare(["HEAD~1", "HEAD"])
    assert measure.printed == ["old", "new"]
    assert "begin has no folder sub" in str(refused(["begin", "HEAD"]))


def test_worktree_is_the_tree_as_it_is(repository: ToyRepository) -> None:
    repository.write("prog", "#!/bin/sh\ncat more\n")
    repository.write("more", "mine")
    repository.write("made", "not for git")
    before = repository.state()
    found, measure = compare(["HEAD", "WORKTREE"])
    assert measure.printed == ["new", "mine"]
    assert not any("were not measured" in remark for remark in found.remarks)
    assert refused(["HEAD", "."], words=["./made"]).message == "HEAD has no ./made"
    assert repository.state() == before


def test_a_worktree_without_changes_is_said_to_be_head(repository: ToyRepository) -> None:
    found, _ = compare(["HEAD", "WORKTREE"])
    assert any("WORKTREE is what HEAD is" in remark for remark in found.remarks)
    repository.write("tautochrone-results/rows.jsonl", "many")
    found, measure = compare(["HEAD", "WORKTREE"], words=["sh", "-c", "ls"])
    assert measure.printed == ["prog", "prog"]


def test_changes_that_are_not_committed_are_said_to_be_left_out(repository: ToyRepository) -> None:
    repository.write("prog", "#!/bin/sh\necho changed\n")
    found, measure = compare(["begin", "HEAD"])
    assert measure.printed == ["old", "new"]
    assert any("not committed were not measured" in remark for remark in found.remarks)


def test_a_hook_of_the_user_does_not_mislead_us(
    repository: ToyRepository, monkeypatch: pytest.MonkeyPatch
) -> None:
    # git runs hooks with these variables set; a worktree made so would change the user's index.
    monkeypatch.setenv("GIT_INDEX_FILE", str(repository.path / ".git" / "index"))
    monkeypatch.setenv("GIT_DIR", str(repository.path / ".git"))
    repository.write(".git/hooks/post-checkout", "#!/bin/sh\ntouch hooked\n")
    before = (repository.path / ".git" / "index").read_bytes()
    _, measure = compare(["begin", "HEAD"], "git rev-parse HEAD > other; cp prog made", ["./made"])
    assert measure.printed == ["old", "new"]
    assert (repository.path / ".git" / "index").read_bytes() == before


def test_submodules_come_along(repository: ToyRepository, tmp_path: Path) -> None:
    library = ToyRepository(tmp_path / "library")
    library.commit("One", answer="#!/bin/sh\necho one\n")
    repository.git(
        "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(library.path), "lib"
    )
    repository.commit("With the library")
    commit = library.commit("Two", answer="#!/bin/sh\necho two\n")
    submodule = str(repository.path / "lib")
    repository.git("-C", submodule, "fetch", "--quiet")
    repository.git("-C", submodule, "checkout", "--quiet", commit)
    repository.commit("A newer library")
    before = repository.state()
    _, measure = compare(["HEAD~1", "HEAD"], words=["./lib/answer"])
    assert measure.printed == ["one", "two"]
    assert repository.state() == before


def test_a_build_that_fails_shows_its_last_lines(
    repository: ToyRepository, own_temporary_files: Path
) -> None:
    before = repository.state()
    refusal = refused(["begin", "HEAD"], "for i in 1 2 3; do echo line $i; done; exit 7")
    assert "begin cannot be built" in refusal.message
    assert "exit code 7" in refusal.message
    assert "line 3" in refusal.message
    assert repository.state() == before
    assert list(own_temporary_files.iterdir()) == []


@pytest.mark.parametrize(
    ("names", "words", "sentence"),
    [
        (["begin", "nowhere"], ["./prog"], "there is no revision 'nowhere'"),
        (["begin", "--all"], ["./prog"], "there is no revision '--all'"),
        (["main", "HEAD"], ["./prog"], "main and HEAD are the same commit"),
        (["begin", "HEAD"], [], "--revisions needs the command"),
        (["begin", "HEAD"], ["./gone"], "begin has no ./gone"),
    ],
)
def test_what_cannot_be_compared_is_one_sentence(
    repository: ToyRepository, names: list[str], words: list[str], sentence: str
) -> None:
    assert sentence in str(refused(names, words=words))


def test_a_program_of_the_users_own_tree_is_refused(repository: ToyRepository) -> None:
    refusal = refused(["begin", "HEAD"], words=[str(repository.path / "prog")])
    assert "each revision would run the same program" in refusal.message
    assert refusal.remedy.endswith("./prog")


def test_where_revisions_cannot_be(
    tmp_path: Path, repository: ToyRepository, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = tmp_path / "plain"
    plain.mkdir()
    monkeypatch.chdir(plain)
    assert "is in no git repository" in refused(["a", "b"]).message
    empty = ToyRepository(tmp_path / "empty")
    monkeypatch.chdir(empty.path)
    assert "has no commits" in refused(["a", "b"]).message
    monkeypatch.setenv("PATH", str(plain))
    assert "git was not found" in refused(["a", "b"]).message


def test_a_program_from_elsewhere_is_pointed_at(repository: ToyRepository) -> None:
    found, _ = compare(["begin", "HEAD"], words=["true"])
    assert any("no word of the command is a file" in remark for remark in found.remarks)
    found, _ = compare(["begin", "HEAD"], words=["sh", "prog"])
    assert not any("no word of the command is a file" in remark for remark in found.remarks)


def test_interrupt_and_error_remove_the_worktrees(
    repository: ToyRepository, own_temporary_files: Path
) -> None:
    before = repository.state()

    def interrupted(entries: Sequence[Entry], settings: Settings) -> Compared:
        (Path(entries[0].asked.folder) / "closed").mkdir(0o500)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        compare_revisions(["begin", "HEAD"], ["./prog"], Settings(), interrupted, say=lambda _: None)
    assert repository.state() == before
    assert list(own_temporary_files.iterdir()) == []


@pytest.fixture
def hanging(repository: ToyRepository, own_temporary_files: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A process in the middle of its measurement."""
    script = (
        "import time\nfrom tautochrone.comparing.revisions import compare_revisions\n"
        "from tautochrone.comparing.settings import Settings\n"
        "def hang(entries, settings):\n    open('../begun', 'w').close()\n    time.sleep(600)\n"
        "compare_revisions(['begin', 'HEAD'], ['./prog'], Settings(), hang)\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", script],
        env=with_lab(TMPDIR=str(own_temporary_files)),
        cwd=repository.path,
        stderr=subprocess.DEVNULL,
    )
    try:
        wait_until((repository.path.parent / "begun").exists, "the first measurement")
        yield process
    finally:
        process.kill()
        process.wait()


def test_a_process_that_is_told_to_end_removes_its_worktrees(
    repository: ToyRepository, own_temporary_files: Path, hanging: subprocess.Popen[bytes]
) -> None:
    assert "tauto-worktrees-" in repository.git("worktree", "list")
    hanging.terminate()
    assert hanging.wait(60) != 0
    assert "tauto-worktrees-" not in repository.git("worktree", "list")
    assert list(own_temporary_files.iterdir()) == []


def test_the_next_call_removes_what_a_killed_one_left(
    repository: ToyRepository, own_temporary_files: Path, hanging: subprocess.Popen[bytes]
) -> None:
    theirs = own_temporary_files.parent / "theirs"
    repository.git("worktree", "add", "--quiet", "--detach", str(theirs), "HEAD")
    theirs.rename(own_temporary_files.parent / "elsewhere")  # a worktree of the user's on a disk that is away
    hanging.kill()
    hanging.wait()
    assert len(list(own_temporary_files.iterdir())) == 1
    compare(["begin", "HEAD"])
    assert list(own_temporary_files.iterdir()) == []
    (own_temporary_files.parent / "elsewhere").rename(theirs)
    listed = repository.git("worktree", "list")
    assert str(theirs) in listed
    assert "tauto-worktrees-" not in listed


# -- on the command line --


@pytest.fixture
def measured(monkeypatch: pytest.MonkeyPatch) -> FakeMeasure:
    """What `tauto compare` measures: the seconds that stand in the file that was built."""
    fake = FakeMeasure(lambda entry: float((Path(entry.asked.folder) / "made").read_text()), noise=1e-4)
    monkeypatch.setattr(command, "measure", lambda entries, settings, services: fake(entries, settings))
    return fake


@pytest.fixture
def slow_since(repository: ToyRepository) -> str:
    repository.commit("Time it", seconds="1.0")
    repository.git("tag", "first")
    repository.commit("Change", more="1")
    slow = repository.commit("Slow", seconds="1.1")
    repository.commit("Change again", more="2")
    return slow


def test_the_command_builds_and_compares(
    measured: FakeMeasure, slow_since: str, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["compare", "--revisions", "first", "HEAD", "--build", "cp seconds made", "--rounds", "12"]
    assert main([*words, "--fail-if-slower", "2%", "--", "./prog", "x"]) == 3
    printed = capsys.readouterr()
    assert "% more time than first" in " ".join(printed.out.split())
    assert "building first: cp seconds made" in printed.err
    assert measured.settings[0].rounds == 12


def test_the_command_bisects(
    measured: FakeMeasure,
    slow_since: str,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    words = ["compare", "--revisions", "first", "HEAD", "--build", "cp seconds made", "--bisect"]
    assert main([*words, "--", "./prog"]) == 0
    assert f"{slow_since[:10]} made it slower (Slow)" in capsys.readouterr().out
    assert main([*words, "--json", "--", "./prog"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert (answer["schema"], answer["commit"]) == ("tautochrone.bisected/1", slow_since)
    summary, output = tmp_path / "summary", tmp_path / "output"
    monkeypatch.setenv(github.SUMMARY, str(summary))
    monkeypatch.setenv(github.OUTPUT, str(output))
    assert (
        main([*words, "--format", "github", "--export-markdown", str(tmp_path / "said.md"), "--", "./prog"])
        == 0
    )
    assert capsys.readouterr().out.startswith(
        f"::notice title=tauto compare::{slow_since[:10]} made it slower"
    )
    assert f"commit={slow_since}\nsubject=Slow\n" in output.read_text()
    table = summary.read_text()
    assert table.startswith(f"### {slow_since[:10]} made it slower (Slow)")
    assert "| its parent " in table
    assert table == f"### {(tmp_path / 'said.md').read_text()}"
    same = ["compare", "--revisions", "first", "first~0^0", "--build", "cp seconds made", "--bisect"]
    assert main([*same, "--", "./prog"]) == 2
    assert main(["compare", "--revisions", "HEAD~1", "HEAD", *words[4:], "--", "./prog"]) == 4
    assert "no commit to look for" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--build", "make", "--", "./prog"], "--build belongs to --revisions"),
        (["--bisect", "--", "./prog"], "--bisect belongs to --revisions"),
        (["--revisions", "begin", "HEAD", "--", "./prog", ":", "./prog"], "--revisions takes one command"),
        (
            ["--revisions", "begin", "HEAD", "--bisect", "--csv", "--", "./prog"],
            "--bisect has no table for CSV",
        ),
        (
            ["--revisions", "begin", "HEAD", "--bisect", "--export-csv", "x.csv", "--", "./prog"],
            "--bisect has no table for CSV",
        ),
    ],
)
def test_options_that_do_not_fit(
    repository: ToyRepository, words: list[str], sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["compare", *words]) == 2
    assert sentence in capsys.readouterr().err
