"""OffsetFetch and the high watermark of `__consumer_offsets` (`GroupCoordinatorService.fetchOffsets`)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from kafkalab.log.group_offsets import group_key
from kafkalab.protocol.errors import Error
from kafkalab.protocol.messages.offset_commit import OffsetCommit
from kafkalab.protocol.messages.offset_fetch import OffsetFetch
from kafkalab.protocol.messages.txn_offset_commit import TxnOffsetCommit
from kafkalab.protocol.messages.write_txn_markers import TxnMarkers, WriteTxnMarkers
from kafkalab.protocol.partitions import offsets_partition
from kafkalab.protocol.records import Batch, Record
from kafkalab.protocol.rules import VERIFICATION
from tests.conformance.one_broker import Asked, OneBroker

OFFSETS = offsets_partition("g")


def world() -> OneBroker:
    """b1 coordinates the group; of its log b2 has the offset 3 of t-0, and nothing that comes after it."""
    one = OneBroker(leaders={OFFSETS: "b1"}, off=(VERIFICATION.name,))
    one.ask(OffsetCommit(group_id="g", offsets={"t-0": 3}))
    one.image({OFFSETS: "b1"}, isr=("b1", "b2"))
    return one


def fetch(one: OneBroker, stable: bool = True) -> Asked:
    return one.ask(OffsetFetch(group_id="g", partitions=("t-0",), require_stable=stable))


def in_transaction(one: OneBroker) -> None:
    own: dict[str, Any] = {"producer_id": 7, "producer_epoch": 0, "group_id": "g"}
    one.ask(TxnOffsetCommit(transactional_id="a", offsets={"t-0": 9}, **own), version=3)


def replicate(one: OneBroker) -> None:
    """All that b1 has is below the high watermark."""
    one.image({OFFSETS: "b1"}, isr=("b1",))
    one.image({OFFSETS: "b1"}, isr=("b1", "b2"))


def test_a_reader_of_stable_offsets_sees_a_transactional_commit_as_soon_as_it_is_appended() -> None:
    one = world()
    in_transaction(one)
    asked, plain = fetch(one), fetch(one, stable=False)
    assert plain.response.offsets == {"t-0": 3}
    assert not asked.answered, "the commit is not replicated yet"
    replicate(one)
    assert asked.response.errors == {"t-0": Error.UNSTABLE_OFFSET_COMMIT}


@pytest.mark.parametrize(("committed", "offset"), [(True, 9), (False, 3)])
def test_what_a_marker_decided_is_answered_once_the_marker_is_replicated(committed: bool, offset: int) -> None:
    one = world()
    in_transaction(one)
    entry = TxnMarkers(
        producer_id=7,
        producer_epoch=0,
        coordinator_epoch=0,
        committed=committed,
        partitions=(OFFSETS,),
        transaction_version=0,
    )
    one.ask(WriteTxnMarkers(markers=(entry,)))
    asked = fetch(one)
    assert not asked.answered
    replicate(one)
    assert (asked.response.offsets, asked.response.errors) == ({"t-0": offset}, {"t-0": Error.NONE})


def test_with_nothing_in_the_air_the_answer_comes_at_once() -> None:
    assert fetch(world()).response.offsets == {"t-0": 3}


def test_later_commits_are_not_waited_for() -> None:
    one = world()
    in_transaction(one)
    asked = fetch(one)
    one.ask(OffsetCommit(group_id="g", offsets={"t-0": 4}))
    one.state.log(OFFSETS).advance(2)
    one.broker.watermark_moved(OFFSETS, 1, -1)
    assert asked.response.errors == {"t-0": Error.UNSTABLE_OFFSET_COMMIT}


def test_after_offsets_commit_timeout_ms_the_reader_looks_for_another_coordinator() -> None:
    one = world()
    in_transaction(one)
    asked = fetch(one)
    one.run_for(4_999)
    assert not asked.answered
    one.run_for(1)
    assert (asked.response.error, asked.response.offsets) == (Error.NOT_COORDINATOR, {})


def test_a_coordinator_that_resigns_sends_the_reader_away() -> None:
    one = world()
    in_transaction(one)
    asked = fetch(one)
    one.image({OFFSETS: "b2"}, 1)
    assert asked.response.error is Error.NOT_COORDINATOR


@pytest.mark.parametrize("stable", [True, False])
def test_a_group_that_does_not_exist_has_no_offsets(stable: bool) -> None:
    """The log has the group's tombstone, and after it none for its offsets."""
    one = world()
    in_transaction(one)
    replicate(one)
    tombstone = Batch(records=(Record(group_key("g"), None),))
    for known in (one.state.offsets[OFFSETS], one.state.newest_offsets[OFFSETS]):
        known.apply(replace(tombstone, base_offset=9))
    asked = fetch(one, stable)
    assert (asked.response.offsets, asked.response.errors) == ({"t-0": -1}, {"t-0": Error.NONE})
    of_all = one.ask(OffsetFetch(group_id="g", partitions=None, require_stable=stable))
    assert of_all.response.offsets == {}
