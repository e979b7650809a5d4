"""tauto run: a profile is applied, what the kernel gave is looked at, and the command takes over."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tautochrone.run_profile import apply

ROOT = Path(__file__).resolve().parents[2]


def profile(folder: Path, **fields: Any) -> Path:
    record = {
        "schema": "tautochrone.profile/1",
        "environment": {},
        "cpus": None,
        "nice": None,
        "command": ["./solver"],
        "tuned_command": ["./solver"],
        **fields,
    }
    path = folder / "profile.json"
    path.write_text(json.dumps(record))
    return path


def run(*words: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "tautochrone", "run", *map(str, words)],
        env={**os.environ, "PYTHONPATH": str(ROOT / "lab")},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_environment_cpus_and_priority_are_those_of_the_profile(tmp_path: Path) -> None:
    cpu = min(os.sched_getaffinity(0))
    path = profile(tmp_path, environment={"OMP_NUM_THREADS": "3"}, cpus=[cpu], nice=3)
    done = run(path, "--", "sh", "-c", "echo $OMP_NUM_THREADS; env -u OMP_NUM_THREADS nproc; nice; exit 7")
    before = os.getpriority(os.PRIO_PROCESS, 0)
    nice = min(before + 3, 19)
    assert done.stdout.split() == ["3", "1", str(nice)]
    assert done.stderr.count("\n") == 1
    assert done.stderr.startswith(f"tauto: given: CPU {cpu}, nice {nice}")
    assert done.stderr.endswith("; OMP_NUM_THREADS=3\n")
    assert done.returncode == 7


def test_what_the_kernel_gave_is_said_where_it_is_something_else(tmp_path: Path) -> None:
    path = profile(tmp_path, cpus=[min(os.sched_getaffinity(0)), 1000])
    done = run(path, "--", "grep", "Cpus_allowed_list", "/proc/self/status")
    assert f"tauto: given: CPU {done.stdout.split()[1]}, nice" in done.stderr
    assert "1000" not in done.stderr.splitlines()[-1]


def test_threads_beyond_a_quota_are_a_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("GOMAXPROCS", "RAYON_NUM_THREADS"):
        monkeypatch.setenv(name, "9")  # put back afterwards
    monkeypatch.setattr("tautochrone.run_profile._quota", lambda: 1.5)
    said = apply({"environment": {"GOMAXPROCS": "2", "RAYON_NUM_THREADS": "1"}})
    assert said == ["GOMAXPROCS asks for 2 threads, which share a quota of 1.5 CPUs"]


def test_a_folder_stands_for_its_profile(tmp_path: Path) -> None:
    profile(tmp_path, environment={"X": "1"})
    assert run(tmp_path, "--", "printenv", "X").stdout == "1\n"


def test_nothing_of_ours_is_left_while_the_command_runs(tmp_path: Path) -> None:
    path = profile(tmp_path)
    done = run(path, "--", "sh", "-c", "tr '\\0' ' ' </proc/$$/cmdline; echo; echo $PPID")
    command, parent = done.stdout.splitlines()
    assert command.startswith("sh -c")
    assert parent == str(os.getpid())


def test_words_of_the_tuned_command_are_replaced(tmp_path: Path) -> None:
    path = profile(tmp_path, command=["echo", "-T4"], tuned_command=["echo", "-T{threads}"])
    assert run(path, "--", "echo", "-T{threads}").stdout == "-T4\n"


def test_another_command_is_refused_where_words_would_change(tmp_path: Path) -> None:
    path = profile(tmp_path, command=["echo", "-T4"], tuned_command=["echo", "-T{threads}"])
    done = run(path, "--", "echo", "other")
    assert done.returncode == 2
    assert "is not the command that was tuned (echo -T{threads})" in done.stderr


def test_cpus_that_are_not_here_are_an_error(tmp_path: Path) -> None:
    done = run(profile(tmp_path, cpus=[1000]), "--", "true")
    assert done.returncode == 2
    assert "asks for CPU 1000" in done.stderr
    assert "Tune the program again on this machine" in done.stderr


def test_cpus_of_which_only_some_are_here_are_a_warning(tmp_path: Path) -> None:
    cpu = min(os.sched_getaffinity(0))
    done = run(profile(tmp_path, cpus=[cpu, 1000]), "--", "echo", "ran")
    assert done.stdout == "ran\n"
    assert f"the kernel gave CPU {cpu} where {cpu},1000 was asked for" in done.stderr


def test_places_outside_the_mask_are_a_warning(tmp_path: Path) -> None:
    done = run(profile(tmp_path, environment={"OMP_PLACES": "{0},{1000}"}), "--", "true")
    assert done.returncode == 0
    assert "OMP_PLACES names CPU 1000" in done.stderr


@pytest.mark.parametrize(
    ("text", "said"), [("{}", "has the schema None"), ("no", "it is not JSON"), ("[]", "has the schema None")]
)
def test_a_file_that_is_no_profile(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "profile.json"
    path.write_text(text)
    done = run(path, "--", "true")
    assert done.returncode == 2
    assert said in done.stderr


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("tuned_command", None),
        ("command", [1]),
        ("environment", {"A": 1}),
        ("environment", []),
        ("cpus", ["0"]),
        ("cpus", [True]),
        ("nice", "3"),
    ],
)
def test_a_field_of_a_profile_that_is_not_what_it_should_be_is_named(
    tmp_path: Path, field: str, value: object
) -> None:
    done = run(profile(tmp_path, **{field: value}), "--", "true")
    assert done.returncode == 2
    assert f"profile.json: {field} is not" in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_profile_and_a_command_that_are_not_there(tmp_path: Path) -> None:
    assert "cannot be read" in run(tmp_path / "none.json", "--", "true").stderr
    assert "no command stands behind" in run(profile(tmp_path)).stderr
    done = run(profile(tmp_path), "--", "./no-such-program")
    assert done.returncode == 127
    assert "cannot be started" in done.stderr


def test_it_loads_none_of_the_command_line(tmp_path: Path) -> None:
    code = (
        "import sys, tautochrone.run_profile as r; r.read(sys.argv[1]);"
        "print([m for m in ('typer', 'rich', 'msgspec', 'asyncio', 'subprocess') if m in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(profile(tmp_path))],
        env={**os.environ, "PYTHONPATH": str(ROOT / "lab")},
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert done.stdout == "[]\n"
