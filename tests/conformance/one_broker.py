"""One real broker whose peers, clock and appends the test controls: what it sends is held until the test answers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from kafkalab.broker.broker import WAITS, Broker
from kafkalab.broker.effects import Append, AppendResult, Effects
from kafkalab.broker.services import Context
from kafkalab.broker.state import BrokerConfig, BrokerState, TxnPartition
from kafkalab.protocol.acls import Deny
from kafkalab.protocol.cluster_metadata import ClusterMetadata, PartitionInfo
from kafkalab.protocol.errors import Error
from kafkalab.protocol.messages.registry import BY_REQUEST
from kafkalab.protocol.partitions import OFFSETS_TOPIC, TRANSACTION_TOPIC, transaction_partition
from kafkalab.protocol.profiles import Rules
from kafkalab.protocol.records import Batch, Record
from kafkalab.protocol.transaction_metadata import Txn, TxnState
from kafkalab.sim.kernel.schedule import Schedule
from kafkalab.trace import Frame

HOLD = "no end of this append until the test gives one"
LOST = None
QUIET = ("ReplicaFetch", "AlterPartition")


class Scripted(Broker):
    """A broker whose appends to some partitions end as the test says."""

    port: OneBroker

    def _append(self, effect: Append, effects: Effects[Any], context: Context) -> Any:
        script = self.port.appends.get(effect.partition)
        if not script:
            return super()._append(effect, effects, context)
        self.port.appended.append(effect)
        answer = script.pop(0)
        if answer is HOLD:
            self.port.held.append(lambda error: self._end(error, effect, effects, context))
            return WAITS
        return super()._append(effect, effects, context) if answer is Error.NONE else AppendResult(answer)

    def _end(self, error: Error, effect: Append, effects: Effects[Any], context: Context) -> None:
        """Let a held append happen, or fail."""
        ended = super()._append(effect, effects, context) if error is Error.NONE else AppendResult(error)
        self.run(effects, context, ended)


@dataclass(eq=False)
class Sent:
    """A request of the broker that has no answer yet."""

    to: str
    body: Any
    then: Callable[[Any, int], None]

    def answer(self, response: Any) -> None:
        self.then(response, -1)


@dataclass(eq=False)
class Asked:
    """A request to the broker, and its response once there is one."""

    frame: Frame
    response: Any = None

    @property
    def answered(self) -> bool:
        return self.response is not None


class OneBroker:
    """Broker b1 as coordinator and leader; b2 and b3 are names that answer when the test does."""

    def __init__(
        self, profile: str = "4.x/TV2", off: tuple[str, ...] = (), leaders: dict[str, str] | None = None, **config: Any
    ) -> None:
        self.schedule = Schedule()
        self.appends: dict[str, list[Any]] = {}
        self.appended: list[Append] = []
        self.held: list[Callable[[Error], None]] = []
        self.sent: list[Sent] = []
        self.notes: list[tuple[str, Any]] = []
        self.asked: list[Asked] = []
        settings = BrokerConfig(**{"transaction_state_log_min_isr": 1, **config})
        self.state = BrokerState("b1", settings, Rules(profile, off))
        self.state.producer_ids = [1000, 2000]
        self.broker = Scripted(self.state, self)
        self.metadata = ClusterMetadata(0, ("b1", "b2", "b3"))
        led = {f"{TRANSACTION_TOPIC}-{i}": "b1" for i in range(50)}
        self.image({**led, "t-0": "b1", "u-0": "b2", "v-0": "b2", "w-0": "b3", **(leaders or {})})
        self.broker.start()

    # the port

    @property
    def now(self) -> int:
        return self.schedule.now

    @now.setter
    def now(self, value: int) -> None:
        raise AttributeError("the schedule moves the clock")

    def request(self, sender: str, to: str, body: Any, then: Any, cause: int, background: bool = False) -> None:
        if type(body).__name__ not in QUIET:
            self.sent.append(Sent(to, body, then))

    def respond(self, request: Frame, body: Any, cause: int) -> None:
        asked = next(a for a in self.asked if a.frame is request)
        assert asked.response is None, "a second answer to one request"
        asked.response = body

    def timer(self, node: str, delay_ms: int, action: Any, background: bool) -> None:
        self.schedule.at(self.now + delay_ms, node, 0, action, background)

    def record(self, node: str, kind: str, name: str, cause: int, data: Any) -> int:
        self.notes.append((name, data))
        return len(self.notes) - 1

    # what tests do

    def image(
        self,
        leaders: dict[str, str],
        epoch: int = 0,
        gone: tuple[str, ...] = (),
        alive: tuple[str, ...] = (),
        replicas: tuple[str, ...] = ("b1", "b2"),
        isr: tuple[str, ...] = (),
    ) -> None:
        """A newer image: these partitions have these leaders, under this leader epoch; some topics are gone."""
        infos = {
            p: PartitionInfo(leader=x, leader_epoch=epoch, replicas=replicas, isr=isr or (x or "b2",))
            for p, x in leaders.items()
        }
        known = {p: i for p, i in self.metadata.partitions.items() if p not in gone}
        alive = alive or self.metadata.alive
        self.metadata = ClusterMetadata(self.metadata.version + 1, alive, {**known, **infos})
        self.broker.leadership.update(self.metadata, Context(None, -1))

    def load(self, *entries: Txn | Record, epoch: int = 1) -> None:
        """b1 is elected for the partition of the first entry, whose log holds the entries; loading is over after it."""
        self.elect(*entries, epoch=epoch)
        self.run_for(self.state.config.coordinator_load_ms)

    def elect(self, *entries: Txn | Record, epoch: int = 1) -> None:
        """The same; loading has only begun."""
        records = [e if isinstance(e, Record) else Record(e.transactional_id, e) for e in entries]
        assert records[0].key is not None
        partition = transaction_partition(records[0].key)
        log = self.state.log(partition)
        for record in records:
            log.append(Batch(records=(record,)), epoch - 1)
        log.advance(log.log_end_offset)
        self.image({partition: "b1"}, epoch)

    def ask(self, body: Any, version: int | None = None, sender: str = "app") -> Asked:
        """Give the broker a request; the response is in what comes back as soon as there is one."""
        api = BY_REQUEST[type(body)]
        number = api.versions[-1] if version is None else version
        frame = Frame(f"{api.name}#1", api.name, "request", sender, "b1", api.category, body, number, len(self.asked))
        asked = Asked(frame)
        self.asked.append(asked)
        self.broker.receive(frame)
        return asked

    def run_for(self, duration_ms: int) -> None:
        """Let time pass, and all be done that is due by then; repeated timers go on beyond it."""
        until = self.now + duration_ms
        for _ in ("what is planned", "what that has planned for the same moment"):
            reached: list[bool] = []
            self.schedule.at(until, "test", 0, partial(reached.append, True), True)
            while not reached:
                self.schedule.pop()[-1]()

    def take(self, kind: type) -> list[Sent]:
        """The requests of this kind that were sent since the last time, oldest first."""
        self.run_for(0)
        found = [s for s in self.sent if isinstance(s.body, kind)]
        self.sent = [s for s in self.sent if s not in found]
        return found

    def txn(self, transactional_id: str) -> Txn | None:
        """Return what the cache holds for the id."""
        owned = self.state.transactions.get(transaction_partition(transactional_id))
        return owned.txns.get(transactional_id) if owned else None

    def pending(self, transactional_id: str) -> TxnState | None:
        owned = self.state.transactions.get(transaction_partition(transactional_id))
        return owned.pending.get(transactional_id) if owned else None

    def entries(self, transactional_id: str) -> list[Any]:
        """The values of all records of the id in `__transaction_state`, oldest first."""
        log = self.state.log(transaction_partition(transactional_id))
        return [r.value for b in log.batches for r in b.records if r.key == transactional_id]


def broker(*acls: Deny, profile: str = "4.x/TV2", txns: tuple[Txn, ...] = ()) -> OneBroker:
    """b1 leads "out" and "other" and coordinates every id but "far"; it follows "followed" and knows of "far-0"."""
    one = OneBroker(profile)
    one.state.acls = acls
    led = {f"{OFFSETS_TOPIC}-{i}": "b1" for i in range(50)}
    one.image({**led, "out-0": "b1", "out-1": "b1", "other-0": "b1", "followed-0": "b2"})
    one.image({"far-0": "b2", transaction_partition("far"): "b2"}, replicas=("b2", "b3"))
    one.run_for(one.state.config.coordinator_load_ms)
    for txn in txns:
        owned = one.state.coordinates(txn.transactional_id)
        assert isinstance(owned, TxnPartition)
        owned.txns[txn.transactional_id] = txn
    return one


def ask(one: OneBroker, request: Any, version: int | None = None, sender: str = "app") -> Any:
    """The response, or None if there is none yet."""
    return one.ask(request, version, sender).response
