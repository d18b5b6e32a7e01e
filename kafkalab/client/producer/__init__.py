"""The producer: accumulator, sender, batches."""
