"""L14.E1: who decides, who waits, who can finish, what is undone, on four machines; each cell is found by runs."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache, partial
from typing import Any

from kafkalab.alternatives.matrix import COLUMNS, WORDS, cell
from kafkalab.alternatives.presses import MODELS
from kafkalab.course.lab14.tables import table_of
from kafkalab.grading.exercise import Belief, Exercise, WrongType, describe
from kafkalab.grading.predictions import Fact, rows

FORM = 'a dict with a dict for each machine, like {"Kafka": {"decided by": "one log", "blocks": ...}, ...}'
ASKED = {
    "decided by": "what must have happened so that the transaction commits despite any later crash",
    "blocks": "who waits when the coordinator crashes after all have prepared, and stays down",
    "survivors finish": "whether the others finish when the coordinator and the informed participant crash",
    "undo": "what happens to the written data when the transaction is aborted",
}
LOOK = {
    "decided by": "Which logs have the entry, and does the decision wait for one that is down?",
    "blocks": "Press coordinator, go to the end, and read the line below each machine.",
    "survivors finish": "Press coordinator and participant, go to the end, and look at those who are up.",
    "undo": "Press abort and look for an entry that undoes something. In a broadcast no server votes no: let its "
    "leader crash alone with a proposal, and come back.",
}
MISSES: dict[tuple[str, str], dict[str, str]] = {
    ("Kafka", "decided by"): {"one log after votes": "Kafka votes", "a majority": "Kafka counts a majority",
                              "one log": "one copy is enough"},
    ("Kafka", "blocks"): {"the parts": "Kafka blocks like 2PC", "everybody": "Kafka blocks like 2PC"},
    ("Kafka", "survivors finish"): {"no": "Kafka blocks like 2PC", "nobody is left": "Kafka blocks like 2PC"},
    ("Kafka", "undo"): {"old values": "an abort takes back", "the tail": "an abort takes back"},
    ("two-phase commit", "decided by"): {"a majority": "votes are a majority", "one log": "nobody votes"},
    ("two-phase commit", "blocks"): {"nobody": "a time-out decides", "everybody": "all stand still"},
    ("two-phase commit", "survivors finish"): {"yes": "who has voted may decide"},
    ("two-phase commit", "undo"): {"nothing": "readers filter everywhere"},
    ("MVCC", "undo"): {"old values": "an abort takes back", "the tail": "an abort takes back"},
    ("MVCC", "blocks"): {"nobody": "one server never blocks", "the parts": "one server never blocks"},
    ("atomic broadcast", "decided by"): {"a replicated log": "all copies must have it",
                                         "one log": "one copy is enough"},
    ("atomic broadcast", "blocks"): {"everybody": "all stand still", "the parts": "all stand still"},
    ("atomic broadcast", "survivors finish"): {"yes": "one of three is enough"},
    ("atomic broadcast", "undo"): {"nothing": "readers filter everywhere", "old values": "an abort takes back"},
}  # fmt: skip


def flat(answer: object) -> dict[str, object]:
    """The answer with one key a cell: "Kafka, blocks". WrongType for anything but a dict of dicts."""
    if not isinstance(answer, Mapping):
        raise WrongType(f"Give {FORM}, not {describe(answer)}.")
    found: dict[str, Any] = {}
    for model, row in answer.items():
        if not isinstance(row, Mapping):
            raise WrongType(f"For {model} you give {describe(row)}. Give {FORM}.")
        found |= {f"{model}, {column}": word for column, word in row.items()}
    return found


@cache
def facts(of_seed: int) -> tuple[Fact, ...]:
    """The 16 cells, each with the run that shows it."""
    return tuple(
        Fact(
            name=f"{model}, {column}",
            says=ASKED[column],
            truth=cell(model, column, of_seed).word,
            look=f"Its words are {', '.join(WORDS[column])}. {LOOK[column]}",
            run=partial(show_cell, model, column, of_seed),
            misses=MISSES.get((model, column), {}),
            words=WORDS[column],
        )
        for model in MODELS
        for column in COLUMNS
    )


def show_cell(model: str, column: str, of_seed: int) -> Any:
    """The events around the step that decides the cell."""
    found = cell(model, column, of_seed)
    return table_of(found.run, found.step, f"{model}: {column}")


BELIEFS = {
    "Kafka votes": Belief(
        says="Kafka's partitions vote before the decision",
        hint="Look for a frame by which a partition says yes or no before PrepareCommit. There is none.",
    ),
    "Kafka counts a majority": Belief(
        says="a majority of the copies is enough for Kafka's decision",
        hint="Let b2 crash when all is written. A majority is left: does the decision wait?",
    ),
    "one copy is enough": Belief(
        says="the decision stands as soon as one copy has it",
        hint="Let the coordinator crash right after its own append. Is the entry anywhere else?",
    ),
    "Kafka blocks like 2PC": Belief(
        says="Kafka waits for a lost coordinator as two-phase commit does",
        hint="Press coordinator, or coordinator and participant, go to the end, and look at accounts-0 and accounts-1.",
    ),
    "an abort takes back": Belief(
        says="an abort removes what was written",
        hint="Press abort. Compare the logs at “written” and at the end: is anything gone?",
    ),
    "votes are a majority": Belief(
        says="in two-phase commit the majority of the votes decides",
        hint="Let one of two participants vote no (press abort). What is decided?",
    ),
    "nobody votes": Belief(
        says="in two-phase commit the coordinator decides alone",
        hint="What does the coordinator wait for before it logs the decision?",
    ),
    "a time-out decides": Belief(
        says="in two-phase commit a participant may give up after a time-out",
        hint="p1 has voted yes, and knows nothing. The coordinator may have told p2 to commit, or not. What may p1 do "
        "when its time is up?",
    ),
    "all stand still": Belief(
        says="if one process is lost, everybody waits",
        hint="Which processes hold a lock, and which can still serve others? Look at the processes that are up at the "
        "end.",
    ),
    "who has voted may decide": Belief(
        says="a participant that has voted may decide alone",
        hint="p2 asks everybody who is up. What does it learn?",
    ),
    "readers filter everywhere": Belief(
        says="every machine leaves aborted data where it is, and readers skip it",
        hint="Press no and read the last events of this machine, not only its state.",
    ),
    "one server never blocks": Belief(
        says="if nobody waits for locks, nobody waits for a lost server",
        hint="Readers do not wait for writers here. But who answers them when the server is down?",
    ),
    "all copies must have it": Belief(
        says="a broadcast waits for all of its servers",
        hint="Let s3 crash when all is written. How long does the decision take?",
    ),
    "one of three is enough": Belief(
        says="one server of a broadcast can continue alone",
        hint="s3 is up, and has the proposal. How many servers must follow a leader?",
    ),
}


EXERCISE = Exercise(
    "L14.E1",
    rows(facts, tuple(word for column in COLUMNS for word in WORDS[column]), FORM, "cell", flat, BELIEFS),
    (
        "Take one column at a time, and one press: for “blocks” coordinator, for “survivors finish” coordinator "
        "and participant, for “undo” abort. The line below each machine at the end says most of it.",
        "Decided by: count the logs that have the entry at the moment “decided”. Where there is more than one, press "
        'a crash of a copy and compare how long the decision takes: `run("Kafka", [("other", "written")])`.',
        "A participant that has voted yes may not decide alone. A Kafka partition has no vote, and its coordinator's "
        "log has copies of which any that is in sync may lead. A broadcast needs two of its three servers. A single "
        "server has no other to replace it.",
    ),
    points=16,
    misses=BELIEFS,
    questions=(33,),
    afterwards=(
        "Why: in each machine one entry decides. They differ in how many logs must have it, and in who may refuse "
        "before it is written. Next: eight questions over the whole course."
    ),
)
