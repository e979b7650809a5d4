"""Runs in shuffled rounds, each stored as it ends: plan, session, executors, clocks, meters of one run."""
