"""Run configurations as processes of their own, through the starter."""

from __future__ import annotations

import json
import os
import random
import shlex
import signal
import subprocess
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence, Sized
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path, PurePath
from statistics import median
from typing import IO, Any, AnyStr, Literal, Self

import msgspec

from tautochrone.errors import TautoError, explained, printable
from tautochrone.measuring.answers import Errno, read_answer
from tautochrone.measuring.configuration import Configuration
from tautochrone.measuring.executor import Accounted, RunResult
from tautochrone.measuring.inside import starter
from tautochrone.measuring.left_behind import end_what_is_left
from tautochrone.measuring.temporary import temporary_file
from tautochrone.options import parse_cpus
from tautochrone.results.lines import plain
from tautochrone.results.row import Amount, Count, Energy, Failure, Seconds

PADDING_VARIABLE = "TAUTO_PADDING"
LARGEST_PADDING_BYTES = 4095
_MESSAGE_LINES = 3
_PATIENCE_SECONDS = 10.0
_ENDS_AFTER_ITS_OUTPUT_SECONDS = 1.0
_ENDING_SECONDS = 5.0
# Clocks of one machine differ by less; a runner's stops after its first instruction.
_CLOCKS_AGREE, _CLOCKS_DIFFER_SECONDS = 1.01, 1e-3
# Half of the batches take the median or more, so it is at most twice the mean, but for the last batch, which
# may be shorter; the mean is larger where other programs held up some batches, however long.
_MEDIAN_BY_MEAN, _MEAN_BY_MEDIAN = 3.0, 1e5
_ROUNDED = 1e-6
_BY_A_SHELL = ("ssh", "rsh")
# What a runner's exit codes mean.
_KINDS = {2: "failed", 3: "wrong_answer", 4: "missing_worker", 5: "not_installed"}

Observes = Literal["memory", "threads", "files"]
Process = subprocess.Popen[bytes]


class SeenProcess(msgspec.Struct, frozen=True):
    """A process of the program that worked, as it was observed."""

    command: str
    cpu_seconds: float
    threads: int
    cpus: tuple[str, ...]
    nice: tuple[int, ...]
    environment: Mapping[str, str]

    @property
    def allowed(self) -> set[int]:
        """The CPUs on which its threads may run."""
        return {cpu for cpus in self.cpus if cpus for cpu in parse_cpus(cpus)}


class Observed(msgspec.Struct, frozen=True):
    """What a program looked like while it ran; see `observing.Observer.record`."""

    memory_bytes: int | None
    processes: tuple[SeenProcess, ...]
    files: frozenset[str]
    most_threads: int


@dataclass(frozen=True)
class Printed:
    """The ends of what a program wrote; `whole`: a file with all of its output, if that was asked for."""

    output: str
    errors: str = ""
    whole: Path | None = None
    observed: Observed | None = None


class OwnFields(msgspec.Struct):
    """The fields of a runner's line that are fields of its row; see `Row`."""

    seconds: Seconds | None = None
    check: dict[str, Any] | None = None
    workers: list[dict[str, Any]] | None = None
    energy: Energy | None = None


class Timing(msgspec.Struct):
    """What a runner says of its timing."""

    seconds: Seconds | None = None
    timed_seconds: Amount | None = None
    iterations: Count | None = None
    batch_iterations: Count | None = None
    batch_seconds: list[Seconds] | None = None


class Answer(Accounted, frozen=True, kw_only=True):
    """What the starter reports of a run, or the name of its node; `number` is that of the request.

    `start_error`: the errno of a program that could not be started; then all else has its default.
    `left_running` names the processes that outlived the program; they were ended then.
    """

    number: int | None = None
    node: str = ""
    start_error: Errno | None = None
    exit_code: int = 127
    stopped_for: str | None = None
    stdout: str = ""
    stderr: str = ""
    elapsed_seconds: float = 0.0
    left_running: tuple[str, ...] = ()
    observed: Observed | None = None


Judge = Callable[[Printed, Path | None], tuple[Mapping[str, object], Failure | None]]
"""Given what a program printed and the folder that it ran in: what to keep of it, and what is wrong."""

Folders = Callable[[], AbstractContextManager[Path | None]]
"""Where the next run takes place; None: in the lab's own folder."""


class ProcessExecutor:
    """Starts each configuration in a process group of its own; see `starter` for how it is accounted.

    The environment's size differs from run to run (0 to 4095 bytes, from `seed`): it moves the stack, which
    alone can make one program some percent faster than another (T. Mytkowicz and others, ASPLOS 2009).
    `observe`: look at its processes while it runs, at their memory or at their threads too. `through`: the
    words of a cluster's launcher, which starts our own small process on a node, for all runs; the node must
    see the same files. `runs_here`: this is not another machine. Use it as a context, or `close` it.
    """

    def __init__(
        self,
        *,
        seed: int = 1,
        runs_here: bool = True,
        observe: Observes | None = None,
        through: Sequence[str] = (),
    ) -> None:
        self._seed = seed
        self._runs_here = runs_here
        self._observe = observe
        self._through = tuple(through)
        self._runs: Counter[str] = Counter()
        self._process: Process | None = None
        self._node: str | None = None
        self._requests = 0

    def start(self) -> None:
        """Begin with the starter; it may have to wait for a node."""
        self._starter()

    def node(self) -> str:
        """The name of the node that the runs get, as soon as they have it."""
        process = self._starter()
        if self._node is None:
            self._node = self._ask(process, {"asks": "node"}).node
        return self._node

    def answer(
        self,
        configuration: Configuration,
        time_limit: float,
        folder: Path | None = None,
        whole: Path | None = None,
        temporary: Sequence[Path | None] = (),
    ) -> Answer:
        """What the starter reports of a run; nothing is judged.

        `temporary`: what the starter removes if this process is killed meanwhile.
        """
        if folder is None and not self._runs_here:
            folder = Path.cwd()
        request = {
            "command": [str(word) for word in configuration.command],
            "environment": self._environment(configuration),
            "inherit": not self._runs_here,
            "time_limit": time_limit,
            "folder": str(folder) if folder is not None else None,
            "output_file": str(whole) if whole is not None else None,
            "remove": [str(path) for path in temporary if path is not None],
            **configuration.start,
        }
        if self._observe is not None:
            request |= {"observe": self._observe, "names": list(configuration.environment)}
        if self._through:
            self.node()
        return self._ask(self._starter(), request)

    def close(self) -> None:
        """End the starter, and with it what may still run. Closing twice is allowed."""
        if self._process is not None:
            self._cancel()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _starter(self) -> Process:
        if self._process is None or self._process.poll() is not None:
            # A session of its own: the terminal's Ctrl-C reaches the lab alone, which ends the run in order.
            words = _begun_through(self._through)
            self._node = None
            remedy = "Write it as the shell would find it"
            with explained(f"--launcher {words[0]} cannot be started", remedy):
                self._process = subprocess.Popen(
                    words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True
                )
        return self._process

    def _ask(self, process: Process, request: Mapping[str, object]) -> Answer:
        self._requests += 1
        try:
            answer = _ask(process, {**request, "number": self._requests}, self._through, self._node)
            if answer.number != self._requests:
                raise TautoError(
                    f"{shlex.join(self._through)} starts more than one process, so that each run would run "
                    f"several times at once on {self._node}",
                    "Let it start one: srun takes -n1, and takes the number of its allocation without it",
                )
        except BaseException:
            self._cancel()
            raise
        return answer

    def _cancel(self) -> None:
        """Let the starter stop the program in flight and end: the end of its input tells it to.

        What still waits for a node does not read its input, and is ended.
        """
        process, self._process = self._process, None
        if process is not None:
            let_end(process, 0.0 if self._through and self._node is None else _PATIENCE_SECONDS)
            if process.returncode and not self._through:
                end_what_is_left(process.pid)

    def _accounted(self, configuration: Configuration, answer: Answer) -> RunResult:
        """What the system tells of a run, whose result is not judged; or why it could not be started."""
        error = None
        if answer.start_error is not None:
            program = configuration.command[0]
            kind = "failed" if os.path.exists(program) else "not_installed"  # noqa: PTH110 - also a bare name
            error = Failure(kind, f"{program} cannot be started: {os.strerror(answer.start_error)}")
        cpus = None  # known of this machine alone
        if self._runs_here:
            given = configuration.start.get("cpus")
            cpus = len(given if isinstance(given, Sized) and given else os.sched_getaffinity(0))
        return RunResult(None, answer.elapsed_seconds, cpus=cpus, error=error, **answer.accounted())

    def _environment(self, configuration: Configuration) -> dict[str, str]:
        run = self._runs[configuration.config_id]
        self._runs[configuration.config_id] += 1
        usual = os.environ if self._runs_here else {}
        return {**usual, **configuration.environment, **padding(self._seed, configuration, run)}


def padding(seed: int, configuration: Configuration, run: int) -> dict[str, str]:
    """A variable whose length differs from run to run, and moves the stack; see `ProcessExecutor`."""
    chance = random.Random(f"{seed} {configuration.config_id} {run}")
    return {PADDING_VARIABLE: "x" * chance.randint(0, LARGEST_PADDING_BYTES)}


class RunnerExecutor(ProcessExecutor):
    """For our runners: the result is `seconds` of the one line of JSON that a runner prints."""

    def run(self, configuration: Configuration, time_limit: float) -> RunResult:
        answer = self.answer(configuration, time_limit)
        result = self._accounted(configuration, answer)
        if result.error is not None:
            return result
        record, unreadable = _record(answer.stdout)
        seconds = record.get("seconds")
        error = _ended_badly(answer, time_limit, _KINDS) or _complaint(record, seconds, unreadable)
        error = error or against_the_clock(record, answer.elapsed_seconds)
        seconds = None if error else seconds
        return msgspec.structs.replace(result, seconds=seconds, record=record, error=error)


class ProgramExecutor(ProcessExecutor):
    """For programs that know nothing of us: the result is the wall time of the process.

    `judge` looks at what a run that ended well has printed; with `whole_output` at all of it, which is longer
    than what is kept otherwise and lies in `output_folder`. `folders` gives each run the folder it runs in.
    """

    def __init__(
        self,
        *,
        seed: int = 1,
        judge: Judge | None = None,
        whole_output: bool = False,
        folders: Folders = nullcontext,
        output_folder: Path | None = None,
        runs_here: bool = True,
        observe: Observes | None = None,
        through: Sequence[str] = (),
    ) -> None:
        super().__init__(seed=seed, runs_here=runs_here, observe=observe, through=through)
        self._judge = judge
        self._whole_output = whole_output
        self._folders = folders
        self._output_folder = output_folder

    def run(self, configuration: Configuration, time_limit: float) -> RunResult:
        with ExitStack() as stack:
            folder = stack.enter_context(self._folders())
            whole = stack.enter_context(output_file(self._output_folder)) if self._whole_output else None
            answer = self.answer(configuration, time_limit, folder, whole, (folder, whole))
            result = self._accounted(configuration, answer)
            if result.error is not None:
                return result
            error = _ended_badly(answer, time_limit, {})
            record: Mapping[str, object] = {}
            if self._judge is not None and error is None:
                printed = Printed(answer.stdout, answer.stderr, whole, answer.observed)
                record, error = self._judge(printed, folder)
            seconds = None if error else answer.elapsed_seconds
            return msgspec.structs.replace(result, seconds=seconds, record=record, error=error)


@contextmanager
def output_file(folder: Path | None = None) -> Iterator[Path]:
    """A file for all that one run prints: one without a name, or in this folder, where other nodes see it.

    What has no name is gone with this process, however it ends.
    """
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
    if folder is not None or not Path("/proc/self/fd").exists():
        with temporary_file("tauto-output-", folder and folder.absolute()) as path:
            yield path
        return
    with tempfile.TemporaryFile() as file:
        yield Path(f"/proc/{os.getpid()}/fd/{file.fileno()}")


def _begun_through(through: Sequence[str]) -> list[str]:
    """The words of the starter, here or on a node; ssh makes one line of them for a shell."""
    if through and PurePath(through[0]).name in _BY_A_SHELL:
        return [*through, shlex.join(starter.COMMAND)]
    return [*through, *starter.COMMAND]


def _ask(process: Process, request: Mapping[str, object], through: Sequence[str], node: str | None) -> Answer:
    """The answer to a request. TautoError where the starter ends instead; `node`: the one that it had."""
    requests, answers = pipes(process)
    line = b""
    with suppress(BrokenPipeError):
        requests.write(json.dumps(request).encode() + b"\n")
        requests.flush()
        line = answers.readline()
    if line and not through:
        return read_answer(line, Answer, "the process that starts the programs")
    if line:
        quiet = "It may print nothing of its own there: make its login, or its launcher, quiet"
        return read_answer(line, Answer, shlex.join(through), quiet)
    with suppress(subprocess.TimeoutExpired):
        process.wait(_ENDS_AFTER_ITS_OUTPUT_SECONDS)
    launcher, code = shlex.join(through), f"(exit code {process.poll()})"
    if through and node is not None:
        raise TautoError(
            f"{launcher} ended {code} during a run on {node}: the node or its job was lost",
            "Look at the node (for Slurm: sinfo -R), and start the same command again: it goes on from there",
        )
    if through:
        raise TautoError(
            f"{launcher} ended {code} before it had an answer",
            f"Try it alone: {launcher} {starter.COMMAND[0]} --version; nodes need the same files",
        )
    raise TautoError(
        f"the process that starts the programs has died {code}",
        "Look whether the system ran out of memory (dmesg), and start the same command again",
    )


def _ended_badly(answer: Answer, limit: float, kinds: Mapping[int, str]) -> Failure | None:
    """The error that the end of the process shows. `kinds`: what exit codes mean, "failed" otherwise."""
    complaint = last_lines(answer.stderr)
    if answer.stopped_for == "timeout":
        return Failure("timeout", f"it was stopped at the time limit of {limit:g} s{complaint}")
    code = answer.exit_code
    if code == 0 and answer.left_running:
        names = printable(", ".join(dict.fromkeys(answer.left_running)))
        return Failure("failed", f"it left work running when it ended, which was stopped: {names}")
    if code == 0:
        return None
    if code < 0:
        return Failure("failed", f"it was killed by {signal_name(-code)}{complaint}")
    message = complaint.removeprefix(": ") or f"it ended with exit code {code}"
    return Failure(kinds.get(code, "failed"), message)


def signal_name(number: int) -> str:
    """SIGKILL, or "signal 70" for a number without a name."""
    with suppress(ValueError):
        return signal.Signals(number).name
    return f"signal {number}"


def _complaint(record: Mapping[str, Any], seconds: object, unreadable: str | None) -> Failure | None:
    """What is wrong with a runner's line though it ended well."""
    if unreadable is not None:
        return Failure("failed", unreadable)
    if (record.get("check") or {}).get("passed") is False:
        return Failure("wrong_answer", f"the answer is wrong: {json.dumps(record['check'])}")
    if seconds is None:
        return Failure("failed", "the runner printed no seconds; expected a positive number")
    return None


def against_the_clock(record: Mapping[str, Any], elapsed: float) -> Failure | None:
    """What of a runner's times cannot be, as its process lived for `elapsed` seconds by the lab's own clock.

    `timed_seconds`, `iterations` and those of batches are looked at where it gives them.
    """
    try:
        told = msgspec.convert(record, Timing)
    except msgspec.ValidationError as error:
        return Failure("failed", f"the runner printed a wrong field: {error}")
    for what, seconds in (("a repetition", told.seconds), ("all that it timed", told.timed_seconds)):
        if seconds is not None and seconds > _CLOCKS_AGREE * elapsed + _CLOCKS_DIFFER_SECONDS:
            lived = f"its process lived for {elapsed:.3g} s"
            return Failure("failed", f"the runner says that {what} took {seconds:.3g} s, but {lived}")
    # One time for all batches: the median of several kinds of work is no part of their sum.
    if told.seconds is None or told.timed_seconds is None or told.iterations is None:
        return None
    if told.batch_iterations is None:
        return None
    batches = told.batch_seconds or ()
    if batches and len(batches) * told.batch_iterations >= told.iterations:  # all of them, none condensed
        middle = median(batches)
        if abs(told.seconds - middle) > _ROUNDED * middle:
            return Failure(
                "failed",
                f"the runner says {told.seconds:.3g} s, but the median of its batches is {middle:.3g} s",
            )
    mean = told.timed_seconds / max(told.iterations, 1)
    if not mean / _MEAN_BY_MEDIAN <= told.seconds <= mean * _MEDIAN_BY_MEAN:
        return Failure(
            "failed",
            f"the runner says {told.seconds:.3g} s, but {told.iterations} repetitions in "
            f"{told.timed_seconds:.3g} s are {mean:.3g} s each",
        )
    return None


def _record(stdout: str) -> tuple[dict[str, Any], str | None]:
    """The one JSON object that a runner prints, or an empty one and what is wrong with the output."""
    lines = [line for line in stdout.splitlines() if line.strip()]
    if len(lines) != 1:
        return {}, f"the runner printed {len(lines)} lines; expected one line of JSON"
    try:
        value = plain(lines[0].encode("utf-8", "replace"))
    except ValueError as error:
        return {}, f"the runner did not print JSON ({error}) but {lines[0][:80]!r}"
    if not isinstance(value, dict):
        return {}, f"the runner did not print a JSON object but {lines[0][:80]!r}"
    try:
        msgspec.convert(value, OwnFields)
    except ValueError as error:  # msgspec's is one
        return {}, f"the runner printed a wrong field: {error}"
    return value, None


def last_lines(stderr: str) -> str:
    """The end of what the program said about its trouble, ready to follow a sentence."""
    lines = [line.strip() for line in stderr.splitlines() if line.strip()]
    return ": " + printable("; ".join(lines[-_MESSAGE_LINES:])) if lines else ""


# -- a helper: a process that is written to and read from --


def pipes(process: subprocess.Popen[AnyStr]) -> tuple[IO[AnyStr], IO[AnyStr]]:
    """Its input and its output. ValueError if it was started without them."""
    if process.stdin is None or process.stdout is None:
        raise ValueError("a process without pipes is no helper")
    return process.stdin, process.stdout


def let_end(process: subprocess.Popen[AnyStr], patience_seconds: float) -> None:
    """Close its input, which tells it to end, and wait; after `patience_seconds` terminate it, then kill it.

    It is terminated before it is killed, so that srun takes its job back; a killed srun would leave the job.
    """
    its_input, its_output = pipes(process)
    with suppress(OSError):
        its_input.close()
    try:
        process.wait(patience_seconds)
    except subprocess.TimeoutExpired:
        process.terminate()
        try:
            process.wait(_ENDING_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
    its_output.close()
