"""A broker: state, handlers, both coordinators, replication and leadership; and the controller.

Start at `broker.py`, then `state.py`, then `handlers/end_txn.py`.
"""
