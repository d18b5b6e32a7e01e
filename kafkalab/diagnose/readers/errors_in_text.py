"""Finds Kafka's errors in a line: by their names, by Java's exceptions, and by librdkafka's sentences."""

from __future__ import annotations

import re

from kafkalab.protocol.error_messages import MESSAGES
from kafkalab.protocol.errors import Error

SHORT_NAMES = {
    Error.INVALID_PRODUCER_ID_MAPPING: "InvalidPidMapping",
    Error.OUT_OF_ORDER_SEQUENCE_NUMBER: "OutOfOrderSequence",
    Error.DUPLICATE_SEQUENCE_NUMBER: "DuplicateSequence",
    Error.INVALID_TRANSACTION_TIMEOUT: "InvalidTxnTimeout",
}
"""Java's exceptions whose name is not that of the error."""
LIBRDKAFKA = {
    "Broker: There is a newer producer with the same transactionalId": Error.PRODUCER_FENCED,
    "This instance has been fenced by a newer instance": Error.PRODUCER_FENCED,
    "Producer attempted an operation with an old epoch": Error.INVALID_PRODUCER_EPOCH,
    "Producer attempted a transactional operation in an invalid state": Error.INVALID_TXN_STATE,
    "Producer attempted to use a producer id which is not currently": Error.INVALID_PRODUCER_ID_MAPPING,
    "Transaction timeout is larger than the maximum value allowed": Error.INVALID_TRANSACTION_TIMEOUT,
    "Producer attempted to update a transaction while another": Error.CONCURRENT_TRANSACTIONS,
    "Broker received an out of order sequence number": Error.OUT_OF_ORDER_SEQUENCE_NUMBER,
    "Broker: Unknown Producer Id": Error.UNKNOWN_PRODUCER_ID,
    "Broker: Coordinator load in progress": Error.COORDINATOR_LOAD_IN_PROGRESS,
    "Broker: Not coordinator": Error.NOT_COORDINATOR,
    "Broker: Coordinator not available": Error.COORDINATOR_NOT_AVAILABLE,
    "Broker: Transactional Id authorization failed": Error.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
    "Broker: Static consumer fenced by other consumer": Error.FENCED_INSTANCE_ID,
    "Broker: Specified group generation id is not valid": Error.ILLEGAL_GENERATION,
    "Broker: There are unstable offsets": Error.UNSTABLE_OFFSET_COMMIT,
    "Broker: Not enough in-sync replicas": Error.NOT_ENOUGH_REPLICAS,
    "Broker: The server encountered an error with the transaction": Error.TRANSACTION_ABORTABLE,
}
"""The beginnings of librdkafka's sentences (rdkafka.c, 2.16)."""
WATCHED = (
    Error.PRODUCER_FENCED, Error.INVALID_PRODUCER_EPOCH, Error.INVALID_PRODUCER_ID_MAPPING, Error.INVALID_TXN_STATE,
    Error.INVALID_TRANSACTION_TIMEOUT, Error.CONCURRENT_TRANSACTIONS, Error.OUT_OF_ORDER_SEQUENCE_NUMBER,
    Error.DUPLICATE_SEQUENCE_NUMBER, Error.UNKNOWN_PRODUCER_ID, Error.COORDINATOR_LOAD_IN_PROGRESS,
    Error.COORDINATOR_NOT_AVAILABLE, Error.NOT_COORDINATOR, Error.NOT_ENOUGH_REPLICAS,
    Error.NOT_ENOUGH_REPLICAS_AFTER_APPEND, Error.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
    Error.TOPIC_AUTHORIZATION_FAILED, Error.CLUSTER_AUTHORIZATION_FAILED, Error.ILLEGAL_GENERATION,
    Error.UNKNOWN_MEMBER_ID, Error.FENCED_INSTANCE_ID, Error.TRANSACTION_ABORTABLE, Error.UNSTABLE_OFFSET_COMMIT,
    Error.TRANSACTION_COORDINATOR_FENCED,
)  # fmt: skip
"""The errors that are looked for."""


def exception_of(error: Error) -> str:
    """Return Java's exception: `exception_of(Error.NOT_COORDINATOR) == "NotCoordinatorException"`."""
    short = SHORT_NAMES.get(error) or "".join(word.capitalize() for word in error.name.split("_"))
    return f"{short}Exception"


_WORDS: dict[str, Error] = {
    **{error.name: error for error in WATCHED},
    **{exception_of(error): error for error in WATCHED},
    "_FENCED": Error.PRODUCER_FENCED,
}
_EXCEPTION = re.compile(r"\w+Exception\b")
_NAME = re.compile(r"\b_FENCED\b|[A-Z]+(?:_[A-Z]+)+")
_IN_NAMES = ("FENCED", "PRODUCER_", "TXN", "TRANSACTION", "SEQUENCE", "COORDINATOR", "REPLICAS", "AUTHORIZATION",
             "GENERATION", "MEMBER", "UNSTABLE")  # fmt: skip
"""A line without any of these has no name of an error that is looked for."""
_SENTENCES = {MESSAGES[error.name].split(".")[0]: error for error in WATCHED} | LIBRDKAFKA
_IN_SENTENCES = (
    "roducer", "ransaction", "coordinator", "Coordinator", "sequence", "uthoriz", "roup", "replicas", "nstance",
    "stable",
)  # fmt: skip
_PYTHON = {
    "".join(word.capitalize() for word in error.name.split("_")): error
    for error in WATCHED
    if error.name.startswith(("PRODUCER_", "INVALID_", "CONCURRENT_", "OUT_OF", "UNKNOWN_PR", "TRANSACTIONAL_ID"))
}
"""The beginnings of the names of exceptions of aiokafka and kafka-python."""
READ = 2_000
"""Characters of a line that are searched."""


def errors_in(line: str) -> list[Error]:
    """Return the errors that the line names, each once."""
    found: dict[Error, None] = {}
    if "Exception" in line:
        found = {_WORDS[word]: None for word in _EXCEPTION.findall(line[:READ]) if word in _WORDS}
    if "_" in line and _has(line, _IN_NAMES):
        found |= {_WORDS[word]: None for word in _NAME.findall(line[:READ]) if word in _WORDS}
    if _has(line, _IN_SENTENCES):
        found |= {error: None for sentence, error in _SENTENCES.items() if sentence in line}
    for name, error in _PYTHON.items():
        if name in line:
            found[error] = None
    return list(found)


def _has(line: str, parts: tuple[str, ...]) -> bool:
    for part in parts:  # noqa: SIM110 - twice as fast as any() of a generator, and every line comes here
        if part in line:
            return True
    return False
