"""The database beside the cluster: a real SQLite, whose rows outlive crashes once they are committed."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

import pytest

from kafkalab.faults.node import Crash
from kafkalab.programs.database import database, rows
from kafkalab.sim.app import App
from kafkalab.sim.cluster import Cluster, ran
from kafkalab.sim.scenario import Program, Scenario, program
from kafkalab.widgets.payload.marks import marks_of
from kafkalab.widgets.payload.payload import payload_of
from kafkalab.widgets.payload.text import text_at


@program
async def writes_a_row(app: App, value: str, commits: bool, at_ms: int = 0) -> Any:
    await app.sleep(at_ms)
    db = database(app)
    await db.begin()
    await db.execute("INSERT INTO bookings VALUES (?)", [value])
    await app.sleep(100)
    await (db.commit() if commits else db.rollback())
    return await db.execute("SELECT payment FROM bookings")


def write_rows(*programs: tuple[str, dict[str, Any]], faults: tuple[Any, ...] = ()) -> Cluster:
    listed = tuple(Program(node, writes_a_row, args) for node, args in programs)
    return ran(Scenario(title="rows", brokers=1, topics={"t": 1}, programs=listed, faults=faults))


def test_what_is_committed_stays_and_the_rest_is_gone() -> None:
    cluster = write_rows(("a", {"value": "one", "commits": True}), ("b", {"value": "two", "commits": False}))
    assert rows(cluster, "SELECT payment FROM bookings") == [("one",)]


def test_one_transaction_at_a_time() -> None:
    cluster = write_rows(("a", {"value": "one", "commits": True}), ("b", {"value": "two", "commits": True}))
    says = [event.data["does"] for event in cluster.trace.of("state", "database")]
    assert says == [
        "INSERT INTO bookings VALUES ('one')",
        "COMMIT",
        "INSERT INTO bookings VALUES ('two')",
        "COMMIT",
    ]


def test_the_next_process_finds_a_dead_ones_rows_rolled_back() -> None:
    cluster = write_rows(
        ("a", {"value": "one", "commits": True}),
        ("b", {"value": "two", "commits": True, "at_ms": 1_000}),
        faults=(Crash("a", at_ms=50),),
    )
    assert cluster.results["b"] == [("two",)]
    says = [event.data["does"] for event in cluster.trace.of("state", "database")]
    assert says == [
        "INSERT INTO bookings VALUES ('one')",
        "rolls back what a had not committed",
        "INSERT INTO bookings VALUES ('two')",
        "COMMIT",
    ]
    marks = marks_of(payload_of(cluster))
    steps = [event.step for event in cluster.trace.of("state", "database")]
    assert [marks[str(step)] for step in steps] == ["INSERT bookings", "ROLLBACK", "INSERT bookings", "COMMIT"]


def test_two_runs_have_two_databases_and_one_digest() -> None:
    one, other = (write_rows(("a", {"value": "one", "commits": True})) for _ in range(2))
    assert rows(one, "SELECT count(*) FROM bookings") == rows(other, "SELECT count(*) FROM bookings") == [(1,)]
    assert one.trace.digest() == other.trace.digest()


def test_sqlite_refuses_a_second_unique_row() -> None:
    @program
    async def writes_twice(app: App) -> str:
        db = database(app)
        await db.execute("INSERT INTO booked_once VALUES (?)", ["one"])
        try:
            await db.execute("INSERT INTO booked_once VALUES (?)", ["one"])
        except sqlite3.IntegrityError as error:
            return str(error)
        return ""

    cluster = ran(Scenario(title="twice", brokers=1, topics={}, programs=(Program("a", writes_twice),)))
    assert cluster.results["a"] == "UNIQUE constraint failed: booked_once.payment"


def test_a_commit_needs_a_transaction() -> None:
    @program
    async def commits_only(app: App) -> None:
        await database(app).commit()

    with pytest.raises(sqlite3.OperationalError, match=r"no transaction is open; call begin\(\) first"):
        ran(Scenario(title="commit", brokers=1, topics={}, programs=(Program("a", commits_only),)))


def test_the_picture_shows_rows_and_what_of_them_is_committed() -> None:
    cluster = write_rows(
        ("a", {"value": "one", "commits": True}),
        ("b", {"value": "two", "commits": False, "at_ms": 1_000}),
    )
    payload = payload_of(cluster)
    assert "table bookings" in payload["partitions"]
    steps = [event.step for event in cluster.trace.of("state", "database")]
    lines = [
        next(line for line in text_at(payload, step, ("transaction",)).splitlines() if line.startswith("table "))
        for step in steps
    ]
    assert lines == [
        "table bookings in SQLite, committed 0: [0 one open]",
        "table bookings in SQLite, committed 1: [0 one committed]",
        "table bookings in SQLite, committed 1: [0 one committed] [1 two open]",
        "table bookings in SQLite, committed 1: [0 one committed]",
    ]
    marks = marks_of(payload)
    assert [marks[str(step)] for step in steps] == ["INSERT bookings", "COMMIT", "INSERT bookings", "ROLLBACK"]


@program
async def asks(app: App, sql: str) -> Any:
    db = database(app)
    try:
        await db.execute(sql)
    except sqlite3.Error as error:
        said = str(error)
    else:
        said = "done"
    return [said, await db.execute("SELECT count(*) FROM bookings")]


@pytest.mark.parametrize(
    ("sql", "said"),
    [
        ("ATTACH 'there.db' AS there", "not authorized"),
        ("VACUUM INTO 'there.db'", "authorization denied"),
        ("PRAGMA max_page_count = 100000", "not authorized"),
        ("WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT count(*) FROM n", "interrupted"),
        ("SELECT length(zeroblob(1000000000))", "string or blob too big"),
        (
            "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n LIMIT 9999) "
            "INSERT INTO bookings SELECT printf('%.1000c', 'x') FROM n",
            "database or disk is full",
        ),
    ],
)
def test_no_statement_reaches_a_file_or_goes_on_for_ever_and_the_next_one_is_answered(
    sql: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    cluster = ran(Scenario(title="asked", brokers=1, topics={"t": 1}, programs=(Program("a", asks, {"sql": sql}),)))
    assert cluster.results["a"] == [said, [(0,)]]
    assert rows(cluster, "SELECT payment FROM bookings") == []
    assert list(tmp_path.iterdir()) == []
