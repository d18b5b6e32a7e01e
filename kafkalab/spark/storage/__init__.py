"""Histories as Parquet files and as DataFrames.

Start at `history_files.py`, then `places.py`.
"""
