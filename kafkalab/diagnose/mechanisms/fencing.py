"""Producers that were fenced or refused, and by what: another instance, the clock, an id that expired."""

from __future__ import annotations

from collections.abc import Iterator

from kafkalab.diagnose.evidence import Evidence
from kafkalab.diagnose.facts import Said
from kafkalab.diagnose.finding import CERTAIN, LIKELY, UNKNOWN, Finding, Proof, describe_transaction, list_proofs
from kafkalab.protocol import rules

TWO = "Two services log `ProducerFencedException` in turn"
ONE = "Fenced, with one instance only"
REFUSED = "A write is refused for its epoch"
WAITS = "A new producer waits a moment at its start"
WRITE = ("produce with an old epoch", "last seen epoch")
"""Parts of lines in which a partition's leader, not the coordinator, refuses an epoch."""
EXPIRED = "An idle transactional producer fails after a week"
BAD_STATE = "`InvalidTxnStateException`, often since an upgrade"
FENCED = ("error PRODUCER_FENCED", "error INVALID_PRODUCER_EPOCH")
GIVEN = ("id given", "librdkafka id")
"""Lines of a client in which it gets its producer id and epoch."""


def processes_of(evidence: Evidence, who: str) -> set[str]:
    """Return the processes whose lines name this transactional id, or have a producer id that was given to it."""
    producers = {said.producer for said in evidence.all_said("id initialized") if said.who == who}
    given = list(evidence.all_said(*GIVEN))
    return {one.process for one in given if one.who == who or (one.producer in producers and one.producer >= 0)}


def abort_for_time(evidence: Evidence) -> Iterator[Finding]:
    """The coordinator aborted a transaction that was open too long, and its producer was refused."""
    for who in _names(evidence.all_said("aborted for time")):
        clients = processes_of(evidence, who)
        abort = next(said for said in evidence.all_said("aborted for time") if said.who == who)
        errors = [said for said in evidence.all_said(*FENCED) if said.who == who or said.process in clients]
        proofs = [Proof(abort.source, f"the coordinator aborted the transaction of {who}: it was open too long")]
        proofs += [Proof(said.source, "the producer is refused") for said in errors[:3]]
        yield Finding(
            mechanism="timed_out",
            where=who,
            says=f"The transaction of {who} was open for longer than transaction.timeout.ms. The coordinator aborted "
            "it and "
            "raised the epoch, by which the producer is refused from then on.",
            certainty=CERTAIN,
            proofs=list_proofs(proofs),
            ask=describe_transaction(who),
            symptom=ONE,
            bugs=("KIP-588",),
            rule=rules.TIMEOUT_ABORT.name,
            explains=("fenced",) if errors else (),
        )


def meet_ended_transaction(evidence: Evidence) -> Iterator[Finding]:
    """A producer is told INVALID_TXN_STATE, and coordinators aborted its transactions for time."""
    lines = [said for said in evidence.all_said("error INVALID_TXN_STATE") if said.who]
    aborts = {said.who: said for said in evidence.all_said("aborted for time")}
    for who in _names(iter(lines)):
        if who not in aborts:
            continue
        proofs = [Proof(aborts[who].source, f"the coordinator aborted the transaction of {who}: it was open too long")]
        proofs += [Proof(said.source, "the producer still writes to it") for said in lines if said.who == who]
        yield Finding(
            mechanism="wrote_to_ended",
            where=who,
            says=f"{who} wrote to a transaction that the coordinator had aborted for time. It is told so by "
            "INVALID_TXN_STATE, where its old epoch would say more: the partition was verified before the epoch was "
            "compared.",
            certainty=LIKELY,
            proofs=list_proofs(proofs),
            ask=describe_transaction(who),
            symptom=BAD_STATE,
            bugs=("KAFKA-19690",),
            rule=rules.TIMEOUT_BUMPS.name,
            explains=("fenced", "timed_out", "named_INVALID_TXN_STATE"),
        )


def _names(lines: Iterator[Said]) -> list[str]:
    return list(dict.fromkeys(said.who for said in lines if said.who))


def fence_by_another(evidence: Evidence) -> Iterator[Finding]:
    """Two processes were given the same transactional id: the one with the lower epoch is fenced."""
    by_name: dict[str, list[Said]] = {}
    for said in evidence.all_said(*GIVEN):
        if said.who and said.producer >= 0:
            by_name.setdefault(said.who, []).append(said)
    for who, given in by_name.items():
        if len({said.process for said in given}) < 2:
            continue
        errors = [said for said in evidence.all_said(*FENCED) if said.who == who]
        fenced = [one for one in errors if any(_fences(other, one, given) for other in given)]
        # Clocks of two machines are not compared: without one file's order another cause may have come first.
        if not errors:
            continue
        proofs = [Proof(s.source, f"{s.process} has producer {s.producer}, epoch {s.epoch}") for s in given[:4]]
        proofs += [Proof(said.source, f"{said.process} is fenced") for said in (fenced or errors)[:3]]
        yield Finding(
            mechanism="two_instances",
            where=who,
            says=f"Several processes use the transactional id {who}: {', '.join(sorted({s.process for s in given}))}. "
            "Each "
            "that starts raises the epoch and fences the one before.",
            certainty=CERTAIN if fenced else LIKELY,
            proofs=list_proofs(proofs),
            ask=describe_transaction(who),
            symptom=TWO,
            rule=rules.BUMP_ON_INIT.name,
            explains=("fenced", "timed_out"),
        )


def _is_before(given: Said, error: Said) -> bool:
    same = given.process == error.process and given.source.file == error.source.file
    return same and given.source.line < error.source.line


def _fences(other: Said, fenced: Said, given: list[Said]) -> bool:
    """Return True if `other` got a higher epoch of the id that the fenced process had when it was fenced."""
    own = [said for said in given if _is_before(said, fenced)]
    if not own or other.process == fenced.process:
        return False
    if other.source.file != fenced.source.file or other.source.line > fenced.source.line:
        return False
    return own[-1].producer == other.producer and own[-1].epoch < other.epoch


def report_fenced(evidence: Evidence) -> Iterator[Finding]:
    """A producer is fenced, and no line says by what."""
    lines = list(evidence.all_said(*FENCED))
    if lines:
        who = next((said.who for said in lines if said.who), "")
        waits = [
            said for said in evidence.all_said("error CONCURRENT_TRANSACTIONS") if said.process == lines[0].process
        ]
        proofs = [Proof(said.source, "it was told to wait for its own last transaction") for said in waits[-1:]]
        first = min(lines, key=lambda said: said.source[:2])
        write = first.name == FENCED[1] and any(part in said.source.text for said in lines for part in WRITE)
        away = [said for said in evidence.all_said("away from poll") if said.source.file == lines[0].source.file]
        proofs += [Proof(said.source, "its consumer was away from poll() for too long") for said in away[:1]]
        yield Finding(
            mechanism="fenced",
            where=who or lines[0].process,
            says="A producer was fenced: by another instance with its transactional id, or because its transaction was "
            "open too long. "
            + ("Its thread was away for long, so the latter is likely." if away else "The lines do not show which."),
            certainty=LIKELY if away else UNKNOWN,
            proofs=list_proofs([*(Proof(said.source, "a newer epoch exists") for said in lines[:3]), *proofs]),
            ask=describe_transaction(who),
            symptom=REFUSED if write else ONE,
            bugs=("KAFKA-18464",) if waits else (),
            rule=rules.PRODUCE_EPOCH.name if write else rules.BUMP_ON_INIT.name,
            explains=("no_producer_id",),
        )


def wait_for_predecessor(evidence: Evidence) -> Iterator[Finding]:
    """A librdkafka client waits for its id while the coordinator ends its predecessor's transaction, and gets it."""
    for given in evidence.all_said("librdkafka id"):
        waits = [
            said
            for said in evidence.all_said("error CONCURRENT_TRANSACTIONS")
            if "Failed to acquire " in said.source.text and said.source.file == given.source.file
            and said.source.line < given.source.line
        ]  # fmt: skip
        if waits:
            yield Finding(
                mechanism="waited_for_predecessor",
                where="a client",
                says="The coordinator was still ending the transaction that the previous producer of this name had "
                f"left open. The client asked again and got producer {given.producer}, epoch {given.epoch}.",
                certainty=CERTAIN,
                proofs=list_proofs(
                    [
                        *(Proof(said.source, "told to wait") for said in waits[:2]),
                        Proof(given.source, "it has its producer id"),
                    ]
                ),
                ask=describe_transaction(given.who),
                symptom=WAITS,
                rule=rules.ABORT_ON_INIT.name,
                harmless=True,
                explains=("named_CONCURRENT_TRANSACTIONS", "no_producer_id"),
            )
            return


def expire_id(evidence: Evidence) -> Iterator[Finding]:
    """The coordinator does not know the transactional id any more, or has another producer id for it."""
    lines = list(evidence.all_said("error INVALID_PRODUCER_ID_MAPPING"))
    if not lines:
        return
    who = next((said.who for said in lines if said.who), "")
    gone = [record for record in evidence.records_of(who) if record.state == "deleted"]
    proofs = [
        Proof(said.source, "the coordinator has no such producer id for this transactional id") for said in lines[:3]
    ]
    proofs += [Proof(record.source, "the coordinator forgot the id here") for record in gone[:1]]
    stuck = list(evidence.all_said("error state"))
    proofs += [Proof(said.source, "the application goes on with a producer that cannot go on") for said in stuck[:1]]
    yield Finding(
        mechanism="expired_id",
        where=who or lines[0].process,
        says=f"The coordinator has forgotten the transactional id {who}: nothing was committed under it for longer "
        "than "
        "transactional.id.expiration.ms (7 days by default).",
        certainty=CERTAIN if gone else LIKELY,
        proofs=list_proofs(proofs),
        ask=describe_transaction(who),
        symptom=EXPIRED,
    )


RULES = (meet_ended_transaction, abort_for_time, fence_by_another, expire_id, report_fenced, wait_for_predecessor)
