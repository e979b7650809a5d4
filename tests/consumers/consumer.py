"""What a program does that has tautochrone as a dependency: ask for the machine, find the runners."""

import ctypes
import json
import os
import subprocess
import sys
from pathlib import Path

import tautochrone
from tautochrone.machine import runners

tauto = Path(sys.executable).with_name("tauto")
said = subprocess.run([tauto, "--version"], capture_output=True, text=True, check=True).stdout
assert tautochrone.__version__ in said, said

machine = json.loads(subprocess.run([tauto, "machine", "--json"], capture_output=True, check=True).stdout)
assert machine["schema"].startswith("tautochrone.machine/"), machine["schema"]

package = Path(tautochrone.__file__).parent
for name in ("tauto-probe", "tauto-emulate", "tauto-balance", "tauto-simulate", "tauto-timer"):
    assert runners.find(name).parent == package / "bin", runners.find(name)
assert runners.find("tauto") == tauto, runners.find("tauto")

# The library for C, and the words where there is no NumPy.
assert ctypes.CDLL(str(package / "bin" / "libtauto.so.1")).tauto_version() > 0
asked = [sys.executable, "-c", "import tautochrone.parallel"]
without_numpy = subprocess.run(asked, capture_output=True, text=True, check=False).stderr
assert "tautochrone.parallel needs NumPy: pip install numpy" in without_numpy, without_numpy
print(f"{machine['name']}: {machine['usable_members']} members, runners in the package")

# Those of the studies are compiled where they are wanted. This one has the fewest.
refused = subprocess.run(
    [tauto, "study", "collective", "--quick"], capture_output=True, text=True, check=False
)
assert refused.returncode == 2, refused
assert "tauto study --build collective" in refused.stderr, refused.stderr
subprocess.run([tauto, "study", "--build", "collective", "--help"], stdout=subprocess.DEVNULL, check=True)
found = runners.find("tauto-collective-threads")
assert found.is_relative_to(os.environ["XDG_CACHE_HOME"]), found
subprocess.run([tauto, "run", "--help"], stdout=subprocess.DEVNULL, check=True)
