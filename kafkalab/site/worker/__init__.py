"""Python in a page of the book: a worker makes the runs that presses ask for. The page's side is `python.ts`.

Start at `build.py`, then `session.py`, then `stand_in.py`.
"""
