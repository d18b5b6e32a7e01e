"""Faults: of each, in one place, its data and everything that the simulator, the pictures and the search do with it.

Start at `fault.py`, then `frame.py` and `node.py`.

A new fault is a class in the module of its family, listed at its end.
"""
