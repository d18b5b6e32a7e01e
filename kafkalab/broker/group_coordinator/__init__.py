"""The group coordinator: classic groups, rebalance, and committed offsets.

Start at `guards.py`, then `../../protocol/transition_tables/group.py`, then `rebalance.py`.
"""
