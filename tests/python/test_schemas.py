"""The page of all forms of JSON is that of the types, and holds every schema of the tree."""

from __future__ import annotations

import json
import re
from pathlib import Path

import msgspec
import pytest

from compare_fakes import compared
from tautochrone.cli.main import main
from tautochrone.schemas import of_executables, page
from tautochrone.schemas.known import ON_PAGES_ALONE, of_analysis, schemas

ROOT = Path(__file__).parents[2]
SOURCES = ("lab", "command", "probe", "simulator", "emulator", "balance", "runners", "timer")
ELSEWHERE = {"tautochrone.machine-file/1"}  # TOML


@pytest.fixture(scope="module")
def made() -> str:
    return page.page()


def test_the_page_is_that_of_the_types(made: str) -> None:
    assert (ROOT / page.PAGE).read_text(encoding="utf-8") == made, "type: make schemas"


def test_every_schema_of_the_sources_is_known() -> None:
    written = {
        name
        for folder in SOURCES
        for path in (ROOT / folder).rglob("*")
        if path.suffix in (".py", ".cpp", ".hpp") and "schemas" not in path.parts
        for name in re.findall(r'"(tautochrone\.[a-z_-]+/[0-9]+)"', path.read_text(encoding="utf-8"))
    }
    known = {one.name for one in schemas()}
    assert len(written) > 15
    assert written - ELSEWHERE <= known


def test_no_two_forms_have_one_schema() -> None:
    names = [*(one.name for one in schemas()), *map(of_analysis, ON_PAGES_ALONE)]
    assert len(names) == len(set(names))


def test_every_link_leads_to_a_part_of_the_page(made: str) -> None:
    headings = {page._anchor(words) for words in re.findall(r"^#+ (.+)$", made, flags=re.MULTILINE)}
    links = set(re.findall(r"\]\(#([^)]+)\)", made))
    assert len(links) > 40
    assert links <= headings


def test_comments_of_fields_are_their_meaning(made: str) -> None:
    trace = made.split("## tautochrone.trace/1\n")[1].split("\n## ")[0]
    assert "| `imbalance` | number or null | the busiest thread's time over the mean |" in trace
    assert "| `threads` | list of [ThreadRecord](#threadrecord) |" in trace


def test_the_head_of_a_store_has_its_form_and_json_begins_with_its_schema(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    compared({"a": "seconds 1.0", "b": "seconds 0.8"}, output=tmp_path / "results")
    first = json.loads((tmp_path / "results" / "rows.jsonl").read_text().splitlines()[0])
    head = {
        name: value for name, value in first.items() if name in of_executables.StoreHead.__struct_fields__
    }
    msgspec.convert(head, of_executables.StoreHead)
    assert main(["list", str(tmp_path), "--json"]) == 0
    assert capsys.readouterr().out.startswith('{\n "schema": "tautochrone.list/1",\n')
