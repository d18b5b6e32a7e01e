"""The concept inventory: 20 items, one for each misconception, taken before and after the course.

Start at `item.py`, then `diagnosis.py`.
"""
