"""Lab 11's exercises: 24 crashes beside a database, a relay for an outbox, a prepared transaction."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from kafkalab.course.lab11 import exercise_1 as lab11_e1
from kafkalab.course.lab11 import exercise_2 as lab11_e2
from kafkalab.course.lab11 import exercise_3 as lab11_e3
from kafkalab.course.lab11.scenario import GAPS, lab11
from kafkalab.grading.check import check
from kafkalab.grading.counterexamples import picture
from kafkalab.grading.exercise import BlankAnswer, WrongAnswer, WrongType
from kafkalab.grading.seeds import VARIABLE
from kafkalab.programs.booking import PATTERNS
from kafkalab.programs.database import database
from kafkalab.programs.outbox import last_sent
from kafkalab.sim.cluster import Cluster, ran
from tests.grading.told import tell

SEEDS = ("1", "2026")
FEW = 40
pytestmark = pytest.mark.usefixtures("no_hints_given")
Relay = Callable[..., Coroutine[Any, Any, None]]
RIGHT_1 = {
    "Kafka first": ["ok", "ok", "ok", "lost", "lost", "ok"],
    "database first": ["ok", "ok", "dup", "dup", "dup", "ok"],
    "unique key": ["ok"] * 6,
    "outbox": ["ok", "ok", "ok", "ok", "dup", "ok"],
}
RIGHT_3 = dict(
    enumerate(("timeout", "decision", "decision", "for ever", "claim", "decision", "coordinator", "not at all"), 1)
)


@pytest.fixture(autouse=True)
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fewer schedules than a learner's check runs."""
    monkeypatch.setattr(lab11_e2, "SCHEDULES", FEW)


def relay(
    name: str = "relay",
    level: str = "read_committed",
    asks_first: bool = False,
    transactions: bool = True,
    deletes: str = "",
    writes_more: bool = False,
) -> Relay:
    """The relay as it should be, but for what is given."""

    async def function(app: Any, start_ms: int, stop_ms: int) -> None:
        await app.sleep(start_ms)
        db, done = database(app), 0
        if asks_first:
            done = await last_sent(app, level)
        settings = {"transactional_id": name.format(app.name)} if transactions else {}
        producer = app.producer(linger_ms=0, **settings)
        if transactions:
            await producer.init_transactions()
        if not asks_first and not deletes:
            done = await last_sent(app, level)
        while app.now < stop_ms:
            found = await db.execute("SELECT id, receipt FROM outbox WHERE id > ? ORDER BY id", [done])
            if deletes == "before":
                await _delete(db, found)
            if found and transactions:
                producer.begin_transaction()
            for number, receipt in found:
                await producer.send("receipts", receipt, key=str(number), partition=0)
                if writes_more:
                    await producer.send("receipts", f"copy of {receipt}", key=str(number), partition=0)
            if found:
                await (producer.commit_transaction() if transactions else producer.flush())
                done = found[-1][0]
            if deletes == "after":
                await _delete(db, found)
            await app.sleep(200)

    return function


async def _delete(db: Any, found: list[tuple[Any, ...]]) -> None:
    for number, _ in found:
        await db.execute("DELETE FROM outbox WHERE id = ?", [number])


def catch_error(check: Callable[[Any], str], answer: Any) -> WrongAnswer:
    """The exercise's own error, which has the step that decides."""
    with pytest.raises(WrongAnswer) as caught:
        check(answer)
    return caught.value


@pytest.mark.parametrize("seed", SEEDS)
def test_the_solutions_are_right_under_every_seed(seed: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, seed)
    assert check("L11.E1", RIGHT_1) == "L11.E1 ✓ 24 of 24 cells"
    assert check("L11.E2", relay()) == f"L11.E2 ✓ {FEW} of {FEW} schedules"
    assert check("L11.E3", RIGHT_3) == "L11.E3 ✓ 8 of 8 rows"


@pytest.mark.parametrize("pattern", PATTERNS)
@pytest.mark.parametrize("gap", GAPS)
def test_every_wrong_word_of_the_matrix_names_its_misconception(pattern: str, gap: int) -> None:
    for word in ("ok", "lost", "dup"):
        right = RIGHT_1[pattern][gap - 1]
        if word == right:
            continue
        found = tell("L11.E1", (pattern, gap), word)
        assert found.run == lab11(pattern, gap)
        assert ran(found.run).trace.events[found.step].kind == "crash"
        assert found.belief in lab11_e1.EXERCISE.misses


def test_the_matrix_takes_only_its_form() -> None:
    with pytest.raises(BlankAnswer):
        lab11_e1.EXERCISE.check({pattern: [""] * 6 for pattern in PATTERNS})
    with pytest.raises(WrongType, match="a list of six words"):
        lab11_e1.EXERCISE.check({"outbox": "ok"})


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(
    ("mutant", "miss"),
    [
        ({"name": "relay-{}"}, "own names"),
        ({"level": "read_uncommitted"}, "lost"),
        ({"asks_first": True}, "where it got to"),
        ({"deletes": "after"}, "where it got to"),
        ({"deletes": "before"}, "lost"),
        ({"transactions": False}, "no transaction"),
        ({"transactions": False, "deletes": "after"}, "no transaction"),
        ({"writes_more": True}, "not booked"),
    ],
    ids=lambda value: "_".join(map(str, value)) if isinstance(value, dict) else "",
)
def test_every_mistake_of_a_relay_is_found(
    mutant: dict[str, Any], miss: str, seed: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(VARIABLE, seed)
    monkeypatch.setattr(lab11_e2, "SCHEDULES", 100)
    found = catch_error(lab11_e2.check, relay(**mutant))
    assert miss in lab11_e2.EXERCISE.misses
    assert found.miss == miss
    assert isinstance(found.run, Cluster)
    if miss in ("own names", "where it got to", "no transaction"):
        assert picture(found.run, found.step).step == found.step > 0


def test_a_relay_that_sends_nothing_is_a_blank_form() -> None:
    async def blank(app: Any, start_ms: int, stop_ms: int) -> None: ...

    with pytest.raises(BlankAnswer):
        lab11_e2.check(blank)
    with pytest.raises(WrongType):
        lab11_e2.check("a relay")


@pytest.mark.parametrize(
    ("row", "word", "miss"),
    [
        (1, "for ever", "an ordinary one has a timeout"),
        (1, "not at all", "open means blocked"),
        (2, "timeout", "the timeout ends it"),
        (4, "timeout", "the timeout ends it"),
        (4, "coordinator", "Kafka's coordinator does not decide"),
        (5, "decision", "a claim decides"),
        (5, "for ever", "a claim ends it"),
        (6, "coordinator", "another broker takes over"),
        (7, "decision", "nobody can be told"),
        (7, "for ever", "the log outlives the crash"),
        (8, "for ever", "only read_committed waits"),
    ],
)
def test_what_a_reader_is_believed_to_wait_for(row: int, word: str, miss: str) -> None:
    assert tell("L11.E3", row, word).belief == miss
    assert miss in lab11_e3.EXERCISE.misses


def test_a_prepared_transaction_is_asked_for_in_version_6() -> None:
    cluster = Cluster(lab11_e3.scenario(1, lab11_e3.ROWS[3]))
    cluster.run()
    (init,) = [f for f in cluster.trace.frames.values() if f.name == "InitProducerId" and f.sender == "producer"]
    assert (init.version, init.body.enable_2pc) == (6, True)
