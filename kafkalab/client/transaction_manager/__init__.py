"""A producer's identity and transaction state (Kafka: `TransactionManager`).

Start at `../../protocol/transition_tables/producer.py`, then `transaction_manager.py`, then `coordinator_requests.py`.
"""
