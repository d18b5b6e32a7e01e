"""The anomalies that Jepsen names for Kafka, and more, as functions over a history: see `kafkalab.checks.all`."""
