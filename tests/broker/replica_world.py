"""A scripted world of replicas: real brokers, and a real controller where one is asked for, without a simulator.

Every request is held in `sent` until the test gives it to its receiver, answers it with a response of its own, or
loses it; every metadata image reaches the brokers that the test names. So each order of events can be written down.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from kafkalab.broker.broker import Broker
from kafkalab.broker.controller import Controller
from kafkalab.broker.effects import Append, Effects
from kafkalab.broker.services import Context
from kafkalab.broker.state import BrokerConfig, BrokerState, FetchSession
from kafkalab.log.partition_log import PartitionLog
from kafkalab.protocol.cluster_metadata import ClusterMetadata, PartitionInfo
from kafkalab.protocol.errors import Error
from kafkalab.protocol.messages.alter_partition import AlterPartition
from kafkalab.protocol.messages.registry import BY_REQUEST
from kafkalab.protocol.messages.replica_fetch import ReplicaData, ReplicaFetch, ReplicaFetchResponse
from kafkalab.protocol.profiles import Rules
from kafkalab.protocol.records import Batch, Record
from kafkalab.sim.kernel.schedule import Schedule
from kafkalab.trace import KINDS, Frame

BROKERS = ("b1", "b2", "b3")
NOTHING: Any = "no response so far"


@dataclass(eq=False)
class Sent:
    """A request on its way; `response` is what the receiver has answered so far."""

    sender: str
    to: str
    body: Any
    then: Callable[[Any, int], None]
    background: bool
    cause: int
    response: Any = NOTHING
    response_cause: int = -1
    answered: bool = False


@dataclass(frozen=True)
class Noted:
    """One recorded event."""

    node: str
    kind: str
    name: str
    cause: int
    data: Any


def append_and_note(append: Append, ends: list[Error]) -> Effects[None]:
    """Append, and add the error with which that ends to `ends`."""
    ends.append((yield append).error)


def batch(*values: str, epoch: int = 0, base: int = -1) -> Batch:
    """A batch with one record a value, as a leader of this epoch appended it at `base`."""
    records = tuple(Record(None, value) for value in values)
    return Batch(records=records, leader_epoch=epoch, base_offset=base)


def info(
    leader: str, epoch: int = 0, isr: tuple[str, ...] = BROKERS, replicas: tuple[str, ...] = BROKERS
) -> PartitionInfo:
    """One partition of an image."""
    return PartitionInfo(leader=leader, leader_epoch=epoch, replicas=replicas, isr=isr)


def data(epoch: int = 0, mark: int = 0, batches: tuple[Batch, ...] = (), **others: int) -> ReplicaData:
    """Return what a leader answers about one partition."""
    return ReplicaData(leader_epoch=epoch, high_watermark=mark, batches=batches, **others)


class ReplicaWorld:
    """The brokers `real` run; the others, and without `controller` the controller too, are names in a script."""

    def __init__(
        self,
        real: tuple[str, ...] = BROKERS,
        off: tuple[str, ...] = (),
        controller: bool = False,
        brokers: tuple[str, ...] = BROKERS,
        **config: Any,
    ) -> None:
        self.schedule = Schedule()
        self.sent: list[Sent] = []
        self.notes: list[Noted] = []
        self.timers: list[tuple[str, int, bool]] = []
        self._asked: dict[int, Sent] = {}
        rules = Rules("4.x/TV2", off)
        settings = BrokerConfig(**{"replica_lag_time_max_ms": 1_000, **config})
        self.brokers = {name: Broker(BrokerState(name, settings, rules), self) for name in real}
        self.controller = Controller(brokers, self, rules=rules) if controller else None
        self.image = ClusterMetadata(0, brokers)

    # the port

    @property
    def now(self) -> int:
        return self.schedule.now

    @now.setter
    def now(self, value: int) -> None:
        raise AttributeError("the schedule moves the clock")

    def request(self, sender: str, to: str, body: Any, then: Any, cause: int, background: bool = False) -> None:
        assert isinstance(cause, int), "a request has a cause"
        assert sender in self.brokers or sender == "controller"
        assert type(body) in BY_REQUEST
        self.sent.append(Sent(sender, to, body, then, background, cause))

    def respond(self, request: Frame, body: Any, cause: int) -> None:
        assert isinstance(cause, int), "a response has a cause"
        sent = self._asked[request.correlation_id]
        assert sent.response is NOTHING, "a second response to one request"
        sent.response, sent.response_cause = body, cause

    def timer(self, node: str, delay_ms: int, action: Any, background: bool) -> None:
        assert node in self.brokers or node == "controller"
        self.timers.append((node, delay_ms, background))
        self.schedule.at(self.now + delay_ms, node, 0, action, background)

    def record(self, node: str, kind: str, name: str, cause: int, data: Any) -> int:
        assert node in self.brokers or node == "controller"
        assert kind in KINDS
        assert isinstance(cause, int), "an event has a cause"
        self.notes.append(Noted(node, kind, name, cause, data))
        return len(self.notes) - 1

    # the script

    def tell(self, *to: str, alive: tuple[str, ...] = BROKERS, **partitions: PartitionInfo) -> None:
        """The next image, with t_0=info(...) for t-0; only these brokers get it (all real ones if none is named)."""
        changed = {name.replace("_", "-"): value for name, value in partitions.items()}
        self.image = self.image.with_partitions(changed, alive)
        self.give_image(*to)

    def give_image(self, *to: str, cause: int = 7) -> None:
        """These brokers (all real ones if none is named) get the newest image."""
        for name in to or tuple(self.brokers):
            self.brokers[name].leadership.update(self.image, Context(None, cause))

    def waiting(self, kind: type, sender: str = "", to: str = "") -> list[Sent]:
        """The requests of this kind on their way, oldest first."""
        return [s for s in self.sent if isinstance(s.body, kind) and sender in ("", s.sender) and to in ("", s.to)]

    def take(self, kind: type, sender: str = "", to: str = "") -> Sent:
        """The only such request; it is still to be delivered or answered."""
        (found,) = self.waiting(kind, sender, to)
        return found

    def deliver(self, sent: Sent, cause: int = 5, late: bool = False, copy: bool = False) -> Any:
        """Give a request to its receiver; its response if there is one at once, else NOTHING.

        With `late` it was sent before all others; with `copy` it is the latest request once more.
        """
        self.sent = [s for s in self.sent if s is not sent]
        api = BY_REQUEST[type(sent.body)]
        number = -1 if late else len(self._asked) - copy
        self._asked[number] = sent
        frame = Frame(
            f"{api.name}#{number}", api.name, "request", sent.sender, sent.to, api.category, sent.body,
            api.versions[-1], number, received_step=cause,
        )  # fmt: skip
        receiver = self.controller if sent.to == "controller" else self.brokers[sent.to]
        assert receiver is not None
        receiver.receive(frame)
        return sent.response

    def answer(self, sent: Sent, response: Any = NOTHING, cause: int = 6) -> None:
        """Give its sender the response: this one, or that of the receiver; None for a broken connection."""
        self.sent = [s for s in self.sent if s is not sent]
        found = sent.response if response is NOTHING else response
        assert found is not NOTHING, "there is no response yet"
        sent.answered = True
        sent.then(found, cause)

    def fetch(
        self, replica: str, offset: int, epoch: int, session: int, at: str = "b1", partition: str = "t-0",
        version: int | None = None, log_start: int = 0, late: bool = False, copy: bool = False,
    ) -> Sent:  # fmt: skip
        """A scripted follower fetches one partition: up to `offset`, its last batch of `epoch`; its held request."""
        body = ReplicaFetch(
            replica=replica,
            session_epoch=session,
            metadata_version=self.image.version if version is None else version,
            positions={partition: (offset, epoch)},
            log_starts={partition: log_start} if log_start else {},
        )
        sent = Sent(replica, at, body, lambda response, cause: None, True, 0)
        self.deliver(sent, late=late, copy=copy)
        return sent

    def follow(self, follower: str, leader: str = "b1") -> ReplicaFetchResponse | str:
        """A real follower's fetch goes to its real leader, and the response back if there is one."""
        sent = self.take(ReplicaFetch, follower, leader)
        response: ReplicaFetchResponse | str = self.deliver(sent)
        if response is not NOTHING:
            self.answer(sent)
        return response

    def settle(self) -> None:
        """Deliver every request to a real receiver, and every response, until nothing moves any more."""
        while True:
            for sent in [s for s in self._asked.values() if s.response is not NOTHING and not s.answered]:
                self.answer(sent)
            ready = [s for s in self.sent if s.to in self.brokers]
            if not ready:
                return
            for sent in ready:
                self.deliver(sent)

    def write(self, leader: str, *values: str, acks: int = -1, partition: str = "t-0") -> list[Error]:
        """Append one batch at a leader; the list gets the error with which the append ends."""
        ends: list[Error] = []
        append = Append(partition, batch(*values), 30_000, acks)
        self.brokers[leader].run(append_and_note(append, ends), Context(None, 3))
        return ends

    def take_altered(self, sender: str = "b1") -> tuple[str, ...]:
        """The in-sync replicas that the only AlterPartition on its way asks for."""
        isr: tuple[str, ...] = self.take(AlterPartition, sender, "controller").body.isr
        return isr

    def run_for(self, duration_ms: int) -> None:
        """Let time pass, and all be done that is due by then."""
        reached: list[bool] = []
        self.schedule.at(self.now + duration_ms, "test", 0, lambda: reached.append(True), True)
        while not reached:
            self.schedule.pop()[-1]()

    # what tests look at

    def log(self, broker: str, partition: str = "t-0") -> PartitionLog:
        return self.brokers[broker].state.log(partition)

    def values(self, broker: str, partition: str = "t-0") -> list[str]:
        """The values of a replica's records."""
        return [r.value for b in self.log(broker, partition).batches for r in b.records]

    def marks(self, broker: str, partition: str = "t-0") -> tuple[int, int]:
        """High watermark and log end offset."""
        log = self.log(broker, partition)
        return log.high_watermark, log.log_end_offset

    def session(self, leader: str, follower: str) -> FetchSession:
        return self.brokers[leader].state.sessions[follower]

    def find_notes(self, name: str, kind: str = "state") -> list[Noted]:
        """The events of this kind and name."""
        return [n for n in self.notes if (n.kind, n.name) == (kind, name)]
