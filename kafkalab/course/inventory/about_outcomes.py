"""Items about what becomes of a transaction, of a group's position, and of what is outside Kafka."""

from __future__ import annotations

from functools import partial

from kafkalab.course.inventory.item import OTHER, RIGHT, Item, Option, Variant
from kafkalab.course.inventory.runs import book, find_outcome_of_crash, find_position, pack_with_zombie
from kafkalab.programs.booking import PATTERNS

KAFKA_FIRST, DATABASE_FIRST = "Kafka first", "database first"


def _coordinator(row: int, moment: str) -> Variant:
    return Variant(
        f"The coordinator crashes right after {moment}, and stays down. The application lives, and wants to commit. "
        "What happens to the transaction?",
        (
            Option(RIGHT, "It is committed: the application asks the next coordinator.", "committed"),
            Option("coordinator", "It is aborted: the coordinator is gone.", "aborted"),
            Option("timed out", "It is aborted: the call times out, so it has done nothing.", "aborted by time-out"),
            Option(OTHER, "Nobody can say: the next coordinator decides by chance.", "by chance"),
        ),
        partial(find_outcome_of_crash, row),
    )


def _application(row: int, moment: str) -> Variant:
    return Variant(
        f"{moment}, and stays down. What happens to the transaction?",
        (
            Option(RIGHT, "It is committed: the coordinator, or the next one, finishes it.", "committed"),
            Option("application", "It is aborted: its application is dead.", "aborted"),
            Option("given up", "It is aborted: nobody waits for the answer to EndTxn any more.", "aborted, given up"),
            Option("coordinator", "It is aborted: the coordinator's work is lost with it.", "aborted, lost"),
        ),
        partial(find_outcome_of_crash, row),
    )


def _position(says: str, outcome: partial[str]) -> Variant:
    return Variant(
        f"A packer polls two orders in a transaction. {says} Then it polls again. Which orders does it get?",
        (
            Option(RIGHT, "Those after the two: an abort does not reach the consumer.", "unchanged"),
            Option("rewind", "The same two: the abort moves the consumer back.", "rewind"),
            Option("commitSync", "The same two: the abort undoes the offsets that the consumer has committed.",
                   "rewind, commits"),
            Option(OTHER, "The first orders of the topic: the consumer begins again.", "further"),
        ),
        outcome,
    )  # fmt: skip


def _commit_sync(says: str, outcome: partial[str]) -> Variant:
    return Variant(
        f"A packer polls two orders in a transaction. {says} Which orders does it get next?",
        (
            Option(RIGHT, "Those after the two: this commit is no part of the transaction.", "unchanged"),
            Option("commitSync", "The same two: the abort undoes the consumer's commit.", "rewind"),
            Option("rewind", "The same two: an abort always moves the consumer back.", "rewind, always"),
            Option(OTHER, "The first orders of the topic: an abort clears the group's offsets.", "further"),
        ),
        outcome,
    )


def _zombie(names: tuple[str, str]) -> Variant:
    old, new = names
    return Variant(
        f"{old} stops for a minute in the middle of a transaction. The group gives its partition to {new}, which packs "
        f"the same orders. Each has a transactional id of its own. {old} continues, sends its offsets with the group's "
        "name only, and commits. How often are the orders packed?",
        (
            Option(RIGHT, f"Twice: nothing in the request says that {old} is no member any more.", "twice"),
            Option("zombie", f"Once: the transactional id shows that {old} is late, and {old} is fenced.", "once"),
            Option("duplicates", "Once: the broker drops the duplicate parcels.", "once, duplicates"),
            Option("instance", f"Once: {new} is a second instance, and fences {old}.", "once, instance"),
        ),
        pack_with_zombie,
    )


def _database(pattern: str, gap: int, truth: str, because: str) -> Variant:
    first, second = "Kafka's transaction", "the database"
    if pattern == DATABASE_FIRST:
        first, second = second, first
    call = PATTERNS[pattern][gap - 1][0]
    wrong = "dup" if truth == "lost" else "lost"
    words = {"lost": "Never", "dup": "Twice"}
    return Variant(
        f"A booker reads payments from Kafka and books them in a database. It commits {first} first and then {second}. "
        f"It crashes right after {call}. How often is the payment booked in the end?",
        (
            Option(RIGHT, f"{words[truth]}: {because}", truth),
            Option("database", "Once: exactly-once covers Kafka and the database.", "ok"),
            Option("rewind", "Once: the abort moves the consumer back, and repairs it.", "ok, rewind"),
            Option(OTHER, f"{words[wrong]}.", wrong),
        ),
        partial(book, pattern, gap),
    )


PACKERS = (("packer-1", "packer-2"), ("till-1", "till-2"), ("worker-1", "worker-2"), ("east", "west"))
LOST = "the offset is committed, and nobody reads the payment again."
TWICE = "the payment is read again, and the first booking stays."
ABOUT_OUTCOMES = (
    Item("coordinator", 3, (
        _coordinator(4, "it has written the transaction's first entry, Ongoing"),
        _coordinator(7, "it has written PrepareCommit, before any other broker has copied it"),
        _coordinator(4, "the transaction's first partition was added"),
    ), asked=1),
    Item("application", 3, (
        _application(6, "The application crashes right after EndTxn(commit) has reached the coordinator"),
        _application(9, "Application and coordinator crash right after every in-sync replica has PrepareCommit"),
        _application(10, "The application crashes with the leader of one partition, right after that leader wrote its "
                     "commit marker"),
    ), asked=3),
    Item("rewind", 10, (
        _position("It aborts.", partial(find_position, "abort")),
        _position("It sends its offsets to the transaction, and aborts.",
                  partial(find_position, "send the offsets", "abort")),
        _position("It aborts, closes the producer, and continues with a new producer.",
                  partial(find_position, "abort", "new producer")),
    ), asked=1),
    Item("commitSync", 10, (
        _commit_sync("It calls commit_sync(), aborts, and seeks to its committed offsets.",
                     partial(find_position, "commit_sync", "abort", "seek to committed")),
        _commit_sync("With enable.auto.commit=true it aborts, closes the consumer, and subscribes with a new one.",
                     partial(find_position, "abort", "new consumer", automatic=True)),
        _commit_sync("It calls commit_sync(), aborts, closes the consumer, and subscribes with a new one.",
                     partial(find_position, "commit_sync", "abort", "new consumer")),
    ), asked=3),
    Item("zombie", 10, tuple(_zombie(names) for names in PACKERS), asked=3),
    Item("database", 11, (
        _database(KAFKA_FIRST, 4, "lost", LOST),
        _database(KAFKA_FIRST, 5, "lost", LOST),
        _database(DATABASE_FIRST, 3, "dup", TWICE),
        _database(DATABASE_FIRST, 4, "dup", TWICE),
        _database(DATABASE_FIRST, 5, "dup", TWICE),
    ), asked=4),
)  # fmt: skip
