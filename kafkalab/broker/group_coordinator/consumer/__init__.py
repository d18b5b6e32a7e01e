"""Groups of the consumer protocol (KIP-848): the coordinator assigns, and members follow one by one.

Start at `heartbeat.py`, then `reconciliation.py`, then `../../../log/consumer_groups.py`.
"""
