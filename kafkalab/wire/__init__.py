"""Kafka's protocol in bytes: a codec, and a server on which unmodified clients meet the simulator's brokers."""
