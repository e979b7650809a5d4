"""Every code block of README.md and docs/ is compiled or run; the rule is in docs/contributing.md."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import sys
import textwrap
import tomllib
from contextlib import nullcontext
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

from processes import run_to_end, slowing_cpus

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("**/*.md"))]
BUILD = ROOT / "build" / "cpp" / "default"
LIBRARY = BUILD / "runtime" / "libtautochrone.a"
C_LIBRARY = BUILD / "bin" / "libtauto.so.1"
LANGUAGES = {"c", "cpp", "fortran", "sh", "python", "json", "toml", "cmake", "yaml", "text"}
TIME_LIMIT_SECONDS = 120
COMPILER = os.environ.get("CXX", "g++")
WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Wconversion", "-Werror"]
FLAGS = ["-std=c++20", "-O1", "-pthread", *WARNINGS, f"-I{ROOT / 'include'}"]


@dataclass(frozen=True)
class Block:
    """One fenced block with what the comments right above it ask for."""

    page: Path
    line: int
    language: str
    text: str
    before: str = ""  # code that a reader need not see, put in front of the block
    parse_only: bool = False
    replacements: tuple[tuple[str, str], ...] = ()

    @property
    def id(self) -> str:
        return f"{self.page.relative_to(ROOT)}:{self.line} {self.language}"

    @property
    def code(self) -> str:
        text = self.text
        for old, new in self.replacements:
            assert old in text, f"{self.id}: the text to replace, {old!r}, is not in the block"
            text = text.replace(old, new)
        return text


COMMENT = re.compile(r"<!--\s*(test: parse|before:|replace:)(.*?)-->", re.DOTALL)
FENCE = re.compile(
    r"^(?P<indent> *)```(?P<language>[^\n`]*)\n(?P<text>.*?)^(?P=indent)```[ \t]*$", re.DOTALL | re.MULTILINE
)


def blocks_of(page: Path, text: str) -> list[Block]:
    """Return the fenced blocks of a page; a comment belongs to the block that follows it directly."""
    found = []
    end_of_last = 0
    for fence in FENCE.finditer(text):
        above = text[end_of_last : fence.start()]
        end_of_last = fence.end()
        before, parse_only, replacements = "", False, []
        while (comments := list(COMMENT.finditer(above))) and not above[comments[-1].end() :].strip():
            kind, argument = comments[-1].group(1), comments[-1].group(2).strip()
            above = above[: comments[-1].start()]
            if kind == "test: parse":
                parse_only = True
            elif kind == "before:":
                before = argument
            else:
                old, _, new = argument.partition(" => ")
                replacements.append((old, new))
        line = text.count("\n", 0, fence.start()) + 1
        language, code = fence["language"].strip(), textwrap.dedent(fence["text"])
        found.append(Block(page, line, language, code, before, parse_only, tuple(reversed(replacements))))
    return found


@cache
def all_blocks() -> list[Block]:
    return [block for page in PAGES for block in blocks_of(page, page.read_text())]


def in_language(*languages: str) -> list[pytest.param]:
    return [pytest.param(block, id=block.id) for block in all_blocks() if block.language in languages]


def run(command: list[str | Path], cwd: Path, environment: dict[str, str] | None = None) -> str:
    """Run a command; its whole output is in the failure's message."""
    finished = run_to_end(command, cwd=cwd, timeout=TIME_LIMIT_SECONDS, env=environment)
    output = finished.stdout + finished.stderr
    words = shlex.join(map(str, command))
    assert finished.returncode == 0, f"{words}\nexit status {finished.returncode}\n{output}"
    return output


@pytest.fixture(scope="session")
def libraries(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The libraries for C++ and for C: of `make build` where they are, else built here."""
    if LIBRARY.exists() and C_LIBRARY.exists():
        return LIBRARY, C_LIBRARY
    folder = tmp_path_factory.mktemp("library")
    without = ["-DTAUTO_BUILD_RUNNERS=OFF", "-DTAUTO_BUILD_TOOLS=OFF"]
    run(["cmake", "-S", ROOT, "-B", folder, "-G", "Ninja", *without], folder)
    run(["cmake", "--build", folder], folder)
    return next(folder.rglob("libtautochrone.a")), next(folder.rglob("libtauto.so.1"))


@pytest.fixture(scope="session")
def library(libraries: tuple[Path, Path]) -> Path:
    return libraries[0]


@pytest.fixture(scope="session")
def header(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the header, which GCC finds compiled, once and not for each block; clang reads it."""
    folder = tmp_path_factory.mktemp("header")
    source = folder / "tauto" / "tauto.hpp"
    source.parent.mkdir()
    source.write_text(f'#include "{ROOT}/include/tauto/tauto.hpp"\n')
    run([COMPILER, *FLAGS, "-x", "c++-header", source, "-o", f"{source}.gch"], folder)
    return folder


@pytest.fixture(scope="session")
def executables(tmp_path_factory: pytest.TempPathFactory) -> Path | None:
    """Those of TAUTO_RUNNERS, with a probe that measures this machine once for the studies of all pages."""
    if "TAUTO_RUNNERS" not in os.environ:
        return None
    folder = tmp_path_factory.mktemp("executables")
    for path in Path(os.environ["TAUTO_RUNNERS"]).iterdir():
        (folder / path.name).symlink_to(path)
    probe = folder / "tauto-probe"
    real = probe.readlink()
    probe.unlink()
    probe.write_text(PROBE_ONCE.format(real=shlex.quote(str(real)), kept=shlex.quote(str(folder / "kept"))))
    probe.chmod(0o755)
    return folder


PROBE_ONCE = """#!/bin/sh
case $* in *"--measure quick"*) ;; *) exec {real} "$@" ;; esac
[ -s {kept} ] || {real} "$@" >{kept} || exit
cat {kept}
"""


@pytest.fixture(scope="session")
def environment(executables: Path | None) -> dict[str, str]:
    """PATH with this venv's `tauto` first, wide plain output, no network of ours."""
    return {
        **os.environ,
        **({"TAUTO_RUNNERS": str(executables)} if executables else {}),
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "COLUMNS": "200",
        "TERM": "dumb",
        "NO_COLOR": "1",
    }


@pytest.fixture(scope="module")
def scratch(tmp_path_factory: pytest.TempPathFactory) -> dict[Path, Path]:
    """One folder a page: its blocks run in order and may use what earlier ones made."""
    return {page: tmp_path_factory.mktemp(page.stem) for page in PAGES}


def as_program(block: Block) -> str:
    """A block with main is a program; another is the body of main, its includes hoisted."""
    if re.search(r"\bint main\(", block.code):
        return f"{block.before}\n{block.code}"
    lines = f"{block.before}\n{block.code}".splitlines()
    includes = [line for line in lines if line.lstrip().startswith("#include")]
    body = [line for line in lines if not line.lstrip().startswith("#include")]
    return "\n".join(["#include <tauto/tauto.hpp>", *includes, "int main() {", *body, "}", ""])


@pytest.mark.parametrize("block", in_language("cpp"))
def test_cpp_block_compiles_and_runs(
    block: Block, library: Path, header: Path, scratch: dict[Path, Path], environment: dict[str, str]
) -> None:
    folder = scratch[block.page]
    source = folder / f"block_{block.line}.cpp"
    source.write_text(as_program(block))
    program = source.with_suffix("")
    libraries = [library, "-lhwloc", "-pthread"]
    run([COMPILER, f"-I{header}", *FLAGS, source, *libraries, "-o", program], folder)
    if not block.parse_only:
        run([program], folder, environment)


# How a block of each language becomes a program; it has a main.
BUILDS: dict[str, list[str | Path]] = {
    "c": ["cc", "-std=c11", "-Wall", "-Wextra", "-pedantic", "-Werror", f"-I{ROOT / 'include'}"],
    "fortran": ["gfortran", ROOT / "bindings/fortran/tauto.f90"],
}
ENDINGS = {"c": ".c", "fortran": ".f90"}


@pytest.mark.parametrize("block", in_language(*BUILDS))
def test_block_for_the_library_for_c_compiles_and_runs(
    block: Block, libraries: tuple[Path, Path], scratch: dict[Path, Path]
) -> None:
    command = BUILDS[block.language]
    if shutil.which(str(command[0])) is None:
        pytest.skip(f"there is no {command[0]} here")
    folder = scratch[block.page]
    source = folder / f"block_{block.line}{ENDINGS[block.language]}"
    source.write_text(block.code)
    library = libraries[1]
    run([*command, source, library, f"-Wl,-rpath,{library.parent}", "-o", source.with_suffix("")], folder)
    run([source.with_suffix("")], folder)


@pytest.mark.parametrize("block", in_language("python"))
def test_python_block_runs(block: Block, scratch: dict[Path, Path], environment: dict[str, str]) -> None:
    source = f"{block.before}\n{block.code}"
    compile(source, block.id, "exec")
    if not block.parse_only:
        run([sys.executable, "-c", source], scratch[block.page], environment)


@pytest.mark.parametrize("block", in_language("sh"))
def test_sh_block_runs_or_asks_only_for_what_exists(
    block: Block, scratch: dict[Path, Path], environment: dict[str, str]
) -> None:
    folder = scratch[block.page]
    run(["bash", "-n", "-c", block.code], folder)
    for words in commands_of(block.text):
        check_command_exists(words, environment)
    if not block.parse_only:
        with slowing_cpus() if re.search("--emulate|tauto (emulate|balance)", block.code) else nullcontext():
            run(["bash", "-euo", "pipefail", "-c", f"{block.before}\n{block.code}"], folder, environment)


@pytest.mark.parametrize("block", in_language("json", "toml"))
def test_data_block_can_be_read(block: Block) -> None:
    json.loads(block.text) if block.language == "json" else tomllib.loads(block.text)


def commands_of(text: str) -> list[list[str]]:
    """Return the simple commands of a block as words, without variables in front."""
    commands = []
    for line in text.replace("\\\n", " ").splitlines():
        for part in re.split(r"&&|\|\||;|\|", re.sub(r"(?:^|\s)#\s.*$", "", line)):
            words = shlex.split(part, comments=True)
            while words and re.fullmatch(r"[A-Z_]+=.*", words[0]):
                words = words[1:]
            if words:
                commands.append(words)
    return commands


@cache
def make_targets() -> set[str]:
    return set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))


def check_command_exists(words: list[str], environment: dict[str, str]) -> None:
    """A command of ours must know the target, the subcommand and every option that a page shows."""
    if words[0] == "make":
        targets = [word for word in words[1:] if "=" not in word and not word.startswith("-")]
        assert set(targets) <= make_targets(), f"make has no target {targets}"
    assert not [word for word in words if re.match(r"tauto-\w", word)], (
        "write tauto exec NAME: it is on no PATH"
    )
    if words[0] != "tauto":
        assert known_program(words[0]), f"there is no program {words[0]}, and a reader has none of that name"
        return
    words = words[: words.index("--")] if "--" in words else words
    options = [word.split("=")[0] for word in words if word.startswith("--")]
    subcommands: list[str] = []
    for word in words[1:]:
        if word.startswith("-"):
            break
        listing = help_of(tuple(subcommands), tuple(sorted(environment.items())))
        if not re.search(rf"^[│|\s]*{re.escape(word)}\s", listing, re.MULTILINE):
            break
        subcommands.append(word)
    assert subcommands or len(words) == 1 or words[1].startswith("-"), f"tauto has no command {words[1]}"
    text = help_of(tuple(subcommands), tuple(sorted(environment.items())))
    missing = [one for one in options if not re.search(rf"(?<![\w-]){re.escape(one)}(?![\w-])", text)]
    assert not missing, f"tauto {' '.join(subcommands)} has no option {', '.join(missing)}"


# What a page may name without its being here: programs of the reader, and of other packages.
OTHERS = {
    "apt-get",
    "cmake",
    "conda",
    "docker",
    "gmx",
    "lmp",
    "mpirun",
    "pip",
    "pipx",
    "salloc",
    "srun",
    "sudo",
}


def known_program(word: str) -> bool:
    """Whether a word begins a command here, or one that a reader is known to have."""
    if word.startswith(("./", "../", "/", "$", '"$')) or word in OTHERS:
        return True
    found = run_to_end(["bash", "-c", 'type -t -- "$1"', "bash", word])
    return found.returncode == 0


@cache
def help_of(subcommands: tuple[str, ...], environment: tuple[tuple[str, str], ...]) -> str:
    return run(["tauto", *subcommands, "--help"], ROOT, dict(environment))


def test_every_block_says_its_language() -> None:
    unknown = [block.id for block in all_blocks() if block.language not in LANGUAGES]
    assert not unknown, f"use one of {sorted(LANGUAGES)}: {unknown}"


def test_pages_have_blocks_of_each_tested_language() -> None:
    # A parser that finds nothing would make every test above vanish.
    assert {"cpp", "sh"} <= {block.language for block in all_blocks()}
    fences = sum(len(re.findall(r"^ *```", page.read_text(), re.MULTILINE)) for page in PAGES)
    assert fences == 2 * len(all_blocks())


def test_comments_above_a_block_belong_to_it_alone() -> None:
    comments = "<!-- before: int n = 1; -->\n<!-- replace: 5 => 7 -->\n"
    text = comments + "```cpp\nint k = 5;\n```\ntext\n```cpp\nint m;\n```\n"
    first, second = blocks_of(ROOT / "README.md", text)
    assert (first.before, first.code) == ("int n = 1;", "int k = 7;\n")
    assert (second.before, second.code, second.line) == ("", "int m;\n", 7)


def test_readme_starts_with_the_two_commands() -> None:
    first_screen = "\n".join((ROOT / "README.md").read_text().splitlines()[:40])
    assert "make study" in first_screen
    assert "make test" in first_screen


def headings_of(page: Path) -> set[str]:
    titles = re.findall(r"^#+ +(.+)$", page.read_text(), re.MULTILINE)
    return {
        re.sub(r"[^\w\- ]", "", title.replace("`", "").lower()).strip().replace(" ", "-") for title in titles
    }


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_inside_the_tree_lead_somewhere(page: Path) -> None:
    text = FENCE.sub("", page.read_text())
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if re.match(r"[a-z]+:", target):
            continue
        path, _, anchor = target.partition("#")
        linked = (page.parent / path).resolve() if path else page
        assert linked.exists(), f"{page.name} links to {target}, which is not there"
        if anchor and linked.suffix == ".md":
            assert anchor in headings_of(linked), f"{page.name} links to {target}; there is no such heading"


def test_every_page_is_in_the_index() -> None:
    index = (ROOT / "docs" / "README.md").read_text()
    names = {page.name for page in (ROOT / "docs").glob("*.md")} - {"README.md"}
    assert [name for name in names if name not in index] == []
    site = (ROOT / "mkdocs.yml").read_text().partition("\nnav:")[2]
    assert set(re.findall(r"[\w-]+\.md", site)) == {*names, "README.md"}


def test_runtime_page_names_the_environment_variables_that_the_runtime_reads() -> None:
    files = [*ROOT.glob("runtime/*.cpp"), *ROOT.glob("include/tauto/*.hpp")]
    read = set(re.findall(r"\"(TAUTO_[A-Z_]+)\"", "".join(path.read_text() for path in files)))
    named = set(re.findall(r"`(TAUTO_[A-Z_]+)", (ROOT / "docs" / "runtime.md").read_text()))
    assert read == named


@pytest.mark.parametrize("page", ["runtime.md", "bindings.md", "collectives.md", "compare-cpp.md"])
def test_every_promise_has_a_number_and_a_test(page: str) -> None:
    section = (ROOT / "docs" / page).read_text().split("## What it promises")[1].split("```")[0]
    promises = [int(number) for number in re.findall(r"^(\d+)\. ", section, re.MULTILINE)]
    assert promises == list(range(1, len(promises) + 1))
    files = (*(ROOT / "tests/cpp").glob("*.cpp"), *(ROOT / "tests/python").glob("*.py"))
    tests = "".join(path.read_text() for path in sorted(files))
    tested = {int(number) for number in re.findall(rf"{re.escape(page)}, promise (\d+)\"", tests)}
    assert tested == set(promises)
