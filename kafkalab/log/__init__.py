"""One replica's log of a partition: batches, producer state, transaction index, segments, compaction.

Start at `partition_log.py`, then `producer_state/append.py`.
"""
