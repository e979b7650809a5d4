"""Files of the system below a root, so that a folder of a test can stand in for a machine."""

from __future__ import annotations

from pathlib import Path


class Tree:
    """Reads small files. What is not there is None; what may not be read raises PermissionError."""

    def __init__(self, root: Path = Path("/")) -> None:
        self.root = root

    def path(self, inside: str) -> Path:
        """Where a path of the system lies below the root."""
        return self.root / inside.lstrip("/")

    def text(self, inside: str) -> str | None:
        """The content without the white space around it; None where there is no such file."""
        try:
            return self.path(inside).read_text(errors="replace").strip()
        except PermissionError:
            raise
        except OSError:
            return None

    def number(self, inside: str) -> int | None:
        """The whole number in a file; None where there is none."""
        text = self.text(inside)
        try:
            return int(text) if text is not None else None
        except ValueError:
            return None

    def names(self, folder: str) -> list[str]:
        """What a folder holds, sorted with numbers by their value; nothing where it is not there."""
        try:
            found = [one.name for one in self.path(folder).iterdir()]
        except OSError:
            return []
        return sorted(found, key=_natural)

    def exists(self, inside: str) -> bool:
        """Whether a path is there; neither a dangling link is, nor what lies in a folder that is closed."""
        try:
            return self.path(inside).exists()
        except PermissionError:
            return False


def _natural(name: str) -> list[tuple[int, int, str]]:
    parts: list[tuple[int, int, str]] = []
    digits = ""
    for character in f"{name}\0":
        if character.isdecimal():
            digits += character
            continue
        if digits:
            parts.append((0, int(digits), ""))
            digits = ""
        parts.append((1, 0, character))
    return parts


def parse_cpu_list(text: str) -> list[int]:
    """``"0-2,8"`` → [0, 1, 2, 8], as the kernel writes lists of CPUs."""
    cpus: list[int] = []
    for part in "".join(text.split()).split(","):
        first, _, last = part.partition("-")
        if first.isdecimal():
            cpus.extend(range(int(first), int(last or first) + 1))
    return cpus
