"""The common part of clients and brokers: messages, errors, records, transition tables, partitions, ACLs, profiles.

Start at `api.py`, then `messages/end_txn.py`, then `rules.py`.
"""
