"""Client settings: names, defaults by version, checks and Kafka's messages.

Start at `config_def.py`, then `config.py`.
"""
