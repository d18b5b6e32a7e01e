"""L7.E3: a service's configuration is reviewed: what breaks at each line? Each truth is found by a run of that line."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cache, partial

from kafkalab.course.lab07.scenario import told_at
from kafkalab.course.lab07.services import (
    ABORTED,
    BROKER,
    FITS,
    FORGOTTEN,
    LINES,
    SERVICES,
    WAIT,
    WORDS,
    find_truth,
    run_of,
    service,
)  # fmt: skip
from kafkalab.grading.exercise import Belief, BlankAnswer, Exercise, WrongValue, is_blank
from kafkalab.grading.predictions import Fact, rows, table
from kafkalab.grading.seeds import random_for, seed
from kafkalab.sim.cluster import Cluster, ran

SERVICE = "service"
FORM = f'a dict with the number of the service under "{SERVICE}", and one of the words for each line'

BELIEFS = {
    "a random name is a name": Belief(
        says="any name will do, if it is unique",
        hint="A dead instance's transaction is open under its name. Who claims that name after the restart?",
    ),
    "a restart needs a new name": Belief(
        says="a restarted instance needs a new name",
        hint="Under the same name init_transactions() aborts what the dead instance left open.",
    ),
    "my work does not count": Belief(
        says="a transaction's clock stops while the program works",
        hint="The coordinator counts from the first record on. It knows nothing of the program.",
    ),
    "no maximum": Belief(
        says="a client may choose any transaction timeout",
        hint="Which line of server.properties limits it?",
    ),
    "settings stand alone": Belief(
        says="each timeout can be chosen without the others",
        hint="A record needs time to wait, and time for one request. Add both up.",
    ),
    "delivery is the work's": Belief(
        says="delivery.timeout.ms limits the work",
        hint="It limits one record, from send() to its answer. During the work no record is on its way.",
    ),
    "heartbeats suffice": Belief(
        says="a member that sends heartbeats stays in its group",
        hint="A separate thread sends the heartbeats. Which setting limits the time between two polls?",
    ),
    "one limit for all": Belief(
        says="the coordinator of the transaction limits everything",
        hint="The group has its own coordinator and its own limit. Which one is it?",
    ),
    "a name is for ever": Belief(
        says="a coordinator never forgets a name",
        hint="An unused name expires. Compare the setting with the days between two shelves.",
    ),
    "one expiry for all": Belief(
        says="a producer whose id a leader has forgotten cannot continue",
        hint="A leader that knows nothing of a producer accepts sequence 0, with which each transaction begins.",
    ),
    "idle is open": Belief(
        says="a transaction is open between two shelves",
        hint="Between two shelves nothing is open. What can expire then?",
    ),
}

WRONG: Mapping[str, Mapping[str, str]] = {
    "transactional.id": {FITS: "a random name is a name", WAIT: "a restart needs a new name"},
    "delivery.timeout.ms": {FITS: "settings stand alone", ABORTED: "delivery is the work's"},
    "max.poll.interval.ms": {FITS: "heartbeats suffice", ABORTED: "one limit for all"},
    "transactional.id.expiration.ms": {FITS: "a name is for ever", ABORTED: "idle is open"},
    "producer.id.expiration.ms": {FORGOTTEN: "one expiry for all", ABORTED: "idle is open"},
}
"""The belief that leads to a wrong word, by line."""
TOO_SHORT_OR_LONG: Mapping[str, Mapping[str, str]] = {
    ABORTED: {FITS: "my work does not count"},
    BROKER: {FITS: "no maximum", ABORTED: "no maximum"},
    FITS: {},
}
"""The same for transaction.timeout.ms, by what is true of it."""
LOOK: Mapping[str, str] = {
    "transactional.id": "The counter dies, and is started again. Which name does it claim?",
    "transaction.timeout.ms": "How long does a shelf take, and how much does the broker allow?",
    "delivery.timeout.ms": "How long may one request take, and how long does a record wait before it?",
    "max.poll.interval.ms": "How much time passes between two polls?",
    "transactional.id.expiration.ms": "How many days is that, and how many days pass between two shelves?",
    "producer.id.expiration.ms": "What does a leader do with the first batch of a producer that it has forgotten?",
}


def draw_number(of_seed: int) -> int:
    """Return the number of the service that this seed asks about."""
    return random_for("L7.E3", of_seed).randint(1, SERVICES)


def ask(of_seed: int) -> tuple[int, str]:
    """Return the number of the service, and its configuration."""
    return draw_number(of_seed), str(service(draw_number(of_seed)))


@cache
def facts(number: int, of_seed: int) -> tuple[Fact, ...]:
    """Every line of the service with what becomes of its run."""
    asked, found = service(number), []
    for line in LINES:
        run = partial(run_of, line, asked, of_seed)
        truth = find_truth(line, ran(run()))
        believed = TOO_SHORT_OR_LONG[truth] if line == "transaction.timeout.ms" else WRONG[line]
        found.append(
            Fact(
                name=line,
                says=f"{line}={asked.value(line)}",
                truth=truth,
                look=LOOK[line],
                run=run,
                misses={word: belief for word, belief in believed.items() if word != truth},
                step=_step,
            )
        )
    return tuple(found)


def _step(cluster: Cluster) -> int:
    """The step at which the counter learns of its error, or at which its successor has committed."""
    ended = [e.step for e in cluster.trace.of("complete", "commit_transaction") if e.node == "other"]
    return ended[-1] if ended else told_at(cluster)


def check(answer: object) -> str:
    """ "6 of 6 lines" if each line has the right word; the service's number says which configuration was reviewed."""
    number = draw_number(seed())
    if isinstance(answer, Mapping):
        if all(is_blank(word) for name, word in answer.items() if name != SERVICE):
            raise BlankAnswer(f"All lines are still blank. Give {FORM}.")
        number = answer.get(SERVICE, number)
        if not isinstance(number, int) or not 1 <= number <= SERVICES:
            raise WrongValue(f"There is no service {number!r}. The cell above prints the number of yours.")
        answer = {name: word for name, word in answer.items() if name != SERVICE}
    return table(answer, facts(number, seed()), WORDS, FORM, "line", BELIEFS)


EXERCISE = Exercise(
    "L7.E3",
    replace(
        rows(lambda of_seed: facts(draw_number(of_seed), of_seed), WORDS, FORM, "line", beliefs=BELIEFS), check=check
    ),
    (
        "For each line ask which clock it sets, who keeps that clock, and from when on it runs.",
        "Compare three lines with the time that a shelf takes, one with two other lines of the client, two with the "
        "days between two shelves. The name has to be the same after a restart.",
        "A transaction longer than its timeout is aborted; a timeout above transaction.max.timeout.ms is refused. "
        "delivery.timeout.ms must be at least linger.ms + request.timeout.ms. Of the two expiries only that of the "
        "name does harm.",
    ),
    points=6,
    questions=(15, 16, 22, 23),
    misses=BELIEFS,
    question=ask,
    afterwards=(
        "Why: each clock belongs to one process. The client refuses settings that contradict each other, and the "
        "broker refuses a timeout above its maximum. The other mistakes show only when the time is over. Next: lab 8, "
        "where the brokers that keep the clocks die."
    ),
)
