"""The anomalies that Jepsen names for Kafka, and more, as functions over a history: see `kafkalab.checks.all`.

Start at `check.py`, then `g1a.py`, then `all.py`.
"""
