"""Every API in every version: what one side writes, the other reads."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import fields, replace
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from kafkalab.protocol.api import NEWEST, USUAL
from kafkalab.protocol.errors import Error
from kafkalab.protocol.field_versions import messages_in
from kafkalab.protocol.messages.add_partitions_to_txn import AddPartitionsToTxn, AddPartitionsToTxnResponse
from kafkalab.protocol.messages.fetch import FetchResponse
from kafkalab.protocol.messages.registry import ALL, BY_NAME
from kafkalab.protocol.messages.txn_offset_commit import TxnOffsetCommit, TxnOffsetCommitResponse
from kafkalab.wire import special
from kafkalab.wire.codec import (
    ReadRequest,
    UnsupportedVersionError,
    read_request,
    read_response,
    request_bytes,
    request_of,
    response_bytes,
)
from kafkalab.wire.definitions import api_names, snake_case
from kafkalab.wire.names import Names
from kafkalab.wire.primitives import BadMessageError, Source
from kafkalab.wire.table import TABLE
from tests.kafka.schema import Message, Reader
from tests.protocol.definitions import TABLE as MESSAGES
from tests.wire.messages import ADDRESSES, NAMES, OFFERED, carry, message
from tests.wire.tagging import FOUND, response
from tests.wire.tagging import message as message_of

FEW = settings(
    max_examples=4, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck), phases=[Phase.generate]
)


def read_back(api: str, version: int, body: Any) -> Any:
    """Return the request as a server reads it."""
    data = request_bytes(api, version, 7, "app", body, NAMES)
    assert int.from_bytes(data[:4], "big") == len(data) - 4
    return read_request(data[4:], NAMES)


def test_the_page_says_how_much_is_offered(root: Path) -> None:
    offered = special.OFFERED[USUAL].values()
    said = f"{len(offered)} APIs in {sum(map(len, offered))} versions"
    page = root / "docs" / "like-kafka.md"
    assert said in page.read_text(encoding="utf-8"), f"{page}, bytes on the wire: it is {said} now"


def test_the_page_names_every_api_that_is_not_offered(root: Path) -> None:
    text = (root / "docs" / "like-kafka.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| .* \| (.*) \|$", text.partition("## What the server does not have")[2], re.MULTILINE)
    named = [api for row in rows[1:] for api in row.split(", ")]
    kafka = {api_names()[key] for key in json.loads(MESSAGES.read_text(encoding="utf-8"))["offered"]}
    assert sorted(named) == sorted(kafka - set(special.OFFERED[NEWEST])), "docs/like-kafka.md, its last table"


@pytest.mark.parametrize("api", OFFERED)
def test_a_request_is_read_as_it_was_written_in_every_version(api: str) -> None:
    @FEW
    @given(message(BY_NAME[api].request))
    def check(made: Any) -> None:
        for version in OFFERED[api]:
            body = carry(api, version, made)
            if body is not None:
                found = read_back(api, version, body)
                assert (found.api, found.version, found.correlation_id, found.client_id) == (api, version, 7, "app")
                assert found.bodies == (body,), version

    check()


@pytest.mark.parametrize("api", OFFERED)
def test_a_response_is_read_as_it_was_written_in_every_version(api: str) -> None:
    @FEW
    @given(message(BY_NAME[api].response), st.data())
    def check(made: Any, data: st.DataObject) -> None:
        request = data.draw(message(BY_NAME[api].request).filter(lambda r: carry(api, 0, r) is not None))
        if isinstance(made, FetchResponse):
            positions = dict.fromkeys(made.partitions, 0)
            request = replace(request, positions=positions, max_bytes=None, partition_max_bytes={})
        for version in OFFERED[api]:
            body, found = carry(api, version, made), read_back(api, version, carry(api, version, request))
            if api != "Fetch":  # other answers are read without a look at the request
                found.aside, found.bodies = {}, (None,)
            written = response_bytes(found, (body,), NAMES)
            assert read_response(api, version, written[4:], NAMES) == (7, body), version

    check()


@pytest.mark.parametrize("api", OFFERED)
def test_damaged_bytes_are_a_bad_message_or_another_one(api: str) -> None:
    chance = Random(api)
    bodies: list[Any] = []

    @FEW
    @given(message(BY_NAME[api].request).filter(lambda made: carry(api, OFFERED[api][-1], made) is not None))
    def draw(made: Any) -> None:
        bodies.append(made)

    draw()
    read = 0
    for body in bodies:
        version = chance.choice(OFFERED[api])
        carries = carry(api, version, body)
        if carries is None:
            version, carries = OFFERED[api][-1], carry(api, OFFERED[api][-1], body)
        sound = request_bytes(api, version, 7, "app", carries, NAMES)[4:]
        for _ in range(60):
            data = bytearray(sound)
            for _ in range(chance.randint(1, 3)):
                data[chance.randrange(len(data))] = chance.randrange(256)
            try:
                read_request(bytes(data[: chance.randint(1, len(data))] if chance.random() < 0.3 else data), NAMES)
                read += 1
            except (BadMessageError, UnsupportedVersionError):
                pass
    assert read > 0


@pytest.mark.parametrize("tags", [b"\xff" * 1_000_000, b"\x01" + b"\xff" * 1_000_000, b"\x01\x00" + b"\xff" * 6])
def test_a_number_in_the_header_that_never_ends_is_a_bad_message(tags: bytes) -> None:
    with pytest.raises(BadMessageError, match="Varint is too long"):
        read_request(b"\0\x12\0\x03\0\0\0\x07\0\0" + tags, NAMES)


def test_tagged_fields_in_the_header_are_skipped() -> None:
    sound = request_bytes("ApiVersions", 3, 7, "app", BY_NAME["ApiVersions"].request(), NAMES)[4:]
    begin = 10 + len("app")
    tagged = sound[:begin] + b"\x02" + b"\x00\x03abc" + b"\x05\x00" + sound[begin + 1 :]
    assert read_request(tagged, NAMES) == read_request(sound, NAMES)


def test_topics_have_their_ids_in_a_version_that_came_with_4_4() -> None:
    """KIP-1319: the version is in the message's API, its fields are in Kafka's definitions, and nothing else is needed.
    """
    asked = TxnOffsetCommit(
        transactional_id="pay", producer_id=1, producer_epoch=2, group_id="g", generation_id=3, offsets={"t-0": 5}
    )
    NAMES.topic_id("t")
    data = request_bytes("TxnOffsetCommit", 6, 7, "", asked, NAMES)[4:]
    with pytest.raises(UnsupportedVersionError):
        read_request(data, Names(ADDRESSES, kafka="4.3"))
    assert read_request(data, NAMES).bodies == (asked,)
    at = len(b"\0\x1c\0\6\0\0\0\7\0\0\0")
    (topic,) = message_of("TxnOffsetCommitRequest", 6, Message).decode(Reader(data[at:]))["Topics"]
    assert topic["TopicId"] == NAMES.topic_id("t").bytes
    assert topic["Partitions"][0]["CommittedOffset"] == 5
    answer = response("TxnOffsetCommit", 6, {"Topics": [{"TopicId": topic["TopicId"], "Partitions": [{}]}]}, Message)
    assert read_response("TxnOffsetCommit", 6, answer, NAMES)[1] == TxnOffsetCommitResponse(errors={"t-0": Error.NONE})


def test_a_leader_asks_for_several_transactions_at_once() -> None:
    ids: dict[str, Any] = {"producer_id": 1, "producer_epoch": 2, "verify_only": True}
    other = AddPartitionsToTxn(transactional_id="two", partitions=("u-0",), **ids)
    body = AddPartitionsToTxn(transactional_id="one", partitions=("t-0", "t-1"), further=(other,), **ids)
    data = request_bytes("AddPartitionsToTxn", 5, 7, "b1", body, NAMES)[4:]
    at = len(b"\0\x18\0\5\0\0\0\7\0\2b1\0")
    rows = message_of("AddPartitionsToTxnRequest", 5, Message).decode(Reader(data[at:]))["Transactions"]
    assert [(row["TransactionalId"], row["VerifyOnly"], row["Topics"]) for row in rows] == [
        ("one", True, [{"Name": "t", "Partitions": [0, 1]}]), ("two", True, [{"Name": "u", "Partitions": [0]}]),
    ]  # fmt: skip
    bodies = request_of("AddPartitionsToTxn", 5).read(Source(data, at, NAMES))
    assert bodies == (replace(body, further=()), other)
    answers = [AddPartitionsToTxnResponse(errors=dict.fromkeys(one.partitions, Error.NONE)) for one in bodies]
    answer = response_bytes(ReadRequest("AddPartitionsToTxn", 5, 7, "b1", bodies), answers, NAMES)[9:]
    rows = message_of("AddPartitionsToTxnResponse", 5, Message).decode(Reader(answer))["ResultsByTransaction"]
    assert [(row["TransactionalId"], len(row["TopicResults"][0]["ResultsByPartition"])) for row in rows] == [
        ("one", 2), ("two", 1),
    ]  # fmt: skip


def test_each_rule_is_about_a_message_and_a_field_that_there_are() -> None:
    """A name that is spelled wrong would be no rule at all."""
    ours = {kind.__name__ for api in ALL for side in (api.request, api.response) for kind in inside(side)}
    assert set(TABLE) <= ours
    theirs = {snake_case(name) for definition in FOUND["messages"].values() for name in names(definition["fields"])}
    assert {rule.theirs for rules in TABLE.values() for rule in rules} <= theirs


def inside(kind: type) -> Iterator[type]:
    """The class of a message, and those of the messages in it."""
    yield kind
    for one in fields(kind):
        yield from (held for part in messages_in(kind, one.name) if part is not kind for held in inside(part))


def names(rows: list[dict[str, Any]]) -> Iterator[str]:
    for row in rows:
        yield row["name"]
        yield from names(row.get("fields", []))
