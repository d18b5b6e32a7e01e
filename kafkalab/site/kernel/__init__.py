"""The quick start of a notebook's Python in a browser, and its interruption there.

Start at `build.py`, then `python.mjs`.
"""
