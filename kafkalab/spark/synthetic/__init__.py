"""Synthetic histories: generated with numpy, block by block, with labelled anomalies."""
