"""A finding: what happened, how certain that is, the lines that show it, and the command that would tell more."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from kafkalab.diagnose.evidence import Evidence
from kafkalab.diagnose.facts import Source

CERTAIN, LIKELY, UNKNOWN = "certain", "likely", "unknown"
"""Certain: no line that is missing could change it. Likely: another cause would print the same. Unknown: ask."""
ORDER = {CERTAIN: 0, LIKELY: 1, UNKNOWN: 2}
PROOFS = 8
"""Lines of evidence that a finding shows."""
TOOL = "kafka-transactions.sh --bootstrap-server host:9092"


class Proof(NamedTuple):
    """A line, and what it shows."""

    source: Source
    says: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """Hold a rule's conclusion. `mechanism` is what happened, `where` the partition, transactional id or group.

    `cause` names why, where the lines show it; it is never more certain than "likely".

    `ask` is a command that tells more. `symptom` is a heading of docs/symptoms.md, `bugs` are numbers of docs/bugs.md,
    `rule` a row of docs/rules.md: advice follows from these. `act` is a command that ends it, if one does. `harmless`
    says that nothing is wrong. `explains` names the mechanisms of findings that follow from this one, alone or with
    their `where`: "open_transaction out-0". `also` are other places where the same happened.
    """

    mechanism: str
    where: str
    cause: str = ""
    says: str
    certainty: str
    proofs: tuple[Proof, ...]
    ask: str = ""
    act: str = ""
    symptom: str = ""
    bugs: tuple[str, ...] = ()
    rule: str = ""
    harmless: bool = False
    also: tuple[str, ...] = ()
    explains: tuple[str, ...] = ()


Rule = Callable[[Evidence], Iterator[Finding]]


def list_proofs(proofs: Iterable[Proof]) -> tuple[Proof, ...]:
    """Return the first PROOFS proofs, without repeated lines."""
    found: dict[tuple[str, int], Proof] = {}
    for proof in proofs:
        found.setdefault((proof.source.file, proof.source.line), proof)
        if len(found) == PROOFS:
            break
    return tuple(found.values())


def split_partition(partition: str) -> tuple[str, str]:
    """`split_partition("out-10") == ("out", "10")`."""
    topic, _, index = partition.rpartition("-")
    return topic, index


def describe_producers(partition: str) -> str:
    """Return the command that lists the producers of a partition; with TOPIC and N if its name is not known."""
    topic, index = split_partition(partition) if partition and partition[0] != "(" else ("TOPIC", "N")
    return f"{TOOL} describe-producers --topic {topic} --partition {index}"


def find_hanging(partition: str) -> str:
    """Return the command that finds hanging transactions in a partition."""
    topic, index = split_partition(partition) if partition and partition[0] != "(" else ("TOPIC", "N")
    return f"{TOOL} find-hanging --topic {topic} --partition {index}"


def abort_hanging(partition: str, start: int) -> str:
    """Return the command that ends a hanging transaction."""
    topic, index = split_partition(partition) if partition and partition[0] != "(" else ("TOPIC", "N")
    return f"{TOOL} abort --topic {topic} --partition {index} --start-offset {start}"


def describe_transaction(transactional_id: str) -> str:
    """Return the command that describes a transactional id."""
    return f"{TOOL} describe --transactional-id {transactional_id or 'ID'}"
