"""The shape of evidence: a few features, each a short text, the same for pasted lines and for a run of the lab."""

from __future__ import annotations

from collections.abc import Iterator

from kafkalab.diagnose.evidence import Evidence
from kafkalab.diagnose.finding import Finding
from kafkalab.diagnose.readers.errors_in_text import WATCHED

ANOMALY_OF = {
    "hanging": "hanging transaction",
    "torn_transaction": "torn transaction",
    "lost_records": "lost-write",
    "repeated_sequence": "duplicate",
}
"""By what a rule of this package concludes, the anomaly that the checks find in a run where the same happened."""
TOO_COMMON = ("open_transaction",)
"""Conclusions that fit nearly every run that is cut in the middle."""
TEXT, RUN, BOTH = "text", "run", "both"
"""The owners of a feature: the pasted text, the run of the lab, or both."""
FENCED = "INVALID_PRODUCER_EPOCH or PRODUCER_FENCED"
"""Both say that the epoch is old; which one a client prints depends on its version and on the request."""
OFFSETS = "__consumer_offsets-"
SENTENCES = {
    "concludes": "The rules of `kafkalab diagnose` conclude: {}.",
    "bug": "The finding names {}, and the run shows it.",
    "rule": "The finding names the protocol rule “{}”, and the run is without it.",
    "anomaly": "The anomaly is “{}”.",
    "error": "A client is told {}.",
    "open": "A transaction is open at the end of {}.",
    "after": "The marker in front of the open transaction is {}.",
    "state": "The coordinator's last record of a transactional id says {}.",
    "aborted": "A coordinator aborts a transaction {}.",
    "epochs": "A producer writes under {}.",
}
"""By the first word of a feature: its sentence, with the rest of the feature in the place of {}."""
ONLY = {
    "bug": {TEXT: "The finding names {}.", RUN: "The run shows {}."},
    "rule": {TEXT: "The finding names the protocol rule “{}”.", RUN: "The protocol rule “{}” is switched off."},
}
"""The sentences of a feature that only the text has, or only the run."""
DECIDING, FEWEST = ("concludes", "bug"), 2
"""The features of which one must be the same, and how many must be: see `is_alike`."""


def shape_of(evidence: Evidence, finding: Finding | None) -> list[str]:
    """Return the features of the evidence, and of the finding that comes first in it; sorted, without repetition."""
    found = {*_of_finding(finding)} if finding is not None else set()
    told = [error.name for error in WATCHED if f"error {error.name}" in evidence.said]
    found |= {f"error {FENCED if name in FENCED else name}" for name in told}
    found |= {*_of_logs(evidence)}
    if "aborted for time" in evidence.said:
        found.add("aborted for its timeout")
    return sorted(found)


def _of_finding(finding: Finding) -> Iterator[str]:
    if finding.mechanism not in TOO_COMMON:
        yield f"concludes {finding.mechanism}" + (f", {finding.cause}" if finding.cause else "")
    yield from (f"bug {number}" for number in finding.bugs)
    if finding.rule:
        yield f"rule {finding.rule}"
    if finding.mechanism in ANOMALY_OF:
        yield f"anomaly {ANOMALY_OF[finding.mechanism]}"


def _of_logs(evidence: Evidence) -> Iterator[str]:
    epochs: dict[int, set[int]] = {}
    for row in evidence.hanging:
        yield f"open {_kind_of(row.partition)}"
    for view in evidence.views.values():
        for one in [*view.finished, *view.open.values()]:
            epochs.setdefault(one.first.producer, set()).add(one.first.epoch)
        for one in view.open.values():
            yield f"open {_kind_of(view.partition)}"
            if one.after is not None and one.after.epoch == one.first.epoch:
                yield f"after {one.after.outcome}, of the same epoch"
    if any(len(some) > 1 for some in epochs.values()):
        yield "epochs more than one epoch"
    for name in evidence.states:
        yield f"state {evidence.records_of(name)[-1].state}"


def _kind_of(partition: str) -> str:
    return "a partition of __consumer_offsets" if partition.startswith(OFFSETS) else "a partition"


def is_alike(own: set[str], other: set[str]) -> bool:
    """Return True if the same went wrong: FEWEST features in common, a deciding one, or the rule and the anomaly."""
    kinds = {feature.partition(" ")[0] for feature in own & other}
    return len(own & other) >= FEWEST and (bool(kinds & {*DECIDING}) or {"rule", "anomaly"} <= kinds)


def say_feature(feature: str, whose: str = BOTH) -> str:
    """Return the sentence of a feature: `say_feature("error INVALID_TXN_STATE")`."""
    kind, _, rest = feature.partition(" ")
    sentence = ONLY.get(kind, {}).get(whose, SENTENCES[kind])
    return sentence.format(rest.replace("_", " ") if kind == "concludes" else rest)
