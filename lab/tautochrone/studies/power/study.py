"""``tauto study power``: what is asked, what runs, in which order."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

from tautochrone.errors import TautoError
from tautochrone.machine.placements import Layout
from tautochrone.machine.policy.knobs import Knobs
from tautochrone.machine.record import machine_of
from tautochrone.machine.runners import PeerState
from tautochrone.measuring.configuration import Configuration
from tautochrone.measuring.executor import Executor, RunResult
from tautochrone.options import Option, words_of
from tautochrone.results import USUAL_FOLDER
from tautochrone.results import context as contexts
from tautochrone.results.context import NotMeasured
from tautochrone.results.row import Row
from tautochrone.results.spent import METERED
from tautochrone.results.store import Store
from tautochrone.studies import models
from tautochrone.studies.disturbance import others_share
from tautochrone.studies.power.cells import ROWS, collect, jobs_of, report_job, report_setups
from tautochrone.studies.power.cells import pair_of as cell_of_pair
from tautochrone.studies.power.claims import claims
from tautochrone.studies.power.configurations import (
    PEERS,
    PHYSICS,
    SERIAL,
    TOGETHER,
    WEIGHTED,
    Candidate,
    candidates,
    configuration,
    estimated_run_seconds,
    pair_of,
    repetitions,
    thread_counts,
    together,
    works,
)
from tautochrone.studies.power.findings import PowerAnalysis, PowerContext, Probe
from tautochrone.studies.power.first import first_screen
from tautochrone.studies.power.policies import UnderPolicy, stored
from tautochrone.studies.power.recommendations import recommendations
from tautochrone.studies.power.sentences import (
    imbalance_advice,
    settings_to_paste,
    verdict_sentences,
    why_no_energy,
)
from tautochrone.studies.request import OUTPUT, StudyRequest, Times, peers_option
from tautochrone.studies.services import Services
from tautochrone.studies.study import Run, Study

QUICK_RATIOS = (1.0, 4.0)
FULL_RATIOS = (1.0, 2.0, 4.0, 8.0)
LARGEST_RATIO = 64.0
# A meter reads the whole process: beside it the timed part must be long, so that the mean power is its own.
METERED_QUICK_SECONDS, METERED_FULL_SECONDS = 1.0, 2.0

_BYTES_OF_A_BODY = 64.0  # its place, its speed and its shape, at least
# What the kernel counts of a thread, and what the clock says, differ by a tick.
_CLOCKS_AGREE, _CLOCKS_DIFFER_SECONDS = 1.02, 0.01
_PROBE_LIMIT_SECONDS = 60.0
_PROBE_RUNS = 3


def parse_ratios(text: str) -> tuple[float, ...]:
    """``"1,4"`` → (1.0, 4.0). Raises TautoError for any other word."""
    ratios: set[float] = set()
    for word in words_of(text, "--ratios"):
        if not re.fullmatch(r"[0-9]+(\.[0-9]+)?", word) or not 1.0 <= float(word) <= LARGEST_RATIO:
            raise TautoError(
                f"{word!r} is not a ratio of costs", f"Write numbers from 1 to {LARGEST_RATIO:g}, such as 1,4"
            )
        ratios.add(float(word))
    return tuple(sorted(ratios))


@dataclass(frozen=True, slots=True, kw_only=True)
class PowerRequest(StudyRequest):
    """The options of ``tauto study power``. None means "choose for me"."""

    output: Annotated[Path, OUTPUT] = USUAL_FOLDER / "power"
    ratios: Annotated[
        tuple[float, ...] | None,
        Option(
            "Cost of the physics' first function relative to its second. Default: 1, 2, 4 and 8.",
            "N,N,…",
            parse_ratios,
        ),
    ] = None
    peers: Annotated[
        tuple[str, ...] | None, peers_option("encryption, compression, video, physics, together.", "--jobs")
    ] = None

    @property
    def wanted(self) -> tuple[float, ...]:
        """What the physics' first function costs by its second, ascending."""
        return self.ratios or (QUICK_RATIOS if self.quick else FULL_RATIOS)


class Power(Study[PowerRequest, PowerContext, PowerAnalysis]):
    """Measure what threads cost and gain: time, imbalance and, where there is a meter, energy.

    Compares one thread with encryption by blocks and by files (OpenSSL), compression (zstd's own workers),
    video encoding by frames, by slices and by clips (x264), and a small physics engine shared by its bodies
    and by its functions, balanced and not; then two programs at once, free and pinned. Writes every run as it
    ends: interrupt it when you like, start it again, and it goes on.

    \b
    Examples:
      tauto study power --quick
      tauto study power --jobs physics --ratios 1,4,16
      tauto study power --quick --policies            once under each frequency policy (root)
    """  # noqa: D301

    NAME = "power"
    REQUEST = PowerRequest
    CONTEXT = PowerContext
    PEERS = PEERS
    ROWS = ROWS
    SETTINGS = (
        "threads pinned one to a CPU unless it is said; the own threads of zstd and x264 go where the system "
        "puts them"
    )
    ANSWER = "answer"
    QUICK = Times(0.02, 0.1, 12)  # the fewest rounds of which one may disagree: of 8 to 11 all must agree
    FULL = Times(0.1, 0.5, 15)
    candidates: list[Candidate]

    def prepare(self) -> None:
        """Check that there is a job, and say what the machine does not permit."""
        if not any(state.peer.name != TOGETHER for state in self.peers):
            raise TautoError(
                "no job can be measured here", "Build the runners (make), or name a job with --jobs"
            )
        self.left_out += _refused(self.peers, len(self.layout().placement("cores").cpus))

    @property
    def jobs(self) -> Mapping[str, PeerState]:
        return {state.peer.name: state for state in self.peers}

    def probe(self, executor: Executor) -> None:
        """How long each job takes alone: from a folder whose work this is to be, else from runs."""
        needed = set(self.jobs) - {TOGETHER}
        for known in self.contexts_to_share():
            if known.probe is not None and needed <= set(known.probe.job_seconds):
                self.context.probe = known.probe
                return
        self.context.probe = probe(self.jobs, self.layout(), executor)

    @property
    def probed(self) -> Probe:
        return self.context.probe or Probe()

    @property
    def times(self) -> Times:
        """As in all studies; longer runs where they are metered."""
        times = super().times
        if not self.probed.metered:
            return times
        quick = self.request.quick
        return replace(times, timed_seconds=METERED_QUICK_SECONDS if quick else METERED_FULL_SECONDS)

    @property
    def work(self) -> str:
        return "; ".join(dict.fromkeys(candidate.work.title for candidate in self.candidates))

    def runs(self) -> list[Run]:
        """Every way to share every job, two programs at once last."""
        self.context.knobs = {knob: value for knob, value in Knobs().now().items() if value is not None}
        seen = self.layout()
        counts = thread_counts(len(seen.placement("cores").cpus), quick=self.request.quick)
        self.candidates = [
            candidate
            for work in works(self.jobs, self.probed, self.request.wanted)
            for candidate in candidates(work, self.jobs[work.job], seen, counts)
        ]
        if TOGETHER in self.jobs:
            both, often = pair_of(self.jobs), repetitions(self.probed, self.times)
            self.candidates += together(self.jobs[TOGETHER], seen, both, often)
        return [
            Run(
                candidate,
                configuration(candidate, self.times),
                estimated_run_seconds(candidate, self.probed, self.times),
            )
            for candidate in self.candidates
        ]

    def has_answer(self, settings: Mapping[str, Any]) -> bool:
        """Two programs at once check their own results."""
        return bool(settings["job"] != TOGETHER)

    def least_seconds(self, settings: Mapping[str, Any], record: Mapping[str, Any]) -> float:
        """To read all bytes once, or each body once a step."""
        bodies = (record.get("bodies") or 0.0) * (record.get("steps") or 0.0)
        read = (record.get("bytes") or 0.0) + _BYTES_OF_A_BODY * bodies
        return models.least_seconds(read, self.machine, "cache_bytes_per_second", len(settings["cpus"]))

    def contradiction(self, record: Mapping[str, Any]) -> str | None:
        """No thread has more CPU time than a repetition lasts, and no program of two more than both."""
        seconds, mean = record.get("seconds"), record.get("mean_seconds")
        busy = max((worker["busy_seconds"] for worker in record.get("workers") or ()), default=0.0)
        if mean is not None and busy > _CLOCKS_AGREE * mean + _CLOCKS_DIFFER_SECONDS:
            return f"says that a thread computed for {busy:.3g} s of a repetition's {mean:.3g} s"
        longest = max((program["seconds"] for program in record.get("programs") or ()), default=0.0)
        if seconds is not None and longest > _CLOCKS_AGREE * seconds:
            return f"says that two programs took {seconds:.3g} s, but one of them {longest:.3g} s"
        return None

    @classmethod
    def analyse(
        cls,
        rows: Sequence[Row],
        machine: Mapping[str, Any],
        context: PowerContext,
        under: Sequence[UnderPolicy] = (),
    ) -> PowerAnalysis:
        """The findings; `under`: the same study under each frequency policy, this one among them."""
        cells = collect(rows)
        jobs, pair = jobs_of(cells), cell_of_pair(cells)
        advised = recommendations(cells, context.knobs)
        no_energy = why_no_energy(rows)
        reported, setups = tuple(map(report_job, jobs)), report_setups(pair) if pair is not None else ()
        return PowerAnalysis(
            verdict_sentences=verdict_sentences(cells, advised, no_energy, others_share(rows, machine)),
            first=first_screen(reported, setups),
            jobs=reported,
            setups=setups,
            pair=pair.title.removesuffix(" at once") if pair is not None else "",
            recommendations=advised,
            imbalance_advice=tuple(
                f"{cell.title}: {advice}" for cell in jobs if (advice := imbalance_advice(cell))
            ),
            no_energy=no_energy,
            settings_to_paste=settings_to_paste(cells),
            claims=claims(cells, advised, no_energy, context.knobs, under),
            **context.reported,
        )

    @classmethod
    def stored(cls, store: Store) -> PowerAnalysis:
        """The analysis of a folder's rows, with the same study under other policies beside it."""
        context = cls.known_beside(store)
        under = stored(store.folder, context.policies, cls.known_of)
        rows, machine = cls.rows_of(store), machine_of(store)
        return cls.decided(cls.analyse(rows, machine, context, under), rows, machine)

    @classmethod
    def conclude_policies(
        cls, folders: Sequence[Path], request: StudyRequest, services: Services | None = None
    ) -> None:
        """Say what the same study under each policy tells, and write it into the first one's report."""
        services = services or Services()
        first = folders[0]
        context = cls.known_of(first)
        context.policies = tuple(folder.name for folder in folders)
        contexts.save(context, first)
        with Store.read(first) as store:
            analysis = cls.stored(store)
        words = {True: "holds", False: "does not hold", None: "not told by these rows"}
        for claim in analysis.claims:
            if claim.id in ("P3", "P4"):
                services.say(f"{claim.id} {words[claim.holds]}: {claim.ours}. Published: {claim.published}.")
        if request.report:
            services.say(f"Report: {cls.report_again(first)}")


def _refused(states: Sequence[PeerState], cpus: int) -> list[NotMeasured]:
    """What the machine does not let us do with two programs, or with one CPU."""
    found: list[NotMeasured] = []
    if cpus < 2:
        found.append(
            NotMeasured(
                what="threads that share a job, and two programs at once",
                why="only 1 CPU may be used here",
                remedy="Start without taskset, or widen the container's cpuset",
            )
        )
    for state in states:
        known = state.description.schedules if state.description is not None else ()
        if state.peer.name == TOGETHER and not set(WEIGHTED) <= set(known):
            found.append(
                NotMeasured(
                    what="two programs in control groups of different weight",
                    why="this process may make no control group with a share of the CPU time",
                    remedy="Start it under sudo systemd-run --scope -p Delegate=yes, or under systemd-run "
                    "--user --scope -p Delegate=yes where the user's manager may share out CPU time",
                )
            )
    return found


def probe(states: Mapping[str, PeerState], layout: Layout, executor: Executor) -> Probe:
    """What one repetition of each job takes on one thread, the least of some runs; and whether joules came.

    Raises TautoError where a runner fails: then nothing of its job could be measured either.
    """
    cpu = layout.placement("cores", 1).cpus[0]
    seconds: dict[str, float] = {}
    functions: dict[str, float] = {}
    metered = False
    for job, state in states.items():
        if job == TOGETHER:
            continue
        results = [_probed(state, cpu, executor) for _ in range(_PROBE_RUNS)]
        records = [result.record for result in results]
        metered = metered or any((result.energy or {}).get("status") == METERED for result in results)
        seconds[job] = min(_positive(record, "seconds", state) for record in records)
        if job == PHYSICS:
            names = ("collide_seconds", "draw_seconds")
            functions = {name: min(_positive(record, name, state) for record in records) for name in names}
    return Probe(job_seconds=seconds, metered=metered, **functions)


def _probed(state: PeerState, cpu: int, executor: Executor) -> RunResult:
    command = [str(state.path), "--schedule", SERIAL, "--threads", "1", "--cpus", str(cpu)]
    command += ["--warmup-seconds", "0.02", "--min-seconds", "0.1"]
    settings: dict[str, object] = {"runtime": SERIAL, "job": state.peer.name, "probe": True}
    asked = Configuration(f"probe of {state.peer.title}", command, state.environment, settings)
    result = executor.run(asked, _PROBE_LIMIT_SECONDS)
    if result.error is not None:
        raise TautoError(
            f"{state.peer.runner} failed before the study began: {result.error.message}",
            f"Start it by hand to see why: {' '.join(command)}",
        )
    return result


def _positive(record: Mapping[str, Any], name: str, state: PeerState) -> float:
    value = record.get(name)
    if not isinstance(value, int | float) or not value > 0:
        raise TautoError(
            f"{state.peer.runner} said that {name} is {value!r}; expected a positive number",
            "It may be of another version: build it again (make)",
        )
    return float(value)
