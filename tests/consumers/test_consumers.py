"""The ways to use tautochrone from outside its tree, each as a user would."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]


def run(*command: str | Path, cwd: Path, environment: dict[str, str] | None = None) -> str:
    """Run a command; its whole output is in the failure's message."""
    finished = subprocess.run(
        [str(word) for word in command], cwd=cwd, capture_output=True, text=True, env=environment, check=False
    )
    output = finished.stdout + finished.stderr
    assert finished.returncode == 0, f"{' '.join(map(str, command))}\n{output}"
    return output


@pytest.fixture(scope="module")
def prefix(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An installation of the library alone, moved after it was made: it may not know where it stood."""
    work = tmp_path_factory.mktemp("library with spaces")
    configure = ["cmake", "-S", ROOT, "-B", work / "build", "-G", "Ninja", "-DTAUTO_BUILD_RUNNERS=OFF"]
    configure.append("-DTAUTO_BUILD_TOOLS=OFF")
    run(*configure, f"-DCMAKE_INSTALL_PREFIX={work / 'first'}", cwd=work)
    # Under other names ccache would not know the units that CMake puts together (tools/compiler_cache.sh).
    run("cmake", "--build", work / "build", cwd=work, environment={**os.environ, "CCACHE_BASEDIR": str(work)})
    run("cmake", "--install", work / "build", cwd=work)
    (work / "first").rename(work / "moved")
    shutil.rmtree(work / "build")
    return work / "moved"


def build(language: str, prefix: Path, work: Path, *options: str) -> None:
    shutil.copytree(HERE / language, work / "source")
    run(
        "cmake",
        "-S",
        work / "source",
        "-B",
        work / "build",
        "-G",
        "Ninja",
        f"-DCMAKE_PREFIX_PATH={prefix}",
        *options,
        cwd=work,
    )
    run("cmake", "--build", work / "build", cwd=work)


def build_consumer(prefix: Path, work: Path, *options: str) -> str:
    build("cpp", prefix, work, *options)
    return run(work / "build" / "consumer", cwd=work) + run(work / "build" / "comparing", cwd=work)


def test_cpp_consumer_finds_builds_and_runs_against_the_installed_package(
    prefix: Path, tmp_path: Path
) -> None:
    said = build_consumer(prefix, tmp_path)
    assert re.search(r"1000000 roots on [1-9]", said)
    assert "four times" in said


def test_cpp_consumer_with_its_own_strict_warnings_builds_too(prefix: Path, tmp_path: Path) -> None:
    # Public headers are compiled with the consumer's flags, not with ours.
    flags = "-DCMAKE_CXX_FLAGS=-Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wold-style-cast"
    # As plain includes: system includes would hide every warning.
    build_consumer(prefix, tmp_path, f"{flags} -Werror", "-DCMAKE_NO_SYSTEM_FROM_IMPORTED=ON")


def test_c_consumer_finds_builds_and_runs_against_the_installed_library(prefix: Path, tmp_path: Path) -> None:
    build("c", prefix, tmp_path)
    said = run(tmp_path / "build" / "consumer", cwd=tmp_path)
    assert re.search(r"100000 roots on [1-9].*tauto_exact_sum of -1 elements", said)


def test_installed_package_refuses_another_minor_version(prefix: Path, tmp_path: Path) -> None:
    source = tmp_path / "source"
    shutil.copytree(HERE / "cpp", source)
    lists = source / "CMakeLists.txt"
    lists.write_text(lists.read_text().replace("tautochrone 0.1 ", "tautochrone 0.99 "))
    finished = subprocess.run(
        ["cmake", "-S", source, "-B", tmp_path / "build", f"-DCMAKE_PREFIX_PATH={prefix}"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert finished.returncode != 0
    assert "0.99" in finished.stderr


@pytest.mark.timeout(600)  # it compiles the tools and the runners of a study, with no compiler's cache
def test_python_consumer_of_pip_install_finds_command_and_runners(tmp_path: Path) -> None:
    venv = tmp_path / "venv with spaces"
    run(sys.executable, "-m", "venv", venv, cwd=tmp_path)
    environment = {
        name: value
        for name, value in os.environ.items()
        if name not in ("TAUTO_RUNNERS", "PYTHONPATH", "VIRTUAL_ENV")
    }
    environment["XDG_CACHE_HOME"] = str(tmp_path / "cache")
    # The study's runners are to start here, not to be fast: without optimising they compile in half the time.
    compiler = tmp_path / "c++"
    compiler.write_text('#!/bin/sh\nexec c++ "$@" -O0\n')
    compiler.chmod(0o755)
    pip = (venv / "bin" / "python", "-m", "pip", "install", "-q")
    hashes = ROOT / "packaging" / "hashes.txt"
    run(*pip, "--require-hashes", "-r", hashes, cwd=tmp_path, environment=environment)
    run(*pip, "--no-deps", ROOT, cwd=tmp_path, environment=environment)
    run(*pip[:3], "check", cwd=tmp_path, environment=environment)
    environment["CXX"] = str(compiler)
    output = run(venv / "bin" / "python", HERE / "consumer.py", cwd=tmp_path, environment=environment)
    assert "runners in the package" in output
