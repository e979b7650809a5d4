"""``metered_run.py FOLDER COMMAND…``: `tauto energy`, on a stand-in in FOLDER where there is no meter."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path[0] = str(Path(__file__).resolve().parents[1])  # the package, in place of its own folder

from benchmarks.metering import stand_in  # noqa: E402
from tautochrone.energy.command import EnergyRequest, EnergyServices, run_energy_command  # noqa: E402


def main() -> int:
    folder, command = Path(sys.argv[1]), tuple(sys.argv[2:])
    services = EnergyServices(find=lambda: stand_in(folder))
    return run_energy_command(EnergyRequest(command=command, idle_seconds=0.0), services)


if __name__ == "__main__":
    sys.exit(main())
