"""Make the incidents 21 to 30: `python -m tests.incidents.make_21_to_30 [NUMBER …]`; each maker names its version."""

from __future__ import annotations

import threading
import time
from typing import Any

from tests.incidents.make_3 import CLIENT, interleave, run_makers, running, shell
from tests.incidents.make_cluster import (
    HOME,
    Cluster,
    JavaClient,
    RawProducer,
    pick,
    save,
    stderr_in,
    thin,
    wait_for,
)

TRANSACTIONS = "kafka-transactions.sh --bootstrap-server kafka-1.prod.internal:9092"
TOPICS = "kafka-topics.sh --bootstrap-server kafka-1.prod.internal:9092"


def librdkafka(kafka: Cluster, name: str, **more: Any) -> Any:
    """Return a transactional producer of librdkafka."""
    from confluent_kafka import Producer

    return Producer({"bootstrap.servers": kafka.bootstrap, "transactional.id": name, "client.id": name, **more})


def run_tool(kafka: Cluster, tool: str, *args: str) -> tuple[str, str]:
    """Return a command of a tool, as it stands in a terminal, and what it prints."""
    return f"{ {'transactions': TRANSACTIONS, 'topics': TOPICS}[tool] } {' '.join(args)}", kafka.tool(tool, *args)


def make_21() -> None:
    """A Streams application that is away from poll() for longer than it may be."""
    with running("3.7.2", port=29192) as kafka:
        kafka.create("parcels", 1)
        kafka.create("priced-parcels", 1)
        feed = RawProducer(kafka, "feed")
        feed.add("parcels", 0)
        feed.produce("parcels", 0, ("p-1", "2 kg"), ("p-2", "11 kg"), ("slow", "p-3"), ("p-4", "1 kg"))
        feed.end(commit=True)
        app = JavaClient(kafka, "app", "com.paketwerk.pricing.Pricer", program="StreamsApp")
        wait_for(lambda: "being fenced" in app.log.read_text(), 120)
        time.sleep(6)
        words = ("Kafka version", "WARN", "ERROR", "Exception", r"^\tat ", "Pricer", "poll timeout", "LeaveGroup")
        text = pick(app.end(kill=True), *words)
        save("21_streams_away", "pricing.log", text)


def make_22() -> None:
    """Two pods with one group.instance.id."""
    with running("2.8.2", port=29492) as kafka:
        kafka.create("sensor-feed", 2)
        pods = {}
        settings = ("group.id=feed-archiver", "group.instance.id=archiver-0", "client.id=archiver",
                    "isolation.level=read_committed", "session.timeout.ms=10000")  # fmt: skip
        for name in ("archiver-7d4b-k", "archiver-7d4b-w"):
            pod = pods[name] = JavaClient(kafka, name, "com.windpark.archive.Archiver")
            pod.ask("consumer", "c", *settings)
            pod.ask("subscribe", "c", "sensor-feed")
            pod.send("poll", "c", 25_000)
            time.sleep(7)
        time.sleep(20)
        logs = {name: pick(pod.end(kill=True), *CLIENT, "Coordinator") for name, pod in pods.items()}
        save("22_one_instance_id", "archiver.log", interleave(logs))


def make_23() -> None:
    """A new client, idempotent by default, before a broker that wants IDEMPOTENT_WRITE on the cluster."""
    more = "authorizer.class.name=kafka.security.authorizer.AclAuthorizer\nallow.everyone.if.no.acl.found=true\n"
    with running("2.7.2", more=more, port=29392) as kafka:
        kafka.create("door-events", 1)
        rights = [word for name in ("ClusterAction", "Create", "Alter", "Describe") for word in ("--operation", name)]
        print(kafka.run_java("kafka.admin.AclCommand", "--bootstrap-server", kafka.bootstrap, "--add", "--cluster",
                             "--allow-principal", "User:ANONYMOUS", *rights))  # fmt: skip
        app = JavaClient(kafka, "app", "com.schliesstechnik.gate.Publisher", version="3.3.2")
        app.ask("producer", "p", "client.id=gate-publisher")
        for number in (1, 2):
            app.ask("sync", "p", "door-events", 0, f"door-{number}", "opened")
        save("23_cluster_refused", "gate.log", pick(app.end(), *CLIENT))


SENDER = """\
INFO  [main] AppInfoParser - Kafka version: 3.6.2
WARN  [{thread}] Sender - [{client}] {got} 411 {place}. Error: NOT_ENOUGH_REPLICAS
WARN  [{thread}] Sender - [{client}] {got} 412 {place}. Error: {order}
WARN  [{thread}] Sender - [{client}] {got} 413 {place}. Error: {order}
WARN  [{thread}] Sender - [{client}] {got} 414 {place}. Error: {order}
INFO  [main] Uplink - flush done, 240 of 240 records are acknowledged
"""
"""Message texts of Sender in 3.6.2: a follower comes back between two batches, which no run hits at will."""


def make_24() -> None:
    """A batch is refused and sent again; those after it in flight are out of order, and sent again, too."""
    words = {
        "thread": "kafka-producer-network-thread | cabin-sender", "client": "Producer clientId=cabin-sender",
        "got": "Got error produce response with correlation id",
        "place": "on topic-partition telemetry-0, retrying (2147483646 attempts left)",
        "order": "OUT_OF_ORDER_SEQUENCE_NUMBER",
    }  # fmt: skip
    save("24_retried_batches", "cabin-sender.log", SENDER.format(**words))


def make_25() -> None:
    """A new instance that waits until the transaction of the old one is aborted."""
    log = HOME / "librdkafka.log"
    log.unlink(missing_ok=True)
    with running("4.1.1", port=29892) as kafka:
        kafka.create("pick-lists", 400)
        old = RawProducer(kafka, "picker-3", 600_000)
        old.add("pick-lists", *range(400))
        for partition in range(400):
            old.produce("pick-lists", partition, ("list", str(partition)))
        with stderr_in(log):
            producer = librdkafka(kafka, "picker-3", debug="eos")
            producer.init_transactions(30)
            producer.begin_transaction()
            producer.produce("pick-lists", "9", key="list", partition=9)
            producer.commit_transaction(30)
        save("25_new_instance", "picker-3.log", thin(log.read_text(), r"\|(TXNAPI|APIRESULT|ADDPARTS|DRAIN)\|", 0))
        save("25_new_instance", "server.log", pick(kafka.read_log(), "picker-3"))


def make_26() -> None:
    """A producer of the new protocol: each transaction has an epoch of its own."""
    with running("4.0.0", port=29992) as kafka:
        kafka.create("meal-plans", 1)
        app = JavaClient(kafka, "app", "com.kantine.plan.Writer")
        app.ask("producer", "p", "transactional.id=meal-plan-writer", "client.id=plan")
        app.ask("init", "p")
        for day in ("mo", "tu", "we", "th", "fr"):
            app.ask("begin", "p")
            app.ask("sync", "p", "meal-plans", 0, day, "soup")
            app.ask("commit", "p")
        app.end()
        dumps = [kafka.dump(f"__transaction_state-{i}", "--transaction-log-decoder") for i in range(5)]
        save("26_rising_epoch", "state.dump.txt", next(text for text in dumps if "meal-plan" in text))


def make_27() -> None:
    """A reader with Java's default isolation level reads what was aborted."""
    with running("3.0.2", port=29192) as kafka:
        kafka.create("bookings", 1)
        writer = RawProducer(kafka, "booking-desk-1")
        for number, commit in ((1, True), (2, False), (3, True)):
            writer.add("bookings", 0)
            writer.produce("bookings", 0, (f"trip-{number}", "seat 14A"), (f"trip-{number}", "paid"))
            writer.end(commit)
        reader = JavaClient(kafka, "reader", "com.fernbus.mail.Confirmations")
        reader.ask("consumer", "c", "group.id=confirmations", "auto.offset.reset=earliest", "client.id=mailer")
        reader.ask("subscribe", "c", "bookings")
        reader.ask("print", "c", 7_000)
        save("27_mail_for_nothing", "mailer.log", reader.end())
        save("27_mail_for_nothing", "bookings-0.dump.txt", kafka.dump("bookings-0", "--print-data-log"))


def make_28() -> None:
    """A cluster of one broker with the default of three replicas for the state topic."""
    log = HOME / "librdkafka.log"
    log.unlink(missing_ok=True)
    more = "transaction.state.log.replication.factor=3\ntransaction.state.log.min.isr=2\n"
    with running("2.5.1", more=more, port=29692) as kafka:
        with stderr_in(log):
            producer = librdkafka(kafka, "demo-writer", debug="eos")
            try:
                producer.init_transactions(6)
            except Exception as error:
                print(error)
        save("28_one_broker", "demo-writer.log", thin(log.read_text(), r"\|(TXNAPI|APIRESULT|TXNCOORD|PIDBROKER)\|", 6))
        words = ("alive brokers", "__transaction_state", "started", "replication factor")
        save("28_one_broker", "server.log", thin(pick(kafka.read_log(), *words), "alive brokers", 4))


def leave_without_leader(kafka: Cluster, topic: str, name: str, commit: bool) -> RawProducer:
    """End a transaction after the only replica of the topic, on broker 2, is lost; the coordinator is on broker 1."""
    kafka.create(topic, 1, (2,))
    kafka.create("orders", 1, (1,))
    kafka.ask("FindCoordinator", 1, 1, Key=name, KeyType=1)
    time.sleep(3)
    writer = RawProducer(kafka, name, 300_000)
    writer.add("orders", 0)
    writer.add(topic, 0)
    writer.produce("orders", 0, ("o-1", "packed"))
    writer.produce(topic, 0, ("o-1", "packed"), node=2)
    kafka.stop(2, kill=True)
    time.sleep(12)
    threading.Thread(target=writer.end, args=(commit,), daemon=True).start()
    time.sleep(4)
    return writer


def make_29() -> None:
    """A transaction that is decided and cannot be completed: one partition has no leader."""
    with running("3.9.1", 2, "broker.session.timeout.ms=3000\n", port=29292) as kafka:
        kafka.create("warm", 1, (1,))
        names = [f"fulfil-{n}" for n in range(20)]
        kafka.ask("FindCoordinator", 1, 1, Key=names[0], KeyType=1)
        time.sleep(3)
        found = {n: kafka.ask("FindCoordinator", 1, 1, Key=n, KeyType=1)["NodeId"] for n in names}
        name = next(n for n, node in found.items() if node == 1)
        leave_without_leader(kafka, "shelf-labels", name, commit=True)
        text = shell(
            run_tool(kafka, "transactions", "describe", "--transactional-id", name),
            run_tool(kafka, "topics", "--describe", "--topic", "shelf-labels"),
        )
        save("29_no_leader_for_a_marker", "terminal.txt", text)
        words = (name, "TransactionMarkerChannelManager", "leader endpoint", "shelf-labels", "fenced")
        print(pick(kafka.read_log(1), *words))


def make_30() -> None:
    """The same in PrepareAbort, without a word about the partition's leader."""
    with running("3.7.2", 2, "broker.session.timeout.ms=3000\n", port=29392) as kafka:
        names = [f"tax-feed-{n}" for n in range(20)]
        kafka.ask("FindCoordinator", 1, 1, Key=names[0], KeyType=1)
        time.sleep(3)
        found = {n: kafka.ask("FindCoordinator", 1, 1, Key=n, KeyType=1)["NodeId"] for n in names}
        name = next(n for n, node in found.items() if node == 1)
        leave_without_leader(kafka, "tax-codes", name, commit=False)
        app = JavaClient(kafka, "app", "com.kassenwart.tax.Feed")
        settings = (f"transactional.id={name}", "client.id=tax-feed", "max.block.ms=20000")
        app.ask("producer", "p", *settings)
        app.ask("init", "p")
        save("30_prepare_abort", "tax-feed.log", thin(pick(app.end(), *CLIENT), "NetworkClient", 0))
        texts = []
        for _ in range(2):
            texts.append(run_tool(kafka, "transactions", "describe", "--transactional-id", name))
            time.sleep(20)
        save("30_prepare_abort", "terminal.txt", shell(*texts))


if __name__ == "__main__":
    run_makers(globals())
