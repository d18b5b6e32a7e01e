"""The transaction coordinator: states, guards, decision, markers, log, loading and expiration.

Start at `guards.py`, then `../../protocol/transition_tables/transaction.py`, then `decision.py`.
"""
