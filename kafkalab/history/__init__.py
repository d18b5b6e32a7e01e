"""A run as tables of what clients did, what logs hold and what was read.

Start at `history.py`, then `export.py`.
"""
