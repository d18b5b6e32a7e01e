"""Client settings: names, defaults by version, checks and Kafka's messages."""
