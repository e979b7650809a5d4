"""The executables that the lab starts: where they are, what they can do, which peers are there.

One executable a study and runtime under test, so that no library changes another's behaviour by being loaded
beside it. LLVM's libomp has no executable of its own: it implements GCC's entry points, so the GCC-built
``tauto-loop-openmp`` and ``tauto-mapreduce-openmp`` run on it when it is preloaded.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path

import msgspec

from tautochrone.errors import TautoError

RUNNERS_VARIABLE = "TAUTO_RUNNERS"
LIBOMP_VARIABLE = "TAUTO_LIBOMP"
COMMAND = "tauto"
DESCRIBE_LIMIT_SECONDS = 20.0
_OWN_FOLDER = Path(__file__).resolve().parent / "bin"


@dataclass(frozen=True, slots=True)
class Peer:
    """A runtime under test in a study: its runner, and the Debian package that brings its library."""

    name: str  # the word in --peers, in rows' `library` and the key of its colour: libgomp, libomp, tbb …
    runtime: str  # the word in rows' `runtime`, and the end of the runner's name
    title: str  # for people
    package: str
    default_schedule: str  # what a program gets that sets nothing
    study: str = "loop"

    @property
    def runner(self) -> str:
        """The executable that the peer is measured with."""
        return f"tauto-{self.study}-{self.runtime}"


PEERS: tuple[Peer, ...] = (
    Peer("serial", "serial", "the plain serial loop", "", "serial"),
    Peer("libgomp", "openmp", "OpenMP on GCC's libgomp", "libgomp1", "pragma"),
    Peer("libomp", "openmp", "OpenMP on LLVM's libomp", "libomp5", "pragma"),
    Peer("tbb", "tbb", "oneTBB", "libtbb-dev", "auto"),
    Peer("stdpar", "stdpar", "std::execution::par", "libtbb-dev", "par"),
    Peer("openblas", "openblas", "OpenBLAS sgemv", "libopenblas-pthread-dev", "sgemv"),
    Peer("tautochrone", "tautochrone", "tautochrone", "", "adaptive"),
)
PEER_BY_NAME: Mapping[str, Peer] = {peer.name: peer for peer in PEERS}


def _reducing(name: str, default_schedule: str) -> Peer:
    """A runtime of the loop study that has a map/reduce runner as well."""
    return replace(PEER_BY_NAME[name], default_schedule=default_schedule, study="mapreduce")


MAPREDUCE_PEERS: tuple[Peer, ...] = (
    _reducing("serial", "serial"),
    Peer("qt", "qt", "QtConcurrent", "qt6-base-dev", "unordered", "mapreduce"),
    _reducing("tbb", "auto"),
    _reducing("libgomp", "dynamic"),
    _reducing("libomp", "dynamic"),
    _reducing("stdpar", "par"),
    Peer("async", "async", "std::async", "", "async", "mapreduce"),
    _reducing("tautochrone", "adaptive"),
)
COLLECTIVE_PEERS: tuple[Peer, ...] = (
    Peer("openmpi", "openmpi", "Open MPI", "libopenmpi-dev", "native", "collective"),
    Peer("mpich", "mpich", "MPICH", "libmpich-dev", "native", "collective"),
    Peer("intelmpi", "mpich", "Intel MPI", "", "native", "collective"),
    Peer("tautochrone", "threads", "tautochrone", "", "member", "collective"),
)
NBODY_PEERS: tuple[Peer, ...] = (
    Peer("serial", "serial", "one core alone", "", "serial", "nbody"),
    Peer("libgomp", "openmp", "OpenMP on GCC's libgomp", "libgomp1", "loops-i", "nbody"),
    Peer("libomp", "openmp", "OpenMP on LLVM's libomp", "libomp5", "loops-i", "nbody"),
    Peer("openmpi", "openmpi", "Open MPI", "libopenmpi-dev", "auto", "nbody"),
    Peer("mpich", "mpich", "MPICH", "libmpich-dev", "auto", "nbody"),
    Peer("intelmpi", "mpich", "Intel MPI", "", "auto", "nbody"),
    Peer("tautochrone", "tautochrone", "tautochrone", "", "auto", "nbody"),
)
POWER_JOBS: tuple[Peer, ...] = (
    Peer("encryption", "encryption", "encryption with OpenSSL", "libssl-dev", "serial", "power"),
    Peer("compression", "compression", "compression with zstd", "libzstd-dev", "serial", "power"),
    Peer("physics", "physics", "two-dimensional physics", "", "serial", "power"),
    Peer("together", "together", "two programs at once", "", "free", "power"),
)
"""What the power study runs: jobs in the place of peers, each on its own library."""

PEERS_OF_STUDY: Mapping[str, tuple[Peer, ...]] = {
    "loop": PEERS,
    "mapreduce": MAPREDUCE_PEERS,
    "collective": COLLECTIVE_PEERS,
    "nbody": NBODY_PEERS,
    "power": POWER_JOBS,
}


class Description(msgspec.Struct, frozen=True):
    """What a runner says about itself with ``--describe``."""

    runtime: str
    library: str | None = None
    version: str | None = None
    schedules: tuple[str, ...] = ()
    schedules_with_chunk: tuple[str, ...] = ()
    wait_policies: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PeerState:
    """A peer on this machine: either described, or absent with the reason and what to do."""

    peer: Peer
    description: Description | None
    path: Path | None = None
    environment: Mapping[str, str] = field(default_factory=dict)
    reason: str = ""
    remedy: str = ""

    @property
    def present(self) -> bool:
        """True where the peer can be measured."""
        return self.description is not None


def folders() -> list[Path]:
    """Where runners are looked for, in this order."""
    named = os.environ.get(RUNNERS_VARIABLE)
    return ([Path(named)] if named else []) + [_OWN_FOLDER]


def find(name: str) -> Path:
    """The path of an executable such as ``tauto-probe`` (the ``tauto-`` may be left out), or of ``tauto``.

    Raises TautoError, naming the folders that were searched and what to install, where there is none.
    """
    executable = name if name == COMMAND or name.startswith("tauto-") else f"tauto-{name}"
    for folder in folders():
        path = folder / executable
        if path.is_file() and os.access(path, os.X_OK):
            return path.resolve()
    searched = " and ".join(str(folder) for folder in folders())
    raise TautoError(f"the runner {executable} was not found in {searched}", _remedy(executable))


def _remedy(executable: str) -> str:
    peers = [peer for peers in PEERS_OF_STUDY.values() for peer in peers if peer.runner == executable]
    packages = sorted({peer.package for peer in peers if peer.package and peer.runtime != "openmp"})
    if packages:
        return f"Install {' and '.join(packages)} and build again (make), or set {RUNNERS_VARIABLE}"
    return (
        f"Build it (make), reinstall with pip install ., or set {RUNNERS_VARIABLE} to the folder that has it"
    )


def describe(name: str, preload: Path | None = None) -> Description:
    """What a runner says about itself, read once in each process. Raises TautoError where it cannot start."""
    return _describe(find(name), preload)


@cache
def _describe(path: Path, preload: Path | None) -> Description:
    environment = {**os.environ, **preload_environment(preload)}
    try:
        finished = subprocess.run(
            [str(path), "--describe"],
            capture_output=True,
            text=True,
            timeout=DESCRIBE_LIMIT_SECONDS,
            env=environment,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise TautoError(
            f"{path.name} --describe did not answer within {DESCRIBE_LIMIT_SECONDS:.0f} seconds",
            "Start it by hand to see where it hangs",
        ) from error
    except OSError as error:
        raise TautoError(
            f"{path.name} could not be started: {error.strerror}", "Build it again (make)"
        ) from error
    if finished.returncode != 0:
        said = finished.stderr.strip().splitlines() or [f"exit code {finished.returncode}"]
        raise TautoError(f"{path.name} --describe failed: {said[-1]}", _remedy(path.name))
    try:
        return msgspec.convert(json.loads(finished.stdout), Description)
    except (json.JSONDecodeError, msgspec.ValidationError) as error:
        raise TautoError(
            f"{path.name} --describe did not print what the lab understands: {error}",
            "It may be of another version: build it again (make)",
        ) from error


def preload_environment(library: Path | None) -> dict[str, str]:
    """The variables with which a child loads ``library`` before all others."""
    return {} if library is None else {"LD_PRELOAD": str(library)}


def find_libomp(root: Path = Path("/")) -> Path | None:
    """LLVM's OpenMP library of the highest version, or None. ``TAUTO_LIBOMP`` names another one.

    Raises TautoError when ``TAUTO_LIBOMP`` names a file that is not there.
    """
    named = os.environ.get(LIBOMP_VARIABLE)
    if named:
        if not Path(named).is_file():
            raise TautoError(f"{LIBOMP_VARIABLE} names {named}, which is not there", "Correct it or unset it")
        return Path(named).resolve()
    found = [*root.glob("usr/lib/llvm-*/lib/libomp.so.5"), *root.glob("usr/lib/*/libomp.so.5")]
    if not found and root == Path("/"):
        found = list(_libraries_of_the_linker("libomp.so.5"))
    return max(found, key=_version_of_folder).resolve() if found else None


def _version_of_folder(path: Path) -> tuple[int, str]:
    version = re.search(r"llvm-(\d+)", str(path.resolve()))
    return (int(version.group(1)) if version else 0, str(path))


def _libraries_of_the_linker(name: str) -> Iterator[Path]:
    """Libraries in the dynamic linker's cache; nothing where ldconfig is missing."""
    for command in ("ldconfig", "/sbin/ldconfig"):
        try:
            listed = subprocess.run([command, "-p"], capture_output=True, text=True, timeout=10, check=False)
        except (OSError, subprocess.TimeoutExpired):
            continue
        for line in listed.stdout.splitlines():
            if line.strip().startswith(f"{name} ") and "=>" in line:
                yield Path(line.split("=>")[1].strip())
        return


@dataclass(frozen=True, slots=True)
class IntelMpi:
    """An installation of Intel MPI: its launcher, and the library that has MPICH's binary interface."""

    launcher: Path
    library: Path


def find_intel_mpi() -> IntelMpi | None:
    """Intel MPI by ``I_MPI_ROOT``, else by the ``mpiexec`` on the PATH; None where there is none."""
    named = os.environ.get("I_MPI_ROOT")
    launchers = [Path(named) / "bin" / "mpiexec.hydra"] if named else []
    on_path = (shutil.which(name) for name in ("mpiexec.hydra", "mpiexec"))
    launchers += [Path(found).resolve() for found in on_path if found is not None]
    for launcher in launchers:
        for folder in ("lib", "lib/release"):
            library = launcher.parent.parent / folder / "libmpi.so.12"
            if launcher.is_file() and library.is_file():
                return IntelMpi(launcher, library)
    return None


def _intel_mpi_state(peer: Peer) -> PeerState:
    """The runner built for MPICH on Intel's library, which is preloaded: both have one binary interface."""
    found = find_intel_mpi()
    if found is None:
        return PeerState(
            peer,
            None,
            reason="neither I_MPI_ROOT nor an mpiexec of Intel's on the PATH names an installation",
            remedy="Install Intel MPI and source its setvars.sh, then start the study again",
        )
    try:
        description = describe(peer.runner, found.library)
    except TautoError as error:
        return PeerState(peer, None, reason=error.message, remedy=error.remedy or "")
    if description.library != peer.name:
        reason = f"{peer.runner} ran on {description.library} when {found.library} was preloaded"
        return PeerState(peer, None, reason=reason, remedy="Correct I_MPI_ROOT or unset it")
    environment = {
        **preload_environment(found.library),
        "TAUTO_MPIEXEC": str(found.launcher),
        "I_MPI_PIN": "0",  # the runner pins its ranks itself
    }
    return PeerState(peer, description, find(peer.runner), environment)


def peer_state(peer: Peer) -> PeerState:
    """Whether a peer can be measured here; a missing one is an answer with a remedy, not an error."""
    if peer.name == "intelmpi":
        return _intel_mpi_state(peer)
    preload: Path | None = None
    if peer.name == "libomp":
        preload = find_libomp()
        if preload is None:
            return PeerState(
                peer, None, reason="LLVM's libomp.so.5 is not installed", remedy=f"apt install {peer.package}"
            )
    try:
        description = describe(peer.runner, preload)
    except TautoError as error:
        return PeerState(peer, None, reason=error.message, remedy=error.remedy or "")
    if peer.runtime == "openmp" and description.library != peer.name:
        return PeerState(
            peer,
            None,
            reason=f"{peer.runner} ran on {description.library} when {peer.name} was wanted",
            remedy=f"Set {LIBOMP_VARIABLE} to a working libomp.so.5" if preload else "Unset LD_PRELOAD",
        )
    return PeerState(peer, description, find(peer.runner), preload_environment(preload))


def peer_states(names: list[str] | None = None, study: str = "loop") -> list[PeerState]:
    """The state of the named peers of a study, or of all, in the order of :data:`PEERS_OF_STUDY`.

    Raises TautoError for a name that is no peer of the study, listing those that are.
    """
    peers = PEERS_OF_STUDY[study]
    known = [peer.name for peer in peers]
    for name in names or []:
        if name not in known:
            raise TautoError(
                f"there is no peer called {name!r} in study {study}", f"Choose from: {', '.join(known)}"
            )
    return [peer_state(peer) for peer in peers if names is None or peer.name in names]


def all_peer_states() -> list[PeerState]:
    """The state of every peer, each once, whatever study it takes part in."""
    every: dict[str, Peer] = {}
    for peer in (peer for peers in PEERS_OF_STUDY.values() for peer in peers):
        every.setdefault(peer.name, peer)
    return [peer_state(peer) for peer in every.values()]
