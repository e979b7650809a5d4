"""The page between the balancer and a program, made and read as the controller does it."""

from __future__ import annotations

import fcntl
import mmap
import os
import struct
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tautochrone.machine import runners

# As balance/page.hpp has it.
MAGIC = 0x65636E616C616274
VERSION = 11
IS_HELD = 3
SLOTS = 1024
CPUS = 1024
HEAD = struct.Struct("=QIIQI")
SPEEDS_AT = HEAD.size
SLOTS_AT = (SPEEDS_AT + 8 + 4 * CPUS + 63) // 64 * 64
SLOT_BYTES = 64
GIVEN_AT = SLOTS_AT + SLOTS * SLOT_BYTES
GIVEN_BYTES = 128
MAY_SPIN_AT = GIVEN_AT + GIVEN_BYTES + 4
LENDING_AT = MAY_SPIN_AT + 4
WAITS_SLEEP_AT = LENDING_AT + 8
PACES_AT = WAITS_SLEEP_AT + 4
SHARED_OUT_AT = (PACES_AT + 4 * CPUS + 7) // 8 * 8
HELPS_ON_AT = SHARED_OUT_AT + 8 * CPUS
IN_A_ROW_AT = HELPS_ON_AT + 4 * SLOTS
LENT_AT = IN_A_ROW_AT + 8
LAST_STEP_AT = LENT_AT + 8
ENDED_AT = LAST_STEP_AT + 8
HANDED_OVER_AT = ENDED_AT + 8
HAND_OVER_AT = HANDED_OVER_AT + 8
ASKED_AT = HAND_OVER_AT + 8
RAN_UNTIL_ENDED_AT = ASKED_AT + 8
BYTES = (RAN_UNTIL_ENDED_AT + 8 * CPUS + 63) // 64 * 64


@dataclass(frozen=True)
class Waits:
    begun: int
    depth: int
    yields: int
    waited: int = 0  # ns of those that are timed and have ended
    since: int = 0  # when the timed one began that goes on; 0: none


@dataclass(frozen=True)
class Steps:
    count: int
    ended: int  # threads
    handed_over: int
    asked: int  # threads
    ran: int  # ns of these


class BalancePage:
    """A sealed page, for programs that are started with `environment`."""

    def __init__(self) -> None:
        self._descriptor = os.memfd_create("page", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        os.ftruncate(self._descriptor, BYTES)
        seals = fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SEAL
        fcntl.fcntl(self._descriptor, fcntl.F_ADD_SEALS, seals)
        self._bytes = mmap.mmap(self._descriptor, BYTES)
        namespace = Path("/proc/self/ns/pid").stat().st_ino
        HEAD.pack_into(self._bytes, 0, MAGIC, VERSION, BYTES, namespace, 0)
        self.limit(sorted(os.sched_getaffinity(0)))

    def environment(self) -> dict[str, str]:
        library = runners.find("tauto-emulate").with_name("libtauto-waits.so")
        page = f"/proc/{os.getpid()}/fd/{self._descriptor}"
        return {**os.environ, "LD_PRELOAD": str(library), "TAUTO_BALANCE_PAGE": page}

    def hold(self, thread: int, cpu: int) -> None:
        """What the controller does to keep a thread on a CPU."""
        at = next(at for at, owner, *_ in self._slots() if owner & 0xFFFFFFFF == thread)
        struct.pack_into("=3H", self._bytes, at + 24, IS_HELD, cpu + 1, cpu + 1)
        os.sched_setaffinity(thread, {cpu})

    def gather(self, thread: int, cpu: int) -> None:
        """What the controller does where more threads than one are held on one CPU."""
        at = next(at for at, owner, *_ in self._slots() if owner & 0xFFFFFFFF == thread)
        struct.pack_into("=3H", self._bytes, at + 24, IS_HELD, 0, 0)
        struct.pack_into("=I", self._bytes, LENDING_AT + 4, 1)
        os.sched_setaffinity(thread, {cpu})

    def let_threads_spin(self) -> None:
        """The user has not said for how long."""
        struct.pack_into("=I", self._bytes, MAY_SPIN_AT, 1)

    def let_waits_sleep(self, on: bool = True) -> None:
        """Who waits in GCC's OpenMP shall sleep soon."""
        struct.pack_into("=I", self._bytes, WAITS_SLEEP_AT, int(on))

    def allow_lending(self, paces: Mapping[int, int]) -> None:
        """Threads that wait may take those on slower CPUs onto theirs."""
        self._tell(paces)
        struct.pack_into("=I", self._bytes, LENDING_AT, 1)

    def limit(self, cpus: Sequence[int]) -> None:
        """These are what the program was given, so each thread with more of them was pinned."""
        self._bytes[GIVEN_AT : GIVEN_AT + GIVEN_BYTES] = bytes(GIVEN_BYTES)
        for cpu in cpus:
            self._bytes[GIVEN_AT + cpu // 8] |= 1 << cpu % 8

    def let_ends_hand_over(self, paces: Mapping[int, int]) -> None:
        """Threads that end may put those on slower CPUs onto theirs."""
        self._tell(paces)
        struct.pack_into("=I", self._bytes, HAND_OVER_AT, 1)

    def _tell(self, paces: Mapping[int, int]) -> None:
        for cpu, pace in paces.items():
            struct.pack_into("=I", self._bytes, PACES_AT + 4 * cpu, pace)

    def steps(self) -> Steps:
        """What is told of threads that live for one step."""
        last, ended, handed_over = struct.unpack_from("=3Q", self._bytes, LAST_STEP_AT)
        asked, *ran = struct.unpack_from(f"={1 + CPUS}Q", self._bytes, ASKED_AT)
        return Steps(last & 0xFFFFF, ended, handed_over, asked, sum(ran))

    def static_loops(self) -> bool:
        """Whether a process has said that its loops can be shared out by speed."""
        return self._bytes[GIVEN_AT + GIVEN_BYTES] != 0

    def in_a_row(self) -> int:
        """Regions whose parts were run one after the other."""
        (count,) = struct.unpack_from("=Q", self._bytes, IN_A_ROW_AT)
        return int(count)

    def helpers(self) -> dict[int, int]:
        """Of each thread that takes parts of others' regions: the CPU for which it does."""
        told = struct.unpack_from(f"={SLOTS}I", self._bytes, HELPS_ON_AT)
        owners = [owner & 0xFFFFFFFF for _, owner, *_ in self._slots()]
        return {owner: cpu - 1 for owner, cpu in zip(owners, told, strict=False) if owner and cpu}

    def used(self) -> int:
        """Slots that were ever taken."""
        (used,) = struct.unpack_from("=I", self._bytes, HEAD.size - 4)
        return int(used)

    def threads(self) -> dict[int, Waits]:
        """Of each thread that has a slot."""
        return {
            owner & 0xFFFFFFFF: Waits(state >> 32, state & 0xFFFFFFFF, yields, *timed)
            for _, owner, state, yields, _, timed in self._slots()
            if owner & 0xFFFFFFFF
        }

    def passed(self) -> dict[int, int]:
        """Of each thread that has a slot: the places that it has come past."""
        return {
            owner & 0xFFFFFFFF: passed for _, owner, _, _, passed, _ in self._slots() if owner & 0xFFFFFFFF
        }

    def _slots(self) -> Iterator[tuple[int, int, int, int, int, tuple[int, int]]]:
        """Of each that was ever taken: where it is, owner, state, yields, places and timed waits."""
        for at in range(SLOTS_AT, SLOTS_AT + self.used() * SLOT_BYTES, SLOT_BYTES):
            owner, state, yields, _, passed, _, waited, since = struct.unpack_from("=8Q", self._bytes, at)
            yield at, owner, state, yields, passed // 2, (waited, since)

    def publish(self, weights: Sequence[int]) -> None:
        """What the CPUs are worth, for programs that run no loop at this moment."""
        (sequence,) = struct.unpack_from("=I", self._bytes, SPEEDS_AT)
        struct.pack_into(f"={len(weights)}I", self._bytes, SPEEDS_AT + 8, *weights)
        struct.pack_into("=II", self._bytes, SPEEDS_AT, sequence + 2, len(weights))
