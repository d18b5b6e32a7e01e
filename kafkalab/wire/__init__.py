"""Kafka's protocol in bytes: a codec, and a server on which unmodified clients meet the simulator's brokers.

Start at `server.py`, then `codec.py`, then `table.py`.
"""
