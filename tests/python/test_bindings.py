"""The library for C, and the module for Fortran: what they show, and programs that use them."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from processes import run_to_end

pytestmark = pytest.mark.timed

ROOT = Path(__file__).resolve().parents[2]
FOLDER = os.environ.get("TAUTO_RUNNERS", "")
LIBRARY = Path(FOLDER) / "libtauto.so.1"
HEADER = (ROOT / "include/tauto.h").read_text()
needs_library = pytest.mark.skipif(not FOLDER, reason="TAUTO_RUNNERS names no folder with libtauto.so.1")


def declared() -> set[str]:
    return set(re.findall(r"^TAUTO_API [\w ]+\*? ?\b(tauto_\w+)\(", HEADER, re.MULTILINE))


def output(*words: object) -> str:
    """What a command prints; its whole output is in the failure's message."""
    done = run_to_end(words)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@needs_library
def test_the_library_shows_what_the_header_declares_and_nothing_else() -> None:
    assert len(declared()) == HEADER.count("\nTAUTO_API ")
    listed = output("nm", "-D", "--defined-only", "--with-symbol-versions", LIBRARY)
    shown = {line.split()[-1] for line in listed.splitlines()} - {"TAUTO_1"}
    assert shown == {f"{name}@@TAUTO_1" for name in declared()}  # "bindings.md, promise 11"
    assert "Library soname: [libtauto.so.1]" in output("readelf", "-d", "-W", LIBRARY)


def test_the_header_has_the_version_of_cmake() -> None:
    lists = (ROOT / "CMakeLists.txt").read_text()
    found = re.search(r"project\(tautochrone VERSION (\d+)\.(\d+)\.(\d+)", lists)
    assert found
    major, minor, patch = map(int, found.groups())
    assert f"#define TAUTO_VERSION {10000 * major + 100 * minor + patch}\n" in HEADER


@needs_library
@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_a_program_in_c_compiles_with_every_warning_and_runs(compiler: str, tmp_path: Path) -> None:
    if shutil.which(compiler) is None:
        pytest.skip(f"there is no {compiler} here")
    strict = ("-std=c11", "-Wall", "-Wextra", "-Wstrict-prototypes", "-pedantic", "-Werror")
    program = tmp_path / "program"
    source = ROOT / "tests/consumers/c/main.c"
    output(compiler, *strict, source, f"-I{ROOT}/include", "-o", program, LIBRARY, "-lm")
    assert (
        "100000 roots on"
        in subprocess.run(
            [program],
            env={**os.environ, "LD_LIBRARY_PATH": FOLDER},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
    )


@needs_library
@pytest.mark.skipif(shutil.which("gfortran") is None, reason="there is no gfortran here")
def test_a_program_in_fortran_gets_what_the_module_promises(tmp_path: Path) -> None:
    # Of the warnings, that of comparing doubles for equality is the test's.
    strict = ("-std=f2018", "-Wall", "-Wextra", "-Wno-compare-reals", "-Werror", f"-J{tmp_path}")
    program = tmp_path / "contract"
    sources = (ROOT / "bindings/fortran/tauto.f90", ROOT / "tests/python/programs/contract.f90")
    output("gfortran", *strict, *sources, "-o", program, LIBRARY)
    environment = {**os.environ, "LD_LIBRARY_PATH": FOLDER}
    done = run_to_end([program], env=environment)
    assert (done.returncode, done.stdout) == (0, ""), done.stdout + done.stderr
    without_stat = run_to_end([program, "sort"], env=environment)
    assert without_stat.returncode == 1
    assert "tauto: error: tauto_sort_double got NULL as `team`" in without_stat.stderr
