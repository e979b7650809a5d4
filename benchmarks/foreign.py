"""Programs of other people for `benchmarks.balance`, each with an input that keeps two CPUs busy for seconds.

Those whose threads wait for each other after equal shares, and those with a queue, from which whoever is free
takes the next part. What is not here is left out: a program, its compiler, or a library of it.
"""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.recipes import AS_ROOT, FOLDER

INPUT_BYTES = 48_000_000
# Where Debian puts the sources of crates.
CRATES = Path("/usr/share/cargo/registry")

NUMPY = """
import hashlib, sys, numpy
draw = numpy.random.default_rng(1)
a = draw.random(({size}, {size}))
for _ in range({times}):
    {work}
print(hashlib.sha256(numpy.round(b, 6).tobytes()).hexdigest())
"""

PRIMES = """
use rayon::prelude::*;

fn is_prime(n: u64) -> bool {
    n > 1 && (2..).take_while(|k| k * k <= n).all(|k| n % k != 0)
}

fn main() {
    println!("{}", (0..30_000_000u64).into_par_iter().filter(|n| is_prime(*n)).count());
}
"""


@dataclass(frozen=True)
class Program:
    """A command line; `answer`: the file with what it found, where it does not print that.

    `threads`: the variable that `tauto balance` sets to the number of fast CPUs, as its user could.
    """

    words: Sequence[str]
    answer: Path | None = None
    variables: Mapping[str, str] = field(default_factory=dict)
    threads: str = ""


def programs(folder: Path) -> dict[str, Program]:
    """Those that are here, with their inputs in this folder."""
    return dict(_found(folder))


def _found(folder: Path) -> Iterator[tuple[str, Program]]:
    makers: dict[str, Callable[[Path], dict[str, Program]]] = {
        "numpy": _numpy,
        "gmx": _gromacs,
        "lmp": _lammps,
        "xz": _compressors,
        "x264": _x264,
        "go": _go,
        "cargo": _rayon,
    }
    for name, make in makers.items():
        if name == "numpy" or shutil.which(name):
            own = folder / name
            own.mkdir()
            yield from make(own).items()


def _numpy(_: Path) -> dict[str, Program]:
    gemm = NUMPY.format(size=1200, times=120, work="b = a @ a")
    eigenvalues = NUMPY.format(size=1000, times=60, work="b = numpy.linalg.eigvalsh(a + a.T)")
    return {
        "numpy gemm": Program([sys.executable, "-c", gemm], threads="OPENBLAS_NUM_THREADS"),
        "numpy eigenvalues": Program([sys.executable, "-c", eigenvalues], threads="OPENBLAS_NUM_THREADS"),
    }


def _gromacs(folder: Path) -> dict[str, Program]:
    """1728 molecules of water, by two OpenMP threads and by two ranks that are threads."""
    boxes = 2
    box = Path("/usr/share/gromacs/top/spc216.gro")
    if not box.exists():
        return {}
    (folder / "md.mdp").write_text(
        "integrator=md\nnsteps=3000\ncoulombtype=reaction-field\nrcoulomb=0.9\nrvdw=0.9\n"
    )
    (folder / "md.top").write_text(
        '#include "oplsaa.ff/forcefield.itp"\n#include "oplsaa.ff/spc.itp"\n'
        f"[ system ]\nwater\n[ molecules ]\nSOL {216 * boxes**3}\n"
    )
    for words in (
        ["genconf", "-f", str(box), "-nbox", *[str(boxes)] * 3, "-o", "box.gro"],
        ["grompp", "-f", "md.mdp", "-c", "box.gro", "-p", "md.top", "-o", "md.tpr", "-maxwarn", "5"],
    ):
        subprocess.run(["gmx", *words], cwd=folder, check=True, capture_output=True)
    found = {}
    for name, counts in {"OpenMP": ("1", "2"), "ranks": ("2", "1")}.items():
        ranks, threads = counts
        end = folder / f"{name}.gro"
        words = ["gmx", "mdrun", "-reprod", "-pin", "off", "-ntmpi", ranks, "-ntomp", threads]
        words += ["-s", str(folder / "md.tpr"), "-deffnm", str(folder / name), "-c", str(end)]
        found[f"GROMACS, {name}"] = Program(words, end)
    return found


def _lammps(folder: Path) -> dict[str, Program]:
    """4000 atoms of a Lennard-Jones liquid, by two processes."""
    if not shutil.which("mpirun"):
        return {}
    end = folder / "energy"
    lines = (
        *("units lj", "atom_style atomic", "lattice fcc 0.8442", "region box block 0 10 0 10 0 10"),
        *("create_box 1 box", "create_atoms 1 box", "mass 1 1.0", "velocity all create 3.0 87287"),
        *("pair_style lj/cut 2.5", "pair_coeff 1 1 1.0 1.0 2.5", "neighbor 0.3 bin", "fix 1 all nve"),
        *("run 3000", "variable energy equal etotal", f'print "${{energy}}" file {end}'),
    )
    (folder / "in.melt").write_text("\n".join(lines) + "\n")
    words = ["mpirun", "--oversubscribe", "-n", "2", "lmp", "-in", str(folder / "in.melt")]
    return {"LAMMPS": Program([*words, "-log", "none", "-screen", "none"], end, AS_ROOT)}


def _text(folder: Path) -> Path:
    data = folder.parent / "text"
    if data.exists():
        return data
    chance = random.Random(1)
    words = [bytes(chance.choices(range(97, 123), k=chance.randint(2, 9))) for _ in range(5000)]
    data.write_bytes(b" ".join(chance.choices(words, k=INPUT_BYTES // 7)))
    return data


def _compressors(folder: Path) -> dict[str, Program]:
    data = str(_text(folder))
    found = {"xz": Program(["xz", "-T2", "-2", "--block-size=1MiB", "-c", data])}
    if shutil.which("zstd"):
        found["zstd"] = Program(["zstd", "-T2", "-12", "-q", "-c", data])
    return found


def _x264(folder: Path) -> dict[str, Program]:
    words = ["x264", "--quiet", "--no-progress", "--threads", "2", "--frames", "240"]
    words += ["--input-res", "352x288", "--demuxer", "raw", "-o", "-", str(_text(folder))]
    return {"x264": Program(words)}


def _go(folder: Path) -> dict[str, Program]:
    few, many = "trees = 14, 128", "trees = 14, 4096"
    path = FOLDER / "sources" / "trees.go"
    source = path.read_text()
    if few not in source:
        raise ValueError(f"{path} has no {few!r}: write here how many trees it grows")
    (folder / "trees.go").write_text(source.replace(few, many))
    words = ["go", "build", "-o", "trees", "trees.go"]
    subprocess.run(words, cwd=folder, env={**os.environ, "GO111MODULE": "off"}, check=True)
    return {"Go": Program([str(folder / "trees")])}


def _rayon(folder: Path) -> dict[str, Program]:
    """With the crate that Debian packages, since a benchmark fetches nothing."""
    crates = sorted(CRATES.glob("rayon-1.*"))
    if not crates:
        return {}
    (folder / "src").mkdir()
    (folder / "src" / "main.rs").write_text(PRIMES)
    (folder / "Cargo.toml").write_text(
        '[package]\nname = "primes"\nversion = "1.0.0"\nedition = "2021"\n[dependencies]\nrayon = "1"\n'
    )
    (folder / ".cargo").mkdir()
    (folder / ".cargo" / "config.toml").write_text(
        f'[source.crates-io]\nreplace-with = "system"\n[source.system]\ndirectory = "{CRATES}"\n'
    )
    done = subprocess.run(["cargo", "build", "-q", "--release", "--offline"], cwd=folder, check=False)
    return {} if done.returncode else {"Rust": Program([str(folder / "target" / "release" / "primes")])}
