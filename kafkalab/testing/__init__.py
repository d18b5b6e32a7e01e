"""Tests of applications: the fixture `kafka_lab` of pytest, with brokers that fail where they are told to.

Start at `plugin.py`, then `kafka_lab.py`.
"""
