"""Control of `kafkalab serve` and `kafkalab tap` from any language: HTTP and JSON, from one table of operations.

Start at `operations.py`, then `of_lab.py` and `http_server.py`.
"""
