"""What the report says, without a browser: content, escaping, empty and broken input."""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Iterable
from itertools import pairwise, product
from pathlib import Path
from typing import Any

import msgspec
import pytest

import sample_rows
from measuring import changed
from page_content import embedded, visible
from tautochrone import report, text
from tautochrone.errors import TautoError
from tautochrone.measuring.sampler import LoadSample
from tautochrone.options import format_cpus
from tautochrone.report import charts as page_charts
from tautochrone.report import drawing, palette
from tautochrone.results.states import states_of
from tautochrone.studies.loop import page as loop_page
from tautochrone.studies.loop.analysis import analyse
from tautochrone.studies.loop.findings import CpuLoad, LoopAnalysis, LoopContext
from tautochrone.verdicts import Ratio

ROWS = tuple(sample_rows.loop_rows())
ANALYSIS = sample_rows.loop_analysis(ROWS)
CHARTS = ("time", "speedup", "ratio", "chunk", "bandwidth", "load")


def written(tmp_path: Path, rows: Any = ROWS, analysis: LoopAnalysis = ANALYSIS, **kind: str) -> str:
    path = report.write(rows, sample_rows.machine(**kind), tmp_path / "report.html", analysis, study="loop")
    return path.read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def html(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The page of the sample rows."""
    return written(tmp_path_factory.mktemp("page"))


def test_ten_series_that_nobody_has_named_have_ten_colours() -> None:
    found = palette.styles([f"series {number}" for number in range(10)])
    assert len({one.light for one in found}) == len({one.dark for one in found}) == 10


def test_verdict_comes_first_and_large(html: str) -> None:
    body = html[html.index("<body>") :]
    heading = re.search(r"<h1>(.*?)</h1>", body)
    assert heading
    assert heading.group(1).startswith("On this machine")
    assert body.index("<h1>") < body.index("<h2>") < body.index("<figure")


def test_parts_come_in_the_order_of_reading(html: str) -> None:
    charts = [f"chart-{name}" for name in CHARTS]
    parts = ["sentences", "overview", "charts", *charts, "settings", "configurations", "method", "machine"]
    assert re.findall(r'<(?:section|figure) id="([a-z-]+)"', html) == parts


def test_nothing_in_the_page_points_to_a_network(html: str) -> None:
    rest = re.sub(r'<script type="application/gzip".*?</script>', "", html, flags=re.DOTALL)
    assert re.findall(r"(?:src|href)=[\"']?(?!#|data:)[^\s>\"']+", rest) == []
    assert "default-src 'none'" in rest
    assert "url(" not in rest


def test_every_ratio_has_its_interval_beside_it(html: str) -> None:
    table = html.split('aria-label="Ratios as a table"')[1].split("</table>")[0]
    ratios = re.findall(r'<td class="number">(0\.\d\d|1\.\d\d)([^<]*)</td>', table)
    assert len(ratios) > 50
    assert all(re.fullmatch(r"\d* \(\d\.\d+ to \d\.\d+\)", interval) for _, interval in ratios)


def test_hostile_names_stay_text(tmp_path: Path) -> None:
    hostile = "</script><script>alert(1)</script>"
    rows = [changed(row, config=row.config | {"library": hostile, "runtime": hostile}) for row in ROWS[:200]]
    analysis = msgspec.structs.replace(
        sample_rows.loop_analysis(rows), verdict_sentences=(hostile,), miss_ratios_reason=hostile
    )
    machine = sample_rows.machine() | {"name": hostile}
    path = report.write(rows, machine, tmp_path / "r.html", analysis, study=hostile)
    html = path.read_text(encoding="utf-8")
    assert hostile not in html
    assert "<script>alert" not in html
    assert hostile in embedded(html)["names"]


def test_no_rows_is_an_error_that_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(TautoError, match="there are no rows") as caught:
        report.write([], sample_rows.machine(), tmp_path / "r.html", ANALYSIS, study="loop")
    assert "tauto study loop" in caught.value.remedy
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_cannot_be_written_is_an_error_by_name(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(TautoError, match="cannot be written"):
        report.write(ROWS[:30], sample_rows.machine(), tmp_path / "file" / "r.html", ANALYSIS, study="loop")


def test_an_old_report_survives_when_the_new_one_cannot_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "report.html"
    path.write_text("old")

    def disk_full(*_: object, **__: object) -> None:
        raise OSError(28, os.strerror(28))

    monkeypatch.setattr(os, "rename", disk_full)
    with pytest.raises(TautoError, match="No space left"):
        report.write(ROWS[:30], sample_rows.machine(), path, ANALYSIS, study="loop")
    assert path.read_text() == "old"
    assert [one.name for one in tmp_path.iterdir()] == ["report.html"]


def test_rows_that_all_failed_give_the_reasons_and_no_charts(tmp_path: Path) -> None:
    failed = {"seconds": None, "error": {"kind": "not_installed", "message": "libomp.so is not installed"}}
    rows = [changed(row, **failed) for row in ROWS[:44]]
    html = written(tmp_path, rows, analyse(rows, sample_rows.machine(), LoopContext()))
    assert "nothing can be recommended" in visible(html)
    assert "44 of 44 runs failed" in visible(html)
    assert "libomp.so is not installed" in visible(html)
    assert "<figure" not in html


def test_error_rows_never_win(html: str) -> None:
    (cell,) = (one for one in ANALYSIS.cells if one.size == 2000 and dict(one.emulated) == {"1": 2.0})
    assert [one.seconds for one in cell.configurations if one.runtime == "stdpar"] == [None]
    drawn = loop_page.parts(ANALYSIS).tables["times"]
    slowed = states_of(ANALYSIS.cells).index({"1": 2.0})
    assert not [r for r in drawn if (r["situation"], r["size"], r["runtime"]) == (slowed, 2000, "stdpar")]
    assert "10 of 2640 runs failed; they never win" in visible(html)


def test_too_few_rounds_are_not_measured_and_show_no_ratio(tmp_path: Path) -> None:
    rows = sample_rows.loop_rows(rounds=3)
    html = written(tmp_path, rows, sample_rows.loop_analysis(rows))
    assert "too few rounds" in json.dumps(embedded(html)["tables"])
    assert 'id="chart-ratio"' not in html
    assert 'id="overview"' not in html


def test_counters_that_are_missing_are_explained_with_the_remedy(html: str) -> None:
    words = visible(html)
    assert "No cache-miss ratios:" in words
    assert text.sentence(sample_rows.COUNTERS_REASON) in words
    assert sample_rows.COUNTERS_REMEDY in words


def test_counters_that_are_there_are_drawn(tmp_path: Path) -> None:
    whose = {"configuration": "libgomp pragma", "runtime": "libgomp", "emulated": {}}
    misses = tuple(
        {**whose, "size": size, "cache_miss_ratio": size / 10000, "llc_load_miss_ratio": None}
        for size in (500, 4000)
    )
    plain = msgspec.to_builtins(ANALYSIS) | {"miss_ratios": misses}
    html = written(tmp_path, analysis=msgspec.convert(plain, LoopAnalysis))
    assert "Cache misses reach 40 % at n = 4000" in visible(html)
    assert 'id="no-counters"' not in html


def test_says_how_many_cores_of_which_kind_ran(tmp_path: Path) -> None:
    rows = sample_rows.loop_rows("hybrid", sizes=(1000, 4000))
    html = written(tmp_path, rows, sample_rows.loop_analysis(rows, "hybrid"), kind="hybrid")
    words = visible(html)
    assert "8 P + 16 E cores" in words
    assert "0-23" in words
    assert html.count('class="core kind-P"') == 8
    assert html.count('class="core kind-E"') == 16


def test_emulation_is_labelled_wherever_it_was_used(html: str) -> None:
    assert html.count("CPU 1 made 4× slower (emulated)") > 8
    assert "emulated: CPU 1 2× and 4× slower" in visible(html)


def test_a_single_emulated_situation_keeps_its_caption(tmp_path: Path) -> None:
    rows = sample_rows.loop_rows(factors=(4,))
    html = written(tmp_path, rows, sample_rows.loop_analysis(rows))
    assert "<h3>CPU 1 made 4× slower (emulated)</h3>" in html


def test_the_same_rows_give_the_same_file(tmp_path: Path, html: str) -> None:
    assert written(tmp_path) == html


def test_analysis_survives_json() -> None:
    assert msgspec.json.decode(msgspec.json.encode(ANALYSIS), type=LoopAnalysis) == ANALYSIS


def test_unknown_runtimes_get_a_colour_that_is_not_made_from_their_name() -> None:
    styles = palette.styles(["tautochrone", "evil; } body { display: none", "libgomp"])
    assert [style.key for style in styles[:2]] == ["tautochrone", "libgomp"]
    assert styles[2].variable == "--runtime-other-0"


def test_unknown_runtimes_never_look_alike() -> None:
    found = palette.styles(f"series {number}" for number in range(32))
    assert len({(style.light, style.shape) for style in found}) == 32


def test_a_runtime_has_one_colour_whatever_else_is_in_the_study() -> None:
    alone = {style.key: style for style in palette.styles(["tbb"])}
    among = {style.key: style for style in palette.styles(["serial", "tbb", "libomp", "new"])}
    assert alone["tbb"] == among["tbb"]


def test_openmp_takes_the_colour_of_its_library() -> None:
    assert palette.runtime_key("openmp", "libomp") == "libomp"
    assert palette.runtime_key("openmp", "libgomp") == "libgomp"
    assert palette.runtime_key("openmp") == "libgomp"


def test_peers_are_drawn_at_their_best_and_ours_with_no_settings() -> None:
    cell = next(cell for cell in ANALYSIS.cells if cell.size == 4000)
    chosen = loop_page.best_of_runtime(cell)
    libgomp = [one.seconds for one in cell.configurations if one.runtime == "libgomp" and one.seconds]
    assert chosen["libgomp"].seconds == min(libgomp)
    assert chosen["tautochrone"].schedule == "adaptive"


def test_columns_keep_numbers_words_and_nothing_apart() -> None:
    stored = page_charts.columns(
        [{"a": 1, "b": "x", "c": None}, {"a": 0.123456789, "b": "x", "c": float("nan")}]
    )
    rows = [[1, [0], None], [0.12346, [0], None]]
    assert stored == {"names": ["a", "b", "c"], "words": ["x"], "rows": rows}


def drawn_load(runs: int, samples: Iterable[LoadSample]) -> Any:
    """What is drawn of the load of so many runs, which all had these samples."""
    run = CpuLoad(configuration="x", runtime="tbb", size=1, emulated={}, samples=tuple(samples))
    return loop_page.parts(msgspec.structs.replace(ANALYSIS, cpu_load=(run,) * runs)).tables["load"]


def test_load_of_many_runs_on_many_cpus_does_not_fill_the_page() -> None:
    steps = product(range(100), range(64))
    records = drawn_load(9, (LoadSample(cpu=cpu, seconds=0.1 * step, busy=1.0) for step, cpu in steps))
    assert {record["run"] for record in records} == set(range(9))
    assert 64 * 9 * 8 <= len(records) <= 8100


def test_load_is_averaged_to_a_bounded_number_of_intervals() -> None:
    steps = range(1, 10001)
    records = drawn_load(1, (LoadSample(cpu=0, seconds=0.01 * step, busy=step % 2) for step in steps))
    assert len(records) <= 80
    assert records[-1]["end"] == pytest.approx(100)
    assert all(record["busy"] == pytest.approx(0.5, abs=0.02) for record in records)


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (None, "not measured"),
        (0.0, "0 s"),
        (2.1e-3, "2.10 ms"),
        (9.996e-4, "1.00 ms"),
        (5e-10, "0.500 ns"),
        (12.0, "12.0 s"),
        (3600.0, "3600 s"),
    ],
)
def test_times_have_three_digits_and_a_unit(value: float | None, words: str) -> None:
    assert text.seconds(value) == words


NOTHING = Ratio(value=None, low=None, high=None, confidence=None, rounds=3, verdict="not measured")


def test_missing_numbers_are_never_zero() -> None:
    assert text.ratio(NOTHING) == text.percent(None) == text.binary_bytes(None) == "not measured"


def test_the_inverse_of_a_ratio_turns_its_interval_and_its_verdict() -> None:
    ratio = Ratio(value=0.5, low=0.4, high=0.625, confidence=0.99, rounds=8, verdict="faster")
    assert ratio.inverse() == Ratio(value=2.0, low=1.6, high=2.5, confidence=0.99, rounds=8, verdict="slower")
    assert ratio.inverse().inverse() == ratio
    assert NOTHING.inverse() == NOTHING


def test_an_interval_that_excludes_1_is_never_rounded_to_touch_it() -> None:
    def words(low: float, high: float, verdict: Any) -> str:
        middle = (low + high) / 2
        found = Ratio(value=middle, low=low, high=high, confidence=0.98, rounds=10, verdict=verdict)
        return text.ratio(found)

    assert words(0.990, 0.998, "faster") == "0.994 (0.990 to 0.998)"
    assert words(1.0002, 1.0004, "slower") == "1.0003 (1.0002 to 1.0004)"
    assert words(0.71, 0.73, "faster") == "0.72 (0.71 to 0.73)"
    assert words(0.999, 1.001, "no difference resolved") == "1.00 (1.00 to 1.00)"


def test_verdicts_are_counted_and_losses_are_not_hidden() -> None:
    def counted(*verdicts: str) -> str:
        ratio = {"value": 1.0, "low": 0.9, "high": 1.1, "confidence": 0.95, "rounds": 9}
        return page_charts.verdict_counts(
            msgspec.convert({**ratio, "verdict": one}, Ratio) for one in verdicts
        )

    assert counted("slower", "faster", "slower", "no difference resolved").split("; ") == [
        "faster than the best peer in 1 of 4 cases",
        "slower than the best peer in 2",
        "no difference resolved in 1",
    ]
    assert counted("not measured") == ""


def test_cpu_lists_and_core_counts_read_as_people_write_them() -> None:
    assert format_cpus([3, 1, 2, 8]) == "1-3,8"
    assert text.cores({"P": 8, "E": 16}) == "8 P + 16 E"
    assert text.cores({"core": 1}) == "1 core"
    assert text.cores({"P": 8, "E": 0}) == "8 P"


def test_charts_hold_no_data_of_their_own_beside_the_shared_tables() -> None:
    specifications = loop_page.parts(ANALYSIS).charts
    assert set(specifications) == set(CHARTS)
    assert all(len(json.dumps(specification)) < 8000 for specification in specifications.values())


def test_every_axis_of_a_number_has_a_title_with_what_it_shows() -> None:
    def axes(node: Any) -> Any:
        if isinstance(node, dict):
            for name in ("x", "y"):
                if name in node and "field" in node[name] and node[name].get("type") == "quantitative":
                    yield node[name]["axis"].get("title")
            for value in node.values():
                yield from axes(value)
        elif isinstance(node, list):
            for value in node:
                yield from axes(value)

    for name, specification in loop_page.parts(ANALYSIS).charts.items():
        titles = list(axes(specification))
        assert titles, name
        assert all(titles), name


@pytest.mark.parametrize(
    "every", [(0.07, 2.2), (0.94, 1.06), (1.0, 1.0), (0.9, 0.95), (1e-3, 50.0), (0.4, 1.05)]
)
def test_an_axis_of_ratios_has_its_1_and_ticks_that_do_not_touch(every: tuple[float, float]) -> None:
    ticks = drawing.ratio_ticks(every)
    low, high = min(*every, 1.0), max(*every, 1.0)
    assert 1.0 in ticks
    assert all(low <= tick <= high for tick in ticks)
    if high > low:
        steps = [math.log(after / before) / math.log(high / low) for before, after in pairwise(ticks)]
        assert len(ticks) >= 2
        assert all(step >= 0.15 for step in steps)


def test_the_chart_of_ratios_labels_its_1_in_each_study() -> None:
    (axis,) = found(loop_page.parts(ANALYSIS).charts["ratio"], "our time / their time")
    assert 1.0 in axis["values"]
    assert axis["labelOverlap"] is False


def found(node: Any, title: str) -> list[Any]:
    """The axes with that title, each once."""
    if isinstance(node, list):
        return [one for value in node for one in found(value, title)][:1]
    if not isinstance(node, dict):
        return []
    here = [node["axis"]] if isinstance(node.get("axis"), dict) and node["axis"].get("title") == title else []
    return [*here, *(one for value in node.values() for one in found(value, title))][:1]


def test_panels_of_one_size_share_their_axis_of_time() -> None:
    (axis,) = found(loop_page.parts(ANALYSIS).charts["chunk"], "time of one iteration")
    assert axis["tickCount"] == 5
    scales = re.findall(r"domainM(?:in|ax)", json.dumps(loop_page.parts(ANALYSIS).charts["chunk"]))
    assert scales


def test_every_kind_of_line_of_the_chunks_is_in_their_legend() -> None:
    odd = msgspec.structs.replace(ANALYSIS.chunk_series[0], schedule="simple")
    analysis = msgspec.structs.replace(ANALYSIS, chunk_series=(*ANALYSIS.chunk_series, odd))
    (figure,) = (one for one in loop_page.parts(analysis).figures if one.name == "chunk")
    assert ("dash-dotted", "simple") in figure.line_legend


def test_shares_far_above_the_memorys_have_a_logarithmic_axis() -> None:
    def logarithmic(factor: float) -> int:
        points = tuple(
            msgspec.structs.replace(one, triad_share=(one.triad_share or 1.0) * factor)
            for one in ANALYSIS.bandwidth
        )
        chart = loop_page.parts(msgspec.structs.replace(ANALYSIS, bandwidth=points)).charts["bandwidth"]
        return json.dumps(chart).count('"type": "log"')

    assert logarithmic(50.0) > logarithmic(0.01)
