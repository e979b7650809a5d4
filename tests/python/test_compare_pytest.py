"""The fixture `tauto_compare`, in sessions of pytest that know nothing else of ours."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from processes import run_to_end, with_lab
from tautochrone.comparing import pytest_plugin
from toy_repository import WHO, ToyRepository

pytestmark = pytest.mark.timed
ROOT = Path(__file__).resolve().parents[2]

CONFTEST = f"""
import sys
sys.path.insert(0, {str(ROOT / "tests" / "python")!r})
from pathlib import Path
from tautochrone.comparing import library
from toy_repository import FakeMeasure
SECONDS = {{"old": 1.0, "same": 1.0, "slow": 1.1, "fast": 0.9}}
def seconds_of(entry):
    made = Path(entry.asked.folder or ".") / "seconds"
    return float(made.read_text()) if made.exists() else SECONDS.get(entry.asked.words[0])
library.measure = FakeMeasure(seconds_of, noise=0.01)
"""


def session(folder: Path, body: str, *words: str) -> subprocess.CompletedProcess[str]:
    (folder / "conftest.py").write_text(CONFTEST)
    (folder / "test_speed.py").write_text(body)
    return run_to_end(
        [sys.executable, "-m", "pytest", "-p", pytest_plugin.__name__, "-p", "no:cacheprovider", "-rs",
         "--tb=short", "--rootdir", folder, *words, folder],
        env=with_lab(**WHO, PYTEST_DISABLE_PLUGIN_AUTOLOAD="1"),
        cwd=folder,
    )  # fmt: skip


def test_commands_pass_fail_and_skip_with_the_sentence(tmp_path: Path) -> None:
    done = session(
        tmp_path,
        "def test_fast(tauto_compare):\n"
        "    found = tauto_compare(['old'], 'fast --size 3', names=['old', 'fast'], rounds=40)\n"
        "    found.assert_not_slower()\n"
        "    found.assert_faster('5%')\n"
        "    assert found.ratio < 0.95\n"
        "def test_slow(tauto_compare):\n"
        "    tauto_compare(['old'], ['slow'], rounds=40).assert_not_slower('5%')\n"
        "def test_not_that_slow(tauto_compare):\n"
        "    tauto_compare(['old'], ['slow'], rounds=40).assert_not_slower(0.2)\n"
        "def test_untold(tauto_compare):\n"
        "    tauto_compare(['old'], ['same'], rounds=40).assert_not_slower()\n"
        "def test_untold_fails(tauto_compare):\n"
        "    tauto_compare(['old'], ['same'], rounds=40).assert_not_slower(untold='fail')\n"
        "def test_not_faster(tauto_compare):\n"
        "    tauto_compare(['old'], ['slow'], rounds=40).assert_faster()\n"
        "def test_broken(tauto_compare):\n"
        "    tauto_compare(['old'], ['broken'], rounds=40).assert_not_slower(untold='fail')\n",
    )
    assert "4 failed, 2 passed, 1 skipped" in done.stdout
    assert "slower by more than 5 %: slow takes" in done.stdout
    assert "whether it is slower by more than 0 % cannot be told: No difference is resolved" in done.stdout
    assert "not faster by more than 0 %: slow takes" in done.stdout
    assert "broken has no good run" in done.stdout
    answers = done.stdout.partition("tauto compare ===")[2]
    assert "test_fast: fast takes" in answers


def test_callables(tmp_path: Path) -> None:
    done = session(
        tmp_path,
        "def few(): sum(range(300))\n"
        "def many(): sum(range(300000))\n"
        "def test_few(tauto_compare):\n"
        "    tauto_compare(many, few, rounds=12).assert_not_slower()\n"
        "def test_many(tauto_compare):\n"
        "    tauto_compare(few, many, rounds=12).assert_not_slower('100%')\n"
        "def test_both(tauto_compare):\n"
        "    tauto_compare(few, ['old'])\n"
        "def test_raises(tauto_compare):\n"
        "    tauto_compare(few, lambda: 1 / 0)\n",
    )
    assert "3 failed, 1 passed" in done.stdout
    assert "slower by more than 100 %: many" in done.stdout
    assert "a command and a callable cannot be compared" in done.stdout
    assert "raises ZeroDivisionError" in done.stdout


def test_revisions(tmp_path: Path) -> None:
    toy = ToyRepository(tmp_path / "repository")
    toy.commit("Begin", seconds="1.0", prog="")
    toy.commit("Slow", seconds="1.1")
    done = session(
        toy.path,
        "def test_it(tauto_compare):\n"
        "    tauto_compare.revisions('HEAD~1', 'HEAD', './prog', rounds=40).assert_not_slower('2%')\n",
    )
    assert "slower by more than 2 %: HEAD takes" in done.stdout


def test_the_package_names_the_plugin_and_does_without_pytest() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert project["entry-points"]["pytest11"] == {"tautochrone": pytest_plugin.__name__}
    assert not any(one.startswith("pytest") for one in project["dependencies"])
    script = (
        "import sys; sys.modules['pytest'] = None\n"
        "import tautochrone.comparing.command, tautochrone.comparing.library"
    )
    done = run_to_end([sys.executable, "-c", script], env=with_lab())
    assert done.returncode == 0, done.stderr


def test_loading_the_plugin_loads_nothing_else_of_the_package() -> None:
    script = (
        "import sys, tautochrone.comparing.pytest_plugin\n"
        "print(sorted(name for name in sys.modules if name.startswith('tautochrone')))"
    )
    done = run_to_end([sys.executable, "-c", script], env=with_lab())
    names = ["tautochrone", "tautochrone.comparing", "tautochrone.comparing.pytest_plugin"]
    assert done.stdout.strip() == str(names), done.stderr
