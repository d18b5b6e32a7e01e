"""Make the incidents on Kafka 4.1.1, 4.3.1 and 4.4.0: `python -m tests.incidents.make_4 [NUMBER …]`."""

from __future__ import annotations

import struct
import threading
import time
from contextlib import suppress
from typing import Any

from tests.incidents.make_3 import fill, run_makers, running, shell
from tests.incidents.make_cluster import HOME, Cluster, JavaClient, RawProducer, pick, save, stderr_in, tap, thin
from tests.kafka.batches import batch_bytes, record_bytes

GROUPS = "kafka-consumer-groups.sh --bootstrap-server kafka-1.prod.internal:9092 --describe --group"
TRANSACTIONS = "kafka-transactions.sh --bootstrap-server kafka-1.prod.internal:9092"


def make_02() -> None:
    """A commit while the only replica of one partition is down: its marker is skipped (KAFKA-20734)."""
    with running("4.3.1", 2, port=29792) as kafka:
        kafka.create("balances", 1, (1,))
        for node in (1, 2):
            kafka.ask("FindCoordinator", 1, node, Key="balance-writer-0", KeyType=1)
        time.sleep(3)
        kafka.ask("Metadata", 8, 1, Topics=None)
        kafka.create("audit", 1, (2,))
        names = [f"balance-writer-{i}" for i in range(20)]
        found = {n: kafka.ask("FindCoordinator", 1, Key=n, KeyType=1)["NodeId"] for n in names}
        name = next(n for n, node in found.items() if node == 1)
        app = JavaClient(kafka, "app", "com.example.Balances")
        app.ask("producer", "p", f"transactional.id={name}", "linger.ms=0")
        app.ask("init", "p")
        app.ask("begin", "p")
        app.ask("sync", "p", "balances", 0, "acct-4711", "-250.00")
        app.ask("sync", "p", "audit", 0, "acct-4711", "debit 250.00")
        kafka.stop(2, kill=True)
        time.sleep(12)
        print(app.ask("commit", "p"))
        time.sleep(2)
        kafka.start(2)
        time.sleep(6)
        for _ in range(2):
            app.ask("begin", "p")
            app.ask("sync", "p", "balances", 0, "acct-4711", "10.00")
            app.ask("commit", "p")
        app.end()
        describe = ("describe", "--transactional-id", name)
        producers = ("describe-producers", "--topic", "audit", "--partition", "0")
        steps = ((f"{TRANSACTIONS} {' '.join(c)}", kafka.tool("transactions", *c)) for c in (describe, producers))
        text = shell(*steps)
        save("02_marker_skipped", "terminal.txt", text)
        words = (name, "likely deleted", "audit-0", "fenced", "leader endpoint", "TransactionMarkerChannelManager")
        save("02_marker_skipped", "kafka-1.log", pick(kafka.read_log(1), *words))


def make_04() -> None:
    """A reader that stands still at an open transaction; the paste does not show which one, or whether it hangs."""
    with running("4.1.1", port=29892) as kafka:
        kafka.create("deliveries", 2)
        for partition in (0, 1):
            fill(kafka, "deliveries", partition, f"planner-{partition}", 3)
        held = RawProducer(kafka, "planner-9", 900_000)
        held.add("deliveries", 1)
        held.produce("deliveries", 1, ("route-12", "planned"))
        reader = JavaClient(kafka, "reader", "com.example.Tracker")
        reader.ask("consumer", "c", "group.id=tracker", "isolation.level=read_committed", "client.id=tracker-0",
                   "auto.offset.reset=earliest", "auto.commit.interval.ms=500")  # fmt: skip
        reader.ask("subscribe", "c", "deliveries")
        texts = []
        reader.ask("poll", "c", 6_000)
        for round_ in range(3):
            for partition in (0, 1):
                fill(kafka, "deliveries", partition, f"planner-{partition}", 2 + round_)
            reader.ask("poll", "c", 3_000)
            texts.append((f"{GROUPS} tracker", kafka.tool("groups", "--describe", "--group", "tracker")))
        save("04_stuck_reader", "tracker.txt", shell(*texts))
        reader.end()


def make_16() -> None:
    """A sink that keeps its position in its own table and restarts from an old one; the group's is another."""
    with running("4.1.1", port=29892) as kafka:
        kafka.create("meter-events", 2)
        for partition in (0, 1):
            fill(kafka, "meter-events", partition, f"gateway-{partition}", 6)
        sink = JavaClient(kafka, "sink", "com.lakehouse.sink.MeterEventsSinkTask")
        settings = ("group.id=connect-meter-events-sink", "isolation.level=read_committed", "enable.auto.commit=false",
                    "client.id=connector-consumer-meter-events-sink-0", "auto.offset.reset=earliest")  # fmt: skip
        sink.ask("consumer", "c", *settings)
        sink.ask("subscribe", "c", "meter-events")
        sink.ask("poll", "c", 6_000)
        sink.ask("log", "flushed 20 rows, table snapshot 8812 written")
        sink.ask("commitread", "c")
        sink.ask("log", "task is stopping")
        time.sleep(1)
        sink.end(kill=True)
        first = sink.log.read_text()
        sink = JavaClient(kafka, "sink2", "com.lakehouse.sink.MeterEventsSinkTask")
        sink.ask("log", "task starts, positions are read from the last table snapshot")
        sink.ask("consumer", "c", *settings[2:], "group.id=connect-meter-events-sink")
        for partition, offset in ((0, 14), (1, 9)):
            sink.ask("assign", "c", "meter-events", partition)
            sink.ask("seek", "c", "meter-events", partition, offset)
            sink.ask("poll", "c", 2_000)
        words = ("MeterEventsSinkTask", "Seeking", "Subscribed", "Resetting", "offset", "Assigned", "assigned")
        save("16_position_elsewhere", "connect.log", pick(first + sink.end(), *words))
        text = kafka.tool("groups", "--describe", "--group", "connect-meter-events-sink")
        save("16_position_elsewhere", "group.txt", shell((f"{GROUPS} connect-meter-events-sink", text)))


def librdkafka(kafka: Cluster, servers: str, name: str, **more: Any) -> Any:
    """Return a transactional producer of librdkafka that gives a request up after a second."""
    from confluent_kafka import Producer

    return Producer({
        "bootstrap.servers": servers, "transactional.id": name, "linger.ms": 0, "socket.timeout.ms": 1_000,
        "client.id": name, **more,
    })  # fmt: skip


def write(producer: Any, topic: str, partition: int, key: str, value: str) -> None:
    """Write a record and wait for its answer."""
    producer.produce(topic, value, key=key, partition=partition)
    producer.flush(10)


def make_09() -> None:
    """An EndTxn that is given up arrives in the next transaction and commits one half of it."""
    log = HOME / "librdkafka.log"
    log.unlink(missing_ok=True)
    with running("4.3.1", port=29792) as kafka, tap(kafka, "Delay:EndTxn#2:4000") as door:
        kafka.create("transfers", 2)
        with stderr_in(log):
            producer = librdkafka(kafka, door, "transfer-desk-2", debug="eos")
            producer.init_transactions(20)
            for number in (1, 2):
                producer.begin_transaction()
                write(producer, "transfers", 0, f"t-{number}", "debit  acct-10")
                write(producer, "transfers", 1, f"t-{number}", "credit acct-77")
                producer.commit_transaction(20)
            producer.begin_transaction()
            write(producer, "transfers", 0, "t-3", "debit  acct-12")
            time.sleep(5)
            write(producer, "transfers", 1, "t-3", "credit acct-80")
            producer.abort_transaction(20)
            time.sleep(1)
        save("09_torn_transfer", "transfer-desk.log", thin(log.read_text(), r"\|(APIRESULT|IDEMPSTATE)\|", 0))
        halves = [kafka.dump(f"transfers-{p}", "--print-data-log") for p in (0, 1)]
        save("09_torn_transfer", "transfers.dump.txt", "\n\n".join(halves))
        dumps = [kafka.dump(f"__transaction_state-{i}", "--transaction-log-decoder") for i in range(5)]
        save("09_torn_transfer", "state.dump.txt", next(text for text in dumps if "transfer-desk" in text))


def make_10() -> None:
    """A TxnOffsetCommit that is given up arrives in the next transaction, and its older offset wins."""
    from confluent_kafka import Consumer

    log = HOME / "librdkafka.log"
    log.unlink(missing_ok=True)
    faults = ("Delay:TxnOffsetCommit#2:3500", "Delay:EndTxn#3:1900")
    with running("4.4.0", port=29992) as kafka, tap(kafka, *faults) as door:
        kafka.create("rides", 1)
        kafka.create("fares", 1)
        rides = RawProducer(kafka, "dispatch")
        for i in range(4):
            rides.add("rides", 0)
            rides.produce("rides", 0, (f"ride-{i}", "12.40"))
            rides.end(commit=True)

        def work(name: str, limit: int) -> None:
            consumer = Consumer({
                "bootstrap.servers": kafka.bootstrap, "group.id": "fare-engine", "auto.offset.reset": "earliest",
                "enable.auto.commit": False, "isolation.level": "read_committed",
            })  # fmt: skip
            producer = librdkafka(kafka, door, "fare-engine-0", **{"socket.timeout.ms": 2_000, "debug": "eos"})
            producer.init_transactions(20)
            consumer.subscribe(["rides"])
            for _ in range(limit):
                message = consumer.poll(8)
                if message is None:
                    break
                producer.begin_transaction()
                write(producer, "fares", 0, (message.key() or b"").decode(), "charged")
                with suppress(Exception):
                    producer.send_offsets_to_transaction(
                        consumer.position(consumer.assignment()), consumer.consumer_group_metadata(), 15
                    )
                producer.commit_transaction(20)
            consumer.close()

        with stderr_in(log):
            work("first", 3)
            work("second", 9)
        save("10_charged_twice", "fares-0.dump.txt", kafka.dump("fares-0", "--print-data-log"))
        dumps = [kafka.dump(f"__consumer_offsets-{i}", "--offsets-decoder") for i in range(5)]
        save("10_charged_twice", "offsets.dump.txt", next(text for text in dumps if "fare-engine" in text))


def make_18() -> None:
    """A coordinator that reads a long log before it answers: the log holds one batch of states many times."""
    log = HOME / "librdkafka.log"
    log.unlink(missing_ok=True)
    with running("4.4.0", more="transaction.state.log.num.partitions=1\n", port=29992) as kafka:
        kafka.create("trades", 1)
        RawProducer(kafka, "trade-gate-0")
        now = int(time.time() * 1000)
        rows = []
        for i in range(9_000):
            name = f"batch-{i:06}".encode()
            key = struct.pack(">hh", 0, len(name)) + name
            value = struct.pack(">hqhibiqq", 0, 7_000_000 + i, 0, 60_000, 0, -1, now, -1)
            rows.append(record_bytes(value, i, key))
        batch = batch_bytes(b"".join(rows), len(rows), now)
        data = [{"Name": "__transaction_state", "PartitionData": [{"Index": 0, "Records": batch}]}]
        for _ in range(500):
            kafka.ask("Produce", 7, TransactionalId=None, Acks=-1, TimeoutMs=30_000, TopicData=data)
        kafka.stop(1)
        with stderr_in(log):
            producer = librdkafka(kafka, kafka.bootstrap, "trade-gate-0", **{"socket.timeout.ms": 10_000})

            def begin() -> None:
                producer.init_transactions(60)

            thread = threading.Thread(target=begin)
            thread.start()
            kafka.start(1)
            thread.join()
        words = ("Transaction State Manager", "TransactionCoordinator id", "GroupCoordinator", "Server started")
        text = pick(kafka.read_log(), *words)
        save("18_coordinator_loads", "server.log", text[text.index("Shutting down") - 80 :].partition("\n")[2])
        save("18_coordinator_loads", "trade-gate.log", thin(log.read_text(), "Connection refused", 4))


def make_20() -> None:
    """A timeout above the brokers' maximum."""
    with running("4.4.0", port=29992) as kafka:
        app = JavaClient(kafka, "app", "com.shopfloor.stream.OrderSink")
        app.ask("producer", "p", "transactional.id=order-sink-0", "transaction.timeout.ms=3600000", "client.id=sink")
        app.ask("init", "p")
        save("20_timeout_too_large", "order-sink.log", app.end())


if __name__ == "__main__":
    run_makers(globals())
