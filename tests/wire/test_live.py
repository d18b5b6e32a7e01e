"""The simulator's cluster in real time: the clock, lost frames, and what does not pile up."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from kafkalab.faults.fault import Fault
from kafkalab.faults.frame import Delay, Drop, Duplicate, Hold, Late, Release
from kafkalab.faults.node import Crash, Restart
from kafkalab.protocol import batch_bytes
from kafkalab.protocol.errors import Error
from kafkalab.protocol.messages.end_txn import EndTxn
from kafkalab.protocol.messages.init_producer_id import InitProducerId
from kafkalab.protocol.messages.list_offsets import LATEST, ListOffsets
from kafkalab.protocol.messages.metadata import Metadata
from kafkalab.protocol.messages.produce import Produce
from kafkalab.protocol.partitions import transaction_partition
from kafkalab.protocol.records import Batch, Record
from kafkalab.sim.kernel.kernel import Kernel
from kafkalab.wire.live import RealTime, fault_of, scenario_of

Make = Callable[..., RealTime]
SENT = batch_bytes.decode(batch_bytes.encode(Batch(records=(Record("k", "v"),))))


@pytest.fixture
def live() -> Iterator[Callable[..., RealTime]]:
    """Make clusters, with faults in words, that stop when the test ends."""
    made: list[RealTime] = []

    def make(*faults: str, level: int = 2) -> RealTime:
        made.append(RealTime(scenario_of(level, 3, {"t": 1}, {})))
        for fault in faults:
            made[-1].strike(fault_of(fault))
        return made[-1]

    yield make
    for cluster in made:
        cluster.stop()


def ask(cluster: RealTime, broker: str, body: object, version: int) -> object:
    """Ask as a client; all that the answer needs happens without waiting."""
    answers: list[object] = []
    cluster.ask(cluster.client("c"), broker, body, version, answers.append)
    cluster.kernel.catch_up(cluster.now_ms + 5)
    (answer,) = answers
    return answer


def test_the_clock_follows_another_one_and_never_goes_back() -> None:
    kernel, done = Kernel(False, "a test"), []
    kernel.add_node("a")
    for delay_ms in (20, 5, 2):
        kernel.timer("a", delay_ms, lambda delay_ms=delay_ms: done.append(delay_ms))  # type: ignore[misc]
    kernel.catch_up(10)
    assert (done, kernel.now, kernel.schedule.next_ms) == ([2, 5], 10, 20)
    kernel.catch_up(3)
    assert kernel.now == 10
    kernel.catch_up(20)
    assert (done, kernel.schedule.next_ms) == ([2, 5, 20], -1)


@pytest.mark.parametrize("level", [1, 2])
def test_the_cluster_level_is_the_finalized_feature(level: int, live: Make) -> None:
    assert live(level=level).cluster.brokers["b1"].state.transaction_version == level


def test_an_answer_comes_without_latency_and_a_lost_one_breaks_the_connection(live: Make) -> None:
    cluster = live("Drop:InitProducerIdResponse#1")
    broker = cluster.cluster.controller.metadata.leader(transaction_partition("pay"))
    request = InitProducerId(transactional_id="pay")
    assert ask(cluster, broker, request, 4) is None
    second = ask(cluster, broker, request, 4)
    assert (second.error, second.producer_epoch) == (Error.NONE, 1)  # type: ignore[attr-defined]


def test_a_doubled_request_is_answered_once(live: Make) -> None:
    cluster = live("Duplicate:InitProducerId#1")
    broker = cluster.cluster.controller.metadata.leader(transaction_partition("pay"))
    assert ask(cluster, broker, InitProducerId(transactional_id="pay"), 4).error is Error.NONE  # type: ignore[attr-defined]
    refused = EndTxn(transactional_id="pay", producer_id=0, producer_epoch=0, committed=True)
    assert ask(cluster, broker, refused, 4).error is not Error.NONE  # type: ignore[attr-defined]


def test_a_thousand_requests_leave_nothing_behind(live: Make) -> None:
    cluster = live()
    leader = cluster.cluster.controller.metadata.leader("t-0")
    client = cluster.client("c")
    produce = Produce(transactional_id=None, acks=0, timeout_ms=100, batches={"t-0": SENT})
    before = len(cluster.network._outstanding)
    for _ in range(500):
        cluster.ask(client, leader, produce, 9, None)
        ask(cluster, leader, ListOffsets(partitions=("t-0",), timestamp=LATEST), 7)
    assert len(cluster.network._outstanding) <= before + 2
    assert not any(key[0] == "c" for key in cluster.network._timeouts)


def test_a_client_that_has_a_brokers_name_is_another_node(live: Make) -> None:
    cluster = live()
    assert [cluster.client(name) for name in ("b1", "controller", "", "app")] == [
        "client b1", "client controller", "client ", "app",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("Drop:EndTxnResponse#1", Drop("EndTxnResponse#1")),
        ("Duplicate:Produce#2", Duplicate("Produce#2")),
        ("Delay:EndTxn#1:500", Delay("EndTxn#1", 500)),
        ("Crash:b2:3000", Crash("b2", at_ms=3000)),
        ("Restart:b2", Restart("b2", at_ms=0)),
        ("Late:TxnOffsetCommit#1:EndTxn#2", Late("TxnOffsetCommit#1", "EndTxn#2")),
        ("Late:my:app:TxnOffsetCommit#1:other:EndTxn#2", Late("my:app:TxnOffsetCommit#1", "other:EndTxn#2")),
        ("Delay:app:EndTxn#1:500", Delay("app:EndTxn#1", 500)),
        ("Hold:app:EndTxn#1", Hold("app:EndTxn#1")),
        ("Release:app:EndTxn#1", Release("app:EndTxn#1", at_ms=0)),
    ],
)
def test_faults_in_words(text: str, fault: object) -> None:
    assert fault_of(text) == fault


@pytest.mark.parametrize("text", ["Drop", "Drop:EndTxn#1:5", "Delay:EndTxn#1", "Crash", "Crash:b1:²", ""])
def test_words_that_are_no_fault(text: str, live: Make) -> None:
    with pytest.raises(ValueError, match=r"a fault is Drop:EndTxnResponse#1|frame"):
        live(text)


def test_a_broker_crashes_and_restarts_at_its_time_and_on_request(live: Make) -> None:
    cluster = live()
    cluster.strike(fault_of("Crash:b2:40"))
    assert cluster.alive("b2")
    cluster.kernel.catch_up(cluster.now_ms + 60)
    assert not cluster.alive("b2")
    cluster.strike(fault_of("Restart:b2:100"))
    cluster.kernel.catch_up(cluster.now_ms + 200)
    assert cluster.alive("b2")
    with pytest.raises(ValueError, match="b7"):
        cluster.strike(fault_of("Crash:b7"))


def test_a_fault_that_comes_too_late_is_refused(live: Make) -> None:
    cluster = live()
    cluster.strike(fault_of("Drop:InitProducerId#2"))
    ask(cluster, "b1", InitProducerId(transactional_id=None, transaction_timeout_ms=1), 4)
    for fault, reason in (("Drop:InitProducerId#1", "has been sent already"), ("Restart:b1", "b1 is not down")):
        with pytest.raises(ValueError, match=reason):
            cluster.strike(fault_of(fault))
    cluster.strike(fault_of("Crash:b1"))
    with pytest.raises(ValueError, match="b1 is down already"):
        cluster.strike(fault_of("Crash:b1"))


def test_a_fault_is_told_when_it_strikes_and_otherwise_at_the_end(live: Make) -> None:
    cluster = live("Drop:InitProducerId#2", "Late:Metadata#1:Metadata#9", "Crash:b2:90000")
    struck: list[Fault] = []
    cluster.watch_faults(struck.append)
    ask(cluster, "b1", InitProducerId(transactional_id=None, transaction_timeout_ms=1), 4)
    cluster.ask(cluster.client("app"), "b1", Metadata(), 9, lambda answer: None)
    cluster.strike(fault_of("Crash:b3"))
    assert struck == [Crash("b3", at_ms=0)]
    never = "unknown: the fault {} never struck: {}"
    assert cluster.unused_faults() == [
        never.format("Drop(frame='InitProducerId#2')", "InitProducerId#2 has not been sent"),
        never.format("Late(frame='Metadata#1', before='Metadata#9')", "Metadata#9 was not sent after it"),
        never.format("Crash('b2', at_ms=90000)", "its time has not come, or it would have changed nothing"),
    ]


def test_a_held_frame_is_released_on_request_under_its_clients_name(live: Make) -> None:
    cluster, answers = live("Hold:app:Metadata#1"), list[str]()
    cluster.ask(cluster.client("other"), "b1", Metadata(), 9, lambda answer: answers.append("other"))
    cluster.ask(cluster.client("app"), "b1", Metadata(), 9, lambda answer: answers.append("app"))
    assert answers == ["other"]
    cluster.strike(fault_of("Release:app:Metadata#1"))
    assert answers == ["other", "app"]
    assert cluster.unused_faults() == []
