"""Simulated runs as a Spark data source.

Start at `source.py`, then `runs.py`.
"""
