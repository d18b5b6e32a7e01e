"""Client programs that a scenario can name, raw requests, and random scenarios.

Start at `transfers.py`, then `processor.py`, then `random_scenarios.py`.
"""
