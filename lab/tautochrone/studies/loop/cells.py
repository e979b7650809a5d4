"""From rows to cells: what each configuration took in a cell, and who is compared with whom."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from tautochrone.results.row import Amount, Count, Row
from tautochrone.results.runs import OURS, ratio
from tautochrone.results.spent import longest
from tautochrone.simulator.requests import TUNED
from tautochrone.studies import cells, models, row_types
from tautochrone.studies.cells import contenders_of, emulated_of, measured_fields, peer_ratios, state_of
from tautochrone.studies.loop.configurations import PEER_BY_NAME, label
from tautochrone.studies.loop.findings import Cell, ConfigurationTime, LoopWork, Waiting


class LoopConfig(row_types.Config, kw_only=True):
    """What the study reads of a row's ``config``."""

    placement: str
    size: Annotated[int, Meta(ge=1, lt=1 << 53)]
    kernel: str = TUNED


class RecordedWorker(msgspec.Struct, frozen=True):
    """Seconds in which a thread worked on a CPU."""

    thread: Count
    cpu: Count
    working_seconds: Annotated[float, Meta(ge=0)]


class RecordedLoop(msgspec.Struct, frozen=True):
    """One loop; ``working_seconds`` by thread."""

    seconds: Amount
    working_seconds: tuple[Annotated[float, Meta(ge=0)], ...]


class RecordedWaiting(msgspec.Struct, frozen=True):
    """What a runner prints of who worked in its loops."""

    loops: Count
    seconds: Amount
    workers: tuple[RecordedWorker, ...]
    first_loops: tuple[RecordedLoop, ...] = ()


class LoopDetail(row_types.Detail, kw_only=True):
    """What it reads of what a runner prints."""

    bytes_per_iteration: Amount | None = None
    width: Count | None = None
    waiting: RecordedWaiting | None = None


class LoopWorker(row_types.Worker, kw_only=True):
    """The rows of the matrix that a thread computed, and where."""

    cpu: Count
    rows: Count


ROWS = row_types.RowTypes(config=LoopConfig, detail=LoopDetail, worker=LoopWorker)


class Contender(cells.Contender):
    """One configuration in one cell with all its runs. Times are seconds of one loop iteration."""

    @property
    def placement(self) -> str:
        return str(self.config["placement"])

    @property
    def label(self) -> str:
        return label(self.peer, self.schedule, self.chunk, self.placement, self.wait)

    @property
    def is_default(self) -> bool:
        peer = PEER_BY_NAME.get(self.peer)
        return (
            peer is not None
            and self.schedule == peer.default_schedule
            and self.placement in (("all", "cores") if self.peer == OURS else ("all",))
            and self.wait == "default"
            and self.chunk is None
        )


@dataclass(slots=True)
class CellRuns:
    """All contenders of a cell: one matrix size on one state of the machine."""

    size: int
    emulated: Mapping[str, float]
    contenders: list[Contender] = field(default_factory=list)

    def find(self, peer: str, schedule: str, placement: str) -> Contender | None:
        """The contender without chunk and with the default wait policy, if it was measured."""
        wanted = (peer, schedule, placement, "default", None)
        for each in self.contenders:
            setting = (each.peer, each.schedule, each.placement, each.wait, each.chunk)
            if setting == wanted and each.by_round:
                return each
        return None

    @property
    def ours(self) -> Contender | None:
        return self.find(OURS, "adaptive", "cores") or self.find(OURS, "adaptive", "all")

    @property
    def plain_openmp(self) -> Contender | None:
        """The plain pragma on libgomp, or where that was not measured on libomp: what most programs do."""
        return self.find("libgomp", "pragma", "all") or self.find("libomp", "pragma", "all")

    @property
    def kernel(self) -> str:
        """What computed a row of the product: tuned, or published."""
        return str(self.contenders[0].config.get("kernel", TUNED))

    @property
    def unequal(self) -> bool:
        """True where slow cores were used beside fast ones."""
        return any(contender.placement == "slow" for contender in self.contenders)

    @property
    def finalists(self) -> list[Contender]:
        """Contenders with rounds that are reported, the fastest first, without the slow cores alone."""
        reported = [each for each in self.contenders if each.by_round and each.placement != "slow"]
        return sorted(reported, key=lambda contender: contender.seconds or 0.0)

    @property
    def serial(self) -> Contender | None:
        """The serial loop on the fastest CPU that it was measured on."""
        return min(self._serial(), key=lambda contender: contender.seconds or 0.0, default=None)

    def _serial(self) -> Iterator[Contender]:
        return (each for each in self.contenders if each.peer == "serial" and each.by_round)

    @property
    def best_peer(self) -> Contender | None:
        """The fastest finalist that is not ours; the serial loop counts: nobody has to run in parallel."""
        return next((rival for rival in self.finalists if rival.peer != OURS), None)

    @property
    def fast_alone(self) -> Contender | None:
        """Equal shares on the fast cores alone: T_P."""
        return self._alone("fast")

    @property
    def slow_alone(self) -> Contender | None:
        """Equal shares on the slow cores alone: T_E."""
        return self._alone("slow")

    def _alone(self, placement: str) -> Contender | None:
        return (
            self.find("libgomp", "static", placement)
            or self.find(OURS, "static", placement)
            or self.find("serial", "serial", placement)
        )

    def bound_seconds(self) -> float | None:
        """T* from the fast and the slow cores alone; on equal cores from the serial loop on each of them."""
        if self.unequal:
            fast, slow = self.fast_alone, self.slow_alone
            if fast is None or slow is None or fast.seconds is None or slow.seconds is None:
                return None
            return models.bound_seconds(fast.seconds, slow.seconds)
        alone = [seconds for serial in self._serial() if (seconds := serial.seconds) is not None]
        ours = self.ours
        width = ours.threads if ours is not None else 0
        if not alone or not width:
            return None
        if len(alone) == width:
            return models.ideal_seconds_from_times_alone(alone)
        return models.ideal_seconds_from_times_alone([min(alone)] * width)


def waiting_of(record: Mapping[str, Any]) -> Waiting | None:
    """Who worked and who waited, from what a runner printed; None where it does not tell."""
    printed = record.get("waiting")
    if not printed:
        return None
    recorded = msgspec.convert(printed, RecordedWaiting)
    cpus = {worker.thread: str(worker.cpu) for worker in recorded.workers}
    working: Counter[str] = Counter()
    for worker in recorded.workers:
        working[str(worker.cpu)] += worker.working_seconds  # type: ignore[assignment]
    if not working:
        return None
    first = (_loop_work(loop, cpus) for loop in recorded.first_loops)
    return Waiting(
        loops=recorded.loops,
        seconds=recorded.seconds,
        working=dict(sorted(working.items())),
        first=tuple(first),
    )


def _loop_work(loop: RecordedLoop, cpus: Mapping[int, str]) -> LoopWork:
    """By CPU: a thread that moved counts where it was seen last."""
    working = dict.fromkeys(cpus.values(), 0.0)
    for thread, seconds in enumerate(loop.working_seconds):
        if thread in cpus:
            working[cpus[thread]] += seconds
    return LoopWork(seconds=loop.seconds, working=working)


def collect(rows: Iterable[Row]) -> list[CellRuns]:
    """Rows (measured and screening) sorted into cells: the unmodified machine first, then by size."""
    found = contenders_of(rows, lambda row: (state_of(row.config), row.config["size"]), Contender)
    return [
        CellRuns(int(size), emulated_of(contenders[0].config), contenders)
        for (_, size), contenders in sorted(found.items(), key=lambda item: item[0])
    ]


def report_cell(runs: CellRuns) -> Cell:
    best, ours = runs.best_peer, runs.ours
    sequential, bound = _seconds(runs.serial), runs.bound_seconds()
    slowest = longest(contender.any_seconds for contender in runs.contenders)
    return Cell(
        size=runs.size,
        emulated=runs.emulated,
        best_peer=best.label if best is not None else None,
        best_peer_seconds=_seconds(best),
        tautochrone_seconds=_seconds(ours),
        ratio=ratio(ours, best),
        bound_seconds=bound,
        bound_speedup=sequential / bound if sequential is not None and bound is not None else None,
        sequential_seconds=sequential,
        fast_seconds=_seconds(runs.fast_alone),
        slow_seconds=_seconds(runs.slow_alone),
        configurations=tuple(_configuration_time(contender, slowest) for contender in runs.contenders),
        # each peer at its best, then each with no settings
        peer_ratios=tuple(sorted(peer_ratios(ours, runs.finalists), key=lambda peer: peer.role)),
    )


def _seconds(contender: Contender | None) -> float | None:
    return None if contender is None else contender.seconds


def _configuration_time(contender: Contender, longest_seconds: float | None) -> ConfigurationTime:
    return ConfigurationTime(
        library=contender.library,
        schedule=contender.schedule,
        chunk=contender.chunk,
        placement=contender.placement,
        wait=contender.wait,
        threads=contender.threads,
        cores=contender.config.get("cores") or {},
        waiting_share=waiting.whole_share if (waiting := waiting_of(contender.detail)) else None,
        is_finalist=bool(contender.by_round),
        **measured_fields(contender, longest_seconds),
    )
