"""The views: for each a Python file, an ES module and a style sheet.

Start at `view.py`, then `verdict.py`, then `sequence.py`.
"""
