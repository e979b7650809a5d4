"""The nbody runner itself on a simulated machine: SimGrid's SMPI under it, a machine file in front of it."""
