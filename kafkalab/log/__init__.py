"""One replica's log of a partition: batches, producer state, transaction index, segments, compaction."""
