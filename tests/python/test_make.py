"""The scripts behind the Makefile, with the system's own tools replaced by stand-ins that keep a diary."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

import tautochrone

ROOT = Path(__file__).resolve().parents[2]
# What the scripts use of a system; anything else must come from a stand-in.
PLAIN_TOOLS = (
    "sh",
    "dirname",
    "grep",
    "tr",
    "sed",
    "cat",
    "env",
    "find",
    "cksum",
    "sort",
    "mkdir",
    "rm",
    "nproc",
    "cp",
)
PLAIN_TOOLS += ("chmod", "bash", "make")

LIST = """
# mark package probe purpose
build compiler-new|compiler-old command:no-such-compiler a compiler
build topology header:no/such/header.h the topology
peer rival|rival-old library:libnosuchrival.so.7 a rival
browser browser command:no-such-browser a browser
"""


class System:
    """A pretended Debian: some packages installed, some in its archive, a user with or without rights."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.bin = folder / "bin"
        self.bin.mkdir()
        self.diary = folder / "diary"
        self.diary.write_text("")
        (folder / "list").write_text(LIST)
        (folder / "archive").write_text("build-essential\n")
        (folder / "installed").write_text("")
        for tool in PLAIN_TOOLS:
            path = shutil.which(tool)
            assert path, tool
            (self.bin / tool).symlink_to(path)
        self.tool("python3", f'exec "{sys.executable}" "$@"')
        self.tool("c++", "exit 1")
        self.tool("id", "echo 1000")
        self.tool("ldconfig", "echo none")
        self.tool("apt-get", f'echo "apt-get $*" >>"{self.diary}"')
        self.tool("dpkg-query", f'grep -qxF "$4" "{folder}/installed" && printf installed')
        answers = ('printf "  Candidate: 1\\n"', 'printf "  Candidate: (none)\\n"')
        self.tool("apt-cache", f'grep -qxF "$2" "{folder}/archive" && {answers[0]} || {answers[1]}')

    def tool(self, name: str, script: str) -> None:
        path = self.bin / name
        path.unlink(missing_ok=True)
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)

    def root(self) -> None:
        self.tool("id", "echo 0")

    def without_apt(self) -> None:
        for name in ("apt-get", "apt-cache", "dpkg-query"):
            (self.bin / name).unlink()

    def archive(self, *packages: str) -> None:
        (self.folder / "archive").write_text("\n".join(["build-essential", *packages, ""]))

    def installed(self, *packages: str) -> None:
        (self.folder / "installed").write_text("\n".join([*packages, ""]))

    def calls(self) -> list[str]:
        return self.diary.read_text().splitlines()

    def packages(self, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["sh", str(ROOT / "tools" / "packages.sh"), *arguments],
            env={"PATH": str(self.bin), "TAUTO_PACKAGES": str(self.folder / "list"), **environment},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )


@pytest.fixture
def system(tmp_path: Path) -> System:
    return System(tmp_path)


def test_nothing_is_done_where_every_package_is_installed(system: System) -> None:
    system.installed("compiler-old", "topology", "rival")
    finished = system.packages("build", "peer")
    assert (finished.returncode, finished.stdout, finished.stderr) == (0, "", "")
    assert system.calls() == []


def test_a_tool_that_did_not_come_as_a_package_counts_as_installed(system: System) -> None:
    system.installed("topology")
    system.tool("no-such-compiler", "exit 0")
    assert system.packages("build").returncode == 0


def test_without_rights_the_exact_command_is_printed_and_nothing_touched(system: System) -> None:
    system.archive("compiler-old", "topology", "rival-old")
    finished = system.packages("build", "peer")
    assert finished.returncode == 2
    line = "apt-get update && apt-get install -y --no-install-recommends compiler-old topology rival-old"
    assert line in finished.stderr.splitlines()
    assert "Nothing was changed" in finished.stderr
    assert system.calls() == []


def test_only_a_missing_peer_says_how_to_go_on_without_it(system: System) -> None:
    system.archive("rival")
    system.installed("compiler-new", "topology")
    finished = system.packages("build", "peer")
    assert finished.returncode == 2
    assert "PEERS=no" in finished.stderr


def test_root_installs_the_best_alternative_of_what_is_missing(system: System) -> None:
    system.root()
    system.archive("compiler-new", "compiler-old", "topology", "rival-old")
    system.installed("topology")
    finished = system.packages("build", "peer")
    assert finished.returncode == 0, finished.stderr
    assert system.calls() == [
        "apt-get update -q",
        "apt-get install -y -q --no-install-recommends compiler-new rival-old",
    ]


def test_sudo_without_a_password_is_used(system: System) -> None:
    system.archive("compiler-new", "topology")
    system.tool("sudo", f'echo "sudo $*" >>"{system.diary}"; [ "$1" = -n ] && exit 0; exec "$@"')
    assert system.packages("build").returncode == 0
    assert any(
        call.startswith("sudo env DEBIAN_FRONTEND=noninteractive apt-get install") for call in system.calls()
    )


def test_sudo_that_would_ask_is_not_started_without_a_terminal(system: System) -> None:
    system.archive("compiler-new", "topology")
    system.tool("sudo", '[ "$1" = -n ] && exit 1; exec "$@"')
    assert system.packages("build").returncode == 2
    assert system.calls() == []


def test_a_peer_that_the_archive_lacks_is_left_out_with_one_line(system: System) -> None:
    system.root()
    system.archive("compiler-new", "topology")
    finished = system.packages("build", "peer")
    assert finished.returncode == 0
    lines = [line for line in finished.stdout.splitlines() if "rival" in line]
    assert len(lines) == 1
    assert "going on without it" in lines[0]


def test_a_needed_package_that_the_archive_lacks_stops_before_anything_is_installed(system: System) -> None:
    system.root()
    system.archive("compiler-new")
    finished = system.packages("build")
    assert finished.returncode == 2
    assert "topology" in finished.stderr
    assert not any("install" in call for call in system.calls())


def test_an_installer_that_fails_is_no_success(system: System) -> None:
    system.root()
    system.archive("compiler-new", "topology")
    system.tool("apt-get", '[ "$1" = update ]')
    assert system.packages("build").returncode == 1


def test_a_system_without_apt_names_what_is_missing_and_stops(system: System) -> None:
    system.root()
    system.without_apt()
    finished = system.packages("build")
    assert finished.returncode == 2
    assert "compiler-new" in finished.stderr
    assert "topology" in finished.stderr
    assert "rival" not in finished.stderr


def test_a_system_without_apt_that_has_everything_goes_on(system: System) -> None:
    system.without_apt()
    system.tool("no-such-compiler", "exit 0")
    system.tool("c++", "exit 0")
    assert system.packages("build").returncode == 0


def test_an_old_python_is_refused_by_its_version(system: System) -> None:
    system.installed("compiler-new", "topology")
    system.tool("python3", 'case $1 in --version) echo "Python 3.9.2";; *) exit 1;; esac')
    finished = system.packages("build")
    assert finished.returncode == 2
    assert "3.9.2" in finished.stderr


@pytest.mark.parametrize("arguments", [[], ["biuld"]])
def test_unknown_marks_are_refused(system: System, arguments: list[str]) -> None:
    finished = system.packages(*arguments)
    assert finished.returncode == 2
    assert finished.stderr.startswith("tauto: error: ")


def test_the_package_list_is_well_formed() -> None:
    seen: set[str] = set()
    for line in (ROOT / "packages.txt").read_text().splitlines():
        if not line.strip() or line.startswith("#"):
            continue
        mark, package, probe, purpose = line.split(maxsplit=3)
        assert mark in {"build", "peer", "test", "program", "browser"}
        assert re.fullmatch(r"(command|header|library|python):\S+", probe), line
        assert purpose
        assert package not in seen
        seen.add(package)
    assert len(seen) > 10


# tools/venv.sh


FAKE_PYTHON = """#!/bin/sh
# Knows the few calls that tools/venv.sh makes.
case "$1 $2" in
"-m venv") mkdir -p "$3/bin" && cp "$0" "$3/bin/python" && echo venv >>"$DIARY" ;;
"-m pip")
    echo "pip $*" >>"$DIARY"
    [ -e "$DIARY.fail" ] && exit 1
    printf '#!/bin/sh\\n' >"$(dirname "$0")/tauto" && chmod +x "$(dirname "$0")/tauto"
    ;;
*) exit 0 ;;
esac
"""


class Tree:
    """A small copy of the tree in a path with a space, and a Python that writes down what it is asked."""

    def __init__(self, folder: Path) -> None:
        self.root = folder / "a tree"
        self.diary = folder / "diary"
        self.python = folder / "python"
        self.python.write_text(FAKE_PYTHON)
        self.python.chmod(0o755)
        (self.root / "tools").mkdir(parents=True)
        for script in ("venv.sh", "compiler_cache.sh"):
            shutil.copy(ROOT / "tools" / script, self.root / "tools")
        for name in ("CMakeLists.txt", "pyproject.toml", "LICENSE", "README.md"):
            (self.root / name).write_text(name)
        for name in ("cmake", "include", "runtime", "kernels", "runners", "lab"):
            (self.root / name).mkdir()
            (self.root / name / "source").write_text(name)

    def venv(self) -> subprocess.CompletedProcess[str]:
        self.diary.write_text("")
        environment = {"PATH": os.environ["PATH"], "PYTHON": str(self.python), "DIARY": str(self.diary)}
        return subprocess.run(
            ["sh", "tools/venv.sh"],
            cwd=self.root,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )

    def calls(self) -> list[str]:
        return [line.split()[0] for line in self.diary.read_text().splitlines()]


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    return Tree(tmp_path)


def test_venv_is_made_once_and_nothing_is_installed_twice(tree: Tree) -> None:
    assert tree.venv().returncode == 0
    assert tree.calls() == ["venv", "pip"]
    assert tree.venv().returncode == 0
    assert tree.calls() == []


@pytest.mark.parametrize("change", ["edited", "added", "deleted"])
def test_changed_sources_are_installed_again(tree: Tree, change: str) -> None:
    tree.venv()
    source = tree.root / "lab" / "source"
    if change == "edited":
        source.write_text("other")
    elif change == "added":
        source.with_name("another").write_text("")
    else:
        source.unlink()
    tree.venv()
    assert tree.calls() == ["pip"]


def test_an_installation_that_failed_is_tried_again(tree: Tree) -> None:
    fail = tree.diary.with_name("diary.fail")
    fail.touch()
    assert tree.venv().returncode != 0
    fail.unlink()
    assert tree.venv().returncode == 0
    assert tree.calls() == ["pip"]


def test_a_venv_whose_making_was_cut_short_is_made_again(tree: Tree) -> None:
    (tree.root / "build" / "venv" / "bin").mkdir(parents=True)
    (tree.root / "build" / "venv" / "bin" / "python").symlink_to("gone")
    assert tree.venv().returncode == 0
    assert tree.calls() == ["venv", "pip"]


def test_a_tree_that_was_moved_gets_a_new_venv(tree: Tree) -> None:
    tree.venv()
    moved = tree.root.with_name("moved tree")
    tree.root.rename(moved)
    tree.root = moved
    assert tree.venv().returncode == 0
    assert tree.calls() == ["venv", "pip"]


# tools/test.py


@pytest.fixture
def suite(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    specification = importlib.util.spec_from_file_location("suite", ROOT / "tools" / "test.py")
    assert specification
    assert specification.loader
    module = importlib.util.module_from_spec(specification)
    monkeypatch.setitem(sys.modules, "suite", module)
    specification.loader.exec_module(module)
    monkeypatch.setattr(module, "LOGS", tmp_path / "logs")
    monkeypatch.setattr(module, "ROOT", tmp_path)
    monkeypatch.setattr(sys, "argv", ["test.py"])
    return module


def stage(suite: ModuleType, name: str, *commands: str) -> object:
    def body(running: object) -> None:
        for command in commands:
            running.count.add(running.command("sh", "-c", command))  # type: ignore[attr-defined]

    return suite.Stage(name, "a test", 1, body)


def test_all_stages_run_and_one_failure_decides(
    suite: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    stages = (stage(suite, "one", "true", "echo sorrow; false"), stage(suite, "two", "true"))
    monkeypatch.setattr(suite, "STAGES", stages)
    assert suite.main() == 1
    output = capsys.readouterr().out
    assert output.splitlines()[-1] == "2 passed, 1 failed"
    assert "sorrow" in output


def test_a_stage_in_which_no_test_ran_has_failed(
    suite: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(suite, "STAGES", (stage(suite, "one", "true"), stage(suite, "empty")))
    assert suite.main() == 1
    assert capsys.readouterr().out.splitlines()[-1] == "1 passed, 1 failed"


def test_success_ends_with_status_0(
    suite: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(suite, "STAGES", (stage(suite, "one", "true"),))
    assert suite.main() == 0
    assert capsys.readouterr().out.splitlines()[-1] == "1 passed, 0 failed"


def test_a_stage_that_hangs_is_killed_with_its_children(
    suite: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    hanging = stage(suite, "hanging", "sleep 600 & wait")
    hanging.limit_seconds = 0  # type: ignore[attr-defined]
    monkeypatch.setattr(suite, "STAGES", (hanging,))
    assert suite.main() == 1


def with_a_build(tmp_path: Path, status: int) -> Path:
    """A tools/cmake.sh that writes down for what it was called; its diary."""
    diary = tmp_path / "builds"
    (tmp_path / "tools").mkdir()
    (tmp_path / "tools" / "cmake.sh").write_text(f'echo "$*" >>"{diary}"\nexit {status}\n')
    return diary


def test_stages_that_need_the_cpp_build_make_it_once_between_them(
    suite: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    diary = with_a_build(tmp_path, 0)

    def body(running: object) -> None:
        running.count.add(running.build("default"))  # type: ignore[attr-defined]

    monkeypatch.setattr(suite, "STAGES", [suite.Stage(name, "a test", 1, body) for name in ("one", "two")])
    assert suite.main() == 0
    assert diary.read_text().splitlines() == ["default"]


@pytest.mark.parametrize(("status", "builds"), [(0, 1), (1, 2)])
def test_what_was_built_ahead_is_not_built_again_unless_that_failed(
    suite: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, status: int, builds: int
) -> None:
    diary = with_a_build(tmp_path, status)

    def body(running: object) -> None:
        running.count.add(running.build("tsan"))  # type: ignore[attr-defined]

    monkeypatch.setattr(suite, "STAGES", [suite.Stage("tsan", "a test", 1, body)])
    assert suite.main() == status
    assert diary.read_text().splitlines() == ["tsan"] * builds


@pytest.mark.parametrize("status", [0, 1])
def test_models_that_were_searched_ahead_are_counted_and_not_searched_again(
    suite: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, status: int
) -> None:
    diary = tmp_path / "searches"
    (tmp_path / "verify").mkdir()
    (tmp_path / "verify" / "run.sh").write_text(
        f'echo searched >>"{diary}"\necho "3 passed, {status} failed"\nexit {status}\n'
    )
    stage = suite.Stage("verify", "a test", 1, suite.verify)
    monkeypatch.setattr(suite, "STAGES", [stage])
    assert suite.main() == status
    assert diary.read_text().splitlines() == ["searched"]
    assert (stage.count.passed, stage.count.failed) == (3, status)


def test_without_a_build_a_stage_says_what_to_run_instead_of_failing_in_every_test(
    suite: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with_a_build(tmp_path, 1)
    stages = [
        suite.Stage(name, "a test", 1, suite.pytest(f"tests/{name}", needs_build=True))
        for name in ("python", "docs")
    ]
    monkeypatch.setattr(suite, "STAGES", stages)
    assert suite.main() == 1
    printed = capsys.readouterr().out
    assert printed.splitlines()[-1] == "0 passed, 2 failed"
    assert printed.count("the C++ build failed: sh tools/cmake.sh default shows why") == 4  # and the summary


def test_the_stages_whose_tests_start_the_executables_need_the_build(
    suite: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    diary = with_a_build(tmp_path, 1)
    for one in suite.STAGES:
        if one.name in ("python", "docs"):
            monkeypatch.setattr(one, "log", tmp_path / f"{one.name}.log")
            suite.BUILDS.clear()
            one.run()
    assert diary.read_text().splitlines() == ["default", "default"]


def test_an_unknown_stage_is_refused(suite: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        suite.chosen("cpp,bowser", "")
    assert stopped.value.code == 2
    assert "'bowser'" in capsys.readouterr().err


CTEST = """<testsuite>
<testcase name="a" status="run"><system-out>
[doctest] test cases:  5 |  5 passed | 0 failed | 0 skipped</system-out>
</testcase>
<testcase name="b" status="fail"><system-out>
[doctest] test cases: 3 | 1 passed | 2 failed | 0 skipped</system-out>
</testcase>
<testcase name="crashed" status="fail"><system-out>Segmentation fault</system-out></testcase>
<testcase name="plain" status="run"><system-out>fine</system-out></testcase>
<testcase name="left out" status="notrun"/>
</testsuite>"""


def test_ctest_is_counted_by_doctest_cases_and_a_crash_is_one_failure(
    suite: ModuleType, tmp_path: Path
) -> None:
    (tmp_path / "ctest.xml").write_text(CTEST)
    count = suite.Count()
    suite.count_ctest(tmp_path / "ctest.xml", count)
    assert (count.passed, count.failed, count.skipped) == (7, 3, 1)


def test_pytest_errors_count_as_failures(suite: ModuleType, tmp_path: Path) -> None:
    xml = '<testsuites><testsuite tests="10" failures="2" errors="1" skipped="3"/></testsuites>'
    (tmp_path / "pytest.xml").write_text(xml)
    count = suite.Count()
    suite.count_pytest(tmp_path / "pytest.xml", count)
    assert (count.passed, count.failed, count.skipped) == (4, 3, 3)


TWICE = """<testsuites><testsuite tests="3" failures="1" errors="0" skipped="0">
<testcase classname="a" name="late"/><testcase classname="a" name="late"/>
<testcase classname="a" name="bad"/><testcase classname="a" name="bad"><failure/></testcase>
<testcase classname="b" name="late"/>
</testsuite></testsuites>"""


def test_a_python_test_that_passes_in_its_second_run_is_named(suite: ModuleType, tmp_path: Path) -> None:
    (tmp_path / "pytest.xml").write_text(TWICE)
    count = suite.Count()
    suite.count_pytest(tmp_path / "pytest.xml", count)
    assert suite.describe(count) == "2 passed, 1 failed; only in a second run: a::late"


def failing_ctest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, says: str) -> None:
    """A ctest in which `name` fails in the first run and passes in the second."""
    case = f'<testcase name="{name}" status="%s"><system-out>%s</system-out></testcase>'
    fails, passes = case % ("fail", says), case % ("run", "fine")
    fine = '<testcase name="fine" status="run"/>'
    (tmp_path / "bin").mkdir()
    fake = tmp_path / "bin" / "ctest"
    fake.write_text(
        '#!/bin/sh\nfor out; do :; done\ncase "$*" in\n'
        f"*-R*) echo '<testsuite>{passes}</testsuite>' >$out;;\n"
        f"*) echo '<testsuite>{fails}{fine}</testsuite>' >$out; exit 8;;\nesac\n"
    )
    fake.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")


@pytest.mark.parametrize(
    ("name", "says", "result"),
    [
        ("emulate_test", "late", "2 passed, 0 failed; only in a second run: emulate_test"),
        ("emulate_test", "WARNING: ThreadSanitizer: data race", "1 passed, 1 failed"),
        ("team_test", "late", "1 passed, 1 failed"),
    ],
)
def test_only_what_is_timed_runs_again_and_nothing_that_a_sanitizer_has_reported(
    suite: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, name: str, says: str, result: str
) -> None:
    with_a_build(tmp_path, 0)
    failing_ctest(tmp_path, monkeypatch, name, says)
    stage = suite.Stage("tsan", "a test", 1, suite.cpp("tsan"))
    stage.run()
    assert suite.describe(stage.count) == result


# Makefile and version


def make(*arguments: str) -> str:
    """Run make without the variables of a make that may have started these tests."""
    ours = ("MAKEFLAGS", "MFLAGS", "MAKELEVEL", "MAKEOVERRIDES", "ONLY", "SKIP", "PEERS", "OUTPUT", "STUDY")
    environment = {name: value for name, value in os.environ.items() if name not in ours}
    command = ["make", "-C", str(ROOT), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True, env=environment).stdout


def test_make_alone_prints_help_that_names_every_target() -> None:
    targets = set(re.findall(r"^([a-z-]+): *##", (ROOT / "Makefile").read_text(), re.MULTILINE))
    assert {"help", "study", "test", "bench", "build", "format", "clean", "install-packages"} <= targets
    printed = make()
    for target in targets - {"help"}:
        assert re.search(rf"^make {target} ", printed, re.MULTILINE), target


def test_make_bench_passes_only_on() -> None:
    assert '--only "B1,B4"' in make("-n", "bench", "ONLY=B1,B4")
    assert "--only" not in make("-n", "bench")


def test_make_study_installs_no_test_packages_and_peers_can_be_left_out() -> None:
    assert "packages.sh build peer\n" in make("-n", "study")
    assert "packages.sh build \n" in make("-n", "study", "PEERS=no")


def test_version_is_the_same_in_cmake_and_python() -> None:
    version = re.search(r"project\(tautochrone VERSION ([0-9.]+)", (ROOT / "CMakeLists.txt").read_text())
    assert version
    assert version.group(1) == tautochrone.__version__
    assert f"## [{tautochrone.__version__}]" in (ROOT / "CHANGELOG.md").read_text()
