"""WriteTxnMarkers at the leader: what is appended, what is refused and how, and when the answer is given."""

from __future__ import annotations

from typing import Any

import pytest

from kafkalab.protocol.errors import Error
from kafkalab.protocol.messages.txn_offset_commit import TxnOffsetCommit
from kafkalab.protocol.messages.write_txn_markers import TxnMarkers, WriteTxnMarkers
from kafkalab.protocol.partitions import offsets_partition
from kafkalab.protocol.records import ControlType, marker
from kafkalab.protocol.rules import GROUP_LOG_WAITS, MARKER_RETRY, VERIFICATION, Rule
from tests.conformance.one_broker import HOLD, Asked, OneBroker

OFFSETS = offsets_partition("g")


def world(*off: Rule, **config: Any) -> OneBroker:
    return OneBroker(leaders={"t-1": "b1", OFFSETS: "b1"}, off=tuple(r.name for r in (VERIFICATION, *off)), **config)


def entry(*partitions: str, producer_id: int = 7, epoch: int = 0, coordinator: int = 0, **more: Any) -> TxnMarkers:
    return TxnMarkers(
        producer_id=producer_id,
        producer_epoch=epoch,
        coordinator_epoch=coordinator,
        partitions=partitions,
        **{"committed": True, "transaction_version": 2, **more},
    )


def write(here: OneBroker, *entries: TxnMarkers) -> Asked:
    return here.ask(WriteTxnMarkers(markers=entries))


def list_written(here: OneBroker, partition: str = "t-0") -> list[tuple[int, int, ControlType | None, int]]:
    batches = here.state.log(partition).batches
    return [(b.producer_id, b.producer_epoch, b.control, b.coordinator_epoch) for b in batches]


@pytest.mark.parametrize(("committed", "control"), [(True, ControlType.COMMIT), (False, ControlType.ABORT)])
def test_a_marker_says_who_how_and_under_which_coordinator(committed: bool, control: ControlType) -> None:
    here = world()
    asked = write(here, entry("t-0", "t-1", epoch=5, coordinator=3, committed=committed))
    assert asked.response.markers == {7: {"t-0": Error.NONE, "t-1": Error.NONE}}
    assert list_written(here, "t-0") == list_written(here, "t-1") == [(7, 5, control, 3)]


def test_a_marker_with_a_negative_epoch_fails_for_every_partition_known_or_not() -> None:
    asked = write(world(), entry("t-0", "nowhere-0", epoch=-1))
    assert asked.response.markers == {7: dict.fromkeys(("t-0", "nowhere-0"), Error.UNKNOWN_SERVER_ERROR)}


def test_a_marker_without_a_transaction_version_fails_where_it_would_be_appended() -> None:
    here = world()
    asked = write(here, entry("t-0", "t-1", "u-0", transaction_version=-1), entry("t-0", producer_id=8))
    failed = dict.fromkeys(("t-0", "t-1"), Error.UNKNOWN_SERVER_ERROR) | {"u-0": Error.NOT_LEADER_OR_FOLLOWER}
    assert asked.response.markers == {7: failed, 8: {"t-0": Error.NONE}}
    assert list_written(here) == [(8, 0, ControlType.COMMIT, 0)]


@pytest.mark.parametrize(("version", "error"), [
    (-128, Error.NONE), (-2, Error.NONE), (3, Error.INVALID_PRODUCER_EPOCH), (127, Error.INVALID_PRODUCER_EPOCH)
])  # fmt: skip
def test_a_marker_of_a_version_that_there_is_not_is_taken_for_the_nearest(version: int, error: Error) -> None:
    here = world(MARKER_RETRY)
    write(here, entry("t-0", epoch=5))
    asked = write(here, entry("t-0", epoch=5, transaction_version=version))
    assert asked.response.markers == {7: {"t-0": error}}


def test_one_request_ends_many_transactions_and_each_has_its_own_errors() -> None:
    here = world()
    write(here, entry("t-0", producer_id=8, epoch=9))
    asked = write(
        here,
        entry("t-0", "u-0"),
        entry("t-0", "t-1", producer_id=8, epoch=3, committed=False),
        entry("nowhere-0", producer_id=9),
    )
    assert asked.response.markers == {
        7: {"t-0": Error.NONE, "u-0": Error.NOT_LEADER_OR_FOLLOWER},
        8: {"t-0": Error.INVALID_PRODUCER_EPOCH, "t-1": Error.NONE},
        9: {"nowhere-0": Error.UNKNOWN_TOPIC_OR_PARTITION},
    }
    assert list_written(here) == [(8, 9, ControlType.COMMIT, 0), (7, 0, ControlType.COMMIT, 0)]
    assert asked.response.errors["8/t-0"] is Error.INVALID_PRODUCER_EPOCH


def test_each_entry_is_checked_after_the_one_before_it_is_written() -> None:
    here = world()
    asked = write(here, entry("t-0", epoch=5), entry("t-0", epoch=4))
    assert asked.response.markers == {7: {"t-0": Error.INVALID_PRODUCER_EPOCH}}
    assert [epoch for _, epoch, _, _ in list_written(here)] == [5]


@pytest.mark.parametrize("entries", [(), (entry(),), (entry("nowhere-0"),)])
def test_a_request_that_appends_nothing_is_answered_at_once(entries: tuple[TxnMarkers, ...]) -> None:
    asked = write(world(), *entries)
    assert asked.response is not None
    assert [p for errors in asked.response.markers.values() for p in errors] == [
        p for e in entries for p in e.partitions
    ]


def test_the_answer_waits_for_the_last_partition() -> None:
    here = world()
    here.appends["t-1"] = [HOLD]
    asked = write(here, entry("t-0", "t-1"), entry("t-0", producer_id=8))
    assert (asked.response, len(list_written(here))) == (None, 2)
    here.held.pop()(Error.NONE)
    assert set(asked.response.errors.values()) == {Error.NONE}


@pytest.mark.parametrize(
    ("partition", "image", "data", "offsets"),
    [
        ("not hosted", {"replicas": ("b2", "b3")}, "UNKNOWN_TOPIC_OR_PARTITION", "UNKNOWN_TOPIC_OR_PARTITION"),
        ("led by another", {}, "NOT_LEADER_OR_FOLLOWER", "NOT_LEADER_OR_FOLLOWER"),
        ("in too few replicas", {"isr": ("b1",)}, "NOT_ENOUGH_REPLICAS", "REQUEST_TIMED_OUT"),
        ("replicated too slowly", {"isr": ("b1", "b2")}, "REQUEST_TIMED_OUT", "REQUEST_TIMED_OUT"),
    ],
)
@pytest.mark.parametrize("where", ["t-0", OFFSETS])
def test_a_partition_that_cannot_be_written_has_its_error(
    partition: str, image: dict[str, Any], data: str, offsets: str, where: str
) -> None:
    least = 2 if partition == "in too few replicas" else 1
    here = world(min_insync_replicas=least, request_timeout_ms=1_000, offsets_commit_timeout_ms=400)
    leader = "b2" if partition in ("not hosted", "led by another") else "b1"
    here.image({where: leader}, 1, **image)
    asked = write(here, entry(where))
    timed_out = (data if where == "t-0" else offsets) == "REQUEST_TIMED_OUT"
    here.run_for((999 if where == "t-0" else 399) if timed_out else 0)
    assert (asked.response is None) == timed_out
    here.run_for(1)
    assert asked.response.markers[7][where] is Error[data if where == "t-0" else offsets]


FAILURES = ("NOT_ENOUGH_REPLICAS_AFTER_APPEND", "NOT_LEADER_OR_FOLLOWER", "KAFKA_STORAGE_ERROR", "INVALID_RECORD")


@pytest.mark.parametrize("error", FAILURES)
@pytest.mark.parametrize("where", ["t-0", OFFSETS])
def test_an_append_that_fails_keeps_its_error(where: str, error: str) -> None:
    here = world()
    here.appends[where] = [Error[error]]
    assert write(here, entry(where)).response.markers[7][where] is Error[error]


def test_a_marker_in_too_few_replicas_is_in_the_groups_log_and_ends_the_transaction_once_replicated() -> None:
    here = world(min_insync_replicas=2, offsets_commit_timeout_ms=400)
    here.image({OFFSETS: "b1"}, 1, isr=("b1",))
    here.run_for(5)
    asked = write(here, entry(OFFSETS))
    here.run_for(400)
    assert asked.response.markers == {7: {OFFSETS: Error.REQUEST_TIMED_OUT}}
    log = here.state.log(OFFSETS)
    assert (log.high_watermark, log.log_end_offset) == (0, 1)
    here.image({OFFSETS: "b1"}, 1, replicas=("b1",), isr=("b1",))
    assert log.high_watermark == 1


def test_before_4_0_a_groups_marker_needs_enough_replicas_as_any_other() -> None:
    here = world(GROUP_LOG_WAITS, min_insync_replicas=2)
    here.image({OFFSETS: "b1"}, 1, isr=("b1",))
    here.run_for(5)
    assert write(here, entry(OFFSETS)).response.markers == {7: {OFFSETS: Error.NOT_ENOUGH_REPLICAS}}


def test_group_offsets_that_are_being_loaded_have_no_leader_yet() -> None:
    here = world()
    write(here, entry(OFFSETS))
    here.image({OFFSETS: "b1"}, 1)
    assert write(here, entry(OFFSETS, epoch=1)).response.markers == {7: {OFFSETS: Error.NOT_LEADER_OR_FOLLOWER}}
    here.run_for(5)
    assert write(here, entry(OFFSETS, epoch=1)).response.markers == {7: {OFFSETS: Error.NONE}}


@pytest.mark.parametrize(
    ("epoch", "coordinator", "version", "error"),
    [
        (4, 9, 0, "INVALID_PRODUCER_EPOCH"),
        (5, 9, 0, "NONE"),
        (6, 2, 0, "TRANSACTION_COORDINATOR_FENCED"),
        (6, 3, 0, "NONE"),
        (4, 9, 2, "INVALID_PRODUCER_EPOCH"),
        (5, 9, 2, "NONE"),
        (4, 2, 2, "INVALID_PRODUCER_EPOCH"),
        (6, 2, 2, "TRANSACTION_COORDINATOR_FENCED"),
    ],
)
def test_the_producer_epoch_is_compared_first_and_then_the_coordinator_epoch(
    epoch: int, coordinator: int, version: int, error: str
) -> None:
    here = world()
    write(here, entry("t-0", epoch=5, coordinator=3))
    asked = write(here, entry("t-0", epoch=epoch, coordinator=coordinator, transaction_version=version))
    assert asked.response.markers == {7: {"t-0": Error[error]}}


def test_too_few_replicas_come_before_an_old_epoch() -> None:
    here = world(min_insync_replicas=2)
    here.image({"t-0": "b1"}, 1, isr=("b1", "b2"))
    here.state.log("t-0").append(marker(7, 5, ControlType.COMMIT, 0, 0), 1)
    assert write(here, entry("t-0", epoch=4)).response.markers == {7: {"t-0": Error.INVALID_PRODUCER_EPOCH}}
    here.image({"t-0": "b1"}, 2, isr=("b1",))
    assert write(here, entry("t-0", epoch=4)).response.markers == {7: {"t-0": Error.NOT_ENOUGH_REPLICAS}}


class Watched(OneBroker):
    """Notes what the group's committed offsets are in the moment of each response."""

    def respond(self, request: Any, body: Any, cause: int) -> None:
        super().respond(request, body, cause)
        offsets = self.state.offsets.get(OFFSETS)
        self.seen = dict(offsets.committed) if offsets else {}


@pytest.mark.parametrize("committed", [True, False])
def test_group_offsets_are_visible_or_gone_when_the_answer_is_given(committed: bool) -> None:
    here = Watched(leaders={OFFSETS: "b1"}, off=(VERIFICATION.name,))
    commit = TxnOffsetCommit(transactional_id="a", group_id="g", producer_id=7, producer_epoch=0, offsets={"t-0": 5})
    assert here.ask(commit, 4).response.errors == {"t-0": Error.NONE}
    assert here.seen == {}
    assert write(here, entry(OFFSETS, epoch=1, committed=committed)).response.markers == {7: {OFFSETS: Error.NONE}}
    assert {key: stored.offset for key, stored in here.seen.items()} == ({("g", "t-0"): 5} if committed else {})
