"""A run as a value, whoever made it: pictures, histories, checks and searches read it.

Start at `run.py`, then `source.py`, then `again.py`.
"""
