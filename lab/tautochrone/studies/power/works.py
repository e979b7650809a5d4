"""The work of the power study: jobs with their sizes, and what may be said of each way to share them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

ENCRYPTION, COMPRESSION, PHYSICS, TOGETHER = "encryption", "compression", "physics", "together"
SERIAL, BLOCKS, FILES, WORKERS, DOMAIN, FUNCTIONAL = (
    "serial",
    "blocks",
    "files",
    "workers",
    "domain",
    "functional",
)
FUNCTIONAL_FREE = "functional_free"
"""Not a split of its own: the functional one with threads that the system may move."""

WAYS: Mapping[str, tuple[str, ...]] = {
    ENCRYPTION: (BLOCKS, FILES),
    COMPRESSION: (WORKERS,),
    PHYSICS: (DOMAIN, FUNCTIONAL, FUNCTIONAL_FREE),
}
WAY_WORDS: Mapping[str, str] = {
    SERIAL: "one thread",
    BLOCKS: "by blocks",
    FILES: "by files",
    WORKERS: "zstd’s own workers",
    DOMAIN: "by bodies",
    FUNCTIONAL: "by functions",
    FUNCTIONAL_FREE: "by functions, not pinned",
}
CIPHERS: Mapping[str, str] = {"aes-256-gcm": "AES-256-GCM", "chacha20-poly1305": "ChaCha20-Poly1305"}

FREE, PINNED, ONE_PINNED, SAME = "free", "pinned", "one_pinned", "same"
SETUPS: Mapping[str, str] = {
    FREE: "no affinity",
    PINNED: "each pinned to a CPU of its own",
    ONE_PINNED: "the first pinned, the second free",
    "nice": "no affinity, the second at nice 10",
    "weight": "no affinity, control groups of weight 100 and 10",
    SAME: "both pinned to one CPU",
    "same_nice": "both pinned to one CPU, the second at nice 10",
    "same_weight": "both pinned to one CPU, control groups of weight 100 and 10",
}
AFFINITIES = (FREE, PINNED, ONE_PINNED)
WEIGHTED = ("weight", "same_weight")


@dataclass(frozen=True, slots=True)
class Work:
    """A job with one setting; its rows are compared with each other.

    ``arguments`` are the runner's; ``ratio`` is what the physics' first function costs by its second.
    """

    job: str
    variant: str = ""
    title: str = ""
    arguments: tuple[str, ...] = ()
    ratio: float | None = None
    settings: Mapping[str, object] = field(default_factory=dict)

    @property
    def group(self) -> str:
        """The name of the group that its rows are compared in."""
        return f"job={self.job}" + (f",{self.variant}" if self.variant else "")


def encryption(cipher: str) -> Work:
    """Encryption with one cipher."""
    title = f"encryption, {CIPHERS[cipher]}"
    return Work(ENCRYPTION, f"cipher={cipher}", title, ("--cipher", cipher), None, {"cipher": cipher})


def compression() -> Work:
    """Compression with zstd."""
    return Work(COMPRESSION, title="compression, zstd")


def physics(ratio: float, collide_passes: float, draw_passes: float) -> Work:
    """The physics, its two functions made to cost as 1 to ``ratio``."""
    passes = {"collide_passes": collide_passes, "draw_passes": draw_passes}
    words = tuple(
        word for name, value in passes.items() for word in (f"--{name.replace('_', '-')}", f"{value:g}")
    )
    return Work(
        PHYSICS,
        f"ratio={ratio:g}",
        f"physics, cost {ratio:g}:1",
        words,
        ratio,
        {"ratio": ratio, **passes},
    )


def balanced_passes(collide_seconds: float, draw_seconds: float, ratio: float) -> tuple[float, float]:
    """How often each function runs so that the first costs ``ratio`` times the second; each once at least.

    Two significant digits: two sessions whose probes differ by some per cent measure the same work.
    """
    collide = ratio * draw_seconds / collide_seconds
    draw = 1.0
    if collide < 1.0:
        collide, draw = 1.0, 1.0 / collide
    return float(f"{collide:.2g}"), float(f"{draw:.2g}")
