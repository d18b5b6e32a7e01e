"""One file for each Kafka API: its request, its response, its key and versions.

Start at `end_txn.py`, then `registry.py`.
"""
