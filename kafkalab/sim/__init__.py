"""The simulator: a cluster in virtual time, a pure function of (scenario, seed, faults)."""
