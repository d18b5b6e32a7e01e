"""A real SQLite database beside the simulated cluster: it outlives every process, and knows nothing of Kafka."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from itertools import count
from typing import Any
from weakref import finalize

from kafkalab.sim.app import App
from kafkalab.sim.cluster import Cluster
from kafkalab.sim.kernel.kernel import Kernel

Row = tuple[Any, ...]
CALL_MS = 1
"""The virtual time that each statement takes before it takes effect."""
SCHEMA = (
    "CREATE TABLE bookings (payment TEXT NOT NULL)",
    "CREATE TABLE booked_once (payment TEXT NOT NULL UNIQUE)",
    "CREATE TABLE positions (partition TEXT PRIMARY KEY, next INTEGER NOT NULL)",
    "CREATE TABLE outbox (id INTEGER PRIMARY KEY AUTOINCREMENT, receipt TEXT NOT NULL)",
)
REFUSED = frozenset({sqlite3.SQLITE_ATTACH, sqlite3.SQLITE_DETACH, sqlite3.SQLITE_PRAGMA})
PAGES_MAX, BYTES_MAX, STEPS_MAX = 256, 100_000, 1_000
"""Of the database: pages of 4 KB; of a text or a statement: bytes; of a statement: thousands of instructions."""
ROWS_MAX, RESULT_MAX = 10_000, 1_000_000
"""The most that a statement may return: rows, and characters or bytes in all."""
TABLES = ("bookings", "booked_once", "positions", "outbox")


class _File:
    """The database as it is on disk, and the process whose SQL transaction is open, if any.

    It is in memory, so that a run leaves nothing behind. SQLite lets one transaction write at a time; so one
    connection is enough, and a process that has died is rolled back when the next one comes, as SQLite does with the
    journal that a dead process left.
    """

    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel
        self.sqlite = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
        finalize(self, self.sqlite.close)
        for statement in SCHEMA:
            self.sqlite.execute(statement)
        self._shut_in()
        self.owner: tuple[str, int] | None = None
        self.kept = self.tables()

    def _shut_in(self) -> None:
        """Let no statement reach a file, fill the memory or go on for ever: a graded program's come from a student."""
        self.sqlite.execute(f"PRAGMA max_page_count = {PAGES_MAX}")
        self.sqlite.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, BYTES_MAX)
        self.sqlite.set_authorizer(lambda act, *_: sqlite3.SQLITE_DENY if act in REFUSED else sqlite3.SQLITE_OK)

    def limit(self) -> None:
        """Let what follows take STEPS_MAX thousand instructions at most."""
        steps = count(1)
        self.sqlite.set_progress_handler(lambda: next(steps) > STEPS_MAX, 1_000)

    def tables(self) -> dict[str, list[str]]:
        """Return every table's rows, as texts."""
        self.limit()
        return {
            table: [" ".join(map(str, row)) for row in self.sqlite.execute(f"SELECT * FROM {table} ORDER BY rowid")]
            for table in TABLES
        }

    def note(self, node: str, cause: int, does: str) -> int:
        """Record what the database holds now, and how much of it is committed."""
        tables = self.tables()
        if self.owner is None:
            self.kept = tables
        data = {"does": does, "tables": tables, "committed": self.kept, "open": self.owner is not None}
        return self.kernel.record(node, "state", "database", cause, data)

    def forget_the_dead(self, node: str) -> None:
        """Roll back the SQL transaction of a process that is gone."""
        if self.owner is not None and not self.kernel.running(*self.owner):
            gone, self.owner = self.owner[0], None
            self.sqlite.rollback()
            self.note(node, -1, f"rolls back what {gone} had not committed")


def _file_of(kernel: Kernel) -> _File:
    found = kernel.disk.get("database")
    if not isinstance(found, _File):
        found = kernel.disk["database"] = _File(kernel)
    return found


class Database:
    """One process's connection. Outside of begin() and commit() each statement is a transaction by itself."""

    def __init__(self, app: App) -> None:
        self.app = app
        self._file = _file_of(app.port.kernel)
        self._me = (app.name, app.port.kernel.nodes[app.name].incarnation)

    async def begin(self) -> None:
        """Begin a SQL transaction; wait while another process has one open."""
        await self._turn()
        self._file.sqlite.execute("BEGIN IMMEDIATE")
        self._file.owner = self._me

    async def execute(self, sql: str, values: Sequence[Any] = ()) -> list[Row]:
        """Execute one statement; return its rows. `?` in it stand for the values.

        sqlite3.Error if SQLite refuses it, for example where a value that must be unique is there already.
        """
        await self._turn()
        self._file.limit()
        rows = _fetch_rows(self._file.sqlite.execute(sql, tuple(values)))
        if not sql.lstrip().upper().startswith("SELECT"):
            self._note(_fill(sql, values))
        return rows

    async def commit(self) -> None:
        """Commit the SQL transaction: from here on a crash takes nothing back."""
        await self._end("COMMIT")

    async def rollback(self) -> None:
        """Take back what the SQL transaction has done."""
        await self._end("ROLLBACK")

    async def _end(self, statement: str) -> None:
        await self._turn()
        if self._file.owner != self._me:
            raise sqlite3.OperationalError(f"cannot {statement}: no transaction is open; call begin() first")
        self._file.sqlite.execute(statement)
        self._file.owner = None
        self._note(statement)

    async def _turn(self) -> None:
        """Let time pass until no other process has a transaction open."""
        await self.app.sleep(CALL_MS)
        self._file.forget_the_dead(self.app.name)
        while self._file.owner not in (None, self._me):
            await self.app.sleep(CALL_MS)
            self._file.forget_the_dead(self.app.name)

    def _note(self, does: str) -> None:
        self.app.port.cause = self._file.note(self.app.name, self.app.port.cause, does)


def _fill(sql: str, values: Sequence[Any]) -> str:
    """Return a statement with its values in place, for the picture."""
    parts = sql.split("?")
    texts = [repr(value) for value in values] + [""]
    return "".join(part + text for part, text in zip(parts, texts, strict=False))


def database(app: App) -> Database:
    """Connect this process to the shop's database. The app of a graded program is elsewhere, and its database, too."""
    if isinstance(app, App):
        return Database(app)
    elsewhere: Any = app
    connected: Database = elsewhere.database()
    return connected


def rows(cluster: Cluster, sql: str) -> list[Row]:
    """Return what a query finds in the database of a run that has ended; what was not committed is rolled back."""
    found = _file_of(cluster.kernel)
    if found.owner is not None:
        found.owner = None
        found.sqlite.rollback()
    found.limit()
    return _fetch_rows(found.sqlite.execute(sql))


def _fetch_rows(cursor: sqlite3.Cursor) -> list[Row]:
    """Return all rows of a statement. sqlite3.DataError for more than ROWS_MAX, or more than RESULT_MAX in all."""
    found: list[Row] = []
    size = 0
    for row in cursor:
        size += sum(len(value) if isinstance(value, str | bytes) else 8 for value in row)
        if len(found) == ROWS_MAX or size > RESULT_MAX:
            cursor.close()
            most = f"{ROWS_MAX:,} rows and {RESULT_MAX:,} characters"
            raise sqlite3.DataError(f"the statement returns too much; the limit is {most}: select less")
        found.append(row)
    return found
