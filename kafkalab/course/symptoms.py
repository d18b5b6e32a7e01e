"""docs/symptoms.md: from what an operator sees to the lab cell that shows it, and to the command that tells more.

The symptoms are named here; cells, commands and errors are looked up in the notebooks and in the error atlas.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from kafkalab.course.labs import COURSE
from kafkalab.course.questions import HEADING
from kafkalab.grading.builder import FIGURE, LABS, SOLUTIONS, read
from kafkalab.grading.landing import plain
from kafkalab.protocol.errors import Error
from kafkalab.reference.error_atlas import MEANING

PAGE = Path("docs") / "symptoms.md"
PRODUCTION = "production"
"""The cell of each lab that names commands, logs and metrics."""


@dataclass(frozen=True, slots=True)
class Symptom:
    """What is seen, what it is, the lab's number and the cell that shows it, a command of that lab, and errors met."""

    seen: str
    means: str
    lab: int
    cell: str
    command: str
    errors: tuple[Error, ...] = ()


TOOL = "kafka-transactions.sh --bootstrap-server host:9092"
DESCRIBE = f"{TOOL} describe --transactional-id"
PRODUCERS = f"{TOOL} describe-producers --topic"
GROUPS = "kafka-consumer-groups.sh --bootstrap-server host:9092 --describe --group books"
DUMP = "kafka-dump-log.sh --print-data-log --files"
ISOLATION = "kafka-console-consumer.sh --isolation-level read_committed"

GROUP = "kafka-consumer-groups.sh --bootstrap-server host:9092 --describe --group packers"

SYMPTOMS = (
    Symptom("`initTransactions()` hangs and times out", "`__transaction_state` cannot be created or written: too few "
            "brokers, or too few in sync", 2, "alone-what",
            "kafka-topics.sh --bootstrap-server host:9092 --describe --topic __transaction_state",
            (Error.COORDINATOR_NOT_AVAILABLE,)),
    Symptom("Producers pause when a broker restarts", "another broker becomes coordinator and reads the log first", 2,
            "load-what", f"{DESCRIBE} payments-0", (Error.NOT_COORDINATOR, Error.COORDINATOR_LOAD_IN_PROGRESS)),
    Symptom("`commitTransaction()` times out", "the outcome is decided, and the answer was lost: call it again", 3,
            "lost-what", f"{DESCRIBE} payments-0"),
    Symptom("A `read_committed` consumer is stuck", "a transaction is open at the last stable offset; look for its "
            "producer", 5, "stuck-what", f"{PRODUCERS} ledger --partition 0"),
    Symptom("A transaction never ends", "no coordinator knows it any more: it is hanging", 8,
            "find-both-what", f"{TOOL} find-hanging --broker-id 1"),
    Symptom("A `read_committed` consumer is stuck since brokers were restarted", "a partition had no leader when its "
            "marker was due, and Kafka 4.3 took it for deleted (KAFKA-20734)", 8, "none-what",
            f"{TOOL} find-hanging --broker-id 1"),
    Symptom("Half of a transaction is missing since somebody ran `abort`", "it did not hang: its client has committed "
            "the rest", 8, "race-what", f"{TOOL} forceTerminateTransaction --transactionalId payments-0"),
    Symptom("Lag stays at 1", "the last entry is a marker, and the offset behind the last record was committed", 4,
            "idle-what", GROUPS),
    Symptom("`LAG` is not 0, and the consumer has read everything", "the tool counts what is undecided, too", 4,
            "lag-what", GROUPS),
    Symptom("Offsets have gaps", "markers take offsets; nothing is lost", 4, "gaps-what", DUMP),
    Symptom("A program waits for the last record and never ends", "the last entry is a marker or aborted", 4,
            "wait-what", DUMP),
    Symptom("A consumer returns aborted records", "its `isolation.level` is `read_uncommitted`, Java's default", 5,
            "default-what", ISOLATION),
    Symptom("Two services log `ProducerFencedException` in turn", "they have the same `transactional.id`", 6,
            "shared-told", f"{DESCRIBE} billing-0", (Error.PRODUCER_FENCED,)),
    Symptom("Fenced, with one instance only", "the transaction was open for longer than `transaction.timeout.ms`", 6,
            "alone-told", f"{DESCRIBE} billing-0", (Error.PRODUCER_FENCED, Error.INVALID_TXN_STATE)),
    Symptom("A write is refused for its epoch", "another instance has the name, or the transaction timed out", 6,
            "which-told", f"{DESCRIBE} billing-0", (Error.INVALID_PRODUCER_EPOCH,)),
    Symptom("A new producer waits a moment at its start", "its predecessor's transaction is being aborted", 6,
            "wait-told", f"{DESCRIBE} billing-0", (Error.CONCURRENT_TRANSACTIONS,)),
    Symptom("`transaction.timeout.ms` is refused", "brokers allow no more than `transaction.max.timeout.ms`", 6,
            "limit-told", f"{DESCRIBE} billing-0", (Error.INVALID_TRANSACTION_TIMEOUT,)),
    Symptom("Charges twice, without an error", "a random `transactional.id`: nobody is ever fenced", 6, "random-told",
            "kafka-transactions.sh ... list"),
    Symptom("A cancelled transaction is half visible, without an error", "a late request has ended the wrong "
            "transaction: the client speaks version 1", 9, "torn-told",
            "kafka-features.sh --bootstrap-server host:9092 describe"),
    Symptom("The epoch rises with every commit", "transaction version 2: each transaction has an epoch of its own", 9,
            "v2-told", f"{DESCRIBE} shop-0"),
    Symptom("`sendOffsetsToTransaction()` throws `CommitFailedException`", "the group has given the partition to "
            "another member: abort, then poll", 10, "abortable-told", GROUP),
    Symptom("The new owner of a partition reads nothing for a while", "a transaction of the old owner holds its offset",
            10, "pending-told", "kafka-transactions.sh ... list", (Error.UNSTABLE_OFFSET_COMMIT,)),
    Symptom("Records are missing after an abort, without an error", "the consumer read on: an abort does not rewind it",
            10, "abort-told", GROUP),
    Symptom("Duplicates, without an error", "the answer was lost, and a producer without idempotence sent again", 0,
            "break-what", DUMP),
    Symptom("`OutOfOrderSequenceException` in the log", "a batch before this one is missing; harmless while the "
            "producer retries", 1, "gap-what", f"{PRODUCERS} orders --partition 0",
            (Error.OUT_OF_ORDER_SEQUENCE_NUMBER,)),
    Symptom("An idle producer fails after days", "brokers before Kafka 2.5 forgot it and then refused it", 1,
            "unknown-what", f"{PRODUCERS} orders --partition 0", (Error.UNKNOWN_PRODUCER_ID,)),
    Symptom("Duplicates, though idempotence is on", "`acks=1` or `retries=0` turned it off, or the program sent again",
            1, "settings-what", "kafka-dump-log.sh --print-data-log"),
    Symptom("A row is missing in a database, or there twice, without an error", "its commit and Kafka's are two; a "
            "crash came between them", 11, "order",
            "kafka-consumer-groups.sh --bootstrap-server host:9092 --describe --group bookers"),
    Symptom("A transaction is open for hours, and `find-hanging` does not list it", "its coordinator knows it: the "
            "producer lives, and its timeout is long. It is not two-phase commit, which no released client requests",
            11, "q33", f"{DESCRIBE} booker"),
    Symptom("A count by offsets shows a loss", "markers and compaction take offsets: `end - begin` is no count", 12,
            "gaps-what", DUMP),
    Symptom("A Spark job doubles rows", "a task that was tried again has sent its rows again", 12, "sink-what",
            "kafkalab audit night --html night.html"),
)  # fmt: skip


@cache
def _notebook(root: Path, lab: int) -> dict[str, Any]:
    return read(root / SOLUTIONS / f"{_name(lab)}.ipynb")


def _name(lab: int) -> str:
    return next(one.name for one in COURSE if one.number == lab)


def _text(root: Path, lab: int, cell: str) -> str:
    """The cell's text; ValueError if the lab has no such cell."""
    for found in _notebook(root, lab)["cells"]:
        if found["id"] == cell:
            return "".join(found["source"])
    raise ValueError(f"lab {lab} has no cell {cell}")


def heading(root: Path, lab: int, cell: str) -> str:
    """The last heading at or before the cell."""
    last = ""
    for found in _notebook(root, lab)["cells"]:
        if found["cell_type"] == "markdown" and (headings := HEADING.findall("".join(found["source"]))):
            last = plain(headings[-1])
        if found["id"] == cell:
            return last
    raise ValueError(f"lab {lab} has no cell {cell}")


def command(root: Path, symptom: Symptom) -> str:
    """The command of the lab's production cell, with its tool where the cell shortens it; ValueError if it lacks it."""
    for found in re.finditer(r"`([^`]+)`", _text(root, symptom.lab, PRODUCTION)):
        if found[1].startswith(symptom.command):
            short = str(found[1]).removeprefix("kafka-transactions.sh ... ")
            whole = short == found[1] and short.split()[0].endswith((".sh", "kafkalab"))
            return short if whole else f"kafka-transactions.sh --bootstrap-server host:9092 {short}"
    raise ValueError(f"lab {symptom.lab} names no command {symptom.command!r}")


def shows(root: Path, error: Error) -> Iterator[tuple[int, str]]:
    """Yield the labs in which a text or a printed output names this error, each with the first heading where it is.

    The text twin of a picture does not count: it lists errors that nobody met.
    """
    for lab in COURSE:
        if not (root / SOLUTIONS / f"{lab.name}.ipynb").exists():
            continue
        for cell in _notebook(root, lab.number)["cells"]:
            if "grade_id" in cell["metadata"].get("nbgrader", {}):
                continue
            printed = (o for o in cell.get("outputs", []) if FIGURE not in o.get("data", {}))
            outputs = ("".join(o.get("text", o.get("data", {}).get("text/plain", ""))) for o in printed)
            if error.name in "".join([*cell["source"], *outputs]):
                yield lab.number, heading(root, lab.number, cell["id"])
                break


def page(root: Path) -> str:
    """The page. ValueError for a symptom whose cell or command is in no lab."""
    lines = [
        "# From a symptom to the cell that shows it",
        "",
        "For operators. Each row leads to a cell in which the symptom is made on purpose, step by step, and to a "
        "command that says more about your own cluster. `host:9092`, topics and ids are to be replaced by yours. "
        "Written by `kafkalab build-labs` from the labs and the [error atlas](errors.md).",
        "",
        "| you see | it is | shown in | command |",
        "|:--|:--|:--|:--|",
    ]
    for one in SYMPTOMS:
        _text(root, one.lab, one.cell)
        errors = "".join(f"<br>[{e.name}]({_anchor(e)})" for e in one.errors)
        lines.append(f"| {one.seen}{errors} | {one.means} | {_link(root, one)} | `{command(root, one)}` |")
    lines += ["", "## By error", "", "| error | what to do | named in |", "|:--|:--|:--|"]
    elsewhere = []
    for error, meaning in MEANING.items():
        labs = ", ".join(f"[lab {n}, {title}]({_target(n, title)})" for n, title in shows(root, error))
        named = f"[{error.name}]({_anchor(error)})"
        if labs:
            lines.append(f"| {named} | {meaning} | {labs} |")
        else:
            elsewhere.append(named)
    return "\n".join([*lines, "", f"In the atlas only: {', '.join(elsewhere)}.", ""])


def _anchor(error: Error) -> str:
    return f"errors.md#{error.name.lower()}-{error.code}"


def _target(lab: int, title: str) -> str:
    return f"../{LABS}/{_name(lab)}.ipynb#{title.replace(' ', '-')}"


def _link(root: Path, symptom: Symptom) -> str:
    title = heading(root, symptom.lab, symptom.cell)
    return f"[lab {symptom.lab}, {title}]({_target(symptom.lab, title)})"
