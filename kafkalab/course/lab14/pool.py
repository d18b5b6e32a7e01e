"""Questions over the whole course: rows of other labs' exercises, asked on their own, and some that are only here.

Each has its own choices and a run; a wrong choice has the belief that leads to it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import cache, partial
from importlib import import_module

from kafkalab.checks.all import check_all
from kafkalab.course.lab00.scenario import lab00
from kafkalab.course.lab01.scenario import lab01
from kafkalab.course.lab09.scenario import lab09
from kafkalab.course.lab13.scenario import lab13
from kafkalab.course.lab15.scenario import late_batch
from kafkalab.faults.frame import Drop, Hold, Release
from kafkalab.grading.beliefs import belief_of
from kafkalab.grading.exercise import EXERCISES, Belief
from kafkalab.grading.mixed import Question
from kafkalab.grading.predictions import Fact
from kafkalab.history.export import history_of
from kafkalab.sim.cluster import ran
from kafkalab.sim.scenario import Program, Scenario

CONTEXTS: dict[str, tuple[str, Mapping[str, str]]] = {
    "L3.E1": (
        "The application app writes to two partitions in one transaction; b3 is its coordinator: {}. How does it end?",
        {"nothing": "no transaction was begun"},
    ),
    "L7.E2": (
        "A Java producer: {}. What is the lightest remedy that helps?",
        {
            "retry": "the same call again",
            "abort": "abort the transaction and do its work again",
            "recreate": "a new producer with the same name",
            "exit": "none of these",
        },
    ),
    "L10.E2": (
        "A consumer has committed tea and salt, and its transaction has read rice and oil. Then {}. Where does its "
        "next poll begin?",
        {"rewind": "at rice", "unchanged": "after oil", "further": "at tea"},
    ),
    "L11.E1": (
        "A booker writes to Kafka and to a database: {}; then another booker takes over. What is there at the end?",
        {"ok": "one booking, one receipt", "lost": "something is missing", "dup": "something is there twice"},
    ),
    "L12.E4": (
        "A check finds this in a history: {}. Does it break a promise?",
        {"forbidden": "yes", "allowed": "no", "reported": "nobody can say yet: it may disappear later"},
    ),
    "L14.E1": ("Say of {}.", {}),
}
"""By exercise: how a row of it is asked, and other texts for its words."""


def _borrow(exercise: str, of_seed: int) -> Iterator[Question]:
    """Yield the rows of an exercise that have a belief for a wrong word."""
    module = import_module(EXERCISES[exercise])
    context, texts = CONTEXTS[exercise]
    for fact in module.facts() if exercise == "L12.E4" else module.facts(of_seed):
        words = tuple(fact.words or module.WORDS)
        known = {word: belief for word in words if (belief := belief_of(fact.misses or {}, word))}
        if not known:
            continue
        says = f"{fact.name.split(', ')[0]} {fact.says}" if exercise == "L14.E1" else fact.says
        asked = replace(
            fact, says=context.format(says), truth=texts.get(fact.truth, fact.truth),
            words=tuple(texts.get(word, word) for word in words),
            misses={texts.get(word, word): _belief_in(module.EXERCISE, name).says for word, name in known.items()},
            tried=fact.tried and partial(_try_text, fact.tried, texts),
        )  # fmt: skip
        yield Question(exercise, asked)


def _try_text(tried: Callable[[str], Scenario], texts: Mapping[str, str], text: str) -> Scenario:
    """Return the run of a choice, which is given by its text here."""
    return tried(next((word for word, said in texts.items() if said == text), text))


def _belief_in(exercise: object, name: str) -> Belief:
    found = exercise.misses.get(name, name)  # type: ignore[attr-defined]
    return found if isinstance(found, Belief) else Belief(says=name, hint=exercise.hint_for(name))  # type: ignore[attr-defined]


OWN = {
    says: Belief(says=says, hint=hint)
    for says, hint in (
        ("markers take no offset", "Look at the last batch in the log: what is it?"),
        ("an abort removes the records", "Look at the log after the abort: what is there?"),
        ("each record gets a marker of its own", "Look at the last entries of one partition."),
        ("a transaction has one marker", "Look at the last entry of each partition."),
        ("only the transaction's own records wait", "Where is the last stable offset?"),
        ("an open transaction stops every reader", "Up to which mark does this reader read?"),
        ("the brokers protect every client", "Compare the epoch in the late request with the coordinator's."),
        ("no client is protected", "Compare the epoch in the late request with the coordinator's."),
        ("the log removes every repetition", "Which number in the batch would show a repetition?"),
        ("a retry is a second record", "Compare the sequence of the two batches."),
        ("whoever commits first wins", "Which epoch does the coordinator have when the commit arrives?"),
        ("an old instance still counts", "Which epoch does the coordinator have when the commit arrives?"),
        ("an abort ends whatever arrives later", "Does the late batch come before the marker, or after it?"),
        ("nothing stops a late batch", "Whom does the leader ask before it appends?"),
        ("a request has a number by which it is recognised", "Which fields does EndTxn have?"),
    )
}
"""The beliefs of the questions that are only here."""


def list_beliefs() -> dict[str, Belief]:
    """Return every belief by its sentence; no run is made."""
    exercises = [import_module(EXERCISES[exercise]).EXERCISE for exercise in CONTEXTS]
    borrowed = [_belief_in(exercise, name) for exercise in exercises for name in exercise.misses]
    return OWN | {belief.says: belief for belief in borrowed}


def _own(source: str, asks: str, run: Callable[[], Scenario], truth: str, wrong: Mapping[str, Belief]) -> Question:
    """Return a question that is only here; the run says what is true."""
    misses = {word: belief.says for word, belief in wrong.items()}
    return Question(source, Fact(name=source, says=asks, truth=truth, run=run, misses=misses, words=(truth, *wrong)))


def writes(count: int, commits: bool) -> Scenario:
    """Return a producer that writes `count` records in one transaction, and ends it."""
    steps = [["init_transactions"], ["begin_transaction"]]
    steps += [["send", "orders", f"order {n}", None, 0] for n in range(count)]  # type: ignore[list-item]
    steps += [["flush"], ["commit_transaction" if commits else "abort_transaction"]]
    program = Program("shop", "operations", {"transactional_id": "shop-0", "steps": steps})
    return Scenario(title="One transaction", brokers=1, topics={"orders": 1}, programs=(program,))


def _ends(of_seed: int) -> Iterator[Question]:
    """Yield two questions on offsets."""
    count = 2 + of_seed % 4
    for commits in (True, False):
        run = partial(writes, count, commits)
        end = ran(run()).log_of("orders-0").log_end_offset
        word = "commits" if commits else "aborts"
        text = (
            f"A producer sends {count} records in one transaction to an empty partition and {word}. Where does it end?"
        )
        none = "markers take no offset" if commits else "an abort removes the records"
        wrong = {
            f"at offset {count if commits else 0}": OWN[none],
            f"at offset {2 * count}": OWN["each record gets a marker of its own"],
        }
        yield _own("lab 4", text, run, f"at offset {end}", wrong)


def waits(level: str) -> Scenario:
    """Return an open transaction, a plain record after it, and a reader that waits for the record for ten seconds."""
    arguments = {"two_phase": False, "decide_after_ms": 60_000, "commits": True}
    programs = (
        Program("shop", "preparer", arguments),
        Program("other", "next_receipt", {"at_ms": 1_000}),
        Program("reader", "waiting_reader", {"isolation_level": level, "until_ms": 10_000}),
    )
    return Scenario(title="After an open transaction", brokers=1, topics={"receipts": 1}, programs=programs)


def _readers(of_seed: int) -> Iterator[Question]:
    """Yield two questions on what readers wait for."""
    for level in ("read_committed", "read_uncommitted"):
        run = partial(waits, level)
        came = ran(run()).results["reader"][0] >= 0
        text = (
            "A transaction has written a record and stays open. After it another producer writes a record without a "
            f"transaction. Does a {level} reader get that second record while the transaction is open?"
        )
        committed = level == "read_committed"
        belief = OWN[
            "only the transaction's own records wait" if committed else "an open transaction stops every reader"
        ]
        yield _own("lab 5", text, run, "yes" if came else "no", {"no" if came else "yes": belief})


def _late_ends(of_seed: int) -> Iterator[Question]:
    """Yield two questions on a late EndTxn."""
    late = (Hold("EndTxn#1"), Release("EndTxn#1", at_ms=33_000))
    for profile, client in (("4.x/TV1", "librdkafka"), ("4.x/TV2", "Java 4.x")):
        run = partial(lab09, profile, faults=late)
        torn = "torn transaction" in check_all(history_of(ran(run()))).violated
        ends, refused = "it ends the next transaction", "it is refused"
        text = (
            f"On brokers with transaction.version 2 an EndTxn of a {client} client is so late that it arrives in the "
            "next transaction. What happens to it?"
        )
        wrong = {
            refused if torn else ends: OWN["the brokers protect every client" if torn else "no client is protected"],
            "it is recognised as a repetition": OWN["a request has a number by which it is recognised"],
        }
        yield _own("lab 9", text, run, ends if torn else refused, wrong)


def _markers(of_seed: int) -> Iterator[Question]:
    """Yield a question on the cost of a transaction."""
    parts = 2 + of_seed % 3
    run = partial(lab13, records=60, size=60, partitions=parts, work_ms=0)
    logs = [ran(run()).log_of(f"bills-{n}") for n in range(parts)]
    count = sum(batch.control is not None for log in logs for batch in log.batches)
    text = f"One transaction writes 60 records to {parts} partitions. How many COMMIT markers are written there?"
    wrong = {
        "1": OWN["a transaction has one marker"],
        "60": OWN["each record gets a marker of its own"],
    }
    yield _own("lab 13", text, run, str(count), wrong)


def _repeats(of_seed: int) -> Iterator[Question]:
    """Yield two questions on a lost answer."""
    for source, producer, make in (("lab 0", "with acks=1", lab00), ("lab 1", "with the default settings", lab01)):
        run = partial(_lose_an_answer, make)
        count = [r.value for b in ran(run()).log_of("orders-0").batches for r in b.records].count("soup")
        text = (
            f"A Java producer {producer} sends a record; the leader appends it, and its answer is lost. The producer "
            "sends the record again. How often is it in the log?"
        )
        truth, other = ("twice", "once") if count == 2 else ("once", "twice")
        name = "the log removes every repetition" if count == 2 else "a retry is a second record"
        yield _own(source, text, run, truth, {other: OWN[name]})


def _lose_an_answer(make: Callable[[], Scenario]) -> Scenario:
    return make().with_faults(Drop("ProduceResponse#1"))


def charges(again: bool) -> Scenario:
    """Return an instance that has written, and another one that calls init_transactions() if it is `again`."""
    first = [["init_transactions"], ["begin_transaction"], ["send", "charges", "first", None, 0], ["flush"]]
    first += [["sleep", 5_000], ["commit_transaction"]]
    second = [["sleep", 2_000], ["init_transactions"]] if again else [["sleep", 2_000]]
    programs = tuple(
        Program(node, "operations", {"transactional_id": "till-0", "steps": steps})
        for node, steps in (("old", first), ("new", second))
    )
    return Scenario(title="Two instances", brokers=1, topics={"charges": 1}, programs=programs)


def _fences(of_seed: int) -> Iterator[Question]:
    """Yield two questions on fencing."""
    for again in (True, False):
        run = partial(charges, again)
        counts = bool(ran(run()).outcome().committed["charges-0"])
        text = (
            "An instance has written a record in a transaction. Another one starts with the same transactional.id and "
            f"{'calls' if again else 'does not call'} init_transactions(). Then the first one commits. Does its record "
            "count?"
        )
        name = "whoever commits first wins" if again else "an old instance still counts"
        yield _own("lab 6", text, run, "yes" if counts else "no", {"no" if counts else "yes": OWN[name]})


def _late_batches(of_seed: int) -> Iterator[Question]:
    """Yield two questions on a batch that arrives when its transaction is over."""
    for verified, brokers in ((False, "before 3.6, which do not verify"), (True, "since 3.6, which verify")):
        run = partial(late_batch, verified=verified)
        hangs = "hanging transaction" in check_all(history_of(ran(run()))).violated
        text = (
            f"On brokers {brokers} a partition with its coordinator, a batch arrives after its transaction was "
            "aborted. Is a transaction open afterwards that no one will end?"
        )
        name = "an abort ends whatever arrives later" if hangs else "nothing stops a late batch"
        yield _own("lab 15", text, run, "yes" if hangs else "no", {"no" if hangs else "yes": OWN[name]})


KINDS = (_ends, _readers, _late_ends, _markers, _repeats, _fences, _late_batches)


@cache
def pool(of_seed: int) -> tuple[Question, ...]:
    """Return all questions, by their sources."""
    made = [question for exercise in CONTEXTS for question in _borrow(exercise, of_seed)]
    for kind in KINDS:
        made += kind(of_seed)
    return tuple(made)
