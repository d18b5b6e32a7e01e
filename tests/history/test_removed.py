"""What became of records that the last leader does not have, and what a poll that lost a partition leaves."""

from __future__ import annotations

from typing import Any

from kafkalab.faults.node import Crash
from kafkalab.faults.storage import Compact, DeleteSegment
from kafkalab.history.export import history_of
from kafkalab.history.schema import Label, Poll, TxnEntry
from kafkalab.protocol.group_record import GroupEntry, MemberEntry
from kafkalab.protocol.records import Batch, Record
from kafkalab.protocol.rules import CLEAN_ELECTION
from kafkalab.run.run import Cast, Run
from kafkalab.sim.cluster import Cluster
from kafkalab.sim.scenario import Program, Scenario
from kafkalab.trace import Frame
from tests.history.traces import Traced


class Logs(Traced):
    """Replicas of out-0, as a trace has them."""

    def append(self, epoch: int, offset: int, *nodes: str) -> None:
        """Each of the nodes appends the record of this leader epoch at this offset."""
        batch = Batch(records=(Record(None, f"{offset}/{epoch}"),)).place(offset, epoch)
        for node in nodes:
            self.note(node, "append", "out-0", batch)

    def truncate(self, node: str, offset: int) -> int:
        return self.note(node, "truncate", "out-0", {"partition": "out-0", "offset": offset})

    def lead(self, node: str, epoch: int) -> None:
        self.note("controller", "state", "metadata", {"leaders": {"out-0": node}, "leader_epochs": {"out-0": epoch}})

    def find_removed(self) -> dict[str, tuple[str, int]]:
        """By value the records that are gone: why, and at which step."""
        rows = history_of(self.trace).log
        assert all(row.value == f"{row.offset}/{row.leader_epoch}" for row in rows)
        return {str(row.value): (row.removed, row.removed_step) for row in rows if row.removed}


def test_what_only_a_deposed_leader_had_is_truncated_when_it_follows() -> None:
    logs = Logs()
    logs.lead("b1", 1)
    logs.append(1, 0, "b1", "b2")
    logs.append(1, 1, "b1")
    logs.append(1, 2, "b1")
    logs.lead("b2", 2)
    logs.append(2, 1, "b2")
    assert logs.find_removed() == {"1/1": ("truncated", -1), "2/1": ("truncated", -1)}, (
        "no replica has truncated its log"
    )
    first = logs.truncate("b1", 2)
    assert logs.find_removed() == {"1/1": ("truncated", -1), "2/1": ("truncated", first)}
    last = logs.truncate("b1", 1)
    assert logs.find_removed() == {"1/1": ("truncated", last), "2/1": ("truncated", last)}


def test_nothing_is_left_of_what_an_elected_leader_with_an_empty_log_never_had() -> None:
    logs = Logs()
    logs.lead("b1", 1)
    logs.append(1, 0, "b1")
    logs.lead("b2", 2)
    assert logs.find_removed() == {"0/1": ("truncated", -1)}


def test_what_the_last_leader_has_truncated_itself_is_gone() -> None:
    logs = Logs()
    logs.lead("b1", 0)
    for offset in range(3):
        logs.append(0, offset, "b1")
    step = logs.truncate("b1", 1)
    assert logs.find_removed() == {"1/0": ("truncated", step), "2/0": ("truncated", step)}


def test_a_replica_that_truncates_an_empty_log_changes_no_other() -> None:
    logs = Logs()
    logs.lead("b1", 0)
    logs.append(0, 0, "b1")
    logs.truncate("b3", 0)
    assert logs.find_removed() == {}


def test_a_partition_without_a_leader_is_as_the_node_has_it_that_appended() -> None:
    logs = Logs()
    logs.append(0, 0, "b1")
    logs.append(0, 1, "b1")
    step = logs.truncate("b1", 1)
    assert logs.find_removed() == {"1/0": ("truncated", step)}
    logs.lead("b1", 1)
    logs.lead("", 1)
    assert logs.find_removed() == {"1/0": ("truncated", step)}


def test_a_record_in_whose_place_another_is_was_truncated_whatever_follows() -> None:
    logs = Logs()
    logs.append(0, 0, "b1", "b2", "b3")
    logs.append(0, 1, "b1")
    logs.append(1, 1, "b2", "b3")
    logs.append(2, 2, "b3")
    logs.lead("b3", 2)
    assert logs.find_removed() == {"1/0": ("truncated", -1)}


def test_a_record_is_no_truncated_one_if_the_leader_has_a_later_one_of_its_epoch() -> None:
    logs = Logs()
    for offset in range(3):
        logs.append(0, offset, "b1")
    logs.append(0, 2, "b2")
    logs.lead("b2", 1)
    assert logs.find_removed() == {}, "b2 has read a log that was cleaned"


def test_a_record_is_no_truncated_one_if_the_next_epoch_began_behind_it() -> None:
    logs = Logs()
    logs.append(0, 0, "b1", "b2", "b3")
    logs.append(0, 1, "b1", "b3")
    logs.append(1, 2, "b3", "b2")
    logs.lead("b2", 2)
    assert logs.find_removed() == {}, "b3 had it, and cleaned it away before b2 read its log"


def test_a_record_is_truncated_if_the_next_epoch_began_in_its_place() -> None:
    logs = Logs()
    logs.append(0, 0, "b1", "b2", "b3")
    logs.append(0, 1, "b1")
    logs.append(1, 1, "b3")
    logs.append(1, 2, "b3", "b2")
    logs.lead("b2", 2)
    assert logs.find_removed() == {"1/0": ("truncated", -1)}, "b3 had another record there, and cleaned that away"


def test_what_is_gone_from_the_log_of_a_cluster_was_deleted_below_its_start_and_compacted_behind_it() -> None:
    steps: list[list[Any]] = []
    for key in "abccd":
        steps += [["send", "out", "x", key, 0], ["flush"]]
    scenario = Scenario(topics={"out": 1}, programs=(Program("p", "operations", {"steps": steps}),))
    whole = Cluster(scenario).run()
    third = min(e.step for e in whole.of("append", "out-0") if e.data.base_offset == 2)
    deleted = scenario.with_faults(DeleteSegment("out-0", at_step=third - 1))
    cluster = Cluster(deleted.with_faults(Compact("out-0", at_step=Cluster(deleted).run().steps - 1)))
    cluster.run()
    assert [(r.offset, r.record_key, r.removed, r.removed_step) for r in history_of(cluster).log] == [
        (0, "a", "deleted", -1), (1, "b", "deleted", -1), (2, "c", "compacted", -1), (3, "c", "", -1), (4, "d", "", -1)
    ]  # fmt: skip
    assert {r.removed for r in history_of(cluster.trace).log} == {""}, "only the cluster knows"


def test_a_tombstone_of_the_transaction_log_is_an_entry_of_a_dead_transaction() -> None:
    logs = Logs()
    batch = Batch(records=(Record("t", None),)).place(7, 2)
    logs.note("b1", "append", "__transaction_state-3", batch)
    assert history_of(logs.trace).transactions == (
        TxnEntry(
            state="Dead", key="__transaction_state-3", offset=7, transactional_id="t", coordinator_epoch=2, node="b1",
            step=0, at_ms=0,
        ),
    )  # fmt: skip


def test_a_record_names_the_frame_that_led_to_it_and_its_own_key() -> None:
    logs = Logs()
    request = logs.arrive(Frame("Produce#1", "Produce", "request", "p", "b1", "transaction", None, 11, 1))
    other = logs.note("b1", "timer", "expiry", None, frame="Produce#1")
    for step, key, cause in ((2, "a/", request), (3, "b", other), (4, "c", -1)):
        batch = Batch(records=(Record(key, "x"),)).place(step, 0)
        assert logs.note("b1", "append", "out-0", batch, cause) == step
    logs.arrive(Frame("Produce#2", "Produce", "request", "p", "b1", "transaction", None, 11, 2))
    rows = history_of(logs.trace).log
    assert [(r.record_key, r.frame) for r in rows] == [("a/", "Produce#1"), ("b", ""), ("c", "")]


def test_the_tombstone_of_a_group_has_no_key_and_that_of_an_offset_has() -> None:
    logs = Logs()
    records = tuple(Record(key, None) for key in ("g/", "g/in-0", None))
    logs.note("b1", "append", "__consumer_offsets-1", Batch(records=records).place(0, 0))
    assert [r.record_key for r in history_of(logs.trace).log] == [None, "g/in-0", None]


def test_a_group_in_the_offsets_topic_is_told_by_its_generation_and_members() -> None:
    logs = Logs()
    same: dict[str, Any] = {"protocol_type": "consumer", "protocol": "range", "leader": "", "group": "g"}
    member: dict[str, Any] = {"client_id": "c", "session_timeout_ms": 1, "rebalance_timeout_ms": 1}
    for generation, names in ((3, ("m1", "m2")), (4, ())):
        members = tuple(MemberEntry(member_id=m, subscription=(), assignment=(), **member) for m in names)
        entry = GroupEntry(generation=generation, current_state_timestamp_ms=0, members=members, **same)
        batch = Batch(records=(Record("g/", entry),))
        logs.note("b1", "append", "__consumer_offsets-1", batch.place(generation, 0))
    assert [(r.record_key, r.value) for r in history_of(logs.trace).log] == [
        (None, "group g, generation 3: m1, m2"),
        (None, "group g, generation 4: nobody"),
    ]


def test_labels_say_what_the_run_was_made_of() -> None:
    logs = Logs()
    logs.trace.title = "by hand"
    assert history_of(logs.trace).labels == (Label("title", "by hand"),)
    scenario = Scenario(
        title="t", seed=7, rules_off=(CLEAN_ELECTION.name,), faults=(Crash("b1", at_step=5),),
        config={"min_insync_replicas": 1},
    )  # fmt: skip
    cluster = Cluster(scenario)
    cluster.run_for(50)
    assert history_of(cluster).labels == (
        Label("title", "t"), Label("profile", "4.x/TV2"), Label("seed", "7"), Label("rule off", CLEAN_ELECTION.name),
        Label("fault", repr(scenario.faults[0])), Label("config", "min_insync_replicas=1"), Label("end_ms", "50"),
    )  # fmt: skip


def test_a_poll_that_lost_a_partition_does_not_know_its_position() -> None:
    logs = Logs()
    data = {"records": [], "consumer": "c", "group_id": "g", "isolation_level": "read_committed"}
    logs.note("app", "complete", "poll", {**data, "from": {"in-0": 3, "in-1": 4}, "to": {"in-1": 5}, "moved": {}})
    same: dict[str, Any] = {"consumer": "c", "process": "app", "group": "g", "isolation_level": "read_committed"}
    same |= {"poll": 1, "moved": "", "step": 0}
    assert history_of(logs.trace).polls == (
        Poll(key="in-0", start=3, end=-1, **same),
        Poll(key="in-1", start=4, end=5, **same),
    )


def test_a_leader_is_a_row_when_it_changes_and_a_watermark_says_who_led() -> None:
    logs = Logs()
    marks = {"partition": "out-0", "high_watermark": 3, "last_stable_offset": 2}
    logs.note("b1", "state", "watermark", marks)
    for node, epoch in (("b1", 0), ("b1", 0), ("b1", 1), ("b2", 1)):
        logs.lead(node, epoch)
    logs.note("b2", "state", "watermark", marks)
    logs.note("b1", "state", "watermark", marks)
    found = history_of(logs.trace)
    assert [(r.leader, r.leader_epoch, r.step) for r in found.leaders] == [("b1", 0, 1), ("b1", 1, 3), ("b2", 1, 4)]
    assert [(r.node, r.leads, r.leader_epoch) for r in found.watermarks] == [
        ("b1", False, -1), ("b2", True, 1), ("b1", False, 1)
    ]  # fmt: skip


def test_records_are_in_the_order_of_keys_then_of_appending() -> None:
    logs = Logs()
    for key, offset in (("b-0", 1), ("a-0", 5), ("a-0", 3), ("b-0", 0)):
        logs.note("b1", "append", key, Batch(records=(Record(None, "x"),)).place(offset, 0))
    assert [(r.key, r.offset) for r in history_of(logs.trace).log] == [("a-0", 5), ("a-0", 3), ("b-0", 1), ("b-0", 0)]


def test_a_recording_has_the_history_of_its_trace() -> None:
    logs = Logs()
    logs.trace.title = "recorded"
    logs.append(0, 0, "b1")
    recording = Run(trace=logs.trace, cast=Cast(nodes=("p", "b1"), brokers=("b1",)))
    assert history_of(recording) == history_of(logs.trace)
    assert history_of(recording).labels == (Label("title", "recorded"),)
