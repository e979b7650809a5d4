"""One thing to measure: a command, its environment, and the settings that it stands for."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import PurePath


@dataclass(frozen=True)
class Configuration:
    """A command to measure.

    `name` is what people read; `command` is the argument vector (no shell); `environment` is laid over the
    lab's own environment; `settings` become the row's `config` and, hashed, its `config_id`; `group` is the
    cell in which configurations are compared (for instance ``size=2000,emulated=1:4``). `start` says how the
    process is started: ``cpus`` that it may use, ``nice`` to add, both as the lab's own without.
    """

    name: str
    command: Sequence[str]
    environment: Mapping[str, str] = field(default_factory=dict)
    settings: Mapping[str, object] = field(default_factory=dict)
    group: str = ""
    start: Mapping[str, object] = field(default_factory=dict)

    @cached_property
    def config_id(self) -> str:
        """Twelve hexadecimal digits hashed from the settings: the same in every session."""
        return digest(self.settings)

    def portable_command(self) -> list[str]:
        """The command with folders cut off absolute paths: equal for one build in two places."""
        return [PurePath(word).name if word.startswith("/") else word for word in self.command]


def digest(value: object) -> str:
    """Twelve hexadecimal digits of SHA-256 over the canonical JSON of `value`."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), default=_plain)
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def _plain(value: object) -> object:
    """Mappings and tuples that are not dict and list, in JSON's terms."""
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, Sequence):
        return list(value)
    raise TypeError(f"settings hold a {type(value).__name__}, which JSON has no word for")
