"""Audits of a history while it arrives: open too long, LSO stuck, duplicates, torn transactions; each told once.

Start at `watch.py`, then `torn_transaction.py`, then `query.py`.
"""
