"""The collective study end to end on launches that follow a model: plan, refinement, sentences, report."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from page_content import embedded, visible
from study_collective_fakes import MODELS, laboratory, request, smooth
from study_fakes import machine
from tautochrone.errors import TautoError
from tautochrone.results.compare import compare_results
from tautochrone.results.store import Store
from tautochrone.studies.collective.study import Collective


def test_verdict_comes_first_with_the_better_mpi(tmp_path: Path) -> None:
    analysis = Collective.measure(request(tmp_path), laboratory().services)
    first = analysis.verdict_sentences[0]
    assert first.startswith("On this machine, with 2 ranks on 2 CPUs, tautochrone’s all_reduce takes ")
    assert "less time" in first
    assert "the better MPI" in first
    assert "12 launches" in first


def test_steps_peaks_and_guidelines_are_named_in_words(tmp_path: Path) -> None:
    analysis = Collective.measure(request(tmp_path), laboratory().services)
    said = " ".join(analysis.verdict_sentences)
    assert re.search(r"Open MPI: all_reduce has \d steps? up", said)
    assert "takes longer (up to" in said
    assert "reduce and broadcast" in said
    assert "tautochrone: all_reduce and all_gather have neither a step nor a peak" in said
    assert any(
        re.match(r"Open MPI, all_reduce: steps up by a factor of 1\.\d\d .* between 511 and 512 words", one)
        for one in analysis.remarks
    )
    assert any("MPICH, all_reduce: steps up" in one and "2,048 words" in one for one in analysis.remarks)
    assert not any(one.startswith("tautochrone") for one in analysis.remarks)


def test_lengths_are_refined_where_a_curve_steps(tmp_path: Path) -> None:
    def steps_at_300(operation: str, words: int) -> float:
        return smooth(operation, words) * (1.8 if words >= 300 else 1.0)

    models = {**MODELS, "openmpi": steps_at_300}
    analysis = Collective.measure(request(tmp_path), laboratory(models=models).services)
    assert any(256 < words < 511 for words in analysis.refined_words)
    curve = next(one for one in analysis.curves if one.runtime == "openmpi" and one.operation == "all_reduce")
    (step,) = (one for one in curve.steps if one.factor > 1)
    assert step.below_words < 300 <= step.above_words
    assert step.above_words / step.below_words < 1.3


def test_smooth_libraries_need_no_refinement(tmp_path: Path) -> None:
    lab = laboratory(models=dict.fromkeys(MODELS, smooth))
    analysis = Collective.measure(request(tmp_path), lab.services)
    assert (analysis.refined_words, analysis.remarks) == ((), ())
    assert "no difference was resolved" in analysis.verdict_sentences[0]


def test_without_any_mpi_the_sentence_says_so(tmp_path: Path) -> None:
    lab = laboratory(absent=("openmpi", "mpich", "intelmpi"))
    analysis = Collective.measure(request(tmp_path), lab.services)
    assert "no MPI was measured beside tautochrone" in analysis.verdict_sentences[0]


def test_library_that_fails_is_left_out_and_named(tmp_path: Path) -> None:
    lab = laboratory(errors={"mpich": "failed"})
    analysis = Collective.measure(request(tmp_path, report=True), lab.services)
    assert {one.runtime for one in analysis.curves} == {"openmpi", "tautochrone"}
    assert analysis.failed == ("mpich: it was told to end with failed",)
    assert "it was told to end with failed" in visible((tmp_path / "report.html").read_text())


def test_settings_are_pasted_only_where_they_were_measured_better(tmp_path: Path) -> None:
    for quick in (True, False):
        no_gain = Collective.measure(request(tmp_path / str(quick), quick=quick), laboratory().services)
        assert no_gain.settings_to_paste == ()
    lab = laboratory(faster={"eager 64 KiB": 0.8})
    gain = Collective.measure(request(tmp_path / "c", quick=False), lab.services)
    (settings,) = gain.settings_to_paste
    assert settings.label == "Open MPI, eager 64 KiB"
    assert "export OMPI_MCA_btl_vader_eager_limit=65536" in settings.text
    assert re.search("(19|20|21) % less time", settings.why)


def test_settings_reach_the_process(tmp_path: Path) -> None:
    lab = laboratory()
    Collective.measure(request(tmp_path, quick=False), lab.services)
    environments = {one.name: one.environment for one in lab.executor.configurations}
    assert environments["openmpi, eager 64 KiB, sweep"]["OMPI_MCA_btl_vader_eager_limit"] == "65536"
    assert "OMPI_MCA_btl_vader_eager_limit" not in environments["openmpi, sweep"]


def test_rounds_are_interleaved_and_shuffled(tmp_path: Path) -> None:
    lab = laboratory()
    Collective.measure(request(tmp_path), lab.services)
    sweep = [name for name in lab.executor.ran if name.endswith("sweep")]
    rounds = [sweep[place : place + 3] for place in range(0, len(sweep), 3)]
    assert all(sorted(one) == sorted(rounds[0]) for one in rounds)
    assert len({tuple(one) for one in rounds}) > 1


@pytest.mark.parametrize("at", [5, 40])
def test_an_interrupted_study_goes_on_with_the_same_lengths(tmp_path: Path, at: int) -> None:
    whole = laboratory()
    expected = Collective.measure(request(tmp_path / "whole"), whole.services)
    with pytest.raises(KeyboardInterrupt):
        Collective.measure(request(tmp_path / "cut"), laboratory(interrupt_at=at).services)
    rest = laboratory()
    found = Collective.measure(request(tmp_path / "cut"), rest.services)
    assert len(rest.executor.ran) + at == pytest.approx(len(whole.executor.ran), abs=3)
    assert {len(one.points) for one in found.curves} == {len(one.points) for one in expected.curves}


def test_two_ranks_are_needed_and_may_share_a_cpu(tmp_path: Path) -> None:
    with pytest.raises(TautoError, match="only 1 CPU may be used here"):
        Collective.measure(request(tmp_path / "one"), laboratory(machine=machine(1)).services)
    with pytest.raises(TautoError, match="--ranks 9 is more than 4 on each of the 2 CPUs"):
        Collective.measure(request(tmp_path / "crowd", ranks=9), laboratory().services)
    with pytest.raises(TautoError, match="a collective needs two members"):
        Collective.measure(request(tmp_path / "single", ranks=1), laboratory().services)
    lab = laboratory(machine=machine(1))
    analysis = Collective.measure(request(tmp_path / "two", ranks=2), lab.services)
    assert "with 2 ranks on 1 CPU" in analysis.verdict_sentences[0]


def test_published_claim_is_beside_what_was_found(tmp_path: Path) -> None:
    (claim,) = Collective.measure(request(tmp_path), laboratory().services).claims
    assert (claim.id, claim.holds) == ("N4", None)
    assert "Open MPI all_reduce: steps +" in claim.ours
    assert "2 ranks are not 16" in claim.note


def test_report_has_its_parts_in_order(tmp_path: Path) -> None:
    Collective.measure(request(tmp_path, report=True), laboratory().services)
    html = (tmp_path / "report.html").read_text()
    ids = re.findall(r'<(?:section|figure|h2) id="([a-z-]+)"', html)
    charts = [f"chart-{name}" for name in ("allreduce", "allgather", "ratio", "pairs")]
    after = ["findings", "segments", "configurations", "method", "machine"]
    assert ids == ["sentences", "overview", "charts", *charts, *after]
    tables = {"all_reduce_points", "all_reduce_lines", "all_gather_steps", "ratios", "pairs"}
    assert tables <= embedded(html)["tables"].keys()


def test_two_libraries_are_compared_in_pairs(tmp_path: Path) -> None:
    Collective.measure(request(tmp_path), laboratory().services)
    sides = (f"{tmp_path}@library={name},part=sweep" for name in ("openmpi", "tautochrone"))
    report = compare_results(*sides)
    assert report.paired
    assert report.lines[0].comparison.verdict == "faster"


def test_rows_hold_every_point(tmp_path: Path) -> None:
    Collective.measure(request(tmp_path), laboratory().services)
    with Store.read(tmp_path) as store:
        row = store.rows()[0]
    assert row.config["part"] == "sweep"
    assert len(row.detail["points"]) > 3 * 20
    assert row.check == {"passed": True, "wrong_repetitions": 0}
