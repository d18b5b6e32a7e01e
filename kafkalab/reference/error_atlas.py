"""The error atlas: for each error of the protocol a stored run that meets it on purpose, and what it means.

To add an error: save a scenario as data/errors/<ERROR>.klab, say in MEANING what it means, run `kafkalab atlas`.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from kafkalab.client.consumer.membership import LOOK_UP, UNKNOWN
from kafkalab.client.exceptions import exception_for, java_name
from kafkalab.client.transaction_manager.error_reactions import APIS, REACTIONS, Reaction
from kafkalab.protocol.errors import Error
from kafkalab.sim.cluster import Cluster
from kafkalab.sim.scenario import Scenario
from kafkalab.trace import Frame

FOLDER = Path("data") / "errors"
PAGE = Path("docs") / "errors.md"

MEANING: dict[Error, str] = {
    Error.INVALID_PRODUCER_EPOCH: "The partition has seen a newer epoch of your producer: abort; if that fails, close.",
    Error.PRODUCER_FENCED: "Another instance has taken your transactional id: close this one, do not retry.",
    Error.INVALID_PRODUCER_ID_MAPPING: "The transactional id has another producer id, or has expired: create a new "
    "producer.",
    Error.NOT_COORDINATOR: "The coordinator has moved: the client looks it up, you see nothing but a delay.",
    Error.COORDINATOR_NOT_AVAILABLE: "No live coordinator is known: the client retries.",
    Error.COORDINATOR_LOAD_IN_PROGRESS: "The new coordinator is reading its log: the client retries.",
    Error.INVALID_TXN_STATE: "The request does not fit the transaction's state: a bug, or a decision made meanwhile.",
    Error.CONCURRENT_TRANSACTIONS: "The previous transaction is still being completed: the client retries "
    "after a short wait.",
    Error.DUPLICATE_SEQUENCE_NUMBER: "The record is in the log, its offset is no longer known. Not sent since 1.0.2 "
    "and 1.1.",
    Error.OUT_OF_ORDER_SEQUENCE_NUMBER: "A batch before this one is missing: it is on its way, or lost.",
    Error.UNKNOWN_PRODUCER_ID: "The leader has forgotten your producer with its last record. Gone since 2.5.",
    Error.INVALID_TRANSACTION_TIMEOUT: "Your transaction.timeout.ms is over the brokers' transaction.max.timeout.ms.",
    Error.TRANSACTIONAL_ID_AUTHORIZATION_FAILED: "Ask for WRITE on the transactional id.",
    Error.CLUSTER_AUTHORIZATION_FAILED: "Ask for WRITE on a topic; before 2.8 for IDEMPOTENT_WRITE on the cluster.",
    Error.TOPIC_AUTHORIZATION_FAILED: "Ask for WRITE on the topic; nothing was added to the transaction.",
    Error.TRANSACTION_ABORTABLE: "This transaction cannot commit any more: abort it and do it again.",
    Error.UNSTABLE_OFFSET_COMMIT: "An open transaction holds offsets of your group: the client waits for its end.",
    Error.ILLEGAL_GENERATION: "Your group has rebalanced: another member has these inputs now; abort.",
    Error.FENCED_INSTANCE_ID: "Another member has your group.instance.id: close this one.",
    Error.TRANSACTION_COORDINATOR_FENCED: "For administrators: a newer coordinator has written here already.",
}
"""One line for whoever meets it, in the order of the page."""


FROM_LEADERS = (
    Error.INVALID_PRODUCER_EPOCH, Error.DUPLICATE_SEQUENCE_NUMBER, Error.OUT_OF_ORDER_SEQUENCE_NUMBER,
    Error.UNKNOWN_PRODUCER_ID, Error.CLUSTER_AUTHORIZATION_FAILED, Error.TOPIC_AUTHORIZATION_FAILED,
)  # fmt: skip
"""What a leader may answer to a batch outside transactions."""
FROM_GROUPS = (
    Error.NOT_COORDINATOR, Error.COORDINATOR_NOT_AVAILABLE, Error.COORDINATOR_LOAD_IN_PROGRESS,
    Error.TOPIC_AUTHORIZATION_FAILED, Error.UNSTABLE_OFFSET_COMMIT, Error.ILLEGAL_GENERATION, Error.FENCED_INSTANCE_ID,
)  # fmt: skip
"""What a group coordinator may answer to a consumer."""
WITHOUT_TRANSACTION = {
    Reaction.RETRY: "the batch is sent again",
    Reaction.SUCCESS: "the record counts as written; its offset is unknown",
    Reaction.SEQUENCE: "the batch is sent again, or, if it is the next in line, under an epoch that the client raises",
    Reaction.FATAL: "the record fails, and every later one",
    Reaction.ABORTABLE: "the record fails; later ones may be sent",
}


@dataclass(frozen=True, slots=True)
class Entry:
    """One error as its run has shown it; `answer` is the frame that first says it to a client.

    The states are of the moment of the answer, and of the end of the run.
    """

    error: Error
    scenario: Scenario
    answer: str
    api: str
    version: int
    broker: str
    answered: tuple[str, ...]
    at_the_end: tuple[str, ...]


def entry_of(error: Error, root: Path) -> Entry:
    """Run the error's scenario, under the project's folder `root`. ValueError if no client is answered with it."""
    path = root / FOLDER / f"{error.name}.klab"
    scenario = Scenario.load(path)
    cluster = Cluster(scenario)
    trace = cluster.run()
    responses = [f for f in trace.frames.values() if f.error == error.name and not cluster.is_server(f.receiver)]
    found = responses[0] if responses else None
    if found is None or cluster.unused_faults:
        raise ValueError(f"{path.name}: no client is answered with {error.name}, or a fault changed nothing")
    api = found.name.removesuffix("Response")
    answered, end = _state(cluster, found), _state(cluster, None)
    return Entry(error, scenario, found.id, api, found.version, found.sender, answered, end)


def _state(cluster: Cluster, until: Frame | None) -> tuple[str, ...]:
    """The transactional ids and the partitions that were written to, as the last events before the frame say."""
    shown: dict[str, str] = {}
    for event in cluster.trace.of("state"):
        if until is not None and event.step >= until.sent_step:
            break
        if event.name == "transaction":
            d = event.data
            shown[d["transactional_id"]] = f"{d['state']}, producer {d['producer_id']} epoch {d['producer_epoch']}"
        elif event.name == "watermark" and not event.data["partition"].startswith("__"):
            partition, stable = event.data["partition"], event.data["last_stable_offset"]
            if cluster.controller.metadata.leader(partition) == event.node:
                shown[partition] = f"last stable offset {stable} of {event.data['high_watermark']}"
    return tuple(f"{name}: {shown[name]}" for name in sorted(shown))


def reactions_to(error: Error) -> dict[str, tuple[str, ...]]:
    """What a producer does, and on which APIs."""
    found: dict[str, tuple[str, ...]] = {}
    for api in APIS:
        what = REACTIONS[api][error].value
        found[what] = (*found.get(what, ()), api)
    return found


def consumers_reaction(error: Error) -> str:
    """What a consumer does about an answer of its group's coordinator."""
    if error in LOOK_UP:
        return "the coordinator is looked up, and asked again"
    if error in UNKNOWN:
        return "a commit raises CommitFailedException, and the member joins its group anew"
    if error.retriable:
        return "asked again"
    return f"{java_name(exception_for(error))} is raised"


def entries(root: Path) -> list[Entry]:
    """Every error of MEANING, in its order."""
    return [entry_of(error, root) for error in MEANING]


def text_of(root: Path) -> str:
    """Return docs/errors.md as the runs made now have it."""
    return page(entries(root))


def page(found: list[Entry]) -> str:
    """The atlas as a page of Markdown."""
    lines = [
        "# Error atlas",
        "",
        "Computed by `kafkalab atlas` from the scenarios of data/errors/: each run meets its error on purpose.",
        "`kafkalab run data/errors/NAME.klab` runs one.",
    ]
    for entry in found:
        exception, title = exception_for(entry.error), entry.scenario.title
        lines += [
            "",
            f"## {entry.error.name} ({entry.error.code})",
            "",
            f"**{MEANING[entry.error]}**",
            "",
            f"* The run: {title[:1].lower()}{title[1:]} (profile {entry.scenario.profile}).",
            f"* Answered by {entry.broker} to {entry.api}, version {entry.version}.",
            f"* When it was answered: {'; '.join(entry.answered) or 'nothing was begun'}.",
            f"* At the end of the run: {'; '.join(entry.at_the_end) or 'nothing was begun'}.",
            f"* Java's exception: {java_name(exception)}, {'retriable' if entry.error.retriable else 'not retriable'}.",
        ]
        for what, apis in reactions_to(entry.error).items():
            where = "any API" if len(apis) == len(APIS) else ", ".join(apis)
            lines.append(f"* A transactional producer that meets it on {where}: {what}.")
        if entry.error in FROM_LEADERS:
            what = WITHOUT_TRANSACTION[REACTIONS["Produce"][entry.error]]
            lines.append(f"* A producer without transactions that meets it on Produce: {what}.")
        if entry.error in FROM_GROUPS:
            lines.append(f"* A consumer that meets it at its group's coordinator: {consumers_reaction(entry.error)}.")
    return "\n".join(lines) + "\n"
