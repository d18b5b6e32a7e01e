"""Simulated runs as a Spark data source."""
