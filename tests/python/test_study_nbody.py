"""The nbody study end to end on blocks that follow the model: sentences, crossings, forecasts, report."""

from __future__ import annotations

import json
import math
import re
import shutil
from pathlib import Path

import pytest
from msgspec.structs import replace

from page_content import embedded, visible
from study_fakes import machine
from study_nbody_fakes import laboratory, model_of, model_record, request
from tautochrone.cli.report import report_again
from tautochrone.errors import TautoError
from tautochrone.results.context import NotMeasured
from tautochrone.studies.nbody import animation, page, sentences
from tautochrone.studies.nbody.configurations import end_time
from tautochrone.studies.nbody.findings import Rectangle
from tautochrone.studies.nbody.model import ALONE, Scheme, at, from_record, schemes_of
from tautochrone.studies.nbody.runs import crossing_of_round
from tautochrone.studies.nbody.study import Nbody, check_threads, parse_particles


def test_verdict_comes_first_with_the_speed_up_and_the_best_other_engine(tmp_path: Path) -> None:
    analysis = Nbody.measure(request(tmp_path), laboratory().services)
    first, *others = analysis.verdict_sentences
    assert re.match(
        r"On this machine, 2 members move 1,024 particles \(.* a block, energy error 3\.0e-09\) "
        r"1\.\d\d times",
        first,
    )
    assert "one core with tautochrone" in first
    against = "Against the fastest way of all other engines, 256 particles:"
    assert any(one.startswith(against) for one in others)
    assert any("less time" in one and "1,024 particles" in one for one in others)


def test_every_engine_and_scheme_is_measured_once_a_round(tmp_path: Path) -> None:
    lab = laboratory()
    Nbody.measure(request(tmp_path, particles=(256,)), lab.services)
    wanted = {
        "serial", "serial, order 6", "tautochrone auto", "tautochrone auto, order 6", "tautochrone i",
        "tautochrone j", "libgomp loops-i", "libgomp loops-j", "libgomp region-i", "libgomp region-j",
        "openmpi i", "openmpi j", "mpich i", "mpich j",
    }  # fmt: skip
    names = {name.removesuffix(", 256 particles") for name in lab.executor.ran}
    assert wanted < names
    assert all(lab.executor.ran.count(name) == 8 for name in set(lab.executor.ran))
    # Two members form no rectangle; nobody shares when all do all.
    assert not any("grid" in name or "tautochrone serial" in name for name in names)
    command = next(one for one in lab.executor.commands if "region-j" in one)
    assert command[command.index("--particles") + 1] == "256"
    assert command[command.index("--cpus") + 1] == "0,1"


def refused_ways(prepared: Nbody) -> list[NotMeasured]:
    """The ways to share a block that the members do not have, without peers that are not installed."""
    return [one for one in prepared.left_out if one.what.endswith(")")]


def test_four_members_try_the_rectangle(tmp_path: Path) -> None:
    lab = laboratory(machine=machine(4))
    prepared = Nbody(request(tmp_path, particles=(256,)), lab.services)
    schemes = {one.schedule for one in prepared.candidates if one.peer == "tautochrone"}
    assert schemes == {"auto", "i", "j", "grid"}
    assert {len(one.placement.cpus) for one in prepared.candidates} == {1, 4}
    assert refused_ways(prepared) == []


def test_four_members_are_two_processes_of_two_threads_as_well(tmp_path: Path) -> None:
    lab = laboratory(machine=machine(4))
    analysis = Nbody.measure(request(tmp_path, particles=(256,), report=True), lab.services)
    hybrid = [one for one in lab.executor.commands if "--threads-per-rank" in one]
    command = hybrid[0]
    assert command[command.index("--threads-per-rank") + 1] == "2"
    assert command[command.index("--threads") + 1] == "4"
    plain = [name for name in lab.executor.ran if "hybrid" not in name]
    assert len(plain) + len(hybrid) == len(lab.executor.ran)
    schemes = {one.scheme for one in analysis.curves if one.runtime == "openmpi-hybrid"}
    assert schemes == {"i", "j", "grid", "auto"}
    assert {one.runtime for one in analysis.crossings} >= {"openmpi", "openmpi-hybrid", "mpich-hybrid"}
    assert not any("grid" in one.what or "hybrid" in one.what for one in analysis.not_measured)
    written = (tmp_path / "report.html").read_text()
    views = {(one["runtime"], one["view"]) for one in page.parts(analysis).tables["blocks"]}
    assert {("openmpi-hybrid", "both"), ("openmpi-hybrid", "chosen"), ("mpich", "both")} <= views
    assert "Open MPI and threads" in visible(written)


@pytest.mark.parametrize(("members", "missing"), [(2, 2), (3, 2), (4, 0), (5, 2), (6, 0), (7, 2), (9, 1)])
def test_schemes_that_a_number_of_members_rules_out_are_reported(
    tmp_path: Path, members: int, missing: int
) -> None:
    lab = laboratory(machine=machine(members))
    prepared = Nbody(request(tmp_path, particles=(256,)), lab.services)
    assert len(refused_ways(prepared)) == missing
    schemes = {one.schedule for one in prepared.candidates}
    assert ("grid" in schemes) is not any("(grid)" in one.what for one in refused_ways(prepared))
    hybrids = {one.peer for one in prepared.candidates if one.threads_per_rank > 1}
    assert bool(hybrids) is not any("(hybrid)" in one.what for one in refused_ways(prepared))


def test_two_members_have_no_rectangle_and_the_report_says_why(tmp_path: Path) -> None:
    Nbody.measure(request(tmp_path, particles=(256,), report=True), laboratory().services)
    words = visible((tmp_path / "report.html").read_text())
    assert "1 by 2 is sharing the sources, 2 by 1 sharing the targets" in words
    assert "2 members cannot be 2 processes with the same number of threads" in words


def test_every_engine_and_scheme_is_drawn_with_what_the_model_expected(tmp_path: Path) -> None:
    lab = laboratory(machine=machine(4))
    analysis = Nbody.measure(request(tmp_path, particles=(1024,)), lab.services)
    blocks = page.parts(analysis).tables["blocks"]
    drawn = {one["configuration"] for one in blocks}
    usual = {one.label for one in analysis.curves if (one.order, one.wait) == (4, "default")}
    assert drawn == usual == {one["configuration"] for one in page.parts(analysis).tables["models"]}
    # One line a colour in a view.
    for view in {one["view"] for one in blocks}:
        here = {(one["runtime"], one["configuration"]) for one in blocks if one["view"] == view}
        assert len({runtime for runtime, _ in here}) == len(here)


def test_openmp_is_modelled_as_threads_that_share_the_particles(tmp_path: Path) -> None:
    analysis = Nbody.measure(request(tmp_path, particles=(1024,)), laboratory().services)
    (loops,) = (one for one in analysis.curves if one.label == "libgomp loops-i")
    few, many = loops.points[0], loops.points[-1]
    model = from_record(model_record(0.0, members=1), 1024)
    forks = few.shared_share * few.seconds

    def shared(active: float, extra: float) -> float:
        return model.seconds_on_shared(active, 2, extra, by_sources=False)

    assert few.predicted == pytest.approx(shared(few.active, forks), rel=0.03)
    grown = shared(many.active, 0.0) - shared(few.active, 0.0)
    assert many.predicted - few.predicted == pytest.approx(grown)


def test_every_speed_has_its_energy_error(tmp_path: Path) -> None:
    analysis = Nbody.measure(request(tmp_path), laboratory().services)
    for sentence in analysis.verdict_sentences:
        if " times" in sentence or "less time" in sentence:
            assert "energy error" in sentence
            assert "e-09" in sentence or "e-10" in sentence
    assert all(one.energy_error for one in (*analysis.curves, *analysis.forecasts))
    for name in ("blocks", "speeds", "forecasts", "measured"):
        assert all("e-" in str(one["energy"]) for one in page.parts(analysis).tables[name])


def test_crossing_lies_where_the_model_puts_it(tmp_path: Path) -> None:
    analysis = Nbody.measure(request(tmp_path, particles=(1024,)), laboratory().services)
    (ours,) = (one for one in analysis.crossings if one.runtime == "tautochrone")
    expected = model_of("tautochrone", 1024).crossing(2)
    assert ours.low <= ours.active <= (ours.high or 0)
    assert abs(math.log(ours.active / expected)) < math.log(2)
    assert {one.runtime for one in analysis.crossings} >= {"tautochrone", "libgomp", "openmpi", "mpich"}


needs_smpi = pytest.mark.skipif(shutil.which("smpirun") is None, reason="SimGrid is not here")


@pytest.mark.timed
@needs_smpi
def test_sixteen_ranks_are_simulated_with_the_measured_costs_of_one_core_and_two_ranks(
    tmp_path: Path,
) -> None:
    lab = laboratory(illustrations=True)
    analysis = Nbody.measure(request(tmp_path, particles=(256,), report=True), lab.services)
    assert [one.library for one in analysis.simulated] == ["ompi", "mpich", "mvapich2"]
    for one in analysis.simulated:
        assert (one.particles, one.ranks) == (256, 16)
        assert set(one.speed_up_by_scheme) == {"i", "j", "grid", "auto"}
        # Messages of 2 us leave little of 16 cores for blocks of 256 particles.
        assert 0.5 < max(one.speed_up_by_scheme.values()) < 8.0
        assert 0.0 < one.exchange_share < 1.0
    assert any("simulated by SMPI" in one for one in analysis.verdict_sentences)
    assert [(one.ranks, one.slices, one.same_bits) for one in analysis.rectangles] == [
        (4, 2, True),
        (9, 3, True),
    ]
    assert any("(grid), 4 and 9 ranks" in one for one in analysis.verdict_sentences)
    page = visible((tmp_path / "report.html").read_text(encoding="utf-8"))
    assert "What 16 ranks of MPI would do" in page
    assert "Targets and sources shared at once, by few ranks" in page
    # Written again, the same without simulating.
    (tmp_path / "report.html").unlink()
    report_again(tmp_path)
    assert "What 16 ranks of MPI would do" in (tmp_path / "report.html").read_text(encoding="utf-8")


def test_rectangle_of_ranks_with_other_bits_than_its_slices_is_said() -> None:
    right = Rectangle(ranks=4, slices=2, particles=256, speed_up=2.0, energy_error=1e-9, same_bits=True)
    wrong = replace(right, ranks=9, slices=3, same_bits=False)
    (said,) = sentences.of_rectangles([right, wrong])
    assert "but 9 end with other bits than as many slices" in said
    (said,) = sentences.of_rectangles([right])
    assert "and end with the bits of as many slices" in said


def test_without_an_mpi_there_is_nothing_to_simulate_and_the_report_says_so(tmp_path: Path) -> None:
    lab = laboratory(illustrations=True, absent=("openmpi", "mpich", "intelmpi"))
    analysis = Nbody.measure(request(tmp_path, particles=(256,)), lab.services)
    assert analysis.simulated == ()
    (missing,) = (one for one in analysis.not_measured if "SMPI" in one.what)
    assert "no MPI was measured" in missing.why


def test_without_simgrid_the_report_says_what_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    lab = laboratory(illustrations=True)
    analysis = Nbody.measure(request(tmp_path / "out", particles=(256,)), lab.services)
    assert analysis.simulated == ()
    (missing,) = (one for one in analysis.not_measured if "SMPI" in one.what)
    assert "smpirun was not found" in missing.why
    assert "libsimgrid-dev" in missing.remedy


def test_forecast_is_the_models_and_grows_with_the_cores(tmp_path: Path) -> None:
    analysis = Nbody.measure(request(tmp_path, particles=(1024,)), laboratory().services)
    found = {one.members: one for one in analysis.forecasts}
    assert list(found) == [2, 4, 8, 16, 32]
    speeds = [one.speed_up_of_many for one in found.values()]
    assert speeds == sorted(speeds)
    ((_, measured),) = analysis.measured_speed_ups
    assert found[2].speed_up == pytest.approx(1 / measured.value, rel=0.03)
    assert any("The model, fitted here, expects" in one for one in analysis.verdict_sentences)


def test_claims_are_measured_or_modelled_and_never_invented(tmp_path: Path) -> None:
    analysis = Nbody.measure(request(tmp_path), laboratory().services)
    found = {one.id: one for one in analysis.claims}
    assert list(found) == ["N1", "N2", "N3", "N5", "N6", "N9"]
    # Two CPUs do not decide what forks cost on many, and a model decides nothing.
    assert [found[id].holds for id in ("N1", "N2", "N3", "N5")] == [None, True, True, None]
    alone = Nbody.measure(request(tmp_path / "alone", peers=("none",)), laboratory().services)
    assert [one.id for one in alone.claims] == ["N3", "N5", "N6", "N9"]


def test_forks_are_reported_for_any_installed_openmp(tmp_path: Path) -> None:
    for absent, named in (("libomp", "OpenMP, libgomp"), ("libgomp", "OpenMP, libomp")):
        lab = laboratory(absent=("intelmpi", absent))
        analysis = Nbody.measure(request(tmp_path / absent, particles=(256,)), lab.services)
        (forks,) = (one for one in analysis.verdict_sentences if one.startswith("Ordinary OpenMP loops"))
        assert named in forks


def test_run_that_ends_with_other_bits_is_an_error_and_its_claim_fails(tmp_path: Path) -> None:
    lab = laboratory(wrong={"libgomp region-i, 256": "f" * 16, "mpich j, 256": "e" * 16})
    analysis = Nbody.measure(request(tmp_path, particles=(256,), report=True), lab.services)
    assert not any(one.label in ("libgomp region-i", "mpich j") and one.points for one in analysis.curves)
    assert any("ended with other bits than one core" in one for one in analysis.failed)
    found = {one.id: one for one in analysis.claims}
    # libomp has both ways still; that one library's ended with other bits is enough.
    assert found["N2"].holds is False
    assert found["N3"].holds is False
    assert "ended with other bits" in visible((tmp_path / "report.html").read_text())


def test_rectangle_that_ends_with_other_bits_than_other_engines_is_an_error(tmp_path: Path) -> None:
    lab = laboratory(machine=machine(4), wrong={"mpich grid, 256": "f" * 16, "mpich-hybrid j, 256": "e" * 16})
    analysis = Nbody.measure(request(tmp_path, particles=(256,)), lab.services)
    wrong = [one for one in analysis.failed if "ended with other bits than the others" in one]
    # The hybrid's threads add up first: its bits are its own, and there it is held against the other hybrid.
    assert len(wrong) == 2
    assert any("grid" in one for one in wrong)
    assert any("hybrid j" in one for one in wrong)


def test_report_has_every_figure(tmp_path: Path) -> None:
    analysis = Nbody.measure(request(tmp_path, report=True), laboratory().services)
    page = (tmp_path / "report.html").read_text()
    data = embedded(page)
    assert set(data["charts"]) >= {
        "blocks", "sharing", "schemes", "speedup", "forecast", "counts", "accuracy",
    }  # fmt: skip
    words = visible(page)
    assert "Sixteen such cores would give" in words
    assert "sharing the targets (i)" in words
    crossings = [one for one in analysis.crossings if one.low is not None and one.high is not None]
    assert crossings
    assert all(f"{one.low:.0f} to {one.high:.0f}" in words for one in crossings)
    (bars,) = (one["encoding"] for one in data["charts"]["schemes"]["layer"] if "x2" in one["encoding"])
    assert (bars["x"]["field"], bars["x2"]["field"]) == ("low", "high")


# -- the model --


def test_model_agrees_with_the_runners() -> None:
    model = from_record(model_record(1e-6), 1000)
    seconds = 2e-7 + 1000 * 1e-9 + 10 * 8e-9 + 1000 * 3e-9 + 10 * (2e-8 + 1000 * 1e-9) + 10 * 3e-8
    assert model.seconds(10, ALONE) == pytest.approx(seconds)
    words = 13 * 10
    gather = 1e-6 + 1e-5 * (words - 2) / (20_000 - 2)
    half = 2e-7 + 1000 * 1e-9 + 10 * 8e-9 + 1000 * 3e-9 + 5 * (2e-8 + 1000 * 1e-9) + 5 * 3e-8
    assert model.seconds(10, Scheme(2, 1)) == pytest.approx(half + gather)


def test_collectives_on_more_members_have_more_levels_and_fetch_more() -> None:
    model = from_record(model_record(1e-6), 1000)
    assert model.collective(model.gather, 2, 16) == pytest.approx(4e-6)
    transfer = at(model.gather, 20_000) - 1e-6
    assert model.collective(model.gather, 20_000, 16) == pytest.approx(4e-6 + transfer * (15 / 16) / (1 / 2))


def test_fewer_members_than_all_share_where_each_part_is_expensive() -> None:
    record = model_record(1e-6, members=16)
    record["gather"] = [[2, 16e-6], [20_000, 16e-6]]
    record["reduce"] = [[2, 1.0], [20_000, 1.0]]
    record["source_seconds"] = 0.0
    assert from_record(record, 1000).cheapest(60, 16)[0] == Scheme(16, 1)
    # A microsecond a part, as much as a target.
    record["gather_one"] = [[2, 1e-6], [20_000, 1e-6]]
    model = from_record(record, 1000)
    assert model.gathered(100, 1, 16) == pytest.approx(1e-6)
    assert model.gathered(100, 16, 16) == pytest.approx(16e-6)
    assert model.gathered(100, 4, 16) == pytest.approx(4e-6)
    assert model.cheapest(60, 16)[0] == Scheme(8, 1)
    assert model.seconds(60, Scheme(8, 1), 16) < model.seconds(60, Scheme(16, 1))


def test_owners_of_parts_share_in_sending_them() -> None:
    record = model_record(1e-6, members=16)
    record["gather"] = [[2, 1e-6], [20_000, 1e-6]]
    record["gather_one"] = [[2, 16e-6], [20_000, 16e-6]]
    model = from_record(record, 1000)
    found = [model.gathered(100, parts, 16) for parts in (1, 2, 4, 8, 16)]
    assert found == pytest.approx([16e-6, 8e-6, 4e-6, 2e-6, 1e-6])


def test_one_core_has_no_collective_to_predict_with() -> None:
    model = from_record(model_record(1e-6, members=1), 100)
    assert model.seconds(5, ALONE) < 1.0
    assert model.collective(model.gather, 10, 2) == math.inf


def test_rectangles_of_members() -> None:
    assert schemes_of(1) == [ALONE]
    two = [Scheme(2, 1), Scheme(1, 2)]
    four = [Scheme(4, 1), Scheme(2, 2), Scheme(1, 4)]
    assert schemes_of(2) == [ALONE, *two]
    assert schemes_of(4) == [ALONE, *two, *four]
    assert schemes_of(6) == [ALONE, *two, *four, Scheme(6, 1), Scheme(3, 2), Scheme(2, 3), Scheme(1, 6)]


@pytest.mark.parametrize(
    ("points", "expected"),
    [
        ([], None),
        ([(10.0, 0.1), (100.0, 0.2)], None),
        ([(10.0, -0.1), (100.0, -0.2)], 10.0),
        ([(10.0, 0.1), (100.0, -0.1)], math.sqrt(1000)),
        ([(1.0, 0.1), (10.0, -0.1), (100.0, 0.1), (1000.0, -0.3)], 100 * 10**0.25),
    ],
)
def test_crossing_is_the_last_one(points: list[tuple[float, float]], expected: float | None) -> None:
    assert crossing_of_round(points) == (None if expected is None else pytest.approx(expected))


def test_larger_clusters_are_followed_for_less_time_but_never_too_little() -> None:
    times = [end_time(count, quick=False) for count in (256, 1024, 4096, 16384)]
    assert times == sorted(times, reverse=True)
    assert times[0] == 0.5
    assert times[-1] == 1 / 32


# -- bad input --


def test_particles_are_parsed_or_refused_with_a_reason() -> None:
    assert parse_particles("1024,256") == (256, 1024)
    for text in ("0", "many", "10", "1000000", "256,,512"):
        with pytest.raises(TautoError):
            parse_particles(text)


def test_more_members_than_cpus_are_refused() -> None:
    assert check_threads(None, 2) == 2
    for threads in (3, 1, 0):
        with pytest.raises(TautoError, match="two members or more share a block, each with a CPU"):
            check_threads(threads, 2)
    with pytest.raises(TautoError, match="only 1 CPU may be used here"):
        check_threads(None, 1)


def test_picture_that_cannot_be_written_is_refused_before_the_first_run(tmp_path: Path) -> None:
    lab = laboratory()
    with pytest.raises(TautoError, match="no folder that can be written to"):
        Nbody.measure(request(tmp_path, animation=tmp_path / "nowhere" / "cluster.html"), lab.services)
    assert lab.executor.ran == []


# -- the picture --


def test_picture_holds_every_frame_and_nothing_from_elsewhere(tmp_path: Path) -> None:
    frames = [
        {"time": 0.0, "x": [0.0, 1.0], "y": [0.0, -9.0], "steps": [0, 0]},
        {"time": 0.5, "x": [0.1, 0.9], "y": [0.0, 0.0], "steps": [300, 1]},
    ]
    drawn = animation.render({"particles": 2, "blocks": 1234, "frames": frames})
    assert "1,234 blocks" in drawn
    assert "://" not in drawn
    assert json.loads(re.findall(r"times = (\[.*?\])", drawn)[0]) == [0.0, 0.5]
    assert len(drawn) < 10_000


def test_lines_to_paste_name_commands_that_are_there(tmp_path: Path) -> None:
    analysis = Nbody.measure(request(tmp_path), laboratory().services)
    shell = [one.text.split() for one in analysis.settings_to_paste if one.language == "shell"]
    assert shell
    assert all(words[:4] == ["tauto", "exec", "nbody", "--"] for words in shell)
