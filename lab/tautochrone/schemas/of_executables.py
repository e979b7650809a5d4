"""JSON that no type of the laboratory writes. Tests hold these types against what is really printed."""

from __future__ import annotations

import msgspec


class CpuSpeed(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A CPU as tauto-balance found it."""

    cpu: int
    work_per_cpu_second: float  # relative to the fastest
    share: float | None  # of its time that threads of the program had
    work_per_cpu_second_at_start: float  # as it was found before the program began
    share_at_start: float


class SecondsOfEachWay(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How long what was done."""

    left_alone: float
    moved: float
    loops_shared_out_by_speed: float
    on_the_fastest_alone: float


class Balance(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What `tauto balance` did for a program, and what that brought."""

    schema: str
    command: str
    threads: int
    threads_moved: int
    moves: int
    handed_over: int  # of these: onto the CPUs of threads that had ended, or waited for others to end
    looks: int
    seconds: float
    seconds_of_each_way: SecondsOfEachWay
    controller_cpu_seconds: float  # what looking and moving took
    longest_move_seconds: float
    average_move_seconds: float
    watched_by: str  # switches (where it moved threads, and could) or files
    helped: bool
    time_over_linux_alone: float | None  # below 1: balancing is faster
    interval: tuple[float | None, float | None]  # of that
    pairs_of_windows: int
    estimated: bool  # in these windows, by the CPU time of threads, which need not be progress
    waited_unseen: float  # of their CPU time with Linux alone: threads spun in memory; 0: none known
    regions_in_a_row: int  # of GCC's OpenMP: a thread for each CPU ran the parts, one after the other
    left_alone_because: str | None
    variables_set: list[str]
    preloaded: bool
    not_preloaded_because: str | None
    cpus: list[CpuSpeed]
    exit_status: int


class Window(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A time in which a CPU was slow."""

    on_seconds: float | None  # as asked, from the start of the command
    off_seconds: float | None
    on_monotonic_seconds: float  # as it was
    off_monotonic_seconds: float | None


class Slowed(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A CPU that was made slower."""

    cpu: int
    factor_asked: float
    factor_calibrated: float
    reading_factor: float  # the same of reads from behind the L2 cache
    factor_while_running: float | None
    period_seconds: float | None
    overhead_seconds: float
    busy_fraction: float
    interruptions: int
    interrupted_seconds: float
    windows: list[Window]


class Emulation(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What slowing CPUs came to; with --check only whether it is possible, and why not."""

    schema: str
    available: bool | None = None
    reason: str | None = None
    calibration_seconds: float | None = None
    command_started_monotonic_seconds: float | None = None
    exit_status: int | None = None  # of the command
    state: str | None = None  # of an emulation that is held
    slow: list[Slowed] = []
    warnings: list[str] = []


class Frame(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The particles at one time."""

    time: float
    x: list[float]
    y: list[float]
    steps: list[int]  # of each particle since the frame before


class Frames(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A cluster in motion."""

    schema: str
    particles: int
    blocks: int
    frames: list[Frame]


class RunnerDescription(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a runner is, as its --describe says it; a run has the same schema and fields of its study."""

    schema: str
    runtime: str
    library: str | None
    version: str | None
    schedules: list[str]
    schedules_with_chunk: list[str]
    default_chunk: int | None
    wait_policies: list[str]


class StoreHead(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The first line of `rows.jsonl`: what the rows below it are of."""

    schema: str
    study: str
    plan_id: str
    created: str
    tautochrone: str  # its version
    measured: dict[str, str]  # of each file that is measured, what tells it from others of its name
