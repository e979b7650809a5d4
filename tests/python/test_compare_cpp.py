"""The C++ comparison has the lab's statistics, and keeps compilers from removing what is timed."""

from __future__ import annotations

import re
import shutil
import subprocess
from dataclasses import fields
from pathlib import Path

import pytest

import verdict_cases
from tautochrone.results.compare import Line
from tautochrone.verdicts import Comparison

INCLUDE = Path(__file__).resolve().parents[2] / "include"
COMPILERS = [name for name in ("g++", "clang++") if shutil.which(name)]

REMOVABLE = """
#include <tauto/do_not_optimize.hpp>
struct pair { long a[4]; };
void timed(long x) {
    for (int call = 0; call < 1000; ++call) {
        TYPE result = WORK;
        KEEP
    }
}
"""
WORKS = {"long": "x * 0x1234567", "double": "double(x) * 1.1", "pair": "pair{{x * 0x1234567, 1, 2, 3}}"}


def test_the_cases_of_the_cpp_test_are_the_labs() -> None:
    assert verdict_cases.CASES.read_text() == verdict_cases.text()


def multiplications(compiler: str, source: str, folder: Path) -> list[str]:
    """The instructions that multiply, in what the compiler makes of the source."""
    command = [compiler, "-std=c++20", "-O2", "-S", f"-I{INCLUDE}", "-x", "c++", "-", "-o", "out.s"]
    subprocess.run(command, input=source, text=True, cwd=folder, check=True)
    return re.findall(r"^\s+(?:i?mul|f?mul|mulsd|madd)\S*\s.*", (folder / "out.s").read_text(), re.MULTILINE)


@pytest.mark.timed
@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize("kind", WORKS)
def test_a_removable_computation_is_kept(compiler: str, kind: str, tmp_path: Path) -> None:
    source = REMOVABLE.replace("TYPE", kind).replace("WORK", WORKS[kind])
    kept = source.replace("KEEP", "tauto::do_not_optimize(result);")
    assert multiplications(compiler, source.replace("KEEP", ""), tmp_path) == []
    assert multiplications(compiler, kept, tmp_path)


@pytest.mark.timed
@pytest.mark.parametrize("compiler", COMPILERS)
def test_a_number_is_kept_in_its_register(compiler: str, tmp_path: Path) -> None:
    # The only instruction in the loop is what the value costs: no store, no copy.
    source = (
        REMOVABLE.replace("TYPE", "long")
        .replace("WORK", "x")
        .replace("KEEP", "tauto::do_not_optimize(result);")
    )
    multiplications(compiler, source, tmp_path)
    text = (tmp_path / "out.s").read_text()
    body = text[text.index("timed") :].split(".cfi_endproc")[0]
    assert not re.search(r"\((%rsp|%rbp)|\[sp", body), body


def test_its_json_has_the_fields_of_the_labs() -> None:
    # The C++ test holds the whole line against this text.
    text = (INCLUDE.parent / "tests" / "cpp" / "compare_test.cpp").read_text()
    line = {field.name for field in fields(Line)} - {"comparison", "a_spent", "b_spent"}
    report = {"schema", "a", "b", "paired", "comparisons", "geometric_mean", "notes"}
    wanted = line | report | {field.name for field in fields(Comparison)}
    assert [name for name in sorted(wanted) if f'"{name}":' not in text] == []
