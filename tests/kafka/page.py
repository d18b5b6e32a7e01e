"""Write docs/compared.md: what was compared with which Kafka, how many answers, what is left and why."""

from __future__ import annotations

import json
import re
from typing import Any

from kafkalab.protocol.errors import Error
from tests.kafka.differences import explanations
from tests.kafka.hunts import CLEANINGS, HUNTS, read_rows
from tests.kafka.mutations import read_mutations
from tests.kafka.script import HERE, RECORDED, families, read_recorded, scripts_of

PAGE = HERE.parents[1] / "docs" / "compared.md"
CLIENTS = "java-4.3.1-clients"
FAMILIES = {
    "tools": "configs, groups and partitions, as Kafka's own tools ask for them",
    "administration": "topics created, records deleted, transactions and producers described and listed, the cluster",
    "acl": "requests of a client that lacks a permission, a full group, a batch that is too large",
    "broker_to_broker": "verification of a partition by its leader, adding for a client, several ids in one request",
    "coordinator_v1": "each cell of the coordinator's tables, for clients of transaction.version 0 and 1",
    "coordinator_v2": "each cell of the coordinator's tables, for clients of transaction.version 2",
    "edges": "names given twice in one request, limits below 0, epochs that no log has, patterns of transactional ids",
    "groups": "classic groups: join, sync, heartbeat, leave, static members, fencing of generations",
    "idempotent": "sequences, epochs, duplicates and gaps of a producer without transactions",
    "init": "InitProducerId: expectations, epochs bumped and exhausted, transactions of a predecessor",
    "logs": "log start, deleted records, ListOffsets by time and by special timestamp",
    "markers": "WriteTxnMarkers: older coordinators, other epochs, partitions without a transaction",
    "offsets": "offsets of groups, in transactions and outside, pending and stable",
    "old": "what Kafka 1.0.0 answers, to the versions that it knows",
    "reading": "last stable offset, lists of aborted transactions, with interleaved transactions",
    "records": "record sets byte by byte: malformed, cut, compressed, with timestamps of their own",
    "requests": "requests that are refused as a whole or in part",
    "restart": "a broker stopped or killed, and what it knows afterwards",
    "sequences": "sequence numbers at their edges: wrap-around, five cached batches, new epochs",
    "three_nodes": "failover of coordinators and leaders in the middle of a transaction, followers behind",
    "consumer_groups": "random scripts of groups of the consumer protocol (KIP-848, Kafka 4.4)",
    "topic_ids": "scripts of other families once more, with the topic ids of TxnOffsetCommit 6 (KIP-1319, Kafka 4.4)",
    "timeout": "transactions that take too long, and who is fenced by the abort",
    "versions": "every version of every API: what travels in it, and with which errors it is answered",
}
HEAD = """# Compared with Apache Kafka

<!-- Written by `python -m tests.kafka page`; a test compares. -->

Scripts of raw requests were sent to a running Apache Kafka, byte by byte, and its answers kept in
[data/recorded](../data/recorded). `make test` gives the same scripts to kafkalab and compares what was kept of every
answer ([which fields](../tests/kafka/kafka_answers.py)); no Java is needed for that. It fails at a difference that is
not named below. Producer ids and member ids are compared by order of appearance, times as data time or "now".
[tests/kafka/README.md](../tests/kafka/README.md) says how to add a script and how to record.

## Recordings
"""
SECOND = """\
A second run of the recorder, with Kafka's clock three days ahead (`record --days 3`), gave the same answers: all of
`4.3.1-tv0`, `-tv1`, `-acl`, `-three-nodes` and `1.0.0`, and of `4.3.1-tv2` all but two, whose race between groups is
named below.
"""
BROKEN = """## Where Kafka itself breaks a promise

- KAFKA-20734: a coordinator of 4.3 takes a partition without a leader for deleted, skips its marker and completes. In
  the scripts `three_nodes.no_leader_*` a transaction wrote to two partitions, and the only replica of one of them is
  down. EndTxn is answered with NONE, the transaction is CompleteCommit, and the records of the other partition are
  readable. When the replica is back, its partition keeps an open transaction: the last stable offset stays at its
  first record, and no later InitProducerId ends it. An operator who aborts it with WriteTxnMarkers has a committed
  transaction of which one half is aborted. kafkalab waits, as Kafka 4.2 did; these scripts are compared with the wait
  switched off, and [docs/bugs.md](bugs.md) has a run with and without it. Random scripts met it without any replica
  that stays down: one broker is killed and started again, and its coordinator is ready before its leaders are.
- After `kill -9`, records that DeleteRecords has removed can be read again: the log start offset is written down once a
  minute (script `restart.kill_deleted_records`).
- A leader that has questions of several producers for one coordinator sends them together, with the error mode of the
  first (`AddPartitionsToTxnManager.addTxnData`). So a producer that does not know TRANSACTION_ABORTABLE may get it, and
  one that does may get INVALID_TXN_STATE instead. Random scripts that ran side by side met both; kafkalab keeps the
  mode of each.
- A WriteTxnMarkers that ends with a marker for unknown partitions only is never answered if all appends before it are
  complete (script `markers.before_unknown_partition`): `KafkaApis` responds in the last append's callback, and the
  count reaches zero after it. A coordinator whose topic is deleted meanwhile waits until its request times out.
- Java's producer at `transaction.version` 2: after a first InitProducerId that ends with TRANSACTION_ABORTABLE,
  `abortTransaction` leaves it in FATAL_ERROR. kafkalab's does the same.
"""


def text() -> str:
    """Return the page as Markdown."""
    parts = (
        HEAD,
        _recordings(),
        SECOND,
        _subjects(),
        _errors(),
        _list_explanations(),
        BROKEN,
        _clients(),
        _random(),
        _mutations(),
    )
    return "\n".join(part for part in parts if part)


def _table(head: list[str], rows: list[list[Any]]) -> str:
    numbers = ["--:" if isinstance(cell, int) else "---" for cell in rows[0]]
    return "\n".join("| " + " | ".join(map(str, line)) + " |" for line in [head, numbers, *rows]) + "\n"


def _answers() -> dict[str, dict[str, list[Any]]]:
    return {path.stem: read_recorded(path.stem)["answers"] for path in sorted(RECORDED.glob("[0-9]*.json"))}


def _recordings() -> str:
    rows = []
    for name, answers in _answers().items():
        level = read_recorded(name)["features"].get("transaction.version", 0)
        nodes = 3 if name.endswith("three-nodes") else 1
        rows.append([f"`{name}`", name.partition("-")[0], level, nodes, len(answers), sum(map(len, answers.values()))])
    return _table(["recording", "Kafka", "`transaction.version`", "nodes", "scripts", "answers"], rows)


def _subjects() -> str:
    rows = []
    for family in families():
        counted = [len(a) for answers in _answers().values() for n, a in answers.items() if n.split(".")[0] == family]
        rows.append([f'<a id="{family}"></a>{family}', len(scripts_of(family)), sum(counted), FAMILIES[family]])
    return "## Subjects\n\n" + _table(["subject", "scripts", "answers", "what is decided"], rows)


def _list_explanations() -> str:
    """Each explanation, with the scripts whose answers it may excuse."""
    lines = ["## What is left, and why\n"]
    told: dict[str, list[str]] = {}
    for name, answers in _answers().items():
        for rule in explanations(name):
            scripts = re.compile(rule["where"].split("/")[0].split(" ")[0])
            told.setdefault(rule["why"], []).extend(n for n in answers if scripts.match(n))
    for why, names in told.items():
        several = list(dict.fromkeys(names))
        shown = ", ".join(f"`{n}`" for n in several[:3]) + (f" and {len(several) - 3} more" if len(several) > 3 else "")
        lines.append(f"- {shown}: {why}.")
    return "\n".join(lines) + "\n"


def _errors() -> str:
    reasons = json.loads((HERE / "not_recorded.json").read_text("utf-8"))
    lines = [f"- {name}: {why}." for name, why in reasons.items()]
    return f"""## Errors

Of the {len(Error)} errors that kafkalab knows {len(Error) - len(reasons)} are in a recorded answer. The others:

""" + "\n".join([*lines, ""])


def _mutations() -> str:
    rows = read_mutations()
    left = [
        f"- `{row['file'].rpartition('/')[2]}`: `{row['line']}`, changed to `{row['changed']}`: {row['why']}."
        for row in rows
        if "why" in row
    ]
    return f"""## Do the recordings notice a mistake?

`python -m tests.kafka mutate` changes one line of the broker's handlers at a time, drawn by chance, and runs the
scripts that reach it: with {len(rows) - len(left)} of {len(rows)} changes an answer differs from Kafka's. The others
change no answer, or one that no script asks for:

""" + "\n".join([*left, ""])


def _clients() -> str:
    scripts = json.loads((RECORDED / f"{CLIENTS}.json").read_text("utf-8"))
    folder = HERE / "clients"
    rows = json.loads((folder / "explained.json").read_text("utf-8"))
    left = [f"- `{row['script']}`: {row['reason']}" for row in rows]
    return f"""## Clients

Java's producer and consumer (kafka-clients 4.3.1) ran {len(scripts)} small programs against a scripted broker on real
bytes. The requests in their order, the order of back-offs, and the class and message of each exception equal those of
kafkalab's clients. kafka-clients 4.4.0 made the same recording, at this broker, which names topics and offers no
version with ids. What is left:

""" + "\n".join([*left, ""])


def _random() -> str:
    keys = (
        *("recording", "minutes", "seed", "scripts", "answers", "versions", "errors"),
        *("explained", "mixed", "skipped", "races", "different"),
    )
    told = _table([*keys], [[row.get(key, "") for key in keys] for row in read_rows(HUNTS)])
    columns = ("recording", "seed", "logs", "batches", "different")
    cleaned = _table([*columns], [[row[key] for key in columns] for row in read_rows(CLEANINGS)])
    return f"""## Random scripts

`make oracle MINUTES=10` makes scripts from seeds, runs them on both sides, and shrinks each difference to a script that
can be kept. Thirty scripts run side by side on one Kafka; one that differs is run again alone. An answer counts as
"mixed" if alone it is equal, its error is that of the other kind of client (see the mode of the first, above), and a
request of that kind was under way at the same time. A script counts as "skipped" if alone it is equal and Kafka's own
log says that its coordinator has skipped a marker (KAFKA-20734, above). Any other script that Kafka does not answer
twice the same is a race of unknown cause, and fails the hunt as a difference does. Each script that differed was run
again when its cause was mended, and is equal now: a producer without an epoch, markers without a producer id, and in
the generator transactions that timed out on a busy machine.

{told}
## Cleanings

`make oracle` also has Kafka write random transactional logs in segments, and compares what it and kafkalab leave of
them: records, markers, empty batches, delete horizons and segments, after a first cleaning, and after a second one for
which the horizons have passed. In the row with three differences the comparison had also cleaned logs in which nothing
was dirty, and Kafka leaves those alone; the next row has the same logs, compared without that mistake.

{cleaned}"""
