"""Other ways to be atomic: small models of two-phase commit, an MVCC table and an atomic broadcast, beside Kafka.

Start at `world.py`, then `two_phase_commit.py`, then `presses.py`.
"""
