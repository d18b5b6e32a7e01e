"""The pictures: each a Python half, an ES module and a style sheet; and the payload that the browser gets of a run.

Start at `payload/payload.py`, then `model/journey.py`, then `views/sequence.py`.
"""
