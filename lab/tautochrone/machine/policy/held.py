"""Policies in force for a while, one after the other; what was there before comes back however it ends."""

from __future__ import annotations

import json
import shlex
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

from tautochrone.errors import TautoError
from tautochrone.helper_process import let_end
from tautochrone.policy import watcher
from tautochrone.policy.knobs import Knobs, Policy, Writes

_PATIENCE_SECONDS = 10.0


class HeldPolicies:
    """Made by :func:`held`. ``enter`` puts one policy in force, in place of the one before."""

    def __init__(self, knobs: Knobs, originals: Writes) -> None:
        self._knobs = knobs
        self._originals = originals
        self._on_disk = [(str(knobs.tree.path(path)), value) for path, value in originals]
        self._watcher: subprocess.Popen[str] | None = None
        if not originals:
            return
        # The pipe's other end is closed on exec: only this process keeps the watcher waiting.
        self._watcher = subprocess.Popen(
            watcher.COMMAND,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        assert self._watcher.stdin is not None
        with suppress(OSError):  # it has ended already, and says nothing either
            self._watcher.stdin.write(json.dumps(self._on_disk) + "\n")
            self._watcher.stdin.flush()
        self._expect(watcher.READY)

    @property
    def watcher_pid(self) -> int | None:
        """The process that puts everything back; None where nothing is changed."""
        return self._watcher.pid if self._watcher is not None else None

    def enter(self, policy: Policy) -> None:
        """Put a policy in force in place of the one before.

        TautoError where a file refuses its value, or keeps that of the policy before.
        """
        self._back_to_originals()
        for path, value in self._knobs.writes(policy):
            if self._watcher is None or self._watcher.poll() is not None:
                raise TautoError(
                    "the process that puts the frequency policy back has died", "Start the same command again"
                )
            self._write(path, value, policy)

    def close(self) -> None:
        """Put everything back. TautoError that names what could not be, with the line to type."""
        process, self._watcher = self._watcher, None
        if process is None:
            return
        let_end(process, _PATIENCE_SECONDS)
        watcher.restore(self._on_disk)  # in case the watcher was killed; else there is nothing to do
        self._require_originals()

    def _back_to_originals(self) -> None:
        watcher.restore(self._on_disk)
        self._require_originals()

    def _require_originals(self) -> None:
        """TautoError that names the files that do not hold what they held."""
        left = self._knobs.differing(self._originals)
        if not left:
            return
        files: dict[str, list[str]] = {}
        for path, value in self._originals:
            if path in left:
                files.setdefault(value, []).append(path)
        lines = (f"echo {shlex.quote(value)} | sudo tee {' '.join(paths)}" for value, paths in files.items())
        raise TautoError(
            f"the frequency policy was not put back in {', '.join(left)}", f"Type: {'; '.join(lines)}"
        )

    def _write(self, path: str, value: str, policy: Policy) -> None:
        try:
            self._knobs.tree.path(path).write_text(value)
        except PermissionError as error:
            raise TautoError(
                f"the policy {policy.name} needs to write {path}, and that is not permitted",
                "Start it as root (sudo), or leave out --policies",
            ) from error
        except OSError as error:
            raise TautoError(
                f"the policy {policy.name} was refused: {path} does not take {value!r} ({error.strerror})",
                "Leave out --policies, or look which driver decides (scaling_driver)",
            ) from error

    def _expect(self, word: str) -> None:
        assert self._watcher is not None
        assert self._watcher.stdout is not None
        line = self._watcher.stdout.readline()
        answer: dict[str, Any] = json.loads(line) if line else {}
        if answer.get("said") != word:
            let_end(self._watcher, _PATIENCE_SECONDS)
            raise TautoError(
                "the process that puts the frequency policy back could not be started",
                "Look whether the system ran out of memory (dmesg)",
            )


@contextmanager
def held(knobs: Knobs, policies: Sequence[Policy]) -> Iterator[HeldPolicies]:
    """Hold the right to change the policy for the time of the block."""
    holding = HeldPolicies(knobs, knobs.originals(policies))
    try:
        yield holding
    finally:
        holding.close()


def require_policies(knobs: Knobs) -> list[Policy]:
    """The policies of a machine; TautoError where it has but one."""
    policies = knobs.policies()
    if len(policies) < 2:
        raise TautoError(
            "--policies was asked for, and this machine shows no frequency policy to choose from "
            "(no cpufreq, no turbo switch, no platform profile)",
            "Leave it out; a virtual machine leaves the clock to its host",
        )
    return policies
