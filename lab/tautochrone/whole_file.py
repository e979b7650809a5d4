"""Files that a reader finds whole: the old one or the new one, never a part."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path


@contextlib.contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A path beside `path` to write to, which takes its name at the end.

    Where anything fails, what stood at `path` stays and nothing is left beside it. OSError of the rename.
    What a link leads to is replaced, not the link; a device or a pipe is written to as it is.
    """
    if path.is_symlink():
        path = path.resolve()
    if path.exists() and not path.is_file():
        yield path
        return
    unfinished = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        yield unfinished
        unfinished.replace(path)
    except BaseException:
        with contextlib.suppress(OSError):
            unfinished.unlink()
        raise


def write_whole(path: Path, content: str) -> None:
    """Write UTF-8 text whole or not at all. OSError where that cannot be done."""
    with replacing(path) as unfinished:
        unfinished.write_text(content, encoding="utf-8")
