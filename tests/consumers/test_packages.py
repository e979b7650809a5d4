"""The recipes of packaging/: their versions, options and files; the libraries and the .deb are built."""

from __future__ import annotations

import ast
import json
import os
import re
import shutil
import subprocess
import tarfile
from pathlib import Path

import pytest

from processes import run_to_end

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]

PACKAGING = ROOT / "packaging"
LISTS = (ROOT / "CMakeLists.txt").read_text()
FOUND = re.search(r"project\(tautochrone VERSION ([0-9.]+)", LISTS)
VERSION = FOUND[1] if FOUND else ""
OPTIONS = set(re.findall(r"^(?:option|set)\((TAUTO_\w+)", LISTS, re.MULTILINE))


def run(*command: str | Path, cwd: Path, environment: dict[str, str] | None = None) -> str:
    """What a command prints; its whole output is in the failure's message."""
    finished = run_to_end(command, cwd=cwd, env=environment, timeout=300)
    assert finished.returncode == 0, finished.stdout + finished.stderr
    return finished.stdout


def test_every_recipe_has_the_version_of_cmake() -> None:
    assert json.loads((PACKAGING / "vcpkg/vcpkg.json").read_text())["version"] == VERSION
    assert f'version("{VERSION}"' in (PACKAGING / "spack/packages/tautochrone/package.py").read_text()
    assert f"version: {VERSION}\n" in (PACKAGING / "conda/meta.yaml").read_text()
    assert f"version: {VERSION}\n" in (ROOT / "CITATION.cff").read_text()


def test_every_recipe_sets_options_that_there_are() -> None:
    text = "".join(path.read_text() for path in PACKAGING.rglob("*") if path.is_file())
    named = set(re.findall(r"TAUTO_[A-Z_]+", text))
    assert {"TAUTO_BUILD_RUNNERS", "TAUTO_BUILD_TOOLS"} <= named
    assert named <= OPTIONS


def test_conda_asks_for_what_pip_does() -> None:
    project = (ROOT / "pyproject.toml").read_text()
    block = re.search(r"^dependencies = \[(.*?)\]", project, re.DOTALL | re.MULTILINE)
    assert block
    wanted = {re.sub(r"(>=)", r" \1", one) for one in re.findall(r'"([^"]+)"', block[1])}
    run_part = (PACKAGING / "conda/meta.yaml").read_text().partition("  run:\n")[2].partition("\ntest:")[0]
    assert wanted == set(re.findall(r"^ +- (.+)$", run_part, re.MULTILINE)) - {"python >=3.11"}


def test_the_recipe_of_spack_is_python() -> None:
    tree = ast.parse((PACKAGING / "spack/packages/tautochrone/package.py").read_text())
    assert [node.name for node in tree.body if isinstance(node, ast.ClassDef)] == ["Tautochrone"]


def test_the_image_asks_for_packages_that_the_list_has() -> None:
    file = (PACKAGING / "docker/Dockerfile").read_text()
    listed = {
        name for line in (ROOT / "packages.txt").read_text().splitlines() for name in re.split(r"[\s|]", line)
    }
    first = file.partition("FROM debian:12\n")[0]
    block = re.search(r"--no-install-recommends \\\n((?:.*\\\n)*.*)\n", first)
    assert block
    assert set(block[1].replace("\\", "").split()) <= listed


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The library alone, as it is packed."""
    folder = tmp_path_factory.mktemp("package") / "build"
    options = ("-DTAUTO_BUILD_TOOLS=OFF", "-DTAUTO_BUILD_RUNNERS=OFF", "-DCMAKE_INSTALL_PREFIX=/usr")
    run("cmake", "-S", ROOT, "-B", folder, "-G", "Ninja", *options, cwd=ROOT)
    # Under other names ccache would not know the units that CMake puts together (tools/compiler_cache.sh).
    environment = {**os.environ, "CCACHE_BASEDIR": str(folder.parent)}
    run("cmake", "--build", folder, cwd=ROOT, environment=environment)
    return folder


def test_pkg_config_builds_a_program_against_an_installation_that_was_moved(
    built: Path, tmp_path: Path
) -> None:
    first, prefix = tmp_path / "first", tmp_path / "moved"
    run("cmake", "--install", built, "--prefix", first, cwd=tmp_path)
    first.rename(prefix)
    (file,) = prefix.rglob("tautochrone.pc")
    environment = {"PKG_CONFIG_PATH": str(file.parent), "PATH": "/usr/local/bin:/usr/bin:/bin"}
    asked = ["pkg-config", "--cflags", "--libs", "tautochrone"]
    flags = run(*asked, cwd=tmp_path, environment=environment).split()
    headers = {Path(flag[2:]).resolve() for flag in flags if flag.startswith("-I")}
    assert prefix / "include" in headers
    assert (
        run("pkg-config", "--modversion", "tautochrone", cwd=tmp_path, environment=environment).strip()
        == VERSION
    )
    program = tmp_path / "consumer"
    run("c++", "-std=c++20", HERE / "cpp" / "main.cpp", "-o", program, *flags, cwd=tmp_path)
    assert "roots on" in run(program, cwd=tmp_path)

    flags = run("pkg-config", "--cflags", "--libs", "tauto", cwd=tmp_path, environment=environment).split()
    (library,) = prefix.rglob("libtauto.so.1")
    strict = ("-std=c11", "-Wall", "-Wextra", "-pedantic", "-Werror", f"-Wl,-rpath,{library.parent}")
    run("cc", *strict, HERE / "c" / "main.c", "-o", program, *flags, "-lm", cwd=tmp_path)
    assert "roots on" in run(program, cwd=tmp_path)


def test_the_checksums_name_no_place() -> None:
    text = (ROOT / "packaging" / "hashes.txt").read_text()
    assert "://" not in text
    assert not re.search("^-", text, re.MULTILINE), "an option of pip, such as where to look"
    named = re.findall(r"^([\w.-]+)==", text, re.MULTILINE)
    assert len(named) == len(re.findall(r"\\\n(?:    --hash=sha256:[0-9a-f]{64}(?: \\)?\n)+", text))


def test_pkg_config_is_told_a_folder_that_is_given_by_its_full_path(tmp_path: Path) -> None:
    options = (
        "-DTAUTO_BUILD_TOOLS=OFF",
        "-DTAUTO_BUILD_RUNNERS=OFF",
        "-DCMAKE_INSTALL_LIBDIR=/elsewhere/lib",
    )
    run("cmake", "-S", ROOT, "-B", tmp_path, "-G", "Ninja", *options, cwd=ROOT)
    lines = (tmp_path / "tautochrone.pc").read_text().splitlines()
    assert lines[:3] == ["prefix=/usr/local", "libdir=/elsewhere/lib", "includedir=${prefix}/include"]


@pytest.mark.skipif(shutil.which("dpkg-deb") is None, reason="no dpkg-deb here")
def test_the_deb_holds_headers_library_and_its_needs(built: Path, tmp_path: Path) -> None:
    run("cpack", "--config", built / "CPackConfig.cmake", "-B", tmp_path, cwd=tmp_path)
    (package,) = tmp_path.glob("tautochrone_*.deb")
    fields = run("dpkg-deb", "--field", package, cwd=tmp_path)
    assert f"Version: {VERSION}\n" in fields
    listed = subprocess.run(["dpkg-deb", "--fsys-tarfile", package], capture_output=True, check=True).stdout
    archive = tmp_path / "files.tar"
    archive.write_bytes(listed)
    with tarfile.open(archive) as files:
        names = files.getnames()
    assert "./usr/include/tauto/tauto.hpp" in names
    assert any(name.endswith("/libtautochrone.a") for name in names)
    assert any(name.endswith("/pkgconfig/tautochrone.pc") for name in names)
    assert {"./usr/include/tauto.h", "./usr/include/tauto.f90"} <= set(names)
    assert any(name.endswith("/libtauto.so.1") for name in names)
    assert "./usr/share/doc/tautochrone/copyright" in names
    assert all(name.startswith("./usr") or name in (".", "./") for name in names)
