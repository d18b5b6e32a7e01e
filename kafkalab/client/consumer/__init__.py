"""The consumer: subscription, fetching, group membership, committed offsets."""
