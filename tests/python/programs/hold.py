"""Holds memory until as many of these as are named have theirs: hold.py MEBIBYTES FOLDER HOW_MANY."""

import os
import sys
import time
from pathlib import Path

held = bytearray(b"1") * (int(sys.argv[1]) << 20)
folder = Path(sys.argv[2])
(folder / f"{os.getpid()}.holds").touch()
while len(list(folder.glob("*.holds"))) < int(sys.argv[3]):
    time.sleep(0.01)
time.sleep(1.0)  # twenty looks of whoever observes
