"""Find in lists of transactions: random transactional ids, and transactions of a job that has stopped."""

from __future__ import annotations

import re
from collections.abc import Iterator

from kafkalab.checks.hanging_transaction import LONGEST_MS
from kafkalab.diagnose.evidence import Evidence
from kafkalab.diagnose.facts import DescribedTransaction, ListedTransaction
from kafkalab.diagnose.finding import CERTAIN, LIKELY, TOOL, UNKNOWN, Finding, Proof, describe_transaction, list_proofs
from kafkalab.limits import list_names
from kafkalab.protocol import rules

RANDOM = re.compile(r"(?<![0-9A-Za-z])[0-9a-f]{8,32}(?:-[0-9a-f]{4,12})*(?![0-9A-Za-z])", re.IGNORECASE)
"""A part of a name that a UUID, a hexadecimal number or a time in milliseconds matches."""
COUNTED = re.compile(r"(.*)-(\d{1,18})")
"""A transactional id that ends with a number, as Flink's do with that of the checkpoint."""
MANY = 10
LONG_MS = 600_000
"""A timeout that is longer than the ten minutes in which a restarted job would be back."""
JOB = "A job (Flink, Connect) left a transaction open"
HOURS = "A transaction is open for hours, and `find-hanging` does not list it"
CHARGES = "Charges twice, without an error"


def draw_ids(evidence: Evidence) -> Iterator[Finding]:
    """Many transactional ids that differ in a random part only: each start of a producer makes a new one."""
    shapes: dict[str, list[ListedTransaction]] = {}
    for row in evidence.listed:
        shape = RANDOM.sub("*", row.transactional_id)
        if shape != row.transactional_id:
            shapes.setdefault(shape, []).append(row)
    for shape, rows in shapes.items():
        if len({row.transactional_id for row in rows}) < MANY:
            continue
        opened = [row for row in rows if row.state == "Ongoing"]
        proofs = [Proof(row.source, "one of them") for row in rows[:3]]
        proofs += [Proof(row.source, "its transaction is open: no successor will fence it") for row in opened[:2]]
        yield Finding(
            mechanism="random_ids",
            where=shape,
            says=f"{len(rows)} transactional ids have the form {shape}: a new random id at each start. No instance "
            "fences its "
            "predecessor, an open transaction waits for its timeout, and coordinators keep every id for a week.",
            certainty=LIKELY,
            proofs=list_proofs(proofs),
            ask=f"{TOOL} list",
            symptom=CHARGES,
            rule=rules.ABORT_ON_INIT.name,
            explains=("open_by_coordinator", "left_open"),
        )


def last_for_hours(evidence: Evidence) -> Iterator[Finding]:
    """A transaction that is open for longer than any default allows, and whose coordinator knows it."""
    for row in evidence.described:
        long = row.state == "Ongoing" and min(row.timeout_ms, row.duration_ms) > LONGEST_MS
        if not long or row.duration_ms > row.timeout_ms or not evidence.asked_hanging or evidence.hanging:
            continue
        yield Finding(
            mechanism="open_for_hours",
            where=row.transactional_id,
            says=f"{_describe_age(row)}. Its coordinator knows it and ends it only after that timeout, so find-hanging "
            "does not list it.",
            certainty=CERTAIN,
            proofs=list_proofs(
                [
                    Proof(row.source, "Ongoing for its coordinator, with a timeout above the default maximum"),
                    Proof(evidence.asked_hanging[0], "find-hanging lists nothing"),
                ]
            ),
            ask=f"{TOOL} list",
            act=f"{TOOL} forceTerminateTransaction --transactionalId {row.transactional_id}",
            symptom=HOURS,
            rule=rules.TIMEOUT_MAXIMUM.name,
            explains=("left_open", "open_by_coordinator"),
        )


def leave_open(evidence: Evidence) -> Iterator[Finding]:
    """Transactions that are open by the coordinator's word: a job that stopped leaves them until its long timeout."""
    rows = {row.transactional_id: row for row in evidence.described if row.state == "Ongoing"}
    listed = {row.transactional_id: row for row in evidence.listed if row.state == "Ongoing"}
    if not rows and not listed:
        return
    counted = [row for row in listed.values() if _has_older(row, evidence)]
    long = [row for row in rows.values() if row.timeout_ms >= LONG_MS]
    likely = (bool(counted) and (bool(long) or len(counted) > 1)) or any(row.duration_ms >= LONG_MS for row in long)
    names = list(dict.fromkeys([*listed, *rows]))
    proofs = [Proof(row.source, "open, and names of the same job with smaller numbers are done") for row in counted[:3]]
    proofs += [Proof(row.source, _describe_age(row)) for row in list(rows.values())[:2]]
    proofs += [Proof(row.source, "open, and its coordinator knows it") for row in list(listed.values())[:2]]
    proofs += [
        Proof(one, "find-hanging lists none of them") for one in evidence.asked_hanging[:1] if not evidence.hanging
    ]
    yield Finding(
        mechanism="left_open" if likely else "open_by_coordinator",
        where=names[0],
        says=f"The transaction of {list_names(names)} is open, and its coordinator knows it: it does not hang. "
        + (
            "A job that stopped leaves it so: it ends if the job comes back from its last checkpoint, or after its "
            "timeout, "
            "and then what it wrote is lost."
            if likely
            else "It ends by its producer, or after its timeout. Whether the producer lives is not in the text."
        ),
        certainty=LIKELY if likely else UNKNOWN,
        proofs=list_proofs(proofs),
        ask=describe_transaction(next((name for name in names if name not in rows), names[0])),
        symptom=JOB,
        rule=rules.ABORT_ON_INIT.name,
    )


def _has_older(row: ListedTransaction, evidence: Evidence) -> bool:
    """Return True if a name with the same stem and a smaller number is listed as ended."""
    own = COUNTED.fullmatch(row.transactional_id)
    if own is None:
        return False
    others = (COUNTED.fullmatch(one.transactional_id) for one in evidence.listed if one.state.startswith("Complete"))
    return any(one is not None and one[1] == own[1] and int(one[2]) < int(own[2]) for one in others)


def _describe_age(row: DescribedTransaction) -> str:
    return f"{row.transactional_id}: open for {row.duration_ms // 1000} s, timeout {row.timeout_ms // 1000} s"


RULES = (draw_ids, last_for_hours, leave_open)
