"""A partition's memory of the producers that write to it (Kafka: `ProducerStateManager`).

Start at `state.py`, then `append.py`.
"""
