"""Writes a Y4M video of so many columns, rows and frames: a pattern that moves, and some noise."""

import random
import sys

width, height, frames = map(int, sys.argv[1:])
chance = random.Random(1)
smooth = bytes(abs((x * 5 // 4) % 256 - 128) + 64 for x in range(2 * width + 8 * frames + height))
noise = bytes(chance.randrange(96, 160) for _ in range(1 << 16))
out = sys.stdout.buffer
out.write(f"YUV4MPEG2 W{width} H{height} F25:1 Ip A1:1 C420jpeg\n".encode())
for frame in range(frames):
    out.write(b"FRAME\n")
    for row in range(height):
        at = 3 * frame + row // 2
        if row % 8 == frame % 8:
            begin = chance.randrange(len(noise) - width)
            out.write(noise[begin : begin + width])
        else:
            out.write(smooth[at : at + width])
    out.write(bytes([128]) * (width // 2 * (height // 2) * 2))
