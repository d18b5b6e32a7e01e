"""Tests of the payments service: each breaks what breaks in a real cluster, at a chosen frame."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import pytest
from confluent_kafka import KafkaException
from payments import SESSION_MS

pytestmark = pytest.mark.kafka_lab(topics={"orders": 1, "payments": 1})


def test_every_order_is_paid_once(kafka_lab, orders, start):
    """Nothing breaks."""
    assert start("1").run(30, len(orders)) == len(orders)
    assert kafka_lab.values("payments") == [f"paid: {order}" for order in orders]
    kafka_lab.check("exactly-once")
    kafka_lab.check()


def test_the_answer_to_a_commit_is_lost(kafka_lab, orders, start):
    """The transaction is committed, and the producer's connection to its coordinator breaks before it is told."""
    kafka_lab.drop("EndTxnResponse#1")
    start("1").run(30, len(orders))
    kafka_lab.check("exactly-once")


def test_the_answer_to_a_commit_is_late(kafka_lab, orders, start):
    """The transaction is committed; the producer is told after its call has timed out."""
    kafka_lab.delay("EndTxnResponse#1", 1_500)
    start("1").run(30, len(orders))
    kafka_lab.check("exactly-once")


def test_an_instance_stops_between_two_commits(kafka_lab, orders, start):
    """If the service sends an OffsetCommit, it waits longer than the session of its member lasts."""
    kafka_lab.hold("OffsetCommit#1")
    with ThreadPoolExecutor() as pool:
        running = pool.submit(start("1").run, 30, len(orders))
        while not (running.done() or kafka_lab.held):
            time.sleep(0.02)
        if kafka_lab.held:
            kafka_lab.advance(SESSION_MS)
            start("2").run(30, len(orders))
            kafka_lab.free_run()
    kafka_lab.check("exactly-once")


def test_an_instance_is_expelled_with_orders_in_hand(kafka_lab, orders, start):
    """The first instance reads orders, and says nothing for longer than its session lasts; another one pays them."""
    first = start("1")
    in_hand = []
    while len(in_hand) < len(orders):
        in_hand += first.read()
    kafka_lab.advance(SESSION_MS)
    assert start("2").run(30, len(orders)) == len(orders)
    with suppress(KafkaException):  # it may be told, and end
        first.pay(in_hand)
    kafka_lab.check("exactly-once")
    assert kafka_lab.values("payments") == [f"paid: {order}" for order in orders]


def test_the_coordinator_crashes_before_the_commit(kafka_lab, orders, start):
    """Its successor is elected when its session expires, and ends the transaction."""
    first = start("1")
    kafka_lab.hold("EndTxn#1")
    with ThreadPoolExecutor() as pool:
        running = pool.submit(first.run, 30, len(orders))
        kafka_lab.wait_for("EndTxn#1")
        kafka_lab.crash(kafka_lab.coordinator_of("payments-1"))
        kafka_lab.advance(9_000)
        kafka_lab.free_run()
        assert running.result(30) == len(orders)
    kafka_lab.check("exactly-once")
    assert kafka_lab.values("payments") == [f"paid: {order}" for order in orders]
