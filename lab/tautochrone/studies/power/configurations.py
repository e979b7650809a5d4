"""What is compared: each job on one thread and shared in each way, and two programs in each set-up."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from tautochrone import text
from tautochrone.machine.placements import Layout
from tautochrone.machine.runners import Peer, PeerState
from tautochrone.measuring.configuration import Configuration
from tautochrone.studies.power.findings import Probe
from tautochrone.studies.request import Times
from tautochrone.studies.setup import RunnerSetup

ENCRYPTION, COMPRESSION, VIDEO, PHYSICS = "encryption", "compression", "video", "physics"
TOGETHER = "together"
SERIAL = "serial"
BLOCKS, FILES, WORKERS, DOMAIN, FUNCTIONAL = "blocks", "files", "workers", "domain", "functional"
FRAMES, SLICES, CLIPS = "frames", "slices", "clips"
BALANCED = (BLOCKS, FILES, WORKERS, FRAMES, SLICES, CLIPS, DOMAIN)
FUNCTIONAL_FREE = "functional_free"
"""Not a split of its own: the functional one with threads that the system may move."""

WAYS: Mapping[str, tuple[str, ...]] = {
    ENCRYPTION: (BLOCKS, FILES),
    COMPRESSION: (WORKERS,),
    VIDEO: (FRAMES, SLICES, CLIPS),
    PHYSICS: (DOMAIN, FUNCTIONAL, FUNCTIONAL_FREE),
}
WAY_WORDS: Mapping[str, str] = {
    SERIAL: "one thread",
    BLOCKS: "by blocks",
    FILES: "by files",
    WORKERS: "zstd’s own workers",
    FRAMES: "by frames",
    SLICES: "by slices",
    CLIPS: "by clips",
    DOMAIN: "by bodies",
    FUNCTIONAL: "by functions",
    FUNCTIONAL_FREE: "by functions, not pinned",
}
CIPHERS: Mapping[str, str] = {"aes-256-gcm": "AES-256-GCM", "chacha20-poly1305": "ChaCha20-Poly1305"}

FREE, PINNED, ONE_PINNED, SAME = "free", "pinned", "one_pinned", "same"
SETUPS: Mapping[str, str] = {
    FREE: "no affinity",
    PINNED: "each pinned to a CPU of its own",
    ONE_PINNED: "the first pinned, the second free",
    "nice": "no affinity, the second at nice 10",
    "weight": "no affinity, control groups of weight 100 and 10",
    SAME: "both pinned to one CPU",
    "same_nice": "both pinned to one CPU, the second at nice 10",
    "same_weight": "both pinned to one CPU, control groups of weight 100 and 10",
}
AFFINITIES = (FREE, PINNED, ONE_PINNED)
WEIGHTED = ("weight", "same_weight")

PEERS: tuple[Peer, ...] = (
    Peer("encryption", "encryption", "encryption with OpenSSL", "libssl-dev", "serial", "power"),
    Peer("compression", "compression", "compression with zstd", "libzstd-dev", "serial", "power"),
    Peer("video", "video", "video encoding with x264", "libx264-dev", "serial", "power"),
    Peer("physics", "physics", "two-dimensional physics", "", "serial", "power"),
    Peer("together", "together", "two programs at once", "", "free", "power"),
)
"""Jobs in the place of peers, each on its own library."""

_FUNCTIONS = 2
_TOGETHER_SECONDS = 0.25
# Of a run, beside warming up and timing: a process, its data, and the check of the result.
_START_SECONDS = 0.25
_WARMUPS, _BATCHES = 2, 3
_SETUP_SHARE = 1.6  # of two programs in a set-up, where some share a CPU


@dataclass(frozen=True, slots=True)
class Work:
    """A job with one setting; its rows are compared with each other.

    ``arguments`` are the runner's; ``ratio`` is what the physics' first function costs by its second.
    """

    job: str
    variant: str = ""
    title: str = ""
    arguments: tuple[str, ...] = ()
    ratio: float | None = None
    settings: Mapping[str, object] = field(default_factory=dict)

    @property
    def group(self) -> str:
        return f"job={self.job}" + (f",{self.variant}" if self.variant else "")


def physics(ratio: float, collide_passes: float, draw_passes: float) -> Work:
    """The physics, its two functions made to cost as 1 to ``ratio``."""
    passes = {"collide_passes": collide_passes, "draw_passes": draw_passes}
    words = tuple(
        word for name, value in passes.items() for word in (f"--{name.replace('_', '-')}", f"{value:g}")
    )
    return Work(
        PHYSICS,
        f"ratio={ratio:g}",
        f"physics, cost {ratio:g}:1",
        words,
        ratio,
        {"ratio": ratio, **passes},
    )


def balanced_passes(collide_seconds: float, draw_seconds: float, ratio: float) -> tuple[float, float]:
    """How often each function runs so that the first costs ``ratio`` times the second; each once at least.

    Two significant digits: two sessions whose probes differ by some per cent measure the same work.
    """
    collide = ratio * draw_seconds / collide_seconds
    draw = 1.0
    if collide < 1.0:
        collide, draw = 1.0, 1.0 / collide
    return float(f"{collide:.2g}"), float(f"{draw:.2g}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate(RunnerSetup):
    """One way to share a work."""

    work: Work
    way: str  # the schedule, or FUNCTIONAL_FREE

    @property
    def label(self) -> str:
        """For people: "physics, cost 4:1, by functions, 2 threads"."""
        return f"{self.work.title}, {label(self.way, self.workers)}"


def label(way: str, threads: int) -> str:
    if way in SETUPS:
        return SETUPS[way]
    words = WAY_WORDS[way]
    return words if way == SERIAL else f"{words}, {text.count(threads, 'thread')}"


def candidates(work: Work, state: PeerState, layout: Layout, counts: Sequence[int]) -> Iterator[Candidate]:
    """One thread, and each way that the runner has on each number of threads that suits it."""
    offered = state.description.schedules if state.description is not None else ()
    alone = layout.placement("cores", 1)
    yield Candidate(state=state, schedule=SERIAL, way=SERIAL, placement=alone, work=work)
    for way in WAYS[work.job]:
        schedule = FUNCTIONAL if way == FUNCTIONAL_FREE else way
        if schedule not in offered:
            continue
        for count in (_FUNCTIONS,) if schedule == FUNCTIONAL else counts:
            placement = layout.placement("cores", count)
            if len(placement.cpus) == count:
                yield Candidate(state=state, schedule=schedule, way=way, placement=placement, work=work)


def together(
    state: PeerState, layout: Layout, jobs: tuple[str, str], repetitions: Mapping[str, int]
) -> Iterator[Candidate]:
    """Two programs in each set-up that this machine lets us make; none where there is one CPU."""
    placement = layout.placement("cores", _FUNCTIONS)
    if len(placement.cpus) < _FUNCTIONS:
        return
    first, second = jobs
    words = ["--first", first, "--second", second]
    words += ["--first-repetitions", str(repetitions[first])]
    words += ["--second-repetitions", str(repetitions[second])]
    title = f"{first} and {second} at once"
    settings = {"first": first, "second": second, "repetitions": [repetitions[job] for job in jobs]}
    work = Work(TOGETHER, title=title, arguments=tuple(words), settings=settings)
    offered = state.description.schedules if state.description is not None else ()
    for setup in SETUPS:
        if setup in offered or setup == FREE:
            yield Candidate(state=state, schedule=setup, way=setup, placement=placement, work=work)


def together_seconds(times: Times) -> float:
    """How long each of two programs at once works, alone, before both are timed again."""
    return max(_TOGETHER_SECONDS, times.timed_seconds / _BATCHES)


def thread_counts(cpus: int, *, quick: bool) -> tuple[int, ...]:
    """2 … all CPUs; of a quick study 2 and all."""
    if cpus < 2:
        return ()
    return tuple(sorted({2, cpus})) if quick else tuple(range(2, cpus + 1))


def works(states: Mapping[str, PeerState], probe: Probe, ratios: Sequence[float]) -> list[Work]:
    """What is measured of the jobs that are here."""
    found: list[Work] = []
    if ENCRYPTION in states:
        found += [
            Work(
                ENCRYPTION,
                f"cipher={cipher}",
                f"encryption, {name}",
                ("--cipher", cipher),
                None,
                {"cipher": cipher},
            )
            for cipher, name in CIPHERS.items()
        ]
    if COMPRESSION in states:
        found.append(Work(COMPRESSION, title="compression, zstd"))
    if VIDEO in states:
        found.append(Work(VIDEO, title="video encoding, x264"))
    if PHYSICS in states and probe.collide_seconds is not None and probe.draw_seconds is not None:
        costs = (probe.collide_seconds, probe.draw_seconds)
        found += [physics(ratio, *balanced_passes(*costs, ratio)) for ratio in ratios]
    return found


def pair_of(states: Mapping[str, PeerState]) -> tuple[str, str]:
    """Which two programs run at once: unlike ones where there are two jobs."""
    present = [job for job in (ENCRYPTION, COMPRESSION, VIDEO, PHYSICS) if job in states]
    return present[0], present[-1]


def repetitions(probe: Probe, times: Times) -> dict[str, int]:
    """So many of each job take the same time alone."""
    together = together_seconds(times)
    return {job: max(1, round(together / seconds)) for job, seconds in probe.job_seconds.items()}


def configuration(candidate: Candidate, times: Times) -> Configuration:
    work = candidate.work
    return candidate.configuration(
        candidate.label,
        work.group,
        times,
        arguments=[*work.arguments, *(["--free"] if candidate.way == FUNCTIONAL_FREE else [])],
        # the way stands where other studies have the runtime
        settings={"job": work.job, "runtime": candidate.way, "title": work.title, **work.settings},
    )


def estimated_run_seconds(candidate: Candidate, probe: Probe, times: Times) -> float:
    """What one run takes, roughly: for the sentence before the study and for the time limit."""
    work = candidate.work
    if work.job == TOGETHER:
        return _START_SECONDS + _TOGETHER_SECONDS + _SETUP_SHARE * _BATCHES * together_seconds(times)
    one = probe.job_seconds.get(work.job, 0.1)
    if work.ratio is not None and probe.collide_seconds and probe.draw_seconds:
        one = float(str(work.settings["collide_passes"])) * probe.collide_seconds
        one += float(str(work.settings["draw_passes"])) * probe.draw_seconds
    one /= candidate.workers
    timed = max(times.warmup_seconds, _WARMUPS * one) + max(times.timed_seconds, _BATCHES * one)
    return _START_SECONDS + timed
