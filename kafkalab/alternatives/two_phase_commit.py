"""Textbook two-phase commit: a coordinator, participants that vote, locks, and the time in which nobody may decide.

A participant that has voted yes and knows no decision is *uncertain*, and must not decide alone; by the cooperative
termination protocol it asks the other participants. One that has not voted may abort alone. So it blocks if the
coordinator fails (Gray and Lamport, Consensus on Transaction Commit, 2006, in their abstract). The coordinator logs
`begin` before it asks for votes, and on its recovery aborts what it has begun and not decided. An abort takes the old
values from the participant's log (undo).
"""

from __future__ import annotations

from kafkalab.alternatives.world import Process, World
from kafkalab.trace import Frame

VOTES_MS, UNASKED_MS, DOUBT_MS = 5_000, 10_000, 2_000
DECISIONS = ("commit", "abort")


class Coordinator(Process):
    """Asks every participant for its vote, logs the decision, and repeats it until all have acknowledged it."""

    role = "coordinator"

    def __init__(self, world: World, name: str, participants: tuple[str, ...]) -> None:
        super().__init__(world, name)
        self.participants = participants

    def start(self, step: int) -> None:
        self.votes: dict[str, str] = {}
        self.acked: list[str] = []
        kinds = [entry.kind for entry in self.log("log")]
        if "begin" in kinds and "end" not in kinds:
            known = next((kind for kind in kinds if kind in DECISIONS), "")
            if known:
                self._tell(known, step)
            else:
                self._decide("abort", step)

    def on_Commit(self, frame: Frame, step: int) -> None:
        step = self.append("log", "begin", step, "participants " + ", ".join(self.participants))
        for name in self.participants:
            self.send(name, "Prepare", step)
        self.later(VOTES_MS, lambda: None if self._decision() else self._decide("abort", -1))

    def on_Vote(self, frame: Frame, step: int) -> None:
        if self._decision():
            return
        self.votes[frame.sender] = frame.body["vote"]
        if frame.body["vote"] == "no":
            self._decide("abort", step)
        elif len(self.votes) == len(self.participants):
            self._decide("commit", step)

    def on_Ack(self, frame: Frame, step: int) -> None:
        if frame.sender not in self.acked:
            self.acked.append(frame.sender)
            if len(self.acked) == len(self.participants):
                self.append("log", "end", step)

    def on_Ask(self, frame: Frame, step: int) -> None:
        """Answer a participant in doubt; what was never begun, or not decided before a crash, is aborted."""
        self.send(frame.sender, "Told", step, answer=True, decision=self._decision() or "uncertain")

    def _decision(self) -> str:
        return next((entry.kind for entry in self.log("log") if entry.kind in DECISIONS), "")

    def _decide(self, decision: str, step: int) -> None:
        step = self.append("log", decision, step)
        if not self.world.alive(self.name):
            return
        self.send("app", "Done", step, answer=True, decision=decision)
        self._tell(decision, step)

    def _tell(self, decision: str, step: int, wait_ms: int = 4_000) -> None:
        for name in self.participants:
            if name not in self.acked:
                self.send(name, "Decide", step, decision=decision)
        self.later(wait_ms, lambda: self._tell_again(decision, wait_ms * 4))

    def _tell_again(self, decision: str, wait_ms: int) -> None:
        if len(self.acked) < len(self.participants):
            self._tell(decision, -1, wait_ms)


class Participant(Process):
    """Holds one row. It locks the row when it is written, and until it knows the decision."""

    role = "participant"
    before = 100

    def __init__(self, world: World, name: str, others: tuple[str, ...], votes_yes: bool = True) -> None:
        super().__init__(world, name)
        self.others, self.votes_yes = others, votes_yes

    @property
    def state(self) -> str:
        """idle, working, prepared, commit or abort: the last entry of its log says which."""
        last = [entry.kind for entry in self.log("log")][-1:]
        return {"update": "working"}.get(last[0], last[0]) if last else "idle"

    def start(self, step: int) -> None:
        if self.state == "working":
            self._end("abort", step)
        elif self.state == "prepared":
            self._doubt(DOUBT_MS, step)

    def on_Write(self, frame: Frame, step: int) -> None:
        change = frame.body["change"]
        step = self.append("log", "update", step, f"{self.before} → {self.before + change}")
        self.send(frame.sender, "Written", step, answer=True)
        self.later(UNASKED_MS, self._give_up)

    def _give_up(self) -> None:
        """Abort alone: nobody has asked for a vote."""
        if self.state == "working":
            self._end("abort", -1)

    def on_Prepare(self, frame: Frame, step: int) -> None:
        if self.state != "working":
            self.send(frame.sender, "Vote", step, answer=True, vote="no")
        elif self.votes_yes:
            step = self.append("log", "prepared", step)
            self.send(frame.sender, "Vote", step, answer=True, vote="yes")
            self.later(DOUBT_MS, lambda: self._doubt(DOUBT_MS, -1))
        else:
            step = self._end("abort", step)
            self.send(frame.sender, "Vote", step, answer=True, vote="no")

    def on_Decide(self, frame: Frame, step: int) -> None:
        step = self._end(frame.body["decision"], step)
        self.send(frame.sender, "Ack", step, answer=True)

    def on_Ask(self, frame: Frame, step: int) -> None:
        """Say what is known; who has not voted may still abort, and does."""
        if self.state == "working":
            step = self._end("abort", step)
        known = self.state if self.state in DECISIONS else "uncertain"
        self.send(frame.sender, "Told", step, answer=True, decision=known)

    def on_Told(self, frame: Frame, step: int) -> None:
        if frame.body["decision"] in DECISIONS:
            self._end(frame.body["decision"], step)

    def _doubt(self, wait_ms: int, step: int) -> None:
        if self.state != "prepared":
            return
        step = self.note("in doubt", "has voted yes and knows no decision: it keeps its lock, and asks", step)
        for name in ("tc", *self.others):
            self.send(name, "Ask", step)
        self.later(wait_ms, lambda: self._doubt(wait_ms * 4, -1))

    def _end(self, decision: str, step: int) -> int:
        if self.state in DECISIONS or self.state == "idle":
            return step
        if decision == "abort":
            step = self.note("undo", f"writes {self.before} back, from its log", step)
        return self.append("log", decision, step)


class Client(Process):
    """Writes to every participant, then asks the coordinator to commit."""

    role = "client"

    def __init__(self, world: World, name: str, participants: tuple[str, ...]) -> None:
        super().__init__(world, name)
        self.participants = participants

    def start(self, step: int) -> None:
        self.written = 0
        self.answer = "unknown"
        for number, name in enumerate(self.participants):
            self.send(name, "Write", step, change=10 if number else -10 * (len(self.participants) - 1))

    def on_Written(self, frame: Frame, step: int) -> None:
        self.written += 1
        if self.written == len(self.participants):
            self.send("tc", "Commit", step)

    def on_Done(self, frame: Frame, step: int) -> None:
        self.answer = {"commit": "committed", "abort": "aborted"}[frame.body["decision"]]


def two_phase_commit(world: World, participants: int = 2, refuses: bool = False) -> World:
    """Fill the world; with `refuses` the last participant votes no."""
    names = tuple(f"p{n}" for n in range(1, participants + 1))
    world.add(Client(world, "app", names))
    world.add(Coordinator(world, "tc", names))
    for name in names:
        others = tuple(other for other in names if other != name)
        world.add(Participant(world, name, others, votes_yes=not (refuses and name == names[-1])))
    return world
