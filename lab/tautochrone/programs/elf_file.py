"""What is read of an ELF file: a few tables, each within the file and within a limit.

A file may say anything of itself: tables beyond its end, names that never end, sections of terabytes that
take no room. No more than `MOST_TABLE_BYTES` of it is held at once, and what cannot be right is left out.
Source of the layout: System V ABI, chapters 4 and 5.
"""

from __future__ import annotations

import itertools
import os
import re
import struct
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

MOST_TABLE_BYTES = 256 << 20
_MOST_HEADERS = 65536
_MOST_TAGS = 8192
_MOST_NAMES = 1 << 20
_MOST_NAME_BYTES = 4096
_PART_BYTES = 4 << 20
_PT_LOAD, _PT_DYNAMIC, _PT_INTERP = 1, 2, 3
_SHT_SYMTAB, _SHT_STRTAB, _SHT_NOBITS, _SHT_DYNSYM = 2, 3, 8, 11
_SHF_COMPRESSED = 1 << 11
_DT_NEEDED, _DT_STRTAB, _DT_STRSZ, _DT_RPATH, _DT_RUNPATH = 1, 5, 10, 15, 29
X86_64 = 62


class NoElf(Exception):
    """The file is no ELF file, or its header cannot be right."""


@dataclass(frozen=True)
class Segment:
    """A part that is loaded, or that the loader reads."""

    type: int
    offset: int
    address: int
    file_bytes: int


@dataclass(frozen=True)
class Section:
    """A part that linkers and debuggers know. `name` is an offset; `link` the number of another section."""

    name: int
    type: int
    flags: int
    offset: int
    size: int
    link: int


class ElfFile:
    """A regular file that is open for reading as `descriptor`. Raises NoElf, and OSError of the reading."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._size = os.fstat(descriptor).st_size
        identity = self._bytes(0, 16)
        if identity[:4] != b"\x7fELF" or identity[4] not in (1, 2) or identity[5] not in (1, 2):
            raise NoElf
        self._wide = identity[4] == 2
        self._order = "<" if identity[5] == 1 else ">"
        layout = "HHIQQQIHHHHHH" if self._wide else "HHIIIIIHHHHHH"
        fields = self._fields(16, layout)
        (_, self.machine, _, self.entry, segments_at, sections_at, _, _) = fields[:8]
        (segment_bytes, segments, section_bytes, sections, names) = fields[8:]
        self.segments = self._segments(segments_at, segment_bytes, segments)
        self.sections = self._sections(sections_at, section_bytes, sections)
        if names == 0xFFFF and self.sections:  # it stands in the first section where it is greater
            names = self.sections[0].link
        self._names = self.sections[names] if names < len(self.sections) else None

    def section(self, name: str) -> Section | None:
        """The first section of that name."""
        names = self.content(self._names) if self._names is not None else b""
        word = name.encode() + b"\0"
        return next((one for one in self.sections if names.startswith(word, one.name)), None)

    def content(self, section: Section) -> bytes:
        """The bytes of a section; none where it has none in the file, where they are packed, or too many."""
        if section.type == _SHT_NOBITS or section.flags & _SHF_COMPRESSED or section.size > MOST_TABLE_BYTES:
            return b""
        return self._bytes(section.offset, section.size)

    @property
    def interpreter(self) -> str | None:
        for segment in self.segments:
            if segment.type == _PT_INTERP and segment.file_bytes <= _MOST_NAME_BYTES:
                return (
                    os.fsdecode(self._bytes(segment.offset, segment.file_bytes).partition(b"\0")[0]) or None
                )
        return None

    def dynamic_words(self) -> Iterator[tuple[int, str]]:
        """The tags of the dynamic segment whose values are texts, with them."""
        tags = list(self._tags())
        values: Mapping[int, int] = dict(tags)
        address, size = values.get(_DT_STRTAB, 0), values.get(_DT_STRSZ, 0)
        place = self._offset_of(address)
        strings = self._bytes(place, size) if place is not None and size <= MOST_TABLE_BYTES else b""
        for tag, value in tags:
            if tag in (_DT_NEEDED, _DT_RPATH, _DT_RUNPATH):
                end = strings.find(b"\0", value, value + _MOST_NAME_BYTES)
                if value < end:
                    yield tag, os.fsdecode(strings[value:end])

    def needed(self) -> list[str]:
        return [word for tag, word in self.dynamic_words() if tag == _DT_NEEDED]

    def search_paths(self) -> list[str]:
        return [word for tag, word in self.dynamic_words() if tag in (_DT_RPATH, _DT_RUNPATH)]

    def symbols_that_begin(self, prefixes: Iterable[bytes]) -> set[str]:
        """The names of symbols, of the dynamic table and the other, that begin so.

        By their offsets: a string table may keep a name as the end of a longer one.
        """
        pattern = re.compile(b"|".join(map(re.escape, prefixes)))
        entry_bytes = 24 if self._wide else 16
        found: set[str] = set()
        for table in self.sections:
            if table.type not in (_SHT_SYMTAB, _SHT_DYNSYM) or not 0 < table.link < len(self.sections):
                continue
            strings = self.sections[table.link]
            if strings.type != _SHT_STRTAB or not (names := _names(pattern, self.content(strings))):
                continue
            symbols = self.content(table)
            whole = memoryview(symbols)[: len(symbols) // entry_bytes * entry_bytes]
            for (offset,) in struct.iter_unpack(f"{self._order}I{entry_bytes - 4}x", whole):
                if offset in names:
                    found.add(names[offset])
        return found

    def _segments(self, at: int, entry_bytes: int, count: int) -> list[Segment]:
        layout = "IIQQQQQQ" if self._wide else "IIIIIIII"
        found = []
        for fields in self._table(at, entry_bytes, count, layout):
            if self._wide:
                type, _, offset, address, _, file_bytes, _, _ = fields
            else:
                type, offset, address, _, file_bytes, _, _, _ = fields
            found.append(Segment(type, offset, address, file_bytes))
        return found

    def _sections(self, at: int, entry_bytes: int, count: int) -> list[Section]:
        layout = "IIQQQQIIQQ" if self._wide else "IIIIIIIIII"
        if count == 0 and at:  # it stands in the first section where it is greater
            count = next((fields[5] for fields in self._table(at, entry_bytes, 1, layout)), 0)
        return [
            Section(name, type, flags, offset, size, link)
            for name, type, flags, _, offset, size, link, *_ in self._table(at, entry_bytes, count, layout)
        ]

    def _table(self, at: int, entry_bytes: int, count: int, layout: str) -> Iterator[tuple[int, ...]]:
        size = struct.calcsize(f"{self._order}{layout}")
        if not at or entry_bytes < size:
            return
        count = min(count, _MOST_HEADERS)
        entries = self._bytes(at, entry_bytes * count)
        for begin in range(0, len(entries) - size + 1, entry_bytes):
            yield struct.unpack_from(f"{self._order}{layout}", entries, begin)

    def _tags(self) -> Iterator[tuple[int, int]]:
        layout = f"{self._order}{'qQ' if self._wide else 'iI'}"
        size = struct.calcsize(layout)
        for segment in self.segments:
            if segment.type == _PT_DYNAMIC:
                entries = self._bytes(segment.offset, min(segment.file_bytes, _MOST_TAGS * size))
                whole = memoryview(entries)[: len(entries) // size * size]
                for tag, value in struct.iter_unpack(layout, whole):
                    if tag == 0:
                        return
                    yield tag, value
                return

    def _offset_of(self, address: int) -> int | None:
        """Where in the file the bytes lie that are loaded at this address."""
        for segment in self.segments:
            if segment.type == _PT_LOAD and segment.address <= address < segment.address + segment.file_bytes:
                return segment.offset + address - segment.address
        return None

    def _fields(self, at: int, layout: str) -> tuple[int, ...]:
        size = struct.calcsize(f"{self._order}{layout}")
        head = self._bytes(at, size)
        if len(head) < size:
            raise NoElf
        return struct.unpack(f"{self._order}{layout}", head)

    def _bytes(self, at: int, count: int) -> bytes:
        """As many of these bytes as the file has; none of those that it only says to have."""
        count = min(count, max(0, self._size - at))
        parts = []
        while count > 0:
            part = os.pread(self._descriptor, min(count, _PART_BYTES), at)
            if not part:
                break
            parts.append(part)
            at += len(part)
            count -= len(part)
        return b"".join(parts)


def _names(begin: re.Pattern[bytes], text: bytes) -> dict[int, str]:
    """The texts that begin with a match and end with a zero, by their places."""
    found: dict[int, str] = {}
    for match in itertools.islice(begin.finditer(text), _MOST_NAMES):
        end = text.find(b"\0", match.start(), match.start() + _MOST_NAME_BYTES)
        if end >= 0:
            found[match.start()] = text[match.start() : end].decode(errors="replace")
    return found
