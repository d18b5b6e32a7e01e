"""The admin client (Kafka: `Admin`)."""
