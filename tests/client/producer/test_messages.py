"""What exceptions say, in Kafka's words, typed by hand: people search for these texts (`TransactionManager`,
`KafkaProducer`, `Errors`)."""

from __future__ import annotations

from typing import Any

import pytest

from kafkalab.client.exceptions import KafkaError, java_name
from kafkalab.protocol.errors import Error
from tests.conformance.scripted_port import GROUP, HOLD, OFFSETS, ScriptedPort, begin, error_of, one_transaction

FENCED = "There is a newer producer with the same transactionalId which fences the current one."
DENIED = "Transactional Id authorization failed."
INVALID = "This most likely occurs because of a request being malformed by the client library or the message was sent "
INVALID += "to an incompatible broker. See the broker logs for more details."
ABORTABLE = "The server encountered an error with the transaction. The client can abort the transaction to continue "
ABORTABLE += "using this transactional ID."


SAID = [
    ("FindCoordinator", Error.TRANSACTIONAL_ID_AUTHORIZATION_FAILED, DENIED),
    (
        "FindCoordinator", Error.INVALID_REQUEST,
        f"Could not find a coordinator with type TRANSACTION with key a due to unexpected error: {INVALID}",
    ),
    ("FindCoordinator", Error.GROUP_AUTHORIZATION_FAILED, "Not authorized to access group: a"),
    ("InitProducerId", Error.CLUSTER_AUTHORIZATION_FAILED, "Cluster authorization failed."),
    ("InitProducerId", Error.INVALID_PRODUCER_EPOCH, FENCED),
    ("InitProducerId", Error.INVALID_REQUEST, f"Unexpected error in InitProducerIdResponse; {INVALID}"),
    ("AddPartitionsToTxn", Error.PRODUCER_FENCED, FENCED),
    ("AddPartitionsToTxn", Error.TOPIC_AUTHORIZATION_FAILED, "Not authorized to access topics: [t]"),
    (
        "AddPartitionsToTxn", Error.INVALID_REQUEST,
        "Could not add partitions to transaction due to errors: {t-0=INVALID_REQUEST}",
    ),
    ("AddOffsetsToTxn", Error.GROUP_AUTHORIZATION_FAILED, "Not authorized to access group: g"),
    ("AddOffsetsToTxn", Error.INVALID_REQUEST, f"Unexpected error in AddOffsetsToTxnResponse: {INVALID}"),
    ("TxnOffsetCommit", Error.GROUP_AUTHORIZATION_FAILED, "Not authorized to access group: g"),
    (
        "TxnOffsetCommit", Error.ILLEGAL_GENERATION,
        "Transaction offset Commit failed due to consumer group metadata mismatch: "
        "Specified group generation id is not valid.",
    ),
    ("TxnOffsetCommit", Error.INVALID_REQUEST, f"Unexpected error in TxnOffsetCommitResponse: {INVALID}"),
    ("EndTxn", Error.INVALID_TXN_STATE, "The producer attempted a transactional operation in an invalid state."),
    ("EndTxn", Error.TRANSACTION_ABORTABLE, ABORTABLE),
    ("EndTxn", Error.INVALID_REQUEST, f"Unhandled error in EndTxnResponse: {INVALID}"),
    ("Produce", Error.CLUSTER_AUTHORIZATION_FAILED, "The producer is not authorized to do idempotent sends"),
    ("Produce", Error.TOPIC_AUTHORIZATION_FAILED, "Not authorized to access topics: [t]"),
    ("Produce", Error.INVALID_PRODUCER_EPOCH, "Producer attempted to produce with an old epoch."),
]  # fmt: skip


@pytest.mark.parametrize(("api", "error", "text"), SAID, ids=[f"{a}-{e.name}" for a, e, _ in SAID])
def test_an_error_is_told_in_kafkas_words(api: str, error: Error, text: str) -> None:
    script: dict[str, Any] = {api: [error]}
    port = ScriptedPort(1, **script)
    assert str(port.run(one_transaction(port))[0]) == text


def test_an_abort_that_may_not_be_aborted_again_names_its_cause() -> None:
    port = ScriptedPort(EndTxn=Error.TRANSACTION_ABORTABLE)

    async def program() -> Any:
        producer = await begin(port)
        await (await producer.send("t", "v"))
        return await error_of(producer.abort_transaction())

    failed = port.run(program())
    assert (type(failed), str(failed)) == (KafkaError, "Failed to abort transaction")
    assert (java_name(failed.__cause__), str(failed.__cause__)) == ("TransactionAbortableException", ABORTABLE)


COMMIT = "CommitTransaction timed out - did not complete EndTxn with the transaction coordinator within max.block.ms"
ABORT = "AbortTransaction timed out - did not complete EndTxn(abort) with the transaction coordinator within "
ABORT += "max.block.ms"
OFFSETS_SENT = "SendOffsetsToTransaction timed out - did not reach the coordinator or receive the "
OFFSETS_SENT += "TxnOffsetCommit/AddOffsetsToTxn response within max.block.ms"
TIMEOUTS = [
    (
        "init", "InitProducerId", 2,
        "InitProducerId. InitTransactions timed out - did not complete coordinator discovery or receive the "
        "InitProducerId response within max.block.ms.",
    ),
    ("offsets", "AddOffsetsToTxn", 1, f"AddOffsetsToTxn. {OFFSETS_SENT}"),
    ("offsets", "TxnOffsetCommit", 1, f"AddOffsetsToTxn. {OFFSETS_SENT}"),
    ("offsets", "TxnOffsetCommit", 2, f"TxnOffsetCommitHandler. {OFFSETS_SENT}"),
    ("commit", "EndTxn", 2, f"EndTxn(true). {COMMIT}"),
    ("abort", "EndTxn", 2, f"EndTxn(false). {ABORT}"),
    ("abort after an error", "EndTxn", 1, f"InitProducerId. {ABORT}"),
]  # fmt: skip


@pytest.mark.parametrize(("call", "api", "version", "text"), TIMEOUTS, ids=[f"{c}-{a}-{v}" for c, a, v, _ in TIMEOUTS])
def test_a_call_that_times_out_says_what_it_awaited(call: str, api: str, version: int, text: str) -> None:
    failing = [Error.INVALID_RECORD] if call == "abort after an error" else []
    script: dict[str, Any] = {api: [HOLD]}
    port = ScriptedPort(version, Produce=failing, **script)

    async def program() -> list[str]:
        producer = port.producer(max_block_ms=500)
        if call == "init":
            return [str(await error_of(producer.init_transactions())) for _ in range(2)]
        await producer.init_transactions()
        producer.begin_transaction()
        await error_of(await producer.send("t", "v", partition=0))
        if call == "offsets":
            return [str(await error_of(producer.send_offsets_to_transaction(OFFSETS, GROUP)))] * 2
        end = producer.commit_transaction if call == "commit" else producer.abort_transaction
        return [str(await error_of(end())) for _ in range(2)]

    assert port.run(program()) == [f"Timeout expired after 500ms while awaiting {text}"] * 2
