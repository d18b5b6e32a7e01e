"""KAFKA-17754 with a real client: librdkafka's EndTxn waits at the gate, and later ends the wrong transaction."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from kafkalab.course.lab09.scenario import librdkafka_session
from kafkalab.sim.cluster import ran

GIVEN_UP_MS, WAIT_S = 1_000, 30
TOPICS = {"out": 2}
SAVED = "{}: so this is the saved session of librdkafka 2.16, run again.\n"


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
    try:
        if sys.platform == "emscripten":
            raise OSError("a browser opens no sockets")
        from kafkalab.live.cluster import LiveCluster

        with LiveCluster(cluster_level=cluster_level, topics=TOPICS) as live:
            torn(live, producer_of(live))
            return dict(live.outcome().committed)
    except ImportError as missing:
        reason = f"{missing.name or missing} is not installed"
    except (OSError, TimeoutError) as error:
        reason = f"no brokers can listen here ({error})"
    with suppress(OSError):
        sys.stderr.write(SAVED.format(reason))
    return dict(ran(librdkafka_session()).outcome().committed)
