"""The error atlas: for each error of the protocol a stored run that meets it on purpose, and what to do about it.

To add an error: save a scenario as data/errors/<ERROR>.klab, say in GUIDE what to do about it, run `kafkalab atlas`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from kafkalab.client.consumer.membership import LOOK_UP, UNKNOWN
from kafkalab.client.exceptions import exception_for, java_name
from kafkalab.client.transaction_manager.error_reactions import APIS, REACTIONS, Reaction
from kafkalab.protocol.errors import Error
from kafkalab.reference.bug import Bug
from kafkalab.reference.bug_list import BUGS
from kafkalab.reference.error_guide import GUIDE
from kafkalab.sim.cluster import Cluster
from kafkalab.sim.scenario import Scenario

FOLDER = Path("data") / "errors"
PAGE = Path("docs") / "errors.md"

MEANING: dict[Error, str] = {error: guide.means for error, guide in GUIDE.items()}
"""One line for whoever meets it, in the order of the page."""
ABORT, CLOSE, BY_ITSELF = "Abort the transaction", "Close the producer", "The client deals with it"
ADMIN = "For administrators"
GROUP_OF = {Reaction.ABORTABLE: ABORT, Reaction.RECOVERABLE: ABORT, Reaction.FATAL: CLOSE}
"""The advice after a reaction; after any other the client deals with it."""


FROM_LEADERS = (
    Error.INVALID_PRODUCER_EPOCH, Error.DUPLICATE_SEQUENCE_NUMBER, Error.OUT_OF_ORDER_SEQUENCE_NUMBER,
    Error.UNKNOWN_PRODUCER_ID, Error.CLUSTER_AUTHORIZATION_FAILED, Error.TOPIC_AUTHORIZATION_FAILED,
)  # fmt: skip
"""The errors that a leader may answer to a batch outside transactions."""
FROM_GROUPS = (
    Error.NOT_COORDINATOR, Error.COORDINATOR_NOT_AVAILABLE, Error.COORDINATOR_LOAD_IN_PROGRESS,
    Error.TOPIC_AUTHORIZATION_FAILED, Error.UNSTABLE_OFFSET_COMMIT, Error.ILLEGAL_GENERATION, Error.FENCED_INSTANCE_ID,
)  # fmt: skip
"""The errors that a group coordinator may answer to a consumer."""
WITHOUT_TRANSACTION = {
    Reaction.RETRY: "the batch is sent again",
    Reaction.SUCCESS: "the record counts as written; its offset is unknown",
    Reaction.SEQUENCE: "the batch is sent again, or, if it is the next in line, under an epoch that the client raises",
    Reaction.FATAL: "the record fails, and every later one",
    Reaction.ABORTABLE: "the record fails; later ones may be sent",
}


@dataclass(frozen=True, slots=True)
class Entry:
    """One error as its run has shown it; `answer` is the frame that first says it to a client."""

    error: Error
    scenario: Scenario
    answer: str
    api: str
    version: int
    broker: str


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
    return Entry(error, scenario, found.id, api, found.version, found.sender)


def reactions_to(error: Error) -> dict[str, tuple[str, ...]]:
    """Return what a transactional Java producer does, and on which of the APIs that answer this error."""
    found: dict[str, tuple[str, ...]] = {}
    for api in GUIDE[error].met_on:
        if api in APIS:
            what = REACTIONS[api][error].value
            found[what] = (*found.get(what, ()), api)
    return found


def group_of(error: Error) -> str:
    """Return what you have to do where the error's stored run meets it."""
    api = GUIDE[error].met_on[0]
    if api == "WriteTxnMarkers":
        return ADMIN
    return GROUP_OF.get(REACTIONS[api][error], BY_ITSELF) if api in APIS else BY_ITSELF


def bugs_with(error: Error) -> tuple[Bug, ...]:
    """Return the bugs whose description or whose runs name the error, and those that its guide adds."""
    named = re.compile(rf"\b{error.name}\b")
    added = GUIDE[error].bugs
    texts = {bug: " ".join((bug.broke, bug.cure, bug.good, bug.bad)) for bug in BUGS}
    return tuple(bug for bug, text in texts.items() if bug.number in added or named.search(text))


def consumers_reaction(error: Error) -> str:
    """Return what a consumer does about an answer of its group's coordinator."""
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
    """Return the atlas as a page of Markdown."""
    lines = [
        "# Errors: what each means, and what to do",
        "",
        "Written by `kafkalab atlas`. Each error is met in a run: `kafkalab run data/errors/NAME.klab` says what "
        "became of it, and [labs/92_errors.ipynb](../labs/92_errors.ipynb) opens it at the answer. Replace "
        "`host:9092`, names and ids by yours.",
    ]
    for entry in found:
        error, guide = entry.error, GUIDE[entry.error]
        exception = java_name(exception_for(error))
        again = "retriable" if error.retriable else "not retriable"
        title = entry.scenario.title
        lines += [
            "",
            f"## {error.name} ({error.code})",
            "",
            f"**{guide.means}** In Java: `{exception}`, {again}.",
            "",
            f"* **Check first:** {guide.check}",
            f"* **Do, in Java:** {guide.java}{_reaction_text(error)}",
            f"* **Do, in librdkafka:** {guide.librdkafka}",
            f"* **Command:** `{guide.command}`",
            f"* **The run:** {title[:1].lower()}{title[1:]}. {entry.broker} answers {entry.api}, version "
            f"{entry.version} (profile {entry.scenario.profile}): "
            f"[data/errors/{error.name}.klab](../data/errors/{error.name}.klab).",
        ]
        if bugs := bugs_with(error):
            lines.append(f"* **Bugs:** {', '.join(bug.link for bug in bugs)}.")
    return "\n".join(lines) + "\n"


def _reaction_text(error: Error) -> str:
    """Return what the client does by itself, in parentheses, with what producers and consumers without one do."""
    parts = [f"{', '.join(apis)}: {what}" for what, apis in reactions_to(error).items()]
    if error in FROM_LEADERS:
        parts.append(f"Produce without a transaction: {WITHOUT_TRANSACTION[REACTIONS['Produce'][error]]}")
    if error in FROM_GROUPS:
        parts.append(f"a consumer at its group's coordinator: {consumers_reaction(error)}")
    return f" ({'; '.join(parts)}.)" if parts else ""
