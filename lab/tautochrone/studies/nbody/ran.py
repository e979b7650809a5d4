"""Short runs of the engines that are here, for claims that ask for nothing but the bits at the end."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tautochrone.studies import short_runs
from tautochrone.studies.claims import Finding
from tautochrone.studies.nbody.configurations import SERIAL
from tautochrone.studies.short_runs import SOURCE, on_cpus

_MEMBERS, _PARTICLES, _BLOCKS = 2, 67, 40  # some hundredths of a second; no share of 67 is like another
# Engine → its schemes that share the targets, and the sources.
_ENGINES: Mapping[str, tuple[str, str]] = {
    "tautochrone": ("i", "j"),
    "openmp": ("region-i", "region-j"),
    "openmpi": ("i", "j"),
    "mpich": ("i", "j"),
}


def state_bits(engine: str, scheme: str) -> str | None:
    """The hash of all particles at the end of a short run; None where that engine is not here.

    TautoError where it is, and does not run.
    """
    count = 1 if scheme == SERIAL else _MEMBERS
    words = ["--particles", str(_PARTICLES), "--blocks", str(_BLOCKS), "--scheme", scheme]
    words += [*on_cpus(count), "--warmup-seconds", "0", "--min-seconds", "1e-6"]
    return short_runs.result_of(f"tauto-nbody-{engine}", words, lambda row: str(row["check"]["state_fnv1a"]))


def _schemes_of(engine: str) -> tuple[str | None, str | None]:
    by_targets, by_sources = _ENGINES[engine]
    return state_bits(engine, by_targets), state_bits(engine, by_sources)


def both_versions() -> Finding | None:
    """N2: whether the loops and the one region end with the serial bits; None where they are not here."""
    serial, loops, region = (
        state_bits(engine, scheme)
        for engine, scheme in (("serial", SERIAL), ("openmp", "loops-i"), ("openmp", "region-i"))
    )
    if serial is None or loops is None or region is None:
        return None
    holds = loops == region == serial
    ends = "end with the bits of one core" if holds else "end with other bits than one core"
    return Finding(f"the loops and the one region {ends} after {_BLOCKS} blocks", holds, source=SOURCE)


def both_schemes() -> Finding | None:
    """N3: whether each scheme ends with one set of bits on all engines; None with fewer than two of them."""
    serial = state_bits("serial", SERIAL)
    found = dict(_present())
    if serial is None or len(found) < 2:
        return None
    by_targets, by_sources = ({bits[scheme] for bits in found.values()} for scheme in (0, 1))
    holds = by_targets == {serial} and len(by_sources) == 1
    ends = "each with the same bits on all" if holds else "not with the same bits on all"
    return Finding(f"both schemes on {', '.join(found)}: {ends} after {_BLOCKS} blocks", holds, source=SOURCE)


def _present() -> Iterator[tuple[str, tuple[str, str]]]:
    for engine in _ENGINES:
        by_targets, by_sources = _schemes_of(engine)
        if by_targets is not None and by_sources is not None:
            yield engine, (by_targets, by_sources)
