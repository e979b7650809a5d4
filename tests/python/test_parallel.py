"""NumPy arrays on the runtime: what it gives, what it refuses, and functions that were compiled."""

from __future__ import annotations

import ctypes
import multiprocessing
import os
import shutil
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import numpy
import pytest

from tautochrone import parallel
from tautochrone.errors import TautoError
from tautochrone.parallel import library, shared

pytestmark = [
    pytest.mark.timed,
    pytest.mark.skipif(
        "TAUTO_RUNNERS" not in os.environ, reason="TAUTO_RUNNERS names no folder of the library"
    ),
]

RANDOM = numpy.random.default_rng(7)
MIXED = RANDOM.normal(size=50_000) * 10.0 ** RANDOM.integers(-9, 9, 50_000)

CALLBACKS = """
#include <stdint.h>
void add_one(void* context, int64_t begin, int64_t end) {
    double* const values = context;
    for (int64_t i = begin; i < end; ++i) values[i] += 1;
}
double sum(void* context, int64_t begin, int64_t end) {
    const double* const values = context;
    double all = 0;
    for (int64_t i = begin; i < end; ++i) all += values[i];
    return all;
}
double larger(void* context, double left, double right) { return (void)context, left > right ? left : right; }
"""


@pytest.fixture(scope="module")
def team() -> Iterator[parallel.Team]:
    with parallel.Team(3, cpus=sorted(os.sched_getaffinity(0))) as three:
        yield three


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    if shutil.which("cc") is None:
        pytest.skip("there is no cc here")
    folder = tmp_path_factory.mktemp("callbacks")
    source = folder / "callbacks.c"
    source.write_text(CALLBACKS)
    subprocess.run(["cc", "-shared", "-fPIC", source, "-o", folder / "callbacks.so"], check=True)
    return ctypes.CDLL(str(folder / "callbacks.so"))


@pytest.mark.parametrize("kind", ["float64", "int64", "uint64", "float32", "int32", "uint32"])
@pytest.mark.parametrize("size", [0, 1, 300, 50_000])
def test_sort_is_that_of_numpy(team: parallel.Team, kind: str, size: int) -> None:
    values = MIXED.astype(kind)[:size] if kind == "float32" else MIXED.view(kind)[:size].copy()
    expected = numpy.sort(values)
    team.sort(values)
    assert (values == expected).all()
    if kind == "float64" and size > 1:
        values[::3] = numpy.nan
        team.sort(values)
        assert numpy.array_equal(values, numpy.sort(values), equal_nan=True)


def test_sums_have_the_same_bits_for_every_team(team: parallel.Team) -> None:
    sums = {team.sum(MIXED), parallel.sum(MIXED)}
    with parallel.Team(1) as one:
        sums.add(one.sum(MIXED))
    assert len(sums) == 1
    assert sums.pop() == pytest.approx(MIXED.sum(), rel=1e-9)
    shuffled = MIXED.copy()
    RANDOM.shuffle(shuffled)
    assert team.exact_sum(MIXED) == team.exact_sum(shuffled) == parallel.exact_sum(MIXED)
    assert team.exact_sum(numpy.array([1e100, 1.0, -1e100])) == 1.0
    integers = MIXED.view(numpy.int64)
    assert team.sum(integers) == parallel.sum(integers) == integers.sum()


def test_scans_are_those_of_numpy(team: parallel.Team) -> None:
    counts = RANDOM.integers(-5, 100, 30_000)
    assert (team.inclusive_scan(counts) == counts.cumsum()).all()
    assert (parallel.exclusive_scan(counts, 7) == counts.cumsum() - counts + 7).all()
    ones = numpy.ones(30_000)
    assert team.inclusive_scan(ones, out=ones) is ones
    assert (ones == numpy.arange(1, 30_001)).all()
    into = numpy.empty(30_000)
    assert parallel.inclusive_scan(numpy.ones(30_000), into) is into
    assert (into == ones).all()
    assert (team.exclusive_scan(numpy.ones(5), numpy.float32(0.5)) == [0.5, 1.5, 2.5, 3.5, 4.5]).all()
    assert team.inclusive_scan(numpy.empty(0)).size == 0


def test_histograms_are_those_of_numpy(team: parallel.Team) -> None:
    for bins, low, high in ((10, 0.0, 1.0), (7, -0.3, 0.3), (1000, -1e-3, 1e-3)):
        edges = numpy.linspace(low, high, bins + 1)  # values at the very edges, and just beside them
        values = numpy.concatenate(
            [MIXED, edges, numpy.nextafter(edges, 9), numpy.nextafter(edges, -9), [numpy.nan]]
        )
        found = team.histogram(values, bins, low, high)
        assert (found == numpy.histogram(values[~numpy.isnan(values)], bins, (low, high))[0]).all()
    places = RANDOM.integers(0, 20, 30_000)
    assert (parallel.histogram(places, numpy.int64(25)) == numpy.bincount(places, minlength=25)).all()
    with pytest.raises(ValueError, match="bin 19; there are 19 bins"):
        team.histogram(places, 19)
    with pytest.raises(ValueError, match="0 bins"):
        team.histogram(places, 0)
    with pytest.raises(TypeError, match="leave out low"):
        team.histogram(places, 19, 0, 19)
    with pytest.raises(TypeError, match="needs low and high"):
        team.histogram(MIXED, 19)


def test_least_and_greatest_are_the_first_of_several(team: parallel.Team) -> None:
    values = numpy.abs(MIXED)
    values[[400, 40_000]] = -1
    values[[401, 40_001]] = 1e30
    assert (team.argmin(values), team.argmax(values)) == (400, 401)
    assert (parallel.argmin(values), parallel.argmax(values)) == (400, 401)
    with pytest.raises(ValueError, match="without elements"):
        team.argmin(numpy.empty(0))


def test_what_it_cannot_take_is_refused_in_words(team: parallel.Team) -> None:
    for refused, error, words in (
        (
            [3.0, 1.0],
            TypeError,
            "sort takes a NumPy array of float64, int64, uint64, float32, int32 or uint32, not list",
        ),
        (numpy.ma.masked_array([1.0], [True]), TypeError, "not MaskedArray"),
        (numpy.zeros(3, numpy.float16), TypeError, r"not float16; sort a copy: .astype\(numpy.float64\)"),
        (numpy.zeros(3, numpy.int8), TypeError, r"not int8; sort a copy: .astype\(numpy.int64\)"),
        (numpy.zeros(3, numpy.uint8), TypeError, r"not uint8; sort a copy: .astype\(numpy.int64\)"),
        (numpy.zeros(3, complex), TypeError, "not complex128; NumPy's own functions take it"),
        (numpy.zeros(3, "M8[s]"), TypeError, r"\.view\(numpy.int64\) shows them"),
        (numpy.zeros(3, ">f8"), TypeError, "not >f8"),
        (numpy.zeros((3, 3)), ValueError, "one dimension, not 2"),
        (numpy.zeros(9)[::2], ValueError, r"has strides; numpy.ascontiguousarray\(\)"),
        (numpy.zeros(9)[::-1], ValueError, "has strides"),
    ):
        with pytest.raises(error, match=words):
            team.sort(refused)
    read_only = numpy.arange(9.0)[::-1].copy()
    read_only.flags.writeable = False
    with pytest.raises(ValueError, match=r"this one is read-only; \.copy"):
        team.sort(read_only)
    assert team.sum(read_only) == 36
    assert (team.inclusive_scan(read_only) == numpy.cumsum(read_only)).all()
    values = numpy.zeros(9)
    with pytest.raises(TypeError, match="must be an array of float64 with 9 elements"):
        team.inclusive_scan(values, numpy.zeros(8))
    with pytest.raises(ValueError, match="share no memory"):
        team.inclusive_scan(values[:8], values[1:])
    for narrow, wide in (("int8", "int64"), ("uint32", "int64"), ("bool", "int64"), ("float32", "float64")):
        with pytest.raises(TypeError, match=rf"not {narrow}; .astype\(numpy.{wide}\)"):
            team.sum(numpy.zeros(3, narrow))
    with pytest.raises(TypeError, match="not uint64; NumPy's own"):
        team.sum(numpy.zeros(3, numpy.uint64))
    with pytest.raises(TypeError):
        team.exclusive_scan(numpy.zeros(3, numpy.int64), 0.5)


def test_numbers_that_c_would_cut_are_refused(team: parallel.Team, compiled: ctypes.CDLL) -> None:
    integers = numpy.zeros(3, numpy.int64)
    for call in (
        lambda: team.exclusive_scan(integers, 2**70),
        lambda: team.histogram(integers, 2**64 + 3),
        lambda: team.parallel_for(0, 2**64 + 5, compiled.add_one),
        lambda: team.parallel_for(0, 9, compiled.add_one, members=2**32 + 1),
        lambda: team.parallel_for(0, 9, compiled.add_one, schedule="dynamic", chunk=2**64 + 1),
        lambda: parallel.Team(2**32 + 2),
        lambda: parallel.Team(stack_bytes=2**64 + 2**20),
        lambda: parallel.Team(cpus=[2**32]),
    ):
        with pytest.raises(ValueError, match=r"use -2\^"):
            call()


def test_teams_say_what_they_cannot_do() -> None:
    with pytest.raises(ValueError, match="-1"):
        parallel.Team(-1)
    with pytest.raises(ValueError, match="choose from default, active"):
        parallel.Team(wait="never")
    with parallel.Team(2, pin=False) as two:
        assert len(two) == len(two.cpus) == 2
    assert len(two) == 0
    with pytest.raises(ValueError, match="got NULL as `team`"):
        two.sort(numpy.zeros(3))
    two.close()


def test_compiled_functions_are_called_for_every_index(team: parallel.Team, compiled: ctypes.CDLL) -> None:
    values = numpy.zeros(10_000)

    class OfNumba:
        address = ctypes.cast(compiled.add_one, ctypes.c_void_p).value

    team.parallel_for(0, 10_000, compiled.add_one, values)
    team.parallel_for(numpy.int64(100), numpy.int64(10_000), OfNumba(), values, schedule="dynamic", chunk=7)
    parallel.parallel_for(100, 100, OfNumba.address, values)
    parallel.parallel_for(0, 100, OfNumba.address, values.ctypes.data)
    assert (values == 2).all()
    assert team.reduce(0, 10_000, compiled.sum, context=values) == 20_000
    of_map, of_pair = (ctypes.cast(one, ctypes.c_void_p).value for one in (compiled.sum, compiled.larger))
    bits = {one.reduce(0, MIXED.size, of_map, context=MIXED) for one in (team, shared.team())}
    assert len(bits) == 1
    larger = [parallel.reduce(0, 1, of_map, of_pair, identity=one, context=values) for one in (1.0, 3.0)]
    assert larger == [2.0, 3.0]
    with pytest.raises(TypeError, match="not function"):
        team.parallel_for(0, 10, lambda: None)
    with pytest.raises(ValueError, match="there is no schedule 'best'"):
        team.parallel_for(0, 10, compiled.add_one, values, schedule="best")
    with pytest.raises(ValueError, match="chunks of -1"):
        team.parallel_for(0, 10, compiled.add_one, values, schedule="dynamic", chunk=-1)
    team.parallel_for(0, 10_000, compiled.add_one, values, members=1, priority="low")
    assert (values == 3).all()
    with pytest.raises(ValueError, match="there is no priority 'high'; choose from normal, low"):
        team.parallel_for(0, 10, compiled.add_one, values, priority="high")
    with pytest.raises(ValueError, match="a limit of -1 members"):
        team.parallel_for(0, 10, compiled.add_one, values, members=-1)


def test_a_call_leaves_python_to_other_threads(team: parallel.Team) -> None:
    begun, asked = threading.Event(), threading.Event()

    @ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)
    def waits(_: int | None, __: int, ___: int) -> None:
        begun.set()
        asked.wait(60)

    def answer() -> None:
        begun.wait(60)
        asked.set()

    other = threading.Thread(target=answer)
    other.start()
    team.parallel_for(0, 1, waits)
    other.join()
    assert asked.is_set()


def _sorted_in_child(values: numpy.ndarray) -> bool:
    parallel.sort(values)
    return bool((values[:-1] <= values[1:]).all())


def test_a_forked_child_may_use_the_team() -> None:
    parallel.sum(MIXED)
    with multiprocessing.get_context("fork").Pool(1) as pool:
        assert pool.apply_async(_sorted_in_child, (MIXED.copy(),)).get(60)


def test_a_library_that_is_missing_or_broken_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TAUTO_RUNNERS", str(tmp_path))
    monkeypatch.setattr(library, "NAME", "libtauto.so.99")
    with pytest.raises(TautoError, match=r"libtauto\.so\.99 was not found in"):
        library._load()
    (tmp_path / "libtauto.so.99").write_text("no library")
    with pytest.raises(TautoError, match=r"libtauto\.so\.99 cannot be loaded: .*file too short"):
        library._load()
