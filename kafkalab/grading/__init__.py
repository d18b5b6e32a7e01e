"""Exercises: their checks and hints, and the builder of the learners' notebooks.

Start at `exercise.py`, then `check.py`, then `runner.py`.
"""
