"""Every test of the tree, stage by stage: what `make test` runs once packages and venv are there.

A stage that fails does not stop the others. A stage in which no test ran has failed: an empty
folder, a filter or a broken discovery must not look like success. The last line is
`N passed, N failed` and nothing else; the exit status is 1 if anything failed.

What is timed can fail because a virtual machine stood still. Python tests and the executables in TIMED run
a second time when they fail, and the summary names those that passed only then. Nothing else does: a
protocol that fails once in a hundred runs is wrong, and so is what a sanitizer has reported.
"""

from __future__ import annotations

import argparse
import os
import re
import resource
import shlex
import shutil
import signal
import subprocess
import sys
import time
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
LOGS = ROOT / "build" / "test"
BIN = Path(sys.prefix) / "bin"
RUNNERS = ROOT / "build" / "cpp" / "default" / "bin"
TAIL_LINES = 120
BUILD_SECONDS = 900.0  # what building one preset may take at most
BUILDS: dict[str, bool] = {}  # the presets that were built in this run, and whether that worked
TIMED = frozenset({"emulate_test", "probe_test"})  # C++ tests that measure this machine
CPP_FOLDERS = ("include", "runtime", "kernels", "runners", "simulator", "command", "tests", "benchmarks")


@dataclass
class Count:
    """How many tests of a stage passed, failed and were skipped, and what a reader must know of it."""

    passed: int = 0
    failed: int = 0
    skipped: int = 0
    notes: list[str] = field(default_factory=list)

    def add(self, passed: bool) -> None:
        """Count one test."""
        if passed:
            self.passed += 1
        else:
            self.failed += 1


class Stage:
    """One named part of the suite; its whole output goes to build/test/NAME.log."""

    def __init__(self, name: str, what: str, limit_minutes: float, body: Callable[[Stage], None]) -> None:
        self.name, self.what, self.limit_seconds, self.body = name, what, limit_minutes * 60, body
        self.count = Count()
        self.seconds = 0.0
        self.cpu_seconds = 0.0
        self.log = LOGS / f"{name}.log"

    def run(self) -> None:
        """Run the stage; whatever goes wrong is counted, never raised."""
        LOGS.mkdir(parents=True, exist_ok=True)
        self.log.write_text("")
        print(f"\n=== {self.name}: {self.what}", flush=True)
        started, used = time.monotonic(), cpu_seconds()
        self.deadline = started + self.limit_seconds
        self.body(self)
        self.seconds, self.cpu_seconds = time.monotonic() - started, cpu_seconds() - used
        if self.count.passed + self.count.failed == 0:
            self.count.failed = 1
            self.count.notes.append("no test ran")
        if self.count.failed:
            self.show_tail()
        print(f"--- {self.name}: {describe(self.count)} in {self.seconds:.0f} s", flush=True)

    def command(self, *command: str | Path, environment: dict[str, str] | None = None) -> bool:
        """Run a command in the root with its output in the log; False if it failed or ran out of time."""
        words = [str(word) for word in command]
        with self.log.open("a") as log:
            log.write(f"$ {' '.join(words)}\n")
            log.flush()
            process = subprocess.Popen(
                words,
                cwd=ROOT,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                env={**os.environ, **(environment or {})},
                start_new_session=True,
            )
            try:
                status = process.wait(max(1.0, self.deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                log.write(f"tools/test.py: over the limit of {self.limit_seconds / 60:g} minutes\n")
                self.count.notes.append(f"stopped after {self.limit_seconds / 60:g} minutes")
                status = -1
            except KeyboardInterrupt:
                status = -1
                raise
            finally:
                if process.returncode is None:
                    os.killpg(process.pid, signal.SIGKILL)
                    process.wait()
            if status != 0:
                log.write(f"tools/test.py: exit status {status}\n")
        return status == 0

    def build(self, preset: str) -> bool:
        """Build a preset, once in a run however many stages need it. False, counted and said, if that failed.

        The stage's time limit is its tests': building does not shorten it.
        """
        if preset not in BUILDS:
            started = time.monotonic()
            self.deadline += BUILD_SECONDS
            BUILDS[preset] = AHEAD.did(preset, self.log) or self.command("sh", "tools/cmake.sh", preset)
            self.deadline += time.monotonic() - started - BUILD_SECONDS
        if not BUILDS[preset]:
            self.count.failed += 1
            self.count.notes.append(
                f"not tested, as the C++ build failed: sh tools/cmake.sh {preset} shows why"
            )
        return BUILDS[preset]

    def command_ahead(self, *command: str | Path, environment: dict[str, str] | None = None) -> bool:
        """As command(); what was begun ahead counts as it ended, and waiting for it is in nobody's time."""
        started = time.monotonic()
        passed = AHEAD.did(self.name, self.log)
        self.deadline += time.monotonic() - started
        return self.command(*command, environment=environment) if passed is None else passed

    def show_tail(self) -> None:
        """Print the end of the log, so that a failure can be read where nothing but the output is kept."""
        lines = self.log.read_text(errors="replace").splitlines()
        if len(lines) > TAIL_LINES:
            print(f"    … {len(lines) - TAIL_LINES} lines before these are in {self.log.relative_to(ROOT)}")
        print("\n".join(f"    {line}" for line in lines[-TAIL_LINES:]))


class Ahead:
    """Does what later stages need, one after the other, with the CPU time that many tests leave.

    A build that fails here is only time lost: the stage that needs it builds again, and shows why. Tests that
    fail here have failed.
    """

    # Sessions share a CPU evenly where the kernel groups them, whatever the niceness within each.
    LATER = "{ echo 19 >/proc/self/autogroup; } 2>/dev/null; exec nice -n 19"

    def __init__(self) -> None:
        self.pool = ThreadPoolExecutor(max_workers=1)
        self.works: dict[str, Future[bool]] = {}
        self.process: subprocess.Popen[bytes] | None = None
        self.stopped = False

    def start(self, works: Mapping[str, str]) -> None:
        """Begin with the first of the works: a shell command for each name."""
        LOGS.mkdir(parents=True, exist_ok=True)
        self.works = {name: self.pool.submit(self.work, name, command) for name, command in works.items()}

    def work(self, name: str, command: str) -> bool:
        """Do one, with its output in build/test/NAME-ahead.log."""
        if self.stopped:
            return False
        with (LOGS / f"{name}-ahead.log").open("w") as log:
            self.process = subprocess.Popen(
                ["sh", "-c", f"{self.LATER} {command}"],
                cwd=ROOT,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        return self.process.wait() == 0

    def did(self, name: str, log: Path) -> bool | None:
        """Whether `name` worked; waits for it where it is on its way. None if it is still to be done."""
        if name not in self.works:
            return None
        try:
            worked = self.works[name].result(BUILD_SECONDS)
        except TimeoutError:
            self.stop()
            return None
        with log.open("a") as stage_log:
            stage_log.write((LOGS / f"{name}-ahead.log").read_text(errors="replace"))
        return worked

    def stop(self) -> None:
        """End what is still being done."""
        self.stopped = True
        if self.process is not None and self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
        self.pool.shutdown()


AHEAD = Ahead()


def cpu_seconds() -> float:
    """Return what all processes that were waited for have used."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def describe(count: Count) -> str:
    """Return the counts of one stage in words."""
    text = f"{count.passed} passed, {count.failed} failed"
    if count.skipped:
        text += f", {count.skipped} skipped"
    return "; ".join([text, *count.notes])


def passed_in_the_end(names: Sequence[str]) -> str:
    """Say which tests needed a second run."""
    return f"only in a second run: {', '.join(names)}"


DOCTEST_SUMMARY = re.compile(r"test cases:\s*\d+\s*\|\s*(\d+) passed\s*\|\s*(\d+) failed")


def count_ctest(junit: Path, count: Count, without: Sequence[str] = ()) -> None:
    """Add what ctest reports: each doctest case where there are some, else the executable itself."""
    for case in ElementTree.parse(junit).getroot().iter("testcase"):
        if case.get("name") in without:
            continue
        status = case.get("status")
        cases = DOCTEST_SUMMARY.findall(case.findtext("system-out") or "")
        if status in ("notrun", "disabled"):
            count.skipped += 1
            continue
        passed = sum(int(ok) for ok, _ in cases)
        failed = sum(int(bad) for _, bad in cases)
        if status != "run" and failed == 0:
            failed = 1
        if status == "run" and not cases:
            passed = 1
        count.passed += passed
        count.failed += failed


def worth_a_second_run(junit: Path) -> list[str]:
    """Return the executables that failed, if all of them are timed and no sanitizer found anything."""
    failed = [
        case for case in ElementTree.parse(junit).getroot().iter("testcase") if case.get("status") == "fail"
    ]
    names = [case.get("name") or "" for case in failed]
    found = any("Sanitizer" in (case.findtext("system-out") or "") for case in failed)
    return names if TIMED.issuperset(names) and not found else []


def count_pytest(junit: Path, count: Count) -> None:
    """Add what pytest reports. A test that ran twice stands there twice and is one."""
    for suite in ElementTree.parse(junit).getroot().iter("testsuite"):
        outcomes: dict[str, list[bool]] = {}
        for case in suite.iter("testcase"):
            bad = case.find("failure") is not None or case.find("error") is not None
            outcomes.setdefault(f"{case.get('classname')}::{case.get('name')}", []).append(bad)
        again = [name for name, bad in outcomes.items() if len(bad) > 1 and not any(bad)]
        if again:
            count.notes.append(passed_in_the_end(again))
        failed = int(suite.get("failures", 0)) + int(suite.get("errors", 0))
        skipped = int(suite.get("skipped", 0))
        count.failed += failed
        count.skipped += skipped
        count.passed += int(suite.get("tests", 0)) - failed - skipped


def cpp(preset: str) -> Callable[[Stage], None]:
    """Return the stage that builds a preset and runs its C++ tests."""

    def body(stage: Stage) -> None:
        if not stage.build(preset):
            return
        junit = LOGS / f"{stage.name}.xml"
        junit.unlink(missing_ok=True)
        test = ("ctest", "--preset", preset)
        passed = stage.command(*test, "--output-junit", junit)
        again = worth_a_second_run(junit) if not passed and junit.exists() else []
        if again:
            second = junit.with_suffix(".again.xml")
            second.unlink(missing_ok=True)
            only = f"^({'|'.join(again)})$"
            passed = stage.command(*test, "-R", only, "--output-junit", second)
            if passed:
                stage.count.notes.append(passed_in_the_end(again))
            if second.exists():
                count_ctest(second, stage.count)
        if junit.exists():
            count_ctest(junit, stage.count, without=again)
        if not passed and stage.count.failed == 0:
            stage.count.failed += 1

    return body


def pytest_command(name: str, folder: str) -> list[str]:
    """Return how a stage's folder is tested; its counts go to build/test/NAME.xml."""
    junit = LOGS / f"{name}.xml"
    options = ["-p", "no:cacheprovider", "--durations=5", f"--junitxml={junit}"]
    options += ["--reruns=1", "--reruns-delay=2", "--rerun-show-tracebacks"]
    return [str(BIN / "python"), "-m", "pytest", *options, folder]


def pytest(folder: str, *, needs_build: bool = False) -> Callable[[Stage], None]:
    """Return the stage that runs pytest on a folder; with the plain C++ build, where its tests start that."""

    def body(stage: Stage) -> None:
        if needs_build and not stage.build("default"):
            return
        junit = LOGS / f"{stage.name}.xml"
        environment = {"TAUTO_RUNNERS": str(RUNNERS)} if RUNNERS.is_dir() else {}
        passed = stage.command_ahead(*pytest_command(stage.name, folder), environment=environment)
        if junit.exists():
            count_pytest(junit, stage.count)
        if not passed and stage.count.failed == 0 and stage.count.passed > 0:
            stage.count.failed += 1

    return body


def style(stage: Stage) -> None:
    """Formatters, linters and types; each tool is one test."""
    sources = [
        str(path)
        for folder in CPP_FOLDERS
        for pattern in ("*.cpp", "*.hpp")
        for path in sorted((ROOT / folder).rglob(pattern))
    ]
    clang_format = shutil.which("clang-format") or "clang-format"
    stage.count.add(stage.command(clang_format, "--dry-run", "-Werror", *sources))
    stage.count.add(stage.command(BIN / "ruff", "format", "--check", "."))
    stage.count.add(stage.command(BIN / "ruff", "check", "."))
    stage.count.add(stage.command(BIN / "mypy"))


def verify(stage: Stage) -> None:
    """Spin on the models in verify/; its last line counts them."""
    script = ROOT / "verify" / "run.sh"
    if not script.exists():
        stage.count.notes.append("verify/run.sh is missing")
        return
    passed = stage.command_ahead("bash", script)
    found = re.findall(r"^(\d+) passed, (\d+) failed$", stage.log.read_text(errors="replace"), re.MULTILINE)
    if found:
        stage.count.passed += int(found[-1][0])
        stage.count.failed += int(found[-1][1])
    if not passed and stage.count.failed == 0:
        stage.count.failed += 1


# What of these stages can be done while the ones before them run. Not the browser's: a page that is slow
# to draw would fail there.
DONE_AHEAD = {
    "tsan": "sh tools/cmake.sh tsan",
    "asan": "sh tools/cmake.sh asan",
    "verify": "bash verify/run.sh",
    "consumers": shlex.join(pytest_command("consumers", "tests/consumers")),
}
STAGES = (
    Stage("style", "clang-format, ruff, mypy --strict", 3, style),
    Stage("cpp", "C++ tests, Release", 8, cpp("default")),
    Stage("python", "Python tests", 20, pytest("tests/python", needs_build=True)),
    Stage("docs", "every code block of the docs", 8, pytest("tests/docs", needs_build=True)),
    Stage("tsan", "C++ tests under ThreadSanitizer", 8, cpp("tsan")),
    Stage("asan", "C++ built with clang, under AddressSanitizer and UBSan", 8, cpp("asan")),
    Stage("verify", "the protocols' models, with spin", 4, verify),
    Stage("consumers", "programs that use the installed packages", 4, pytest("tests/consumers")),
    Stage("browser", "the report in a real browser", 5, pytest("tests/browser")),
)


def chosen(only: str, skip: str) -> Sequence[Stage]:
    """Return the stages to run; exits 2 on a name that is no stage."""
    names = [stage.name for stage in STAGES]
    asked = [name for name in re.split(r"[\s,]+", f"{only},{skip}") if name]
    unknown = [name for name in asked if name not in names]
    if unknown:
        print(f"tauto: error: no stage '{unknown[0]}'; stages are {', '.join(names)}", file=sys.stderr)
        sys.exit(2)
    wanted = [name for name in re.split(r"[\s,]+", only) if name] or names
    unwanted = re.split(r"[\s,]+", skip)
    return [stage for stage in STAGES if stage.name in wanted and stage.name not in unwanted]


def share_compiler_cache() -> None:
    """As tools/compiler_cache.sh: the consumers build what the wheel and the presets have built before."""
    if shutil.which("ccache") is not None:
        os.environ.setdefault("CCACHE_DIR", str(ROOT / "build" / "ccache"))
        os.environ.setdefault("CXX", "c++")
        os.environ["CMAKE_CXX_COMPILER_LAUNCHER"] = "ccache"


def main() -> int:
    """Run the stages and print the summary."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="stages to run, separated by commas")
    parser.add_argument("--skip", default="", help="stages to leave out, separated by commas")
    options = parser.parse_args()
    stages = chosen(options.only, options.skip)
    # A shell starts background jobs with SIGINT ignored, and that is inherited: the tests that press
    # Ctrl-C would wait for ever. A handled signal is back at its default in every program started from here.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    share_compiler_cache()
    names = [stage.name for stage in stages]
    for name in names:
        (LOGS / f"{name}.xml").unlink(missing_ok=True)
    AHEAD.start({name: command for name, command in DONE_AHEAD.items() if name in names})
    try:
        for stage in stages:
            stage.run()
    finally:
        AHEAD.stop()

    print("\nstage       seconds    of a CPU  result")
    for stage in stages:
        print(f"{stage.name:10} {stage.seconds:8.0f} {stage.cpu_seconds:11.0f}  {describe(stage.count)}")
    left_out = [stage.name for stage in STAGES if stage not in stages]
    if left_out:
        print(f"left out: {', '.join(left_out)}")
    print(f"{'all':10} {sum(stage.seconds for stage in stages):8.0f}\n")
    passed = sum(stage.count.passed for stage in stages)
    failed = sum(stage.count.failed for stage in stages) + (0 if stages else 1)
    print(f"{passed} passed, {failed} failed", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
