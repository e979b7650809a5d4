"""What a package is built for, in watts, from the limits that the kernel shows."""

from __future__ import annotations

from tautochrone.energy.tree import Tree

POWERCAP = "/sys/class/powercap"


def package_tdp_watts(tree: Tree, package: int) -> float | None:
    """The TDP of a package by its number; None where the kernel does not tell."""
    for zone in tree.names(POWERCAP):
        folder = f"{POWERCAP}/{zone}"
        if tree.text(f"{folder}/name") == f"package-{package}":
            return zone_tdp_watts(tree, folder)
    return None


def zone_tdp_watts(tree: Tree, folder: str) -> float | None:
    """The long-term limit that the processor is made for (``constraint_0_max_power_uw``)."""
    for number in range(3):
        if tree.text(f"{folder}/constraint_{number}_name") == "long_term":
            microwatts = tree.number(f"{folder}/constraint_{number}_max_power_uw")
            return microwatts / 1e6 if microwatts else None
    return None
