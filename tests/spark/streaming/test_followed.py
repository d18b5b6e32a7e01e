"""A torn transaction of running brokers is found while it is captured, though the capture is killed in the middle."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from kafkalab.checks.all import BY_NAME
from kafkalab.checks.check import FORBIDDEN, UNKNOWN, Finding
from kafkalab.checks.from_a_log import LACKING
from kafkalab.checks.view import LACKS
from kafkalab.cli.main import main
from kafkalab.history.history import History
from kafkalab.history.schema import Label
from kafkalab.protocol.messages.write_txn_markers import TxnMarkers, WriteTxnMarkers
from tests.wire.capture.written import Writer, writer
from tests.wire.following import command, following, stop, until, until_read
from tests.wire.serving import serving

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.query import StreamingQuery


def abort_by_hand(one: Writer, partition: str) -> None:
    """End the open transaction on one partition, as an administrator does who takes it for hanging."""
    markers = TxnMarkers(coordinator_epoch=0, committed=False, partitions=(partition,), **one.identity)
    answer = one.leader(partition).ask(WriteTxnMarkers(markers=(markers,)), 1)
    assert {error.name for error in answer.errors.values()} == {"NONE"}


@contextmanager
def watching(spark: SparkSession, folder: Path) -> Iterator[StreamingQuery]:
    """Watch a capture; the query is stopped at the end."""
    from kafkalab.spark.streaming.captured import read_capture
    from kafkalab.spark.streaming.query import watch

    query = watch(read_capture(spark, folder), folder / "watched")
    try:
        yield query
    finally:
        query.stop()


def batch_that_read(folder: Path, chunk: int) -> int:
    """The first micro-batch that had this number of chunks."""
    offsets = folder / "watched" / "checkpoint" / "offsets"
    ends = {int(file.name): json.loads(file.read_text().splitlines()[-1])["chunk"] for file in offsets.glob("[0-9]*")}
    return min(batch for batch, end in ends.items() if end >= chunk)


def history(folder: Path) -> History:
    """The whole capture, which says what it lacks."""
    from kafkalab.history.schema import ROWS
    from kafkalab.spark.storage.chunks import rows_of

    tables: dict[str, Any] = {
        name: tuple(row(*values) for values in rows_of(folder, name, list(row._fields))) for name, row in ROWS.items()
    }
    lacks = tuple(Label(LACKS, table) for table in LACKING)
    return replace(History(**tables), labels=(*tables["labels"], *lacks))


@pytest.mark.spark
def test_a_torn_transaction_is_told_within_two_micro_batches_of_its_marker(
    spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from kafkalab.spark.streaming.sink import FindingsFolder

    night = tmp_path / "night"
    found = FindingsFolder(night / "watched")

    def forbidden() -> list[tuple[int, Finding]]:
        return [pair for pair in found.read_findings() if pair[1].policy == FORBIDDEN]

    with serving(tmp_path, "--topics", "in:2,out:1", "--cluster-level", "1") as servers, writer(servers, "pay") as pay:
        with following(servers, night) as capture:
            for value in ("a", "b", "c"):
                pay.write("in-0", value)
                pay.write("out-0", value)
                pay.end(committed=value != "b")
            until_read(night, capture, in_0=6, out_0=6)
            with watching(spark, night) as query:
                query.processAllAvailable()
                assert forbidden() == []
                pay.write("in-0", "torn")
                pay.write("out-0", "torn")
                abort_by_hand(pay, "in-0")
                until_read(night, capture, in_0=8, out_0=7)
        with following(servers, night) as capture, command("audit", str(night), "--follow") as audit:
            pay.end(committed=True)
            chunks = until_read(night, capture, in_0=9, out_0=8)
            until(forbidden, audit)
            status, said = stop(audit)
            ((_, torn),) = forbidden()
            assert (status, f"torn transaction (forbidden): {torn.text}\n" in said) == (1, True)
            assert "LSO stuck: 0 found so far\n" in said
            (file,) = (file for file in found.files() if any(one == torn for _, one in found.in_file(file)))
            assert int(file.stem) - batch_that_read(night, chunks) in (0, 1)
            assert stop(capture)[0] == 0
        assert main(["capture", servers.split(",")[0], "--topics", "in,out", "--out", str(night), "--quiet"]) == 0
    ended = "ended in more than one way: in-0 ABORT at offset 7, elsewhere COMMIT as decided"
    assert torn.text == f"pay, producer {pay.known.producer_id}, {ended}"
    result = BY_NAME["torn transaction"](history(night))
    assert result.findings == (torn,)
    capsys.readouterr()
    assert main(["audit", str(night), "--follow"]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[1:] == [
        f"torn transaction (forbidden): {torn.text}",
        "duplicate: unknown; the audit needs what producers sent and which answers they had (their `operations`): an "
        "application may send one value twice",
        "open too long: 0 found so far",
        "torn transaction: violated, 1 found",
        "LSO stuck: 0 found so far",
    ]
    unknown = {one.anomaly for _, one in found.read_findings() if one.policy == UNKNOWN}
    assert unknown == {"duplicate", "torn transaction"}
