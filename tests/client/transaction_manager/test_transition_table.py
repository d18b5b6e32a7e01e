"""The producer's table against a copy that was typed by hand from docs/protocol.md#producer-calls, through the
public calls."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from kafkalab.client.exceptions import (
    IllegalStateError,
    InvalidTxnStateError,
    KafkaError,
    KafkaTimeoutError,
    ProducerFencedError,
    TransactionAbortedError,
)
from kafkalab.client.producer.producer import Producer
from kafkalab.client.results import GroupMetadata
from kafkalab.protocol.errors import Error
from kafkalab.protocol.transition_tables.producer import EVENTS, TABLE, Action, Call, ProducerState, SenderEvent
from tests.conformance.scripted_port import HOLD, PID, ScriptedPort, begin, error_of

CALLS = ("init", "begin", "send", "offsets", "prepare", "commit", "abort", "complete", "close")
# One row per state and open call. > accepted, the state changes; = accepted, it stays; x invalid transition;
# n no transaction; p only an end is allowed; q nothing is prepared; s stored error; c the same call's result;
# f the open call comes first.
CELLS = """
                              init begin send offsets prepare commit abort complete close
UNINITIALIZED          -      >    x     n    n       x       x      x     q        =
READY                  -      x    >     n    n       x       x      x     q        =
IN_TRANSACTION         -      x    x     =    =       >       >      >     q        >
PREPARED_TRANSACTION   -      x    p     p    p       p       >      >     =        =
ABORTABLE_ERROR        -      s    s     s    s       s       s      >     q        >
FATAL_ERROR            -      s    s     s    s       s       s      s     q        =
INITIALIZING           init   c    f     f    f       f       f      f     q        =
INITIALIZING           abort  f    f     f    f       f       f      c     q        =
COMMITTING_TRANSACTION commit f    f     f    f       f       c      f     q        =
ABORTING_TRANSACTION   abort  f    f     f    f       f       f      c     q        =
READY                  init   c    f     f    f       f       f      f     q        =
READY                  commit f    f     f    f       f       c      f     q        =
READY                  abort  f    f     f    f       f       f      c     q        =
UNINITIALIZED          init   c    f     f    f       f       f      f     q        =
ABORTABLE_ERROR        commit s    f     s    f       f       c      f     q        >
FATAL_ERROR            commit s    f     s    f       f       c      f     q        =
FATAL_ERROR            abort  s    f     s    f       f       f      c     q        =
FATAL_ERROR            init   s    f     s    f       f       f      f     q        =
"""
ROWS = [line.split() for line in CELLS.strip().splitlines()[1:]]
TYPED = [
    pytest.param(state, waiting, call, cell, id=f"{state}-{waiting}-{call}")
    for state, waiting, *cells in ROWS
    for call, cell in zip(CALLS, cells, strict=True)
]
OFFSETS, GROUP = {"in-0": 7}, GroupMetadata("g")
FATAL, ABORTABLE = Error.INVALID_TXN_STATE, Error.TRANSACTION_ABORTABLE
SHORT_MS = 500


def port_for(state: str, waiting: str) -> ScriptedPort:
    """Brokers whose answers lead to the state; what is HELD is answered by `reach` or not at all."""
    script: dict[tuple[str, str], dict[str, Any]] = {
        ("ABORTABLE_ERROR", "-"): {"Produce": [Error.TOPIC_AUTHORIZATION_FAILED]},
        ("FATAL_ERROR", "-"): {"Produce": [Error.CLUSTER_AUTHORIZATION_FAILED]},
        ("INITIALIZING", "abort"): {
            "Produce": [Error.TOPIC_AUTHORIZATION_FAILED],
            "InitProducerId": [Error.NONE, HOLD],
        },
    }
    held = {"init": "InitProducerId", "commit": "EndTxn", "abort": "EndTxn"}
    answers = script.get((state, waiting)) or ({held[waiting]: [HOLD]} if waiting in held else {})
    port = ScriptedPort(1 if (state, waiting) == ("INITIALIZING", "abort") else 2, **answers)
    port.two_phase_commit = True
    return port


async def reach(port: ScriptedPort, state: str, waiting: str) -> Producer:
    """A producer in the state; with `waiting`, that call has timed out and was not called again."""
    producer = port.producer(transaction_two_phase_commit_enable=True, max_block_ms=SHORT_MS)
    if waiting == "init":
        assert isinstance(await error_of(producer.init_transactions()), KafkaTimeoutError)
    elif state != "UNINITIALIZED":
        await producer.init_transactions()
        if state != "READY" or waiting != "-":
            producer.begin_transaction()
    refuses = state in ("ABORTABLE_ERROR", "FATAL_ERROR", "INITIALIZING")
    if (refuses and waiting in ("-", "abort")) or waiting == "commit":
        await error_of(await producer.send("t", "v", partition=0))
    elif waiting == "abort":
        await (await producer.send("t", "v", partition=0))
    if state == "PREPARED_TRANSACTION":
        await producer.prepare_transaction()
    if waiting in ("commit", "abort") and not (state == "FATAL_ERROR" and producer.transaction_manager.fatal):
        call = producer.commit_transaction if waiting == "commit" else producer.abort_transaction
        assert isinstance(await error_of(call()), KafkaTimeoutError)
    if port.held and state not in ("INITIALIZING", "COMMITTING_TRANSACTION", "ABORTING_TRANSACTION"):
        unauthorized = Error.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
        answers = {"FATAL_ERROR": FATAL, "ABORTABLE_ERROR": ABORTABLE, "UNINITIALIZED": unauthorized}
        port.release(answers.get(state, Error.NONE))
        await port.sleep(10)
    assert producer.state.name == state
    return producer


async def call_it(port: ScriptedPort, producer: Producer, call: str) -> tuple[Any, str]:
    """Return what the call raises, without waiting for what it asks of brokers, and the state right after it."""
    if call == "begin":
        try:
            producer.begin_transaction()
        except KafkaError as error:
            return error, producer.state.name
        return None, producer.state.name
    calls: dict[str, Callable[[], Coroutine[Any, Any, Any]]] = {
        "init": lambda: producer.init_transactions(),
        "send": lambda: producer.send("t", "w", partition=0),
        "offsets": lambda: producer.send_offsets_to_transaction(OFFSETS, GROUP),
        "prepare": lambda: producer.prepare_transaction(),
        "commit": lambda: producer.commit_transaction(),
        "abort": lambda: producer.abort_transaction(),
        "complete": lambda: producer.complete_transaction(producer.transaction_manager.identity),
        "close": lambda: producer.close(timeout_ms=SHORT_MS),
    }
    coroutine = calls[call]()
    states = [producer.state.name]

    def record(kind: str, name: str, data: Any) -> int:
        states.extend([data["state"]] if kind == "state" else [])
        return 0

    port.record = record  # type: ignore[method-assign]
    result = await error_of(coroutine)
    return result, states[min(1, len(states) - 1)]


TARGETS = {
    "init": "INITIALIZING",
    "begin": "IN_TRANSACTION",
    "prepare": "PREPARED_TRANSACTION",
    "commit": "COMMITTING_TRANSACTION",
    "abort": "ABORTING_TRANSACTION",
    "close": "ABORTING_TRANSACTION",
}
JAVA = {
    "init": "initTransactions",
    "begin": "beginTransaction",
    "send": "send",
    "offsets": "sendOffsetsToTransaction",
    "prepare": "prepareTransaction",
    "commit": "commitTransaction",
    "abort": "abortTransaction",
}


def message_of(state: str, waiting: str, call: str, cell: str) -> str:
    """Kafka's message of a refusal."""
    partition = "Cannot add partition t-0 to transaction "
    initialised = f"{partition}while in state  {state}"
    none = f"{partition}before completing a call to initTransactions" if state == "UNINITIALIZED" else initialised
    offsets = f"Cannot send offsets if a transaction is not in progress (currentState= {state})"
    return {
        "x": f"TransactionalId a: Invalid transition attempted from state {state} to state {TARGETS.get(call)}",
        "n": offsets if call == "offsets" else none,
        "p": "Cannot perform operation while the transaction is in a prepared state. "
        "Only commitTransaction(), abortTransaction(), or completeTransaction() are permitted.",
        "q": "Cannot complete transaction: no transaction has been prepared. "
        "Call prepareTransaction() first, or make sure initTransaction(true) was called.",
        "f": f"Cannot attempt operation `{JAVA.get(call)}` because the previous call to `{JAVA.get(waiting)}` "
        "timed out and must be retried",
        "s": "Cannot execute transactional method because we are in an error state",
    }[cell]


@pytest.mark.parametrize(("state", "waiting", "call", "cell"), TYPED)
def test_every_call_in_every_state_does_what_the_facts_say(state: str, waiting: str, call: str, cell: str) -> None:
    port = port_for(state, waiting)

    async def program() -> tuple[Any, str, str, int]:
        producer = await reach(port, state, waiting)
        before = len(port.list_sent())
        error, then = await call_it(port, producer, call)
        return error, then, producer.state.name, len(port.list_sent()) - before

    error, then, _, asked = port.run(program())
    if cell == ">":
        assert then == TARGETS[call]
        assert call == "close" or error is None or isinstance(error, KafkaTimeoutError)
    elif cell == "=":
        assert error is None
        assert then in (state, "READY", "COMMITTING_TRANSACTION", "ABORTING_TRANSACTION")
    elif cell == "c":
        assert asked == 0
        assert not isinstance(error, IllegalStateError)
        assert isinstance(error, KafkaTimeoutError) is bool(port.held)
    else:
        assert type(error) is {"s": KafkaError, "q": InvalidTxnStateError}.get(cell, IllegalStateError)
        assert str(error) == message_of(state, waiting, call, cell)
        assert (then, asked) == (state, 0)  # and nothing has changed


LETTERS = {
    Action.INVALID: "x",
    Action.NOT_READY: "n",
    Action.PREPARED: "p",
    Action.NOT_PREPARED: "q",
    Action.STORED: "s",
    Action.CACHED: "c",
    Action.RETRY_FIRST: "f",
    Action.MOVE: ">",
    Action.STAY: "=",
}


@pytest.mark.parametrize(("state", "waiting", "call", "cell"), TYPED)
def test_the_table_says_the_same(state: str, waiting: str, call: str, cell: str) -> None:
    names = dict(zip(CALLS, Call, strict=True))
    found = TABLE[names.get(waiting)][names[call]][ProducerState[state]]
    assert LETTERS[found.action] == cell
    assert found.action is not Action.MOVE or found.target is ProducerState[TARGETS[call]]


def test_the_tables_are_total() -> None:
    assert set(TABLE) == {None, Call.INIT, Call.COMMIT, Call.ABORT}
    assert all(set(calls) == set(Call) for calls in TABLE.values())
    assert all(set(row) == set(ProducerState) for calls in TABLE.values() for row in calls.values())
    assert set(EVENTS) == set(SenderEvent)
    assert all(set(row) == set(ProducerState) for row in EVENTS.values())


# Columns: the nine states in the order of ProducerState. > the move, i ignored, ! poisoned.
HAPPENINGS = """
ID_NEEDED     INITIALIZING     >!!!!!!!!
INITIALIZED   READY            !>!!!!!!!
INIT_REFUSED  UNINITIALIZED    !!!!!!!>!
ID_DROPPED    UNINITIALIZED    !!>!!!!!!
ENDED         READY            !!!!!>>!!
EPOCH_NEEDED  INITIALIZING     !!!!!>>!!
ABORTABLE     ABORTABLE_ERROR  !>!>!>i>!
FATAL         FATAL_ERROR      >>>>>>>>>
"""
ORDER = (
    ("UNINITIALIZED", "-"), ("INITIALIZING", "init"), ("READY", "-"), ("IN_TRANSACTION", "-"),
    ("PREPARED_TRANSACTION", "-"), ("COMMITTING_TRANSACTION", "commit"), ("ABORTING_TRANSACTION", "abort"),
    ("ABORTABLE_ERROR", "-"), ("FATAL_ERROR", "-"),
)  # fmt: skip
EVENT_CELLS = [
    pytest.param(event, target, where, cell, id=f"{event}-{where[0]}")
    for event, target, cells in (line.split() for line in HAPPENINGS.strip().splitlines())
    for where, cell in zip(ORDER, cells, strict=True)
]


@pytest.mark.parametrize(("event", "target", "where", "cell"), EVENT_CELLS)
def test_every_event_in_every_state_does_what_the_facts_say(
    event: str, target: str, where: tuple[str, str], cell: str
) -> None:
    port = port_for(*where)

    async def program() -> Producer:
        producer = await reach(port, *where)
        producer.transaction_manager.apply_event(SenderEvent[event], KafkaError("the cause"))
        return producer

    producer = port.run(program())
    if cell == "!":
        error = producer.transaction_manager.error
        assert (producer.state, type(error)) == (ProducerState.FATAL_ERROR, IllegalStateError)
        transition = f"Invalid transition attempted from state {where[0]} to state {target}"
        assert str(error) == f"TransactionalId a: {transition}"
    else:
        assert producer.state.name == (where[0] if cell == "i" else target)


def test_KAFKA_14831_an_illegal_move_of_the_sender_ends_the_producer_and_later_calls_say_why() -> None:
    port = ScriptedPort()

    async def program() -> list[Any]:
        producer = port.producer()
        await producer.init_transactions()
        # in READY there is nothing to abort
        producer.transaction_manager.apply_event(SenderEvent.ABORTABLE, KafkaError("late"))
        calls = (producer.send("t", "v"), producer.commit_transaction(), producer.abort_transaction())
        return [await error_of(call) for call in calls]

    found = port.run(program())
    text = (
        f"Producer with transactionalId 'a' and (producerId={PID}, epoch=5) cannot execute "
        "transactional method because of previous invalid state transition attempt"
    )
    assert [(type(e), str(e)) for e in found] == [(IllegalStateError, text)] * 3
    assert isinstance(found[0].__cause__, IllegalStateError)


def test_a_fenced_producer_is_told_in_kafkas_words() -> None:
    port = ScriptedPort(EndTxn=Error.INVALID_PRODUCER_EPOCH)

    async def program() -> Any:
        producer = await begin(port)
        await (await producer.send("t", "v"))
        await error_of(producer.commit_transaction())
        return await error_of(producer.abort_transaction())

    error = port.run(program())
    assert (type(error), str(error)) == (
        ProducerFencedError,
        f"Producer with transactionalId 'a' and (producerId={PID}, epoch=5) has been fenced by "
        "another producer with the same transactionalId",
    )


def test_two_phase_commit_is_not_requested_of_brokers_that_do_not_offer_it() -> None:
    """As Java 4.3.1 and 4.4.0 do: InitProducerId with the ordinary timeout and without the flag; sending works."""
    port = ScriptedPort()

    async def program() -> Any:
        producer = await begin(port, transaction_two_phase_commit_enable=True)
        await (await producer.send("t", "v"))
        refused = await error_of(producer.prepare_transaction())
        await producer.commit_transaction()
        return refused, producer.state

    error, state = port.run(program())
    (init,) = port.list_sent("InitProducerId")
    assert (init.enable_2pc, init.transaction_timeout_ms) == (False, 60_000)
    assert (error.error, state) == (Error.UNSUPPORTED_VERSION, ProducerState.READY)


@pytest.mark.parametrize(("own", "committed"), [(True, True), (False, False)])
def test_a_prepared_transaction_is_committed_if_it_is_the_one_named(own: bool, committed: bool) -> None:
    port = ScriptedPort()
    port.two_phase_commit = True

    async def program() -> Any:
        producer = await begin(port, transaction_two_phase_commit_enable=True)
        await producer.send("t", "v")
        prepared = await producer.prepare_transaction()
        await producer.complete_transaction(prepared if own else (PID, 99))
        return producer.state

    assert port.run(program()) is ProducerState.READY
    assert [e.committed for e in port.list_sent("EndTxn")] == [committed]


def test_without_two_phase_commit_nothing_can_be_prepared() -> None:
    port = ScriptedPort()

    async def program() -> Any:
        producer = await begin(port)
        return await error_of(producer.prepare_transaction()), producer.state

    error, state = port.run(program())
    assert (type(error), str(error)) == (
        InvalidTxnStateError, "Cannot prepare a transaction when 2PC is not enabled"
    )  # fmt: skip
    assert state is ProducerState.IN_TRANSACTION


def test_close_flushes_aborts_what_is_open_and_bars_every_call() -> None:
    port = ScriptedPort()

    async def program() -> list[Any]:
        producer = await begin(port, linger_ms=10_000)
        future = await producer.send("t", "v")
        await producer.close()
        found = [await error_of(future)]
        calls = (producer.init_transactions(), producer.send("t", "w"), producer.commit_transaction(),
                 producer.abort_transaction(), producer.send_offsets_to_transaction(OFFSETS, GROUP))  # fmt: skip
        found += [await error_of(call) for call in calls]
        with pytest.raises(IllegalStateError, match="after producer has been closed"):
            producer.begin_transaction()
        return found

    sent, *refused = port.run(program())
    assert sent is None
    assert [str(e) for e in refused] == ["Cannot perform operation after producer has been closed"] * 5
    assert port.names() == ["InitProducerId", "Produce", "EndTxn"]
    assert port.list_sent("EndTxn")[0].committed is False


def test_close_at_once_asks_nobody_and_fails_what_waits() -> None:
    port = ScriptedPort()

    async def program() -> Any:
        producer = await begin(port, linger_ms=10_000)
        future = await producer.send("t", "v")
        await producer.close(timeout_ms=0)
        await port.sleep(60_000)
        return await error_of(future)

    error = port.run(program())
    assert (type(error), str(error)) == (KafkaError, "Producer is closed forcefully.")
    assert port.names() == ["InitProducerId"]
    assert not isinstance(error, TransactionAbortedError)
