"""One broker that coordinates every id: a test puts a transaction into its cache, asks, and sees what was appended.

On top of `OneBroker`: appends to `__transaction_state` end as `appends(...)` says (durable at once if it says
nothing), and requests to other nodes are held in `sent` until the test answers them.
"""

from __future__ import annotations

from typing import Any

from kafkalab.broker.state import TxnPartition
from kafkalab.protocol.errors import Error
from kafkalab.protocol.messages.add_offsets_to_txn import AddOffsetsToTxn
from kafkalab.protocol.messages.add_partitions_to_txn import AddPartitionsToTxn
from kafkalab.protocol.messages.end_txn import EndTxn
from kafkalab.protocol.messages.init_producer_id import InitProducerId
from kafkalab.protocol.messages.write_txn_markers import WriteTxnMarkers, WriteTxnMarkersResponse
from kafkalab.protocol.partitions import transaction_partition
from kafkalab.protocol.transaction_metadata import Txn, TxnState
from tests.conformance.one_broker import HOLD, OneBroker

__all__ = ["EPOCH", "HOLD", "ID", "PID", "CoordinatorWorld", "make_txn"]

ID = "a"
PID, EPOCH = 7, 10
PARTITION = transaction_partition(ID)
OPEN = (TxnState.ONGOING, TxnState.PREPARE_COMMIT, TxnState.PREPARE_ABORT)


def make_txn(state: str, **fields: Any) -> Txn:
    """Metadata of the id in this state, as transactions under PID and EPOCH leave it; u-0 is led by another broker."""
    of = TxnState.of(state)
    defaults: dict[str, Any] = {
        "transactional_id": ID,
        "producer_id": PID,
        "producer_epoch": EPOCH,
        "prev_producer_id": fields.get("producer_id", PID),
        "partitions": ("u-0",) if of in OPEN else (),
        "start_ms": -1 if of is TxnState.EMPTY else 0,
        "update_ms": 0,
    }
    return Txn(state=of, **{**defaults, **fields})


class CoordinatorWorld(OneBroker):
    """A `OneBroker` whose cluster speaks `cluster` (0, 1 or 2); requests are named by what they ask."""

    def __init__(
        self, cluster: int | None = 2, off: tuple[str, ...] = (), profile: str = "4.x/TV2", **config: Any
    ) -> None:
        super().__init__(profile=profile, off=off, transaction_version=cluster, **config)

    @property
    def owned(self) -> TxnPartition:
        """The cache for the id."""
        owned = self.state.coordinates(ID)
        assert isinstance(owned, TxnPartition)
        return owned

    def holds(self, txn: Txn, pending: str = "") -> None:
        """The cache holds this, as if it had been appended; the pending state is the named one, or none."""
        self.load(txn)
        self.owned.txns[ID] = txn
        self.owned.markers.clear()
        self.state.marker_queues.drop(PARTITION)
        self.owned.pending.pop(ID, None)
        if pending:
            self.owned.pending[ID] = TxnState.of(pending)
        self.before = len(self.entries(ID))

    def fail(self, *errors: Any) -> None:
        """The next appends for the id end so: an Error, or HOLD (then `held.pop()(error)` ends it)."""
        self.appends[PARTITION] = list(errors)

    @property
    def now_known(self) -> Txn:
        """The cache's entry of the id."""
        found = self.txn(ID)
        assert found is not None
        return found

    def list_written(self) -> list[Txn]:
        """The records that were appended since `holds`, oldest first."""
        found: list[Txn] = self.entries(ID)[self.before :]
        return found

    # the questions

    def init(self, version: int = 5, transactional_id: str | None = ID, **fields: Any) -> Any:
        return self.ask(InitProducerId(transactional_id=transactional_id, **fields), version).response

    def init_expecting(self, producer_id: int, epoch: int, version: int = 5) -> Any:
        return self.init(version, producer_id=producer_id, producer_epoch=epoch)

    def end(self, committed: bool, version: int, epoch: int = EPOCH, producer_id: int = PID) -> Any:
        request = EndTxn(transactional_id=ID, producer_id=producer_id, producer_epoch=epoch, committed=committed)
        return self.ask(request, version).response

    def add(self, *partitions: str, version: int = 3, epoch: int = EPOCH, producer_id: int = PID) -> Any:
        """The error of the first partition; None without an answer. No partition given: v-0."""
        return self._first(self._adding(partitions, producer_id, epoch), version)

    def verify(self, *partitions: str, version: int = 5, epoch: int = EPOCH, producer_id: int = PID) -> Any:
        return self._first(self._adding(partitions, producer_id, epoch, verify_only=True), version)

    def add_offsets(self, version: int = 4, epoch: int = EPOCH, producer_id: int = PID, group: str = "g") -> Any:
        request = AddOffsetsToTxn(transactional_id=ID, producer_id=producer_id, producer_epoch=epoch, group_id=group)
        response = self.ask(request, version).response
        return response and response.error

    def _first(self, request: AddPartitionsToTxn, version: int) -> Any:
        response = self.ask(request, version).response
        return response and response.errors.get(request.partitions[0], response.error)

    def _adding(self, partitions: tuple[str, ...], producer_id: int, epoch: int, **more: Any) -> AddPartitionsToTxn:
        return AddPartitionsToTxn(
            transactional_id=ID,
            producer_id=producer_id,
            producer_epoch=epoch,
            partitions=partitions or ("v-0",),
            **more,
        )

    def answer_markers(self, error: Error = Error.NONE) -> list[Any]:
        """Answer every WriteTxnMarkers under way so; the markers that it carried."""
        markers = []
        for sent in self.take(WriteTxnMarkers):
            asked = sent.body.markers
            markers += asked
            sent.answer(
                WriteTxnMarkersResponse(markers={m.producer_id: dict.fromkeys(m.partitions, error) for m in asked})
            )
        return markers
