"""The Spark session, the Java that it needs, and its errors in one line.

Start at `session.py`, then `java.py`.
"""
