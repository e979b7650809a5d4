"""The report of the nbody study."""
