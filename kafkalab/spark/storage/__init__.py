"""Histories as Parquet files and as DataFrames."""
