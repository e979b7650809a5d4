"""A measured study beside its own machine's simulation: what was predicted, and how far off it was."""

from __future__ import annotations

import itertools
import statistics as plain
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import msgspec

from tautochrone.errors import TautoError
from tautochrone.results.row import Row
from tautochrone.results.runs import RunsOfOne
from tautochrone.simulator import engine
from tautochrone.simulator.machines import Machine
from tautochrone.simulator.measured_machine import (
    Record,
    measured_machine,
    placement_of,
    records_around,
    typical_record,
    with_slow_cores,
)
from tautochrone.studies.cells import state_of
from tautochrone.studies.loop.configurations import label as loop_label
from tautochrone.studies.mapreduce.configurations import label as mapreduce_label

LEAST_SIZE = 1000  # smaller matrices are all fork and join, which is measured and not predicted
NEAR_BEST = 0.05
_OPENMP_CHUNK = 32  # rows, what the runners take where nobody says
_TBB_CHUNK = 64
_LEAST_ROUNDS = 4  # from which on half of a study's rounds can be held against the other half

Config = Mapping[str, Any]


class Predicted(msgspec.Struct, frozen=True, kw_only=True):
    """One configuration in one cell: its measured median and what was simulated."""

    cell: str
    x: float  # the matrix's order, or the threads
    emulated: Mapping[str, float]
    label: str
    runtime: str
    schedule: str
    measured_seconds: float
    simulated_seconds: float
    rounds: int  # that were reported; 0: seen in the screening alone
    halves: tuple[float, float] | None  # the medians of its odd and of its even rounds, where it has both
    by_probe: tuple[float, ...] = ()  # simulated with each probe around its state's runs alone; of several

    @property
    def error(self) -> float:
        """Relative and signed: above 0 the simulation is too slow."""
        return self.simulated_seconds / self.measured_seconds - 1


class Errors(msgspec.Struct, frozen=True, kw_only=True):
    """How far a group of predictions is off."""

    runtime: str
    schedule: str
    count: int
    measured_seconds: float | None  # of one alone, where the group is one
    median: float
    p90: float
    bias: float  # the signed median


class Repeated(msgspec.Struct, frozen=True, kw_only=True):
    """How well a study predicts itself: its even rounds held against its odd ones.

    No prediction can be expected to be nearer to what was measured than the measurement is to itself.
    """

    count: int
    median: float
    p90: float
    cells: int
    near_best: int  # cells in which the even rounds' best is within NEAR_BEST of the odd rounds' best


class BesideItself(msgspec.Struct, frozen=True, kw_only=True):
    """How many times as far off the simulation is as the study is from itself, of the same configurations."""

    count: int
    median: float
    p90: float


class ProbesApart(msgspec.Struct, frozen=True, kw_only=True):
    """How far simulations by one probe each lie apart: the longest over the shortest, less 1.

    What the machine did from probe to probe is in it, and the scatter of the probe.
    """

    count: int
    median: float
    p90: float


class Agreement(msgspec.Struct, frozen=True, kw_only=True):
    """What `tauto simulate … --against` reports; with --json each of `predicted` has its `error`."""

    schema: str = "tautochrone.against/1"
    study: str
    machine_name: str
    predicted: tuple[Predicted, ...]
    groups: tuple[Errors, ...]
    together: Errors
    reported: Errors | None  # those with reported rounds alone
    cells: int
    near_best: int  # cells in which what the simulator names best is within NEAR_BEST of the measured best
    repeated: Repeated | None  # where configurations have rounds enough
    beside_itself: BesideItself | None  # of those
    probes_apart: ProbesApart | None  # where the study has several probes
    left_out: Mapping[str, int]  # what the simulator has no model of → how many


def loop_request(config: Config, machine: Machine) -> dict[str, Any] | None:
    """The simulator's request for a measured configuration; None for what it has no model of."""
    placement = placement_of(machine, list(config["cpus"]))
    if placement is None:
        return None
    request: dict[str, Any] = {"study": "loop", "size": int(config["size"]), "placement": placement}
    request["kernel"] = config.get("kernel", "tuned")
    chunk = config.get("chunk")
    runtime, schedule = config["runtime"], config["schedule"]
    if runtime == "serial":
        return request | {"runtime": "serial", "schedule": "static"}
    if runtime == "openblas":  # a kernel of its own, which no probe measures
        return None
    if runtime == "stdpar":  # oneTBB below
        return request | {"runtime": "tbb", "schedule": "auto", "chunk": chunk or _TBB_CHUNK}
    if runtime in ("openmpi", "mpich"):
        return request | {"runtime": "mpi", "schedule": schedule}
    request |= {"runtime": runtime, "schedule": schedule, "chunk": chunk or _OPENMP_CHUNK}
    if runtime == "openmp":
        request |= {"library": config["library"], "wait": config.get("wait") or "default"}
    if runtime == "tbb":
        request["chunk"] = chunk or _TBB_CHUNK
    return request


def mapreduce_request(config: Config, machine: Machine) -> dict[str, Any] | None:
    """The same for the study of short tasks."""
    runtime, schedule = config["runtime"], config["schedule"]
    modelled = {
        "serial": ("serial",),
        "tbb": ("auto",),
        "stdpar": ("par",),
        "openmp": ("dynamic", "static", "guided"),
        "qt": ("unordered",),
        "tautochrone": ("adaptive",),
    }
    threads = int(config["threads"])
    if (
        schedule not in modelled.get(runtime, ())
        or threads > machine.hardware_threads
        or config.get("wait") == "passive"
    ):
        return None
    request = {
        "study": "mapreduce",
        "tasks": int(config["tasks"]),
        "bytes": float(config["bytes"]),
        "threads": threads,
        "runtime": "tbb" if runtime == "stdpar" else runtime,
    }
    return request | ({"schedule": schedule} if runtime == "openmp" else {})


class Kind(msgspec.Struct, frozen=True):
    """What is different about each study that can be held against its simulation."""

    request: Callable[[Config, Machine], dict[str, Any] | None]
    label: Callable[[RunsOfOne], str]
    cell: Callable[[Config], tuple[object, ...]]  # runs are compared within one
    x: Callable[[Config], float]
    counts: Callable[[Config], bool]


KINDS: Mapping[str, Kind] = {
    "loop": Kind(
        loop_request,
        lambda runs: loop_label(
            runs.peer, runs.schedule, runs.chunk, str(runs.config["placement"]), runs.wait
        ),
        lambda config: (int(config["size"]),),
        lambda config: float(config["size"]),
        lambda config: int(config["size"]) >= LEAST_SIZE,
    ),
    "mapreduce": Kind(
        mapreduce_request,
        lambda runs: mapreduce_label(
            runs.peer, runs.schedule, runs.chunk, int(runs.config["threads"]), runs.wait
        ),
        lambda config: (int(config["tasks"]), int(config["bytes"])),
        lambda config: float(config["threads"]),
        lambda config: True,
    ),
}


class Slowed(msgspec.Struct, frozen=True):
    """What the emulator's calibration found, by CPU, by the state that was asked for.

    How many times slower it computes, how many times slower it reads its caches, and the seconds of a turn.
    """

    factors: Mapping[str, Mapping[str, float]] = {}
    reading_factors: Mapping[str, Mapping[str, float]] = {}
    turns: Mapping[str, Mapping[str, float]] = {}

    def machine(self, machine: Machine, state: tuple[tuple[str, float], ...]) -> Machine:
        """The machine in that state. What a study did not record is as it was asked for."""
        asked = _asked(state)
        known = self.factors.get(asked, {})
        return with_slow_cores(
            machine,
            {cpu: known.get(cpu, factor) for cpu, factor in state},
            self.turns.get(asked),
            self.reading_factors.get(asked),
        )


def compare(
    study: str, rows: Iterable[Row], records: Sequence[Record], slowed_by: Slowed | None = None
) -> Agreement:
    """Simulate what was measured on the machine that was measured.

    Each state is simulated on the machine as it was meanwhile: the host of a virtual machine is another one
    after some minutes. Raises TautoError where nothing can be compared.
    """
    kind = KINDS[study]
    contenders = _contenders(rows, kind)
    if not contenders:
        raise TautoError(
            f"the folder holds no run of the {study} study that can be compared",
            f"Name a folder that tauto study {study} has written",
        )
    left_out: Counter[str] = Counter()
    asked: dict[tuple[tuple[str, float], ...], list[tuple[RunsOfOne, float, dict[str, Any]]]] = {}
    slowed: dict[tuple[tuple[str, float], ...], Machine] = {}
    by_probe: dict[tuple[tuple[str, float], ...], list[Machine]] = {}
    times = _times_of_states(contenders)
    for contender in contenders:
        measured = contender.any_seconds
        if measured is None:
            continue
        state = state_of(contender.config)
        if state not in slowed:
            around = records_around(records, *times[state])
            slowed[state], *by_probe[state] = (
                (slowed_by or Slowed()).machine(measured_machine(typical_record(probes)), state)
                for probes in (around, *([one] for one in around if one.get("measured")))
            )
        request = kind.request(contender.config, slowed[state])
        if request is None:
            left_out[f"{contender.peer} {contender.schedule}"] += 1
        else:
            asked.setdefault(state, []).append((contender, measured, request))
    answers = iter(
        engine.simulate_many(
            [
                (machine, [request for _, _, request in runs])
                for state, runs in asked.items()
                for machine in (slowed[state], *by_probe[state])
            ]
        )
    )
    predicted = tuple(
        _predicted(kind, contender, measured, *(float(row["seconds"]) for row in simulated))
        for state, runs in asked.items()
        for (contender, measured, _), *simulated in zip(
            runs, *itertools.islice(answers, 1 + len(by_probe[state])), strict=True
        )
    )
    return summary(study, next(iter(slowed.values())).name, predicted, left_out)


def _times_of_states(
    contenders: Iterable[RunsOfOne],
) -> dict[tuple[tuple[str, float], ...], tuple[str, str]]:
    """When the first and the last run of each state began."""
    times: dict[tuple[tuple[str, float], ...], tuple[str, str]] = {}
    for contender in contenders:
        begun = [row.started for row in contender.rows]
        first, last = times.get(state_of(contender.config), (begun[0], begun[0]))
        times[state_of(contender.config)] = min(first, *begun), max(last, *begun)
    return times


def summary(
    study: str, machine_name: str, predicted: Sequence[Predicted], left_out: Mapping[str, int]
) -> Agreement:
    """The errors of all predictions by runtime and schedule, and in how many cells the best was named."""
    if not predicted:
        raise TautoError(
            "nothing of what was measured has a model in the simulator", "See docs/simulate.md for what has"
        )
    groups: dict[tuple[str, str], list[Predicted]] = {}
    cells: dict[str, list[Predicted]] = {}
    for prediction in predicted:
        groups.setdefault((prediction.runtime, prediction.schedule), []).append(prediction)
        cells.setdefault(prediction.cell, []).append(prediction)
    reported = [prediction for prediction in predicted if prediction.rounds > 0]
    repeated = _repeated(cells.values())
    return Agreement(
        study=study,
        machine_name=machine_name,
        predicted=tuple(predicted),
        groups=tuple(errors(*key, groups[key]) for key in sorted(groups)),
        together=errors("all", "", predicted),
        reported=errors("all", "", reported) if reported else None,
        cells=len(cells),
        near_best=sum(names_the_best(cell) for cell in cells.values()),
        repeated=repeated,
        beside_itself=_beside_itself(predicted, repeated),
        probes_apart=_probes_apart(predicted),
        left_out=left_out,
    )


def names_the_best(cell: Sequence[Predicted]) -> bool:
    """True where what is fastest in the simulation is within 5 % of what is fastest in the measurement."""
    named = min(cell, key=lambda prediction: prediction.simulated_seconds)
    return named.measured_seconds <= (1 + NEAR_BEST) * min(prediction.measured_seconds for prediction in cell)


def _repeated(cells: Iterable[Sequence[Predicted]]) -> Repeated | None:
    """Of each cell the configurations that have enough rounds."""
    sizes: list[float] = []
    counted = near_best = 0
    for cell in cells:
        pairs = [prediction.halves for prediction in cell if prediction.halves is not None]
        if not pairs:
            continue
        sizes += [abs(even / odd - 1) for odd, even in pairs]
        counted += 1
        named, _ = min(pairs, key=lambda pair: pair[1])
        near_best += named <= (1 + NEAR_BEST) * min(odd for odd, _ in pairs)
    if not sizes:
        return None
    return Repeated(
        count=len(sizes),
        median=plain.median(sizes),
        p90=_ninth_decile(sizes),
        cells=counted,
        near_best=near_best,
    )


def _beside_itself(predicted: Iterable[Predicted], repeated: Repeated | None) -> BesideItself | None:
    halved = [prediction for prediction in predicted if prediction.halves is not None]
    if repeated is None or not (repeated.median > 0 and repeated.p90 > 0):
        return None
    simulated = errors("all", "", halved)
    return BesideItself(
        count=len(halved), median=simulated.median / repeated.median, p90=simulated.p90 / repeated.p90
    )


def _probes_apart(predicted: Iterable[Predicted]) -> ProbesApart | None:
    sizes = [max(one.by_probe) / min(one.by_probe) - 1 for one in predicted if len(one.by_probe) > 1]
    if not sizes:
        return None
    return ProbesApart(count=len(sizes), median=plain.median(sizes), p90=_ninth_decile(sizes))


def _ninth_decile(sizes: Sequence[float]) -> float:
    if len(sizes) == 1:
        return sizes[0]
    return plain.quantiles(sizes, n=10, method="inclusive")[-1]


def errors(runtime: str, schedule: str, found: Sequence[Predicted]) -> Errors:
    """Median and 90th percentile of the absolute relative errors, and the signed median."""
    sizes = sorted(abs(prediction.error) for prediction in found)
    return Errors(
        runtime=runtime,
        schedule=schedule,
        count=len(sizes),
        measured_seconds=found[0].measured_seconds if len(found) == 1 else None,
        median=plain.median(sizes),
        p90=_ninth_decile(sizes),
        bias=plain.median(prediction.error for prediction in found),
    )


def _contenders(rows: Iterable[Row], kind: Kind) -> list[RunsOfOne]:
    found: dict[object, RunsOfOne] = {}
    for row in rows:
        config = row.config
        if kind.counts(config):
            key = (state_of(config), kind.cell(config), row.config_id)
            found.setdefault(key, RunsOfOne(config)).add(row)
    return [runs for runs in found.values() if runs.any_seconds is not None]


def _asked(state: tuple[tuple[str, float], ...]) -> str:
    return "+".join(f"{cpu}:{factor:g}" for cpu, factor in state)


def _predicted(kind: Kind, one: RunsOfOne, measured: float, simulated: float, *by_probe: float) -> Predicted:
    points = one.points
    state = _asked(state_of(one.config))
    return Predicted(
        cell=f"{'/'.join(map(str, kind.cell(one.config)))} {state}".strip(),
        x=kind.x(one.config),
        emulated=dict(state_of(one.config)),
        label=kind.label(one),
        runtime=one.peer,
        schedule=one.schedule,
        measured_seconds=measured,
        simulated_seconds=simulated,
        rounds=len(points),
        halves=(plain.median(points[::2]), plain.median(points[1::2]))
        if len(points) >= _LEAST_ROUNDS
        else None,
        by_probe=by_probe,
    )
