"""Find what a cluster refuses or is not ready for: too few replicas, too long a timeout, a coordinator that loads."""

from __future__ import annotations

from collections.abc import Iterator

from kafkalab.diagnose.evidence import Evidence
from kafkalab.diagnose.facts import Said
from kafkalab.diagnose.finding import CERTAIN, LIKELY, UNKNOWN, Finding, Proof, list_proofs
from kafkalab.protocol import rules

STATE_TOPIC = "kafka-topics.sh --bootstrap-server host:9092 --describe --topic __transaction_state"
INIT = "`initTransactions()` hangs and times out"
REFUSED = "`transaction.timeout.ms` is refused"
FEW = 3
"""Waits below this number are what a client deals with by itself."""
PAUSE = "Producers pause when a broker restarts or is removed"


def lack_replicas(evidence: Evidence) -> Iterator[Finding]:
    """A partition of the transaction log has too few replicas in sync: its coordinator cannot write."""
    lines = [said for said in evidence.all_said("too few in sync") if said.partition.startswith("__transaction_state-")]
    if not lines:
        return
    refused = list(evidence.all_said("append refused", "end refused"))
    proofs = [Proof(said.source, f"{said.partition}: in sync are {said.detail}") for said in lines[:3]]
    proofs += [Proof(said.source, f"so {said.who or 'a producer'} is refused: {said.detail}") for said in refused[:3]]
    yield Finding(
        mechanism="too_few_in_sync",
        where=lines[0].partition,
        says=f"{lines[0].partition} has fewer replicas in sync than its min.insync.replicas. The coordinator cannot "
        "write, "
        "so producers can neither begin nor end transactions; clients see COORDINATOR_NOT_AVAILABLE or a timeout.",
        certainty=CERTAIN,
        proofs=list_proofs(proofs),
        ask=STATE_TOPIC,
        symptom=INIT,
        explains=("named_COORDINATOR_NOT_AVAILABLE", "named_NOT_ENOUGH_REPLICAS"),
    )


def refuse_timeout(evidence: Evidence) -> Iterator[Finding]:
    """A producer asks for a transaction timeout above the brokers' maximum."""
    lines = list(evidence.all_said("error INVALID_TRANSACTION_TIMEOUT"))
    if not lines:
        return
    asked = list(evidence.all_said("setting transaction.timeout.ms"))
    value = f" of {asked[0].detail}" if asked else ""
    proofs = [Proof(said.source, "the producer's setting") for said in asked[:1]]
    proofs += [Proof(said.source, "the coordinator refuses it") for said in lines[:3]]
    yield Finding(
        mechanism="timeout_too_large",
        where=lines[0].who or lines[0].process,
        says=f"The producer's transaction.timeout.ms{value} is above the brokers' transaction.max.timeout.ms (900000 "
        "by "
        "default). It gets no producer id.",
        certainty=CERTAIN,
        proofs=list_proofs(proofs),
        ask="kafka-configs.sh --bootstrap-server host:9092 --describe --entity-type brokers --entity-name 1 --all",
        symptom=REFUSED,
        rule=rules.TIMEOUT_MAXIMUM.name,
    )


def load_coordinator(evidence: Evidence) -> Iterator[Finding]:
    """The coordinator reads its log: clients wait, and nothing is wrong once it has finished and gives out ids."""
    waits = list(evidence.all_said("error COORDINATOR_LOAD_IN_PROGRESS"))
    begun = list(evidence.all_said("state loading"))
    if not waits or (not begun and (len(waits) < FEW or _goes_on(waits, evidence))):
        return
    finished = [said for said in evidence.all_said("state loaded") if begun and _ends(said, begun)]
    given = [said for said in evidence.all_said("id initialized") if finished and _is_behind(said, finished[-1])]
    proofs = [Proof(said.source, "the client is told to wait") for said in waits[:2]]
    proofs += [Proof(said.source, f"the coordinator begins to read {said.partition}") for said in begun[-1:]]
    proofs += [Proof(said.source, f"it has read {said.detail} transactional ids") for said in finished[-1:]]
    proofs += [Proof(said.source, f"and gives {said.who} its id") for said in given[:1]]
    yield Finding(
        mechanism="coordinator_loads",
        where=begun[-1].partition if begun else waits[0].process,
        says="A coordinator was reading its log after it had moved. Clients are told to wait and retry by themselves"
        + ("; it has finished." if finished else "; the lines do not show that it has finished."),
        certainty=CERTAIN if given else LIKELY if finished else UNKNOWN,
        proofs=list_proofs(proofs),
        ask=STATE_TOPIC,
        symptom=PAUSE,
        harmless=bool(finished),
        explains=("no_producer_id", "named_NOT_COORDINATOR", "named_COORDINATOR_NOT_AVAILABLE"),
    )


def _goes_on(waits: list[Said], evidence: Evidence) -> bool:
    """Return True if the client gets its id after it was told to wait."""
    return any(_is_behind(said, waits[-1]) for said in evidence.all_said("id given", "librdkafka id"))


def _is_behind(said: Said, before: Said) -> bool:
    return said.source.file == before.source.file and said.source.line > before.source.line


def _ends(loaded: Said, begun: list[Said]) -> bool:
    """Return True if the last begin of the same partition's loading is before this line."""
    own = [said for said in begun if said.partition == loaded.partition]
    return bool(own) and _is_behind(loaded, own[-1])


def lack_brokers(evidence: Evidence) -> Iterator[Finding]:
    """The transaction log cannot be created: there are fewer brokers than it has replicas."""
    lines = list(evidence.all_said("state topic missing"))
    if lines:
        yield Finding(
            mechanism="too_few_brokers",
            where="__transaction_state",
            says=f"__transaction_state cannot be created: alive are '{lines[0].detail}. Until it is there, no producer "
            "gets a producer id for a transactional id.",
            certainty=CERTAIN,
            proofs=list_proofs(Proof(said.source, "the broker cannot create the topic") for said in lines[:3]),
            ask=STATE_TOPIC,
            symptom=INIT,
            explains=("named_COORDINATOR_NOT_AVAILABLE", "no_producer_id", "timeout_InitProducerId"),
        )


RULES = (lack_brokers, lack_replicas, refuse_timeout, load_coordinator)
