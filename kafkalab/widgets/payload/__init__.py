"""A run as the browser gets it: sentences, fields and patches.

Start at `payload.py`, then `changes.py`, then `text.py`.
"""
