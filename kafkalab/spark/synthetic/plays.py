"""Short runs of the simulator from which anomalies are taken: a scene is a script, played by clients of one cluster.

In a script `p0` is a process with the transactional id `t0` and a consumer of the group "app", and `q0` its successor;
`i0` has an idempotent producer, `n0` one that is not; `committed0` and `uncommitted0` read out-0 and out-1, `w0` reads
anything; `admin` sends raw requests. BUMP is 1 for transaction version 2, else 0. Every command begins a second after
the last.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import KW_ONLY, dataclass, replace
from functools import cached_property
from typing import Any

from kafkalab.client.consumer.consumer import Consumer
from kafkalab.client.exceptions import KafkaError
from kafkalab.client.producer.producer import Producer
from kafkalab.faults.fault import Fault
from kafkalab.history.export import history_of
from kafkalab.history.history import History
from kafkalab.programs import steps
from kafkalab.programs.raw_requests import Hand
from kafkalab.protocol.partitions import split
from kafkalab.protocol.rules import Rule
from kafkalab.protocol.source_header import SOURCE
from kafkalab.sim.app import App
from kafkalab.sim.cluster import Cluster
from kafkalab.sim.scenario import Program, Scenario

SLOT_MS = 1_000
READ = "committed0 poll out-0 out-1"
READ_ALL = f"{READ}; un{READ}"
"""The end of every scene, so that the two readers of out-0 and out-1 have read everything."""
POLLS = 3
"""So many calls make a poll of the script: one may bring no more than the end of an aborted transaction."""


@dataclass(frozen=True, slots=True)
class Scene:
    """A run with protocol rules off or faults; `edit` changes its history where no broker and client can make one.

    `brokers` is more than 1 where partitions need leaders of their own, or replicas.
    """

    script: str
    _: KW_ONLY
    off: tuple[Rule, ...] = ()
    faults: tuple[Fault, ...] = ()
    brokers: int = 1
    edit: Callable[[History], History] = lambda history: history

    def history(self, bump: int) -> History:
        """Return what a run shows; `bump` is 1 for transaction version 2, else 0."""
        plan: dict[str, list[tuple[int, list[str]]]] = {}
        at_ms = 0
        for command in f"{self.script}; {READ_ALL}".replace("BUMP", str(bump)).split(";"):
            node, *words = command.split()
            if node == "sleep":
                at_ms += int(words[0])
            else:
                plan.setdefault(node, []).append((at_ms := at_ms + SLOT_MS, words))
        cluster = Cluster(
            Scenario(
                profile=f"4.x/TV{1 + bump}",
                brokers=self.brokers,
                rules_off=tuple(rule.name for rule in self.off),
                topics={"out": 2, "own": 2},
                programs=tuple(Program(node, _play, {"commands": plan[node]}) for node in plan),
                faults=self.faults,
            )
        )
        cluster.run()
        history = history_of(cluster)
        noted = tuple(o for o in history.operations if o.process != "admin")  # no application asked for what it sends
        return self.edit(replace(history, operations=noted))


async def _play(app: App, commands: list[tuple[int, list[str]]]) -> None:
    client = _Client(app)
    for at_ms, (verb, *words) in commands:
        await app.sleep(max(at_ms - app.now, 0))
        with suppress(KafkaError):  # what a client is told is in its operations
            await client.do(verb, words)


CALLS = {"init": "init_transactions", **{word: f"{word}_transaction" for word in ("begin", "commit", "abort")}}


class _Client:
    """One process of a script, with a producer and a consumer as soon as it needs them."""

    def __init__(self, app: App) -> None:
        self.app, self.hand, self.kind = app, Hand(app), app.name[0]

    async def do(self, verb: str, words: list[str]) -> None:
        """Do one command of the script."""
        if self.kind == "a":
            await self.hand.do(RAW[verb](*words))
        elif verb in CALLS:
            await getattr(self.producer, CALLS[verb])()
        else:
            await getattr(self, verb)(*words)

    @cached_property
    def producer(self) -> Producer:
        """Its producer."""
        given: dict[str, Any] = {"linger_ms": 0, "enable_idempotence": self.kind != "n"}
        if self.kind in "pq":
            given["transactional_id"] = f"t{self.app.name[1:]}"
        return self.app.producer(**given)

    @cached_property
    def consumer(self) -> Consumer:
        """Its consumer, which begins to read at the beginning."""
        level = "read_uncommitted" if self.kind in "uw" else "read_committed"
        group = {"group_id": "app"} if self.kind == "p" else {}
        return self.app.consumer(isolation_level=level, auto_offset_reset="earliest", enable_auto_commit=False, **group)

    async def post(self, key: str, values: str, source: str = "") -> None:
        """Send a batch, such as "a" or "a/b", and do not wait for an answer; `source` is what it was made from."""
        topic, partition = split(key)
        headers = ((SOURCE, source.encode()),) if source else ()
        for value in values.split("/"):
            await self.producer.send(topic, value, partition=partition, headers=headers)

    async def send(self, key: str, values: str, source: str = "") -> None:
        """Send a batch and wait until it is acknowledged."""
        await self.post(key, values, source)
        await self.producer.flush()

    async def offsets(self, key: str, offset: str) -> None:
        """Commit the offset of an input in the transaction."""
        await self.producer.send_offsets_to_transaction({key: int(offset)}, self.consumer.group_metadata())

    async def poll(self, *keys: str) -> None:
        """Read what there is; the first poll says where."""
        if not self.consumer.assignment():
            self.consumer.assign(keys)
        for _ in range(POLLS):
            await self.consumer.poll(50)

    async def seek(self, key: str, offset: str) -> None:
        """Go on reading there."""
        self.consumer.seek(key, int(offset))


def _append(
    key: str, value: str, producer_id: str, epoch: str, sequence: str, transactional_id: str | None = None
) -> steps.Step:
    """Return a batch that nobody sends a second time: a copy, one that was given up, or one of a broken client."""
    batch = {
        "values": [value], "producer_id": int(producer_id), "producer_epoch": int(epoch),
        "base_sequence": int(sequence), "transactional": transactional_id is not None,
    }  # fmt: skip
    given = {"transactional_id": transactional_id, "acks": -1, "timeout_ms": 30_000, "batches": {key: batch}}
    return {"ask": "Produce", "to": f"leader of {key}", "version": 11, "with": given}


def _mark(key: str, control: str, producer_id: str, epoch: str) -> steps.Step:
    """Return the request of an administrator who has COMMIT or ABORT written to one partition."""
    marker = {
        "producer_id": int(producer_id), "producer_epoch": int(epoch), "coordinator_epoch": 0,
        "committed": control == "COMMIT", "partitions": [key],
    }  # fmt: skip
    return {"ask": "WriteTxnMarkers", "to": f"leader of {key}", "version": 1, "with": {"markers": [marker]}}


RAW: dict[str, Callable[..., steps.Step]] = {"init": steps.init, "append": _append, "mark": _mark}
"""The steps that `admin` can do."""
