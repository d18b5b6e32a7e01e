"""Faults: of each, in one place, its data and everything that the simulator, the pictures and the search do with it.

Start at fault.py, which says what every fault has, then read frame.py and node.py. A new fault is a class in the module
of its family, listed at the module's end.
"""
