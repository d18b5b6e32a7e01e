"""The transaction coordinator: states, guards, decision, markers, log, loading and expiration.

Start at `guards.py`, then `transition_table.py`, then `decision.py`, then `markers.py`.
"""
