"""The producer's table of reactions against a copy of docs/protocol.md#producer-reactions that was typed by hand,
cell by cell."""

from __future__ import annotations

import pytest

from kafkalab.client.transaction_manager.error_reactions import APIS, REACTIONS, Reaction, reaction
from kafkalab.protocol.errors import Error

# Columns: FindCoordinator, InitProducerId, AddPartitionsToTxn, AddOffsetsToTxn, TxnOffsetCommit, EndTxn, Produce.
# r retry, l look up, a abortable, f fatal, * abortable if the epoch can be raised, + success, s split, q by sequence.
FACTS = """
NOT_COORDINATOR                       r l l l l l r
COORDINATOR_NOT_AVAILABLE             r l l l l l r
REQUEST_TIMED_OUT                     r r r r l r r
COORDINATOR_LOAD_IN_PROGRESS          r r r r r r r
CONCURRENT_TRANSACTIONS               r r r r r r r
NETWORK_EXCEPTION                     r r r r r r r
UNKNOWN_TOPIC_OR_PARTITION            r r r r r r r
NOT_LEADER_OR_FOLLOWER                r r r r r r r
NOT_ENOUGH_REPLICAS                   r r r r r r r
NOT_ENOUGH_REPLICAS_AFTER_APPEND      r r r r r r r
CORRUPT_MESSAGE                       r r r r r r r
KAFKA_STORAGE_ERROR                   r r r r r r r
PRODUCER_FENCED                       f f f f f f f
INVALID_PRODUCER_EPOCH                f f f f f f a
INVALID_PRODUCER_ID_MAPPING           f f f f f f f
INVALID_TXN_STATE                     f f f f f f a
UNKNOWN_PRODUCER_ID                   f f * * f * q
TRANSACTION_ABORTABLE                 a a a a a a a
TRANSACTIONAL_ID_AUTHORIZATION_FAILED f a f f f f f
CLUSTER_AUTHORIZATION_FAILED          f a a f f f f
TOPIC_AUTHORIZATION_FAILED            f f a f f f a
GROUP_AUTHORIZATION_FAILED            a f a a a f a
OPERATION_NOT_ATTEMPTED               f f a f f f a
UNKNOWN_SERVER_ERROR                  f f a f f f a
FENCED_INSTANCE_ID                    f f a f a f a
UNKNOWN_MEMBER_ID                     f f a f a f a
ILLEGAL_GENERATION                    f f a f a f a
GROUP_ID_NOT_FOUND                    f f a f a f a
STALE_MEMBER_EPOCH                    f f a f a f a
UNSUPPORTED_FOR_MESSAGE_FORMAT        f f a f f f a
UNSUPPORTED_VERSION                   f f a f f f f
OUT_OF_ORDER_SEQUENCE_NUMBER          f f a f f f q
DUPLICATE_SEQUENCE_NUMBER             f f a f f f +
MESSAGE_TOO_LARGE                     f f a f f f s
INVALID_TRANSACTION_TIMEOUT           f f a f f f a
INVALID_REQUEST                       f f a f f f a
"""
LETTERS = {
    "r": Reaction.RETRY,
    "l": Reaction.LOOKUP,
    "a": Reaction.ABORTABLE,
    "f": Reaction.FATAL,
    "*": Reaction.RECOVERABLE,
    "+": Reaction.SUCCESS,
    "s": Reaction.SPLIT,
    "q": Reaction.SEQUENCE,
}
ROWS = [line.split() for line in FACTS.strip().splitlines()]
CELLS = [(name, api, letter) for name, *row in ROWS for api, letter in zip(APIS, row, strict=True)]


@pytest.mark.parametrize(("name", "api", "letter"), CELLS)
def test_every_cell_is_that_of_the_facts(name: str, api: str, letter: str) -> None:
    assert reaction(api, Error[name]) is LETTERS[letter]


@pytest.mark.parametrize("api", APIS)
def test_the_table_is_total(api: str) -> None:
    assert set(REACTIONS[api]) == set(Error) - {Error.NONE}


@pytest.mark.parametrize("error", [e for e in Error if e is not Error.NONE and e.name not in {r[0] for r in ROWS}])
def test_an_error_that_the_facts_do_not_name_is_retried_or_unexpected(error: Error) -> None:
    found = "".join(next(k for k, v in LETTERS.items() if v is reaction(api, error)) for api in APIS)
    assert found == ("rrrrrrr" if error.retriable else "ffafffa")


def test_only_an_abort_makes_transaction_abortable_fatal() -> None:
    assert reaction("EndTxn", Error.TRANSACTION_ABORTABLE, aborting=True) is Reaction.FATAL
    assert reaction("EndTxn", Error.TRANSACTION_ABORTABLE) is Reaction.ABORTABLE
