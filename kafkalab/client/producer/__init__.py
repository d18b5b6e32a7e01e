"""The producer: accumulator, sender, batches.

Start at `producer.py`, then `accumulator.py`, then `sender.py`.
"""
