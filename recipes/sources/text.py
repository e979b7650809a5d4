"""Writes so many MiB of lines that compress somewhat, always the same."""

import sys

size = int(sys.argv[1]) << 20
number, written = 1, 0
while written < size:
    words = []
    for _ in range(4096):
        number = number * 1103515245 + 12345 & 0x7FFFFFFF
        words.append(f"{number >> 16 & 0x3FF} {number >> 8 & 0x3F:x}\n")
    text = "".join(words)[: size - written]
    written += len(text)
    sys.stdout.write(text)
