"""Tasks of one kind as a contest: ours with no settings against all that the peers' runners offer.

Choosing goes from coarse to fine: a round of every schedule with some chunks, a round of the other chunks and
wait policies of the fastest, then halving. Only fresh rounds are reported.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from benchmarks.choosing import fastest
from benchmarks.context import Bench, Budget, Context
from tautochrone.configuration import Configuration
from tautochrone.errors import TautoError
from tautochrone.runners import MAPREDUCE_PEERS, PeerState

STUDY = "mapreduce"
CHUNKS = (1, 4, 16, 64, 128, 256)
COARSE_CHUNKS = (1, 16, 128)
WAITS = ("default", "active")
RIVALS = tuple(peer.name for peer in MAPREDUCE_PEERS if peer.name not in ("serial", "tautochrone"))
_TIMES = ("--warmup-seconds", "0.05", "--min-seconds", "0.1")
_QUICK = ("--warmup-seconds", "0.02", "--min-seconds", "0.03")  # to choose: peers have nothing to learn
_LONG_BYTES = 50_000_000  # hashed by one loop: 65 ms on one core
_HOPELESS = 1.15  # a schedule this much slower than the best gets no second look
_REFINED = 4  # schedules whose other chunks and waits are tried
_REFINING_SHARE = 0.5  # of the time that the first round left


@dataclass(frozen=True)
class Tasks:
    """A number of tasks of about `label` each; `bytes` are hashed by one."""

    number: int
    bytes: int
    label: str

    @property
    def cell(self) -> str:
        """As in ``50x0.4ms``."""
        return f"{self.number}x{self.label}"

    @property
    def name(self) -> str:
        """In words."""
        return f"{self.number:,} tasks of {self.label}"


@dataclass(frozen=True)
class Way:
    """One way in which a peer can do tasks, with its command."""

    peer: str
    schedule: str
    chunk: int | None
    wait: str
    made: Configuration

    @property
    def kin(self) -> tuple[str, str]:
        """What it shares with its relatives."""
        return self.peer, self.schedule

    @property
    def is_coarse(self) -> bool:
        """Whether it is tried first."""
        return self.wait == "default" and (self.chunk is None or self.chunk in COARSE_CHUNKS)


def ours(context: Context, tasks: Tasks, schedule: str = "adaptive") -> Configuration:
    """Tautochrone on both CPUs, with the default wait policy."""
    return _made(context, context.peer("tautochrone", STUDY), tasks, schedule)


def alone(context: Context, tasks: Tasks) -> list[Configuration]:
    """The serial loop on each CPU by itself, over `few_alone` of the tasks."""
    state, few = context.peer("serial", STUDY), replace(tasks, number=few_alone(tasks))
    made = [_made(context, state, few, "serial", cpus=(cpu,)) for cpu in context.cpus]
    return [replace(one, group=tasks.cell) for one in made]


def few_alone(tasks: Tasks) -> int:
    """How many tasks say what one takes on a core; all of 1,000 tasks would take a slow one seconds."""
    return min(tasks.number, 100)


def ways(context: Context, tasks: Tasks) -> list[Way]:
    """Every schedule, chunk and wait policy of every peer that is here.

    A chunk that would leave a member without any is no way to share tasks out.
    """
    return [way for name in RIVALS for way in _ways_of(context, context.peer(name, STUDY), tasks)]


def _ways_of(context: Context, state: PeerState, tasks: Tasks) -> Iterator[Way]:
    described = state.description
    if described is None:
        return
    sensible = [chunk for chunk in CHUNKS if chunk * len(context.cpus) <= tasks.number]
    for schedule in described.schedules:
        chunks: Sequence[int | None] = sensible if schedule in described.schedules_with_chunk else [None]
        for chunk in chunks:
            for wait in WAITS:
                if wait == "default" or wait in described.wait_policies:
                    made = _made(context, state, tasks, schedule, chunk, wait)
                    yield Way(state.peer.name, schedule, chunk, wait, made)


def _made(
    context: Context,
    state: PeerState,
    tasks: Tasks,
    schedule: str,
    chunk: int | None = None,
    wait: str = "default",
    cpus: Sequence[int] | None = None,
) -> Configuration:
    if state.path is None:
        raise TautoError(state.reason, state.remedy)
    where = list(cpus or context.cpus)
    name = state.peer.name if cpus is None else f"{state.peer.name} on CPU {where[0]}"
    command = [str(state.path), "--tasks", str(tasks.number), "--bytes", str(tasks.bytes)]
    command += ["--threads", str(len(where)), "--cpus", ",".join(map(str, where)), "--schedule", schedule]
    command += [] if chunk is None else ["--chunk", str(chunk)]
    command += [] if wait == "default" else ["--wait", wait]
    settings = {"runtime": state.peer.name, "tasks": tasks.number, "bytes": tasks.bytes, "schedule": schedule}
    settings |= {"chunk": chunk, "wait": wait, "cpus": where}
    label = f"{name} {schedule}" + (f", chunk {chunk}" if chunk is not None else "")
    label += f", {wait} wait" if wait != "default" else ""
    return Configuration(label, [*command, *_TIMES], state.environment, settings, tasks.cell)


def quickly(one: Configuration) -> Configuration:
    """The same configuration in a shorter run; one timed loop will do where it is long."""
    words = [*one.command[: -len(_TIMES)], *_QUICK]
    if int(str(one.settings["tasks"])) * int(str(one.settings["bytes"])) > _LONG_BYTES:
        words += ["--max-iterations", "1"]
    return replace(one, command=words)


def best_way(bench: Bench, found: Sequence[Way], budget: Budget) -> Configuration | None:
    """The fastest of `found`; None where none of them ran."""
    tried = [one for one in found if one.is_coarse]
    bench.screen(_quick(tried), 1, budget.left)
    tried += _relatives(bench, found, tried, budget)
    best = fastest(bench, _quick(tried), budget)
    return next((one.made for one in tried if best and one.made.config_id == best.config_id), None)


def _quick(found: Sequence[Way]) -> list[Configuration]:
    return [quickly(one.made) for one in found]


def _relatives(bench: Bench, found: Sequence[Way], tried: Sequence[Way], budget: Budget) -> list[Way]:
    """The other chunks and waits of the fastest schedules, the fastest schedule's first, as time allows."""
    timed = [(seconds, one) for one in tried if (seconds := bench.screened_seconds(one.made)) is not None]
    if not timed:
        return []
    timed.sort(key=lambda pair: pair[0])
    best, leader = timed[0]
    near = [one.kin for seconds, one in timed if seconds <= _HOPELESS * best]
    kins = list(dict.fromkeys(near))[:_REFINED]
    others = [one for kin in kins for one in found if one.kin == kin and not one.is_coarse]
    affordable = _REFINING_SHARE * budget.left / max(1e-3, bench.elapsed_seconds(leader.made))
    return others[: int(affordable)]
