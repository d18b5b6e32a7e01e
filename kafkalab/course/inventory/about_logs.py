"""Items about logs and readers: offsets, lag, markers, and what a read_committed consumer is sent."""

from __future__ import annotations

from functools import partial

from kafkalab.course.inventory.item import OTHER, RIGHT, Item, Option, Variant
from kafkalab.course.inventory.runs import (
    count_left,
    find_after_abort,
    find_at_offset,
    read_aborted,
    read_after_open,
    read_between_markers,
    read_open,
)

FEW = (2, 3, 4, 5)


def _hole(transactions: int) -> Variant:
    offsets = ", ".join(str(2 * number) for number in range(transactions))
    return Variant(
        f"{transactions} transactions write one record each into one partition, and commit. A consumer sees the "
        f"offsets {offsets}. What is at offset 1?",
        (
            Option(RIGHT, "A commit marker, which no application is given.", "marker"),
            Option("gaps", "A record that is lost.", "record"),
            Option("deleted", "A record that was aborted and deleted.", "deleted"),
            Option("lag", "A record that the consumer has still to read.", "unread"),
        ),
        partial(find_at_offset, transactions),
    )


def _lag(records: int) -> Variant:
    return Variant(
        f"A partition holds one committed transaction of {records} records, at the offsets 0 to {records - 1}. The "
        f"group's committed offset is {records}, and the tool shows LAG 1. What is left to read?",
        (
            Option(RIGHT, "Nothing: the 1 is the commit marker.", "0 left"),
            Option("lag", "One record that the consumer has not read yet.", "1 left"),
            Option("gaps", "Nothing any more: one record is lost.", "lost"),
            Option("buffer", "One record, which is withheld until the next commit.", "kept back"),
        ),
        partial(count_left, records),
    )


def _after_open(records: int) -> Variant:
    return Variant(
        "In one partition transaction A writes a record; then its application dies, and ends nothing. A second later "
        f"transaction B writes {records} records after it, and commits. Now a read_committed consumer polls. What does "
        "it get of B?",
        (
            Option(RIGHT, "Nothing: A is still open, and its record comes before those of B. They are not sent.",
                   "0 read, 0 sent"),
            Option("committed", f"All {records}: B is committed.", f"{records} read, {records} sent"),
            Option("application", f"All {records}: A is aborted, because its application is dead.",
                   f"{records} read, dead"),
            Option("buffer", "Nothing yet: the consumer has them, and keeps them until A ends.",
                   f"0 read, {records} sent"),
        ),
        partial(read_after_open, records),
    )  # fmt: skip


def _aborted_log(records: int) -> Variant:
    return Variant(
        f"A producer writes {records} records in a transaction, waits until they are acknowledged, and aborts. What is "
        "in the partition's log?",
        (
            Option(RIGHT, f"The {records} records and an abort marker.", f"{records} records, 1 marker"),
            Option("deleted", "Only the abort marker: the records are deleted.", "0 records, 1 marker"),
            Option("broker filters", f"The {records} records alone: the broker remembers not to send them.",
                   f"{records} records, 0 marker"),
            Option("buffer", "Nothing: the records were kept back for the commit.", "0 records, 0 marker"),
        ),
        partial(find_after_abort, records),
    )  # fmt: skip


def _aborted_read(aborted: int, committed: int) -> Variant:
    every = aborted + committed
    return Variant(
        f"A partition holds {aborted} aborted records and after them {committed} committed ones. A read_committed "
        "consumer reads all of it. How many of these records do the brokers send to it?",
        (
            Option(RIGHT, f"{every}, and the list of aborted transactions: the consumer leaves {aborted} out.",
                   f"{every} sent, {committed} read"),
            Option("broker filters", f"{committed}: the broker leaves the aborted ones out.",
                   f"{committed} sent, {committed} read"),
            Option("deleted", f"{committed}: the others are deleted.", f"{committed} left, {committed} read"),
            Option(OTHER, f"{every}, and the application gets all of them.", f"{every} sent, {every} read"),
        ),
        partial(read_aborted, aborted, committed),
    )  # fmt: skip


def _open(records: int) -> Variant:
    return Variant(
        f"A transaction has written {records} records and is still open. A read_committed consumer polls. How many of "
        "them are sent to it?",
        (
            Option(RIGHT, "None: a leader sends nothing past the last stable offset.", "0 sent"),
            Option("buffer", f"{records}: the consumer keeps them back until the commit.", f"{records} sent"),
            Option("whole", "None, until every partition of the transaction has its marker.", "0 until all"),
            Option(OTHER, f"{records}, and the application gets them.", f"{records} sent and read"),
        ),
        partial(read_open, records),
    )


def _half(records: int) -> Variant:
    each = "one record" if records == 1 else f"{records} records"
    return Variant(
        f"A transaction writes {each} to partition 0 and {each} to partition 1, and commits. The marker for partition "
        "1 is late by three seconds. A read_committed consumer of both polls in between. What does it get?",
        (
            Option(RIGHT, "What is in partition 0.", "out-0"),
            Option("whole", "Nothing: it sees the whole transaction or none of it.", "nothing"),
            Option("committed", "All of it: the transaction is committed.", "out-0 and out-1"),
            Option("coordinator", "Nothing: the coordinator undoes the commit when a marker is late.", "aborted"),
        ),
        partial(read_between_markers, records),
    )


ABOUT_LOGS = (
    Item("gaps", 4, tuple(_hole(number) for number in FEW), asked=3),
    Item("lag", 4, tuple(_lag(number) for number in FEW), asked=3),
    Item("committed", 5, tuple(_after_open(number) for number in FEW), asked=3),
    Item("deleted", 5, tuple(_aborted_log(number) for number in FEW)),
    Item("broker filters", 5, tuple(_aborted_read(number, 2) for number in FEW), asked=3),
    Item("buffer", 5, tuple(_open(number) for number in FEW), asked=1),
    Item("whole", 5, tuple(_half(number) for number in (1, *FEW)), asked=3),
)
