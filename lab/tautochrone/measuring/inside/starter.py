"""A small process that starts the programs to be measured and accounts for each of them.

It is a process of its own for three reasons. The peak memory that the kernel reports for a program
includes the memory of the process it was forked from: the lab with its libraries weighs more than many a
program. When the lab is killed, this process sees its input end and takes the running program with it. And
it can hold a child between fork and exec to open counters on it.

It reads one request a line (JSON) and answers with one line; a line that comes while a program runs, or
the end of the input, stops that program. It is started with `COMMAND`, knows nothing of the package around
it and imports as little as it can: what it weighs (about 8 MB) is the least peak memory that can be told
of a program.

On another node it is started by that node's launcher (srun, ssh), stays there for all runs that the node
gets, and so measures no waiting for a node. Asked for its node it answers with the name; who waits for that
answer waits for the node. Answers bear the number of their request: more of them come where a launcher
starts this process more than once.
"""

from __future__ import annotations

import ctypes
import json
import os
import selectors
import signal
import sys
import time
from collections import deque
from contextlib import suppress

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

# Imported rather than run as a script, so that the compiled file is used and the compiler's memory is not
# ours.
COMMAND = (
    *(sys.executable, "-I", "-S", "-c"),
    "import sys; sys.path.append(sys.argv[1]); import starter; starter.main()",
    os.path.dirname(os.path.abspath(__file__)),  # noqa: PTH100, PTH120
)
GRACE_SECONDS = 0.5
# A helper may end a moment after the program; what takes longer has work left.
LEFT_SHARE, LEFT_LEAST_SECONDS, LEFT_MOST_SECONDS = 0.02, 1e-3, 0.05
_LOOK_AGAIN_SECONDS = 2e-4
STDOUT_KEPT_BYTES = 4 << 20
STDERR_KEPT_BYTES = 16 << 10
BRIDGE = f"products of integers, {sys.implementation.name} {'.'.join(map(str, sys.version_info[:3]))}"
_BRIDGE_FACTOR = 3**5000  # one product takes some 0.02 ms
_BRIDGE_PRODUCTS = 20
_SET_PARENT_DEATH_SIGNAL, _SET_CHILD_SUBREAPER = 1, 36
_RESET = (signal.SIGINT, signal.SIGTERM, signal.SIGPIPE, signal.SIGXFSZ, signal.SIGCHLD)


class Output:
    """What a program wrote to one of its streams: the last `kept` bytes, and how many there were."""

    def __init__(self, descriptor: int, kept: int) -> None:
        self.descriptor = descriptor
        self.kept = kept
        self.total = 0
        self._chunks: deque[bytes] = deque()
        self._held = 0

    @property
    def data(self) -> bytes:
        return b"".join(self._chunks)[-self.kept :]

    def take(self) -> bool:
        """Read what is there; False at the end of the stream."""
        try:
            new = os.read(self.descriptor, 1 << 16)
        except BlockingIOError:
            return True
        self.total += len(new)
        if not new:
            return False
        self._chunks.append(new)
        self._held += len(new)
        while self._held - len(self._chunks[0]) >= self.kept:
            self._held -= len(self._chunks.popleft())
        return True

    def drain(self) -> None:
        """Read what is there until there is no more; a daemon that holds the stream is not waited for."""
        while True:
            before = self.total
            if not self.take() or self.total == before:
                return


class OutputFile:
    """A stream that the program writes to a file itself; its last `kept` bytes are read when it has ended."""

    def __init__(self, path: str, kept: int) -> None:
        flags = os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND | os.O_CLOEXEC
        if not path.startswith("/proc/"):  # a file without a name, which only a link there leads to
            flags |= os.O_NOFOLLOW
        self.descriptor = os.open(path, flags, 0o600)
        self.kept = kept
        self.data = b""
        self.total = 0

    def drain(self) -> None:
        self.total = os.fstat(self.descriptor).st_size
        self.data = os.pread(self.descriptor, self.kept, max(0, self.total - self.kept))


class Child:
    """A program between its start and its accounting. Times are on the monotonic clock."""

    def __init__(self, pid: int, stdout: Output | OutputFile, stderr: Output, group: Any) -> None:
        self.pid = pid
        self.group = group  # of control; None without
        self.stdout = stdout
        self.stderr = stderr
        self.started = 0.0
        self.stopped_for: str | None = None  # "timeout" or "cancelled"
        self.shared: set[str] = set()  # files in shared memory that it would leave if it was killed
        self.stop_at = float("inf")
        self.kill_at = float("inf")


class Starter:
    """Runs one program after another for the process at the other end of stdin and stdout."""

    def __init__(self, counters: Any, observing: Any, control_group: Any, shared_memory: Any) -> None:
        self._counters = counters
        self._shared_memory = shared_memory
        self._observing = observing
        self._kinds = control_group
        self._groups = control_group.Groups(control_group.folder_here())
        self._library = ctypes.CDLL(None)
        self._library.prctl(_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
        self._woken, wake = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        os.set_blocking(wake, False)
        signal.signal(signal.SIGCHLD, lambda number, frame: None)
        signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
        self._input = b""
        self._ended = False

    def serve(self) -> None:
        while (line := self._request()) is not None:
            if line.strip() in (b"", b"cancel"):
                continue
            request = json.loads(line)
            answer = {"node": _node()} if request.get("asks") == "node" else self.run(request)
            if self._ended:
                _remove(request.get("remove", ()))
            with suppress(BrokenPipeError):
                _write_all(1, json.dumps({**answer, "number": request.get("number")}).encode() + b"\n")

    def run(self, request: dict[str, Any]) -> dict[str, object]:
        """Run a program to its end or its limit and account for it."""
        load = None
        with suppress(OSError):
            load = os.getloadavg()[0]
        bridge_seconds = bridge()
        before = cpu_times()
        own_before = _own_cpu_seconds()
        started = self._start(request)
        if isinstance(started, int):
            return {"start_error": started}
        child, counters = started
        observer = None
        if observe := request.get("observe"):
            observer = self._observing.Observer(child.pid, observe, request.get("names", ()))
        self._watch(child, float(request["time_limit"]), observer)
        ended = time.monotonic()
        left = [] if child.stopped_for else self._left_running(child, ended - child.started)
        if left:
            child.shared = self._shared_memory.files_of(self._observing.offspring())
        with suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGKILL)  # what the program left running in its group
        if child.group is not None:
            child.group.kill()
        _, status, usage = os.wait4(child.pid, 0)
        usages = [usage, *self._reap_strays()]
        user, system = sum(one.ru_utime for one in usages), sum(one.ru_stime for one in usages)
        if child.group is not None:
            user, system = child.group.cpu_seconds() or (user, system)
            child.group.end()
        self._shared_memory.remove(child.shared)
        for output in (child.stdout, child.stderr):
            output.drain()
            os.close(output.descriptor)
        after = cpu_times()
        cpu_seconds = user + system
        hardware, reason, software = counters.read(cpu_seconds)
        others = None
        if before and after:
            own = cpu_seconds + _own_cpu_seconds() - own_before
            others = max(0.0, after[0] - before[0] - own)
        return {
            "exit_code": os.waitstatus_to_exitcode(status),
            "stopped_for": child.stopped_for,
            "elapsed_seconds": ended - child.started,
            "left_running": left,
            "held_by": self._kinds.PROCESS_GROUP if child.group is None else self._kinds.CONTROL_GROUP,
            "user_seconds": user,
            "system_seconds": system,
            "max_rss_bytes": max(one.ru_maxrss for one in usages) * 1024,
            "voluntary_switches": usage.ru_nvcsw,
            "involuntary_switches": usage.ru_nivcsw,
            "migrations": software["migrations"],
            "counters": hardware,
            "counters_reason": reason,
            "load_before": load,
            "others_cpu_seconds": others,
            "steal_seconds": after[1] - before[1] if before and after else None,
            "bridge": BRIDGE,
            "bridge_seconds": bridge_seconds,
            "stdout": child.stdout.data.decode(errors="replace"),
            "stdout_bytes": child.stdout.total,
            "stderr": child.stderr.data.decode(errors="replace"),
            "observed": observer.record() if observer is not None else None,
        }

    def _start(self, request: dict[str, Any]) -> tuple[Child, Any] | int:
        """A running program and its counters, or the error number of a failed exec."""
        gate_read, gate_write = os.pipe2(os.O_CLOEXEC)
        failed_read, failed_write = os.pipe2(os.O_CLOEXEC)
        stdout: Output | OutputFile
        if request.get("output_file"):
            stdout = OutputFile(request["output_file"], STDOUT_KEPT_BYTES)
            out_write = os.dup(stdout.descriptor)
        else:
            out_read, out_write = os.pipe2(os.O_CLOEXEC)
            os.set_blocking(out_read, False)
            stdout = Output(out_read, STDOUT_KEPT_BYTES)
        err_read, err_write = os.pipe2(os.O_CLOEXEC)
        pid, group = self._groups.fork()
        if pid == 0:
            self._become(request, gate_read, gate_write, failed_write, out_write, err_write)
        for descriptor in (gate_read, failed_write, out_write, err_write):
            os.close(descriptor)
        with suppress(OSError):
            os.setpgid(pid, pid)
        counters = self._counters.Counters(pid)
        child = Child(pid, stdout, Output(err_read, STDERR_KEPT_BYTES), group)
        os.set_blocking(err_read, False)
        if group is not None:
            group.begin()
        child.started = time.monotonic()
        os.write(gate_write, b"go")
        os.close(gate_write)
        failure = os.read(failed_read, 16)
        os.close(failed_read)
        if failure:
            os.waitpid(pid, 0)
            if group is not None:
                group.end()
            counters.close()
            os.close(stdout.descriptor)
            os.close(err_read)
            return int(failure)
        return child, counters

    def _become(
        self, request: dict[str, Any], gate: int, gate_write: int, failed: int, out: int, err: int
    ) -> None:
        """In the child: wait for the gate, then exec. Does not return."""
        try:
            os.setpgid(0, 0)
            self._library.prctl(_SET_PARENT_DEATH_SIGNAL, signal.SIGKILL, 0, 0, 0)
            signal.set_wakeup_fd(-1)
            for number in _RESET:
                signal.signal(number, signal.SIG_DFL)
            os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
            os.dup2(out, 1)
            os.dup2(err, 2)
            os.close(gate_write)
            if os.read(gate, 2) != b"go":  # the starter has died
                os._exit(1)
            if request.get("folder"):
                os.chdir(request["folder"])
            if request.get("cpus"):
                os.sched_setaffinity(0, request["cpus"])
            if request.get("nice"):
                os.nice(request["nice"])
            environment = request["environment"]
            if request.get("inherit"):  # on another node, whose variables are its own
                environment = {**os.environ, **environment}
            os.execvpe(request["command"][0], request["command"], environment)
        except OSError as error:
            os.write(failed, str(error.errno).encode())
        finally:
            os._exit(127)

    def _watch(self, child: Child, time_limit: float, observer: Any) -> None:
        """Read the program's output until it ends; stop it at the limit or when told to.

        Look at it meanwhile, if there is an observer.
        """
        child.stop_at = child.started + time_limit
        look_at = child.started if observer is not None else float("inf")
        with selectors.DefaultSelector() as selector:
            selector.register(self._woken, selectors.EVENT_READ, None)
            selector.register(0, selectors.EVENT_READ, "input")
            for output in (child.stdout, child.stderr):
                if isinstance(output, Output):
                    selector.register(output.descriptor, selectors.EVENT_READ, output)
            while os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None:
                now = time.monotonic()
                if now >= child.stop_at:
                    self._stop(child, "timeout", now)
                if now >= child.kill_at:
                    child.kill_at = float("inf")
                    os.killpg(child.pid, signal.SIGKILL)
                if now >= look_at:
                    observer.look()
                    look_at = time.monotonic() + observer.wait
                wait = min(child.stop_at, child.kill_at, look_at) - now
                for key, _ in selector.select(None if wait == float("inf") else max(wait, 0.0)):
                    if isinstance(key.data, Output):
                        if not key.data.take():
                            selector.unregister(key.fileobj)
                    elif key.data == "input":
                        self._heed(selector, child)
                    else:
                        os.read(self._woken, 4096)

    def _heed(self, selector: selectors.BaseSelector, child: Child) -> None:
        """Something came on the input while a program runs: a cancel, or its end."""
        new = os.read(0, 1 << 16)
        if not new:
            self._ended = True
            selector.unregister(0)
        self._stop(child, "cancelled", time.monotonic())

    def _stop(self, child: Child, why: str, now: float) -> None:
        """Ask the program's group to end; it is killed when the grace is over."""
        if child.stopped_for is None:
            child.stopped_for = why
            child.kill_at = now + GRACE_SECONDS
            child.shared = self._shared_memory.files_of(self._observing.tree(child.pid))
            os.killpg(child.pid, signal.SIGTERM)
        child.stop_at = float("inf")

    def _request(self) -> bytes | None:
        """The next line of the input; None at its end."""
        while b"\n" not in self._input:
            new = b"" if self._ended else os.read(0, 1 << 20)
            if not new:
                return None
            self._input += new
        line, _, self._input = self._input.partition(b"\n")
        return line

    def _left_running(self, child: Child, seconds: float) -> list[str]:
        """The names of what a program that took `seconds` has left at work, once it had a moment to end."""
        until = time.monotonic() + min(LEFT_MOST_SECONDS, max(LEFT_LEAST_SECONDS, LEFT_SHARE * seconds))
        while True:
            others = () if child.group is None else child.group.processes()
            names = list(self._observing.left_running((child.pid,), others))
            if not names or time.monotonic() >= until:
                return names
            time.sleep(_LOOK_AGAIN_SECONDS)

    def _reap_strays(self) -> list[Any]:
        """End what left the program's group but is still its offspring; as its reaper we inherit those.

        Returns what each of them has used.
        """
        usages = []
        with suppress(ChildProcessError):
            while True:
                pid, _, usage = os.wait4(-1, os.WNOHANG)
                if pid == 0:
                    for stray in self._observing.offspring():
                        with suppress(ProcessLookupError):
                            os.kill(stray, signal.SIGKILL)
                    _, _, usage = os.wait4(-1, 0)
                usages.append(usage)
        return usages


def _remove(paths: Iterable[str]) -> None:
    """Remove the temporary files and folders of a laboratory that is no more."""
    import shutil

    for path in paths:
        if os.path.isdir(path):  # noqa: PTH112
            shutil.rmtree(path, ignore_errors=True)
        else:
            with suppress(OSError):
                os.unlink(path)  # noqa: PTH108


def _node() -> str:
    """This node's name: to Slurm, which may have several on one host, or to itself."""
    return os.environ.get("SLURMD_NODENAME") or os.uname().nodename


def bridge() -> float:
    """Seconds for a fixed piece of work: two sittings are told apart from two programs by it."""
    begun = time.monotonic()
    for _ in range(_BRIDGE_PRODUCTS):
        _BRIDGE_FACTOR * _BRIDGE_FACTOR
    return time.monotonic() - begun


def cpu_times() -> tuple[float, float] | None:
    """Busy and stolen CPU seconds of the whole machine since it started; None where /proc does not tell."""
    try:
        with open("/proc/stat") as file:  # noqa: PTH123
            words = file.readline().split()
        ticks = os.sysconf("SC_CLK_TCK")
        user, nice, system, _, _, interrupt, soft_interrupt, steal = (
            int(word) / ticks for word in words[1:9]
        )
    except (OSError, ValueError):  # some sandboxes show a /proc/stat of their own
        return None
    return user + nice + system + interrupt + soft_interrupt, steal


def _own_cpu_seconds() -> float:
    times = os.times()
    return times.user + times.system


def _write_all(descriptor: int, data: bytes) -> None:
    while data:
        data = data[os.write(descriptor, data) :]


def main() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the lab's to handle
    Starter(*map(__import__, ("counters", "observing", "control_group", "shared_memory"))).serve()
