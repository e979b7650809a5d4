"""Machines that are not here, as the kernel would describe them: what tests/fake_trees writes."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1] / "fake_trees"))
trees = import_module("build_trees")
