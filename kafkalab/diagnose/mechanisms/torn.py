"""Torn transactions: a late EndTxn ended the first half of a later transaction, and the client ended the rest."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from kafkalab.diagnose.evidence import FEW, Evidence
from kafkalab.diagnose.facts import Said, StateRecord
from kafkalab.diagnose.finding import CERTAIN, LIKELY, Finding, Proof, describe_transaction, list_proofs
from kafkalab.protocol import rules

TORN = "A cancelled transaction is half visible, without an error"
DECIDED = {"PrepareCommit": "commit", "PrepareAbort": "abort"}
ASKED = {"BeginCommit": "commit", "BeginAbort": "abort"}
"""The states of librdkafka in which the application has asked for an outcome."""


def tear_transaction(evidence: Evidence) -> Iterator[Finding]:
    """Compare the coordinator's decisions in one epoch with what the client asked for and gave up."""
    for name in evidence.states:
        decisions = [record for record in evidence.records_of(name) if record.state in DECIDED]
        by_epoch: dict[tuple[int, int], list[StateRecord]] = {}
        for record in decisions:
            by_epoch.setdefault((record.producer, record.epoch), []).append(record)
        for (producer, epoch), own in by_epoch.items():
            if len(own) > 1:
                yield from _judge(evidence, name, producer, epoch, own)


def _judge(evidence: Evidence, name: str, producer: int, epoch: int, decisions: list[StateRecord]) -> Iterator[Finding]:
    lost = [said for said in evidence.all_said("librdkafka gave up") if said.detail == "EndTxn"]
    lost += [said for said in evidence.all_said("timed out") if said.detail.startswith("EndTxn") and said.who == name]
    if not lost:
        return
    asked = _asked_of(evidence, producer, epoch)
    whole = asked is not None and _is_whole(evidence, name, producer, epoch)
    extra = _first_difference(decisions, asked or [])
    if whole and asked and extra is not None:
        yield _tell(name, decisions, extra, lost, asked)
        return
    for n, (before, after) in enumerate(pairwise(decisions)):
        if before.state != after.state and not set(before.partitions) & set(after.partitions):
            yield _tell(name, decisions, n, lost, [])
            return


def _tell(name: str, decisions: list[StateRecord], at: int, lost: list[Said], asked: list[Said]) -> Finding:
    """Return the finding: no client asked for the decision `at`. `asked` is what it asked for, if that is known."""
    wrong, after = decisions[at], decisions[at + 1] if at + 1 < len(decisions) else None
    proofs = [Proof(said.source, "the client gives an EndTxn up; it is still on its way") for said in lost[:1]]
    says = DECIDED[wrong.state]
    proofs.append(Proof(wrong.source, f"the coordinator decides to {says} {', '.join(wrong.partitions)}"))
    proofs += [Proof(said.source, f"the client asks to {ASKED[_state_after(said)]}") for said in asked[at : at + 1]]
    if after is not None:
        what = f"the rest, {', '.join(after.partitions)}: {DECIDED[after.state]}"
        proofs.append(Proof(after.source, what))
    return Finding(
        mechanism="torn_transaction",
        where=name,
        says=f"A transaction of {name} has two outcomes. "
        + ("The coordinator decided once more than the client asked" if asked else "Two decisions in one epoch differ")
        + f": {says} of {', '.join(wrong.partitions)}"
        + (f", then {DECIDED[after.state]} of {', '.join(after.partitions)}" if after else "")
        + ". An EndTxn that the client had given up arrived in the next transaction and ended what it had so far.",
        certainty=CERTAIN if asked else LIKELY,
        proofs=list_proofs(proofs),
        ask=describe_transaction(name),
        symptom=TORN,
        bugs=("KAFKA-17754",),
        rule=rules.EPOCH_PER_TRANSACTION.name,
        explains=("named_CONCURRENT_TRANSACTIONS",),
    )


def _state_after(said: Said) -> str:
    return said.detail.rpartition(" ")[2]


def _asked_of(evidence: Evidence, producer: int, epoch: int) -> list[Said] | None:
    """Return the outcomes that a librdkafka client asked for in this epoch, in their order.

    None if they are not all known: its log has to begin with the first epoch, its states have to follow each other
    without a gap, and each transaction has to have registered a partition (an empty one asks no coordinator).
    """
    given = [said for said in evidence.all_said("librdkafka id") if said.producer == producer]
    if len(given) != 1 or given[0].epoch != epoch:
        return None
    process = given[0].process
    states = evidence.said.get("librdkafka state")
    registered = evidence.said.get("librdkafka registered")
    if states is None or registered is None or max(states.count, registered.count) > FEW:
        return None
    own = [said for said in states if said.process == process]
    lines = [said.source.line for said in registered if said.process == process]
    if not own or not own[0].detail.startswith("Init -> "):
        return None
    asked: list[Said] = []
    began = 0
    for before, said in zip([None, *own], own, strict=False):
        if before is not None and _state_after(before) != said.detail.partition(" ")[0]:
            return None
        if _state_after(said) == "InTransaction":
            began = said.source.line
        elif _state_after(said) in ASKED:
            if not any(began < line < said.source.line for line in lines):
                return None
            asked.append(said)
    return asked


def _is_whole(evidence: Evidence, name: str, producer: int, epoch: int) -> bool:
    """Return True if no record of the id can be missing: the dump has no gap, and all of its records are decoded."""
    records = evidence.records_of(name)
    begins = records[0].state == "Empty" and (records[0].producer, records[0].epoch) == (producer, epoch)
    views = [view for view in evidence.views.values() if view.partition.startswith(("__transaction_state-", "("))]
    views = [view for view in views if view.decoded]
    if not begins or len(views) != 1 or evidence.states[name].count != len(records):
        return False
    view = views[0]
    return not view.gaps and not view.disorder and view.decoded == view.records


def _first_difference(decisions: list[StateRecord], asked: list[Said]) -> int | None:
    """Return the first decision that is not what the client asked for; None if one sequence begins with the other."""
    wanted = [ASKED[_state_after(said)] for said in asked]
    made = [DECIDED[record.state] for record in decisions]
    return next((n for n, (one, other) in enumerate(zip(made, wanted, strict=False)) if one != other), None)


RULES = (tear_transaction,)
