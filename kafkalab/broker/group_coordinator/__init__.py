"""The group coordinator: classic groups, rebalance, and committed offsets.

Start at `guards.py`, then `transition_table.py`, then `rebalance.py`.
"""
