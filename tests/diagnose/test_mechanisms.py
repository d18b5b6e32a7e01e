"""Each mechanism: what makes it certain, and that it is not certain, or is not said, without the line that decides."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from kafkalab.diagnose.finding import CERTAIN, LIKELY, UNKNOWN, Finding

Diagnose = Callable[..., list[Finding]]
AT = "2026-11-01 10:00:0{},000 INFO "
CLIENT = "[Producer clientId=p, transactionalId=till-0] "
FENCED = (
    f"{AT.format(5)}{CLIENT}Transiting to fatal error state due to ProducerFencedException: There is a newer producer"
)
ABORTED = (
    "[2026-11-01 10:00:03,000] INFO Completed rollback of ongoing transaction for transactionalId till-0 due to timeout"
)


def write_id(process: str, epoch: int) -> str:
    """Return the line in which a client of a container gets its id."""
    return f"[{process}] {AT.format(epoch)}{CLIENT}ProducerId set to 4 with epoch {epoch}"


def verdict(findings: list[Finding]) -> list[tuple[str, str]]:
    """Return mechanism and certainty of each."""
    return [(one.mechanism, one.certainty) for one in findings]


def test_two_instances_are_certain_if_the_other_got_a_higher_epoch_before(diagnose: Diagnose) -> None:
    fenced = f"[pod/a] {FENCED}"
    assert verdict(diagnose("\n".join([write_id("pod/a", 0), write_id("pod/b", 1), fenced]))) == [
        ("two_instances", CERTAIN)
    ]
    late = [write_id("pod/a", 0), fenced, write_id("pod/b", 1)]
    assert verdict(diagnose("\n".join(late))) == [("two_instances", LIKELY)]
    files = [f"{write_id('pod/a', 0)}\n{fenced}", write_id("pod/b", 1)]
    assert verdict(diagnose(*files)) == [("two_instances", LIKELY)]
    assert verdict(diagnose(f"{write_id('pod/a', 0)}\n{fenced}")) == [("fenced", UNKNOWN)]


def test_a_timeout_is_certain_by_the_coordinators_line(diagnose: Diagnose) -> None:
    assert verdict(diagnose(ABORTED, FENCED)) == [("timed_out", CERTAIN)]
    assert verdict(diagnose(FENCED)) == [("fenced", UNKNOWN)]
    refused = FENCED.replace("ProducerFencedException", "InvalidTxnStateException").replace("a newer producer", "")
    assert verdict(diagnose(ABORTED, refused)) == [("wrote_to_ended", LIKELY)]


def test_an_expired_id_is_certain_with_its_tombstone(diagnose: Diagnose) -> None:
    error = FENCED.replace("ProducerFencedException: There is a newer producer", "InvalidPidMappingException")
    batch = (
        "baseOffset: 4 lastOffset: 4 count: 1 baseSequence: -1 lastSequence: -1 producerId: -1 producerEpoch: -1 "
        "partitionLeaderEpoch: 0 isTransactional: false isControl: false position: 0 CreateTime: 17 size: 91"
    )
    gone = "| offset: 4 CreateTime: 17 keySize: 3 key: transaction_metadata::transactionalId=till-0 payload: <DELETE>"
    assert verdict(diagnose(error)) == [("expired_id", LIKELY)]
    assert verdict(diagnose(error, f"{batch}\n{gone}")) == [("expired_id", CERTAIN)]


def test_lost_records_need_the_election(diagnose: Diagnose) -> None:
    gap = (
        "org.apache.kafka.common.errors.OutOfOrderSequenceException: Out of order sequence number for producer 0 at "
        "offset "
        "4 in partition out-0: 9 (incoming seq. number), 3 (current end sequence number)"
    )
    assert verdict(diagnose(gap)) == [("sequence_gap", UNKNOWN)]
    for line in (
        "[Broker id=2] The topic partition out-0 was marked as RECOVERING. Marking the topic partition as RECOVERED.",
        "UNCLEAN partition change for out-0 with topic ID x: leader: 1 -> 2",
        "[ReplicaFetcher] Truncating out-0 to offset 4 below high watermark 9",
    ):
        assert verdict(diagnose(line, gap)) == [("lost_records", CERTAIN)]
        assert verdict(diagnose(line.replace("out-0", "out-1"), gap)) == [("sequence_gap", UNKNOWN)]


def test_a_coordinator_that_loads_is_harmless_if_it_finished_and_goes_on(diagnose: Diagnose) -> None:
    waits = (
        "%4|1795903672.960|GETPID|p| [thrd:main]: Failed to acquire transactional PID from broker 1: Broker: "
        "Coordinator "
    )
    waits += "load in progress: retrying"
    begun = "[2026-11-01 10:00:00,000] INFO Loading transaction metadata from __transaction_state-3 at epoch 4"
    done = (
        "[2026-11-01 10:00:01,000] INFO Finished loading 4 transaction metadata from __transaction_state-3 in 9 "
        "milliseconds"
    )
    goes = (
        "[2026-11-01 10:00:02,000] INFO Initialized transactionalId till-0 with producerId 4 and producer epoch 1 on "
    )
    goes += "partition __transaction_state-3"
    found = diagnose(waits, f"{begun}\n{done}\n{goes}")
    assert [(one.mechanism, one.certainty, one.harmless) for one in found] == [("coordinator_loads", CERTAIN, True)]
    assert verdict(diagnose(waits, f"{begun}\n{done}")) == [("coordinator_loads", LIKELY)]
    again = diagnose(waits, f"{begun}\n{done}\n{begun}\n{goes}")
    assert [(one.certainty, one.harmless) for one in again] == [(UNKNOWN, False)]
    assert diagnose(waits) == []


def test_too_few_replicas_of_the_transaction_log(diagnose: Diagnose) -> None:
    line = (
        "org.apache.kafka.common.errors.NotEnoughReplicasException: The size of the current ISR Set(1) is "
        "insufficient to "
        "satisfy the min.isr requirement of 2 for partition {}"
    )
    assert verdict(diagnose(line.format("__transaction_state-3"))) == [("too_few_in_sync", CERTAIN)]
    assert verdict(diagnose(line.format("out-3"))) == []


def test_a_timeout_above_the_maximum(diagnose: Diagnose) -> None:
    setting = "\ttransaction.timeout.ms = 3600000"
    line = FENCED.replace("ProducerFencedException: There is a newer producer", "InvalidTxnTimeoutException")
    (finding,) = diagnose(setting, line)
    assert (finding.mechanism, finding.certainty) == ("timeout_too_large", CERTAIN)
    assert "of 3600000 is above" in finding.says


def row(name: str, state: str, producer: int) -> str:
    """Return a row of `list`."""
    return f"{name}\t1\t{producer}\t{state}"


LIST = "TransactionalId\tCoordinator\tProducerId\tTransactionState\n"


def test_random_ids_are_told_from_names_that_stay(diagnose: Diagnose) -> None:
    drawn = LIST + "\n".join(row(f"app-{n * 0x9E3779B1 % 2**32:08x}", "CompleteCommit", n) for n in range(1, 21))
    assert verdict(diagnose(drawn)) == [("random_ids", LIKELY)]
    names = LIST + "\n".join(row(f"app-{n}", "CompleteCommit", n) for n in range(20))
    assert diagnose(names) == []


def test_a_stopped_job_is_told_from_a_producer_at_work(diagnose: Diagnose) -> None:
    rows = [row("sink-0-6", "CompleteCommit", 1), row("sink-0-7", "Ongoing", 2), row("sink-1-6", "CompleteCommit", 3)]
    job = LIST + "\n".join([*rows, row("sink-1-7", "Ongoing", 4)])
    assert verdict(diagnose(job)) == [("left_open", LIKELY)]
    assert verdict(diagnose(LIST + row("till-0", "Ongoing", 2))) == [("open_by_coordinator", UNKNOWN)]


def test_a_reader_that_stands_is_likely_with_the_transaction_and_unknown_without(diagnose: Diagnose) -> None:
    head = "GROUP TOPIC PARTITION CURRENT-OFFSET LOG-END-OFFSET LAG CONSUMER-ID HOST CLIENT-ID\n"
    stands = head + "books out 0 4 6 2 - - -\n\n" + head + "books out 0 4 9 5 - - -\n"
    (finding,) = diagnose(stands)
    assert (finding.mechanism, finding.certainty) == ("reader_stands", UNKNOWN)
    assert "describe-producers --topic out --partition 0" in finding.ask
    dump = (
        f"Dumping /x/out-0/{'0' * 20}.log\nbaseOffset: 4 lastOffset: 8 count: 5 baseSequence: 0 lastSequence: 4 "
        "producerId: "
        "7 producerEpoch: 3 partitionLeaderEpoch: 0 isTransactional: true isControl: false position: 0 CreateTime: 17"
    )
    assert verdict(diagnose(stands, dump))[0] == ("reader_stands", LIKELY)
    moves = head + "books out 0 4 6 2 - - -\n\n" + head + "books out 0 7 9 2 - - -\n"
    assert diagnose(moves) == []


@pytest.mark.parametrize(
    ("line", "mechanism"),
    [
        (f"{CLIENT}Timeout expired after 60000ms while awaiting EndTxn(true)", "timeout_EndTxn"),
        ("Failed: TRANSACTIONAL_ID_AUTHORIZATION_FAILED", "named_TRANSACTIONAL_ID_AUTHORIZATION_FAILED"),
        ("FencedInstanceIdException: The broker rejected this static consumer", "named_FENCED_INSTANCE_ID"),
        ("UnknownProducerIdException", "forgotten_producer"),
        (
            "The following partitions still have unstable offsets which are not cleared on the broker side: [in-0], ",
            "pending_offsets",
        ),
    ],
)
def test_an_error_alone_is_never_certain(line: str, mechanism: str, diagnose: Diagnose) -> None:
    (finding,) = diagnose(line)
    assert finding.mechanism == mechanism
    assert finding.certainty in (LIKELY, UNKNOWN)
    assert finding.ask


def test_a_client_that_is_told_to_wait_once_is_no_finding(diagnose: Diagnose) -> None:
    assert diagnose("2026-11-01 10:00:00,000 WARN error: CONCURRENT_TRANSACTIONS", "NOT_COORDINATOR") == []


def test_a_client_without_an_id_is_unknown_and_asks_for_the_transaction_log(diagnose: Diagnose) -> None:
    line = (
        "2026-11-01T10:00:00+0300 warning Kafka : [GETPID] [thrd:main]: Failed to acquire transactional PID from "
        "broker TxnCoordinator/0: Broker: Request timed out: retrying"
    )
    found = diagnose(f"{line}\n{line}")
    assert verdict(found) == [("no_producer_id", UNKNOWN)]
    assert "__transaction_state" in found[0].ask
    assert diagnose(f"{line}\n{line}\nAcquired PID{{Id:4,Epoch:0}}") == []


def test_a_producer_that_waited_for_itself_may_have_met_a_bug(diagnose: Diagnose) -> None:
    wait = "2026-11-01 10:00:00,000 WARN CONCURRENT_TRANSACTIONS"
    (finding,) = diagnose(f"{wait}\n{FENCED}")
    assert (finding.mechanism, finding.bugs, finding.certainty) == ("fenced", ("KAFKA-18464",), UNKNOWN)
