"""`--format github` and the action: summary, annotations, outputs, comment, exit codes."""

from __future__ import annotations

import os
import re
import sys
import textwrap
from pathlib import Path

import pytest

from processes import run_to_end, with_lab
from tautochrone.comparing import github, printing
from tautochrone.comparing.points import of_points
from tautochrone.comparing.result import Compared
from tautochrone.errors import TautoError
from toy_repository import WHO, ToyRepository

ROOT = Path(__file__).resolve().parents[2]
ACTION = (ROOT / "action.yml").read_text()

TAUTO = """#!{python}
import sys
sys.path.insert(0, {tests!r})
from pathlib import Path
from tautochrone.comparing import command
from toy_repository import FakeMeasure
fake = FakeMeasure(lambda entry: float((Path(entry.asked.folder) / "made").read_text()), noise=0.002)
command.measure = lambda entries, settings, services: fake(entries, settings)
from tautochrone.cli.main import main
raise SystemExit(main())
"""
GH = """#!/bin/sh
echo "$@" >> {log}
case "$*" in *--jq*) cat {known};; esac
for word; do case $word in body=@*) cat "${{word#body=@}}" > {body};; esac; done
"""


def found(ratio: float) -> Compared:
    points = [1.0 + 0.001 * number for number in range(12)]
    return of_points(["ma|in", "HEAD"], [points, [ratio * one for one in points]])


def published(compared: Compared, code: int, places: dict[str, str]) -> str:
    return github.handed_over(printing.as_markdown(compared), github.outputs(compared), code, places)


def test_the_summary_begins_with_the_answer_and_has_a_table() -> None:
    lines = published(found(1.1), 0, {}).splitlines()[1:]
    assert lines[0].startswith("### HEAD takes 10.0 % more time than ma|in")
    assert lines[2].startswith("| command |")
    assert set(lines[3]) == set("| -")
    assert "ma\\|in" in lines[4]
    assert len({len(re.findall(r"(?<!\\)\|", line)) for line in lines[2:6]}) == 1


@pytest.mark.parametrize(
    ("code", "words"), [(0, "::notice title="), (3, "::error title="), (4, "::warning title=")]
)
def test_the_annotation_fits_the_exit_code(code: int, words: str) -> None:
    line = github.annotation(found(1.1).answer, code)
    assert line.startswith(words)
    assert "10.0 %25 more time" in line


def test_files_of_the_workflow_are_appended_to(tmp_path: Path) -> None:
    places = {github.SUMMARY: str(tmp_path / "summary"), github.OUTPUT: str(tmp_path / "output")}
    (tmp_path / "summary").write_text("before\n")
    printed = published(found(1.1), 3, places)
    assert printed.count("\n") == 0
    assert (tmp_path / "summary").read_text().startswith("before\n### HEAD takes")
    values = dict(line.split("=", 1) for line in (tmp_path / "output").read_text().splitlines())
    assert values["verdict"] == "slower"
    assert [float(values[name]) for name in ("low", "ratio", "high")] == pytest.approx([1.1, 1.1, 1.1])
    with pytest.raises(TautoError, match="cannot be written"):
        published(found(1.1), 3, {github.SUMMARY: str(tmp_path / "none" / "summary")})


def test_without_a_workflow_the_summary_is_printed() -> None:
    assert "\n### HEAD takes" in published(found(1.1), 0, {})


# -- the action --


def steps() -> dict[str, str]:
    """The shell of each step, by its name."""
    parts = re.split(r"^    - name: ", ACTION, flags=re.MULTILINE)[1:]
    return {
        part.partition("\n")[0]: textwrap.dedent(part.partition("      run: |\n")[2].rstrip())
        for part in parts
    }


class Runner:
    """A machine with a checkout of a repository whose last commit changes the time."""

    def __init__(self, folder: Path, seconds: str, build: str = "cp seconds made") -> None:
        self.folder = folder
        self.repository = ToyRepository(folder / "repository")
        self.repository.commit("Begin", seconds="1.0", prog="#!/bin/sh\n")
        self.repository.commit("Change it", seconds=seconds)
        self.programs = folder / "bin"
        self.programs.mkdir()
        self._program("tauto", TAUTO.format(python=sys.executable, tests=str(ROOT / "tests" / "python")))
        places = {name: folder / name for name in ("log", "known", "body")}
        (folder / "known").write_text("")
        self._program("gh", GH.format(**places))
        self.build = build

    def _program(self, name: str, text: str) -> None:
        path = self.programs / name
        path.write_text(text)
        path.chmod(0o755)

    def step(self, name: str, **variables: str) -> int:
        given = {
            "PATH": f"{self.programs}{os.pathsep}{os.environ['PATH']}",
            "RUNNER_TEMP": str(self.folder),
            "GITHUB_ACTION_PATH": str(ROOT),
            "GITHUB_PATH": str(self.folder / "path"),
            "GITHUB_STEP_SUMMARY": str(self.folder / "summary.md"),
            "GITHUB_OUTPUT": str(self.folder / "output"),
            "COMPARE_COMMAND": "./prog 'two words'",
            "COMPARE_BUILD": self.build,
            "COMPARE_BASE": "HEAD^1",
            "COMPARE_HEAD": "HEAD",
            "COMPARE_FAIL": "",
            "COMPARE_OPTIONS": "--rounds 12",
            "GH_REPO": "owner/name",
            "COMPARE_NUMBER": "7",
            "COMPARE_JOB": "check speed",
        }
        words = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", steps()[name]]
        done = run_to_end(
            words, cwd=self.repository.path, env=with_lab(**(WHO | given | variables)), timeout=60
        )
        self.printed = done.stdout + done.stderr
        return done.returncode

    def read(self, name: str) -> str:
        return (self.folder / name).read_text()


@pytest.mark.timed
@pytest.mark.parametrize(
    ("seconds", "limit", "code", "verdict", "level"),
    [
        ("1.1", "2%", 3, "slower", "::error"),
        ("1.1", "10%", 4, "slower", "::warning"),
        ("0.9", "2%", 0, "faster", "::notice"),
        ("1.1", "", 0, "slower", "::notice"),
    ],
)
def test_the_action_compares_two_worktrees(
    tmp_path: Path, seconds: str, limit: str, code: int, verdict: str, level: str
) -> None:
    runner = Runner(tmp_path, seconds)
    before = runner.repository.state()
    assert runner.step("Install tautochrone") == 0
    assert runner.step("Compare", COMPARE_FAIL=limit) == code, runner.printed
    assert level in runner.printed
    summary = runner.read("summary.md")
    assert summary.startswith("### HEAD takes")
    assert "| HEAD^1 |" in summary
    assert "Change it" in summary
    assert f"verdict={verdict}\n" in runner.read("output")
    after = runner.repository.state()
    results = {name for name in after if name.startswith("tautochrone-results/")}
    assert {name: value for name, value in after.items() if name not in results} == before


@pytest.mark.timed
def test_a_build_that_fails_fails_the_step_with_its_lines(tmp_path: Path) -> None:
    runner = Runner(tmp_path, "1.1", "echo no such header; false")
    assert runner.step("Compare") == 2
    assert "no such header" in runner.printed


@pytest.mark.timed
def test_the_comment_is_written_once_and_then_changed(tmp_path: Path) -> None:
    runner = Runner(tmp_path, "1.1")
    assert runner.step("Comment") == 0  # nothing was compared
    assert not (tmp_path / "log").exists()
    (tmp_path / "tauto-compare.md").write_text("HEAD takes 10.0 % more time.\n")
    assert runner.step("Comment") == 0, runner.printed
    assert "--method POST repos/owner/name/issues/7/comments" in runner.read("log")
    assert runner.read("body").splitlines() == [
        "<!-- tauto compare: check speed -->", "HEAD takes 10.0 % more time."
    ]  # fmt: skip
    (tmp_path / "known").write_text("41\n42\n")
    assert runner.step("Comment") == 0, runner.printed
    assert "--method PATCH repos/owner/name/issues/comments/41" in runner.read("log")


def test_the_action_declares_what_it_uses_and_uses_what_it_declares() -> None:
    head, _, body = ACTION.partition("\noutputs:")
    declared = set(re.findall(r"^  ([a-z-]+):$", head, re.MULTILINE))
    assert declared == set(re.findall(r"inputs\.([a-z-]+)", body))
    shell = "\n".join(steps().values())
    given = set(re.findall(r"^        ([A-Z_]+): ", body, re.MULTILINE))
    assert {name for name in given if name != "GH_TOKEN"} <= set(re.findall(r"\$\{?(\w+)", shell))
    assert "${{" not in shell, "an expression in a script would run what a pull request is called"
    outputs = set(re.findall(r"steps\.compare\.outputs\.([a-z]+)", ACTION))
    assert outputs == set(github.outputs(found(1.0)))


def test_the_example_workflow_gives_the_action_what_it_takes() -> None:
    page = (ROOT / "docs" / "compare-ci.md").read_text()
    (example,) = re.findall(r"```yaml\n(.*?)```", page, re.DOTALL)
    given = re.findall(r"^          ([a-z-]+):", example.partition("id: speed")[2], re.MULTILINE)
    assert given
    assert set(given) <= set(re.findall(r"^  ([a-z-]+):$", ACTION, re.MULTILINE))
    assert "fetch-depth: 2" in example
