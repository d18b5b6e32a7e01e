"""The files of `kafkalab serve --data`: logs in Kafka's format, and what the controller knows.

Start at `folder.py`, then `log_files.py`.
"""
