"""The book: every lab as an article whose pictures step in the page.

Start at `build.py`, then `notebooks.py`.
"""
