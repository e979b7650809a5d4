"""What a program does that has tautochrone as a dependency: ask for the machine, find the runners."""

import json
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
for name in (
    *("tauto", "tauto-probe", "tauto-emulate", "tauto-timer", "tauto-nothing", "tauto-nothing-static"),
    *("tauto-loop-serial", "tauto-loop-tautochrone"),
):
    assert runners.find(name).parent == package / "bin", runners.find(name)
print(f"{machine['name']}: {machine['usable_members']} members, runners in the package")
