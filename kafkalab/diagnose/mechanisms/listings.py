"""What lists of transactions show: random transactional ids, and transactions of a job that has stopped."""

from __future__ import annotations

import re
from collections.abc import Iterator

from kafkalab.diagnose.evidence import Evidence
from kafkalab.diagnose.facts import DescribedTransaction, ListedTransaction
from kafkalab.diagnose.finding import LIKELY, UNKNOWN, Finding, Proof, describe_transaction, list_proofs

RANDOM = re.compile(
    r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|[0-9a-f]{16,}|(?=[\w]*\d)[A-Za-z0-9]{20,}", re.I
)
MANY = 10
LONG_MS = 600_000
"""A timeout that is longer than the ten minutes in which a restarted job would be back."""
JOB = "A job (Flink, Connect) left a transaction open"
INIT = "`initTransactions()` hangs and times out"


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
            says=f"{len(rows)} transactional ids have the form {shape}: a new random id at each start. No instance fences its "
            "predecessor, an open transaction waits for its timeout, and coordinators keep every id for a week.",
            certainty=LIKELY,
            proofs=list_proofs(proofs),
            ask=describe_transaction(rows[0].transactional_id),
            symptom=JOB if opened else "",
        )


def leave_open(evidence: Evidence) -> Iterator[Finding]:
    """Transactions that are open by the coordinator's word, with a long timeout: a job that stopped leaves them so."""
    described = [row for row in evidence.described if row.state == "Ongoing"]
    old = [row for row in described if row.timeout_ms >= LONG_MS and row.duration_ms >= 60_000]
    for row in old:
        others = [one for one in evidence.listed if one.state == "Ongoing" and one.transactional_id != row.transactional_id]
        yield _left_open(row, others)
    known = {row.transactional_id for row in described}
    for one in [] if old else [one for one in evidence.listed if one.state == "Ongoing"]:
        if one.transactional_id not in known:
            yield Finding(
                mechanism="open_by_coordinator",
                where=one.transactional_id,
                says=f"The transaction of {one.transactional_id} is open, and its coordinator knows it: it will end by the "
                "producer, or after its timeout. How long that is, the text does not show.",
                certainty=UNKNOWN,
                proofs=(Proof(one.source, "open"),),
                ask=describe_transaction(one.transactional_id),
                symptom=JOB,
            )
            return


def _left_open(row: DescribedTransaction, others: list[ListedTransaction]) -> Finding:
    left_s = max(0, row.timeout_ms - row.duration_ms) // 1000
    proofs = [Proof(row.source, f"open for {row.duration_ms // 1000} s, timeout {row.timeout_ms // 1000} s")]
    proofs += [Proof(one.source, "open as well") for one in others[:4]]
    return Finding(
        mechanism="left_open",
        where=row.transactional_id,
        says=f"The transaction of {row.transactional_id} is open since {row.duration_ms // 1000} s, and its timeout of "
        f"{row.timeout_ms // 1000} s is long: a job that stopped leaves it so. It is aborted in {left_s} s; until then "
        "readers with read_committed wait, and what it holds is lost if the job commits it later or not at all.",
        certainty=LIKELY,
        proofs=list_proofs(proofs),
        ask=describe_transaction(row.transactional_id),
        symptom=JOB,
        explains=("open_transaction",),
    )


RULES = (leave_open, draw_ids)
