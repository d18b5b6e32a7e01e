"""A producer's identity and transaction state (Kafka: `TransactionManager`)."""
