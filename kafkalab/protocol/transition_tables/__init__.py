"""Total tables of three state machines, a transaction, a group and a producer, for both sides and for pictures.

Start at `transaction.py`, then `producer.py`.
"""
