"""KAFKA-17754 with a real client: librdkafka's EndTxn waits at the gate, and later ends the wrong transaction.

    pip install 'kafkalab-course[wire]' confluent-kafka
    python docs/torn_for_real.py torn.klab

The first EndTxn is held before the coordinator. The producer gives it up after a second and sends another, which
commits. It begins its second transaction and writes to one partition. Now the first EndTxn is let go: librdkafka speaks
version 1 of the transaction protocol, in which all transactions of an instance have the same epoch, so the coordinator
commits what the second one has written so far. The application then aborts. One of its two records is committed.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from typing import Any

from confluent_kafka import Producer

from kafkalab import LiveCluster

GIVEN_UP_MS = 1_000
WAIT_S = 60


def in_a_thread(call: Callable[[], Any]) -> threading.Thread:
    """Begin a call that waits for a held frame."""
    thread = threading.Thread(target=call)
    thread.start()
    return thread


def produce(producer: Producer, partition: int, value: str) -> None:
    """Write a record and wait until the leader has it."""
    producer.produce("out", value, partition=partition)
    producer.flush(WAIT_S)


def torn(live: LiveCluster, producer: Producer) -> None:
    """Let a late EndTxn end the producer's next transaction."""
    producer.init_transactions(WAIT_S)
    producer.begin_transaction()
    produce(producer, 0, "first-a")
    produce(producer, 1, "first-b")
    live.hold("EndTxn#1")
    commit = in_a_thread(lambda: producer.commit_transaction(WAIT_S))
    late = live.wait_for("EndTxn")
    print(f"{late} waits at the gate")
    commit.join()
    print("the producer has given it up, sent another EndTxn, and committed")
    producer.begin_transaction()
    produce(producer, 0, "second-a")
    live.let_go(late)
    print(f"{late} is let go, after the second transaction has written second-a")
    produce(producer, 1, "second-b")
    producer.abort_transaction(WAIT_S)
    print("the application has aborted its second transaction")


def producer_of(live: LiveCluster) -> Producer:
    """A transactional producer that gives a request up after a second."""
    return Producer({
        "bootstrap.servers": live.bootstrap_servers, "client.id": "app", "transactional.id": "pay", "linger.ms": 0,
        "socket.timeout.ms": GIVEN_UP_MS, "log_level": 0,
    })  # fmt: skip


def main() -> None:
    """Tear a transaction, print what read_committed sees, and save the session under the name given, if any."""
    with LiveCluster(profile="4.x/TV1", topics={"out": 2}) as live:
        torn(live, producer_of(live))
        for partition, values in live.outcome().committed.items():
            print(f"read_committed gets {', '.join(values)} of {partition}")
        if len(sys.argv) > 1:
            print(live.save(sys.argv[1]))


if __name__ == "__main__":
    main()
