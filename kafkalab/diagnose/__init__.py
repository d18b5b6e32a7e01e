"""Diagnose text: from what Kafka's tools, brokers and clients printed to what happened, and how certain that is.

Each line is redacted, then read once; each fact keeps its source. What can be known is kept in bounded memory, and
rules conclude from it.

Start at `reading.py`, then `evidence.py`, `log_view.py`, `judge.py`, `nearest/nearest.py`; last comes `room.py`.
"""
