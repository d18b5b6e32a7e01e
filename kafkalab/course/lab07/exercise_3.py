"""L7.E3: review and repair a service's configuration: name what each faulty line breaks, and give a value that works.

The truth of each line is found by a run of it, and so is what becomes of a new value.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import cache
from typing import Any

from kafkalab.course.lab07.scenario import told_at
from kafkalab.course.lab07.services import (
    ABORTED,
    BROKER,
    EFFECTS,
    FITS,
    FORGOTTEN,
    LINES,
    SERVICES,
    WAIT,
    Service,
    find_truth,
    run_of,
    service,
)  # fmt: skip
from kafkalab.grading.exercise import Belief, Exercise, WrongAnswer, WrongType, WrongValue, describe
from kafkalab.grading.reviews import Reviewed, judge_review, part_of, read_lines, read_word
from kafkalab.grading.seeds import random_for, seed
from kafkalab.sim.cluster import Cluster, ran

SERVICE = "service"
FORM = (
    "a dict with the number of the service, and for each line that breaks it the effect and a value that works, like "
    f'{{"{SERVICE}": 1, "client.id": ("an effect", "counter")}}'
)
LEAST_MS, MOST_MS = 1_000, 2**31 - 1
"""The values that a line takes: Kafka keeps these settings as 32-bit numbers, and less than a second helps nobody."""

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
def find_effect(line: str, asked: Service, of_seed: int) -> str:
    """Return what becomes of the service in the run of this line: FITS, or one of EFFECTS."""
    return find_truth(line, ran(run_of(line, asked, of_seed)))


def name_belief(line: str, effect: str, said: str) -> str:
    """Return the belief that leads to what is said of a line, an effect or FITS; "" for none."""
    believed = TOO_SHORT_OR_LONG[effect] if line == "transaction.timeout.ms" else WRONG[line]
    return believed.get(said, "") if said != effect else ""


def check(answer: object) -> str:
    """ "6 of 6 lines" if the repaired service works, and just what the old one broke is named.

    WrongAnswer opens a run of the repaired service, or of one old line. The service's number says what was reviewed.
    """
    number, entries = _read(answer)
    said = {line: effect for line, (effect, _) in entries.items()}
    asked = service(number)
    repaired = asked.repair({line: value for line, (_, value) in entries.items()})
    reviewed = [_review(line, asked) for line in LINES]
    named = [{said[line]} if line in said else set() for line in LINES]
    broken = [line for line in LINES if find_effect(line, repaired, seed()) != FITS]
    if broken:
        run = run_of(broken[0], repaired, seed())
        done = [set() if line in broken else words for line, words in zip(LINES, named, strict=True)]
        raise WrongAnswer(
            "The service was started with your values, and it still breaks. The run below shows one way.",
            run=run,
            step=_find_step(ran(run)),
            miss=name_belief(broken[0], find_effect(broken[0], repaired, seed()), FITS),
            part=part_of(reviewed, done),
        )
    return judge_review(reviewed, named, "line")


def _review(line: str, asked: Service) -> Reviewed:
    effect, run = find_effect(line, asked, seed()), run_of(line, asked, seed())

    def miss(said: Collection[str], word: str) -> str:
        return name_belief(line, effect, *(said or (FITS,)))

    return Reviewed(
        shown=line,
        breaks={effect: run} if effect != FITS else {},
        run=run,
        miss=miss,
        look=f"It has the line's old value. {LOOK[line]}",
        step=_find_step,
    )


def _read(answer: object) -> tuple[int, dict[str, tuple[str, str | int]]]:
    """Return the number of the service, and the effect and the new value of each line that the answer names."""
    number: Any = draw_number(seed())
    if isinstance(answer, Mapping):
        number = answer.get(SERVICE, number)
        answer = {line: entry for line, entry in answer.items() if line != SERVICE}
    found = read_lines(answer, LINES, FORM)
    if type(number) is not int or not 1 <= number <= SERVICES:
        raise WrongValue(f"There is no service {number!r}. The cell above prints the number of yours.")
    return number, {line: _read_entry(line, entry) for line, entry in found.items()}


def _read_entry(line: str, entry: Any) -> tuple[str, str | int]:
    if not isinstance(entry, (tuple, list)) or len(entry) != 2:
        raise WrongType(f"For {line} you give {describe(entry)}, not an effect and a value. Give {FORM}.")
    effect, value = read_word(entry[0], EFFECTS, line, FORM), entry[1]
    if line == "transactional.id":
        if not isinstance(value, str) or not value.strip() or "${" in value:
            raise WrongValue(f"The name of the service is a text without placeholders, not {value!r}.")
    elif type(value) is not int or not LEAST_MS <= value <= MOST_MS:
        bounds = f"a number of milliseconds from {LEAST_MS} to {MOST_MS}"
        raise WrongValue(f"The value of {line} is {bounds}, not {value!r}.")
    return effect, value


def _find_step(cluster: Cluster) -> int:
    """The step at which the counter learns of its error, or at which its successor has committed."""
    ended = [e.step for e in cluster.trace.of("complete", "commit_transaction") if e.node == "other"]
    return ended[-1] if ended else told_at(cluster)


EXERCISE = Exercise(
    "L7.E3",
    check,
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
