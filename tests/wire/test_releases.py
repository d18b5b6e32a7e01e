"""`kafkalab serve --kafka 4.4` offers what Apache Kafka 4.4.0 offers, and answers it as that does."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kafkalab.protocol.cluster_metadata import CLUSTER_ID
from kafkalab.protocol.errors import Error
from kafkalab.protocol.messages.api_versions import ApiVersions
from kafkalab.protocol.messages.delete_groups import DeleteGroups
from kafkalab.protocol.messages.registry import BY_NAME
from kafkalab.protocol.messages.txn_offset_commit import TxnOffsetCommit
from kafkalab.wire.codec import request_bytes
from kafkalab.wire.learned_names import LearnedNames
from kafkalab.wire.names import UNKNOWN_TOPIC_ID
from kafkalab.wire.primitives import Source
from kafkalab.wire.structs import raw
from kafkalab.wire.tap.frames import read_frame
from tests.wire.connection import Connection
from tests.wire.serving import serving

LATER = {"ApiVersions": 5, "DeleteGroups": 3, "TxnOffsetCommit": 6}
OFFSETS = TxnOffsetCommit(
    transactional_id="pay", group_id="g", producer_id=1, producer_epoch=0, offsets={"never heard of-0": 1}
)


@pytest.fixture(scope="module")
def newer(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with serving(tmp_path_factory.mktemp("serve"), "--brokers", "1", "--kafka", "4.4") as found:
        yield found


def fields_of(client: Connection, body: Any, version: int, head: int = 5) -> dict[str, Any]:
    """Return Kafka's fields of the answer, whose header has `head` bytes."""
    client.send(body, version)
    found: dict[str, Any] = raw(f"{type(body).__name__}Response", version).read(Source(client.answer(), head))
    return found


def list_offered(servers: str) -> dict[str, int]:
    with Connection(servers) as client:
        rows = fields_of(client, ApiVersions(), 4, 4)["api_keys"]
    newest = {row["api_key"]: row["max_version"] for row in rows}
    return {api: newest[BY_NAME[api].key] for api in LATER}


def test_a_newer_release_offers_the_versions_that_came_with_it(newer: str) -> None:
    assert list_offered(newer) == LATER


def test_nothing_of_a_newer_release_is_offered_unless_it_is_asked_for(tmp_path: Path) -> None:
    with serving(tmp_path, "--brokers", "1") as servers:
        assert list_offered(servers) == {api: version - 1 for api, version in LATER.items()}
        with Connection(servers) as client, pytest.raises(ConnectionError):
            client.ask(OFFSETS, 6)


def test_offsets_of_an_unknown_topic_id_are_refused_by_that_name(newer: str) -> None:
    with Connection(newer) as client:
        (topic,) = fields_of(client, OFFSETS, 6)["topics"]
        assert topic["topic_id"] == client.names.topic_id("never heard of")
    assert [row["error_code"] for row in topic["partitions"]] == [UNKNOWN_TOPIC_ID]


@pytest.mark.parametrize(
    ("cluster_id", "node_id", "error"),
    [
        (None, "", Error.NONE),
        (CLUSTER_ID, "b1", Error.NONE),
        (CLUSTER_ID, "b2", Error.REBOOTSTRAP_REQUIRED),
        ("another", "b1", Error.REBOOTSTRAP_REQUIRED),
        (CLUSTER_ID, "", Error.INVALID_REQUEST),
        (None, "b1", Error.INVALID_REQUEST),
    ],
)
def test_a_client_that_expects_another_broker_is_sent_away(
    newer: str, cluster_id: str | None, node_id: str, error: Error
) -> None:
    """KIP-1242; the recorded answers of 4.4.0 are in the script versions.ApiVersions_5."""
    with Connection(f"{newer},{newer}") as client:  # so that the client has a name for a second node
        found = fields_of(client, ApiVersions(cluster_id=cluster_id, node_id=node_id), 5, 4)
    said = [bool(found[field]) for field in ("api_keys", "supported_features", "finalized_features")]
    assert found["error_code"] == error.code
    assert said == [error is Error.NONE] * 3
    assert found["finalized_features_epoch"] == (1 if error is Error.NONE else -1)


def test_a_group_that_is_not_deleted_has_no_message(newer: str) -> None:
    """As in 4.4.0: the field of DeleteGroups 3 is for reasons that these groups do not have."""
    with Connection(newer) as client:
        (row,) = fields_of(client, DeleteGroups(groups=("none",)), 3)["results"]
    assert row == {"group_id": "none", "error_code": Error.GROUP_ID_NOT_FOUND.code, "error_message": None}


def test_a_tap_reads_what_the_newest_client_sends() -> None:
    """Read each version that any program may send, whichever release the broker behind the tap is."""
    data = request_bytes("TxnOffsetCommit", 6, 7, "app", OFFSETS, LearnedNames())[4:]
    assert isinstance(read_frame(data, LearnedNames()).bodies[0], TxnOffsetCommit)
