"""librdkafka gives a sequence to a second record, which is acknowledged with the offset of the first one, and lost."""

from __future__ import annotations

from typing import Any

import pytest

from kafkalab.live.cluster import LiveCluster

pytest.importorskip("confluent_kafka")
pytestmark = pytest.mark.clients


@pytest.mark.smoke
@pytest.mark.parametrize("level", [1, 2])
def test_a_record_behind_an_abort_is_taken_for_a_repetition(level: int) -> None:
    """If a later version of librdkafka does not do it, README.md and tests/wire/kills.py need not speak of it."""
    from confluent_kafka import Producer

    told: dict[bytes, int] = {}

    def on_delivery(error: Any, message: Any) -> None:
        if error is None:
            told[message.value()] = message.offset()

    with LiveCluster(topics={"out": 1}, cluster_level=level) as live:
        slow = {"reconnect.backoff.ms": 3_000, "reconnect.backoff.max.ms": 3_000, "linger.ms": 0, "log_level": 0}
        app = Producer({"bootstrap.servers": live.bootstrap_servers, "transactional.id": "pay", **slow})
        app.init_transactions(20)
        live.drop("ProduceResponse#1")
        app.begin_transaction()
        app.produce("out", b"aborted", on_delivery=on_delivery)
        app.poll(1.0)
        app.abort_transaction(30)
        app.begin_transaction()
        app.produce("out", b"lost", on_delivery=on_delivery)
        app.commit_transaction(30)
        batches = [b for b in live.cluster.log_of("out-0").batches if b.control is None]
        assert [(b.base_offset, b.records[0].value, b.base_sequence) for b in batches] == [(0, "aborted", 0)]
    assert told == {b"lost": 0}
