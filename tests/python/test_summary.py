"""`tauto report --format`: the first screen as a picture, and as Markdown to paste."""

from __future__ import annotations

import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from compare_fakes import compared
from tautochrone.cli.main import main
from tautochrone.report.summary import cell


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tmp_path_factory.mktemp("compared") / "results"
    compared({"./old": "seconds 1.0 noise 1%", "./new|`x`": "seconds 0.8 noise 1%"}, output=found)
    return found


def test_the_picture_says_what_the_page_says(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", str(folder), "--format", "svg"]) == 0
    path = folder / "report.svg"
    assert f"The report: {path}" in capsys.readouterr().out
    words = " ".join(ElementTree.parse(path).getroot().itertext())
    assert "takes 20 % less time" in words
    assert "./old" in words
    assert path.stat().st_size < 10_000


def test_markdown_is_printed_to_be_piped(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", str(folder), "--format", "markdown"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("**./new")
    table = [line for line in lines if line.startswith("|")]
    assert table[2] == "| ./old | 1 |  |"
    assert table[3].startswith("| ./new\\|\\`x\\` | 0.80 | 0.")
    assert {line.replace("\\|", "").count("|") for line in table} == {4}
    assert sum(line.startswith("- ") for line in lines) == 3
    assert "```shell" in lines


def test_markdown_goes_into_a_file_that_is_named(folder: Path, tmp_path: Path) -> None:
    assert main(["report", str(folder), "--format", "markdown", "--output", str(tmp_path / "a.md")]) == 0
    assert (tmp_path / "a.md").read_text().startswith("**")


def test_a_png_has_its_pixels(folder: Path) -> None:
    pytest.importorskip("vl_convert", reason="the extra for pictures is not installed")
    assert main(["report", str(folder), "--format", "png"]) == 0
    png = (folder / "report.png").read_bytes()
    assert png.startswith(b"\x89PNG")
    assert int.from_bytes(png[16:20], "big") == 2 * 640


def test_a_png_without_the_extra_is_refused_with_what_to_do(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "vl_convert", None)
    assert main(["report", str(folder), "--format", "png", "--output", str(folder / "no.png")]) == 2
    assert "tautochrone[pictures]" in capsys.readouterr().err
    assert not (folder / "no.png").exists()


def test_a_cell_of_a_table_keeps_its_place_whatever_it_holds() -> None:
    assert cell("a|b\n<img>`") == "a\\|b &lt;img>\\`"
