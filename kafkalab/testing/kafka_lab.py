"""`KafkaLab`: what the fixture `kafka_lab` gives a test: a live cluster, faults, and checks of what happened.

Checks and histories are imported when they are asked for: a test waits for its brokers only.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kafkalab.broker.group_coordinator.log import offsets_of
from kafkalab.faults.cluster import AdvanceClock
from kafkalab.faults.fault import describe_unused
from kafkalab.faults.node import Pause, Resume
from kafkalab.limits import did_you_mean, list_names, quote
from kafkalab.live.cluster import LiveCluster
from kafkalab.protocol.errors import Error
from kafkalab.protocol.messages.create_topics import CreateTopics, CreateTopicsResponse, NewTopic
from kafkalab.protocol.messages.fetch import READ_COMMITTED
from kafkalab.protocol.messages.registry import BY_NAME
from kafkalab.protocol.partitions import offsets_partition, transaction_partition
from kafkalab.testing.record import LEVELS, TopicRecord, records_in

if TYPE_CHECKING:
    from collections.abc import Callable

    from kafkalab.checks.all import Report
    from kafkalab.history.history import History
    from kafkalab.history.positions import Positions
    from kafkalab.testing.pipeline import Effects, Identities, Identity, Pipeline


def by_key(record: TopicRecord) -> bytes | None:
    """Return the record's key: what an input and its output have in common unless a pipeline says otherwise."""
    return record.key


class KafkaLab(LiveCluster):
    """A small Kafka for one test, in a thread of the test's process: see `LiveCluster` for hold, drop, crash and save.

    A group's first rebalance does not wait for further members, unless `group_initial_rebalance_delay_ms` is given.
    """

    def __init__(
        self,
        brokers: int = 3,
        cluster_level: int = 2,
        topics: Any = None,
        *,
        allow_unused_faults: bool = False,
        **settings: Any,
    ) -> None:
        """Listen on free ports. `topics` are names, or a dict with numbers of partitions. Otherwise as `LiveCluster`.

        With `allow_unused_faults` a test passes although a fault has struck no frame. ValueError and TypeError for
        what no cluster has.
        """
        if type(brokers) is not int or not 1 <= brokers <= 9:
            raise ValueError(f"brokers is a number from 1 to 9, not {quote(brokers)}")
        if isinstance(topics, list | tuple):
            topics = dict.fromkeys(topics, 1)
        elif not isinstance(topics, dict | None):
            raise TypeError(f"topics are a list of names or a dict with numbers of partitions, not {quote(topics)}")
        super().__init__(brokers, cluster_level, topics, **{"group_initial_rebalance_delay_ms": 0, **settings})
        self._pipelines: list[Pipeline] = []
        self.allow_unused_faults = allow_unused_faults

    # where

    def coordinator_of(self, transactional_id: str = "", *, group: str = "") -> str:
        """Return the broker that coordinates a transactional id, or a `group`: "b2"; "" while no broker does."""
        if bool(transactional_id) == bool(group):
            raise TypeError('coordinator_of("a transactional id") or coordinator_of(group="a group")')
        partition = offsets_partition(group) if group else transaction_partition(transactional_id)
        return self.do(lambda: self.cluster.controller.metadata.leader(partition))

    def leader_of(self, partition: str) -> str:
        """Return the broker that leads "orders-0"; "" while no broker does. ValueError for an unknown partition."""
        known = self.cluster.controller.metadata.partitions
        if partition not in known:
            near = did_you_mean(partition, known)
            raise ValueError(f"no partition {quote(partition)}; there are {list_names(self._partitions())}{near}")
        return self.do(lambda: self.cluster.controller.metadata.leader(partition))

    def _partitions(self) -> list[str]:
        return [f"{topic}-{i}" for topic, count in self.topics.items() for i in range(count)]

    def create_topic(self, name: str, partitions: int = 1) -> None:
        """Create a topic with replicas on as many brokers as Kafka's default asks for. ValueError if it cannot be."""
        wanted = CreateTopics(topics=(NewTopic(name=name, num_partitions=partitions),))
        answers: list[CreateTopicsResponse | None] = []

        def act() -> None:
            alive = self.cluster.controller.metadata.alive
            if not alive:
                raise ValueError("no broker is alive: restart one first")
            self.cluster.network.request(alive[0], "controller", wanted, lambda answer, _: answers.append(answer), -1)

        self._act(act)
        error = answers[0].errors[name] if answers and answers[0] else Error.REQUEST_TIMED_OUT
        if error is not Error.NONE:
            raise ValueError(f"topic {quote(name)} with {quote(partitions)} partitions: {error.name}")

    def committed_offsets(self, group: str) -> dict[str, int]:
        """Return the group's committed offsets by partition, as far as they are replicated; {} if it has none."""

        def act() -> dict[str, int]:
            coordinator = self.cluster.controller.metadata.leader(offsets_partition(group))
            if coordinator not in self.cluster.brokers:
                raise ValueError(f"no broker coordinates the group {quote(group)} now")
            found = offsets_of(self.cluster.brokers[coordinator].state, group)
            return {key: found.committed[group, key].offset for key in sorted(found.offsets_of(group))}

        return self.do(act)

    # faults

    def next(self, name: str) -> str:
        """Return the name of the frame of this API that will be sent next: `drop(kafka_lab.next("EndTxnResponse"))`."""
        if name.removesuffix("Response") not in BY_NAME:
            raise ValueError(f"no API {quote(name)}{did_you_mean(name, BY_NAME)}")
        return f"{name}#{self.do(lambda: self.cluster.network.count_sent(name)) + 1}"

    def pause(self, broker: str) -> None:
        """Stop the broker's process without ending it (a long garbage collection); what arrives waits."""
        self.strike(Pause(broker))

    def resume(self, broker: str) -> None:
        """Continue the paused broker, first with all that has waited."""
        self.strike(Resume(broker))

    def advance(self, ms: int) -> None:
        """Move the brokers' clocks forward by `ms`: what is due by then expires at once.

        Transaction timeouts, transactional ids, sessions of group members and of crashed brokers, retention. The clocks
        of clients do not move.
        """
        if type(ms) is not int or ms <= 0:
            raise ValueError(f"advance() takes milliseconds above 0, not {quote(ms)}")
        self.strike(AdvanceClock(ms))

    def describe_unused_faults(self) -> str:
        """Return a sentence about the faults that have struck no frame; "" if all have, or if the test allows it."""
        if self.allow_unused_faults or not (unused := self.unused_faults):
            return ""
        network = self.cluster.network
        names = dict.fromkeys(name.rpartition("#")[0] for fault in unused for name in fault.frames)
        sent = self.do(lambda: ", ".join(f"{network.count_sent(name)} {name}" for name in names))
        told = self.do(lambda: "; ".join(describe_unused(fault, network.was_sent) for fault in unused))
        return (
            f"{told}. Sent were {sent}. If the test should pass all the same: "
            "@pytest.mark.kafka_lab(allow_unused_faults=True)"
        )

    # what happened

    def records(self, topic: str, isolation_level: str = READ_COMMITTED) -> list[TopicRecord]:
        """Return what a consumer of this isolation level would be given of a topic now, by partition and offset."""
        if isolation_level not in LEVELS:
            raise ValueError(f"isolation_level is {' or '.join(LEVELS)}, not {quote(isolation_level)}")

        def act() -> list[TopicRecord]:
            if topic not in (known := self.topics):
                raise ValueError(f"no topic {quote(topic)}; there are {list_names(known)}{did_you_mean(topic, known)}")
            logs = [self.cluster.log_of(f"{topic}-{number}") for number in range(known[topic])]
            return [record for log in logs for record in records_in(log, isolation_level)]

        return self.do(act)

    def values(self, topic: str, isolation_level: str = READ_COMMITTED) -> list[str | None]:
        """Return the values of `records(topic, isolation_level)` as text in UTF-8."""
        found = (record.value for record in self.records(topic, isolation_level))
        return [None if value is None else value.decode() for value in found]

    def pipeline(
        self,
        source: str,
        target: str,
        source_id: Identity = by_key,
        target_id: Identities = by_key,
        *,
        effects: Effects = 1,
        positions: Positions | Callable[[], Positions] | None = None,
    ) -> None:
        """Declare which records of `target` the application makes of a record of `source`, for the check exactly-once.

        The two have the same identity: what `source_id` returns of the input and `target_id` of the output; without
        them it is the key. An output of several inputs has a list of identities. `effects` is the number of outputs of
        each input, or a function from the input to it: 0 for one that is filtered out.

        An application that keeps its positions outside Kafka (a checkpoint, a database, a file) has `positions`: a dict
        from partitions of `source` to the next offset that it will read, or a function that returns it; or "unknown".
        The function is called in the test's thread, before Kafka is read: the two are not one moment.
        """
        from kafkalab.testing.pipeline import Pipeline

        self._pipelines.append(Pipeline(source, target, source_id, target_id, effects, positions))

    def history(self) -> History:
        """Return what has happened so far as the tables that checks and audits read; `save` keeps it.

        `reads` and `polls` are derived from Fetch responses. At the end of them a reader called kafka_lab reads every
        topic to its end. RuntimeError once recording has stopped: see `LiveCluster`.
        """
        if self.trace.full:
            raise RuntimeError(f"{self.recording_stopped}: a history needs all of them")

        from kafkalab.history.export import history_of
        from kafkalab.history.fetched import with_fetches
        from kafkalab.testing.read_to_the_end import with_reader

        pipelines = [pipeline.read_positions() for pipeline in self._pipelines]

        def act() -> History:
            found = with_fetches(history_of(self.cluster), self.trace)
            known = self.topics
            for pipeline in pipelines:
                for topic in (pipeline.source, pipeline.target):
                    if topic not in known:
                        raise ValueError(f"pipeline: no topic {quote(topic)}; there are {list_names(known)}")
                found = pipeline.declare_inputs(found, self.records)
            return with_reader(found, self.cluster, self._partitions())

        return self.do(act)

    def check(self, *names: str) -> Report:
        """Raise `AnomalyError`, an AssertionError, for what the checks find, or for a fault that has struck nothing:
        then it is unknown what the application does about it. Return the report of the checks, a table.

        Without `names` for a broken promise of Kafka's or of a declared pipeline; with names for each of these
        anomalies, also where Kafka allows it, and if nothing is known about it. ValueError for an unknown name.
        """
        from kafkalab.testing.verdict import AnomalyError, examine

        report = examine(self.history(), self.trace, self.began_ms, names, bool(self._pipelines))
        if unused := self.describe_unused_faults():
            raise AnomalyError(unused, report)
        return report

    def frames(self, count: int = 30) -> list[str]:
        """Return a line for each of the last `count` frames between clients and brokers; metadata is left out."""
        from kafkalab.testing.failure_artifacts import frame_lines

        return frame_lines(self, count)
