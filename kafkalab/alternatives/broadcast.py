"""An atomic broadcast after ZooKeeper's Zab: a leader, epochs, proposals that a majority logs, recovery.

After the page ZooKeeper Internals of ZooKeeper's documentation (zookeeperInternals.md): a proposal has a zxid (epoch,
counter), is committed when a majority has it on disk; the server with the highest zxid leads next; a new leader commits
what it has seen of previous epochs before it is active, and a server that comes back with more than the leader has is
told to discard it.

Left out: observers, snapshots of the state, and heartbeats (`NOTICED_MS`). Of an election only its result is true: each
server sends its last zxid to all, and follows the highest. One transaction is one proposal with both changes, as
ZooKeeper's `multi` is.
"""

from __future__ import annotations

from typing import TypeAlias

from kafkalab.alternatives.world import Process, World
from kafkalab.trace import Frame

SERVERS = ("s1", "s2", "s3")
COLLECT_MS = 50
CHANGES = "-10 on accounts-0, +10 on accounts-1"
Zxid: TypeAlias = tuple[int, int]


def text_of(zxid: Zxid) -> str:
    """A zxid as a log has it: "1.1"."""
    return f"{zxid[0]}.{zxid[1]}"


class Server(Process):
    """Leads, follows, or looks for a leader. Its log has proposals, and the epochs that it has accepted."""

    role = "server"

    def start(self, step: int) -> None:
        self.leader = ""
        self.acks: dict[str, list[str]] = {}
        self.delivered: list[str] = []
        self.clients: dict[str, str] = {}
        self.votes: dict[str, tuple[Zxid, str]] = {}
        self.synced: list[str] = []
        self.early: list[Frame] = []
        self.active = False
        if step < 0:  # the run begins in epoch 1, with its leader elected
            self.leader, self.active = SERVERS[0], self.name == SERVERS[0]
            self.synced = list(SERVERS)
        else:
            self._look(step)

    @property
    def last(self) -> Zxid:
        """The zxid of its last proposal, (0, 0) for none."""
        found = [entry.txn for entry in self.log("log") if entry.kind == "proposal"]
        epoch, _, counter = (found[-1] if found else "0.0").partition(".")
        return int(epoch), int(counter)

    @property
    def epoch(self) -> int:
        """The last epoch that it has accepted."""
        return max([1, *(int(entry.txn) for entry in self.log("log") if entry.kind == "epoch")])

    @property
    def majority(self) -> int:
        """The least number of servers that is more than half."""
        return len(SERVERS) // 2 + 1

    # active messaging

    def on_Write(self, frame: Frame, step: int) -> None:
        if not self.active:
            return
        zxid = text_of((self.epoch, self.last[1] + 1 if self.last[0] == self.epoch else 1))
        self.clients[zxid] = frame.sender
        step = self.append("log", "proposal", step, frame.body["changes"], zxid)
        self.acks[zxid] = [self.name]
        for name in SERVERS:
            if name != self.name:
                self.send(name, "Propose", step, zxid=zxid, changes=frame.body["changes"])

    def on_Propose(self, frame: Frame, step: int) -> None:
        if frame.sender == self.leader:
            step = self.append("log", "proposal", step, frame.body["changes"], frame.body["zxid"])
            self.send(frame.sender, "Ack", step, answer=True, zxid=frame.body["zxid"])

    def on_Ack(self, frame: Frame, step: int) -> None:
        zxid = frame.body["zxid"]
        acks = self.acks.setdefault(zxid, [])
        acks.append(frame.sender)
        if len(acks) == self.majority:
            step = self._deliver(zxid, step)
            for name in SERVERS:
                if name != self.name:
                    self.send(name, "Commit", step, zxid=zxid)
            if zxid in self.clients:
                self.send(self.clients[zxid], "Done", step, answer=True, zxid=zxid)

    def on_Commit(self, frame: Frame, step: int) -> None:
        if frame.sender == self.leader:
            self._deliver(frame.body["zxid"], step)

    def _deliver(self, zxid: str, step: int) -> int:
        if zxid in self.delivered:
            return step
        self.delivered.append(zxid)
        return self.note("delivered", f"delivers {zxid}", step, zxid=zxid)

    # election and recovery

    def peer_down(self, peer: str) -> None:
        if peer == self.leader or (self.active and not self._has_majority()):
            self._look(-1)

    def _has_majority(self) -> bool:
        return sum(self.world.alive(name) for name in SERVERS) >= self.majority

    def _look(self, step: int) -> None:
        self.leader, self.active, self.synced, self.early = "", False, [], []
        self.votes = {self.name: (self.last, self.name)}
        step = self.note("looking", f"looks for a leader; its last zxid is {text_of(self.last)}", step)
        for name in SERVERS:
            if name != self.name:
                self.send(name, "Notify", step, zxid=text_of(self.last))
        self.later(COLLECT_MS, self._count)

    def on_Notify(self, frame: Frame, step: int) -> None:
        if self.active:
            self.send(frame.sender, "Leading", step, answer=True)
        elif not self.leader:
            epoch, _, counter = frame.body["zxid"].partition(".")
            known = frame.sender in self.votes
            self.votes[frame.sender] = ((int(epoch), int(counter)), frame.sender)
            if not known:
                self.send(frame.sender, "Notify", step, zxid=text_of(self.last))
                self.later(COLLECT_MS, self._count)

    def on_Leading(self, frame: Frame, step: int) -> None:
        if not self.leader:
            self._follow(frame.sender, step)

    def _count(self) -> None:
        """Follow the highest zxid, the highest name where they are equal, if a majority has voted."""
        if self.leader or len(self.votes) < self.majority:
            return
        _, best = max(self.votes.values())
        if best == self.name:
            self.leader = self.name
            self.acks = {}
            for frame in self.early:
                self.on_FollowerInfo(frame, -1)
        else:
            self._follow(best, -1)

    def _follow(self, leader: str, step: int) -> None:
        self.leader = leader
        self.send(leader, "FollowerInfo", step, zxid=text_of(self.last), epoch=self.epoch)

    def on_FollowerInfo(self, frame: Frame, step: int) -> None:
        """Lead it in an epoch above all that both have accepted; send what it lacks, or what it must discard."""
        if self.leader != self.name:
            self.early.append(frame)
            return
        if not self.active and not self.synced:
            self.synced = [self.name]
            epoch = max(self.epoch, frame.body["epoch"]) + 1
            step = self.append("log", "epoch", step, f"epoch {epoch}", str(epoch))
        ours = [entry for entry in self.log("log") if entry.kind == "proposal"]
        known = [(entry.txn, entry.says) for entry in ours]
        self.send(frame.sender, "NewLeader", step, epoch=self.epoch, history=known)

    def on_NewLeader(self, frame: Frame, step: int) -> None:
        if frame.sender != self.leader:
            return
        history = [txn for txn, _ in frame.body["history"]]
        log = self.log("log")
        keep = next((i for i, e in enumerate(log) if e.kind == "proposal" and e.txn not in history), len(log))
        if keep < len(log):
            step = self.world.truncate(self.name, "log", keep, step)
        have = [entry.txn for entry in self.log("log") if entry.kind == "proposal"]
        for txn, says in frame.body["history"]:
            if txn not in have:
                step = self.append("log", "proposal", step, says, txn)
        step = self.append("log", "epoch", step, f"epoch {frame.body['epoch']}", str(frame.body["epoch"]))
        self.send(frame.sender, "AckLeader", step, answer=True)

    def on_AckLeader(self, frame: Frame, step: int) -> None:
        self.synced.append(frame.sender)
        if not self.active and len(self.synced) >= self.majority:
            self.active = True
            step = self.note("leads", f"leads in epoch {self.epoch}, with {' and '.join(sorted(self.synced))}", step)
            for entry in [e for e in self.log("log") if e.kind == "proposal"]:
                step = self._deliver(entry.txn, step)
        if self.active:
            self.send(frame.sender, "UpToDate", step)

    def on_UpToDate(self, frame: Frame, step: int) -> None:
        for entry in [e for e in self.log("log") if e.kind == "proposal"]:
            step = self._deliver(entry.txn, step)


class Client(Process):
    """Writes both changes as one transaction."""

    role = "client"

    def start(self, step: int) -> None:
        self.answer = "unknown"
        self.send(SERVERS[0], "Write", step, changes=CHANGES)

    def on_Done(self, frame: Frame, step: int) -> None:
        self.answer = "committed"


def broadcast(world: World) -> World:
    """Fill the world: a client, and three servers of which s1 leads in epoch 1."""
    world.add(Client(world, "app"))
    for name in SERVERS:
        world.add(Server(world, name))
    return world
