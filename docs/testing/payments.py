"""The example of docs/testing.md: a service that makes of every order one payment, exactly once."""

from __future__ import annotations

import time

from confluent_kafka import Consumer, KafkaException, Message, Producer

ANSWER_S, SESSION_MS, HEARTBEAT_MS = 1.0, 6_000, 200
"""Short, so that the tests are; a service would wait longer for a commit, and keep Kafka's times for its group."""


class Payments:
    """One instance of the service. Orders are read in the group "payments"."""

    def __init__(self, bootstrap_servers: str, instance: str) -> None:
        self.bootstrap_servers, self.instance = bootstrap_servers, instance
        self.producer = self.new_producer()
        self.consumer = Consumer({
            "bootstrap.servers": bootstrap_servers,
            "client.id": f"payments-{instance}-in",
            "group.id": "payments",
            "session.timeout.ms": SESSION_MS,
            "heartbeat.interval.ms": HEARTBEAT_MS,
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
            "isolation.level": "read_committed",
        })  # fmt: skip
        self.consumer.subscribe(["orders"])

    def new_producer(self) -> Producer:
        """Begin with what an earlier producer of this instance has left: its open transaction is aborted."""
        producer = Producer({
            "bootstrap.servers": self.bootstrap_servers,
            "client.id": f"payments-{self.instance}-out",
            "transactional.id": f"payments-{self.instance}",
            "linger.ms": 0,
        })  # fmt: skip
        producer.init_transactions(10)
        return producer

    def run(self, seconds: float, at_least: int = 0) -> int:
        """Pay what comes, until `at_least` orders are paid, or for `seconds`; return how many were."""
        paid, end = 0, time.monotonic() + seconds
        while time.monotonic() < end and (not at_least or paid < at_least):
            paid += self.pay(self.read())
        return paid

    def read(self) -> list[Message]:
        """Return the next orders; none if none have come."""
        return [message for message in self.consumer.consume(100, 0.2) if message.error() is None]

    def pay(self, orders: list[Message]) -> int:
        """Write the payments and the orders' offsets in one transaction; return how many orders are paid by it."""
        if not orders:
            return 0
        try:
            self.producer.begin_transaction()
            self.send(orders)
            self.send_offsets()
            self.commit(orders)
        except KafkaException as error:
            if not error.args[0].txn_requires_abort():
                raise
            self.abort(orders)
            return 0
        return len(orders)

    def send(self, orders: list[Message]) -> None:
        """Write a payment for each order, with the order's key."""
        for order in orders:
            self.producer.produce("payments", key=order.key(), value=b"paid: " + (order.value() or b""))

    def send_offsets(self) -> None:
        """Let the transaction say how far orders are read. The group refuses it of an instance that it has expelled."""
        positions = self.consumer.position(self.consumer.assignment())
        self.producer.send_offsets_to_transaction(positions, self.consumer.consumer_group_metadata(), 10)

    def commit(self, orders: list[Message]) -> None:
        """Commit. While the outcome is not known, ask again: it may be committed already."""
        while True:
            try:
                return self.producer.commit_transaction(ANSWER_S)
            except KafkaException as error:
                if not error.args[0].retriable():
                    raise

    def abort(self, orders: list[Message]) -> None:
        """Abort, drop the orders in hand, and read on from the committed offsets: another may have paid them."""
        self.producer.abort_transaction(10)
        for position in self.consumer.committed(self.consumer.assignment(), 10):
            position.offset = max(position.offset, 0)
            self.consumer.seek(position)

    def close(self) -> None:
        """Leave the group."""
        self.consumer.close()
