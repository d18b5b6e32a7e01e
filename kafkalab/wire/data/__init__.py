"""What `kafkalab serve --data` keeps on disk: logs in Kafka's format, and what the controller knows."""
