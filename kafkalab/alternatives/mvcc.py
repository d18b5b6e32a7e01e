"""A table of row versions after PostgreSQL: transaction ids on each version, a commit log, snapshots; no undo.

After PostgreSQL's documentation, chapters Concurrency Control (Introduction: reading never blocks writing) and
Reliability and the Write-Ahead Log, and its sources: src/backend/access/transam/README (transaction ids are given at
the first write; a snapshot's xmax is one above the latest that has ended) and `HeapTupleSatisfiesMVCC` in
src/backend/access/heap/heapam_visibility.c (a creator that is neither in progress nor committed "must have aborted or
crashed"). Left out: hint bits, which only remember what the commit log says; VACUUM; subtransactions; a second writer
of the same row, who would wait for the first one's end.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from kafkalab.alternatives.world import Process, World
from kafkalab.trace import Frame

FIRST_XID, START_XID = 100, 1
THINK_MS, LOOKS_MS = 20, (15, 1_000)
COMMITTED, ABORTED, IN_PROGRESS = "committed", "aborted", "in progress"


@dataclass(slots=True)
class Version:
    """One version of a row: who made it (`xmin`), and who replaced or deleted it (`xmax`, 0 for nobody)."""

    row: str
    value: int
    xmin: int
    xmax: int = 0


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The transactions that had ended at a moment: ids below `xmax` not in `running`. `own` is the reader's id."""

    xmax: int
    running: tuple[int, ...] = ()
    own: int = 0


def is_seen(xid: int, snapshot: Snapshot, commit_log: Mapping[int, str]) -> bool:
    """Return True if this transaction counts for the snapshot: it is its own, or had committed by then."""
    if xid == snapshot.own and xid:
        return True
    return xid < snapshot.xmax and xid not in snapshot.running and commit_log.get(xid) == COMMITTED


def visible(version: Version, snapshot: Snapshot, commit_log: Mapping[int, str]) -> bool:
    """Return True if the snapshot sees this version: it sees who made it, and nobody who has replaced it."""
    if not is_seen(version.xmin, snapshot, commit_log):
        return False
    return version.xmax == 0 or not is_seen(version.xmax, snapshot, commit_log)


class Server(Process):
    """One server: a write-ahead log, versions of rows, and the status of each transaction."""

    role = "server"
    rows = ("accounts-0", "accounts-1")

    def start(self, step: int) -> None:
        """Redo the write-ahead log. What has no commit record is not running any more, and nothing is taken back."""
        self.running: list[int] = []
        self.next_xid = FIRST_XID
        self.commit_log = {START_XID: COMMITTED}
        self.versions = [Version(row, 100, START_XID) for row in self.rows]
        for entry in self.log("wal"):
            xid = int(entry.txn)
            self.next_xid = max(self.next_xid, xid + 1)
            if entry.kind == "update":
                row, _, value = entry.says.partition(" = ")
                self._redo(row, int(value), xid)
            else:
                self.commit_log[xid] = COMMITTED if entry.kind == "commit" else ABORTED

    def snapshot(self, own: int = 0) -> Snapshot:
        """Take a snapshot now."""
        return Snapshot(self.next_xid, tuple(self.running), own)

    def rows_seen(self, snapshot: Snapshot) -> dict[str, int]:
        """The rows as the snapshot has them."""
        return {v.row: v.value for v in self.versions if visible(v, snapshot, self.commit_log)}

    def on_Begin(self, frame: Frame, step: int) -> None:
        self.running.append(self.next_xid)
        self.next_xid += 1
        self.send(frame.sender, "Begun", step, answer=True, xid=self.running[-1])

    def on_Update(self, frame: Frame, step: int) -> None:
        xid, row, change = frame.body["xid"], frame.body["row"], frame.body["change"]
        value = self.rows_seen(self.snapshot(xid))[row] + change
        step = self.append("wal", "update", step, f"{row} = {value}", str(xid))
        self._redo(row, value, xid)
        self.send(frame.sender, "Updated", step, answer=True)

    def on_Commit(self, frame: Frame, step: int) -> None:
        self._end("commit", frame, step)

    def on_Rollback(self, frame: Frame, step: int) -> None:
        self._end("abort", frame, step)

    def on_Select(self, frame: Frame, step: int) -> None:
        self.send(frame.sender, "Rows", step, answer=True, rows=self.rows_seen(self.snapshot()))

    def _end(self, kind: str, frame: Frame, step: int) -> None:
        xid = frame.body["xid"]
        step = self.append("wal", kind, step, f"{kind} {xid}", str(xid))
        if not self.world.alive(self.name):
            return
        status = COMMITTED if kind == "commit" else ABORTED
        self.commit_log[xid] = status
        self.running.remove(xid)
        step = self.note("status", f"notes {xid} as {status} in the commit log", step)
        self.send(frame.sender, "Done", step, answer=True, status=status)

    def _redo(self, row: str, value: int, xid: int) -> None:
        old = next(v for v in reversed(self.versions) if v.row == row and self.commit_log.get(v.xmin) == COMMITTED)
        old.xmax = xid
        self.versions.append(Version(row, value, xid))


class Client(Process):
    """Changes both rows in one transaction, then commits, or rolls back."""

    role = "client"

    def __init__(self, world: World, name: str, end: str = "Commit") -> None:
        super().__init__(world, name)
        self.end = end

    def start(self, step: int) -> None:
        self.answer, self.updated = "unknown", 0
        self.send("db", "Begin", step)

    def on_Begun(self, frame: Frame, step: int) -> None:
        self.xid = frame.body["xid"]
        for row, change in zip(Server.rows, (-10, 10), strict=True):
            self.send("db", "Update", step, xid=self.xid, row=row, change=change)

    def on_Updated(self, frame: Frame, step: int) -> None:
        self.updated += 1
        if self.updated == len(Server.rows):
            self.later(THINK_MS, lambda: self.send("db", self.end, step, xid=self.xid))

    def on_Done(self, frame: Frame, step: int) -> None:
        self.answer = frame.body["status"]


class Reader(Process):
    """Looks at both rows, while the transaction runs and later."""

    role = "client"

    def start(self, step: int) -> None:
        self.looks: list[dict[str, int]] = []
        for at_ms in LOOKS_MS:
            self.later(at_ms, lambda: self.send("db", "Select", -1))

    def on_Rows(self, frame: Frame, step: int) -> None:
        self.looks.append(frame.body["rows"])


def mvcc(world: World, refuses: bool = False) -> World:
    """Fill the world; with `refuses` the client rolls back."""
    world.add(Client(world, "app", "Rollback" if refuses else "Commit"))
    world.add(Reader(world, "reader"))
    world.add(Server(world, "db"))
    return world


def all_seen(versions: Sequence[Version], snapshot: Snapshot, commit_log: Mapping[int, str]) -> list[Version]:
    """The versions that a snapshot sees, in the order in which they were written."""
    return [version for version in versions if visible(version, snapshot, commit_log)]
