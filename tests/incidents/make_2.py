"""Make the incidents on Kafka 2.4.0, 2.5.1 and 2.8.2, with ZooKeeper: `python -m tests.incidents.make_2 [NUMBER …]`."""

from __future__ import annotations

import time

from tests.incidents.make_3 import CLIENT, fill, run_makers, running
from tests.incidents.make_cluster import HOME, JavaClient, pick, save, stderr_in, thin


def make_06() -> None:
    """An application that takes longer for a transaction than its timeout; librdkafka."""
    from confluent_kafka import KafkaException, Producer

    with running("2.8.2", port=29492) as kafka:
        kafka.create("claims", 1)
        log = HOME / "librdkafka.log"
        log.unlink(missing_ok=True)
        settings = {
            "bootstrap.servers": kafka.bootstrap, "transactional.id": "claims-writer-1", "linger.ms": 0,
            "transaction.timeout.ms": 5_000, "debug": "eos", "client.id": "claims-writer",
        }  # fmt: skip
        with stderr_in(log):
            producer = Producer(settings)
            producer.init_transactions(30)
            for pause in (0, 9):
                producer.begin_transaction()
                producer.produce("claims", f"claim-{pause}", key="7731", partition=0)
                producer.flush(10)
                time.sleep(pause)
                try:
                    producer.commit_transaction(20)
                except KafkaException as error:
                    print(error)
            time.sleep(1)
        text = thin(log.read_text(), r"\|(TXNAPI|APIRESULT|IDEMPSTATE)\|", 0)
        save("06_fenced_by_timeout", "claims-writer.log", text)
        words = ("claims-writer-1", "TransactionCoordinator", "claims-0")
        save("06_fenced_by_timeout", "server.log", pick(kafka.read_log(), *words))


def make_12() -> None:
    """An idle producer that its leader has forgotten: the broker was restarted after the producer's expiry."""
    with running("2.4.0", more="transactional.id.expiration.ms=6000\n", port=29592) as kafka:
        kafka.create("thermostats", 1)
        app = JavaClient(kafka, "app", "com.warmhaus.ingest.Uplink")
        app.ask("producer", "p", "enable.idempotence=true", "acks=all", "client.id=uplink", "linger.ms=0")
        for i in range(3):
            app.ask("sync", "p", "thermostats", 0, f"unit-{i}", "21.5")
        time.sleep(10)
        kafka.stop(1)
        kafka.start(1)
        time.sleep(3)
        for i in range(3, 6):
            app.ask("sync", "p", "thermostats", 0, f"unit-{i}", "21.5")
        save("12_forgotten_producer", "uplink.log", pick(app.end(), *CLIENT, "NetworkClient"))


def make_14() -> None:
    """A topic of which every third offset or so is missing for its readers."""
    with running("2.5.1", port=29692) as kafka:
        kafka.create("stock-moves", 1)
        fill(kafka, "stock-moves", 0, "warehouse-1", 5)
        save("14_gaps_in_offsets", "stock-moves-0.dump.txt", kafka.dump("stock-moves-0", "--print-data-log"))


if __name__ == "__main__":
    run_makers(globals())
