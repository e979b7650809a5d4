"""Jobs on the nodes that a launcher gives: Slurm's srun, ssh, or what else starts a command elsewhere."""

from __future__ import annotations

import shlex
import subprocess
import tempfile
import threading
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from queue import SimpleQueue
from typing import IO

import msgspec

from tautochrone.errors import TautoError, explained, say
from tautochrone.jobs import work, worker
from tautochrone.threads import started

_MOST_DEATHS = 3  # of workers that one share may cost
_ENDING_SECONDS = 5.0

_Come = SimpleQueue["tuple[_Task, work.Outcome] | TautoError"]


@dataclass(eq=False)
class _Task:
    """A share of somebody's jobs, and where its outcome is waited for."""

    kind: str
    version: str
    share: Mapping[str, str]
    come: _Come
    deaths: int = 0


@dataclass(eq=False)
class _Worker:
    process: subprocess.Popen[bytes]
    errors: IO[bytes]
    node: str = ""
    width: int = 0  # 0 until it has said that it is there
    doing: dict[int, _Task] = field(default_factory=dict)

    def send(self, number: int, task: _Task) -> bool:
        """Whether it took it; one that has just died does not."""
        share = worker.Share(number, task.kind, task.version, [*task.share.values()])
        assert self.process.stdin is not None
        try:
            self.process.stdin.write(msgspec.json.encode(share) + b"\n")
            self.process.stdin.flush()
        except OSError:
            return False
        self.doing[number] = task
        return True


class Launched:
    """A worker on each of so many nodes, asked for at once; jobs begin where a node is there."""

    def __init__(self, launcher: Sequence[str], nodes: int) -> None:
        self._launcher = launcher
        self._lock = threading.RLock()
        self._waiting: deque[_Task] = deque()
        self._waiters: set[_Come] = set()
        self._numbers = iter(range(1 << 62))
        self._workers: list[_Worker] = []
        self._ended: TautoError | None = None
        there = threading.Event()
        try:
            for _ in range(nodes):
                self._start(there)
            there.wait()  # a node may have to become free
            with self._lock:
                if self._ended is not None:
                    raise self._ended
                self.width = nodes * max(one.width for one in self._workers)
        except BaseException:
            self.close()
            raise

    def answers(self, kind: str, version: str, wanted: Mapping[str, str]) -> Iterator[tuple[str, str]]:
        come: _Come = SimpleQueue()
        shares = work.shares_elsewhere(kind, wanted, self.width)
        with self._lock:
            if self._ended is not None:
                raise self._ended
            self._waiters.add(come)
            self._waiting.extend(_Task(kind, version, share, come) for share in shares)
            self._feed()
        try:
            for _ in shares:
                got = come.get()
                if isinstance(got, TautoError):
                    raise got
                task, outcome = got
                yield from work.answers_of(task.share, outcome)
        finally:
            with self._lock:
                self._waiters.discard(come)
                self._waiting = deque(task for task in self._waiting if task.come is not come)

    def close(self) -> None:
        with self._lock:
            self._ended = self._ended or TautoError("the jobs are over", "Start the same command again")
            workers, self._workers = self._workers, []
        for one in workers:
            assert one.process.stdin is not None
            with suppress(OSError):
                one.process.stdin.close()
        for one in workers:
            try:
                one.process.wait(_ENDING_SECONDS)
            except subprocess.TimeoutExpired:  # a launcher that still waits for its node
                one.process.terminate()

    def _start(self, there: threading.Event) -> None:
        """Ask for a node. The event is set by the first one that is there, or when none is left."""
        words = worker.command(self._launcher)
        errors = tempfile.TemporaryFile()  # noqa: SIM115 - open as long as the worker
        remedy = "Correct --launcher; try it by hand with hostname behind it"
        with explained(f"{self._launcher[0]} could not be started", remedy):
            process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors)
        one = _Worker(process, errors)
        with self._lock:
            self._workers.append(one)
        started(partial(self._listen, one, there))

    def _feed(self) -> None:
        """Hand out what waits, to the worker with most room. The lock is held."""
        while self._waiting:
            room = [one for one in self._workers if len(one.doing) < one.width]
            if not room:
                return
            one = max(room, key=lambda each: each.width - len(each.doing))
            if not one.send(next(self._numbers), self._waiting[0]):
                one.width = 0  # its thread finds out why
                continue
            self._waiting.popleft()

    def _listen(self, one: _Worker, there: threading.Event) -> None:
        """Take what a worker says until it ends."""
        assert one.process.stdout is not None
        with one.process.stdout as lines:
            try:
                for line in lines:
                    hello = msgspec.json.decode(line, type=worker.Hello)
                    with self._lock:
                        one.node, one.width = hello.node, hello.width
                        self._feed()
                    there.set()
                    break
                decoder = msgspec.json.Decoder(worker.Answered)
                for line in lines:
                    answered = decoder.decode(line)
                    with self._lock:
                        task = one.doing.pop(answered.number)
                        self._feed()
                    task.come.put((task, answered.outcome))
                why = ""
            except (msgspec.DecodeError, KeyError):
                why = "it did not answer as one worker does; let the launcher start one process (srun -n1)"
        one.process.kill()
        code = one.process.wait()
        self._bury(one, why or _last_line(one.errors) or f"exit code {code}")
        if self._ended is not None:
            there.set()

    def _bury(self, one: _Worker, why: str) -> None:
        """Give to others what a worker has left."""
        with self._lock:
            if one not in self._workers:  # closed
                return
            self._workers.remove(one)
            left, one.doing = [*one.doing.values()], {}
            name = f"the worker on {one.node}" if one.node else f"a worker of {shlex.join(self._launcher)}"
            for task in left:
                task.deaths += 1
                if task.deaths >= _MOST_DEATHS:
                    words = f"{task.deaths} workers ended while they did the same job; the last: {why}"
                    task.come.put(TautoError(words, "Do it alone: leave out --launcher"))
                else:
                    self._waiting.appendleft(task)
            if self._workers:
                say(f"warning: {name} has ended ({why}); the others do what it has left")
                self._feed()
                return
            self._ended = TautoError(
                f"{name} has ended, and no other is left: {why}",
                "Look whether the nodes see the same files and Python; what was done is kept, and the same "
                "command goes on",
            )
            for come in self._waiters:
                come.put(self._ended)


def _last_line(errors: IO[bytes]) -> str:
    errors.seek(0)
    lines = errors.read().decode(errors="replace").strip().splitlines()
    return lines[-1] if lines else ""
