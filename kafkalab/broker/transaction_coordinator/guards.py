"""Every check that a transaction coordinator makes before it looks into the transition table, in Kafka's order.

Theory of operation
===================

*Who holds which state.* A transactional id belongs to one partition of `__transaction_state`, and the leader of that
partition coordinates the id. The truth is the partition's log: the last record of an id is its state, a `Txn`. The
leader keeps a cache of it in a `TxnPartition`, filled from the log when it is elected and dropped when it resigns. A
request is therefore answered in three steps: a guard finds the cache entry and refuses whoever may not ask
(this module), the total table says what the question means in that state (`transition_tables`), and the record of the
new state is appended (`log`). The cache changes only after the record is replicated, so a successor never knows less
than a client was told.

*What is pending.* Between the decision to append and the replicated record the next state is *pending*: it is in
`TxnPartition.pending`, not in the cache. An id has one pending state at most. Whoever comes meanwhile gets
CONCURRENT_TRANSACTIONS and tries again, since the coordinator does not yet know what is true. Two pending states are
never appended as such. `PrepareEpochFence` reserves the id for an abort of the coordinator's own, whose epoch is
already chosen; the EndTxn that carries it out must pass, so EndTxn does not count it as pending. `Dead` reserves an
id whose tombstone is being written.

*What is decided when.* A transaction is decided when PrepareCommit or PrepareAbort is replicated, not before and by
nothing else. Then the client is answered, and the coordinator writes markers until every partition has one, through
any number of failovers; the completion is pending meanwhile. CompleteCommit or CompleteAbort records that nothing is
left to do, and only then can the next transaction begin.

*Who is fenced.* Two things distinguish a producer from its successors: the producer id and the epoch. Under
transaction versions 0 and 1 the epoch rises when a new instance calls InitProducerId, or when the coordinator aborts.
Under version 2 it rises with every decision too (KIP-890), so a late request of the previous transaction differs from
one of the present transaction, and a *retry* of an answered EndTxn is recognised by an epoch one below the current.

Why the guards are in this order
--------------------------------

1. *Rights, then the form of the request*: they need no state, so they are checked before anybody learns whether an id
   exists.
2. *Coordinator*: NOT_COORDINATOR or COORDINATOR_LOAD_IN_PROGRESS. Without a complete cache every later answer would
   be a guess; the client must come back or go elsewhere.
3. *Known id*: INVALID_PRODUCER_ID_MAPPING. Only InitProducerId creates an id.
4. *Producer id, epoch and pending.* AddPartitionsToTxn, InitProducerId, and EndTxn version 5 look at the pending state
   first: the cached epoch is about to change, so a comparison with it would fence a producer that is about to be
   right (rule PENDING_FIRST). EndTxn up to version 4 compares first: no epoch changes with a decision there, except by
   the coordinator's own fence, and its raised epoch must fence the old producer.
5. *The table*: what is left depends on the state alone. It fences too: `Refuse(PRODUCER_FENCED)` stands under version
   2 where an epoch is current although the state is decided, which no live producer can have.

So PRODUCER_FENCED on EndTxn comes from `_end_v1` or `_end_v2` (another epoch), from the table (version 2), or, for the
coordinator's own abort, from `check_fence`. `translate_error` renames it for clients that do not know it.
"""

from __future__ import annotations

from kafkalab.broker.authorization import may_not_be_idempotent, refused_partitions
from kafkalab.broker.state import BrokerState, TxnPartition
from kafkalab.protocol.acls import CLUSTER, CLUSTER_ACTION, GROUP, READ, TRANSACTIONAL_ID, TWO_PHASE_COMMIT, WRITE
from kafkalab.protocol.api import Header
from kafkalab.protocol.errors import Error
from kafkalab.protocol.messages.add_offsets_to_txn import AddOffsetsToTxn
from kafkalab.protocol.messages.add_partitions_to_txn import AddPartitionsToTxn
from kafkalab.protocol.messages.end_txn import EndTxn
from kafkalab.protocol.messages.init_producer_id import InitProducerId
from kafkalab.protocol.partitions import INTERNAL_TOPICS, topic_of
from kafkalab.protocol.rules import (
    COORDINATOR_EPOCH_CHECK,
    EPOCH_PER_TRANSACTION,
    EXACT_END_EPOCH,
    FENCED_CODE,
    KEEP_EPOCH_EXPECTED,
    PENDING_FIRST,
    TIMEOUT_MAXIMUM,
    VERIFIED_AT_ONCE,
)
from kafkalab.protocol.transaction_metadata import (
    FENCE,
    PREPARED,
    PRODUCER_EPOCH_MAX,
    TWO_PHASE_TIMEOUT_MS,
    Txn,
    TxnState,
)
from kafkalab.protocol.transition_tables.transaction import Ask

CLIENTS_UP_TO = 3
"""The last version of AddPartitionsToTxn that clients speak; brokers speak later ones among themselves."""


def find_txn(broker: BrokerState, transactional_id: str) -> tuple[TxnPartition, Txn] | Error:
    """Steps 1 to 3: the id has a name, this broker coordinates it and has loaded it, and it is known."""
    if not transactional_id:
        return Error.INVALID_REQUEST
    owned = broker.coordinates(transactional_id)
    if isinstance(owned, Error):
        return owned
    txn = owned.txns.get(transactional_id)
    return (owned, txn) if txn is not None else Error.INVALID_PRODUCER_ID_MAPPING


# InitProducerId


def check_init_request(broker: BrokerState, request: InitProducerId, header: Header) -> Error:
    """NONE, or what is wrong with the request alone (docs/protocol.md#init-checks)."""
    tid, config = request.transactional_id, broker.config
    if tid is None and may_not_be_idempotent(broker, header):
        return Error.CLUSTER_AUTHORIZATION_FAILED
    needed = (WRITE, TWO_PHASE_COMMIT) if request.enable_2pc else (WRITE,)
    if tid is not None and any(broker.denies(header.sender, operation, TRANSACTIONAL_ID, tid) for operation in needed):
        return Error.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
    if (request.producer_id == -1) != (request.producer_epoch == -1):
        return Error.INVALID_REQUEST
    if tid is None:
        return Error.NONE
    if tid == "":
        return Error.INVALID_REQUEST
    if request.enable_2pc and not config.transaction_two_phase_commit_enable:
        return Error.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
    if request.keep_prepared_txn:
        return Error.UNSUPPORTED_VERSION
    longest = config.transaction_max_timeout_ms if broker.rules.on(TIMEOUT_MAXIMUM) else TWO_PHASE_TIMEOUT_MS
    if not request.enable_2pc and not 0 < request.transaction_timeout_ms <= longest:
        return Error.INVALID_TRANSACTION_TIMEOUT
    return Error.NONE


def check_init(broker: BrokerState, owned: TxnPartition, txn: Txn, request: InitProducerId) -> Error:
    """NONE, or: something is pending; or the producer id that a producer expects is neither this one nor the last."""
    if txn.transactional_id in owned.pending:
        return Error.CONCURRENT_TRANSACTIONS
    if expected_epoch(broker, request) is None or txn.producer_epoch == -1 or request.producer_id == txn.producer_id:
        return Error.NONE
    rotated = request.producer_id == txn.prev_producer_id and request.producer_epoch >= PRODUCER_EPOCH_MAX - 1
    return Error.NONE if rotated else Error.PRODUCER_FENCED


def expected_epoch(broker: BrokerState, request: InitProducerId) -> int | None:
    """The epoch that a running producer asks to have raised (KIP-360); None from a new instance."""
    expects = request.producer_id != -1 and broker.rules.on(KEEP_EPOCH_EXPECTED)
    return request.producer_epoch if expects else None


# AddPartitionsToTxn, AddOffsetsToTxn


def check_batch(broker: BrokerState, header: Header) -> Error:
    """Check that the sender may speak a version that is for brokers."""
    denied = header.version > CLIENTS_UP_TO and broker.denies(header.sender, CLUSTER_ACTION, CLUSTER)
    return Error.CLUSTER_AUTHORIZATION_FAILED if denied else Error.NONE


def check_partitions(broker: BrokerState, request: AddPartitionsToTxn, header: Header) -> dict[str, Error]:
    """An error for every partition if one cannot be added; clients need rights and keep off internal topics."""
    unknown = [p for p in request.partitions if p not in broker.metadata.partitions]
    refused = dict.fromkeys(unknown, Error.UNKNOWN_TOPIC_OR_PARTITION)
    if header.version <= CLIENTS_UP_TO:
        if broker.denies(header.sender, WRITE, TRANSACTIONAL_ID, request.transactional_id):
            return dict.fromkeys(request.partitions, Error.TRANSACTIONAL_ID_AUTHORIZATION_FAILED)
        internal = tuple(p for p in request.partitions if topic_of(p) in INTERNAL_TOPICS)
        denied = (*internal, *refused_partitions(broker, header, WRITE, request.partitions))
        refused |= dict.fromkeys(denied, Error.TOPIC_AUTHORIZATION_FAILED)
    return dict.fromkeys(request.partitions, Error.OPERATION_NOT_ATTEMPTED) | refused if refused else {}


def check_add_offsets(broker: BrokerState, request: AddOffsetsToTxn, header: Header) -> Error:
    """Check that the sender may write under the id, and read the group."""
    if broker.denies(header.sender, WRITE, TRANSACTIONAL_ID, request.transactional_id):
        return Error.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
    denied = broker.denies(header.sender, READ, GROUP, request.group_id)
    return Error.GROUP_AUTHORIZATION_FAILED if denied else Error.NONE


def check_add(broker: BrokerState, request: AddPartitionsToTxn) -> tuple[TxnPartition, Txn] | Error:
    """The transaction to which partitions may be added, in today's order: pending, producer id, epoch
    (docs/protocol.md#add-partitions)."""
    found = find_txn(broker, request.transactional_id)
    if isinstance(found, Error):
        return found
    owned, txn = found
    pending = request.transactional_id in owned.pending
    if pending and broker.rules.on(PENDING_FIRST):
        return Error.CONCURRENT_TRANSACTIONS
    error = _check_identity(broker, txn, request)
    if error is Error.NONE and pending:
        error = Error.CONCURRENT_TRANSACTIONS
    return found if error is Error.NONE else error


def check_verify(broker: BrokerState, request: AddPartitionsToTxn) -> dict[str, Error]:
    """For each partition whether it is in the transaction; pending states are ignored (KAFKA-14904)."""
    found = find_txn(broker, request.transactional_id)
    if isinstance(found, Error):
        return dict.fromkeys(request.partitions, found)
    owned, txn = found
    error = _check_identity(broker, txn, request)
    waits = request.transactional_id in owned.pending and not broker.rules.on(VERIFIED_AT_ONCE)
    if error is Error.NONE and (waits or txn.state in PREPARED):
        error = Error.CONCURRENT_TRANSACTIONS
    if error is not Error.NONE:
        return dict.fromkeys(request.partitions, error)
    return {p: Error.NONE if p in txn.partitions else Error.TRANSACTION_ABORTABLE for p in request.partitions}


def _check_identity(broker: BrokerState, txn: Txn, request: AddPartitionsToTxn) -> Error:
    if txn.producer_id != request.producer_id:
        return Error.INVALID_PRODUCER_ID_MAPPING
    return Error.PRODUCER_FENCED if _has_another_epoch(broker, txn, request) else Error.NONE


def _has_another_epoch(broker: BrokerState, txn: Txn, request: AddPartitionsToTxn | EndTxn) -> bool:
    return txn.producer_epoch != request.producer_epoch and broker.rules.on(COORDINATOR_EPOCH_CHECK)


# EndTxn


def end_version(broker: BrokerState, header: Header) -> int:
    """Under which transaction version an EndTxn ends its transaction: the client's, not the cluster's."""
    return 2 if header.version >= 5 and broker.rules.on(EPOCH_PER_TRANSACTION) else 0


def check_end(broker: BrokerState, request: EndTxn, header: Header) -> tuple[TxnPartition, Txn, Ask] | Error:
    """The transaction, and the question that this EndTxn asks of the table."""
    if broker.denies(header.sender, WRITE, TRANSACTIONAL_ID, request.transactional_id):
        return Error.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
    found = find_txn(broker, request.transactional_id)
    if isinstance(found, Error):
        return found
    owned, txn = found
    pending = owned.pending.get(txn.transactional_id, FENCE) is not FENCE
    check = _end_v2 if end_version(broker, header) == 2 else _end_v1
    ask = check(broker, txn, request, pending)
    return ask if isinstance(ask, Error) else (owned, txn, ask)


def _end_v1(broker: BrokerState, txn: Txn, request: EndTxn, pending: bool) -> Ask | Error:
    """TV0 and TV1 (docs/protocol.md#end-txn-v1): producer id, epoch, pending."""
    if txn.producer_id != request.producer_id:
        return Error.INVALID_PRODUCER_ID_MAPPING
    larger_is_good = not broker.rules.on(EXACT_END_EPOCH) and request.producer_epoch > txn.producer_epoch
    if not larger_is_good and _has_another_epoch(broker, txn, request):
        return Error.PRODUCER_FENCED
    if pending:
        return Error.CONCURRENT_TRANSACTIONS
    return Ask.COMMIT if request.committed else Ask.ABORT


def check_decided(broker: BrokerState, request: EndTxn, decided: Txn, version: int) -> Error:
    """NONE, or PRODUCER_FENCED although the decision is logged: the epoch is compared once more after the append.

    Only without EXACT_END_EPOCH can it differ then (0.11 to 2.5). No marker is sent; the decision waits for the next
    load of the partition (docs/protocol.md#end-txn-v1).
    """
    larger = version < 2 and request.producer_epoch > decided.producer_epoch
    return Error.PRODUCER_FENCED if larger and broker.rules.on(COORDINATOR_EPOCH_CHECK) else Error.NONE


def _end_v2(broker: BrokerState, txn: Txn, request: EndTxn, pending: bool) -> Ask | Error:
    """TV2 (docs/protocol.md#end-txn-v2): pending first; a retry has an epoch one lower, or the previous producer id
    at its last epoch."""
    if pending and broker.rules.on(PENDING_FIRST):
        return Error.CONCURRENT_TRANSACTIONS
    rotated = (
        txn.prev_producer_id == request.producer_id
        and request.producer_epoch == PRODUCER_EPOCH_MAX - 1
        and txn.producer_epoch == 0
    )
    if txn.producer_id != request.producer_id and not rotated:
        return Error.INVALID_PRODUCER_ID_MAPPING
    again = rotated or txn.producer_epoch == request.producer_epoch + 1
    if not broker.rules.on(COORDINATOR_EPOCH_CHECK):
        again = (again and txn.state not in (TxnState.EMPTY, TxnState.ONGOING)) or txn.state in PREPARED
    elif (rotated and txn.state in PREPARED) or (not again and _has_another_epoch(broker, txn, request)):
        return Error.PRODUCER_FENCED
    if pending:  # without PENDING_FIRST a current epoch is taken for a stale one while the markers are under way
        return Error.PRODUCER_FENCED if txn.state in PREPARED and not again else Error.CONCURRENT_TRANSACTIONS
    if again:
        return Ask.COMMIT_AGAIN if request.committed else Ask.ABORT_AGAIN
    return Ask.COMMIT if request.committed else Ask.ABORT


# the coordinator's own abort


def check_fence(broker: BrokerState, fenced: Txn) -> tuple[TxnPartition, Txn] | Error:
    """The transaction that was fenced as `fenced`; PRODUCER_FENCED if a later fence has overtaken this one."""
    found = find_txn(broker, fenced.transactional_id)
    if isinstance(found, Error):
        return found
    owned, txn = found
    if txn.producer_id != fenced.producer_id:
        return Error.INVALID_PRODUCER_ID_MAPPING
    if fenced.producer_epoch < txn.producer_epoch:
        return Error.PRODUCER_FENCED
    pending = owned.pending.get(txn.transactional_id)
    return found if pending in (None, FENCE) else Error.CONCURRENT_TRANSACTIONS


# the error's name


def translate_error(broker: BrokerState, error: Error, version: int, since: int = 2) -> Error:
    """PRODUCER_FENCED is INVALID_PRODUCER_EPOCH for a client whose API version is below `since`
    (docs/protocol.md#producer-fenced)."""
    if error is Error.PRODUCER_FENCED and (version < since or not broker.rules.on(FENCED_CODE)):
        return Error.INVALID_PRODUCER_EPOCH
    return error
