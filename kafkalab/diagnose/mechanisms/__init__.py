"""The mechanisms that are concluded: each a function from evidence to findings, named for what happened.

Start at `hanging.py`, then `all_mechanisms.py`.
"""
