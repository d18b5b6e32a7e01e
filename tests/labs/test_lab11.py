"""What lab 11 says of its runs is so."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from kafkalab import program
from kafkalab.course.lab11 import for_real
from kafkalab.course.lab11.half import try_half
from kafkalab.course.lab11.scenario import GAPS, counts, lab11, prepared_and_claimed, verdict
from kafkalab.grading.builder import SOLUTIONS, read
from kafkalab.programs.booking import OUTPUT, PATTERNS
from kafkalab.programs.database import database
from kafkalab.programs.outbox import last_sent
from kafkalab.protocol.messages.init_producer_id import InitProducerId
from kafkalab.sim.cluster import Cluster, ran
from kafkalab.sim.scenario import Program
from tests.maven import CACHE, jars_of

ROOT = Path(__file__).resolve().parents[2]
LAB = read(ROOT / SOLUTIONS / "11_edge_of_the_guarantee.ipynb")
MATRIX = {
    "Kafka first": ("ok", "ok", "ok", "lost", "lost", "ok"),
    "database first": ("ok", "ok", "dup", "dup", "dup", "ok"),
    "unique key": ("ok",) * 6,
    "outbox": ("ok", "ok", "ok", "ok", "dup", "ok"),
}


def read_printed(cell: str) -> list[str]:
    (found,) = [c for c in LAB["cells"] if c["id"] == cell]
    output = found["outputs"][-1]
    return "".join(output.get("text") or output["data"]["text/plain"]).splitlines()


def test_its_questions_are_marked_where_they_are_answered() -> None:
    marked = [n for c in LAB["cells"] for n in c["metadata"].get("kafkalab", {}).get("questions", [])]
    assert sorted(marked) == [31, 32, 33, 47]


@pytest.mark.parametrize("seed", range(1, 5))
@pytest.mark.parametrize("profile", ["4.x/TV1", "4.x/TV2"])
@pytest.mark.parametrize("pattern", PATTERNS)
def test_the_gaps_are_the_same_with_any_latencies_and_protocol(pattern: str, profile: str, seed: int) -> None:
    assert ran(lab11(pattern, 0, seed, profile)).results["booker"] == ["ann 10"]
    found = tuple(verdict(ran(lab11(pattern, gap, seed, profile)), pattern) for gap in GAPS)
    assert found == MATRIX[pattern]


def test_a_pattern_or_gap_that_there_is_not_is_refused() -> None:
    with pytest.raises(ValueError, match="no pattern is called 'both first'; there are Kafka first"):
        lab11("both first")
    with pytest.raises(ValueError, match="gap is 1 to 6"):
        lab11("outbox", 7)


def test_the_half_finished_relay_needs_both_of_its_lines() -> None:
    assert read_printed("half-try")[0].startswith("Right: three receipts, each once")

    def make(first: bool, second: bool) -> Any:
        async def again(app: Any, start_ms: int, stop_ms: int) -> None:
            await app.sleep(start_ms)
            db, producer, done = database(app), app.producer(linger_ms=0), 0
            if first:
                done = await last_sent(app)
            while app.now < stop_ms:
                for number, receipt in await db.execute("SELECT id, receipt FROM outbox WHERE id > ?", [done]):
                    await (await producer.send("receipts", receipt, key=str(number), partition=0))
                    done = number if second else done
                await app.sleep(200)

        return again

    assert "Where does the second relay begin?" in try_half(make(first=False, second=True))
    assert "'receipt ann 10' is there" in try_half(make(first=True, second=False))
    assert "is there" in try_half(make(first=False, second=False))


def test_the_two_orders_of_commits_lose_or_double() -> None:
    assert read_printed("order") == [
        "database first  bookings, receipts: (2, 1)",
        "Kafka first     bookings, receipts: (0, 1)",
    ]
    assert counts(ran(lab11("database first", 3)), "database first") == (2, 1)


@program
async def keep_prepared(app: Any) -> str:
    """Claim the name and ask to keep what was prepared; return the name of the answer's error."""
    await app.sleep(5_000)
    request = InitProducerId(transactional_id="booker", keep_prepared_txn=True)
    return str((await app.ask(app.brokers[0], request, version=6)).error.name)


def test_a_released_client_never_requests_two_phase_commit_and_a_broker_keeps_nothing_prepared() -> None:
    """Java 4.3.1 and 4.4.0 send InitProducerId 5 with their own timeout, whatever the setting says."""
    assert read_printed("two-refused")[0] == "version 5 timeout 60000 2PC False"
    assert read_printed("two-refused")[1].startswith("No released client can prepare a transaction.")
    base = prepared_and_claimed()
    cluster = Cluster(replace(base, programs=(base.programs[0], Program("keeper", keep_prepared))))
    cluster.run_for(60_000)
    assert cluster.results["keeper"] == "UNSUPPORTED_VERSION"


@pytest.mark.parametrize("seed", range(1, 4))
def test_a_claim_aborts_what_was_prepared(seed: int) -> None:
    cluster = ran(prepared_and_claimed(seed=seed))
    assert cluster.outcome().committed[OUTPUT] == ()
    states = [e.data["state"] for e in cluster.trace.of("state", "transaction")]
    assert "PrepareAbort" in states
    assert "PrepareCommit" not in states


# Spark


def test_the_saved_run_of_spark_is_that_of_data_and_is_what_the_lab_prints() -> None:
    data, package = ROOT / "data", ROOT / "kafkalab" / "course" / "lab11"
    assert (package / "spark.json").read_text() == (data / "spark_and_kafka.json").read_text()
    assert (package / "spark_sink.json").read_text() == (data / "spark_sink.klab").read_text()
    seen = for_real.load_seen()
    assert read_printed("spark") == seen["written"]
    assert seen["read_committed"] == ["ann 10"]
    assert "cyd 7" in seen["default"], "by default Spark reads what is open, too"


def test_a_second_attempt_writes_with_new_sequences_of_the_same_producer_and_no_transaction() -> None:
    cluster = ran(for_real.sink_session())
    written = [
        (batch.producer_id, batch.producer_epoch, batch.base_sequence + place, record.value)
        for batch in cluster.log_of("receipts-0").batches
        for place, record in enumerate(batch.records)
    ]
    assert {(pid, epoch) for pid, epoch, _, _ in written} == {(0, 0)}
    assert [sequence for _, _, sequence, _ in written] == list(range(8))
    assert sorted(value for *_, value in written) == for_real.load_seen()["written"]
    assert [value for *_, value in written].index("receipt 0") == 0
    assert written[5][3] == "receipt 0"
    bodies = [f.body for f in cluster.trace.frames.values() if f.name in ("InitProducerId", "Produce")]
    assert {body.transactional_id for body in bodies} == {None}
    (third,) = [f.body for f in cluster.trace.frames.values() if f.id == "Produce#3"]
    assert third.batches["receipts-0"].base_sequence == 5


@pytest.mark.parametrize("why", ["no connector", "no client", "no sockets", "no spark", "a slow spark"])
def test_where_spark_cannot_run_the_saved_run_stands_in(
    why: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    says = {
        "no connector": f"mvn -q -f tests/wire/clients/spark/pom.xml dependency:copy-dependencies "
        f"-DoutputDirectory={tmp_path}",
        "no client": "confluent_kafka is not installed.",
        "no sockets": "No brokers can listen here (sockets are forbidden here).",
        "no spark": "Spark has ended: it said nothing",
        "a slow spark": "Spark has ended: it said nothing",
    }[why]

    def refuse(*_: object, **__: object) -> None:
        raise OSError("sockets are forbidden here")

    monkeypatch.setenv(for_real.FOLDER, str(tmp_path))
    if why != "no connector":
        (tmp_path / "spark-sql-kafka-0-10_2.13-0.jar").touch()
        for name in ("pyspark", "pyarrow", "confluent_kafka"):
            pytest.importorskip(name)
        monkeypatch.setattr("kafkalab.spark.session.java.java_home", lambda: tmp_path)
    if why == "no client":
        monkeypatch.setitem(sys.modules, "confluent_kafka", None)
    if why == "no sockets":
        monkeypatch.setattr("kafkalab.live.cluster.LiveCluster.__init__", refuse)
    if why == "no spark":
        monkeypatch.setattr(sys, "executable", "/bin/false")
    if why == "a slow spark":
        (tmp_path / "slow").write_text("#!/bin/sh\nexec sleep 60\n")
        (tmp_path / "slow").chmod(0o755)
        monkeypatch.setattr(sys, "executable", str(tmp_path / "slow"))
        monkeypatch.setattr(for_real, "MOST_S", 0.2)
    assert for_real.spark() == for_real.load_seen()
    told = capsys.readouterr().err
    assert says in told
    assert "what a saved run has seen" in told


@pytest.mark.clients
@pytest.mark.spark
def test_spark_doubles_what_it_writes_and_reads_what_is_committed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    pytest.importorskip("pyspark")
    pom = ROOT / "tests" / "wire" / "clients" / "spark" / "pom.xml"
    monkeypatch.setenv(for_real.FOLDER, str(jars_of(pom, CACHE / "spark-kafka", "spark-sql-kafka-*.jar")))
    assert for_real.live(tmp_path / "sink.klab") == for_real.load_seen()
    assert capsys.readouterr().err == ""
    assert json.loads((tmp_path / "sink.klab").read_text())
