"""The controller: decides who leads, who is in sync, which producer ids are whose, and tells the brokers.

Simplified: one controller that never fails and has no log of its own; brokers get the whole image pushed.
"""

from __future__ import annotations

from typing import Any

from kafkalab.broker.handlers.create_topics import shape_error
from kafkalab.broker.port import Port
from kafkalab.protocol.cluster_metadata import ClusterMetadata, PartitionInfo
from kafkalab.protocol.errors import Error
from kafkalab.protocol.messages.allocate_producer_ids import AllocateProducerIds, AllocateProducerIdsResponse
from kafkalab.protocol.messages.alter_partition import AlterPartition, AlterPartitionResponse
from kafkalab.protocol.messages.broker_registration import BrokerRegistration, BrokerRegistrationResponse
from kafkalab.protocol.messages.create_topics import CreateTopics, CreateTopicsResponse
from kafkalab.protocol.messages.update_metadata import UpdateMetadata
from kafkalab.protocol.partitions import TRANSACTION_TOPIC, topic_of
from kafkalab.protocol.profiles import Rules
from kafkalab.protocol.rules import CLEAN_ELECTION
from kafkalab.trace import Frame

PRODUCER_ID_BLOCK = 1000


class Controller:
    """Holds the image; every change gives a new version of it, sent to every live broker until it answers."""

    name = "controller"

    def __init__(
        self, brokers: tuple[str, ...], port: Port, replication_factor: int = 3, rules: Rules | None = None,
        producer_id_block: int = PRODUCER_ID_BLOCK, num_partitions: int = 1,
    ) -> None:  # fmt: skip
        self.brokers = brokers
        self.rules = rules or Rules()
        self.port = port
        self.replication_factor = min(replication_factor, len(brokers))
        self.metadata = ClusterMetadata(0, brokers)
        self.num_partitions = num_partitions
        self.next_producer_id, self.producer_id_block = 0, producer_id_block
        self.let_in: dict[str, int] = {}
        """The version of the image in which each restarted broker was alive again."""
        self.awaited: dict[str, bool] = {}
        """The brokers that have started again and not asked yet to be let in: no image is sent to them."""

    def place(self, topic: str, partitions: int, replication_factor: int = -1) -> dict[str, PartitionInfo]:
        """Partition p of a topic is led by a broker that p and the topic's name choose; the next ones follow it.

        Simplified: Kafka starts at a random broker; here the start is the sum of the name's characters.
        """
        start, n = sum(map(ord, topic)), len(self.brokers)
        copies = self.replication_factor if replication_factor == -1 else replication_factor
        infos = [self._placed_from(start + first, copies) for first in range(min(n, partitions))]
        return {f"{topic}-{index}": infos[index % n] for index in range(partitions)}

    def _placed_from(self, first: int, copies: int) -> PartitionInfo:
        """A new partition whose replicas begin with this broker; the live ones are in sync."""
        replicas = tuple(self.brokers[(first + i) % len(self.brokers)] for i in range(copies))
        isr = tuple(r for r in replicas if r in self.metadata.alive)
        return PartitionInfo(leader=isr[0] if isr else "", leader_epoch=0, replicas=replicas, isr=isr)

    def producer_ids(self) -> int:
        """Give a block of producer ids away; return its first one."""
        first, self.next_producer_id = self.next_producer_id, self.next_producer_id + self.producer_id_block
        return first

    def recover(self, image: ClusterMetadata, next_producer_id: int) -> None:
        """Go on from an image that was kept while the whole cluster was down; partitions that it lacks are new.

        Every broker is alive again, and the first in-sync replica leads each partition, under the next epoch.
        """
        self.next_producer_id = next_producer_id
        known = {**self.metadata.partitions, **image.partitions}
        led = {p: self._led_by(next(r for r in i.replicas if r in i.isr), i, i.isr) for p, i in known.items()}
        self.metadata = ClusterMetadata(max(image.version, self.metadata.version))
        self._publish(led, self.brokers, -1)

    def receive(self, frame: Frame) -> None:
        """Answer one request of a broker."""
        body, cause = frame.body, frame.received_step
        if isinstance(body, AlterPartition):
            self.port.respond(frame, AlterPartitionResponse(error=self._alter(body, frame.sender, cause)), cause)
        elif isinstance(body, AllocateProducerIds):
            start, length = self.producer_ids(), self.producer_id_block
            response = AllocateProducerIdsResponse(producer_id_start=start, producer_id_len=length)
            self.port.respond(frame, response, cause)
        elif isinstance(body, CreateTopics):
            self.port.respond(frame, CreateTopicsResponse(errors=self._create(body, cause)), cause)
        else:
            assert isinstance(body, BrokerRegistration), f"{frame.name} is not for the controller"
            self._let_in(body.broker, cause)
            self.port.respond(frame, BrokerRegistrationResponse(), cause)

    def fence_broker(self, broker: str, cause: int) -> None:
        """A broker's session is over: fence it and elect other leaders from the in-sync replicas."""
        if broker not in self.metadata.alive:
            return
        alive = tuple(b for b in self.metadata.alive if b != broker)
        infos = self.metadata.partitions
        changed = {p: self._without(p, i, broker, alive) for p, i in infos.items() if broker in (*i.isr, i.leader)}
        self._publish(changed, alive, cause)

    def _without(self, partition: str, info: PartitionInfo, broker: str, alive: tuple[str, ...]) -> PartitionInfo:
        """The last in-sync replica stays in the set, so that no other is elected; but for CLEAN_ELECTION."""
        isr = tuple(r for r in info.isr if r != broker) or info.isr
        if info.leader != broker:
            return PartitionInfo(leader=info.leader, leader_epoch=info.leader_epoch, replicas=info.replicas, isr=isr)
        leader = next((r for r in info.replicas if r in isr and r in alive), "")
        if not leader and self._may_be_unclean(partition):
            leader = next((r for r in info.replicas if r in alive), "")
        return self._led_by(leader, info, isr)

    def _may_be_unclean(self, partition: str) -> bool:
        """unclean.leader.election.enable; for the transaction log it is always off
        (docs/protocol.md#transaction-state-records)."""
        return not self.rules.on(CLEAN_ELECTION) and topic_of(partition) != TRANSACTION_TOPIC

    @staticmethod
    def _led_by(leader: str, info: PartitionInfo, isr: tuple[str, ...]) -> PartitionInfo:
        """Under the next leader epoch; a leader that was not in sync is the only one in sync."""
        if leader and leader not in isr:
            isr = (leader,)
        return PartitionInfo(leader=leader, leader_epoch=info.leader_epoch + 1, replicas=info.replicas, isr=isr)

    def can_lead(self, partition: str, broker: str, unclean: bool = False) -> bool:
        """Return True if a live replica that does not lead yet may be elected: it is in sync, or need not be."""
        info = self.metadata.partitions.get(partition)
        if info is None or broker not in info.replicas or broker not in self.metadata.alive or info.leader == broker:
            return False
        return broker in info.isr or unclean or self._may_be_unclean(partition)

    def elect(self, partition: str, broker: str, cause: int) -> None:
        """The replica, of which `can_lead` is true, leads the partition under the next epoch."""
        info = self.metadata.partitions[partition]
        self._publish({partition: self._led_by(broker, info, info.isr)}, self.metadata.alive, cause)

    def _let_in(self, broker: str, cause: int) -> None:
        """A restarted broker is fenced first (its session of before is over), then alive again.

        A broker that asks again, because the answer was lost, changes nothing.
        """
        if not self.awaited.pop(broker, False) and broker in self.metadata.alive:
            return
        self.fence_broker(broker, cause)
        alive = tuple(b for b in self.brokers if b in self.metadata.alive or b == broker)
        changed = {
            p: self._led_by(broker, i, i.isr)
            for p, i in self.metadata.partitions.items()
            if i.leader == "" and (broker in i.isr or (broker in i.replicas and self._may_be_unclean(p)))
        }
        self.let_in[broker] = self.metadata.version + 1
        self._publish(changed, alive, cause)

    def _create(self, request: CreateTopics, cause: int) -> dict[str, Error]:
        """Each topic that can be is, unless it was only asked whether it could."""
        known = list(dict.fromkeys(topic_of(p) for p in self.metadata.partitions))
        errors: dict[str, Error] = {}
        placed: dict[str, PartitionInfo] = {}
        for topic in request.topics:
            errors[topic.name] = shape_error(topic, known, len(self.brokers) if self.metadata.alive else 0)
            if errors[topic.name] is Error.NONE:
                known.append(topic.name)
                partitions = self.num_partitions if topic.num_partitions == -1 else topic.num_partitions
                placed.update(self.place(topic.name, partitions, topic.replication_factor))
        if placed and not request.validate_only:
            self._publish(placed, self.metadata.alive, cause)
        return errors

    def _alter(self, request: AlterPartition, sender: str, cause: int) -> Error:
        info = self.metadata.partitions.get(request.partition)
        if info is None:
            return Error.UNKNOWN_TOPIC_OR_PARTITION
        if info.leader != sender or info.leader_epoch != request.leader_epoch:
            return Error.FENCED_LEADER_EPOCH
        isr = tuple(r for r in request.isr if r in self.metadata.alive)
        new = PartitionInfo(leader=info.leader, leader_epoch=info.leader_epoch, replicas=info.replicas, isr=isr)
        if new != info:
            self._publish({request.partition: new}, self.metadata.alive, cause)
        return Error.NONE

    def _publish(self, changed: dict[str, PartitionInfo], alive: tuple[str, ...], cause: int) -> None:
        self.metadata = self.metadata.with_partitions(changed, alive)
        step = self.note_metadata(changed, cause)
        for broker in alive:
            self._tell(broker, step)

    def note_metadata(self, changed: dict[str, PartitionInfo], cause: int) -> int:
        """Record who leads what is new in the image; the event's step."""
        leaders = {partition: info.leader for partition, info in changed.items()}
        epochs = {partition: info.leader_epoch for partition, info in changed.items()}
        data = {"version": self.metadata.version, "alive": self.metadata.alive, "leaders": leaders}
        return self.port.record(self.name, "state", "metadata", cause, {**data, "leader_epochs": epochs})

    def tell_if_alive(self, broker: str, cause: int) -> None:
        """A broker that can be reached again gets the newest image, if it is not fenced."""
        if broker in self.metadata.alive:
            self._tell(broker, cause)

    def _tell(self, broker: str, cause: int) -> None:
        if broker in self.awaited:
            return
        image = self.metadata

        def on_response(response: Any, step: int) -> None:
            if response is None and image.version == self.metadata.version and broker in image.alive:
                self.port.timer(self.name, 100, lambda: self._tell(broker, step), False)
            elif response is not None:
                self._take_back(broker, response.empty, image)

        self.port.request(self.name, broker, UpdateMetadata(metadata=image), on_response, cause)

    def _take_back(self, leader: str, partitions: tuple[str, ...], image: ClusterMetadata) -> None:
        """Count live replicas of partitions without records as in sync, unless either has changed since the image.

        The other brokers learn it with the next image.
        """
        if any(since > image.version for since in self.let_in.values()):
            return
        now = self.metadata.partitions
        same = tuple(p for p in partitions if now[p].leader == leader and now[p] == image.partitions[p])
        self.metadata = self.metadata.with_live_in_sync(same)
