"""The simulator's kernel: virtual time, nodes with their incarnations, tasks, and the trace of all that happens.

Start at `kernel.py`, then `schedule.py`.
"""
