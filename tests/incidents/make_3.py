"""Make the incidents on Kafka 3.3.2, 3.6.2 and 3.9.1: `python -m tests.incidents.make_3 [NUMBER …]`."""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tests.incidents.make_cluster import Cluster, JavaClient, RawProducer, cut_times, excerpt, pick, save, thin

HOUR_MS = 3_600_000
CLIENT = ("Kafka version", "TransactionManager", "ERROR", "WARN", "Exception", r"^\tat ", r"com\.", "Caused")
"""What is left of a client's log: its configuration is cut."""


@contextmanager
def running(version: str, brokers: int = 1, more: str = "", port: int = 29092) -> Iterator[Cluster]:
    """Start a cluster and end it."""
    cluster = Cluster(version, brokers, port, more)
    try:
        cluster.start()
        yield cluster
    finally:
        cluster.stop_all()


def shell(*commands: tuple[str, str]) -> str:
    """Join commands and what they printed, as they stand in a terminal."""
    return "\n".join(f"$ {command}\n{text.rstrip()}\n" for command, text in commands)


def interleave(logs: dict[str, str]) -> str:
    """Join the logs of several pods by time, each line with its pod's name, as `kubectl logs --prefix` does."""
    entries = []
    for name, text in logs.items():
        for entry in re.split(r"\n(?=\d{4}-)", text):
            entries.append((entry[:23], "\n".join(f"[pod/{name}] {line}" for line in entry.splitlines())))
    return "\n".join(text for _, text in sorted(entries, key=lambda pair: pair[0]))


def fill(cluster: Cluster, topic: str, partition: int, name: str, count: int, ago_ms: int = 0) -> RawProducer:
    """Write `count` committed transactions of two records each."""
    producer = RawProducer(cluster, name)
    for i in range(count):
        producer.add(topic, partition)
        producer.produce(topic, partition, (f"{name}-{i}", "opened"), (f"{name}-{i}", "paid"), ago_ms=ago_ms)
        producer.end(commit=i % 4 != 2)
    return producer


def make_01() -> None:
    """A batch that arrives after its transaction was aborted, on a broker that does not verify."""
    with running("3.3.2", port=29092) as kafka:
        kafka.create("shipments", 2)
        fill(kafka, "shipments", 1, "dispatcher-2", 3, ago_ms=5 * HOUR_MS)
        late = RawProducer(kafka, "dispatcher-7")
        late.add("shipments", 1)
        late.produce("shipments", 1, ("parcel-881", "label"), ("parcel-881", "weight"), ago_ms=5 * HOUR_MS)
        late.end(commit=False)
        time.sleep(1)
        assert late.produce("shipments", 1, ("parcel-881", "handover"), ago_ms=5 * HOUR_MS - 31_000) == 0
        late.add("shipments", 0)
        late.end(commit=True)
        fill(kafka, "shipments", 1, "dispatcher-2", 2, ago_ms=4 * HOUR_MS)
        boot = "kafka-transactions.sh --bootstrap-server kafka-1.prod.internal:9092"
        hanging = kafka.tool("transactions", "find-hanging", "--broker-id", "1")
        producers = kafka.tool("transactions", "describe-producers", "--topic", "shipments", "--partition", "1")
        text = shell(
            (f"{boot} find-hanging --broker-id 1", hanging),
            (f"{boot} describe-producers --topic shipments --partition 1", producers),
        )
        save("01_late_batch", "terminal.txt", text)
        save("01_late_batch", "shipments-1.dump.txt", kafka.dump("shipments-1", "--print-data-log"))


def make_03() -> None:
    """An offset that arrives after its transaction was aborted: nothing verifies those in 3.6."""
    with running("3.6.2", port=29192) as kafka:
        kafka.create("meter-readings", 1)
        kafka.create("tariffs", 1)
        group = "tariff-engine"
        other = RawProducer(kafka, "tariff-engine-1")
        late = RawProducer(kafka, "tariff-engine-0")
        kafka.ask("FindCoordinator", 1, Key=group, KeyType=0)
        for name in ("feed-a", "feed-b"):
            fill(kafka, "meter-readings", 0, name, 4)
        time.sleep(3)
        late.add_offsets(group)
        assert late.commit_offset(group, "meter-readings", 0, 9) == 0
        late.end(commit=True)
        time.sleep(0.5)
        late.add_offsets(group)
        late.end(commit=False)
        time.sleep(0.5)
        assert late.commit_offset(group, "meter-readings", 0, 12) == 0
        for offset in (3, 5):
            other.add_offsets("tariff-report")
            other.commit_offset("tariff-report", "meter-readings", 0, offset)
            other.end(commit=True)
        consumer = JavaClient(kafka, "consumer", "com.gridworks.tariff.Engine")
        consumer.ask(
            "consumer", "c", f"group.id={group}", "isolation.level=read_committed", "enable.auto.commit=false",
            "default.api.timeout.ms=8000",
        )  # fmt: skip
        consumer.ask("subscribe", "c", "meter-readings")
        consumer.send("poll", "c", 15_000)
        time.sleep(22)
        log = consumer.end(kill=True)
        log = thin(pick(log, "ConsumerCoordinator", "ERROR", "^\tat", "Exception"), "unstable offsets", 6)
        save("03_offset_topic", "tariff-engine.log", log)
        dumps = [kafka.dump(f"__consumer_offsets-{i}", "--offsets-decoder") for i in range(5)]
        save("03_offset_topic", "offsets.dump.txt", next(text for text in dumps if group in text))


def make_05() -> None:
    """Two pods with one transactional.id, since the deployment has two replicas."""
    with running("3.6.2", port=29192) as kafka:
        kafka.create("invoices", 1)
        pods = {}
        for name in ("billing-6c9f-a", "billing-6c9f-b"):
            pod = pods[name] = JavaClient(kafka, name, "com.nordlicht.billing.InvoiceWriter")
            pod.ask("producer", "p", "transactional.id=billing-writer", "client.id=billing", "linger.ms=0")
        for turn in range(3):
            for number, pod in enumerate(pods.values()):
                if turn:
                    for step in (("begin", "p"), ("sync", "p", "invoices", 0, f"inv-{turn}{number}", "42.10")):
                        pod.ask(*step)
                    pod.ask("commit", "p")
                    pod.ask("close", "p")
                    pod.ask("log", "producer was fenced, building a new one")
                    pod.ask("producer", "p", "transactional.id=billing-writer", "client.id=billing", "linger.ms=0")
                pod.ask("init", "p")
                time.sleep(1)
        logs = {name: pick(pod.end(), *CLIENT) for name, pod in pods.items()}
        save("05_fenced_deploy", "billing.log", interleave(logs))


def make_07() -> None:
    """A producer whose name the coordinator has forgotten, and an application that never makes a new one."""
    more = "transactional.id.expiration.ms=5000\ntransaction.remove.expired.transaction.cleanup.interval.ms=1000\n"
    with running("3.9.1", port=29292, more=more) as kafka:
        kafka.create("payouts", 1)
        app = JavaClient(kafka, "app", "com.harborpay.payout.Relay")
        app.ask("producer", "p", "transactional.id=payout-relay-4", "client.id=payout-relay")
        app.ask("init", "p")
        app.ask("begin", "p")
        app.ask("sync", "p", "payouts", 0, "po-1", "120.00")
        app.ask("commit", "p")
        time.sleep(14)
        app.ask("begin", "p")
        for _ in range(3):
            app.ask("sync", "p", "payouts", 0, "po-2", "75.50")
            app.ask("commit", "p")
            app.ask("log", "batch po-2 failed, retrying in 1 s")
            time.sleep(1)
        save("07_forgotten_id", "payout-relay.log", cut_times(pick(app.end(), *CLIENT, "Relay")))


def make_08() -> None:
    """A transaction that times out while a Produce request waits for the verification of another partition."""
    with running("3.9.1", port=29292) as kafka:
        kafka.create("meter-totals", 300)
        app = JavaClient(kafka, "app", "com.gridworks.totals.Rollup")
        for n in range(10):
            name = f"rollup-{n}"
            app.ask("producer", name, f"transactional.id={name}", "transaction.timeout.ms=2500", f"client.id={name}",
                    "linger.ms=4", "buffer.memory=8000000")  # fmt: skip
            app.ask("init", name)
            app.ask("begin", name)
            app.ask("burst", name, "meter-totals", 300, 6_000)
        time.sleep(9)
        text = app.end(kill=True)
        print(text.count("InvalidTxnState"), "of ten; run it again if none")
        assert "InvalidTxnState" in text
        words = ("Kafka version", "ERROR", "WARN", "Transiting", "with epoch", "errors")
        save("08_invalid_txn_state", "rollup.log", pick(text, *words))
        save(
            "08_invalid_txn_state", "server.log", pick(kafka.read_log(), "InvalidTxnState", "ReplicaManager", "rollup")
        )


def make_11() -> None:
    """A leader that lacks the last records is elected, and an idempotent producer goes on."""
    more = "replica.lag.time.max.ms=3000\nmin.insync.replicas=1\nbroker.session.timeout.ms=3000\n"
    with running("3.9.1", 3, more, port=29292) as kafka:
        kafka.create("tickets", 1, (1, 2))
        app = JavaClient(kafka, "app", "com.opera.tickets.Sales")
        app.ask("producer", "p", "acks=all", "client.id=sales", "linger.ms=0", "delivery.timeout.ms=60000")
        for i in range(4):
            app.ask("sync", "p", "tickets", 0, f"seat-{i}", "sold")
        time.sleep(2)
        kafka.stop(2)
        time.sleep(2)
        for i in range(4, 9):
            app.ask("sync", "p", "tickets", 0, f"seat-{i}", "sold")
        kafka.stop(1, kill=True)
        time.sleep(1)
        kafka.start(2)
        time.sleep(6)
        for i in range(9, 11):
            app.ask("sync", "p", "tickets", 0, f"seat-{i}", "sold")
        time.sleep(2)
        app.end()
        log = pick(kafka.read_log(2), "tickets-0", "OutOfOrder", "unclean")
        save("11_unclean_election", "kafka-2.log", log)
        (kafka.home / "sales.txt").write_text(app.log.read_text())


def make_13() -> None:
    """A group that has read everything, with a lag of 1 for each partition."""
    with running("3.6.2", port=29192) as kafka:
        kafka.create("claims", 2)
        for partition in (0, 1):
            fill(kafka, "claims", partition, f"intake-{partition}", 4)
        reader = JavaClient(kafka, "reader", "com.alpina.claims.Indexer")
        reader.ask("consumer", "c", "group.id=claims-indexer", "isolation.level=read_committed",
                   "auto.offset.reset=earliest", "enable.auto.commit=false", "client.id=indexer")  # fmt: skip
        reader.ask("subscribe", "c", "claims")
        reader.ask("poll", "c", 6_000)
        reader.ask("commitread", "c")
        text = kafka.tool("groups", "--describe", "--group", "claims-indexer")
        tool = "kafka-consumer-groups.sh --bootstrap-server kafka-1.prod.internal:9092"
        save("13_lag_of_one", "group.txt", shell((f"{tool} --describe --group claims-indexer", text)))
        save("13_lag_of_one", "claims-0.dump.txt", kafka.dump("claims-0", "--print-data-log"))
        reader.end()


def make_15() -> None:
    """A new transactional.id for each transaction."""
    with running("3.6.2", port=29192) as kafka:
        kafka.create("clicks", 3)
        for i in range(140):
            name = f"clickstream-{(i * 2654435761 + 97) % 2**32:08x}-{(i * 40503 + 7) % 2**16:04x}"
            one = RawProducer(kafka, name)
            one.add("clicks", i % 3)
            one.produce("clicks", i % 3, ("session", str(i)))
            if i % 23 != 5:
                one.end(commit=True)
        time.sleep(2)
        text = kafka.tool("transactions", "list")
        boot = "kafka-transactions.sh --bootstrap-server kafka-1.prod.internal:9092"
        save("15_random_ids", "list.txt", shell((f"{boot} list | head -100", "\n".join(text.splitlines()[:100]))))


def make_17() -> None:
    """What a stopped Flink job leaves: a transaction that its checkpoint could still commit."""
    with running("3.9.1", port=29292) as kafka:
        kafka.create("positions", 4)
        for task in range(2):
            for checkpoint in (40, 41, 42):
                one = RawProducer(kafka, f"fleet-sink-{task}-{checkpoint}", 900_000)
                one.add("positions", task, task + 2)
                one.produce("positions", task, ("truck", str(checkpoint)))
                if checkpoint < 42:
                    one.end(commit=True)
        time.sleep(40)
        boot = "kafka-transactions.sh --bootstrap-server kafka-1.prod.internal:9092"
        describe = ("describe", "--transactional-id", "fleet-sink-1-42")
        text = shell(
            (f"{boot} list", kafka.tool("transactions", "list")),
            (f"{boot} {' '.join(describe)}", kafka.tool("transactions", *describe)),
            (f"{boot} find-hanging --broker-id 1", kafka.tool("transactions", "find-hanging", "--broker-id", "1")),
        )
        save("17_stopped_flink_job", "terminal.txt", text)


def make_19() -> None:
    """One of two replicas of __transaction_state is gone, and two are wanted."""
    more = "transaction.state.log.replication.factor=2\ntransaction.state.log.min.isr=2\nreplica.lag.time.max.ms=3000\n"
    with running("3.3.2", 2, more, port=29092) as kafka:
        kafka.create("orders", 2)
        app = JavaClient(kafka, "app", "com.example.Orders")
        app.ask("producer", "p", "transactional.id=order-writer-0", "max.block.ms=15000")
        assert app.ask("init", "p") == "ok"
        app.ask("begin", "p")
        app.ask("sync", "p", "orders", 0, "o-1", "new")
        kafka.stop(2)
        time.sleep(5)
        app.ask("commit", "p")
        time.sleep(1)
        words = ("__transaction_state", "TransactionCoordinator", "Transaction State Manager", "NotEnough")
        text = excerpt(pick(kafka.read_log(1), *words), "insufficient to satisfy", 4, 24)
        save("19_state_log_min_isr", "server.log", cut_times(text))
        app.end()


def run_makers(names: dict[str, Any]) -> None:
    """Make the incidents that the command line names, or all of one module."""
    makers = {name[5:]: maker for name, maker in names.items() if name.startswith("make_")}
    for number in sys.argv[1:] or sorted(makers):
        print(number, flush=True)
        makers[number]()


if __name__ == "__main__":
    run_makers(globals())
