"""The candidates of a search: what is tried on which finding, what never starts, what the user may say."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tautochrone.errors import TautoError
from tautochrone.machine import runners
from tautochrone.options import parse_cpus
from tautochrone.tune.applying import applied, configuration, ranks_of
from tautochrone.tune.knobs import explain, in_words, knobs
from tautochrone.tune.options import (
    TuneRequest,
    parse_arguments,
    parse_budget,
    parse_environment,
    parse_fixed,
    parse_launcher,
    parse_range,
)
from tautochrone.tune.services import Services
from tautochrone.tune.space import DEFAULT, Candidate, Space, build_space, check_names, invalid
from tautochrone.tune.tuning import announce
from tautochrone.tune.values import MAKERS, multiplicities, place_of, values_of, weights_of
from tune_fakes import findings, machine

EQUAL = place_of(machine([1.0, 1.0]))
HYBRID = place_of(machine([1.0, 1.0, 0.4, 0.4]))
SMT = place_of(machine([1.0] * 8, threads_per_core=2))


def space(*runtimes: str, place: Any = EQUAL, request: dict[str, Any] | None = None, **found: Any) -> Space:
    asked = TuneRequest(**{"command": ("./program",), "most_candidates": 500, **(request or {})})
    seen = findings(*runtimes, cpus=len(place.numbers), command=asked.command, **found)
    check_names(asked)
    return build_space(asked, seen, place)


def tried(found: Space) -> dict[str, tuple[str, ...]]:
    return {one.knob: one.values for one in found.tried}


def test_every_maker_of_the_table_is_there_and_every_name_in_it_is_a_knob() -> None:
    for one in knobs().values():
        assert not isinstance(one.values, str) or one.values in MAKERS
        assert set(one.conflicts) <= knobs().keys()
        for rule in one.never:
            assert rule.partition(" with ")[2].partition("=")[0] in knobs()
        assert "{}" in one.words
        assert one.paragraph


def because(found: Space) -> dict[str, str]:
    return {one.knob: one.because for one in found.tried}


def left_out(found: Space) -> dict[str, str]:
    return {one.knob: one.because for one in found.left_out}


def test_the_default_is_the_first_candidate_and_sets_nothing() -> None:
    found = space("libgomp")
    assert found.default.name == DEFAULT
    assert found.default.settings == {}
    assert len({one.name for one in found.candidates}) == len(found.candidates)


def test_only_what_the_program_has_is_tried() -> None:
    assert "OPENBLAS_NUM_THREADS" not in tried(space("libgomp"))
    assert "OMP_NUM_THREADS" not in tried(space("openblas"))
    assert left_out(space("openblas"))["OMP_NUM_THREADS"] == "the program has no libgomp or libomp"


def test_schedules_are_tried_only_where_loops_ask_for_them() -> None:
    assert "OMP_SCHEDULE" not in tried(space("libgomp", asks=False))
    assert "dynamic,4" in tried(space("libgomp", asks=True))["OMP_SCHEDULE"]


def test_each_knob_says_on_which_findings_it_rests() -> None:
    command = ("mpirun", "-n", "2", "./solver")
    found = space("libgomp", place=HYBRID, asks=True, mpi="mpirun", request={"command": command})
    linked = "libgomp: libgomp.so is linked"
    unequal = "CPU 0-1 at full speed, CPU 2-3 measured at 0.4 of it"
    assert because(space("libgomp"))["OMP_NUM_THREADS"] == linked
    assert because(found)["OMP_SCHEDULE"] == f"{linked}; a test"
    assert because(found)["weighted_places"] == f"{linked}; a test; {unequal}"
    assert because(found)["mpi_ranks"] == "mpirun is in the command"


def test_weighted_places_need_static_loops_and_unequal_cores() -> None:
    assert "weighted_places" not in tried(space("libgomp"))
    assert "weighted_places" not in tried(space("libgomp", place=HYBRID, static=False))
    found = space("libgomp", place=HYBRID)
    assert "weighted_places" in tried(found)
    assert (found.expert or "").startswith("weighted_places=")


def test_balancing_is_one_candidate_where_cores_are_unequal() -> None:
    assert left_out(space("libgomp"))["balance"] == "the cores here are equally fast"
    found = space("libgomp", place=HYBRID)
    assert because(found)["balance"] == "CPU 0-1 at full speed, CPU 2-3 measured at 0.4 of it"
    assert [one.name for one in found.candidates if "balance" in one.settings] == ["balance=threads"]


def test_no_balanced_candidate_where_the_balancer_is_not_built(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TAUTO_RUNNERS", str(tmp_path))
    monkeypatch.setattr(runners, "_OWN_FOLDER", tmp_path)
    found = space("libgomp", place=HYBRID)
    assert left_out(found)["balance"] == "tauto-balance is not built here (make tools)"
    assert not [one for one in found.candidates if "balance" in one.settings]


def test_a_balanced_candidate_is_started_by_the_balancer() -> None:
    command = ("./solver", "case.in")
    candidate = Candidate("balance=threads", {"balance": "threads"})
    made = configuration(candidate, command, (), repeat=1)
    assert made.command == [str(runners.find("tauto-balance")), "--", *command]
    assert applied(command, (), candidate.settings).command == command


def weights_beside(slow: float) -> dict[int, int]:
    """Of CPU 0 at full speed and CPU 1 at this one."""
    return weights_of(multiplicities(place_of(machine([1.0, slow])))[0])


def test_multiplicities_follow_the_speeds() -> None:
    assert weights_beside(0.25) == {0: 4, 1: 1}
    assert weights_beside(0.5) == {0: 2, 1: 1}
    assert weights_beside(0.66) == {0: 3, 1: 2}


def test_multiplicities_come_near_to_the_bound_for_any_two_speeds() -> None:
    for percent in range(12, 85, 3):
        slow = percent / 100
        weights = weights_beside(slow)
        shares = sum(weights.values())
        time = max(weights.get(0, 0) / 1.0, weights.get(1, 0) / slow) / shares
        assert time * (1.0 + slow) < 1.13, f"{slow}: {weights}"


def test_equal_cores_have_no_multiplicities() -> None:
    assert multiplicities(EQUAL) == ()
    assert multiplicities(place_of(machine([1.0, 0.25], measured=False))) == ()


def test_weighted_places_list_fast_cpus_several_times_and_wait_passively() -> None:
    made = applied(("./program",), (), {"weighted_places": "0:2,1:1"})
    assert made.environment["OMP_PLACES"] == "{0},{0},{1}"
    assert made.environment["OMP_NUM_THREADS"] == "3"
    assert made.environment["OMP_WAIT_POLICY"] == "passive"


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({"weighted_places": "0:2,1:1", "OMP_NUM_THREADS": "2"}, "set the same thing differently"),
        ({"OMP_PLACES": "cores", "cpus": "0"}, "set the same thing differently"),
        ({"OMP_NUM_THREADS": "1", "OMP_WAIT_POLICY": "active"}, "means nothing with OMP_NUM_THREADS=1"),
        ({"OMP_NUM_THREADS": "4", "OMP_PLACES": "{0},{1}"}, "4 threads, but 2 places"),
        ({"OMP_NUM_THREADS": "2", "OMP_PLACES": "{0}"}, "2 threads, but 1 place"),
        ({"GOMP_SPINCOUNT": "0", "OMP_WAIT_POLICY": "active"}, "set the same thing differently"),
    ],
)
def test_impossible_combinations_are_refused(settings: dict[str, str], reason: str) -> None:
    assert reason in invalid(settings)


def test_no_candidate_is_impossible() -> None:
    for place in (EQUAL, HYBRID, SMT):
        found = space("libgomp", "openblas", place=place, asks=True, request={"also": ("OMP_DYNAMIC",)})
        assert all(not invalid(one.settings) for one in found.candidates)


def test_too_many_combinations_keep_the_expert_and_the_single_settings() -> None:
    found = space("libgomp", place=SMT, asks=True, request={"most_candidates": 30})
    assert len(found.candidates) == 30
    assert found.combinations > 100
    names = [one.name for one in found.candidates]
    assert found.expert in names
    assert {"OMP_NUM_THREADS=1", "OMP_PROC_BIND=close", "OMP_SCHEDULE=dynamic,1"} <= set(names)


def test_the_same_seed_gives_the_same_candidates() -> None:
    one, other, third = (
        space("libgomp", place=SMT, asks=True, request={"most_candidates": 30, "seed": seed})
        for seed in (1, 1, 2)
    )
    assert one.candidates == other.candidates
    assert one.candidates != third.candidates


def test_thread_counts_are_those_of_the_machine_or_the_users() -> None:
    assert values_of("threads", SMT) == ("1", "2", "4", "8")
    assert values_of("threads", HYBRID) == ("1", "2", "4")
    found = space("libgomp", place=SMT, request={"values": {"threads": ("3", "5")}})
    assert tried(found)["OMP_NUM_THREADS"] == ("3", "5")


def test_hybrid_cores_are_places_and_cpu_sets() -> None:
    assert values_of("places", HYBRID) == ("cores", "{0},{1}")
    assert values_of("cpu_sets", HYBRID) == ("0-1", "2-3", "0")
    assert values_of("cpu_sets", SMT) == ("0,2,4,6", "0,2", "0")


QUOTA = place_of(msgspec.structs.replace(machine([1.0] * 4), usable_members=2))
SMT_HYBRID = place_of(machine([1.0] * 4 + [0.5] * 2, threads_per_core=2))


@pytest.mark.parametrize("runtime", ["tbb", "qt", "rayon", "go", "jvm"])
def test_programs_that_count_cpus_are_tried_on_sets_of_them_with_the_finding(runtime: str) -> None:
    found = space(runtime, place=SMT)
    assert tried(found)["cpus"] == ("0,2,4,6", "0,2", "0")
    why = f"{runtime}: {runtime}.so is linked and starts a thread for each CPU that it may use"
    assert because(found)["cpus"] == why
    assert space(place=SMT).tried[0].because == "every program has it"


@pytest.mark.parametrize("runtime", ["tbb", "qt"])
def test_numbers_of_threads_are_numbers_of_cpus_where_no_variable_sets_them(runtime: str) -> None:
    found = space(runtime, place=SMT, request={"values": {"threads": ("2", "5", "8")}})
    # A thread of each core first; all eight are the default.
    assert tried(found)["cpus"] == ("0,2", "0-2,4,6")


def test_words_among_numbers_of_threads_are_for_the_command_alone() -> None:
    values = {"threads": ("auto", "2", "1")}
    request = {"values": values, "command": ("x264", "--threads", "{threads}")}
    found = tried(space("libgomp", place=SMT, request=request))
    assert found["threads"] == values["threads"]
    assert found["OMP_NUM_THREADS"] == ("2", "1")
    found = tried(space("jvm", place=SMT, request=request))
    assert found["JAVA_TOOL_OPTIONS"] == tuple(f"-XX:ActiveProcessorCount={count}" for count in (2, 1))


def test_a_pool_never_has_more_threads_than_the_cpus_that_it_may_use() -> None:
    for runtime in ("go", "rayon", "jvm", "openblas"):
        for one in space(runtime, place=SMT).candidates:
            counts = [value for name, value in one.settings.items() if name != "cpus"]
            if "cpus" in one.settings and counts:
                room = len(parse_cpus(one.settings["cpus"]))
                assert int(counts[0].rpartition("=")[2]) <= room, one.name
    assert "4 threads on 2 CPUs" in invalid({"cpus": "0,2", "GOMAXPROCS": "4"})
    assert not invalid({"cpus": "0,2", "GOMAXPROCS": "2"})


@pytest.mark.parametrize(
    ("runtime", "place", "expert"),
    [
        ("tbb", SMT, "cpus=0,2,4,6"),
        ("qt", SMT, "cpus=0,2,4,6"),
        ("rayon", SMT, "RAYON_NUM_THREADS=4"),
        ("go", SMT, "GOMAXPROCS=4"),
        ("go", QUOTA, "GOMAXPROCS=2"),
        ("tbb", QUOTA, "cpus=0-1"),
        ("jvm", SMT, "JAVA_TOOL_OPTIONS=-XX:ActiveProcessorCount=4"),
        ("openblas", SMT, "OPENBLAS_NUM_THREADS=4 cpus=0,2,4,6"),
        ("mkl", HYBRID, "MKL_NUM_THREADS=2 cpus=0-1"),
        ("blis", SMT_HYBRID, "BLIS_NUM_THREADS=2 cpus=0,2"),
        ("tbb", HYBRID, None),
        ("openblas", EQUAL, None),
        ("go", EQUAL, None),
    ],
)
def test_the_expert_rule_of_each_runtime(runtime: str, place: Any, expert: str | None) -> None:
    found = space(runtime, place=place)
    assert found.expert == expert
    assert expert is None or expert in {one.name for one in found.candidates}


def test_a_blas_inside_an_openmp_program_has_one_thread_and_one_on_openmp_has_its_threads() -> None:
    inside = space("libgomp", "openblas", place=SMT)
    assert "OPENBLAS_NUM_THREADS=1" in (inside.expert or "")
    below = space("libgomp", "openblas", place=SMT, static=False)
    assert below.expert == "OMP_PLACES=cores OMP_PROC_BIND=close OMP_NUM_THREADS=4"


def test_a_quota_is_tried_as_a_number_of_threads() -> None:
    assert "2" in tried(space("libgomp", place=QUOTA))["OMP_NUM_THREADS"]
    assert "2" not in tried(space("libgomp", place=EQUAL))["OMP_NUM_THREADS"]
    assert tried(space("tbb", place=QUOTA))["cpus"] == ("0-1", "0")


def test_what_cannot_matter_is_counted_on_one_line() -> None:
    def announced(runtime: str) -> list[str]:
        said = io.StringIO()
        announce(space(runtime), "it takes 1 s", Services(messages=said))
        return said.getvalue().splitlines()

    lines = announced("libgomp")
    assert len(lines) < 14
    left_out_here = len(space("libgomp").left_out)
    assert f"  {left_out_here} settings cannot matter here; the report says which, and why" in lines
    lines = announced("go")
    assert "  the expert rule leaves this program as it is" in lines


def test_the_user_adds_a_variable() -> None:
    found = space("libgomp", request={"environment": {"SOLVER": ("a", "b")}})
    assert any(one.settings == {"SOLVER": "b"} for one in found.candidates)


def test_the_user_fixes_a_variable_in_all_but_the_default() -> None:
    found = space("libgomp", request={"fixed": {"OMP_PROC_BIND": "close"}})
    assert found.default.settings == {}
    assert all(one.settings["OMP_PROC_BIND"] == "close" for one in found.candidates[1:])


def test_weighted_places_stay_in_the_race_beside_a_fix_that_says_the_same() -> None:
    found = space("libgomp", place=HYBRID, request={"fixed": {"OMP_PROC_BIND": "close"}})
    weighted = [one.settings for one in found.candidates if "weighted_places" in one.settings]
    assert {one["weighted_places"] for one in weighted} == set(tried(found)["weighted_places"])
    assert (found.expert or "").startswith("weighted_places=")
    unfixed = space("libgomp", place=HYBRID)
    assert not any({"weighted_places", "OMP_PROC_BIND"} <= one.settings.keys() for one in unfixed.candidates)


def test_what_a_fix_leaves_out_has_its_reason() -> None:
    found = space("libgomp", place=HYBRID, request={"fixed": {"OMP_PROC_BIND": "spread"}})
    assert "weighted_places" not in tried(found)
    reason = "set the same thing differently, and --fix settles that"
    assert left_out(found)["weighted_places"].endswith(reason)


def test_the_user_excludes_a_knob_or_a_value() -> None:
    found = space("libgomp", request={"excluded": ("OMP_PLACES", "OMP_NUM_THREADS=1")})
    assert "OMP_PLACES" not in tried(found)
    assert "1" not in tried(found).get("OMP_NUM_THREADS", ())
    assert left_out(found)["OMP_PLACES"] == "you excluded it"
    assert left_out(found)["OMP_NUM_THREADS"] == "you excluded all that is left of its values"


def test_the_user_asks_for_a_knob_that_is_not_tried_by_itself() -> None:
    assert "GOMP_SPINCOUNT" not in tried(space("libgomp"))
    assert "GOMP_SPINCOUNT" in tried(space("libgomp", request={"also": ("GOMP_SPINCOUNT",)}))


def test_arenas_are_tried_for_memory_and_huge_pages_for_large_programs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def open_to(found: Space) -> set[str]:
        assert found.tried or found.left_out
        return {"MALLOC_ARENA_MAX", "GLIBC_TUNABLES"} & tried(found).keys()

    pages = tmp_path / "enabled"
    monkeypatch.setattr("tautochrone.tune.knobs._HUGE_PAGES", pages)
    pages.write_text("always [madvise] never\n")
    glibc, memory = "glibc-malloc", {"objective": "memory"}
    assert open_to(space(glibc, threads=4, memory=1 << 20)) == set()
    assert open_to(space(glibc, threads=4, memory=1 << 20, request=memory)) == {"MALLOC_ARENA_MAX"}
    assert open_to(space(glibc, threads=1, request=memory)) == set()
    assert open_to(space(glibc, memory=64 << 20)) == {"GLIBC_TUNABLES"}
    pages.write_text("[always] madvise never\n")
    assert "always] madvise never" in left_out(space(glibc, memory=64 << 20))["GLIBC_TUNABLES"]
    pages.unlink()
    assert "it has none" in left_out(space(glibc, memory=64 << 20))["GLIBC_TUNABLES"]
    asked = space(glibc, request={"also": ("GLIBC_TUNABLES", "MALLOC_ARENA_MAX")})
    assert open_to(asked) == {"MALLOC_ARENA_MAX", "GLIBC_TUNABLES"}


def test_words_in_braces_in_the_command_have_their_first_value_by_default() -> None:
    command = ("xz", "-T{threads}", "file")
    found = space(request={"command": command, "values": {"threads": ("2", "1")}})
    assert found.default.settings == {"threads": "2"}
    runs = [configuration(one, command, ()).command for one in found.candidates]
    assert ["xz", "-T2", "file"] in runs
    assert ["xz", "-T1", "file"] in runs


def test_words_that_are_added_are_not_in_the_default() -> None:
    arguments = parse_arguments(["-t {threads}"])
    request = {"arguments": arguments, "values": {"threads": ("1", "2")}}
    found = space(request=request)
    runs = [configuration(one, ("./program",), arguments).command for one in found.candidates]
    assert runs[0] == ["./program"]
    assert ["./program", "-t", "2"] in runs


AWK = {"command": ("awk", "{print}", "file"), "environment": {"X": ("a",)}}
COUNTS = {"threads": ("1", "2")}


def refused(why: str, *runtimes: str, **request: Any) -> None:
    with pytest.raises(TautoError, match=why):
        space(*runtimes, request=request)


def test_a_knob_that_is_not_there_is_an_error_that_lists_them() -> None:
    refused(r"no knob 'OMP_TREADS'.*OMP_NUM_THREADS", "libgomp", excluded=("OMP_TREADS",))


def test_braces_without_values_are_an_error() -> None:
    refused(r"\{threads\}.*--threads", command=("xz", "-T{threads}"))
    refused(r"\{level\}.*--value level", command=("xz", "-{level}"))
    refused(r"if the program itself reads \{print\}, add --value 'print=:\{pr", **AWK)


def test_values_that_nothing_takes_are_an_error_with_the_reason() -> None:
    nothing = r"--threads 1,2 changes nothing.*"
    refused(rf"{nothing}no libgomp or libomp.*xz -T\{{thr", values=COUNTS, environment={"X": ("a",)})
    fixed = {"OMP_NUM_THREADS": "2"}
    refused(f"{nothing}--fix settles OMP_NUM_THREADS", "libgomp", values=COUNTS, fixed=fixed)
    why = r"--value level changes nothing.*Write \{level\} into the command"
    refused(why, "libgomp", values={"level": ("1", "2")})


def test_words_in_braces_may_not_be_called_as_a_knob_is() -> None:
    """The program's own number of CPUs set the CPUs that it may use, too."""
    why = r"\{cpus\} cannot be used in the command.*Give it another name"
    refused(why, command=("solver", "--cpus", "{cpus}"), values={"cpus": ("1", "2")})


def test_braces_that_the_program_reads_stay_where_they_stand_for_themselves() -> None:
    found = space(request={**AWK, "values": parse_environment(["print=:{print}"], "--value")})
    runs = [applied(("awk", "{print}", "file"), (), one.settings) for one in found.candidates]
    assert all(one.command == ("awk", "{print}", "file") for one in runs)
    assert {"X": "a"} in [one.environment for one in runs]


def test_numbers_of_threads_become_an_option_of_java() -> None:
    options = tried(space("jvm", request={"values": COUNTS}))["JAVA_TOOL_OPTIONS"]
    assert options == ("-XX:ActiveProcessorCount=1", "-XX:ActiveProcessorCount=2")


@pytest.mark.parametrize(
    "wrong",
    ["nice=low", "cpus=all", "weighted_places=0,1", "weighted_places=0:0", "mpi_ranks=4", "mpi_ranks=0x2"],
)
@pytest.mark.parametrize("option", ["fixed", "environment"])
def test_a_value_that_a_knob_cannot_have_is_an_error(wrong: str, option: str) -> None:
    name, _, value = wrong.partition("=")
    with pytest.raises(TautoError, match=r"Write it like"):
        space("libgomp", request={option: {name: value if option == "fixed" else (value,)}})


def test_nothing_to_try_is_an_error_that_says_what_to_add() -> None:
    with pytest.raises(TautoError, match=r"nothing to try.*--env"):
        space(place=place_of(machine([1.0])))


def test_mpi_ranks_and_bindings_become_words_of_the_launcher() -> None:
    command = ("mpirun", "-n", "2", "./solver")
    found = space("openmpi", "libgomp", mpi="mpirun", request={"command": command})
    assert tried(found)["mpi_ranks"] == ("1x2", "2x1")
    assert "cpus" not in tried(found)
    made = applied(command, (), {"mpi_ranks": "1x2", "mpi_bind": "none"})
    assert list(made.command) == ["mpirun", "--bind-to", "none", "-n", "1", "./solver"]
    assert made.environment == {"OMP_NUM_THREADS": "2"}
    made = applied(("mpiexec", "./solver"), (), {"mpi_ranks": "2x1"})
    assert list(made.command) == ["mpiexec", "-n", "2", "./solver"]


def test_ranks_with_several_threads_are_never_bound_to_one_core() -> None:
    assert "one core for the 2 threads of a rank" in invalid({"mpi_ranks": "2x2", "mpi_bind": "core"})
    assert "one core for the 4 threads of a rank" in invalid({"OMP_NUM_THREADS": "4", "mpi_bind": "core"})
    assert not invalid({"mpi_ranks": "4x1", "mpi_bind": "core"})
    assert not invalid({"mpi_ranks": "4", "mpi_bind": "core"})
    slots = {"mpi_ranks": "2x2", "mpi_map": "slot:PE=2"}
    assert not invalid({**slots, "mpi_bind": "core"})
    assert "mpi_bind=none does not" in invalid({**slots, "mpi_bind": "none"})


@pytest.mark.parametrize(
    ("place", "slots"),
    [
        (place_of(machine([1.0] * 4)), {"1x4": "slot:PE=4", "2x2": "slot:PE=2"}),
        (SMT, {"1x8": "slot:PE=4", "2x4": "slot:PE=2", "4x2": "slot:PE=1"}),
    ],
)
def test_ranks_get_as_many_cores_as_their_threads_fill(place: Any, slots: dict[str, str]) -> None:
    command = ("mpirun", "-n", "2", "./solver")
    excluded = ("OMP_PLACES", "OMP_PROC_BIND", "OMP_WAIT_POLICY", "OMP_NUM_THREADS")
    request = {"command": command, "excluded": excluded}
    found = space("openmpi", "libgomp", place=place, mpi="mpirun", request=request)
    settings = [one.settings for one in found.candidates]
    pairs = {(one.get("mpi_ranks"), one["mpi_map"]) for one in settings if "slot" in one.get("mpi_map", "")}
    assert pairs == set(slots.items())
    made = applied(command, (), {"mpi_ranks": "2x2", "mpi_map": "slot:PE=2"})
    assert list(made.command) == ["mpirun", "--map-by", "slot:PE=2", "-n", "2", "./solver"]


@pytest.mark.parametrize(
    ("words", "with_ranks"),
    [
        ("mpirun -n 2 prog -n 1000", "mpirun -n 4 prog -n 1000"),
        ("mpirun prog -n 1000", "mpirun -n 4 prog -n 1000"),
        ("mpirun --bind-to core -np 2 prog mpirun -n 7", "mpirun --bind-to core -np 4 prog mpirun -n 7"),
        ("env A=1 mpiexec.hydra -n 2 prog", "env A=1 mpiexec.hydra -n 4 prog"),
        ("orterun -c 2 prog", "orterun -c 4 prog"),
        ("srun -c 8 -n 2 prog -c 3", "srun -c 8 -n 4 prog -c 3"),
        ("srun -c 8 prog", "srun -n 4 -c 8 prog"),
        ("srun -n2 prog", "srun -n4 prog"),
        ("srun --ntasks=2 prog --ntasks=1", "srun --ntasks=4 prog --ntasks=1"),
        ("aprun -n 2 -N 1 prog", "aprun -n 4 -N 1 prog"),
    ],
)
def test_ranks_change_the_words_of_the_launcher_alone(words: str, with_ranks: str) -> None:
    made = applied(words.split(), (), {"mpi_ranks": "4x1"}, has_openmp=False)
    assert list(made.command) == with_ranks.split()


def test_several_programs_of_one_launcher_keep_their_numbers_of_ranks() -> None:
    command = ("mpirun", "-n", "2", "./ocean", "-n", "7", ":", "-n", "1", "./ice")
    found = space("openmpi", "libgomp", mpi="mpirun", request={"command": command})
    assert "several programs" in left_out(found)["mpi_ranks"]
    assert {"mpi_map", "mpi_bind"} <= tried(found).keys()
    with pytest.raises(TautoError, match=r"mpi_ranks is one number.*mpirun -n \{a\}"):
        applied(command, (), {"mpi_ranks": "4x1"})
    bound = applied(command, (), {"mpi_bind": "none"}).command
    assert list(bound) == ["mpirun", "--bind-to", "none", *command[1:]]
    assert ranks_of(command) == "3"
    assert ranks_of((*command, ":", "./rest")) is None
    assert ranks_of(("mpirun", "-n", "2", "./solver", "-n", "7")) == "2"


def test_numbers_of_ranks_of_several_programs_are_tried_where_they_stand_in_braces() -> None:
    command = ("mpirun", "-n", "{a}", "./ocean", ":", "-n", "1", "./ice")
    found = space("openmpi", mpi="mpirun", request={"command": command, "values": {"a": ("2", "3")}})
    runs = [configuration(one, command, ()).command for one in found.candidates]
    assert ["mpirun", "-n", "3", "./ocean", ":", "-n", "1", "./ice"] in runs


def test_a_launcher_inside_a_script_keeps_its_words() -> None:
    found = space("openmpi", "libgomp", mpi="mpirun", request={"command": ("./job.sh",)})
    assert not {"mpi_ranks", "mpi_map", "mpi_bind", "cpus"} & tried(found).keys()
    assert "started by a script" in left_out(found)["mpi_ranks"]
    with pytest.raises(TautoError, match=r"mpi_bind is an option of an MPI launcher.*'./job.sh'.*mpirun -n"):
        applied(("./job.sh",), (), {"mpi_bind": "none"})


def test_options_of_mpirun_are_not_given_to_srun() -> None:
    found = space("openmpi", "libgomp", mpi="srun", request={"command": ("srun", "-n", "2", "./solver")})
    assert "mpi_ranks" in tried(found)
    assert not {"mpi_map", "mpi_bind"} & tried(found).keys()


def test_cpus_and_nice_are_settings_of_the_start() -> None:
    made = applied(("./program",), (), {"cpus": "0-2", "nice": "5"})
    assert made.start == {"cpus": [0, 1, 2], "nice": 5}
    assert made.environment == {}


def test_settings_in_words() -> None:
    settings = {"OMP_NUM_THREADS": "8", "OMP_PROC_BIND": "close", "X": "1"}
    assert in_words(settings) == "8 OpenMP threads, close binding and X=1"
    assert in_words({"OMP_NUM_THREADS": "1", "GOMAXPROCS": "1"}) == "1 OpenMP thread and 1 thread of Go"
    assert in_words({"OMP_NUM_THREADS": "11"}) == "11 OpenMP threads"


def test_each_knob_and_when_it_is_tried_is_explained() -> None:
    assert explain("OMP_PLACES").endswith("Tried by default.")
    assert explain("nice").endswith("Tried only with --try nice.")
    assert "--objective memory" in explain("MALLOC_ARENA_MAX")
    assert "64 MiB" in explain("GLIBC_TUNABLES")
    for name in knobs():
        assert name in explain(name)
        assert "\nTo see that it took effect: " in explain(name)
    assert "OMP_DISPLAY_ENV=verbose" in explain("OMP_PLACES")
    assert "taskset -cp PID" in explain("cpus")
    with pytest.raises(TautoError, match=r"no knob 'X'.*--env"):
        explain("X")


@pytest.mark.parametrize(("text", "seconds"), [("90", 90), ("90s", 90), ("5m", 300), ("1.5h", 5400)])
def test_budgets(text: str, seconds: float) -> None:
    assert parse_budget(text) == seconds


@pytest.mark.parametrize("text", ["", "0", "-1s", "5 days", "m"])
def test_budgets_that_are_none(text: str) -> None:
    with pytest.raises(TautoError, match=r"--budget"):
        parse_budget(text)


def test_ranges() -> None:
    assert parse_range("1..4", "--threads") == ("1", "2", "3", "4")
    assert parse_range("1,2,8", "--threads") == ("1", "2", "8")
    with pytest.raises(TautoError, match="more than 18 digits"):
        parse_range(f"1..{'9' * 5000}", "--threads")
    with pytest.raises(TautoError, match=r"--threads 4..1 has 0 values"):
        parse_range("4..1", "--threads")
    with pytest.raises(TautoError, match=r"has 1000 values; 1 to 64"):
        parse_range("1..1000", "--threads")


@pytest.mark.parametrize(
    ("option", "parse"), [("--arg", lambda text: parse_arguments([text])), ("--launcher", parse_launcher)]
)
def test_words_with_an_open_quote_are_an_error(option: str, parse: Callable[[str], object]) -> None:
    with pytest.raises(TautoError, match=rf"{option} .it's. cannot be split.*no closing quotation"):
        parse("it's")


def test_variables_and_fixed_settings() -> None:
    assert parse_environment(["X=a,b", "Y=:{0},{1}"]) == {"X": ("a", "b"), "Y": ("{0},{1}",)}
    assert parse_fixed(["X=a=b"]) == {"X": "a=b"}
    for wrong in ("X", "=a", "1X=a"):
        with pytest.raises(TautoError, match=r"--env"):
            parse_environment([wrong])
    with pytest.raises(TautoError, match=r"--fix"):
        parse_fixed(["X"])
