"""Run one script on kafkalab and return its answers in the form of the recordings."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from operator import itemgetter
from typing import Any

from kafkalab.broker.state import BrokerState
from kafkalab.faults.node import Crash, Restart
from kafkalab.programs.raw_requests import Hand, request_of
from kafkalab.protocol.acls import Deny
from kafkalab.protocol.field_versions import LATEST
from kafkalab.protocol.messages.describe_transactions import DescribeTransactions
from kafkalab.protocol.messages.fetch import FetchResponse
from kafkalab.protocol.partitions import index_of, offsets_partition, topic_of, transaction_partition
from kafkalab.protocol.profiles import SERVED
from kafkalab.sim.app import App
from kafkalab.sim.cluster import Cluster
from kafkalab.sim.scenario import Program, Scenario
from kafkalab.trace import plain
from kafkalab.wire.batches import read_produced
from kafkalab.wire.codec import within_limits
from tests.kafka.batches import ODD, batch_of
from tests.kafka.lab_answers import ANSWERS
from tests.kafka.script import OTHER, Answer, Normaliser, Script, ids_of, is_settled

BASE_MS, BEGIN_MS = 0, 200_000
"""The time of data, and when the first step is done: data is older than markers, as it is with Kafka."""
SETTLE_TRIES, PAUSE_MS = 500, 20
SETTLE_MS, DOWN_MS, BACK_MS = 300, 1_000, 3_000
BY_ID = {"Produce": 13, "Fetch": 13, "OffsetCommit": 10, "OffsetFetch": 10, "TxnOffsetCommit": 6}
"""The first versions that name topics by their ids."""
ONE_BROKER = {
    "transaction_state_log_min_isr": 1,
    "transaction_abort_cleanup_interval_ms": 1_000,
    "group_initial_rebalance_delay_ms": 0,
    "group_consumer_assignment_interval_ms": 0,
}
THREE_BROKERS = {**ONE_BROKER, "transaction_state_log_min_isr": 2, "replica_lag_time_max_ms": 3_000}
"""As in `running_kafka`."""


class LabSide(Hand):
    """The client program: raw requests, and every answer in full."""

    def __init__(self, app: App, clusters: list[Cluster], min_isr: dict[str, int], ids: list[str]) -> None:
        super().__init__(app)
        self.ids = ids
        self.clusters, self.min_isr = clusters, min_isr
        self.full: list[Answer] = []
        self.groups: set[str] = set()
        self.gone: dict[str, str] = {}
        self._version = 0
        self.given: dict[str, Any] = {}

    async def do(self, step: dict[str, Any]) -> None:
        if "min_isr" in step:
            self.min_isr.update(step["min_isr"])
            await self.app.sleep(SETTLE_MS)
        elif "stop" in step:
            self._stop("b1", step["stop"] == "clean")
            self._start("b1", DOWN_MS)
            await self.app.sleep(BACK_MS)
        elif "kill" in step:
            self.gone[step["as"]] = self._node(step["kill"])
            self._stop(self.gone[step["as"]], False)
        elif "start" in step:
            self._start(self.gone[step["start"]], 0)
            await self.app.sleep(0)
        elif "settle" in step:
            await self._settle()
        elif "ask" in step:
            given = self.given = step.get("with", {})
            self._version = step["version"]
            if "group_id" in given:
                self.groups.add(given["group_id"])
            await super().do({**step, "with": self._place(given)})
        else:
            await super().do(step)

    async def _settle(self) -> None:
        for _ in range(SETTLE_TRIES):
            found = [
                await self.app.ask(self._node(f"coordinator of {tid}"), DescribeTransactions(transactional_ids=(tid,)))
                for tid in self.ids
            ]
            if all(is_settled(ANSWERS["DescribeTransactions"](plain(r), str)) for r in found if r is not None):
                return
            await self.app.sleep(PAUSE_MS)
        raise RuntimeError("a transaction stays prepared")

    def _node(self, to: str) -> str:
        """A node by what it does; "follower of t-0", "second follower of t-0" and "other than ..." as well."""
        if to.startswith(OTHER):
            alive = self.clusters[0].controller.metadata.alive
            return next(n for n in sorted(alive) if n != self._node(to.removeprefix(OTHER)))
        kind, _, key = to.rpartition(" of ")
        if not kind.endswith("follower"):
            return super()._node(to)
        info = self.clusters[0].controller.metadata.partitions[key]
        return [n for n in info.replicas if n != info.leader][kind == "second follower"]

    def _stop(self, node: str, clean: bool) -> None:
        cluster = self.clusters[0]
        if clean:
            for log in cluster.brokers[node].state.logs.values():
                log.close()
        cluster.plan(Crash(node, at_ms=self.app.now))

    def _start(self, node: str, after_ms: int) -> None:
        self.clusters[0].plan(Restart(node, at_ms=self.app.now + after_ms))

    def _place(self, value: Any) -> Any:
        if isinstance(value, dict):
            return {self._place(k): self._place(v) for k, v in value.items()}
        if isinstance(value, list):
            return [self._place(v) for v in value]
        if isinstance(value, str) and value.startswith("offsets of "):
            group = value.removeprefix("offsets of ")
            self.groups.add(group)
            return offsets_partition(group)
        return value

    def _note_answer(self, api: str, response: Any, name: str, shown: Any) -> None:
        super()._note_answer(api, response, name, shown)
        if isinstance(response, FetchResponse) and not {"max_bytes", "partition_max_bytes"}.isdisjoint(self.given):
            response = within_limits(response, request_of(api, self._resolve(self.given)))
        answer = {"error": "NETWORK_EXCEPTION"} if response is None else ANSWERS[api](plain(response), self._back)
        if self._version >= BY_ID.get(api, LATEST):
            answer = self._with_ids(answer)
        self.full.append({"ask": api, **answer})

    def _with_ids(self, answer: Answer) -> Answer:
        """Return the answer as the codec writes it where topics have ids: an unknown one has none (`wire.shapes`)."""
        known, unknown = self.clusters[0].scenario.topics, "UNKNOWN_TOPIC_OR_PARTITION"
        parts = [
            {**p, "partition": f"unknown-{index_of(p['partition'])}", "error": "UNKNOWN_TOPIC_ID"}
            if p["error"] == unknown and topic_of(p["partition"]) not in known
            else p
            for p in answer["parts"]
        ]
        return {**answer, "parts": sorted(parts, key=itemgetter("partition"))}

    def _request(self, step: dict[str, Any]) -> Any:
        """Return the request; batches of which one is odd are read from their bytes, as a server reads them."""
        batches = step["with"].get("batches", {})
        if not any(set(batch) & ODD for batch in batches.values()):
            return super()._request(step)
        plain_ones = {p: {k: v for k, v in batch.items() if k not in ODD} for p, batch in batches.items()}
        request = super()._request({**step, "with": {**step["with"], "batches": plain_ones}})
        found = self._resolve(batches)
        return replace(request, batches={p: read_produced(batch_of(batch)) for p, batch in found.items()})

    def _back(self, partition: str) -> str:
        found = (g for g in sorted(self.groups) if offsets_partition(g) == partition)
        return next((f"offsets of {g}" for g in found), partition)


def _place(cluster: Cluster, script: Script) -> None:
    """Place replicas as the recorder does.

    With one broker, topics that hold markers back have a second replica on a broker that is not there. With three, the
    replicas of id x's partition are taken from behind.
    """
    before, names = cluster.controller.metadata, list(cluster.brokers)
    held = {t for step in script["steps"] for t in step.get("min_isr", ())}
    nodes = before.partitions[transaction_partition("x")].replicas[::-1]
    placed = {}
    for partition, info in before.partitions.items():
        topic, _, index = partition.rpartition("-")
        if len(names) == 3 and topic in script["topics"]:
            turned = (*nodes[int(index) % 3 :], *nodes[: int(index) % 3])
            turned = turned[:1] if topic in script.get("one_replica", ()) else turned
            placed[partition] = replace(info, leader=turned[0], replicas=turned, isr=turned)
        elif len(names) == 1 and topic in held:
            placed[partition] = replace(info, replicas=(*info.replicas, "b2"))
    if placed:
        cluster.controller.metadata = before.with_partitions(placed, before.alive)
        for broker in cluster.brokers.values():
            broker.state.metadata = cluster.controller.metadata


@contextmanager
def own_min_isr(topics: dict[str, int]) -> Iterator[None]:
    """Let `topics` give a topic its own min.insync.replicas, which no scenario can; the class is put back after."""
    general = BrokerState.min_isr

    def min_isr(self: BrokerState, partition: str) -> int:
        return topics.get(topic_of(partition)) or general(self, partition)

    BrokerState.min_isr = min_isr  # type: ignore[method-assign]
    try:
        yield
    finally:
        BrokerState.min_isr = general  # type: ignore[method-assign]


def run(script: Script, recording: str) -> list[Answer]:
    """Run the script on kafkalab as the recording's cluster is; a step that cannot be done ends the answers."""
    three, old = recording.endswith("three-nodes"), recording.startswith("1.0")
    level = int(recording[-1]) if "-tv" in recording else 0 if old else 2
    limits = {"group_max_size": 2, "message_max_bytes": 2_000} if recording.endswith("acl") else {}
    sides: list[LabSide] = []
    clusters: list[Cluster] = []
    min_isr: dict[str, int] = {}

    async def program(app: App) -> None:
        sides.append(LabSide(app, clusters, min_isr, ids_of(script)))
        await app.sleep(BEGIN_MS)
        for step in script["steps"]:
            await sides[0].do(step)

    scenario = Scenario(
        title=script["name"],
        brokers=3 if three else 1,
        profile="1.0" if old else SERVED[recording[:3], 2],
        rules_off=tuple(script.get("rules_off", ())),
        topics=script.get("topics", {}),
        programs=(Program("app", program),),
        config={**(THREE_BROKERS if three else ONE_BROKER), **limits, "transaction_version": level},
        acls=tuple(Deny("app", operation, resource) for operation, resource in script.get("acls", ())),
        producer_epochs=script.get("producer_epochs", {}),
    )
    failed = []
    with own_min_isr(min_isr):
        try:
            clusters.append(Cluster(scenario))
            _place(clusters[0], script)
            clusters[0].run()
        except Exception as error:  # told as an answer, so that the comparison shows it
            failed = [{"failed": repr(error)[:400]}]
    found: list[Answer] = Normaliser(BASE_MS)([*(sides[0].full if sides else []), *failed])
    return found
