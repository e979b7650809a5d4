"""The runs of the published studies as requests to the simulator."""

from __future__ import annotations

from typing import Any

RANKS = 16
PARTICLES = 2048
MPI = "ompi-1.6"
ACTIVE = (1, 2, 4, 8, 16, 24, 32, 48, 64, 80, 96, 112, 128, 160, 200, 256, 400, 512, 1024, 2048)
WORDS = tuple(
    sorted(
        {2**k for k in range(17)} | {96, 192, 384, 513, 768, 1249, 1250, 1536, 3072, 6144, 8191, 8193, 12288}
    )
)
# One thread does the physics; the one that renders works "10 to 20 %" of the time beside it, as the study
# says of threads that are not alike.
RENDER_PACE = 0.15
SERIAL: list[dict[str, Any]] = [{"name": "encrypt", "seconds": 50.0}]
BALANCED: list[dict[str, Any]] = [
    {"name": "encrypt 1", "seconds": 25.0},
    {"name": "encrypt 2", "seconds": 25.0},
]
UNBALANCED: list[dict[str, Any]] = [
    {"name": "physics", "seconds": 64.0},
    {"name": "render", "seconds": 64.0 * RENDER_PACE * 0.9, "pace": RENDER_PACE},
]


def placed(first: int, second: int) -> list[dict[str, Any]]:
    """Two office programs that are busy a part of the time; -1 is wherever the system puts them."""
    return [
        {"name": "program 1", "seconds": 20.0, "pace": 0.35, "core": first},
        {"name": "program 2", "seconds": 15.0, "pace": 0.25, "core": second},
    ]


def power(threads: list[dict[str, Any]], until_seconds: float = 0.0) -> dict[str, Any]:
    """One run of the power study."""
    return {"study": "power", "threads": threads, "until_seconds": until_seconds}


def block(active: int, scheme: str, engine: str = MPI, ranks: int = RANKS) -> dict[str, Any]:
    """One block timestep."""
    return {
        "study": "nbody",
        "particles": PARTICLES,
        "active": active,
        "ranks": ranks,
        "scheme": scheme,
        "engine": engine,
    }


def collective(operation: str, library: str, words: int, ranks: int = RANKS) -> dict[str, Any]:
    """One collective."""
    return {"study": "collective", "operation": operation, "library": library, "words": words, "ranks": ranks}
