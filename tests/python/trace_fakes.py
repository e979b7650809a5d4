"""A program that was traced, made up."""

from __future__ import annotations

from tautochrone.energy.find import Found
from tautochrone.energy.meter import Unavailable
from tautochrone.measuring.foreground import Ended
from tautochrone.measuring.sampler import LoadSample, SampledLoad
from tautochrone.trace.threads import SampledThreads, Slice, ThreadTrack, Traced

NO_METER = Found(None, Unavailable("no meter is listed", "Load the driver"))


def track(tid: int, run: float, wait: float | None = 0.0, name: str = "solver", cpu: int = 0) -> ThreadTrack:
    made = ThreadTrack(tid, 1, name, run_seconds=run, wait_seconds=wait)
    made.slices = [Slice(0.0, 10.0, run, wait, cpu)]
    return made


def traced(tracks: list[ThreadTrack]) -> Traced:
    load = SampledLoad([LoadSample(0, 0.1, 0.5, 3e9), LoadSample(0, 0.2, 1.0, 2e9)])
    threads = SampledThreads(tracks, samples=2, seconds=10.0)
    ended = Ended(0, 10.0, 9.0, 1.0, 1 << 20)
    return Traced(("./a <b>",), ended, threads, load, None, 5, (0, 1), NO_METER.unavailable)
