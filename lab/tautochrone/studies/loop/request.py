"""What is asked of the loop study, checked against this machine before anything is started."""

from __future__ import annotations

from dataclasses import dataclass

from tautochrone.errors import TautoError
from tautochrone.studies.options import StudyRequest, format_bytes
from tautochrone.word_lists import integers_of

FULL_SIZES = (500, 1000, 1500, 2000, 3000, 4000, 5000, 6000, 8000, 12000, 16000)
QUICK_SIZES = (500, 1000, 2000, 4000)
FULL_CHUNKS = (1, 2, 4, 8, 16, 32, 64)
QUICK_CHUNKS = (1, 2, 16)
_BYTES_PER_ELEMENT = 4
_VECTORS = 16  # the solver's vectors and the check's, of one column each; generously
_MEMORY_PART = 0.8  # of what is available: the rest is for everyone else
_LARGEST_SIZE = 10**9  # beyond it nothing on earth could hold the matrix, and the number is surely a slip


@dataclass(frozen=True, slots=True, kw_only=True)
class LoopRequest(StudyRequest):
    """The options of ``tauto study loop``, parsed. ``None`` means "choose for me"."""

    sizes: tuple[int, ...] | None = None
    threads: int | None = None
    placements: tuple[str, ...] | None = None
    all_settings: bool = False

    @property
    def chunks(self) -> tuple[int, ...]:
        """The chunks that schedules are measured with."""
        return QUICK_CHUNKS if self.quick else FULL_CHUNKS


@dataclass(frozen=True, slots=True)
class Sizes:
    """The sizes to measure, and a sentence for each that does not fit."""

    chosen: tuple[int, ...]
    left_out: tuple[str, ...] = ()


def parse_sizes(text: str) -> tuple[int, ...]:
    """``"500,1000"`` → (500, 1000), in the order of size. Raises TautoError for what is no size."""
    return integers_of(
        text,
        "--sizes",
        1,
        _LARGEST_SIZE,
        lambda word: TautoError(
            f"{word!r} is not a size",
            "A size is the number of rows of a square matrix, 1 or more, such as 2000",
        ),
    )


def memory_bytes(size: int) -> int:
    """What a runner needs for a matrix of ``size`` rows: 4 bytes an element, and some vectors."""
    return size * size * _BYTES_PER_ELEMENT + _VECTORS * size * _BYTES_PER_ELEMENT


def choose_sizes(request: LoopRequest, available_bytes: int | None) -> Sizes:
    """The sizes that fit the memory. Sizes that were asked for have to; others are left out with a sentence.

    Raises TautoError, with the memory asked for and the memory there, for an asked size that does not fit.
    """
    wanted = request.sizes or (QUICK_SIZES if request.quick else FULL_SIZES)
    limit = None if available_bytes is None else int(available_bytes * _MEMORY_PART)
    chosen = tuple(size for size in wanted if limit is None or memory_bytes(size) <= limit)
    too_large = [size for size in wanted if size not in chosen]
    if too_large and (request.sizes or not chosen):
        raise TautoError(
            f"a matrix of size {too_large[0]} needs {format_bytes(memory_bytes(too_large[0]))} of memory, "
            f"and {format_bytes(limit or 0)} may be used here (80 % of what is available)",
            f"Ask for sizes up to {_largest_that_fits(limit or 0)}, or free memory",
        )
    return Sizes(
        chosen,
        tuple(
            f"size {size} was left out: it needs {format_bytes(memory_bytes(size))}, "
            f"and {format_bytes(limit or 0)} may be used here"
            for size in too_large
        ),
    )


def _largest_that_fits(limit_bytes: int) -> int:
    return max(1, int((limit_bytes / _BYTES_PER_ELEMENT) ** 0.5) - _VECTORS)
