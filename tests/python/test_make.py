"""The scripts behind the Makefile, with the system's own tools replaced by stand-ins that keep a diary."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import tautochrone
from processes import run_to_end

pytestmark = pytest.mark.timed

ROOT = Path(__file__).resolve().parents[2]
# What the scripts use of a system; anything else must come from a stand-in.
PLAIN_TOOLS = "sh bash dirname grep tr sed cat env find cksum sort mkdir rm cp chmod nproc make date tail"

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
        for tool in PLAIN_TOOLS.split():
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

    def packages(self, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
        words = ["sh", ROOT / "tools/packages.sh", *arguments]
        own = {"PATH": str(self.bin), "TAUTO_PACKAGES": str(self.folder / "list")}
        own["TAUTO_LOG"] = str(self.folder / "logs" / "packages.log")
        own["TAUTO_INSTALLED"] = str(self.folder / "build" / "installed-packages")
        return run_to_end(words, env=own | variables, stdin=subprocess.DEVNULL)


@pytest.fixture
def system(tmp_path: Path) -> System:
    return System(tmp_path)


def refusal(system: System, *arguments: str) -> str:
    """What is said where it stops without having tried."""
    finished = system.packages(*arguments)
    assert finished.returncode == 2
    return finished.stderr


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
    said = refusal(system, "build", "peer")
    line = "apt-get update && apt-get install -y --no-install-recommends compiler-old topology rival-old"
    assert line in said.splitlines()
    assert "Nothing was changed" in said
    assert system.calls() == []


def test_only_a_missing_peer_says_how_to_go_on_without_it(system: System) -> None:
    system.archive("rival")
    system.installed("compiler-new", "topology")
    assert "PEERS=no" in refusal(system, "build", "peer")


def test_root_installs_the_best_alternative_of_what_is_missing(system: System) -> None:
    system.root()
    system.archive("compiler-new", "compiler-old", "topology", "rival-old")
    system.installed("topology")
    finished = system.packages("build", "peer")
    assert finished.returncode == 0, finished.stderr
    assert system.calls() == [
        "apt-get update -q",
        "apt-get install -y -q --no-install-recommends -o APT::Status-Fd=1 compiler-new rival-old",
    ]


@pytest.mark.parametrize(("only", "wanted"), [("topology", ["topology"]), ("", [])])
def test_only_the_packages_that_are_named_are_installed(system: System, only: str, wanted: list[str]) -> None:
    system.root()
    system.archive("compiler-new", "topology", "rival")
    assert system.packages("build", "peer", TAUTO_ONLY_PACKAGES=only).returncode == 0
    assert [call.split()[-1] for call in system.calls() if " install " in call] == wanted


def test_what_was_installed_and_nothing_else_is_removed_again(system: System) -> None:
    system.root()
    system.archive("compiler-new", "topology", "rival")
    system.installed("topology")
    assert system.packages("build", "peer").returncode == 0
    system.diary.write_text("")
    assert system.packages("--remove").returncode == 0
    assert system.calls() == ["apt-get remove -y -q compiler-new rival"]
    again = system.packages("--remove")
    assert (again.returncode, again.stdout) == (0, "tauto: no packages were installed from here\n")
    assert len(system.calls()) == 1


def test_without_rights_the_command_that_removes_is_printed(system: System) -> None:
    system.root()
    system.archive("compiler-new", "topology", "rival")
    assert system.packages("build").returncode == 0
    system.tool("id", "echo 1000")
    finished = system.packages("--remove")
    assert finished.returncode == 2
    assert "As root, run: apt-get remove compiler-new topology" in finished.stderr


def test_sudo_without_a_password_is_used(system: System) -> None:
    system.archive("compiler-new", "topology")
    system.tool("sudo", f'echo "sudo $*" >>"{system.diary}"; [ "$1" = -n ] && exit 0; exec "$@"')
    assert system.packages("build").returncode == 0
    installing = "sudo env DEBIAN_FRONTEND=noninteractive apt-get install"
    assert any(call.startswith(installing) for call in system.calls())


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
    (line,) = [line for line in finished.stdout.splitlines() if "rival" in line]
    assert "going on without it" in line


def test_a_needed_package_that_the_archive_lacks_stops_before_anything_is_installed(system: System) -> None:
    system.root()
    system.archive("compiler-new")
    assert "topology" in refusal(system, "build")
    assert not any("install" in call for call in system.calls())


def test_an_installer_that_fails_is_no_success(system: System) -> None:
    system.root()
    system.archive("compiler-new", "topology")
    system.tool("apt-get", '[ "$1" = update ]')
    assert system.packages("build").returncode == 1


def test_an_installer_says_two_lines_and_its_output_goes_to_a_file(system: System) -> None:
    system.root()
    system.archive("compiler-new", "topology")
    system.tool("apt-get", 'seq=1; while [ $seq -le 90 ]; do echo "Unpacking $seq"; seq=$((seq + 1)); done')
    finished = system.packages("build")
    assert finished.returncode == 0
    said = finished.stdout.splitlines()
    assert len(said) == 4
    assert said[2].startswith("tauto: installing compiler-new topology")
    assert re.fullmatch(r"tauto: done in \d+ s", said[3])
    assert "Unpacking 90" in (system.folder / "logs" / "packages.log").read_text()


def test_an_installer_that_fails_shows_the_end_of_its_output(system: System) -> None:
    system.root()
    system.archive("compiler-new", "topology")
    system.tool("apt-get", '[ "$1" = update ] || { echo "no room on the disk"; exit 100; }')
    finished = system.packages("build")
    assert finished.returncode == 1
    assert "no room on the disk" in finished.stderr
    assert finished.stderr.splitlines()[-1].startswith("tauto: error: installing compiler-new topology")


def test_a_system_without_apt_names_what_is_missing_and_stops(system: System) -> None:
    system.root()
    system.without_apt()
    said = refusal(system, "build")
    assert "compiler-new" in said
    assert "topology" in said
    assert "rival" not in said


def test_a_system_without_apt_that_has_everything_goes_on(system: System) -> None:
    system.without_apt()
    system.tool("no-such-compiler", "exit 0")
    system.tool("c++", "exit 0")
    assert system.packages("build").returncode == 0


def test_an_old_python_is_refused_by_its_version(system: System) -> None:
    system.installed("compiler-new", "topology")
    system.tool("python3", 'case $1 in --version) echo "Python 3.9.2";; *) exit 1;; esac')
    assert "3.9.2" in refusal(system, "build")


@pytest.mark.parametrize("arguments", [[], ["biuld"]])
def test_unknown_marks_are_refused(system: System, arguments: list[str]) -> None:
    assert refusal(system, *arguments).startswith("tauto: error: ")


MARKS = {
    *("build", "loop", "peer", "test", "program", "recipe"),
    *("platform", "arm64", "docs", "browser"),
}


def test_the_package_list_is_well_formed() -> None:
    seen: set[str] = set()
    for line in (ROOT / "packages.txt").read_text().splitlines():
        if not line.strip() or line.startswith("#"):
            continue
        mark, package, probe, purpose = line.split(maxsplit=3)
        assert mark in MARKS
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
        for script in ("venv.sh", "compiler_cache.sh", "quietly.sh", "packages.sh"):
            shutil.copy(ROOT / "tools" / script, self.root / "tools")
        for name in ("CMakeLists.txt", "pyproject.toml", "LICENSE", "README.md", "packages.txt"):
            (self.root / name).write_text(name)
        for name in ("cmake", "include", "runtime", "kernels", "runners", "lab"):
            (self.root / name).mkdir()
            (self.root / name / "source").write_text(name)

    def venv(self, *words: str) -> subprocess.CompletedProcess[str]:
        self.diary.write_text("")
        environment = {"PATH": os.environ["PATH"], "PYTHON": str(self.python), "DIARY": str(self.diary)}
        return run_to_end(["sh", "tools/venv.sh", *words], cwd=self.root, env=environment)

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


def test_runners_are_compiled_where_they_are_asked_for_and_again_for_another_peer(tree: Tree) -> None:
    packages = tree.root / "packages.txt"
    packages.write_text("loop a-peer command:no-such-command one peer\npeer another command:sh a shell\n")
    assert tree.venv().returncode == 0
    assert "RUNNERS" not in tree.diary.read_text()
    for calls in (["pip"], []):
        assert tree.venv("--runners", "loop").returncode == 0
        assert tree.calls() == calls
        assert tree.venv().returncode == 0
        assert tree.calls() == []
    tree.root.joinpath("lab", "source").write_text("other")
    tree.venv("--runners", "loop")
    wanted = "TAUTO_BUILD_RUNNERS=ON --config-settings=cmake.define.TAUTO_STUDIES=loop ."
    assert wanted in tree.diary.read_text()
    stamp = tree.root / "build" / "venv" / ".runners"
    stamp.write_text(f"{stamp.read_text()} and what has been installed since")
    tree.venv("--runners", "loop")
    assert tree.calls() == ["pip"]


def test_a_study_in_a_new_venv_waits_for_no_other_tools_and_any_other_call_adds_them(tree: Tree) -> None:
    without = "cmake.define.TAUTO_BUILD_OTHER_TOOLS=OFF"
    for calls in (["venv", "pip"], []):
        assert tree.venv("--runners", "loop").returncode == 0
        assert tree.calls() == calls
        assert (without in tree.diary.read_text()) == bool(calls)
    tree.root.joinpath("lab", "source").write_text("other")
    tree.venv("--runners", "loop")
    assert without in tree.diary.read_text()
    for call in ((), ("--runners", "loop")):
        tree.venv(*call)
        said = tree.diary.read_text()
        assert without not in said
        assert ("TAUTO_STUDIES=loop" in said) == (not call)  # the runners stay, and are not compiled twice
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
    tree.root = tree.root.rename(tree.root.with_name("moved tree"))
    assert tree.venv().returncode == 0
    assert tree.calls() == ["venv", "pip"]


# tools/stage.sh and tools/summary.py


class Stages:
    """A small tree in which stages run; `results` are the JUnit files of pytest or ctest, by stage."""

    def __init__(self, folder: Path) -> None:
        self.root = folder
        (folder / "tools").mkdir()
        for script in ("stage.sh", "summary.py", "compiler_cache.sh"):
            shutil.copy(ROOT / "tools" / script, folder / "tools")
        self.logs = folder / "build" / "test"

    def run(self, *command: str | Path) -> subprocess.CompletedProcess[str]:
        return run_to_end(command, cwd=self.root)

    def stage(self, name: str, command: str, *, results: str = "", limit: str = "60s") -> int:
        self.logs.mkdir(parents=True, exist_ok=True)
        if results:
            suites = f"<testsuites><testsuite>{results}</testsuite></testsuites>"
            (self.logs / f"{name}.xml").write_text(suites)
        done = self.run("sh", "tools/stage.sh", name, limit, "sh", "-c", command)
        self.output = done.stdout
        return done.returncode

    def summary(self, *names: str) -> tuple[int, str]:
        done = self.run(sys.executable, "tools/summary.py", *names)
        self.output = done.stdout
        return done.returncode, done.stdout.splitlines()[-1]


PASSED = '<testcase classname="a" name="good"/>'
FAILED = '<testcase classname="a" name="bad"><failure/></testcase>'
SKIPPED = '<testcase classname="a" name="left"><skipped/></testcase>'


@pytest.fixture
def stages(tmp_path: Path) -> Stages:
    return Stages(tmp_path)


def test_one_failure_among_the_stages_decides_and_is_named(stages: Stages) -> None:
    assert stages.stage("one", "echo sorrow; exit 1", results=PASSED + FAILED) == 1
    assert "sorrow" in stages.output
    assert stages.stage("two", "true", results=PASSED) == 0
    assert stages.summary("one", "two") == (1, "2 passed, 1 failed")
    assert "failed in one: a bad" in stages.output


def test_success_ends_with_status_0(stages: Stages) -> None:
    stages.stage("one", "true", results=PASSED + SKIPPED)
    assert stages.summary("one") == (0, "1 passed, 0 failed")


@pytest.mark.parametrize(
    ("command", "results", "reason"),
    [
        ("true", "", "no test ran"),
        ("true", SKIPPED, "no test ran"),
        ("exit 3", PASSED, "ended with exit status 3"),
        ("sleep 600 & wait", PASSED, "ended with exit status 124"),
    ],
)
def test_stage_that_names_no_failed_test_can_have_failed(
    stages: Stages, command: str, results: str, reason: str
) -> None:
    stages.stage("one", command, results=results, limit="1s" if "sleep" in command else "60s")
    status, last_line = stages.summary("one")
    assert (status, last_line.endswith("1 failed")) == (1, True)
    assert f"failed in one: {reason}" in stages.output


def test_stage_that_did_not_run_has_failed(stages: Stages) -> None:
    assert stages.summary("one") == (1, "0 passed, 1 failed")


CTEST = """
<testcase name="a" status="run"><system-out>
[doctest] test cases:  5 |  5 passed | 0 failed | 0 skipped</system-out>
</testcase>
<testcase name="b" status="fail"><system-out>
[doctest] test cases: 3 | 1 passed | 2 failed | 0 skipped</system-out>
</testcase>
<testcase name="crashed" status="fail"><system-out>Segmentation fault</system-out></testcase>
<testcase name="plain" status="run"><system-out>fine</system-out></testcase>
<testcase name="left out" status="notrun"/>"""


def test_ctest_counts_by_doctest_cases_and_an_executable_that_failed_once(stages: Stages) -> None:
    stages.stage("cpp", "exit 8", results=CTEST)
    assert stages.summary("cpp") == (1, "6 passed, 2 failed")


# Makefile and version


def make(*arguments: str) -> str:
    """Run make without the variables of a make that may have started these tests."""
    ours = ("MAKEFLAGS", "MFLAGS", "MAKELEVEL", "MAKEOVERRIDES", "ONLY", "SKIP", "PEERS", "OUTPUT", "STUDY")
    environment = {name: value for name, value in os.environ.items() if name not in ours}
    command = ["make", "-C", str(ROOT), *arguments]
    return run_to_end(command, check=True, env=environment).stdout


def test_make_alone_prints_help_that_names_every_target() -> None:
    targets = set(re.findall(r"^([a-z-]+): *##", (ROOT / "Makefile").read_text(), re.MULTILINE))
    wanted = "help study test bench build format clean install-packages remove-packages test-repeat"
    assert set(wanted.split()) <= targets
    printed = make()
    for target in targets - {"help"}:
        assert re.search(rf"^make {target} ", printed, re.MULTILINE), target


def test_make_test_runs_the_stages_that_were_asked_for_and_refuses_others() -> None:
    whole = make("-n", "test")
    in_turn = "test-cpp test-python test-machine test-docs test-tsan test-asan"
    beside = "build-tsan build-asan test-models test-browser test-consumers test-style"
    assert re.search(rf"for one in +{in_turn} *; do +make ", whole)
    assert f"--jobs=3 in-turn {' '.join(f'beside-{one}' for one in beside.split())} " in whole
    for one in beside.split():
        assert f"nice -n 19 make {one}\n" in whole
    python_alone = make("-n", "test", "ONLY=cpp,python", "SKIP=cpp")
    assert re.search(r"for one in +test-python *;", python_alone)
    assert "--jobs=3 in-turn  ||" in python_alone, "nothing runs beside it"
    assert python_alone.count("stage.sh ") == 2
    assert "stage.sh build-default" in python_alone
    assert "test-cpp" not in python_alone
    assert "build-default" not in make("-n", "test", "ONLY=style")
    with pytest.raises(subprocess.CalledProcessError) as refused:
        make("-n", "test", "ONLY=bowser")
    assert refused.value.returncode == 2
    assert "no stage bowser" in refused.value.stderr


def test_make_bench_passes_only_on() -> None:
    assert '--only "B1,B4"' in make("-n", "bench", "ONLY=B1,B4")
    assert "--only" not in make("-n", "bench")


def test_make_recipes_passes_only_on() -> None:
    assert make("-n", "recipes", "ONLY=xz,zstd").count('--only "xz,zstd"') == 2
    assert "packages.sh program recipe" in make("-n", "recipes")


def test_make_study_installs_no_test_packages_and_peers_can_be_left_out() -> None:
    assert "packages.sh build loop\nsh tools/venv.sh --runners loop\n" in make("-n", "study")
    assert "packages.sh build \n" in make("-n", "study", "PEERS=no")


def test_version_is_the_same_in_cmake_and_python() -> None:
    version = re.search(r"project\(tautochrone VERSION ([0-9.]+)", (ROOT / "CMakeLists.txt").read_text())
    assert version
    assert version.group(1) == tautochrone.__version__
    assert f"## [{tautochrone.__version__}]" in (ROOT / "CHANGELOG.md").read_text()
