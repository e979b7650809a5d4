"""The cluster as a picture: one HTML file, its particles moving, those that move often lit."""

from __future__ import annotations

import array
import base64
import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from importlib import resources
from pathlib import Path
from typing import Any

import jinja2

from tautochrone.errors import TautoError, explained
from tautochrone.files import write_whole

PARTICLES = 256
END_TIME = 4.0
_EXTENT = 3.0
"""N-body units from the centre to the edge of the picture; the half-mass radius is about 0.8."""
_FRAMES_LIMIT_SECONDS = 60.0
_MOST_STEPS = 255


def check(path: Path) -> None:
    """Raises TautoError where the picture could not be written at the end of the study."""
    folder = path.parent
    if path.is_dir():
        raise TautoError(f"--animate {path} is a folder", "Name a file, such as cluster.html")
    if not folder.is_dir() or not os.access(folder, os.W_OK):
        raise TautoError(f"--animate {path}: {folder} is no folder that can be written to", "Make it first")


def write(path: Path, runner: Path, seed: int) -> None:
    """Run the cluster once and write the picture whole. Raises TautoError where that cannot be done."""
    page = render(_frames(runner, seed))
    remedy = "Choose another file with --animate, or make room there"
    with explained(f"the animation cannot be written to {path}", remedy):
        write_whole(path, page)


def _frames(runner: Path, seed: int) -> Mapping[str, Any]:
    command = [str(runner), "--particles", str(PARTICLES), "--end-time", str(END_TIME), "--seed", str(seed)]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=_FRAMES_LIMIT_SECONDS, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise TautoError(f"{runner.name} gave no frames: {error}", "Build it again (make)") from error
    if done.returncode != 0:
        said = done.stderr.strip().splitlines() or [f"exit code {done.returncode}"]
        raise TautoError(f"{runner.name} gave no frames: {said[-1]}", "Build it again (make)")
    frames: Mapping[str, Any] = json.loads(done.stdout)
    return frames


def render(record: Mapping[str, Any]) -> str:
    """The page of ``tautochrone.frames/1``. Positions take two bytes each, steps one."""
    frames = record["frames"]
    template = (resources.files("tautochrone.report") / "templates" / "animation.html.j2").read_text("utf-8")
    most = max(max(frame["steps"]) for frame in frames)
    return (
        jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined)
        .from_string(template)
        .render(
            particles=int(record["particles"]),
            blocks=f"{int(record['blocks']):,}",
            times=[float(frame["time"]) for frame in frames],
            most_steps=min(most, _MOST_STEPS),
            x=_packed([frame["x"] for frame in frames]),
            y=_packed([frame["y"] for frame in frames]),
            steps=base64.b64encode(
                bytes(min(step, _MOST_STEPS) for frame in frames for step in frame["steps"])
            ).decode(),
        )
    )


def _packed(positions: Sequence[Sequence[float]]) -> str:
    """Positions as 16-bit integers, full scale at the edge of the picture, little-endian."""
    scaled = (min(max(one / _EXTENT, -1.0), 1.0) * 32767 for frame in positions for one in frame)
    packed = array.array("h", map(round, scaled))
    if sys.byteorder == "big":
        packed.byteswap()
    return base64.b64encode(packed.tobytes()).decode()
