"""Anomalies that can be injected into a synthetic history, each with the findings that it must cause."""
