"""Synthetic histories: generated with numpy, block by block, with labelled anomalies.

Start at `generator.py`, then `block.py`, then `injected_anomalies.py`.
"""
