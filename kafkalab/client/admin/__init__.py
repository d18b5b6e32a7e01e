"""The admin client (Kafka: `Admin`).

Start at `admin.py`, then `descriptions.py`.
"""
