"""What ``tauto balance`` can do with a program, as far as its files and the environment tell beforehand."""

from __future__ import annotations

import stat
from collections.abc import Mapping, Sequence

from tautochrone import text
from tautochrone.programs.elf import Elf

_PINNING = ("OMP_PROC_BIND", "OMP_PLACES", "GOMP_CPU_AFFINITY", "KMP_AFFINITY")
_PINS_NOTHING = ("", "false", "none", "disabled")
_READ_BY_OPENBLAS = ("OPENBLAS_NUM_THREADS", "GOTO_NUM_THREADS", "OMP_NUM_THREADS")
_SANITIZERS = ("libasan.", "libtsan.", "libubsan.", "liblsan.", "libclang_rt.")


def balancing(
    programs: Sequence[Elf],
    environment: Mapping[str, str],
    *,
    one_kind: bool,
    llvm_loops: bool,
    gcc_loops: bool,
    openblas: bool,
    waits: Sequence[str],
) -> tuple[str, ...]:
    """Sentences without a full stop. The loops are static ones of OpenMP, by the compiler.

    `waits`: where its threads may wait for each other.
    """
    said = ["it moves threads that wait for each other after equal shares"]
    if one_kind:
        said.append("no CPU here is of a slower kind: unless it finds one slower, it does nothing")
    pinning = [name for name in _PINNING if environment.get(name, "").strip().lower() not in _PINS_NOTHING]
    if pinning:
        said.append(f"{pinning[0]} pins its threads, which then stay where they are, but for --even-pinned")
    why = next((why for program in programs if (why := _unmarked(program))), "")
    if why:
        said.append(f"{why}, so nothing can be preloaded: what spins while it waits seems to work")
    elif llvm_loops:
        said.append("its static loops (LLVM's OpenMP) can be shared out by the speeds of the CPUs")
    if waits and not why:
        said.append(
            f"its threads may wait for each other in {text.joined(waits)}: who waits can lend its CPU to "
            "one that works on a slower one"
        )
    if gcc_loops:
        said.append(
            "GCC has compiled equal shares into its static loops: "
            + (
                "with OMP_NUM_THREADS set, it cannot give fast CPUs more of them"
                if environment.get("OMP_NUM_THREADS")
                else "it starts more threads than CPUs, and fast CPUs get more of them"
            )
        )
        said.append(
            "a thread for each CPU can run the parts of its short regions, one after the other, where none "
            "can tell whose thread it is on"
        )
    if openblas:
        chosen = next((name for name in _READ_BY_OPENBLAS if environment.get(name)), "")
        said.append(
            "OpenBLAS' threads spin while they wait for those on slow CPUs: "
            + (
                f"with {chosen} set, it cannot leave those CPUs out"
                if chosen
                else "it starts fewer threads where a CPU is so slow that more is done without it"
            )
        )
    return tuple(said)


def _unmarked(program: Elf) -> str:
    """Why nothing is preloaded into it; empty where it can be."""
    if program.linked_statically:
        return f"{program.path.name} is linked statically"
    if program.path.stat().st_mode & (stat.S_ISUID | stat.S_ISGID):
        return f"{program.path.name} runs with the rights of its owner"
    if any(name.startswith(_SANITIZERS) for name in program.needed):
        return f"{program.path.name} is built with a sanitizer"
    return ""
