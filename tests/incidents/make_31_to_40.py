"""Make the incidents 31 to 40: `python -m tests.incidents.make_31_to_40 [NUMBER …]`; each maker names its version."""

from __future__ import annotations

import struct
import time

from tests.incidents.make_3 import CLIENT, HOUR_MS, fill, run_makers, running, shell
from tests.incidents.make_21_to_30 import run_tool
from tests.incidents.make_cluster import Cluster, JavaClient, RawProducer, pick, save, tap
from tests.kafka.batches import batch_bytes, record_bytes


def make_31() -> None:
    """A commit whose answer comes later than the application waits for it."""
    with running("4.3.1", port=29792) as kafka, tap(kafka, "Delay:EndTxnResponse#2:25000") as door:
        kafka.create("refunds", 1)
        app = JavaClient(kafka, "app", "com.kaufhof.refund.Worker")
        settings = (f"bootstrap.servers={door}", "transactional.id=refund-worker-2", "client.id=refunds",
                    "max.block.ms=8000", "linger.ms=0")  # fmt: skip
        app.ask("producer", "p", *settings)
        app.ask("init", "p")
        for number in (1, 2):
            app.ask("begin", "p")
            app.ask("sync", "p", "refunds", 0, f"r-{number}", "19.90")
            app.ask("commit", "p")
        app.ask("log", "commit of batch r-2 failed, is it written?")
        save("31_commit_timed_out", "refunds.log", pick(app.end(kill=True), *CLIENT))


def make_32() -> None:
    """A write is refused for its epoch, after a pause; the log of the client does not say why."""
    with running("3.3.2", port=29092) as kafka:
        kafka.create("seat-maps", 1)
        app = JavaClient(kafka, "app", "com.cineplex.seats.Publisher")
        settings = ("transactional.id=seat-maps-4", "client.id=seats", "linger.ms=0", "transaction.timeout.ms=4000")
        app.ask("producer", "p", *settings)
        app.ask("init", "p")
        app.ask("begin", "p")
        app.ask("sync", "p", "seat-maps", 0, "hall-3", "A1")
        time.sleep(8)
        app.ask("sync", "p", "seat-maps", 0, "hall-3", "A2")
        save("32_old_epoch", "seats.log", pick(app.end(), *CLIENT))


def write_state(kafka: Cluster, name: str, producer: RawProducer, topic: str, start_ms: int, timeout_ms: int) -> None:
    """Write an Ongoing state with a start time of before into the log of the one coordinator partition."""
    key = struct.pack(">hh", 0, len(name)) + name.encode()
    identity = (producer.identity["ProducerId"], producer.identity["ProducerEpoch"])
    value = struct.pack(">hqhib", 0, *identity, timeout_ms, 1)
    value += struct.pack(">ih", 1, len(topic)) + topic.encode() + struct.pack(">ii", 1, 0)
    value += struct.pack(">qq", start_ms, start_ms)
    batch = batch_bytes(record_bytes(value, 0, key), 1, start_ms)
    data = [{"Name": "__transaction_state", "PartitionData": [{"Index": 0, "Records": batch}]}]
    done = kafka.ask("Produce", 7, TransactionalId=None, Acks=-1, TimeoutMs=30_000, TopicData=data)
    assert done["Responses"][0]["PartitionResponses"][0]["ErrorCode"] == 0, done


def make_33() -> None:
    """A transaction of five hours whose producer has asked for a timeout of twelve."""
    more = "transaction.state.log.num.partitions=1\ntransaction.max.timeout.ms=86400000\n"
    with running("4.1.1", more=more, port=29892) as kafka:
        kafka.create("ledger-export", 1)
        fill(kafka, "ledger-export", 0, "export-daily", 2, ago_ms=6 * HOUR_MS)
        long = RawProducer(kafka, "export-yearly", 12 * HOUR_MS)
        long.add("ledger-export", 0)
        long.produce("ledger-export", 0, ("2024", "page 1"), ago_ms=5 * HOUR_MS)
        write_state(kafka, long.name, long, "ledger-export", int(time.time() * 1000) - 5 * HOUR_MS, 12 * HOUR_MS)
        kafka.stop(1)
        kafka.start(1)
        time.sleep(3)
        text = shell(
            run_tool(kafka, "transactions", "find-hanging", "--broker-id", "1"),
            run_tool(kafka, "transactions", "list"),
            run_tool(kafka, "transactions", "describe", "--transactional-id", long.name),
        )
        save("33_open_for_hours", "terminal.txt", text)


def make_34() -> None:
    """An operator aborts a transaction in one partition while its producer lives and commits it."""
    with running("3.6.2", port=29192) as kafka:
        kafka.create("stock-transfers", 2)
        for partition in (0, 1):
            fill(kafka, "stock-transfers", partition, f"depot-{partition}", 2)
        long = RawProducer(kafka, "transfer-planner", 600_000)
        long.add("stock-transfers", 0, 1)
        long.produce("stock-transfers", 0, ("move-51", "depot A -40"))
        long.produce("stock-transfers", 1, ("move-51", "depot B +40"))
        time.sleep(1)
        producers = run_tool(
            kafka, "transactions", "describe-producers", "--topic", "stock-transfers", "--partition", "0"
        )
        print(producers[1])
        start = producers[1].split()[-1]
        options = ("--topic", "stock-transfers", "--partition", "0", "--start-offset", start)
        text = shell(producers, run_tool(kafka, "transactions", "abort", *options))
        time.sleep(1)
        print(long.end(commit=True))
        time.sleep(1)
        text += "\n" + shell(run_tool(kafka, "transactions", "describe", "--transactional-id", long.name))
        save("34_aborted_by_hand", "terminal.txt", text)
        dumps = [kafka.dump(f"stock-transfers-{p}", "--print-data-log") for p in (0, 1)]
        save("34_aborted_by_hand", "stock-transfers.dump.txt", "\n\n".join(dumps))


def make_35() -> None:
    """A topic is deleted in a transaction; its commit succeeds."""
    with running("3.8.1", port=29692) as kafka:
        kafka.create("invoices", 1)
        kafka.create("invoice-drafts", 1)
        writer = RawProducer(kafka, "invoice-run-7")
        writer.add("invoices", 0)
        writer.add("invoice-drafts", 0)
        writer.produce("invoices", 0, ("inv-90", "final"))
        writer.produce("invoice-drafts", 0, ("inv-90", "draft"))
        print(kafka.tool("topics", "--delete", "--topic", "invoice-drafts"))
        time.sleep(5)
        print(writer.end(commit=True))
        time.sleep(2)
        words = ("Kafka version", "invoice-drafts", "invoice-run-7", "likely deleted", "TransactionMarkerChannel")
        save("35_deleted_topic", "server.log", pick(kafka.read_log(), *words))


def make_36() -> None:
    """A batch after its abort, on a Kafka that has no kafka-transactions.sh: two dumps are all there is."""
    with running("2.8.2", port=29492) as kafka:
        kafka.create("tolls", 1)
        fill(kafka, "tolls", 0, "gantry-1", 2)
        late = RawProducer(kafka, "gantry-9")
        for number, commit in ((1, True), (2, False)):
            late.add("tolls", 0)
            late.produce("tolls", 0, (f"pass-{number}", "car"), (f"pass-{number}", "1.20"))
            late.end(commit)
        time.sleep(1)
        assert late.produce("tolls", 0, ("pass-2", "receipt")) == 0
        fill(kafka, "tolls", 0, "gantry-1", 3)
        save("36_hanging_in_2_8", "tolls-0.dump.txt", kafka.dump("tolls-0", "--print-data-log"))
        dumps = [kafka.dump(f"__transaction_state-{i}", "--transaction-log-decoder") for i in range(5)]
        save("36_hanging_in_2_8", "state.dump.txt", next(text for text in dumps if "gantry-9" in text))


def make_37() -> None:
    """A producer with acks=1, which turns idempotence off; no broker is asked for that."""
    kafka = Cluster("3.3.2", port=29092)
    app = JavaClient(kafka, "app", "com.brotzeit.orders.Outbox")
    app.ask("log", "orders outbox 4.2.0 starts, delivery: exactly once (Kafka default)")
    app.ask("producer", "p", "client.id=orders-outbox", "acks=1")
    save("37_idempotence_is_off", "outbox.log", app.end(kill=True))


def make_38() -> None:
    """A service that begins a transaction before initTransactions(); the client asks no broker for that."""
    kafka = Cluster("3.9.1", port=29292)
    app = JavaClient(kafka, "app", "com.kantine.menu.Service")
    app.ask("producer", "p", "transactional.id=menu-service-0", "client.id=menus", "linger.ms=0")
    app.ask("log", "job weekly-menu starts")
    app.ask("begin", "p")
    app.ask("log", "job weekly-menu failed, next try in 1 min")
    save("38_begin_before_init", "menus.log", pick(app.end(kill=True), *CLIENT, "Service"))


def make_39() -> None:
    """A Flink job that was down for longer than the timeout of the transaction that its checkpoint holds."""
    flink = (
        "Unable to commit transaction (org.apache.flink.streaming.runtime.operators.sink.committables."
        "CommitRequestImpl@5d1e6b0a) because its producer is already fenced. This means that you either have a "
        "different producer with the same 'transactional.id' (this is unlikely with the 'KafkaSink' as all generated "
        "ids are unique and shouldn't be reused) or recovery took longer than 'transaction.timeout.ms' (6000ms). In "
        "both cases this most likely signals data loss, please consult the Flink documentation for more details."
    )
    with running("3.9.1", port=29292) as kafka:
        kafka.create("trips", 1)
        app = JavaClient(kafka, "app", "org.apache.flink.connector.kafka.sink.KafkaCommitter")
        name = "trip-sink-0-1-88"
        app.ask("producer", "p", f"transactional.id={name}", "client.id=trip-sink", "transaction.timeout.ms=6000")
        app.ask("init", "p")
        app.ask("begin", "p")
        for number in range(3):
            app.ask("sync", "p", "trips", 0, f"taxi-{number}", "8.70")
        time.sleep(11)
        app.ask("commit", "p")
        app.ask("error", flink)
        text = app.end()
        save("39_flink_was_down", "taskmanager.log", pick(text, *CLIENT))
        save("39_flink_was_down", "server.log", pick(kafka.read_log(), name))


def make_40() -> None:
    """The same record twice from one idempotent producer: nobody retried below the application."""
    with running("4.4.0", port=29992) as kafka:
        kafka.create("donations", 1)
        app = JavaClient(kafka, "app", "com.spendenhaus.Collector")
        app.ask("producer", "p", "client.id=collector", "linger.ms=0")
        for key in ("d-100", "d-101", "d-102", "d-101", "d-103"):
            app.ask("sync", "p", "donations", 0, key, "25.00 EUR")
        app.end()
        save("40_same_record_twice", "donations-0.dump.txt", kafka.dump("donations-0", "--print-data-log"))


if __name__ == "__main__":
    run_makers(globals())
