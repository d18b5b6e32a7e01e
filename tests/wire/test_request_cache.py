"""Requests that come again are read once; their answers are those that are written each time."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kafkalab.protocol.cluster_metadata import ClusterMetadata, PartitionInfo
from kafkalab.protocol.errors import Error
from kafkalab.protocol.messages.end_txn import EndTxn, EndTxnResponse
from kafkalab.protocol.messages.fetch import READ_COMMITTED, Fetch, FetchResponse, PartitionFetched
from kafkalab.protocol.messages.produce import Produce, ProduceResponse
from kafkalab.wire import request_cache
from kafkalab.wire.codec import read_request, read_response, request_bytes, response_bytes
from kafkalab.wire.names import Names
from kafkalab.wire.primitives import BadMessageError
from kafkalab.wire.request_cache import RequestCache
from tests.wire.messages import NAMES, OFFERED, message

END = EndTxn(transactional_id="pay", producer_id=7, producer_epoch=1, committed=True)


@pytest.fixture
def names() -> Names:
    return Names({"b1": ("127.0.0.1", 9092)})


def make_request(body: Any, version: int, correlation_id: int, names: Names) -> bytes:
    """The bytes of a request, as a connection hands them on."""
    return request_bytes(type(body).__name__, version, correlation_id, "app", body, names)[4:]


def test_only_the_correlation_id_of_a_request_and_its_answer_is_new(names: Names) -> None:
    known = RequestCache(names)
    for number, error in ((1, Error.NONE), (-2, Error.NONE), (2**31 - 1, Error.CONCURRENT_TRANSACTIONS)):
        data = make_request(END, 1, number, names)
        asked, fresh = known.read(data), read_request(data, names)
        assert (asked.correlation_id, asked.client_id, asked.bodies) == (number, "app", fresh.bodies)
        answer = [EndTxnResponse(error=error)]
        for _ in range(2):
            assert known.response(asked, answer) == response_bytes(fresh, answer, names)


def test_the_second_time_nothing_is_read_or_written(names: Names, monkeypatch: pytest.MonkeyPatch) -> None:
    known = RequestCache(names)
    known.response(known.read(make_request(END, 1, 1, names)), [EndTxnResponse()])
    monkeypatch.setattr(request_cache, "read_request", None)
    monkeypatch.setattr(request_cache, "response_bytes", None)
    found = known.response(known.read(make_request(END, 1, 5, names)), [EndTxnResponse()])
    assert read_response("EndTxn", 1, found[4:], names) == (5, EndTxnResponse())


def test_a_topic_id_is_another_topic_once_the_image_has_it(names: Names) -> None:
    known = RequestCache(names)
    learned = Names(names.addresses)
    info = PartitionInfo(leader="b1", leader_epoch=0, replicas=("b1",), isr=("b1",))
    image = ClusterMetadata(1, ("b1",), {"late-0": info})
    learned.learn(image)
    data = make_request(Fetch(positions={"late-0": 0}, isolation_level=READ_COMMITTED), 13, 1, learned)
    assert list(known.read(data).bodies[0].positions) != ["late-0"]
    names.learn(image)
    asked = known.read(data)
    assert list(asked.bodies[0].positions) == ["late-0"]
    answer = [FetchResponse(partitions={"late-0": PartitionFetched()})]
    assert known.response(asked, answer) == response_bytes(asked, answer, names)


def test_what_is_kept_is_bounded(names: Names) -> None:
    known = RequestCache(names)
    for number in range(3 * request_cache.MOST_REQUESTS):
        known.read(make_request(replace(END, producer_id=number), 1, 1, names))
    assert len(known._known) <= request_cache.MOST_REQUESTS
    known.read(make_request(replace(END, transactional_id="p" * 600), 1, 1, names))
    assert not any(len(data) > request_cache.MOST_BYTES for data in known._known)


VERSIONS = st.sampled_from(OFFERED["Produce"])


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data(), version=VERSIONS)
def test_produce_is_read_and_answered_as_by_the_codec(data: st.DataObject, version: int) -> None:
    known = RequestCache(NAMES)
    request = request_bytes("Produce", version, 9, "app", data.draw(message(Produce)), NAMES)[4:]
    asked, fresh = known.read(request), read_request(request, NAMES)
    assert (asked.api, asked.version, asked.correlation_id, asked.client_id, asked.bodies) == (
        fresh.api, fresh.version, fresh.correlation_id, fresh.client_id, fresh.bodies,
    )  # fmt: skip
    answer = [data.draw(message(ProduceResponse))]
    assert known.response(asked, answer) == response_bytes(fresh, answer, NAMES)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data(), version=VERSIONS)
def test_a_damaged_produce_is_refused_where_the_codec_refuses_it(data: st.DataObject, version: int) -> None:
    request = bytearray(request_bytes("Produce", version, 9, "app", data.draw(message(Produce)), NAMES)[4:])
    for _ in range(data.draw(st.integers(0, 3))):
        request[data.draw(st.integers(8, len(request) - 1))] = data.draw(st.integers(0, 255))
    damaged = bytes(request[: data.draw(st.integers(8, len(request)))])
    assert _read(RequestCache(NAMES).read, damaged) == _read(lambda data: read_request(data, NAMES), damaged)


def _read(read: Any, data: bytes) -> Any:
    try:
        return read(data).bodies
    except BadMessageError:
        return None
