"""One runtime, one colour and one shape, in every chart, legend and table of every report.

The hues are Paul Tol's "bright" scheme, which stays distinct for the common colour deficiencies, darkened
until a line of it has a contrast of 3:1 on the page; each also has a shape, so colour is never alone in
carrying the meaning. Colours are CSS variables: dark mode and print change them without drawing again.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec


class RuntimeStyle(msgspec.Struct, frozen=True):
    """How one runtime looks: the name for people, its colour on light and on dark, its shape."""

    key: str
    name: str
    light: str
    dark: str
    shape: str
    variable: str


_KNOWN = {
    key: RuntimeStyle(key, name, light, dark, shape, f"--runtime-{key}")
    for key, name, light, dark, shape in (
        ("tautochrone", "tautochrone", "#d1420a", "#ff8a55", "circle"),
        ("libgomp", "OpenMP, libgomp", "#2f66b0", "#7fb0f0", "square"),
        ("libomp", "OpenMP, libomp", "#0e8aa8", "#5fd0e8", "diamond"),
        ("tbb", "oneTBB", "#228833", "#6fcf7c", "triangle-up"),
        ("stdpar", "std::execution::par", "#94790a", "#dcc451", "triangle-down"),
        ("openblas", "OpenBLAS", "#a0306f", "#ee8fc2", "cross"),
        ("qt", "QtConcurrent", "#5b4fc4", "#aaa2ff", "triangle-left"),
        ("async", "std::async", "#7a5a3a", "#d0a67c", "cross"),
        ("openmpi", "Open MPI", "#5b4fc4", "#aaa2ff", "triangle-left"),
        ("mpich", "MPICH", "#7a5a3a", "#d0a67c", "triangle-up"),
        ("intelmpi", "Intel MPI", "#94790a", "#dcc451", "triangle-down"),
        ("openmpi-hybrid", "Open MPI and threads", "#a0306f", "#ee8fc2", "cross"),
        ("mpich-hybrid", "MPICH and threads", "#3d6f8f", "#8fc0de", "square"),
        ("intelmpi-hybrid", "Intel MPI and threads", "#8a3a3a", "#e79a9a", "cross"),
        ("blocks", "by blocks", "#2f66b0", "#7fb0f0", "square"),
        ("files", "by files", "#228833", "#6fcf7c", "triangle-up"),
        ("workers", "zstd’s own workers", "#5b4fc4", "#aaa2ff", "triangle-left"),
        ("frames", "by frames", "#0e8aa8", "#5fd0e8", "diamond"),
        ("slices", "by slices", "#7a5a3a", "#d0a67c", "triangle-up"),
        ("clips", "by clips", "#8a3a3a", "#e79a9a", "circle"),
        ("domain", "by bodies", "#d1420a", "#ff8a55", "circle"),
        ("functional", "by functions", "#a0306f", "#ee8fc2", "cross"),
        ("functional_free", "by functions, not pinned", "#94790a", "#dcc451", "triangle-down"),
        ("serial", "serial", "#6a6f78", "#a4abb6", "triangle-right"),
    )
}
_ALIASES = {"openmp": "libgomp", "gomp": "libgomp", "iomp": "libomp", "onetbb": "tbb", "std": "stdpar"}
_SPARE = (
    ("#5a6a1e", "#b9cc6b", "triangle-left"),
    ("#3d6f8f", "#8fc0de", "square"),
    ("#4a6a5a", "#9cc4b0", "diamond"),
    ("#8a3a3a", "#e79a9a", "cross"),
    ("#7b2d8b", "#cf9be0", "triangle-up"),
    ("#006d77", "#6cc5c1", "triangle-down"),
    ("#a35c00", "#f0b45e", "circle"),
    ("#c2185b", "#f48fb1", "triangle-right"),
    ("#3949ab", "#9fa8da", "square"),
    ("#4e342e", "#bcaaa4", "diamond"),
    ("#2f66b0", "#7fb0f0", "circle"),
    ("#d1420a", "#ff8a55", "square"),
    ("#228833", "#6fcf7c", "diamond"),
    ("#a0306f", "#ee8fc2", "triangle-up"),
    ("#5b4fc4", "#aaa2ff", "triangle-down"),
    ("#94790a", "#dcc451", "circle"),
    ("#0e8aa8", "#5fd0e8", "triangle-right"),
    ("#6a6f78", "#a4abb6", "square"),
    ("#7a5a3a", "#d0a67c", "diamond"),
    ("#1f7a5c", "#5fcfa4", "cross"),
    ("#b0476a", "#f39bb6", "triangle-up"),
    ("#3c4fa8", "#93a6f5", "triangle-left"),
)
"""So many that series that nobody has named have looks of their own, also on a page of several charts."""
# Where the spare colours come again, each with the next of these.
_SHAPES = (
    *("circle", "square", "diamond", "cross"),
    *("triangle-up", "triangle-left", "triangle-down", "triangle-right"),
)


def runtime_key(runtime: str, library: str = "") -> str:
    """The key of a runtime's colour. OpenMP is one interface on two libraries: the library decides."""
    name = runtime.lower()
    if name == "openmp" and library.lower() in _KNOWN:
        return library.lower()
    return _ALIASES.get(name, name if name in _KNOWN else runtime)


def styles(runtimes: Iterable[str]) -> list[RuntimeStyle]:
    """Styles of the runtimes that occur, known ones first in their fixed order, others with spare colours.

    The variable of an unknown runtime is numbered, never made from its name: the name may be anything.
    """
    present = set(runtimes)
    found = [style for key, style in _KNOWN.items() if key in present]
    for index, key in enumerate(sorted(present - _KNOWN.keys())):
        light, dark, first = _SPARE[index % len(_SPARE)]
        shape = _SHAPES[(_SHAPES.index(first) + index // len(_SPARE)) % len(_SHAPES)]
        found.append(RuntimeStyle(key, key, light, dark, shape, f"--runtime-other-{index}"))
    return found


def name_of(runtime: str) -> str:
    """What a runtime is called in sentences."""
    return styles([runtime])[0].name
