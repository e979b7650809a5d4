"""Sets frequency policies one after the other, and restores the previous policy however the run ends."""

from __future__ import annotations

import json
import shlex
import subprocess
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from tautochrone.errors import TautoError
from tautochrone.machine.policy import watcher
from tautochrone.machine.policy.knobs import Knobs, Policy, Writes
from tautochrone.measuring.subprocess_executor import let_end, pipes

_PATIENCE_SECONDS = 10.0


class HeldPolicies:
    """Made by :func:`held`. ``enter`` sets a policy."""

    def __init__(self, knobs: Knobs, originals: Writes) -> None:
        self._knobs = knobs
        self._originals = originals
        self._on_disk = [(str(knobs.tree.path(path)), value) for path, value in originals]
        self._watcher: subprocess.Popen[str] | None = None
        if not originals:
            return
        # The pipe's other end is closed on exec, so only this process keeps the watcher waiting.
        self._watcher = subprocess.Popen(
            watcher.COMMAND, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True
        )
        words, answers = pipes(self._watcher)
        with suppress(OSError):  # it has already ended, and its answer is missing too
            words.write(json.dumps(self._on_disk) + "\n")
            words.flush()
        answer = answers.readline()
        if not answer or json.loads(answer).get("said") != watcher.READY:
            let_end(self._watcher, _PATIENCE_SECONDS)
            raise TautoError(
                "the process that restores the frequency policy could not be started",
                "See whether the system ran out of memory (dmesg)",
            )

    @property
    def watcher_pid(self) -> int | None:
        """The process that restores everything; None if nothing is changed."""
        return self._watcher.pid if self._watcher is not None else None

    def enter(self, policy: Policy) -> None:
        """Set a policy in place of the previous one.

        TautoError if a file refuses its value, or could not be restored.
        """
        self._restore()
        for path, value in self._knobs.writes(policy):
            if self._watcher is None or self._watcher.poll() is not None:
                raise TautoError(
                    "the process that restores the frequency policy has died", "Start the same command again"
                )
            self._write(path, value, policy)

    def close(self) -> None:
        """Restore everything. TautoError names the files that were not restored, with the command to type."""
        process, self._watcher = self._watcher, None
        if process is None:
            return
        let_end(process, _PATIENCE_SECONDS)
        self._restore()  # needed only if the watcher was killed

    def _restore(self) -> None:
        """TautoError names the files that do not have their original values then."""
        watcher.restore(self._on_disk)
        left = [path for path, value in self._originals if self._knobs.tree.text(path) != value]
        if not left:
            return
        files: dict[str, list[str]] = {}
        for path, value in self._originals:
            if path in left:
                files.setdefault(value, []).append(path)
        lines = (f"echo {shlex.quote(value)} | sudo tee {' '.join(paths)}" for value, paths in files.items())
        raise TautoError(
            f"the frequency policy was not restored in {', '.join(left)}", f"Type: {'; '.join(lines)}"
        )

    def _write(self, path: str, value: str, policy: Policy) -> None:
        try:
            self._knobs.tree.path(path).write_text(value)
        except PermissionError as error:
            raise TautoError(
                f"the policy {policy.name} needs to write {path}, which is not permitted",
                "Start it as root (sudo), or leave out --policies",
            ) from error
        except OSError as error:
            raise TautoError(
                f"the policy {policy.name} was refused: {path} does not take {value!r} ({error.strerror})",
                "Leave out --policies, or see which driver sets the clock (scaling_driver)",
            ) from error


@contextmanager
def held(knobs: Knobs, policies: Sequence[Policy]) -> Iterator[HeldPolicies]:
    """Allow changes of the policy during the block, and restore it at the end."""
    holding = HeldPolicies(knobs, knobs.originals(policies))
    try:
        yield holding
    finally:
        holding.close()


def require_policies(knobs: Knobs) -> list[Policy]:
    """The policies of a machine; TautoError if it has only one."""
    policies = knobs.policies()
    if len(policies) < 2:
        raise TautoError(
            "--policies needs a frequency policy that can be changed, and this machine has none "
            "(no cpufreq, no turbo switch, no platform profile)",
            "Leave out --policies; in a virtual machine the host sets the clock",
        )
    return policies


def under_each_policy(
    run: Callable[[Path, int], object],
    output: Path,
    say: Callable[[str], None],
    knobs: Knobs | None = None,
    turns: int = 1,
) -> list[Path]:
    """Call `run` for each policy and turn, with a folder of the policy below `output`; restore the policy.

    In each turn all policies come after each other, there and back, so that a slow drift is in all of them.
    Returns the folders, the unmodified policy's first. Each has a whole study, with the policy in its machine
    record. TautoError if the machine has no policies or refuses to set them.
    """
    knobs = knobs or Knobs()
    policies = require_policies(knobs)
    names = ", ".join(policy.name for policy in policies)
    say(f"{len(policies)} frequency policies: {names}; the previous policy is restored at the end")
    with held(knobs, policies) as holding:
        for turn in range(turns):
            for policy in policies if turn % 2 == 0 else reversed(policies):
                holding.enter(policy)
                say(f"policy {policy.name}" + (f", turn {turn + 1} of {turns}" if turns > 1 else ""))
                run(output / policy.name, turn)
    return [output / policy.name for policy in policies]
