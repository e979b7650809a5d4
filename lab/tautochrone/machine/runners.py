"""The executables that the laboratory starts: where they are, what they support, which are present.

Each study and runtime has its own executable, so that no loaded library changes the behaviour of another.
LLVM's libomp needs no executable: it implements GCC's entry points, so the GCC-built ``tauto-loop-openmp``
and ``tauto-mapreduce-openmp`` run on it if it is preloaded.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sysconfig
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import msgspec

from tautochrone.errors import TautoError, explained
from tautochrone.machine import built
from tautochrone.measuring.answers import read_answer

RUNNERS_VARIABLE = "TAUTO_RUNNERS"
LIBOMP_VARIABLE = "TAUTO_LIBOMP"
COMMAND = "tauto"
ANSWER_LIMIT_SECONDS = 20.0

Completed = subprocess.CompletedProcess[str]
_OWN_FOLDER = Path(__file__).resolve().parents[1] / "bin"


@dataclass(frozen=True, slots=True)
class Peer:
    """A runtime under test in a study: its runner, and the Debian package of its library."""

    name: str  # the word in --peers, in rows' `library` and the key of its colour: libgomp, libomp, tbb …
    runtime: str  # the word in rows' `runtime`, and the end of the runner's name
    title: str  # for people
    package: str
    default_schedule: str  # the default of a program that sets none
    study: str
    on_request: bool = False  # measured only where --peers names it

    @property
    def runner(self) -> str:
        return f"tauto-{self.study}-{self.runtime}"


def usual(peers: Sequence[Peer]) -> list[Peer]:
    """Those that are measured where nobody names any."""
    return [peer for peer in peers if not peer.on_request]


class Description(msgspec.Struct, frozen=True):
    """The output of a runner's ``--describe``."""

    runtime: str
    library: str | None = None
    version: str | None = None
    schedules: tuple[str, ...] = ()
    schedules_with_chunk: tuple[str, ...] = ()
    wait_policies: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PeerState:
    """A peer on this machine: described, or missing with the reason and the remedy."""

    peer: Peer
    description: Description | None
    path: Path | None = None
    environment: Mapping[str, str] = field(default_factory=dict)
    reason: str = ""
    remedy: str = ""

    @property
    def present(self) -> bool:
        return self.description is not None


def folders() -> list[Path]:
    """Where executables are looked for: as the variable says, in the package, where studies are compiled."""
    named = os.environ.get(RUNNERS_VARIABLE)
    compiled = built.executables()
    return [*([Path(named)] if named else []), _OWN_FOLDER, *([compiled] if compiled else [])]


def _command_folders() -> list[Path]:
    """Where pip puts a command, into this environment or among the user's own."""
    schemes = (sysconfig.get_default_scheme(), sysconfig.get_preferred_scheme("user"))
    return [Path(sysconfig.get_path("scripts", scheme)) for scheme in schemes]


def find(name: str, package: str = "") -> Path:
    """The path of an executable such as ``tauto-probe`` (``tauto-`` is optional), or of ``tauto``.

    ``package``: the package that it is built against. Raises TautoError if it is missing, with the searched
    folders and the package to install.
    """
    executable = name if name == COMMAND or name.startswith("tauto-") else f"tauto-{name}"
    found = _found(executable)
    if found is not None:
        return found
    if built.build_line(executable):
        raise TautoError(f"{executable} is not compiled here", remedy(package, executable))
    searched = " and ".join(str(folder) for folder in folders())
    raise TautoError(f"the runner {executable} was not found in {searched}", remedy(package, executable))


def is_there(executable: str) -> bool:
    return _found(executable) is not None


def _found(executable: str) -> Path | None:
    for folder in [*folders(), *(_command_folders() if executable == COMMAND else ())]:
        path: Path = folder / executable
        if path.is_file() and os.access(path, os.X_OK):
            return path.resolve()
    return None


def remedy(package: str, executable: str) -> str:
    """What to do where an executable or a library of ours is missing."""
    line = built.build_line(executable)
    if line:
        return f"Install {package}, then run: {line}" if package else f"Run: {line}"
    if package:
        return f"Install {package} and build again (make), or set {RUNNERS_VARIABLE}"
    return f"Build it (make tools), reinstall with pip install ., or set {RUNNERS_VARIABLE} to its folder"


def describe(name: str, preload: Path | None = None, package: str = "") -> Description:
    """A runner's description, read once in each process. Raises TautoError if it cannot start."""
    return _describe(find(name, package), preload, package)


def asked(path: Path, option: str, environment: Mapping[str, str] | None = None) -> Completed:
    """What an executable answers to an option, with these variables too. TautoError where it does not."""
    try:
        with explained(f"{path.name} could not be started", "Build it again (make)"):
            return subprocess.run(
                [str(path), option],
                capture_output=True,
                text=True,
                timeout=ANSWER_LIMIT_SECONDS,
                env={**os.environ, **(environment or {})},
                check=False,
            )
    except subprocess.TimeoutExpired as error:
        raise TautoError(
            f"{path.name} {option} did not answer within {ANSWER_LIMIT_SECONDS:.0f} seconds",
            "Start it by hand to see where it hangs",
        ) from error


@cache
def _describe(path: Path, preload: Path | None, package: str) -> Description:
    finished = asked(path, "--describe", preload_environment(preload))
    if finished.returncode != 0:
        lines = finished.stderr.strip().splitlines() or [f"exit code {finished.returncode}"]
        raise TautoError(f"{path.name} --describe failed: {lines[-1]}", remedy(package, path.name))
    return read_answer(finished.stdout, Description, f"{path.name} --describe")


def preload_environment(library: Path | None) -> dict[str, str]:
    return {} if library is None else {"LD_PRELOAD": str(library)}


def find_libomp(root: Path = Path("/")) -> Path | None:
    """LLVM's OpenMP library, the highest version or the one that ``TAUTO_LIBOMP`` names; None if missing.

    Raises TautoError if ``TAUTO_LIBOMP`` names a missing file.
    """
    named = os.environ.get(LIBOMP_VARIABLE)
    if named:
        if not Path(named).is_file():
            raise TautoError(
                f"{LIBOMP_VARIABLE} names {named}, which does not exist", "Correct it or unset it"
            )
        return Path(named).resolve()
    libraries = [*root.glob("usr/lib/llvm-*/lib/libomp.so.5"), *root.glob("usr/lib/*/libomp.so.5")]
    if not libraries and root == Path("/"):
        libraries = list(_libraries_of_the_linker("libomp.so.5"))
    return max(libraries, key=_version_of_folder).resolve() if libraries else None


def _version_of_folder(path: Path) -> tuple[int, str]:
    version = re.search(r"llvm-(\d+)", str(path.resolve()))
    return (int(version.group(1)) if version else 0, str(path))


def _libraries_of_the_linker(name: str) -> Iterator[Path]:
    """Libraries in the dynamic linker's cache; none if ldconfig is missing."""
    for command in ("ldconfig", "/sbin/ldconfig"):
        try:
            listed = subprocess.run([command, "-p"], capture_output=True, text=True, timeout=10, check=False)
        except (OSError, subprocess.TimeoutExpired):
            continue
        for line in listed.stdout.splitlines():
            if line.strip().startswith(f"{name} ") and "=>" in line:
                yield Path(line.split("=>")[1].strip())
        return


def find_intel_mpi() -> tuple[Path, Path] | None:
    """The launcher of Intel MPI, and its library, which has MPICH's binary interface; None if it is missing.

    From ``I_MPI_ROOT``, else from the ``mpiexec`` on the PATH.
    """
    named = os.environ.get("I_MPI_ROOT")
    launchers = [Path(named) / "bin" / "mpiexec.hydra"] if named else []
    on_path = (shutil.which(name) for name in ("mpiexec.hydra", "mpiexec"))
    launchers += [Path(launcher).resolve() for launcher in on_path if launcher is not None]
    for launcher in launchers:
        for folder in ("lib", "lib/release"):
            library = launcher.parent.parent / folder / "libmpi.so.12"
            if launcher.is_file() and library.is_file():
                return launcher, library
    return None


def peer_state(peer: Peer) -> PeerState:
    """Whether a peer can be measured here. A missing peer is not an error; its state has the remedy.

    Intel MPI and libomp are preloaded into runners built for MPICH and libgomp, whose binary interfaces they
    have.
    """

    def missing(reason: str, remedy: str) -> PeerState:
        return PeerState(peer, None, reason=reason, remedy=remedy)

    intel = find_intel_mpi() if peer.name == "intelmpi" else None
    if peer.name == "intelmpi" and intel is None:
        return missing(
            "no Intel MPI was found by I_MPI_ROOT or by an mpiexec on the PATH",
            "Install Intel MPI and source its setvars.sh, then start the study again",
        )
    launcher, preload = intel or (None, find_libomp() if peer.name == "libomp" else None)
    if peer.name == "libomp" and preload is None:
        return missing("LLVM's libomp.so.5 is not installed", f"apt install {peer.package}")
    try:
        # libgomp and libomp come with compilers, so a build never lacks them.
        description = describe(peer.runner, preload, "" if peer.runtime == "openmp" else peer.package)
    except TautoError as error:
        return missing(error.message, error.remedy)
    ran_on = f"{peer.runner} ran on {description.library}"
    environment = preload_environment(preload)
    if launcher is not None:
        if description.library != peer.name:
            return missing(f"{ran_on} when {preload} was preloaded", "Correct I_MPI_ROOT or unset it")
        # The runner pins its ranks itself.
        environment |= {"TAUTO_MPIEXEC": str(launcher), "I_MPI_PIN": "0"}
    elif peer.runtime == "openmp" and description.library != peer.name:
        remedy = f"Set {LIBOMP_VARIABLE} to a working libomp.so.5" if preload else "Unset LD_PRELOAD"
        return missing(f"{ran_on} when {peer.name} was wanted", remedy)
    return PeerState(peer, description, find(peer.runner), environment)


def peer_states(peers: Sequence[Peer], names: Collection[str] | None = None) -> list[PeerState]:
    """The states of the peers, or of the named ones, in order.

    Raises TautoError for an unknown name, with the list of peers.
    """
    known = [peer.name for peer in peers]
    for name in names or ():
        if name not in known:
            raise TautoError(
                f"there is no peer called {name!r} in study {peers[0].study}",
                f"Choose from: {', '.join(known)}",
            )
    return [peer_state(peer) for peer in peers if names is None or peer.name in names]
