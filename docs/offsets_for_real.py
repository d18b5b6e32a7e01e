"""Two defects of released clients: an offset that joins the next transaction, and a call that never returns.

    pip install 'kafkalab-course[wire,clients]'
    python docs/offsets_for_real.py                              # on the lab's brokers
    python docs/offsets_for_real.py --jars build/kafka/4.4.0     # and on Apache Kafka, in a checkout (`make oracle`)

Unmodified clients pack three orders: each parcel, and the group's next offset, in one transaction. First, their first
TxnOffsetCommit is late until just before the second EndTxn: an order is packed twice, or never, and no call fails.
Then one answer to Produce is lost, and the next call that sends offsets is given two seconds, and six to return in.
With --jars the same clients meet Apache Kafka at transaction.version=2, through a tap that makes the frame late, and
so does Java's client, which speaks version 2 of the protocol.

What the clients call is in kafkalab/course/lab10/for_real.py; docs/offsets_for_real.md explains what is seen.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Protocol

from kafkalab import LiveCluster, Tap
from kafkalab.course.lab10.for_real import lose_one, never_returns, pack_twice
from kafkalab.course.lab10.real_packers import (
    CLIENT,
    GROUP,
    ORDERS,
    PARCELS,
    TOPICS,
    WAITING,
    Aiokafka,
    Librdkafka,
    Packer,
)

CALM = {"metadata.recovery.strategy": "none"}
INSTALL = "{} is not installed: pip install 'kafkalab-course[wire,clients]'"
Make = Callable[[Any, str], Packer]


class Place(Protocol):
    """Brokers of a kind: `opened` yields new ones, or a new tap before them, and the prefix of its names."""

    name: str

    def opened(self) -> AbstractContextManager[tuple[Any, str]]: ...


class Lab:
    """The lab's brokers, at level 2 of transaction.version."""

    name = "the lab's broker, transaction.version=2"

    @contextmanager
    def opened(self) -> Iterator[tuple[Any, str]]:
        with LiveCluster(brokers=1, cluster_level=2, topics=TOPICS) as live:
            yield live, ""


class Apache:
    """Apache Kafka at level 2, with a tap of its own for each case, so that frames are counted anew."""

    def __init__(self, servers: str, name: str) -> None:
        self.servers, self.name, self.cases = servers, name, 0

    @contextmanager
    def opened(self) -> Iterator[tuple[Any, str]]:
        from confluent_kafka.admin import AdminClient
        from confluent_kafka.cimpl import NewTopic

        self.cases += 1
        prefix, admin = f"case{self.cases}-", AdminClient({"bootstrap.servers": self.servers})
        for made in admin.create_topics([NewTopic(prefix + topic, 1, 1) for topic in TOPICS]).values():
            made.result(60)
        tap = Tap(self.servers, faults=True)
        try:
            yield tap, prefix
        finally:
            tap.close()

    def warm_up(self) -> None:
        """Let the brokers create their internal topics, which takes longer than a client's patience."""
        with self.opened() as (tap, prefix):
            packer = Librdkafka(tap.bootstrap_servers, prefix, **{"socket.timeout.ms": 60_000})
            packer.begin()
            packer.send_offset(1)
            packer.commit()
            packer.find_offset()


class JavaPacker:
    """Java's client, in a JVM of its own; it gives a request up after a second, too."""

    def __init__(self, jvm: Any, prefix: str) -> None:
        times = ("request.timeout.ms=1000", "delivery.timeout.ms=2000", "max.block.ms=60000", f"client.id={CLIENT}")
        self.jvm, self.prefix = jvm, prefix
        self.group = jvm.consumer(prefix + GROUP, prefix + ORDERS, "read_committed")
        self.producer = jvm.producer(prefix + "packer-1", *times)
        self.producer.init()

    def begin(self) -> None:
        self.producer.begin()

    def send(self, parcel: str) -> None:
        self.producer.send(self.prefix + PARCELS, 0, parcel)

    def send_offset(self, offset: int, timeout_s: float = 0) -> None:
        self.producer.send_offset(self.prefix + ORDERS, 0, offset, self.group)

    def commit(self) -> None:
        self.producer.commit()

    def abort(self) -> None:
        self.producer.abort()

    def find_offset(self) -> int:
        return max(0, int(self.jvm.committed(self.prefix + GROUP, self.prefix + ORDERS, 0)))

    def close(self) -> None:
        self.producer.close()


def list_clients() -> dict[str, Make]:
    """Return what makes a packer of each client, by the client's name and version."""
    try:
        names = f"librdkafka (confluent-kafka {version('confluent-kafka')})", f"aiokafka {version('aiokafka')}"
    except PackageNotFoundError as missing:
        sys.exit(INSTALL.format(missing.name))
    makes: tuple[Callable[[str, str], Packer], ...] = (Librdkafka, Aiokafka)
    return {name: make_at(make) for name, make in zip(names, makes, strict=True)}


def make_at(make: Callable[[str, str], Packer]) -> Make:
    """Return a function of the brokers and the prefix of their names."""
    return lambda brokers, prefix: make(brokers.bootstrap_servers, prefix)


def show(place: Place, clients: dict[str, Make]) -> None:
    """Run every client through both schedules of the late offset, and through the lost answer."""
    print(f"\n{place.name}")
    for name, make in clients.items():
        for says, program in (("orders in turn", pack_twice), ("the first two are aborted", lose_one)):
            with place.opened() as (brokers, prefix):
                program(brokers, partial(make, brokers, prefix))
                parcels = list_parcels(brokers.bootstrap_servers, prefix + PARCELS)
                print(f"  {name}: {says}: {', '.join(parcels)}: {verdict(parcels)}; {answer(brokers)}", flush=True)
    for name, make in {**clients, "librdkafka, " + "=".join(*CALM.items()): calm}.items():
        with place.opened() as (brokers, prefix):
            end = "has not returned after 6 s" if never_returns(brokers, make(brokers, prefix)) else "returns"
        print(f"  {name}: send_offsets_to_transaction {end}", flush=True)


def calm(brokers: Any, prefix: str) -> Librdkafka:
    """Return a packer of librdkafka that does not bootstrap anew when its only connection breaks."""
    return Librdkafka(brokers.bootstrap_servers, prefix, **CALM)


def list_parcels(servers: str, topic: str) -> list[str]:
    """Return what read_committed gets of the topic's only partition, to its end."""
    from confluent_kafka import OFFSET_BEGINNING, Consumer, TopicPartition

    reader = Consumer({"bootstrap.servers": servers, "group.id": "readers", "enable.partition.eof": True})
    reader.assign([TopicPartition(topic, 0, OFFSET_BEGINNING)])
    found = []
    while (message := reader.poll(30)) is not None and message.error() is None:
        found.append((message.value() or b"").decode())
    reader.close()
    return found


def verdict(parcels: list[str]) -> str:
    """Say in words what became of the three orders."""
    twice = [order for order in WAITING if parcels.count(order) > 1]
    lost = [order for order in WAITING if order not in parcels]
    return ", ".join([f"{o} is packed twice" for o in twice] + [f"{o} is lost" for o in lost]) or "each order once"


def answer(brokers: Any) -> str:
    """Say how the late request was answered, and in which version it was sent."""
    frames = (brokers.recording() if isinstance(brokers, Tap) else brokers).trace.frames.values()
    late = next(f for f in frames if f.name == "TxnOffsetCommit")
    answers = [f for f in frames if f.of == late.id]
    told = answers[0].error or "NONE" if answers else "nothing"
    return f"the late TxnOffsetCommit, version {late.version}, is answered {told}"


def show_apache(jars: Path, clients: dict[str, Make]) -> None:
    """Start Apache Kafka of these jars on loopback, run everything on it, and stop it."""
    sys.path.append(str(Path(__file__).parents[1]))  # a checkout's tests know how to start it
    os.environ["KAFKA_CLIENTS_JARS"] = str(jars)
    from tests.wire.clients.clusters import apache
    from tests.wire.clients.java_client import java

    release = next(jars.glob("kafka-clients-*.jar")).stem.rpartition("-")[2]
    jvms: list[Any] = []

    def make_java(brokers: Any, prefix: str) -> JavaPacker:
        if not jvms or jvms[-1].servers != brokers.bootstrap_servers:
            jvms.append(java(brokers.bootstrap_servers))
        return JavaPacker(jvms[-1], prefix)

    with tempfile.TemporaryDirectory() as home, apache(jars, Path(home) / "kafka", level=2) as kafka:
        place = Apache(kafka.servers, f"Apache Kafka {release}, transaction.version=2, through `kafkalab tap`")
        place.warm_up()
        show(place, {**clients, f"Java {release}": make_java})
        for jvm in jvms:
            jvm.close()


def main() -> None:
    """Show it on the lab's broker and, given a Kafka's jars, on that Kafka."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jars", type=Path, help="a folder with the jars of Apache Kafka's broker")
    jars, clients, began = parser.parse_args().jars, list_clients(), time.monotonic()
    if jars and not list(jars.glob("kafka-clients-*.jar")):
        parser.error(f"{jars} has no kafka-clients-*.jar: `make oracle` gets Kafka's jars into build/kafka/")
    show(Lab(), clients)
    print(f"{time.monotonic() - began:.0f} s")
    if jars:
        began = time.monotonic()
        show_apache(jars, clients)
        print(f"{time.monotonic() - began:.0f} s")
    sys.stdout.flush()
    os._exit(0)  # a call that never returns keeps its thread


if __name__ == "__main__":
    main()
