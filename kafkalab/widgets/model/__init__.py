"""The model behind the views: a tree of runs, a cursor, and what can be pressed.

Start at `journey.py`, then `forks.py`, then `presses.py`.
"""
