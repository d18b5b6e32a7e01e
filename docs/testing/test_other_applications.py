"""Tests of applications that do not make one output of each input: one filters, one writes twice, one aggregates."""

from __future__ import annotations

import pytest
from payments import Payments

pytestmark = pytest.mark.kafka_lab(topics={"orders": 1, "payments": 1})


class Filter(Payments):
    """Pay no second order."""

    def send(self, orders):
        super().send([order for order in orders if order.key() != b"order-2"])


def test_a_filter(kafka_lab, placed, start):
    """The second order should have no payment, the others one."""
    kafka_lab.pipeline("orders", "payments", effects=lambda order: 0 if order.key == b"order-2" else 1)
    start("1", Filter).run(30, len(placed))
    kafka_lab.check("exactly-once")


class Twice(Payments):
    """Write each payment twice, into one transaction."""

    def send(self, orders):
        super().send([*orders, *orders])


def test_one_that_writes_twice(kafka_lab, orders, start):
    """The transaction is committed once, and each order has two effects."""
    start("1", Twice).run(30, len(orders))
    with pytest.raises(AssertionError, match="'order-1' at offset 0 of orders-0 is duplicated: 2 effect"):
        kafka_lab.check("exactly-once")


class Sum(Payments):
    """Write one payment for all orders in hand; its key has theirs, with commas."""

    def send(self, orders):
        self.producer.produce("payments", key=b",".join(order.key() for order in orders))


def test_an_aggregation(kafka_lab, placed, start):
    """Each order should be in one sum."""
    kafka_lab.pipeline("orders", "payments", target_id=lambda payment: payment.key.split(b","))
    start("1", Sum).run(30, len(placed))
    kafka_lab.check("exactly-once")
