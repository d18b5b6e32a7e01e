"""KAFKA-17754 with a real client: librdkafka's EndTxn waits at the gate, and later ends the wrong transaction."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from kafkalab.course.lab09.scenario import librdkafka_session, lost_session
from kafkalab.course.real_sessions import run_live_or_saved
from kafkalab.sim.scenario import Scenario

GIVEN_UP_MS, WAIT_S = 1_000, 30
TOPICS = {"out": 2}


def torn(live: Any, producer: Any) -> None:
    """Let a late EndTxn end the producer's next transaction; `live` is a LiveCluster."""
    producer.init_transactions(WAIT_S)
    producer.begin_transaction()
    produce(producer, 0, "first-a")
    produce(producer, 1, "first-b")
    live.hold("EndTxn#1")
    commit = in_a_thread(lambda: producer.commit_transaction(WAIT_S))
    late = live.wait_for("EndTxn")
    commit.join()  # the producer has given that one up, sent another EndTxn, and committed
    producer.begin_transaction()
    produce(producer, 0, "second-a")
    live.let_go(late)
    produce(producer, 1, "second-b")
    producer.abort_transaction(WAIT_S)


def produce(producer: Any, partition: int, value: str) -> None:
    """Write a record and wait until the leader has it."""
    producer.produce("out", value, partition=partition)
    producer.flush(WAIT_S)


def in_a_thread(call: Callable[[], Any]) -> threading.Thread:
    """Begin a call that waits for a held frame."""
    thread = threading.Thread(target=call, daemon=True)
    thread.start()
    return thread


def producer_of(live: Any) -> Any:
    """Return confluent-kafka's transactional producer, which gives a request up after a second."""
    from confluent_kafka import Producer

    return Producer({
        "bootstrap.servers": live.bootstrap_servers, "client.id": "app", "transactional.id": "pay", "linger.ms": 0,
        "socket.timeout.ms": GIVEN_UP_MS, "log_level": 0,
    })  # fmt: skip


def librdkafka(cluster_level: int = 1) -> dict[str, tuple[str, ...]]:
    """Tear a transaction of librdkafka on brokers in this process; return what read_committed gets of it.

    Where that cannot be had (confluent-kafka is not installed, or no socket may be opened), say so, and return what
    the saved session gives.
    """
    return _run(torn, cluster_level, librdkafka_session)


def lose_half() -> dict[str, tuple[str, ...]]:
    """Return what read_committed gets of three orders of librdkafka, as `librdkafka()` does; the cluster level is 2."""
    return _run(lose, 2, lost_session)


def _run(
    program: Callable[[Any, Any], None], cluster_level: int, saved: Callable[[], Scenario]
) -> dict[str, tuple[str, ...]]:
    return run_live_or_saved(
        lambda live: program(live, producer_of(live)), cluster_level, TOPICS, saved, "librdkafka 2.16"
    )


def lose(live: Any, producer: Any) -> None:
    """Let a late EndTxn of the second order end the third one, which is committed; `live` is a LiveCluster."""
    producer.init_transactions(WAIT_S)
    producer.begin_transaction()
    book(producer, "tea")
    producer.commit_transaction(WAIT_S)
    producer.begin_transaction()
    book(producer, "jam")
    live.hold("EndTxn#2")
    cancel = in_a_thread(lambda: producer.abort_transaction(WAIT_S))
    late = live.wait_for("EndTxn")
    cancel.join()  # the producer has given that one up, sent another EndTxn, and aborted
    producer.begin_transaction()
    produce(producer, 0, "pot")
    live.let_go(late)
    produce(producer, 1, "pot")
    producer.commit_transaction(WAIT_S)


def book(producer: Any, order: str) -> None:
    """Write an order's payment and its delivery."""
    for partition in (0, 1):
        produce(producer, partition, order)
