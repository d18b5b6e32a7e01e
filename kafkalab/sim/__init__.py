"""The simulator: a cluster in virtual time, a pure function of (scenario, seed, faults).

Start at `scenario.py`, then `cluster.py`, then `network.py`.
"""
