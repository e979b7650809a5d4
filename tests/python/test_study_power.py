"""The power study from the request to the report, on a model of a machine that takes no time."""

from __future__ import annotations

import io
import itertools
from html import unescape
from pathlib import Path
from types import SimpleNamespace

import pytest

from page_content import embedded, visible
from study_fakes import machine
from study_power_fakes import (
    BUSY_WATTS,
    DRAW_SECONDS,
    EXTRA,
    IDLE_WATTS,
    JOB_SECONDS,
    MOVE_SECONDS,
    laboratory,
    request,
)
from tautochrone.errors import TautoError
from tautochrone.results.store import Store
from tautochrone.studies.power import study as power_study
from tautochrone.studies.power.configurations import balanced_passes
from tautochrone.studies.power.findings import JobCell, PowerAnalysis, SharedJob
from tautochrone.studies.power.study import Power, parse_ratios
from tautochrone.studies.request import Turn
from tautochrone.studies.services import Services


def job(analysis: PowerAnalysis, title: str) -> JobCell:
    return next(one for one in analysis.jobs if one.title == title)


def shared(analysis: PowerAnalysis, title: str, way: str) -> SharedJob:
    return next(one for one in job(analysis, title).shared if one.way == way)


class Powersave:
    """A machine whose frequency policy is shown."""

    def now(self) -> dict[str, str | None]:
        """One knob of two."""
        return {"governor": "powersave", "turbo": None}


def claim(analysis: PowerAnalysis, id: str) -> bool | None:
    return next(one.holds for one in analysis.claims if one.id == id)


def test_balanced_threads_gain_and_the_split_by_functions_loses_its_balance(tmp_path: Path) -> None:
    lab = laboratory()
    analysis = Power.measure(request(tmp_path), lab.services)
    for way in ("blocks", "files"):
        found = shared(analysis, "encryption, AES-256-GCM", way)
        assert found.speedup == pytest.approx(2 / (1 + EXTRA), rel=0.01)
        assert found.to_serial.verdict == "faster"
    unequal = shared(analysis, "physics, cost 4:1", "functional")
    expected = (5 * DRAW_SECONDS + MOVE_SECONDS) / (4 * DRAW_SECONDS + MOVE_SECONDS)
    assert unequal.speedup == pytest.approx(expected, rel=0.01)
    assert unequal.imbalance == pytest.approx(8 / 5, rel=0.02)
    assert shared(analysis, "physics, cost 4:1", "domain").speedup == pytest.approx(2 / (1 + EXTRA), rel=0.01)
    first, gains, second, third = analysis.verdict_sentences[:4]
    assert first == "On this machine 2 balanced threads are 1.98 times as fast as one."
    assert "ncryption, AES-256-GCM 1.98 times as fast as one thread (1.9" in gains
    assert "With both functions equally expensive" in second
    assert "4 times as expensive" in third
    assert lab.text.getvalue().startswith(first)


def test_video_is_shared_in_three_balanced_ways(tmp_path: Path) -> None:
    lab = laboratory()
    analysis = Power.measure(request(tmp_path, peers=("video", "together"), report=True), lab.services)
    assert [one.title for one in analysis.jobs] == ["video encoding, x264"]
    for way in ("frames", "slices", "clips"):
        found = shared(analysis, "video encoding, x264", way)
        assert found.speedup == pytest.approx(2 / (1 + EXTRA), rel=0.01)
    assert "Video encoding, x264 1.98 times as fast as one thread" in analysis.verdict_sentences[1]
    assert len(analysis.recommendations[0].rows) == 3
    assert analysis.pair == "video and video"
    page = visible((tmp_path / "report.html").read_text())
    for words in ("by frames", "by slices", "by clips"):
        assert words in page


def test_advice_names_the_thread_that_the_other_waits_for(tmp_path: Path) -> None:
    analysis = Power.measure(request(tmp_path), laboratory().services)
    (advice,) = analysis.imbalance_advice
    assert advice.startswith("physics, cost 4:1: Thread 0 (collides) worked 80")
    assert "imbalance 1.5" in advice or "imbalance 1.6" in advice
    assert any("Thread 0 (collides)" in one for one in analysis.verdict_sentences)


def test_each_affinity_has_an_interval_and_a_verdict(tmp_path: Path) -> None:
    pinning = {"pinned": 1.0, "one_pinned": 1.0, "same": 2.0}
    analysis = Power.measure(request(tmp_path), laboratory(pinning=pinning).services)
    setups = {one.name: one for one in analysis.setups}
    assert list(setups)[:3] == ["free", "pinned", "one_pinned"]
    for name in ("pinned", "one_pinned"):
        assert setups[name].to_free.verdict == "no difference resolved"
        assert setups[name].to_free.low is not None
    assert setups["same"].to_free.verdict == "slower"
    assert [one.job for one in setups["free"].programs] == ["encryption", "physics"]
    assert claim(analysis, "P5") is None  # the times are alike; what pinning costs was not metered
    assert analysis.recommendations[3].supported is True
    assert "2.00 times as long" in analysis.recommendations[3].here
    moved = Power.measure(request(tmp_path / "b"), laboratory(pinning={"pinned": 0.9}).services)
    assert claim(moved, "P5") is False
    assert moved.recommendations[3].supported is False


def test_claims_and_recommendations_follow_from_the_rows(tmp_path: Path) -> None:
    analysis = Power.measure(request(tmp_path), laboratory().services)
    found = [claim(analysis, id) for id in ("P1", "P2", "P3", "P4", "P7")]
    assert found == [True, None, None, None, True]
    assert [one.supported for one in analysis.recommendations] == [True, True, None, True]
    assert all(one.rows for one in analysis.recommendations)
    assert "shows no frequency policy" in analysis.recommendations[2].here


def test_a_dropping_clock_is_blamed_on_the_governor_only_if_there_is_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    without = Power.measure(request(tmp_path / "a"), laboratory(stretch=1.3).services)
    assert without.recommendations[2].supported is None
    assert "cannot be told here" in without.recommendations[2].here

    monkeypatch.setattr(power_study, "Knobs", Powersave)
    dropping = Power.measure(request(tmp_path / "b"), laboratory(stretch=1.3).services)
    assert dropping.recommendations[2].supported is True
    assert any("governor powersave" in row for row in dropping.recommendations[2].rows)
    steady = Power.measure(request(tmp_path / "c"), laboratory().services)
    assert steady.recommendations[2].supported is False


Under = dict[str, tuple[dict[str, str], float]]


def under_policies(folder: Path, policies: Under, monkeypatch: pytest.MonkeyPatch, **lab: float) -> str:
    """The study under each policy, with its knobs and its stretch; what is said at the end."""
    first = folder / next(iter(policies))
    for name, (shown, stretch) in policies.items():
        monkeypatch.setattr(power_study, "Knobs", lambda shown=shown: SimpleNamespace(now=lambda: shown))
        found = laboratory(stretch=stretch, **lab)
        Power.measure(request(folder / name, like=first), found.services)
        assert (found.executor.probes > 0) == (name == first.name)
    messages = io.StringIO()
    folders = [folder / name for name in policies]
    Power.conclude_policies(folders, request(folder, report=True), Services(messages=messages))
    return messages.getvalue()


def claims_of(folder: Path) -> dict[str, tuple[bool | None, str]]:
    """P3 and P4, read from the folder."""
    with Store.read(folder) as store:
        analysis = Power.stored(store)
    return {one.id: (one.holds, one.ours) for one in analysis.claims if one.id in ("P3", "P4")}


def test_a_study_in_turns_measures_its_rounds_and_concludes_in_the_last(tmp_path: Path) -> None:
    for number, until in enumerate((2, 5, None)):
        lab = laboratory()
        asked = request(tmp_path, rounds=8, report=True, turn=Turn(number, until))
        analysis = Power.measure(asked, lab.services)
        with Store.read(tmp_path) as store:
            assert {row.round for row in store.rows()} == set(range(until or 8))
        assert ("about" in lab.messages.getvalue()) == (number == 0)
        assert (tmp_path / "report.html").exists() == (until is None)
    assert analysis == Power.measure(request(tmp_path, rounds=8), laboratory().services)


def test_a_study_under_each_policy_reports_the_effect_on_the_unbalanced_thread(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    policies: Under = {
        "as-it-is": ({"governor": "ondemand", "turbo": "on"}, 1.9),
        "governor-performance": ({"governor": "performance", "turbo": "on"}, 1.0),
        "governor-powersave": ({"governor": "powersave", "turbo": "on"}, 3.0),
        "turbo-off": ({"governor": "ondemand", "turbo": "off"}, 1.0),
    }
    said = under_policies(tmp_path, policies, monkeypatch)
    found = claims_of(tmp_path / "as-it-is")
    assert (found["P3"][0], found["P4"][0]) == (True, False)
    assert found["P3"][1].startswith("as-it-is: 64 s become 1")
    assert "energy was not measured" in found["P3"][1]
    assert "powersave" not in found["P3"][1]  # beside ondemand it holds the lowest clock
    assert "turbo-off" not in found["P3"][1]
    assert "P3 holds: as-it-is: 64 s become" in said
    assert "P4 does not hold" in said
    assert "64 s become 1" in visible((tmp_path / "as-it-is/report.html").read_text())


def test_a_policy_that_follows_the_load_may_keep_the_time_and_the_energy_of_the_highest_clock(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    policies: Under = {
        "as-it-is": ({"governor": "performance"}, 1.0),
        "governor-powersave": ({"governor": "powersave"}, 1.0),
    }
    under_policies(tmp_path, policies, monkeypatch, joules=True)
    found = claims_of(tmp_path / "as-it-is")
    assert (found["P3"][0], found["P4"][0]) == (False, True)
    assert "of the energy" in found["P4"][1]


def test_without_the_highest_clock_no_policy_is_judged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    policies: Under = {"as-it-is": ({"turbo": "on"}, 1.0), "turbo-off": ({"turbo": "off"}, 1.9)}
    said = under_policies(tmp_path, policies, monkeypatch)
    assert {holds for holds, _ in claims_of(tmp_path / "as-it-is").values()} == {None}
    assert "P3 not told by these rows: no policy that follows the load" in said


def test_without_a_frequency_policy_a_steady_clock_says_nothing_of_governors(tmp_path: Path) -> None:
    governor = Power.measure(request(tmp_path), laboratory().services).recommendations[2]
    assert governor.supported is None
    assert governor.here == (
        "The busy thread’s work takes no longer than alone, and the machine shows no frequency policy that "
        "could be another."
    )


def test_an_interval_across_the_limit_leaves_a_recommendation_open(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(power_study, "Knobs", Powersave)
    found = Power.measure(request(tmp_path / "a"), laboratory(stretch=1.03, noise=0.1).services)
    assert found.recommendations[2].supported is None
    assert "leaves open whether the busy thread’s work takes 3.0 % longer" in found.recommendations[2].here
    wide = Power.measure(request(tmp_path / "b"), laboratory(noise=4.0).services)
    assert wide.recommendations[0].supported is None
    assert "open)" in wide.recommendations[0].here
    assert claim(wide, "P7") is None


def test_energy_is_judged_by_its_paired_interval(tmp_path: Path) -> None:
    """With 18 W of the machine awake for half as long, two threads take 0.73 of one thread's energy."""
    saved = Power.measure(request(tmp_path / "a"), laboratory(joules=True, awake_watts=18.0).services)
    assert claim(saved, "P2") is True
    assert "0.73 (0.7" in next(one.ours for one in saved.claims if one.id == "P2")
    assert saved.recommendations[0].supported is True
    assert "save as much of its energy" in saved.recommendations[0].here
    lab = laboratory(joules=True, awake_watts=18.0, noise=0.3)
    noisy = Power.measure(request(tmp_path / "b"), lab.services)
    assert claim(noisy, "P2") is None
    more = Power.measure(request(tmp_path / "c"), laboratory(joules=True).services)
    assert claim(more, "P2") is False  # nothing that two threads would save
    assert more.recommendations[0].supported is False
    assert "Brought to one length, 0 of " in more.recommendations[0].here


def test_without_a_meter_not_one_joule_is_shown(tmp_path: Path) -> None:
    lab = laboratory()
    analysis = Power.measure(request(tmp_path, report=True), lab.services)
    assert all(one.energy is None for cell in analysis.jobs for one in cell.shared)
    assert "Energy was not measured: a virtual machine. Use the host." in analysis.verdict_sentences[-1]
    html = (tmp_path / "report.html").read_text()
    assert "chart-energy" not in html
    assert not any(column[0] in ("joules", "common") for column in embedded(html)["columns"])
    assert " J " not in visible(html).replace("E run, J", "")
    found = shared(analysis, "encryption, AES-256-GCM", "blocks")
    assert found.core_seconds == pytest.approx(2 * (found.seconds or 0))
    assert found.cpu_seconds == pytest.approx(JOB_SECONDS["encryption"] * (1 + EXTRA), rel=0.01)


@pytest.mark.parametrize(
    ("quick", "joules", "timed", "together"),
    [
        (True, False, 0.1, 0.25),
        (False, False, 0.5, 0.25),
        (True, True, 1.0, 1 / 3),
        (False, True, 2.0, 2 / 3),
    ],
)
def test_with_a_meter_of_the_whole_process_the_timed_part_is_long(
    tmp_path: Path, quick: bool, joules: bool, timed: float, together: float
) -> None:
    lab = laboratory(joules=joules)
    Power.measure(request(tmp_path, quick=quick), lab.services)
    options = [dict(itertools.pairwise(command)) for command in lab.executor.commands]
    assert {float(one["--min-seconds"]) for one in options if "--min-seconds" in one} == {timed}
    pairs = {one["--first-repetitions"] for one in options if "--first-repetitions" in one}
    assert pairs == {str(round(together / JOB_SECONDS["encryption"]))}


def test_a_study_that_began_with_a_meter_keeps_its_times_without(tmp_path: Path) -> None:
    Power.measure(request(tmp_path, rounds=8), laboratory(joules=True).services)
    again = laboratory(joules=False)
    Power.measure(request(tmp_path, rounds=8), again.services)
    assert again.executor.ran == []


def test_energies_are_brought_to_the_longest_time(tmp_path: Path) -> None:
    analysis = Power.measure(request(tmp_path, report=True), laboratory(joules=True).services)
    one = shared(analysis, "encryption, AES-256-GCM", "serial")
    two = shared(analysis, "encryption, AES-256-GCM", "blocks")
    long = JOB_SECONDS["encryption"]
    assert one.energy.run == pytest.approx(long * (IDLE_WATTS + BUSY_WATTS), rel=0.01)
    # the same work by two, and idle for the other half
    assert two.energy.common == pytest.approx(long * (IDLE_WATTS + BUSY_WATTS * (1 + EXTRA)), rel=0.02)
    assert two.energy.run < one.energy.run
    assert analysis.no_energy == ""
    html = (tmp_path / "report.html").read_text()
    assert "chart-energy" in html


def test_a_missing_library_leaves_its_job_out_by_name(tmp_path: Path) -> None:
    absent = ("encryption", "compression", "video")
    analysis = Power.measure(request(tmp_path), laboratory(absent=absent).services)
    assert {one.job for one in analysis.jobs} == {"physics"}
    assert {one.what: one.remedy for one in analysis.not_measured} == {
        "encryption with OpenSSL": "apt install libssl-dev",
        "compression with zstd": "apt install libzstd-dev",
        "video encoding with x264": "apt install libx264-dev",
    }
    assert analysis.pair == "physics and physics"
    assert claim(analysis, "P1") is None


def test_one_cpu_measures_single_threads_and_says_so(tmp_path: Path) -> None:
    analysis = Power.measure(request(tmp_path), laboratory(machine=machine(1)).services)
    assert not analysis.setups
    assert {one.way for cell in analysis.jobs for one in cell.shared} == {"serial"}
    assert "only 1 CPU" in analysis.not_measured[0].why
    assert "nothing can be said yet" in analysis.verdict_sentences[0]


def test_a_wrong_answer_is_an_error_and_no_time(tmp_path: Path) -> None:
    lab = laboratory(wrong={"by functions, 2": "b" * 16}, errors={"by files": "failed"})
    analysis = Power.measure(request(tmp_path), lab.services)
    bad = shared(analysis, "physics, cost 4:1", "functional")
    assert bad.seconds is None
    assert "answer is bbbb" in (bad.error or "")
    assert shared(analysis, "encryption, AES-256-GCM", "files").error == "it was told to end with failed"
    assert shared(analysis, "physics, cost 4:1", "domain").speedup is not None


def test_the_report_says_what_the_analysis_says(tmp_path: Path) -> None:
    analysis = Power.measure(request(tmp_path, report=True), laboratory().services)
    html = (tmp_path / "report.html").read_text()
    text = unescape(visible(html))
    for sentence in (*analysis.verdict_sentences, *(one.published for one in analysis.recommendations)):
        assert sentence in text
    for name in ("speedup", "cost", "busy", "together"):
        assert f"chart-{name}" in html


def test_passes_make_one_function_cost_the_given_multiple_of_the_other() -> None:
    assert balanced_passes(1.0, 2.0, 1.0) == (2.0, 1.0)
    assert balanced_passes(1.0, 2.0, 4.0) == (8.0, 1.0)
    assert balanced_passes(2.0, 1.0, 1.0) == (1.0, 2.0)
    assert balanced_passes(2.0, 1.0, 4.0) == (2.0, 1.0)


def test_ratios_are_sorted_once() -> None:
    assert parse_ratios("4,1,4") == (1.0, 4.0)
    with pytest.raises(TautoError):
        parse_ratios("1,,2")
