"""A cluster for real clients, and a tap before a running Kafka, in a notebook: frames can be held, and views grow.

Start at `cluster.py`, then `journey.py`.
"""
