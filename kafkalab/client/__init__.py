"""The clients: a producer and a consumer whose methods are named as the Java client's, as coroutines.

Start at `promise.py`, then `connection.py`, then `producer/producer.py`.
"""
