"""A producer's identity and transaction state (Kafka: `TransactionManager`).

Start at `transition_table.py`, then `transaction_manager.py`, then `coordinator_requests.py`.
"""
