"""Each version of each API carries the fields of Kafka's own definitions (wire/kafka_messages.json)."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from pathlib import Path
from types import UnionType
from typing import Any, get_args, get_origin, get_type_hints

import pytest

from kafkalab import wire
from kafkalab.broker.handlers.registry import HANDLERS
from kafkalab.protocol.api import Api
from kafkalab.protocol.errors import Error
from kafkalab.protocol.field_versions import VERSIONS, as_read, messages_in
from kafkalab.protocol.messages.add_partitions_to_txn import AddPartitionsToTxn
from kafkalab.protocol.messages.api_versions import ApiVersionsResponse
from kafkalab.protocol.messages.end_txn import EndTxn, EndTxnResponse
from kafkalab.protocol.messages.init_producer_id import InitProducerId
from kafkalab.protocol.messages.join_group import JoinedMember, JoinGroupResponse
from kafkalab.protocol.messages.offset_commit import OffsetCommit
from kafkalab.protocol.messages.registry import ALL
from kafkalab.protocol.messages.write_txn_markers import TxnMarkers, WriteTxnMarkers
from kafkalab.protocol.records import Batch
from tests.conformance.one_broker import OneBroker

KAFKA = Path(wire.__file__).with_name("kafka_messages.json")
ELSEWHERE = {
    "UpdateMetadata": "Kafka 4 has no such request: brokers fetch the metadata log",
    "ReplicaFetch": "brokers speak one version among themselves, the newest",
}
RENAMED = {
    "transactional_id": ("TransactionalId", "V3AndBelowTransactionalId"),
    "producer_id": ("ProducerId", "V3AndBelowProducerId"),
    "producer_epoch": ("ProducerEpoch", "V3AndBelowProducerEpoch"),
    "further": ("Transactions", "ResultsByTransaction"),
    "verify_only": ("VerifyOnly",),
    "key": ("Key", "CoordinatorKeys"),
    "members": ("Members", "MemberId"),
    "node_id": ("NodeId",),
    "duration_filter_ms": ("DurationFilter",),
    "transactional_id_pattern": ("TransactionalIdPattern",),
    "leader_epochs": ("CommittedLeaderEpoch",),
    "current_leader_epochs": ("CurrentLeaderEpoch",),
    "last_fetched_epochs": ("LastFetchedEpoch",),
    "diverging": ("DivergingEpoch",),
    "metadata": ("CommittedMetadata", "Metadata"),
    "enable_2pc": ("Enable2Pc",),
    "positions": ("FetchOffset",),
    "log_starts": ("LogStartOffset",),
    "diverging_offset": ("EndOffset",),
    "diverging_epoch": ("Epoch",),
    "log_append_time_ms": ("LogAppendTimeMs",),
    "transaction_version": ("TransactionVersion", "FinalizedFeatures"),
    "generation_id": ("GenerationId", "GenerationIdOrMemberEpoch"),
    "error": ("ErrorCode",),
    "validate_only": ("validateOnly",),
    "LeaveGroupResponse.errors": ("Members",),
    "OffsetFetchResponse.error": ("/ErrorCode", "/Groups.ErrorCode"),
}
"""Ours -> Kafka's, where snake_case is not enough. A field of which Kafka has none of that name travels always."""


def kafka() -> dict[tuple[str, str], dict[str, list[range]]]:
    """By API and side the versions of every field, by the last part of its name and by "/" and the whole of it."""
    found: dict[tuple[str, str], dict[str, list[range]]] = {}
    for name, definition in json.loads(KAFKA.read_text(encoding="utf-8"))["messages"].items():
        api, side = re.fullmatch(r"(.*?)(Request|Response|)", name).groups()  # type: ignore[union-attr]
        here = found[api, side] = defaultdict(list)
        note(definition["fields"], "/", here)
    return found


def note(rows: list[dict[str, Any]], before: str, here: dict[str, list[range]]) -> None:
    """Note the versions of fields, and of those inside them."""
    for row in rows:
        for name in (row["name"], f"{before}{row['name']}"):
            here[name].append(parse_range(row["versions"]))
        note(row.get("fields", []), f"{before}{row['name']}.", here)


def parse_range(versions: str) -> range:
    """`range` of "3+", "0-3" or "0"."""
    first, open_end, last = re.fullmatch(r"(\d+)(?:(\+)|-(\d+))?", versions).groups()  # type: ignore[union-attr]
    return range(int(first), 1000 if open_end else int(last or first) + 1)


FIELDS = kafka()


def messages(kind: type) -> Iterator[type]:
    """The message and those inside it that have fields of their own in Kafka's definition."""
    yield kind
    for one in fields(kind):
        inside = [held for held in messages_in(kind, one.name) if held not in (kind, Batch)]
        yield from (message for held in inside for message in messages(held))


def sides() -> Iterator[tuple[Api, str, type]]:
    for api in ALL:
        if api.name not in ELSEWHERE:
            for side, kind in (("Request", api.request), ("Response", api.response)):
                yield from ((api, side, message) for message in messages(kind))


def snake(name: str) -> str:
    return re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower()


def carried_by_kafka(api: Api, side: str, message: type, name: str) -> list[int]:
    """The versions in which Kafka has the field."""
    known = FIELDS[api.name, side]
    renamed = RENAMED.get(f"{message.__name__}.{name}") or RENAMED.get(name)
    names = renamed or tuple(n for n in known if snake(n) == name)
    ranges = [r for n in names for r in known.get(n, [])] or [range(1000)]
    return [v for v in api.versions if any(v in r for r in ranges)]


def carried_here(api: Api, one: Any) -> list[int]:
    return [v for v in api.versions if v in one.metadata.get(VERSIONS, range(1000))]


@pytest.mark.parametrize(
    ("api", "side", "message"),
    [pytest.param(*row, id=f"{row[0].name}-{row[2].__name__}") for row in sides()],
)
def test_each_version_carries_what_kafkas_carries(api: Api, side: str, message: type) -> None:
    assert (api.name, side) in FIELDS, (
        f"{KAFKA.name} lacks {api.name}; `python -m tests.protocol.definitions JAR ...` writes it anew"
    )
    wrong = []
    for one in fields(message):
        kafkas = carried_by_kafka(api, side, message, one.name)
        here = carried_here(api, one)
        if kafkas != here:
            wrong.append(f"{message.__name__}.{one.name}: Kafka's versions {kafkas}, here {here}")
    assert wrong == [], (
        "declare it with since(version, default); or, if rows inside have a field of that name too, say in RENAMED "
        f'which is meant, such as "/ErrorCode" for that of the response itself: {"; ".join(wrong)}'
    )


def make_value(annotation: Any) -> Any:
    """A value of this type that no field has as its default."""
    inside = get_args(annotation)
    if isinstance(annotation, UnionType):
        return make_value(inside[0])
    if get_origin(annotation) is tuple:
        return tuple(make_value(part) for part in inside if part is not ...)
    if get_origin(annotation) is dict:
        return {make_value(inside[0]): make_value(inside[1])}
    if is_dataclass(annotation):
        hints = get_type_hints(annotation)
        nested = {one.name for one in fields(annotation) if annotation in get_args(hints[one.name])}
        own = [one.name for one in fields(annotation) if one.init]
        create: Any = annotation
        return create(**{name: () if name in nested else make_value(hints[name]) for name in own})
    return {int: 77, str: "seventy-seven", bool: True, Error: Error.INVALID_REQUEST}.get(annotation)


REQUESTS = [
    pytest.param(api, version, id=f"{api.name}-{version}")
    for api in ALL
    if api.request in HANDLERS
    for version in api.versions
]


@pytest.mark.parametrize(("api", "version"), REQUESTS)
def test_a_handler_sees_of_a_request_what_its_version_carries(
    api: Api, version: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[Any] = []

    def note(broker: object, request: Any, header: object) -> ApiVersionsResponse:
        seen.append(request)
        return ApiVersionsResponse()

    monkeypatch.setitem(HANDLERS, api.request, note)
    sent = make_value(api.request)
    OneBroker().ask(sent, version)
    (request,) = seen
    for one in fields(api.request):
        if version in one.metadata.get(VERSIONS, range(1000)):
            assert getattr(request, one.name) == as_read_inside(getattr(sent, one.name), version)
        else:
            assert getattr(request, one.name) in (one.default, {})


def as_read_inside(value: Any, version: int) -> Any:
    if isinstance(value, tuple):
        return tuple(as_read(one, version) if is_dataclass(one) else one for one in value)
    return value


def test_fields_that_came_later_have_their_defaults_in_an_older_version() -> None:
    asked = InitProducerId(transactional_id="t", producer_id=5, producer_epoch=6, enable_2pc=True)
    assert as_read(asked, 2) == InitProducerId(transactional_id="t")
    assert as_read(asked, 3) == InitProducerId(transactional_id="t", producer_id=5, producer_epoch=6)
    assert as_read(asked, 6) is asked


def test_a_field_that_went_again_is_not_in_a_newer_version() -> None:
    asked = OffsetCommit(group_id="g", offsets={}, retention_time_ms=9)
    assert [as_read(asked, version).retention_time_ms for version in range(2, 7)] == [9, 9, 9, -1, -1]


def testmessages_inside_a_message_are_read_in_its_version_too() -> None:
    entry = TxnMarkers(
        producer_id=7, producer_epoch=1, coordinator_epoch=0, committed=True, partitions=("t-0",), transaction_version=2
    )
    assert [as_read(WriteTxnMarkers(markers=(entry,)), v).markers[0].transaction_version for v in (1, 2)] == [0, 2]
    one = AddPartitionsToTxn(transactional_id="t", producer_id=1, producer_epoch=0, partitions=(), verify_only=True)
    assert not as_read(one, 3).verify_only
    joined = JoinGroupResponse(skip_assignment=True, members=(JoinedMember("m", "i", ("t",)),))
    assert as_read(joined, 4) == JoinGroupResponse(members=(JoinedMember("m", None, ("t",)),))


def test_an_answer_carries_what_its_requests_version_carries(monkeypatch: pytest.MonkeyPatch) -> None:
    ended = EndTxnResponse(producer_id=7, producer_epoch=3)
    monkeypatch.setitem(HANDLERS, EndTxn, lambda broker, request, header: ended)
    asked = EndTxn(transactional_id="t", producer_id=7, producer_epoch=2, committed=True)
    assert [OneBroker().ask(asked, v).response for v in (4, 5)] == [EndTxnResponse(), ended]
