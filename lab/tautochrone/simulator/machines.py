"""Machines to simulate: loaded by name or from a machine file, and changed by ``--set``."""

from __future__ import annotations

import copy
import difflib
import re
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Literal

import msgspec

from tautochrone.errors import TautoError, explained
from tautochrone.files import read_whole
from tautochrone.machine import schema
from tautochrone.machine.schema import HEAD, KIND, SCHEMA, Tables
from tautochrone.simulator.resolving import completed

_SHIPPED = (
    Path(__file__).resolve().parent.parent / "machines",
    Path(__file__).resolve().parents[3] / "machines",
)
_MOST_BYTES = 1 << 20


class Kind(msgspec.Struct, frozen=True, kw_only=True):
    """One kind of core. ``machine/schema.toml`` explains the fields of this and the following tables."""

    kind: str
    cores: int
    hardware_threads_per_core: int
    cpus: tuple[int, ...]
    turbo_hertz: tuple[float, ...]
    turbo_spread: tuple[float, ...]
    min_hertz: float
    smt_yield: float
    stream_cycles_per_byte: float
    single_row_cycles_per_byte: float
    chain_cycles_per_byte: float
    chain_smt_yield: float
    single_row_last_level_bytes_per_second: float
    single_row_memory_bytes_per_second: float
    row_cycles: float
    hash_cycles_per_byte: float
    pair_cycles: float
    predict_cycles: float
    correct_cycles: float
    l2_bytes: float
    l2_shared_by_cores: int
    l2_bytes_per_cycle: float
    retention: tuple[tuple[float, float], ...]
    core_last_level_bytes_per_second: float
    core_memory_bytes_per_second: float
    cluster_memory_bytes_per_second: float
    outstanding_lines: float
    state_hertz: tuple[float, ...]
    state_active_watts: tuple[float, ...]
    spinning_share: float
    idle_watts: float
    sleeping_watts: float
    stolen_turn_seconds: float
    stolen_share: float
    stolen_reading_share: float


class Memory(msgspec.Struct, frozen=True, kw_only=True):
    """The last-level caches and the memory."""

    last_level_bytes: float
    last_level_inclusive: bool
    last_level_bytes_per_second: float
    retention: tuple[tuple[float, float], ...]
    slow_ring_share: float
    foreign_bytes_per_second: float
    line_bytes: int
    memory_bytes_per_second: float
    copy_bytes_per_second: float


class Latency(msgspec.Struct, frozen=True, kw_only=True):
    """Transfer times of a cache line."""

    line_one_way_seconds: float
    line_between_siblings_seconds: float
    line_slow_kind_seconds: float
    line_between_packages_seconds: float


class Costs(msgspec.Struct, frozen=True, kw_only=True):
    """Costs of the libraries and the operating system."""

    members: int
    fork_join_seconds: float
    fork_join_libgomp_seconds: float
    fork_join_libomp_seconds: float
    fork_join_cold_seconds: float
    fork_join_cold_libgomp_seconds: float
    fork_join_cold_libomp_seconds: float
    dequeue_libgomp_seconds: float
    dequeue_libomp_seconds: float
    barrier_seconds: float
    wake_caller_seconds: float
    wake_sleeper_seconds: float
    move_seconds: float
    idle_exit_seconds: float
    idle_after_seconds: float
    deep_idle_exit_seconds: float
    deep_idle_after_seconds: float
    lock_hold_seconds: float
    task_overhead_seconds: float


class Governor(msgspec.Struct, frozen=True, kw_only=True):
    """The frequency governor."""

    policy: Literal["maximum", "proportional", "thresholds"]
    scope: Literal["core", "package"]
    sampling_seconds: float
    headroom: float
    up_utilisation: float
    down_utilisation: float


class System(msgspec.Struct, frozen=True, kw_only=True):
    """The operating system."""

    woken_takes_core: bool
    migration_cost_seconds: float
    quantum_seconds: float
    locked_waits_for_stores: bool
    mutex_handover: bool


class Noise(msgspec.Struct, frozen=True, kw_only=True):
    """What the system takes of each hardware thread."""

    ticks_per_second: float
    tick_seconds: tuple[float, ...]
    tick_shares: tuple[float, ...]


class Power(msgspec.Struct, frozen=True, kw_only=True):
    """Power drawn by everything but the cores."""

    uncore_active_watts: float
    uncore_idle_watts: float
    platform_watts: float


class Mpi(msgspec.Struct, frozen=True, kw_only=True):
    """Messages inside a node."""

    message_latency_seconds: float
    message_overhead_seconds: float
    rendezvous_latency_seconds: float
    message_bytes_per_second: float
    eager_bytes: float


class Network(msgspec.Struct, frozen=True, kw_only=True):
    """Between nodes; None if the file does not give it."""

    latency_seconds: float | None
    bytes_per_second: float | None


class Machine(msgspec.Struct, frozen=True, kw_only=True):
    """A complete machine: each value is from the file, else derived, else typical."""

    name: str
    packages: int
    kind: tuple[Kind, ...]
    memory: Memory
    latency: Latency
    costs: Costs
    governor: Governor
    system: System
    noise: Noise
    power: Power
    mpi: Mpi
    network: Network
    written: Tables
    """The machine file's own tables, which ``change`` starts from."""

    @property
    def cores(self) -> int:
        return sum(kind.cores for kind in self.kind)

    @property
    def hardware_threads(self) -> int:
        return sum(kind.cores * kind.hardware_threads_per_core for kind in self.kind)

    def says(self, table: str, key: str) -> bool:
        """True if the machine file has the key: the value is neither derived nor typical."""
        return key in self.written.get(table, {})

    def described(self) -> dict[str, object]:
        """As ``tauto-simulate`` takes it."""
        return {name: getattr(self, name) for name in self.__struct_fields__ if name != "written"}


def machine_of(tables: Tables) -> Machine:
    """The machine that checked tables describe."""
    return msgspec.convert({**completed(tables), "written": tables}, Machine)


def shipped() -> dict[str, Path]:
    """The machine files that come with tautochrone, by name."""
    for folder in _SHIPPED:
        if folder.is_dir():
            return {path.stem: path for path in sorted(folder.glob("*.toml"))}
    return {}


def load(name: str) -> Machine:
    """The machine of that name or file. Raises TautoError with the line and the remedy."""
    known = shipped()
    path = Path(name)
    if not path.is_file():
        if name not in known:
            close = difflib.get_close_matches(name, known, 1)
            raise TautoError(
                f"there is no machine {name!r}" + (f"; did you mean {close[0]}?" if close else ""),
                f"Choose from {', '.join(known)}, or name a file that tauto machine --export wrote",
            )
        path = known[name]
    try:
        with explained(f"{path} cannot be read", "Name a readable machine file"):
            text = read_whole(path, _MOST_BYTES).decode()
    except UnicodeDecodeError as error:
        line = error.object[: error.start].count(b"\n") + 1
        raise TautoError(
            f"{path.name}, line {line}: byte {error.object[error.start]:#04x} is not UTF-8",
            "Name a file that tauto machine --export wrote, or save this one as UTF-8",
        ) from error
    return read(text, path.name)


def read(text: str, name: str) -> Machine:
    """The machine of a machine file's text; ``name`` is for messages. Raises TautoError."""
    return machine_of(schema.parse(text, name))


def change(machine: Machine, settings: Iterable[str]) -> Machine:
    """A copy with settings applied: ``cores.E.count=32`` (a kind) or ``memory.line_bytes=128`` (a table).

    Keys that need each other, as in a new table, can be set together. Raises TautoError for an unknown key
    and an impossible value.
    """
    values: dict[str, object] = {}
    for setting in settings:
        path, equals, text = setting.partition("=")
        if not equals:
            raise TautoError(f"--set {setting} gives no value", "Write --set cores.E.count=32")
        values[path] = _parsed(setting, text)
    return with_values(machine, values)


def _parsed(setting: str, text: str) -> Any:
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except (ValueError, KeyError, RecursionError):  # also numbers of thousands of digits, and lists as deep
        if re.fullmatch(r"[\w.-]+", text):
            return text
        raise TautoError(
            f"--set {setting[:80]}: {text[:80]!r} is not a value", "Write a number, a word or a list"
        ) from None


def with_values(machine: Machine, values: Mapping[str, object]) -> Machine:
    """A copy with the values at these paths (``cores.E.count``), checked. Raises TautoError."""
    tables: Tables = copy.deepcopy(dict(machine.written))
    for path, value in values.items():
        table, name, holder = _place(tables, path)
        holder[name] = _shaped(path, table, name, value)
    try:
        schema.check(tables, "--set")
    except TautoError as error:
        message = error.message.split(": ", 1)[-1]
        raise TautoError(f"--set {', '.join(values)}: {message}", error.remedy) from None
    return machine_of(tables)


def _shaped(path: str, table: str, name: str, value: Any) -> Any:
    """The value as the key takes it: in a list if it takes lists, 4.0 as 4 if it takes whole numbers."""
    key = SCHEMA.table[table].get(name)
    if key is None:
        close = difflib.get_close_matches(name, SCHEMA.table[table], 1)
        raise TautoError(
            f"--set {path}: there is no key {name} there",
            f"Did you mean {close[0]}?" if close else "See machines/template.toml",
        )
    if key.each and not isinstance(value, list):
        value = [value]
    return int(value) if key.is_whole and isinstance(value, float) and value.is_integer() else value


def is_whole(machine: Machine, path: str) -> bool:
    """True if the key takes whole numbers only. Raises TautoError for an unknown path."""
    table, name, _ = _place(copy.deepcopy(dict(machine.written)), path)
    key = SCHEMA.table[table].get(name)
    return key is not None and key.is_whole


def _place(tables: Tables, path: str) -> tuple[str, str, Tables]:
    """The table's name, the key, and the table itself, which is created if it is missing."""
    words = path.split(".")
    kinds: dict[str, Tables] = {kind[KIND]: kind for kind in tables[KIND]}
    if len(words) == 3 and words[0] == "cores":
        if words[1] not in kinds:
            raise TautoError(f"{path}: there is no kind {words[1]}", f"Choose from {', '.join(kinds)}")
        return KIND, "cores" if words[2] == "count" else words[2], kinds[words[1]]
    if len(words) == 2 and words[0] in SCHEMA.table and words[0] not in (HEAD, KIND):
        return words[0], words[1], tables.setdefault(words[0], {})
    if len(words) == 1:
        return HEAD, words[0], tables
    raise TautoError(
        f"a machine file has no {path}",
        f"Write cores.KIND.KEY (KIND: {', '.join(kinds)}) or TABLE.KEY, as in "
        f"cores.{next(iter(kinds))}.count",
    )
