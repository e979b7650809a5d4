"""``python benchmarks/run.py``: the benchmark suite, from any folder."""

import sys
from pathlib import Path

sys.path[0] = str(Path(__file__).resolve().parents[1])  # the package, in place of its own folder

from benchmarks.command import main  # noqa: E402

if __name__ == "__main__":
    sys.exit(main())
