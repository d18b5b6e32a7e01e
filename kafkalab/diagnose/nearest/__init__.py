"""The run of the lab that has the same shape as the evidence, with what is the same and what differs in sentences.

Start at `shape.py`, then `known.py`, which keeps the shapes of all runs, and `nearest.py`.
"""
