"""Bad cells again on a running Apache Kafka: the same application, and a tap that does the same to the same frame.

Where the lab's broker crashes, the tap closes all connections at the frame and refuses new ones for as long: a Kafka
that is killed needs longer to start than the lab's broker is down. What the broker has in memory is not lost.
"""

from __future__ import annotations

import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from kafkalab import Tap
from kafkalab.faults.fault import Fault
from kafkalab.faults.frame import Drop
from kafkalab.faults.request import CrashAt
from kafkalab.trace import Trace
from kafkalab.wire.live import fault_of
from kafkalab.wire.tap.proxy import TapError
from tests.kafka.running_kafka import RunningKafka
from tests.scorecard.cells import BAD, DIES, HANGS, Observed, Row, amend_row, decide, judge, newest, read_rows
from tests.scorecard.processor import GROUP, ID, SOURCE, TARGET
from tests.scorecard.running import FULL, Run, processor_of, seen_by

FIRST_PORT = 29_392
"""Below the ports that the system gives to outgoing connections, and no other test's."""
BEGIN_S, SETTLE_S, CRASHES_S = 60.0, 2.0, 60.0
HANG_RUNS = 2
Say = Callable[[str], object]


class Kafka:
    """One broker of Apache Kafka at level 2, from the jars in a folder. ValueError for a folder without them."""

    def __init__(self, jars: Path, home: Path) -> None:
        found = sorted(jars.glob("kafka-clients-*.jar"))
        if not found:
            raise ValueError(f"{jars} has no kafka-clients-*.jar: `make oracle` gets Kafka's jars into build/kafka/")
        self.release = found[0].stem.rpartition("-")[2]
        self.node = RunningKafka(jars.resolve(), home, first_port=FIRST_PORT)
        self.servers = f"127.0.0.1:{FIRST_PORT}"

    def __enter__(self) -> Kafka:
        self.node.format(2)
        self.node.start()
        try:
            self._warm_up()
        except BaseException:
            self.node.stop_all()
            raise
        return self

    def _warm_up(self) -> None:
        """Let the brokers create their internal topics, which takes longer than a client's patience."""
        producer = Producer({"bootstrap.servers": self.servers, "transactional.id": "first"})
        producer.init_transactions(BEGIN_S)
        consumer, until = Consumer({"bootstrap.servers": self.servers, "group.id": "first"}), time.monotonic() + BEGIN_S
        while not _has_coordinator(consumer) and time.monotonic() < until:
            time.sleep(1)
        consumer.close()

    def __exit__(self, *error: object) -> None:
        self.node.stop_all()


def _has_coordinator(consumer: Consumer) -> bool:
    try:
        consumer.committed([TopicPartition("first", 0)], BEGIN_S)
    except KafkaException:
        return False
    return True


class TappedKafka:
    """The brokers of one run: topics of its own, whose names begin with `prefix`, and a tap of its own."""

    def __init__(self, kafka: Kafka, prefix: str) -> None:
        self.kafka, self.prefix = kafka, prefix
        servers: dict[str, str | int | float | bool] = {"bootstrap.servers": kafka.servers}
        topics = [prefix + name for name in (SOURCE, TARGET)]
        admin = AdminClient(servers)
        for made in admin.create_topics([NewTopic(name, 1, 1) for name in topics]).values():
            made.result(BEGIN_S)
        quiet: dict[str, str | int | float | bool] = {"enable.auto.commit": False, "isolation.level": "read_committed"}
        self.reader = Consumer({**servers, **quiet, "group.id": prefix + GROUP})
        self.reader.assign([TopicPartition(name, 0, OFFSET_BEGINNING) for name in topics])
        self.found: dict[str, dict[int, str | None]] = {name: {} for name in topics}  # by topic and offset
        self.tap = Tap(kafka.servers, faults=True)
        self.crashed = threading.Event()
        self.crasher: threading.Thread | None = None

    @property
    def bootstrap_servers(self) -> str:
        return self.tap.bootstrap_servers

    @property
    def trace(self) -> Trace:
        return self.tap.run.trace

    def advance(self, ms: int) -> None:
        """Wait: nobody moves the clocks of Apache Kafka."""
        time.sleep(ms / 1000)

    def leader_of(self, partition: str) -> str:
        """Return the only broker."""
        return "b1"

    def values(self, topic: str, isolation_level: str = "read_committed") -> list[str | None]:
        """Return the committed values of a topic by now; the inputs are of no transaction."""
        while (message := self.reader.poll(0)) is not None:
            if message.error() is None:
                value = message.value()
                self.found[str(message.topic())][message.offset() or 0] = None if value is None else value.decode()
        return list(self.found[topic].values())

    def find_committed(self) -> int:
        """Return the group's committed offset, 0 if it has none."""
        place = TopicPartition(self.prefix + SOURCE, 0)
        return max(0, int(self.reader.committed([place], BEGIN_S)[0].offset))

    def strike(self, fault: Fault) -> None:
        """Do this when its frame comes. At a crash the frame is lost, and with it all connections."""
        if not isinstance(fault, CrashAt):
            self.tap.strike(fault)  # type: ignore[arg-type]
            return
        self.tap.gate.when_struck = lambda _: self.crashed.set()
        self.tap.strike(Drop(_response_of(fault.frame) if fault.handled else fault.frame))
        self.crasher = threading.Thread(target=self._crash, args=(fault.down_ms,), daemon=True)
        self.crasher.start()

    def _crash(self, down_ms: int) -> None:
        if self.crashed.wait(CRASHES_S):
            self.tap.refuse()
            time.sleep(down_ms / 1000)
            self.tap.accept()

    def close(self) -> None:
        """Close the tap, when a crash is over."""
        if self.crasher is not None and self.crashed.is_set():
            self.crasher.join()
        self.tap.close()
        self.reader.close()


def _response_of(frame: str) -> str:
    api, _, number = frame.rpartition("#")
    return f"{api}Response#{number}"


def run_on_kafka(kafka: Kafka, client: str, fault: str, prefix: str) -> Observed:
    """Run the application on Apache Kafka under a fault; return what its topics and the group's offset show."""
    with _brokers(kafka, prefix) as brokers, tempfile.TemporaryDirectory() as folder:
        # a producer's default client id in Java has the transactional id
        brokers.strike(fault_of(fault.replace(f"producer-{ID}", f"producer-{prefix}{ID}")))
        run = Run(brokers, processor_of(client), Path(folder) / "application.log", prefix=prefix)
        finished = run.follow(FULL)
        time.sleep(SETTLE_S)
        count, offset = Counter(brokers.values(prefix + TARGET)), brokers.find_committed()
        lost = tuple(value for value in run.inputs[:offset] if not count[value])
        duplicated = tuple(value for value in run.inputs if count[value] > 1)
        seen = seen_by(run, finished, brokers.tap.unused_faults)
        if (inputs := brokers.values(prefix + SOURCE)) != run.inputs:
            return Observed(**seen, broken=f"the inputs in the log are {inputs}, not {run.inputs}")
        return Observed(**seen, duplicated=duplicated, lost=lost)


@contextmanager
def _brokers(kafka: Kafka, prefix: str) -> Iterator[TappedKafka]:
    brokers = TappedKafka(kafka, prefix)
    try:
        yield brokers
    finally:
        brokers.close()


def compare(kafka: Kafka, row: Row, prefix: str, run: Callable[..., Observed] = run_on_kafka) -> str:
    """Return in words whether Apache Kafka shows the cell, too; a cell that hangs is run twice."""
    where = f"Apache Kafka {kafka.release}"
    seen: list[Observed] = []
    for turn in range(HANG_RUNS):
        seen.append(run(kafka, row.client, row.fault, f"{prefix}-{turn}-"))
        if judge(seen[-1])[0] != HANGS:
            break
    cell, note = decide(seen, HANG_RUNS)
    if cell == row.cell:
        return f"the same on {where}"
    return f"not the same on {where}: {cell}" + (f" ({note})" if note else "")


def is_tried(row: Row) -> bool:
    """Return True for a cell that Apache Kafka is to confirm: a bad one or a death, with one broker of level 2."""
    return row.cell in (*BAD, DIES) and row.setting[1:] == (1, 2)


def repeat(path: Path, jars: Path, clients: Sequence[str], jobs: int, seconds: float, say: Say) -> None:
    """Run each bad cell of these clients on Apache Kafka, and write into its row whether that shows the same.

    No cell is begun after `seconds`. A cell that cannot be run, as when a topic is not created, is left for the next
    call.
    """
    until = time.monotonic() + seconds
    rows = [row for row in newest(read_rows(path)) if row.client in clients and is_tried(row) and not row.kafka]
    rows.sort(key=lambda row: row.cell == DIES)
    with (
        tempfile.TemporaryDirectory() as home,
        Kafka(jars, Path(home) / "kafka") as kafka,
        ThreadPoolExecutor(jobs) as pool,
    ):

        def fill(row: Row) -> Row | None:
            if time.monotonic() > until:
                return None
            return replace(row, kafka=compare(kafka, row, f"r{time.monotonic_ns()}"))

        for done in as_completed([pool.submit(fill, row) for row in rows]):
            try:
                row = done.result()
            except (KafkaException, OSError, TapError, ValueError) as error:
                say(f"a cell could not be run: {error}")
                continue
            if row is not None:
                row = amend_row(path, row, kafka=row.kafka)
                say(f"{row.setting}: {row.fault}: {row.cell}: {row.kafka}")
