"""Other ways to be atomic: small models of two-phase commit, an MVCC table and an atomic broadcast, beside Kafka."""
