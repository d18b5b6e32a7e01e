"""The group coordinator: classic groups, rebalance, and committed offsets."""
