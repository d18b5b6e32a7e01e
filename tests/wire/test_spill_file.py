"""Older batches lie in temporary files: what comes back is what was put there, and freed space is given back."""

from __future__ import annotations

import logging
import tempfile

import pytest

from kafkalab.protocol import batch_bytes
from kafkalab.protocol.records import Batch, CleanedBatch, ControlType, Record, marker
from kafkalab.protocol.transaction_metadata import Txn
from kafkalab.wire.batches import ClientBatch, read_batch
from kafkalab.wire.live import RealTime, scenario_of
from kafkalab.wire.spill_file import TemporarySpillFile
from kafkalab.wire.values import Encoded


def client_batch(base: int, value: str = "v") -> Batch:
    records = (Record("k", value),) * 3
    made = batch_bytes.encode(Batch(records=records, producer_id=7, producer_epoch=1, base_sequence=4))
    return read_batch(made).place(base, 5)


def test_every_kind_of_batch_comes_back() -> None:
    spill_file, encoded = TemporarySpillFile(), Encoded(("t", "u"), b"\x00\x01")
    put = [
        client_batch(12),
        marker(7, 1, ControlType.COMMIT, 3, 99).place(15, 5),
        Batch(records=(Record("key", encoded), Record("gone", None)), base_offset=16, leader_epoch=5),
        Batch(records=(Record("pay", Txn(transactional_id="pay", producer_id=7)),), base_offset=18, leader_epoch=5),
        CleanedBatch(records=(Record("k", "v"),), base_offset=20, last_offset_delta=4, offset_deltas=(2,)),
    ]
    number = spill_file.put(put)
    back = spill_file.get(number)
    assert back[1:] == put[1:]
    first = back[0]
    assert isinstance(first, ClientBatch)
    assert (first.base_offset, first.leader_epoch, first.producer_id, first.base_sequence) == (12, 5, 7, 4)
    assert [(r.key, r.value) for r in first.records] == [("k", "v")] * 3
    assert back[2].records[0].value.data == b"\x00\x01"


def test_a_file_that_holds_nothing_any_more_is_closed() -> None:
    spill_file = TemporarySpillFile(file_bytes=2_000)
    numbers = [spill_file.put([client_batch(n, "x" * 500)]) for n in range(12)]
    assert spill_file.files >= 3
    assert [spill_file.get(number)[0].base_offset for number in numbers] == list(range(12))
    for number in numbers:
        spill_file.free(number)
    assert spill_file.files == 1
    assert spill_file.get(spill_file.put([client_batch(99)]))[0].base_offset == 99


def test_where_the_disk_takes_nothing_batches_stay_in_memory(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def full(**_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(tempfile, "TemporaryFile", full)
    spill_file = TemporarySpillFile()
    with caplog.at_level(logging.WARNING):
        assert [spill_file.put([client_batch(n)]) for n in range(3)] == [-1, -1, -1]
    assert [record.getMessage().partition(":")[0] for record in caplog.records] == ["older batches stay in memory"]


def test_all_logs_of_a_server_have_one_spill_file() -> None:
    live = RealTime(scenario_of(2, 3, {"t": 3}, {}))
    live.stop()
    spill_files = [broker.state.log("t-0").batches._spill_file for broker in live.cluster.brokers.values()]
    assert isinstance(spill_files[0], TemporarySpillFile)
    assert spill_files.count(spill_files[0]) == 3
    logs = [log for broker in live.cluster.brokers.values() for log in broker.state.logs.values()]
    assert all(log.batches._spill_file is spill_files[0] for log in logs)
