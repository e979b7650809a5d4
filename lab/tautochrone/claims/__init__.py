"""The published claims: each beside what is simulated or was measured here, and whether it holds."""
