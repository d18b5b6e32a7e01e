"""What operations a trace holds: which frames are one, what each knows, and how it ended."""

from __future__ import annotations

from typing import Any

import pytest

from kafkalab.history.operations import operations_of
from kafkalab.history.schema import Operation
from kafkalab.protocol.errors import Error
from kafkalab.protocol.messages.end_txn import EndTxn, EndTxnResponse
from kafkalab.protocol.messages.heartbeat import Heartbeat, HeartbeatResponse
from kafkalab.protocol.messages.init_producer_id import InitProducerId, InitProducerIdResponse
from kafkalab.protocol.messages.offset_commit import OffsetCommit, OffsetCommitResponse
from kafkalab.protocol.messages.produce import PartitionProduced, Produce, ProduceResponse
from kafkalab.protocol.messages.txn_offset_commit import TxnOffsetCommit, TxnOffsetCommitResponse
from kafkalab.protocol.records import Batch, Record
from kafkalab.trace import Frame, Trace
from tests.history.traces import Traced


class Client(Traced):
    """The frames and calls of one client."""

    def call(self, name: str, outcome: str = "ok", error: str = "NONE", tid: str = "t") -> None:
        """A call of the library, and its end unless `outcome` is empty."""
        self.note("p", "invoke", name, {"transactional_id": tid})
        if outcome:
            self.note("p", "complete", name, {"outcome": outcome, "error": error})

    def produce(self, *records: Record | str, tid: str | None = None, sender: str = "p", **given: Any) -> Frame:
        """Send a batch to out-0."""
        rows = tuple(r if isinstance(r, Record) else Record(None, r) for r in records)
        numbers = {"producer_id": 5, "producer_epoch": 1, "base_sequence": 0, **given}
        batch = Batch(records=rows, transactional=tid is not None, **numbers)
        return self.request(sender, Produce(transactional_id=tid, acks=-1, timeout_ms=1, batches={"out-0": batch}))

    def answer(self, frame: Frame, error: Error = Error.NONE, base_offset: int = -1) -> int:
        """Answer a batch."""
        part = PartitionProduced(error=error, base_offset=base_offset)
        return self.arrive(self.response(frame, ProduceResponse(partitions={"out-0": part})))

    def end(self, tid: str, committed: bool, error: Error = Error.NONE) -> None:
        body = EndTxn(transactional_id=tid, producer_id=5, producer_epoch=1, committed=committed)
        self.ask("p", body, EndTxnResponse(error=error))

    @property
    def ended(self) -> list[Operation]:
        found = operations_of(self.trace)
        assert [o.index for o in found] == list(range(len(found)))
        for o in found:
            assert (o.type == "invoke") == (o.invocation == -1)
            assert o.type == "invoke" or found[o.invocation].type == "invoke"
        return [o for o in found if o.type != "invoke"]


def test_a_trace_without_events_has_no_operations() -> None:
    assert operations_of(Trace()) == ()


# calls of the library


def test_calls_are_numbered_by_the_transaction_in_which_they_are() -> None:
    c = Client()
    c.call("init_transactions")
    c.call("abort_transaction", "fail", "ILLEGAL_STATE")
    for call in ("commit_transaction", "abort_transaction"):
        c.note("p", "invoke", "begin_transaction", {"transactional_id": "t"})
        c.note("p", "complete", "begin_transaction", {"outcome": "ok", "error": "NONE"})
        c.call(call)
    c.call("init_transactions", "fail", "TIMEOUT")
    c.call("commit_transaction", "")
    c.call("no_such_call")
    assert [(o.function, o.type, o.error, o.transaction) for o in c.ended] == [
        ("init", "ok", "NONE", -1),
        ("abort", "fail", "ILLEGAL_STATE", -1),
        ("begin", "ok", "NONE", 1),
        ("commit", "ok", "NONE", 1),
        ("begin", "ok", "NONE", 2),
        ("abort", "ok", "NONE", 2),
        ("init", "fail", "TIMEOUT", -1),
        ("commit", "info", "NONE", 2),
    ]
    assert all((o.process, o.client, o.transactional_id) == ("p", "p/t", "t") for o in c.ended)


def test_an_operation_begins_with_its_call_and_ends_with_its_completion() -> None:
    c = Client()
    c.call("init_transactions")
    same: dict[str, Any] = {"process": "p", "client": "p/t", "function": "init", "transactional_id": "t"}
    assert operations_of(c.trace) == (
        Operation(index=0, type="invoke", step=0, at_ms=0, **same),
        Operation(index=1, type="ok", invocation=0, error="NONE", step=1, at_ms=10, **same),
    )


def test_what_has_not_ended_ends_in_info_with_the_trace() -> None:
    c = Client()
    c.call("init_transactions", "")
    c.produce("x")
    c.request("q", OffsetCommit(group_id="g", offsets={"in-0": 3}))
    c.note("b1", "state", "transaction", {})
    assert [(o.function, o.type, o.error, o.offset, o.step, o.at_ms) for o in c.ended] == [
        ("init", "info", "NONE", -1, 3, 30),
        ("send", "info", "NONE", -1, 3, 30),
        ("offsets", "info", "NONE", 3, 3, 30),
    ]


def test_a_poll_is_an_operation_and_so_is_what_moved_a_position_before_it() -> None:
    c = Client()
    data = {"consumer": "c", "from": {"in-0": 4, "in-1": 0}, "moved": {"in-0": "seek"}}
    c.note("p", "complete", "poll", data)
    found = [(o.function, o.type, o.client, o.key, o.offset, o.error) for o in operations_of(c.trace)]
    assert found == [
        ("seek", "invoke", "c", "in-0", 4, ""),
        ("seek", "ok", "c", "in-0", 4, "NONE"),
        ("poll", "invoke", "c", "", -1, ""),
        ("poll", "ok", "c", "", -1, "NONE"),
    ]


# sends


def test_each_record_of_a_batch_is_a_send() -> None:
    c = Client()
    headers = (("a", b"1"),)
    frame = c.produce("x", Record("k", None, headers), Record(None, 7), base_sequence=3)
    c.answer(frame, base_offset=40)
    same: dict[str, Any] = {
        "process": "p", "client": "p/5", "function": "send", "producer_id": 5, "producer_epoch": 1, "key": "out-0"
    }  # fmt: skip
    first, *_ = found = operations_of(c.trace)
    assert first == Operation(index=0, type="invoke", sequence=3, value="x", step=0, at_ms=0, **same)
    assert found[3:] == tuple(
        Operation(
            index=3 + i, type="ok", invocation=i, sequence=3 + i, offset=40 + i, value=value, error="NONE", step=2,
            at_ms=20, headers=("a=1",) if i == 1 else (), **same,
        )
        for i, value in enumerate(("x", None, "7"))
    )  # fmt: skip


def test_the_librarys_record_is_one_send_under_whatever_numbers_it_goes_out() -> None:
    c = Client()
    c.note("p", "state", "producer", {})
    record = Record(None, "x")
    c.produce(record)
    c.produce(Record(None, "x"))
    again = c.produce(record, producer_id=6, producer_epoch=2, base_sequence=9)
    c.answer(again, base_offset=6)
    sends = [(o.type, o.producer_id, o.producer_epoch, o.sequence, o.offset) for o in c.ended]
    assert sends == [("ok", 6, 2, 9, 6), ("info", 5, 1, 0, -1)]
    first = operations_of(c.trace)[0]
    assert (first.producer_id, first.producer_epoch, first.sequence) == (5, 1, 0)


def test_a_client_whose_only_library_is_the_consumer_sends_by_hand() -> None:
    c = Client()
    c.note("p", "state", "member", {})
    c.produce("x")
    c.answer(c.produce("x"), base_offset=6)
    assert [(o.type, o.value, o.offset) for o in c.ended] == [("ok", "x", 6)]


@pytest.mark.parametrize(
    "change", [{"producer_id": 6}, {"producer_epoch": 2}, {"base_sequence": 1}, {"sender": "q"}, {"tid": "t"}, "value"]
)
def test_by_hand_a_batch_under_the_same_numbers_is_the_same_send(change: Any) -> None:
    c = Client()
    c.produce("x", timestamp_ms=1, producer_id=0)
    c.produce("x", timestamp_ms=2, producer_id=0)
    assert len(c.ended) == 1
    if change == "value":
        c.produce("y", producer_id=0)
    else:
        c.produce("x", **{"producer_id": 0, **change})
    assert len(c.ended) == 2


def test_a_batch_without_a_producer_id_is_the_same_send_while_its_time_is_the_same() -> None:
    c = Client()
    none: dict[str, Any] = {"producer_id": -1, "producer_epoch": -1, "base_sequence": -1}
    for time in (1, 1, 2):
        c.produce("x", "x", timestamp_ms=time, **none)
    assert [(o.value, o.client, o.sequence, o.transaction) for o in c.ended] == [("x", "p/-1", -1, -1)] * 4


def test_a_transaction_by_hand_begins_with_the_first_request_after_its_end() -> None:
    c = Client()
    c.ask("p", InitProducerId(transactional_id="t"), InitProducerIdResponse(producer_id=5, producer_epoch=1))
    c.produce("a", tid="t")
    c.produce("b", tid="t", base_sequence=1)
    c.end("t", committed=True)
    c.produce("c", tid="t", base_sequence=2)
    c.ask("p", InitProducerId(transactional_id="t"), InitProducerIdResponse(error=Error.INVALID_PRODUCER_EPOCH))
    c.produce("d", tid="t")
    c.end("t", committed=False, error=Error.PRODUCER_FENCED)
    c.produce("e")
    found = sorted(c.ended, key=lambda o: o.invocation)
    assert [(o.function, o.type, o.value, o.transaction, o.error) for o in found] == [
        ("init", "ok", None, -1, "NONE"),
        ("send", "info", "a", 1, "NONE"),
        ("send", "info", "b", 1, "NONE"),
        ("commit", "ok", None, 1, "NONE"),
        ("send", "info", "c", 2, "NONE"),
        ("init", "fail", None, -1, "INVALID_PRODUCER_EPOCH"),
        ("send", "info", "d", 3, "NONE"),
        ("abort", "fail", None, 3, "PRODUCER_FENCED"),
        ("send", "info", "e", -1, "NONE"),
    ]
    init, commit = found[0], found[3]
    assert (init.client, init.transactional_id, init.producer_id, init.producer_epoch) == ("p/t", "t", -1, -1)
    assert (commit.client, commit.transactional_id, commit.producer_id, commit.producer_epoch) == ("p/t", "t", 5, 1)
    assert (commit.key, commit.offset, commit.step, commit.at_ms) == ("", -1, 9, 90)


def test_what_the_library_asks_for_itself_is_no_operation_but_offsets_are() -> None:
    c = Client()
    c.call("init_transactions", tid="t")
    c.ask("p", InitProducerId(transactional_id="t"), InitProducerIdResponse())
    c.end("t", committed=True)
    body = TxnOffsetCommit(
        transactional_id="t", group_id="g", producer_id=5, producer_epoch=1, offsets={"in-0": 3, "in-1": 4}
    )
    errors = {"in-0": Error.NONE, "in-1": Error.ILLEGAL_GENERATION}
    c.ask("p", body, TxnOffsetCommitResponse(errors=errors))
    c.ask("b1", InitProducerId(transactional_id="other"), InitProducerIdResponse())
    c.ask("p", Heartbeat(group_id="g", generation_id=1, member_id="m"), HeartbeatResponse())
    assert [(o.function, o.type, o.key, o.offset, o.value, o.error, o.client) for o in c.ended] == [
        ("init", "ok", "", -1, None, "NONE", "p/t"),
        ("offsets", "ok", "in-0", 3, "g", "NONE", "p/t"),
        ("offsets", "fail", "in-1", 4, "g", "ILLEGAL_GENERATION", "p/t"),
    ]


def test_offsets_that_a_consumer_commits_belong_to_no_transaction() -> None:
    c = Client()
    c.ask("p", OffsetCommit(group_id="g", offsets={"in-0": 3}), OffsetCommitResponse(errors={"in-0": Error.NONE}))
    (row,) = c.ended
    assert (row.client, row.transactional_id, row.producer_id, row.producer_epoch) == ("p", None, -1, -1)
    assert (row.transaction, row.key, row.offset, row.value) == (-1, "in-0", 3, "g")


# how they end


@pytest.mark.parametrize(
    ("error", "type_"),
    [
        (Error.NONE, "ok"),
        (Error.DUPLICATE_SEQUENCE_NUMBER, "ok"),
        (Error.REQUEST_TIMED_OUT, "info"),
        (Error.NOT_LEADER_OR_FOLLOWER, "info"),
        (Error.INVALID_TXN_STATE, "fail"),
    ],
)
def test_a_send_is_uncertain_after_an_error_that_does_not_say_what_the_log_has(error: Error, type_: str) -> None:
    c = Client()
    c.answer(c.produce("x", "y"), error)
    assert [(o.type, o.error, o.offset, o.step) for o in c.ended] == [(type_, error.name, -1, 2)] * 2


def test_a_send_that_was_uncertain_once_stays_so_until_it_succeeds() -> None:
    c = Client()
    c.answer(c.produce("x"), Error.REQUEST_TIMED_OUT)
    c.answer(c.produce("x"), Error.INVALID_TXN_STATE)
    assert [(o.type, o.error) for o in c.ended] == [("info", "INVALID_TXN_STATE")]
    c.answer(c.produce("x"), Error.NONE, 3)
    c.answer(c.produce("x"), Error.INVALID_TXN_STATE)
    assert [(o.type, o.error, o.offset) for o in c.ended] == [("ok", "NONE", 3)]


def test_a_send_fails_for_certain_only_if_all_its_requests_were_answered() -> None:
    c = Client()
    lost = c.produce("x")
    c.answer(c.produce("x"), Error.INVALID_TXN_STATE)
    assert [(o.type, o.error, o.step) for o in c.ended] == [("info", "INVALID_TXN_STATE", 3)]
    c.answer(lost, Error.INVALID_TXN_STATE)
    assert [(o.type, o.error) for o in c.ended] == [("fail", "INVALID_TXN_STATE")]


@pytest.mark.parametrize(("error", "type_"), [(Error.NOT_COORDINATOR, "info"), (Error.ILLEGAL_GENERATION, "fail")])
def test_committed_offsets_are_uncertain_if_their_append_may_have_happened(error: Error, type_: str) -> None:
    c = Client()
    body = OffsetCommit(group_id="g", offsets={"in-0": 3})
    c.ask("p", body, OffsetCommitResponse(errors={"in-0": error}))
    assert [(o.type, o.error) for o in c.ended] == [(type_, error.name)]


def test_a_record_that_is_acknowledged_already_does_not_keep_the_next_one_of_its_batch_from_it() -> None:
    c = Client()
    c.answer(c.produce("x"), base_offset=4)
    c.answer(c.produce("x", "y"), base_offset=4)
    assert [(o.value, o.type, o.offset) for o in c.ended] == [("x", "ok", 4), ("y", "ok", 5)]


def test_a_response_counts_once_and_only_when_it_has_arrived() -> None:
    c = Client()
    frame = c.produce("x")
    part = {"out-0": PartitionProduced(error=Error.NONE, base_offset=4)}
    c.arrive(c.response(frame, ProduceResponse(partitions=part), copy_of="ProduceResponse#9"))
    c.response(frame, ProduceResponse(partitions=part))
    assert [o.type for o in c.ended] == ["info"]
