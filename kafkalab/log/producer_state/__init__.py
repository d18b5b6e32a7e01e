"""What a partition remembers of the producers that write to it (Kafka: `ProducerStateManager`)."""
