"""The common part of clients and brokers: messages, errors, records, partitions, metadata, ACLs, rules and profiles.

Start at `api.py`, then `messages/end_txn.py`, then `rules.py`.
"""
