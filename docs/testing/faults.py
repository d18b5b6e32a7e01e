"""Three faults that code like payments.py is often written with. Tests show each of them: see docs/testing.md."""

from __future__ import annotations

from confluent_kafka import KafkaException, Message
from payments import ANSWER_S, Payments


class TimeoutIsAnAbort(Payments):
    """Takes a commit that was not answered in time for an abort, and pays again with a new producer."""

    def commit(self, orders: list[Message]) -> None:
        """Commit; after any error begin anew."""
        try:
            self.producer.commit_transaction(ANSWER_S)
        except KafkaException:
            self.producer = self.new_producer()
            self.pay(orders)


class OffsetsOutside(Payments):
    """Commits the offsets of the orders with the consumer, when the transaction has committed."""

    def send_offsets(self) -> None:
        """Leave them to `commit`."""

    def commit(self, orders: list[Message]) -> None:
        """Commit the payments, then the offsets."""
        super().commit(orders)
        self.consumer.commit(asynchronous=False)


class KeepsOrdersInHand(Payments):
    """Pays the orders in hand again after an abort, until it succeeds."""

    def abort(self, orders: list[Message]) -> None:
        """Abort, keep the place in the group, and try again."""
        self.producer.abort_transaction(10)
        self.consumer.pause(self.consumer.assignment())
        self.consumer.poll(0.3)
        self.pay(orders)
