"""Where an old version of an answer has its error, if it has no place for the one that newer versions have."""

from __future__ import annotations

from typing import Any

import pytest

from kafkalab.protocol.errors import Error
from kafkalab.protocol.messages.leave_group import LeaveGroup, LeaveGroupResponse, LeavingMember
from kafkalab.protocol.messages.offset_fetch import OffsetFetch, OffsetFetchResponse
from kafkalab.protocol.partitions import offsets_partition
from tests.conformance.one_broker import OneBroker

NOT_HERE = Error.NOT_COORDINATOR


def world(leader: str) -> OneBroker:
    one = OneBroker()
    one.image({offsets_partition("g"): leader}, 1)
    one.run_for(10)
    return one


@pytest.mark.parametrize("version", [0, 1, 2, 3, 5])
def test_before_version_3_the_answer_to_leave_group_has_one_error(version: int) -> None:
    gone = LeaveGroup(group_id="g", members=(LeavingMember("m"),))
    response: Any = world("b1").ask(gone, version).response
    unknown = Error.UNKNOWN_MEMBER_ID
    old, new = LeaveGroupResponse(error=unknown), LeaveGroupResponse(errors={"m": unknown})
    assert response == (old if version < 3 else new)


def test_before_version_2_offset_fetch_has_the_groups_error_at_each_partition() -> None:
    asked = OffsetFetch(group_id="g", partitions=("t-0", "t-1"))
    old, new = (world("b2").ask(asked, version).response for version in (1, 2))
    none = {"t-0": -1, "t-1": -1}
    metadata = dict.fromkeys(none, "")
    assert old == OffsetFetchResponse(offsets=none, errors=dict.fromkeys(none, NOT_HERE), metadata=metadata)
    assert new == OffsetFetchResponse(error=NOT_HERE, offsets={}, errors={})
