"""A program that was traced, made up."""

from __future__ import annotations

from tautochrone.energy.find import Found
from tautochrone.energy.meter import Unavailable
from tautochrone.measuring.foreground import Ended
from tautochrone.measuring.sampler import LoadSample, SampledLoad
from tautochrone.schemas.of_executables import Balance, CpuSpeed, SecondsOfEachWay
from tautochrone.trace.threads import SampledThreads, Slice, ThreadTrack, Traced

NO_METER = Found(None, Unavailable("no meter is listed", "Load the driver"))

BALANCED = Balance(
    schema="tautochrone.balance/1",
    command="./a",
    threads=2,
    threads_moved=1,
    moves=7,
    handed_over=0,
    looks=9,
    seconds=10.0,
    seconds_of_each_way=SecondsOfEachWay(1.0, 9.0, 0.0, 0.0),
    controller_cpu_seconds=0.01,
    longest_move_seconds=1e-4,
    average_move_seconds=5e-5,
    watched_by="files",
    helped=True,
    time_over_linux_alone=0.8,
    interval=(0.75, 0.85),
    waited_unseen=0.0,
    regions_in_a_row=0,
    pairs_of_windows=9,
    estimated=False,
    left_alone_because=None,
    variables_set=[],
    preloaded=True,
    not_preloaded_because=None,
    cpus=[CpuSpeed(0, 1.0, 1.0, 1.0, 1.0), CpuSpeed(1, 0.25, 1.0, 0.25, 1.0)],
    exit_status=0,
)


def track(tid: int, run: float, wait: float | None = 0.0, name: str = "solver", cpu: int = 0) -> ThreadTrack:
    made = ThreadTrack(tid, 1, name, run_seconds=run, wait_seconds=wait)
    made.slices = [Slice(0.0, 10.0, run, wait, cpu)]
    return made


def traced(tracks: list[ThreadTrack]) -> Traced:
    load = SampledLoad([LoadSample(0, 0.1, 0.5, 3e9), LoadSample(0, 0.2, 1.0, 2e9)])
    threads = SampledThreads(tracks, samples=2, seconds=10.0)
    ended = Ended(0, 10.0, 9.0, 1.0, 1 << 20)
    return Traced(("./a <b>",), ended, threads, load, None, 5, (0, 1), NO_METER.unavailable)
