"""What each reader takes of the forms that versions 2.5 to 4.4 print, and what is counted as unknown."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

from kafkalab.diagnose.facts import OffsetCommit, StateRecord
from kafkalab.diagnose.readers.errors_in_text import WATCHED, errors_in, exception_of
from kafkalab.diagnose.readers.reader import number
from kafkalab.diagnose.reading import LINE, lines_of, read_files
from kafkalab.diagnose.report import as_data
from kafkalab.protocol.error_messages import MESSAGES
from kafkalab.protocol.errors import Error
from tests.diagnose.conftest import read_texts
from tests.diagnose.test_hanging import DUMP

BATCH_2_5 = (
    "baseOffset: 4 lastOffset: 5 count: 2 baseSequence: 0 lastSequence: 1 producerId: 7 producerEpoch: 3 "
    "partitionLeaderEpoch: 0 isTransactional: true isControl: false position: 0 CreateTime: 17 size: 91 magic: 2 "
    "compresscodec: NONE crc: 1 isvalid: true"
)
BATCH_4_4 = BATCH_2_5.replace("isControl: false", "isControl: false deleteHorizonMs: OptionalLong.empty").replace(
    "NONE", "none"
)
RECORD_2_5 = "| offset: 4 CreateTime: 17 keysize: 3 valuesize: 4 sequence: 0 headerKeys: [] "
STATE_2_5 = (
    "key: transaction_metadata::transactionalId=a b payload: producerId:7,producerEpoch:3,state=PrepareCommit,"
    "partitions=[in-0,out-10],txnLastUpdateTimestamp=18,txnTimeoutMs=60000"
)
STATE_4_4 = "key: {} payload: {}".format(
    json.dumps({"type": "0", "data": {"transactionalId": "a b"}}),
    json.dumps(
        {
            "version": "1",
            "data": {
                "producerId": 7,
                "producerEpoch": 3,
                "transactionStatus": 2,
                "transactionPartitions": [{"topic": "in", "partitionIds": [0]}, {"topic": "out", "partitionIds": [10]}],
                "transactionLastUpdateTimestampMs": 18,
                "transactionTimeoutMs": 60000,
            },
        }
    ),
)
OFFSET_2_5 = "key: offset_commit::group=g,partition=in-2 payload: offset=9,metadata=x"
OFFSET_4_4 = "key: {} payload: {}".format(
    json.dumps({"type": "1", "data": {"group": "g", "topic": "in", "partition": 2}}),
    json.dumps({"version": "3", "data": {"offset": 9, "metadata": "x"}}),
)


@pytest.mark.parametrize("batch", [BATCH_2_5, BATCH_4_4, f"  {BATCH_4_4}", f"> {BATCH_4_4}"])
def test_a_batch_is_read(batch: str) -> None:
    view = read_texts(f"Dumping /x/out-1/{'0' * 20}.log\nStarting offset: 0\n{batch}").views["out-1"]
    assert (view.start, view.end, view.records) == (4, 6, 2)
    (found,) = view.open.values()
    assert (found.first.producer, found.first.epoch, found.first.timestamp) == (7, 3, 17)


@pytest.mark.parametrize("state", [STATE_2_5, STATE_4_4])
def test_a_record_of_the_transaction_log_is_read(state: str) -> None:
    evidence = read_texts(f"Dumping /x/__transaction_state-4/{'0' * 20}.log\n{BATCH_2_5}\n{RECORD_2_5}{state}")
    (record,) = evidence.records_of("a b")
    assert isinstance(record, StateRecord)
    assert record[:8] == (4, "a b", 7, 3, "PrepareCommit", ("in-0", "out-10"), 18, 60_000)


@pytest.mark.parametrize("payload", ["<DELETE>", "null", ""])
def test_a_tombstone_is_read(payload: str) -> None:
    states = {"key: transaction_metadata::transactionalId=a payload: <DELETE>"}
    states.add(STATE_4_4.partition(" payload")[0].replace("a b", "a") + f" payload: {payload}")
    for state in states:
        (record,) = read_texts(f"{BATCH_2_5}\n{RECORD_2_5}{state}").records_of("a")
        assert record.state == "deleted"


@pytest.mark.parametrize("offset", [OFFSET_2_5, OFFSET_4_4])
def test_a_position_is_read(offset: str) -> None:
    evidence = read_texts(f"Dumping /x/__consumer_offsets-4/{'0' * 20}.log\n{BATCH_2_5}\n{RECORD_2_5}{offset}")
    (found,) = evidence.views["__consumer_offsets-4"].open[7].offsets.values()
    assert isinstance(found, OffsetCommit)
    assert found[:6] == (4, "g", "in-2", 9, 7, 3)


def test_an_internal_topic_without_its_decoder_is_named() -> None:
    evidence = read_texts(
        f"Dumping /x/__transaction_state-4/{'0' * 20}.log\n{BATCH_2_5}\n{RECORD_2_5}key: \0\1 payload: x"
    )
    assert list(evidence.undecoded) == ["__transaction_state-4"]
    assert not evidence.states


def test_a_marker_without_its_batch_is_unknown_and_not_guessed() -> None:
    evidence = read_texts(f"{RECORD_2_5}endTxnMarker: COMMIT coordinatorEpoch: 3")
    assert evidence.files["1"].unknown == 1
    assert not evidence.views


def test_a_dump_of_batches_alone_shows_that_transactions_end_and_not_how() -> None:
    lines = [line for line in DUMP.splitlines() if not line.startswith("|")]
    view = read_texts("\n".join(lines)).views["out-3"]
    assert [one.marker.outcome for one in view.finished if one.marker] == ["marker"]
    assert [one.first.first for one in view.open.values()] == [12]
    (ended,) = read_texts(DUMP).views["out-3"].finished
    assert ended.marker is not None
    assert ended.marker.outcome == "ABORT"


def test_a_dump_that_is_pasted_twice_is_read_once() -> None:
    dump = f"Dumping /x/__consumer_offsets-4/{'0' * 20}.log\n{BATCH_2_5}\n{RECORD_2_5}{OFFSET_2_5}"
    later = dump.replace("4 lastOffset: 5", "6 lastOffset: 7").replace("offset: 4 ", "offset: 6 ").replace("=9", "=12")
    view = read_texts(f"{dump}\n{later}\n{dump}\n{later}").views["__consumer_offsets-4"]
    assert (view.batches, view.disorder, view.backwards) == (2, 2, [])


@pytest.mark.parametrize("separator", ["\t", "    "])
def test_tables_are_read_with_tabs_and_with_blanks(separator: str) -> None:
    rows = {
        "listed": ("TransactionalId Coordinator ProducerId TransactionState", "till-0 1 7 Ongoing"),
        "described": (
            "CoordinatorId TransactionalId ProducerId ProducerEpoch TransactionState TransactionTimeoutMs "
            "CurrentTransactionStartTimeMs TransactionDurationMs TopicPartitions",
            "1 till-0 7 3 Empty 60000 None None",
        ),
        "producers": (
            "ProducerId ProducerEpoch LatestCoordinatorEpoch LastSequence LastTimestamp CurrentTransactionStartOffset",
            "7 3 0 2 1795903628362 None",
        ),
        "groups": (
            "GROUP TOPIC PARTITION CURRENT-OFFSET LOG-END-OFFSET LAG CONSUMER-ID HOST CLIENT-ID",
            "books out 2 - 6 - - - -",
        ),
    }
    text = "\n\n".join("\n".join(line.replace(" ", separator) for line in pair) for pair in rows.values())
    command = "$ kafka-transactions.sh --bootstrap-server x:1 describe-producers --topic out --partition 5\n"
    evidence = read_texts(command + text)
    assert [row[:4] for row in evidence.listed] == [("till-0", "1", 7, "Ongoing")]
    assert [row[:7] for row in evidence.described] == [("till-0", 7, 3, "Empty", 60_000, -1, ())]
    assert [row[:4] for row in evidence.producers] == [("out-5", 7, 3, -1)]
    assert [row[:5] for row in evidence.groups] == [("books", "out-2", -1, 6, -1)]
    assert evidence.files["1"].unknown == 0


@pytest.mark.parametrize("line", ["something else", "four words are here"])
def test_a_row_belongs_to_no_table_after_another_line(line: str) -> None:
    evidence = read_texts(f"TransactionalId Coordinator ProducerId TransactionState\n{line}\ntill-0 1 7 Ongoing")
    assert len(evidence.listed) == 0
    assert [one.text for one in evidence.files["1"].samples] == [line, "till-0 1 7 Ongoing"]


@pytest.mark.parametrize(
    ("text", "value"), [("12", 12), ("-3", -3), ("9" * 30, -1), ("", -1), ("1e3", -1), ("\u0661\u0662", -1), ("-", -1)]
)
def test_a_number_is_one_of_kafkas(text: str, value: int) -> None:
    assert number(text) == value


def test_unknown_lines_are_counted_and_the_first_are_shown() -> None:
    text = "\n".join(f"no line of Kafka {n}" for n in range(40))
    (row,) = as_data(read_texts(text), [])["files"]
    assert (row["lines"], row["used"], row["passed"], row["unknown"]) == (40, 0, 0, 40)
    assert [one["line"] for one in row["samples"]] == [1, 2, 3, 4, 5]


@pytest.mark.parametrize("error", WATCHED)
def test_errors_are_found_by_name_exception_and_message(error: Error) -> None:
    assert errors_in(f"failed: {error.name}.") == [error]
    assert errors_in(f"org.apache.kafka.common.errors.{exception_of(error)}: x") == [error]
    assert errors_in(f"Unexpected error; {MESSAGES[error.name]}") == [error]


@pytest.mark.parametrize(
    ("line", "error"),
    [
        ("KafkaError{code=_FENCED,val=-144}", Error.PRODUCER_FENCED),
        ("Local: This instance has been fenced by a newer instance", Error.PRODUCER_FENCED),
        ("Broker: Producer attempted an operation with an old epoch", Error.INVALID_PRODUCER_EPOCH),
        ("Broker: Unknown Producer Id", Error.UNKNOWN_PRODUCER_ID),
        ("aiokafka.errors.ProducerFenced: There is a newer producer", Error.PRODUCER_FENCED),
        ("aiokafka.errors.InvalidTxnState: [Error 48]", Error.INVALID_TXN_STATE),
        ("kafka.errors.InvalidProducerIdMappingError: [Error 49]", Error.INVALID_PRODUCER_ID_MAPPING),
    ],
)
def test_errors_of_other_clients_are_found(line: str, error: Error) -> None:
    assert errors_in(line) == [error]


@pytest.mark.parametrize("begin", ["[pod/a]", "broker-1   |"])
def test_a_stack_trace_belongs_to_the_line_before_and_a_container_is_named(begin: str) -> None:
    text = (
        "[pod/a] 2026-11-28 22:12:44.950 INFO [Producer clientId=p, transactionalId=till-0] ProducerId set to 4 with "
        "epoch 1"
        "\n[pod/a] org.apache.kafka.common.errors.ProducerFencedException: There is a newer producer"
        "\n[pod/a] \tat org.apache.kafka.clients.Sender.run(Sender.java:1)"
    )
    evidence = read_texts(text.replace("[pod/a]", begin))
    (given,) = evidence.all_said("id given")
    (error,) = evidence.all_said("error PRODUCER_FENCED")
    assert (given.who, given.producer, given.epoch, given.process) == ("till-0", 4, 1, begin.strip("[] |"))
    assert (error.who, error.process) == ("till-0", begin.strip("[] |"))
    assert evidence.files["1"].unknown == 0


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_encodings_and_ends_of_lines_do_not_matter(tmp_path: Path, encoding: str) -> None:
    path = tmp_path / "x.txt"
    path.write_text(f"{BATCH_4_4}\r\n{BATCH_4_4.replace('4 lastOffset: 5', '6 lastOffset: 7')}\r\n", encoding=encoding)
    (view,) = read_files([path]).views.values()
    assert (view.start, view.end) == (4, 8)


def test_a_line_without_an_end_takes_bounded_memory() -> None:
    lines = list(lines_of(io.BytesIO(b"a" * (5 * LINE) + b"\nb\n")))
    assert [(len(line), cut) for line, cut in lines] == [(LINE, True), (1, False)]


@pytest.mark.parametrize(
    "sign", ["-", "a", "A", "_", ".", " ", "a.", "--a token ", "://a:", "password", '{"a":', "[", "9"]
)
def test_a_long_line_of_one_sign_takes_no_minutes(sign: str) -> None:
    text = (sign * LINE)[: LINE - 40]
    evidence = read_texts(
        f"{text} token roducer Exception TXN_", f'| offset: 1 key: {{"a":{text}', f"baseOffset: {text}"
    )
    assert sum(counts.lines for counts in evidence.files.values()) == 3


def test_one_file_may_hold_several_kinds(tmp_path: Path) -> None:
    path = tmp_path / "all.txt"
    table = "TransactionalId\tCoordinator\tProducerId\tTransactionState\ntill-0\t1\t7\tOngoing\n"
    path.write_text(f"{table}\n{BATCH_4_4}\n2026-11-28 22:12:44,950 INFO ProducerId set to 4 with epoch 1\n{table}")
    evidence = read_files([tmp_path])
    assert (len(evidence.listed), len(evidence.views), evidence.said["id given"].count) == (2, 1, 1)
