"""From rows to cells: what each configuration took in a cell, and who is compared with whom."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from tautochrone import models, statistics
from tautochrone.report.analysis_types import PeerRatio
from tautochrone.report.loop.analysis_types import Cell, ConfigurationTime
from tautochrone.report.spent import longest, spent_of
from tautochrone.row import Row
from tautochrone.runners import PEER_BY_NAME
from tautochrone.studies.contenders import OURS, RunsOfOne, ratio
from tautochrone.studies.loop.configurations import label


@dataclass(slots=True)
class Contender(RunsOfOne):
    """One configuration in one cell with all its runs. Times are seconds of one loop iteration."""

    @property
    def placement(self) -> str:
        """The name of the CPUs it ran on."""
        return str(self.config["placement"])

    @property
    def label(self) -> str:
        """For people."""
        return label(self.peer, self.schedule, self.chunk, self.placement, self.wait)

    @property
    def is_default(self) -> bool:
        """True for what one gets who sets nothing."""
        peer = PEER_BY_NAME.get(self.peer)
        return (
            peer is not None
            and self.schedule == peer.default_schedule
            and self.placement == "all"
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
        for one in self.contenders:
            key = (one.peer, one.schedule, one.placement, one.wait, one.chunk)
            if key == (peer, schedule, placement, "default", None) and one.by_round:
                return one
        return None

    @property
    def ours(self) -> Contender | None:
        """Tautochrone with no settings."""
        return self.find(OURS, "adaptive", "all")

    @property
    def plain_openmp(self) -> Contender | None:
        """The plain pragma on libgomp, or where that was not measured on libomp: what most programs do."""
        return self.find("libgomp", "pragma", "all") or self.find("libomp", "pragma", "all")

    @property
    def unequal(self) -> bool:
        """True where slow cores were used beside fast ones."""
        return any(one.placement == "slow" for one in self.contenders)

    @property
    def finalists(self) -> list[Contender]:
        """Contenders with rounds that are reported, the fastest first; the slow cores alone are none."""
        found = [one for one in self.contenders if one.by_round and one.placement != "slow"]
        return sorted(found, key=lambda one: one.seconds or 0.0)

    @property
    def serial(self) -> Contender | None:
        """The serial loop on the fastest CPU that it was measured on."""
        return min(self._serial(), key=lambda one: one.seconds or 0.0, default=None)

    def _serial(self) -> Iterator[Contender]:
        return (one for one in self.contenders if one.peer == "serial" and one.by_round)

    @property
    def best_peer(self) -> Contender | None:
        """The fastest finalist that is not ours: the serial loop counts, since nobody has to go parallel."""
        return next((one for one in self.finalists if one.peer != OURS), None)

    @property
    def fast_alone(self) -> Contender | None:
        """Equal shares on the fast cores alone: T_P."""
        return self._alone("fast")

    @property
    def slow_alone(self) -> Contender | None:
        """Equal shares on the slow cores alone: T_E."""
        return self._alone("slow")

    def _alone(self, placement: str) -> Contender | None:
        found = (self.find(peer, "static", placement) for peer in ("libgomp", OURS))
        return next(filter(None, found), None) or self.find("serial", "serial", placement)

    def bound_seconds(self) -> float | None:
        """T* from the fast and the slow cores alone; on equal cores from the serial loop on each of them."""
        if self.unequal:
            fast, slow = self.fast_alone, self.slow_alone
            if fast is None or slow is None or fast.seconds is None or slow.seconds is None:
                return None
            return models.bound_seconds(fast.seconds, slow.seconds)
        alone = [one.seconds for one in self._serial() if one.seconds is not None]
        ours = self.ours
        width = int(ours.config["threads"]) if ours is not None else 0
        if not alone or not width:
            return None
        if len(alone) == width:
            return models.ideal_seconds_from_times_alone(alone)
        return models.ideal_seconds_from_times_alone([min(alone)] * width)


def collect(rows: Iterable[Row]) -> list[CellRuns]:
    """Rows (measured and screening) sorted into cells: the machine as it is first, then by size."""
    cells: dict[tuple[tuple[tuple[str, float], ...], int], CellRuns] = {}
    contenders: dict[tuple[object, str], Contender] = {}
    for row in rows:
        config = row["config"]
        emulated = {str(cpu): float(factor) for cpu, factor in (config.get("emulated") or {}).items()}
        key = (tuple(sorted(emulated.items())), int(config["size"]))
        cell = cells.setdefault(key, CellRuns(key[1], emulated))
        contender = contenders.get((key, row["config_id"]))
        if contender is None:
            contender = contenders[(key, row["config_id"])] = Contender(config)
            cell.contenders.append(contender)
        contender.add(row)
    return [cells[key] for key in sorted(cells)]


def report_cell(runs: CellRuns) -> Cell:
    """The cell as the report wants it."""
    best, ours, serial = runs.best_peer, runs.ours, runs.serial
    sequential = serial.seconds if serial is not None else None
    bound = runs.bound_seconds()
    slowest = longest(one.any_seconds for one in runs.contenders)
    return Cell(
        size=runs.size,
        emulated=runs.emulated,
        best_peer=best.label if best is not None else None,
        best_peer_seconds=best.seconds if best is not None else None,
        tautochrone_seconds=ours.seconds if ours is not None else None,
        ratio=ratio(ours, best),
        bound_seconds=bound,
        bound_speedup=sequential / bound if sequential is not None and bound is not None else None,
        sequential_seconds=sequential,
        fast_seconds=_seconds(runs.fast_alone),
        slow_seconds=_seconds(runs.slow_alone),
        configurations=tuple(_configuration_time(one, slowest) for one in runs.contenders),
        peer_ratios=tuple(_peer_ratios(runs)),
    )


def _seconds(contender: Contender | None) -> float | None:
    return None if contender is None else contender.seconds


def _configuration_time(one: Contender, longest_seconds: float | None) -> ConfigurationTime:
    points = one.points
    interval = statistics.median_interval(points) if points else None
    description = (one.last or {}).get("detail") or {}
    version = description.get("library_version") or ""
    seconds = one.any_seconds
    return ConfigurationTime(
        label=one.label,
        runtime=one.peer,
        library=f"{description.get('library') or one.peer} {version}".strip(),
        schedule=one.schedule,
        chunk=one.chunk,
        placement=one.placement,
        wait=one.wait,
        threads=int(one.config["threads"]),
        cores=one.config.get("cores") or {},
        seconds=seconds,
        low=interval.low if interval is not None else None,
        high=interval.high if interval is not None else None,
        points=points,
        rounds=len(points) or len(one.screened),
        is_default=one.is_default,
        is_finalist=bool(points),
        spent=spent_of(one.rows, longest_seconds),
        error=one.errors[0] if seconds is None and one.errors else None,
    )


def _peer_ratios(runs: CellRuns) -> Iterator[PeerRatio]:
    """Ours against each peer's best finalist and against what it does with no settings."""
    best_of: dict[str, Contender] = {}
    for one in runs.finalists:
        if one.peer not in (OURS, "serial"):
            best_of.setdefault(one.peer, one)
    for peer, best in best_of.items():
        yield PeerRatio(runtime=peer, configuration=best.label, role="best", ratio=ratio(runs.ours, best))
    for one in runs.finalists:
        if one.is_default and one.peer not in (OURS, "serial"):
            yield PeerRatio(
                runtime=one.peer, configuration=one.label, role="default", ratio=ratio(runs.ours, one)
            )
