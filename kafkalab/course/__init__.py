"""The course: each lab's scenario and exercises together, the start page, the map and the questions.

Start at `lab.py`, then `lab03/scenario.py`, then `lab03/exercise_1.py`.
"""
