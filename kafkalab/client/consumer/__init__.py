"""The consumer: subscription, fetching, group membership, committed offsets.

Start at `consumer.py`, then `fetcher.py`, then `group_member.py`.
"""
