"""Items about producers: duplicates, restarts, errors, and what a client can rely on when it gives up."""

from __future__ import annotations

from functools import partial

from kafkalab.course.inventory.item import OTHER, RIGHT, Item, Option, Variant
from kafkalab.course.inventory.runs import count_sent, find_remedy, judge_claim

SHOPS = ("tea", "salt", "rice", "oil")
OLD_CLIENTS = ("librdkafka 2.16", "a Java client of Kafka 3.9", "a Java client of Kafka 2.8", "a client of Kafka 3.0")


def _send_again(order: str) -> Variant:
    return Variant(
        f"An application sends the order “{order}” with an idempotent producer. It gets no answer in time, and calls "
        "send() once more with the same order. Both requests arrive. How often is the order in the log?",
        (
            Option(RIGHT, "Twice: the second send() is a new record with the next sequence number.", "2 copies"),
            Option("duplicates", "Once: an idempotent producer writes no duplicate.", "1 copies"),
            Option("content", "Once: the leader sees that both have the same key and value.", "1 by content"),
            Option("timed out", "Once: the first send() has timed out, so it wrote nothing.", "1 by time-out"),
        ),
        partial(count_sent, 2),
    )


def _equal_records(order: str, times: int) -> Variant:
    return Variant(
        f"{times} customers order “{order}”. One idempotent producer sends {times} records with the same key and "
        "value. No frame is lost. How many records are in the log?",
        (
            Option(RIGHT, f"{times}: each record has its own sequence number.", f"{times} copies"),
            Option("content", "1: the leader recognises the later ones by their key and value.", "1 by content"),
            Option("duplicates", "1: idempotence removes equal records.", "1 copies"),
            Option(OTHER, "1: a later record replaces an earlier one with the same key.", "1 replaced"),
        ),
        partial(count_sent, times),
    )


def _restart(order: str) -> Variant:
    return Variant(
        f"An application with an idempotent producer, and without a transactional id, sends “{order}”. The record is "
        f"written. Before the answer comes the application crashes; it starts again and sends “{order}” again. How "
        "often is it in the log?",
        (
            Option(RIGHT, "Twice: the new producer has another producer id.", "2 copies"),
            Option(
                "restart", "Once: after the restart the producer has the same id and continues to count.", "1 restart"
            ),
            Option("duplicates", "Once: an idempotent producer writes no duplicate.", "1 copies"),
            Option("content", "Once: the leader sees the same key and value.", "1 by content"),
        ),
        partial(count_sent, 1, 2),
    )


def _commit_timed_out(seconds: int) -> Variant:
    return Variant(
        f"commit_transaction() raises a time-out: no broker has answered for {seconds} s. What should the application "
        "do next?",
        (
            Option(RIGHT, "Call commit_transaction() again: nobody knows yet whether it is committed.", "retry"),
            Option("timed out", "Call abort_transaction(): the commit has failed.", "abort"),
            Option("given up", "Send everything again with a new producer: the old request is gone.", "recreate"),
            Option("coordinator", "Report the data as lost: the coordinator is gone, and the transaction too.", "exit"),
        ),
        partial(find_remedy, 1),
    )


def _late_request(what: str) -> Variant:
    return Variant(
        f"The client speaks version 1 of the transaction protocol. It gives up on its request to commit {what}, asks "
        "again, gets its answer, and begins the next transaction. Now the first request arrives. What does it do?",
        (
            Option(RIGHT, "It ends the transaction that is open now.", "refuted"),
            Option("given up", "Nothing: the client has given it up.", "nothing, given up"),
            Option("upgrade", "Nothing, if the brokers run Kafka 4: they refuse it.", "nothing, upgraded"),
            Option("zombie", "Nothing: the transactional id tells the leader that it is late.", "nothing, zombie"),
        ),
        partial(judge_claim, 1),
    )


def _old_client(client: str) -> Variant:
    return Variant(
        f"All brokers run Kafka 4 with transaction version 2. The client is {client}, which speaks version 1. Its "
        "EndTxn arrives 31 s late, when the next transaction is open. Is that transaction safe?",
        (
            Option(RIGHT, "No: it can be torn, because the client decides which version is spoken.", "refuted"),
            Option("upgrade", "Yes: brokers of version 2 refuse a late EndTxn of any client.", "shown"),
            Option("given up", "Yes: the client has given that request up.", "shown, given up"),
            Option("instance", "Yes, as long as no second instance uses the same transactional id.", "shown, instance"),
        ),
        partial(judge_claim, 8),
    )


def _describe_fencing(row: int, error: str) -> Variant:
    return Variant(
        f"After 75 s of work {error}. The transaction may take 60 s, and only one instance runs. What has happened?",
        (
            Option(RIGHT, "The coordinator has aborted the transaction and raised the epoch. A new producer can "
            "continue.",
                   "recreate"),
            Option("instance", "Another instance with the same transactional id has started: this one ends.", "exit"),
            Option("coordinator", "The coordinator has crashed and lost the transaction: ask again.", "retry"),
            Option("restart", "It is refused permanently: a new producer would have the same id and "
            "epoch.", "exit, id"),
        ),
        partial(find_remedy, row),
    )  # fmt: skip


ABOUT_SENDING = (
    Item("duplicates", 1, tuple(_send_again(order) for order in SHOPS), asked=1),
    Item("content", 1, tuple(_equal_records(order, times) for order, times in zip(SHOPS, (2, 3, 2, 3), strict=True))),
    Item("restart", 1, tuple(_restart(order) for order in SHOPS), asked=3),
    Item("instance", 7, (
        _describe_fencing(5, "the future of send() raises InvalidProducerEpochError, in version 1"),
        _describe_fencing(7, "commit_transaction() raises ProducerFencedError, in version 1"),
        _describe_fencing(6, "commit_transaction() raises InvalidTxnStateError, in version 2"),
    )),
    Item("timed out", 9, tuple(_commit_timed_out(seconds) for seconds in (20, 30, 60))),
    Item("given up", 9, tuple(_late_request(what) for what in ("an order", "a payment", "a delivery")), asked=1),
    Item("upgrade", 9, tuple(_old_client(client) for client in OLD_CLIENTS), asked=3),
)  # fmt: skip
