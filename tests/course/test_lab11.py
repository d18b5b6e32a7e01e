"""Lab 11's exercises: 24 crashes beside a database, a relay for an outbox, a prepared transaction."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from itertools import product
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
    assert check("L11.E3", review) == "L11.E3 ✓ 12 of 12 configurations"


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


def review(config: dict[str, Any]) -> list[str]:
    """Return what a configuration breaks, by thinking."""
    job, committed = config["writer"] == "stream job", config["isolation.level"] == "read_committed"
    late = job and config["checkpoint.interval.ms"] > config["transaction.timeout.ms"]
    lost = config["position stored"] == "before the row" or (late and committed)
    again = config["position stored"] == "after the row" and not (late and committed)
    if not job:
        again |= not committed or config["exactly.once.source.support"] == "disabled"
    doubled = again and config["insert"] == "INSERT"
    return ["lost"] * lost + ["doubled"] * doubled + ["rolled back"] * (job and not committed)


WRITERS: list[dict[str, Any]] = [
    {"writer": "stream job", "checkpoint.interval.ms": 30_000, "transaction.timeout.ms": 60_000},
    {"writer": "stream job", "checkpoint.interval.ms": 60_000, "transaction.timeout.ms": 20_000},
    {"writer": "source connector", "exactly.once.source.support": "enabled"},
    {"writer": "source connector", "exactly.once.source.support": "disabled"},
]


@pytest.mark.parametrize("writer", WRITERS, ids=lambda writer: "-".join(map(str, writer.values())))
@pytest.mark.parametrize("position", ["before the row", "after the row", "with the row"])
def test_each_configuration_breaks_what_its_lines_say(writer: dict[str, Any], position: str) -> None:
    for level, insert in product(("read_committed", "read_uncommitted"), ("INSERT", "INSERT OR IGNORE")):
        config = {**writer, "isolation.level": level, "position stored": position, "insert": insert}
        found = lab11_e3.broken_runs(tuple(config.items()))
        assert set(found) == set(review(config)), config
        for word, scenario in found.items():
            assert word in lab11_e3.judge(ran(scenario), config)


@pytest.mark.parametrize(
    ("wrong", "misses"),
    [
        (lambda config: review({**config, "isolation.level": "read_committed"}), {"the broker hides it"}),
        (lambda config: review({**config, "insert": "INSERT"}), {"a key does not help"}),
        (lambda config: review({**config, "position stored": "with the row"}), {"stored means done"}),
        (lambda config: review({**config, "transaction.timeout.ms": 900_000}), {"the checkpoint commits"}),
        (lambda config: review({**config, "exactly.once.source.support": "enabled"}), {"the source sends once"}),
        (lambda config: [*review(config), "lost"], {"a short checkpoint is lost"}),
        (lambda config: [*review(config), "rolled back"], {"the reader filters"}),
        (lambda config: [*review(config), "doubled"], {"position and row are one", "a key does not help"}),
    ],
)
def test_each_wrong_review_is_shown_a_run_and_named(
    wrong: Callable[[dict[str, Any]], list[str]], misses: set[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def tells_apart(seed: int) -> bool:
        return any(set(wrong(dict(config))) != set(review(dict(config))) for config in lab11_e3.draw(seed))

    monkeypatch.setenv(VARIABLE, str(next(filter(tells_apart, range(1, 6)))))
    found = catch_error(lab11_e3.check, wrong)
    assert found.run is not None
    assert found.miss in misses | {"the offset saves me", "the checkpoint commits"}
    assert found.miss in lab11_e3.EXERCISE.misses


def test_what_is_no_review_is_refused() -> None:
    with pytest.raises(BlankAnswer):
        lab11_e3.check(lambda config: None)
    with pytest.raises(WrongType, match="review"):
        lab11_e3.check(lambda config: ["broken"])
    with pytest.raises(WrongType, match="review"):
        lab11_e3.check("lost")
