"""The capture: topics of a running Kafka as tables of a history, with all that the log says of producers.

Start at `capture.py`, then `reading.py`.
"""
