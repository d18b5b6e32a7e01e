"""Tagged fields that nobody here knows are skipped (KIP-482): in every message that may have them, on every way."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest

from kafkalab.limits import place_of
from kafkalab.protocol import batch_bytes
from kafkalab.protocol.messages.api_versions import ApiVersions
from kafkalab.protocol.messages.end_txn import EndTxn
from kafkalab.protocol.messages.fetch import Fetch
from kafkalab.protocol.messages.init_producer_id import InitProducerId
from kafkalab.protocol.messages.metadata import Metadata
from kafkalab.protocol.messages.produce import Produce
from kafkalab.protocol.records import Batch, Record
from kafkalab.wire.batches import read_batch
from kafkalab.wire.blocking_client import BlockingClient
from kafkalab.wire.capture.source import Source
from kafkalab.wire.codec import read_request, read_response
from kafkalab.wire.request_cache import RequestCache
from kafkalab.wire.tap.frames import Answer, Unread, read_frame
from tests.kafka.schema import Message
from tests.wire.messages import NAMES, OFFERED
from tests.wire.serving import serving
from tests.wire.tagging import FOUND, TAGGED, Tagging, broker_of_tags, message, request, response, rows
from tests.wire.tap.behind import asker, exchange, start_tap, until

FLEXIBLE = [(api, v) for api in OFFERED for v in OFFERED[api] if message(f"{api}Request", v).flexible]
GIVEN: dict[str, dict[str, Any]] = {
    "Produce": {"Acks": 1},
    "CreateTopics": {"Topics": [{"Name": "made", "NumPartitions": 1, "ReplicationFactor": 1}]},
}
"""Fields without which a request is not answered, beyond a row in each array."""


def request_without_length(api: str, version: int, kind: type[Message] = Tagging) -> bytes:
    """Return a request without its length."""
    fields = FOUND["messages"][f"{api}Request"]["fields"]
    return request(api, version, {**rows(fields), **GIVEN.get(api, {})}, kind)[4:]


@pytest.fixture(scope="module")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    options = ("--brokers", "1", "--topics", "in:1", "--kafka", NAMES.kafka)
    with serving(tmp_path_factory.mktemp("serve"), *options) as found:
        yield found


@pytest.fixture(scope="module")
def tags(servers: str) -> Iterator[tuple[str, int]]:
    with broker_of_tags(place_of(servers)) as address:
        yield address


@pytest.mark.parametrize(("api", "version"), FLEXIBLE)
def test_a_request_says_with_unknown_tags_what_it_says_without(api: str, version: int) -> None:
    tagged, sound = request_without_length(api, version), request_without_length(api, version, Message)
    assert tagged.count(TAGGED) >= 2
    assert read_request(tagged, NAMES) == read_request(sound, NAMES)
    assert RequestCache(NAMES).read(tagged).bodies == read_request(sound, NAMES).bodies
    assert read_frame(tagged, NAMES) == read_frame(sound, NAMES)


@pytest.mark.parametrize(("api", "version"), FLEXIBLE)
def test_a_request_with_unknown_tags_is_answered(api: str, version: int, servers: str) -> None:
    data = request_without_length(api, version)
    answer = exchange(servers, struct.pack(">i", len(data)) + data)
    assert answer, "the connection is closed"
    assert read_response(api, version, answer, NAMES)[0] == 1


@pytest.mark.parametrize(("api", "version"), FLEXIBLE)
def test_a_response_says_with_unknown_tags_what_it_says_without(api: str, version: int) -> None:
    values = rows(FOUND["messages"][f"{api}Response"]["fields"])
    tagged, sound = (response(api, version, values, kind) for kind in (Tagging, Message))
    assert TAGGED in tagged
    assert read_response(api, version, tagged, NAMES) == read_response(api, version, sound, NAMES)
    request = read_frame(request_without_length(api, version), NAMES)
    assert Answer(request, tagged).bodies(NAMES) == Answer(request, sound).bodies(NAMES)
    assert not isinstance(Answer(request, tagged).bodies(NAMES)[0], Unread)
    assert Answer(request, tagged).values == Answer(request, sound).values is not None


def test_a_tap_records_a_broker_whose_answers_have_unknown_tags(tags: tuple[str, int]) -> None:
    with start_tap("{}:{}".format(*tags)) as tap:
        client = asker(tap)
        assert client.ask(ApiVersions(), 4).transaction_version == 2
        assert client.ask(Metadata(topics=("in",)), 12).metadata.has_topic("in")
        found = client.ask(InitProducerId(transactional_id="pay"), 5)
        ids = {"transactional_id": "pay", "producer_id": found.producer_id, "producer_epoch": found.producer_epoch}
        batch = Batch(
            records=(Record("k", "v"),), base_offset=0, timestamp_ms=1, transactional=True, base_sequence=0,
            producer_id=found.producer_id, producer_epoch=found.producer_epoch,
        )  # fmt: skip
        batches = {"in-0": read_batch(batch_bytes.encode(batch))}
        client.ask(Produce(transactional_id="pay", acks=-1, timeout_ms=1_000, batches=batches), 12)
        client.ask(EndTxn(committed=True, **ids), 5)
        until(lambda: len(client.ask(READ, 12).partitions["in-0"].batches) == 2)
        frames = tap.recording().trace.frames
    assert {frame.name for frame in frames.values()} >= {"ProduceResponse", "FetchResponse", "EndTxnResponse"}
    assert [frame.id for frame in frames.values() if isinstance(frame.body, Unread)] == []
    assert frames["EndTxnResponse#1"].body.producer_epoch == found.producer_epoch + 1


READ = Fetch(isolation_level="read_committed", positions={"in-0": 0})


def test_a_capture_reads_from_a_broker_whose_answers_have_unknown_tags(tags: tuple[str, int]) -> None:
    with closing(Source(tags)) as source:
        (leader,) = set(source.look_up(("in",)).values())
        assert source.names.addresses[leader] == tags
        with closing(BlockingClient(tags, source.names, "app")) as client:
            client.ask(InitProducerId(transactional_id="seen"), 5)
        assert [row.transactional_id for row in source.transactions() or ()].count("seen") == 1
        assert source.producers("in-0", leader) is not None
