"""What this machine is and allows: record, probe, runners, emulated slow CPUs, frequency policies."""
