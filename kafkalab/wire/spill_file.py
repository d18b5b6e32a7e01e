"""The store of a server's older batches: temporary files without a name, which end with the process."""

from __future__ import annotations

import copyreg
import logging
import threading
import weakref
from collections import ChainMap
from collections.abc import Callable, Sequence
from dataclasses import fields
from functools import cache
from io import BytesIO
from operator import attrgetter
from typing import IO, Any

from kafkalab.protocol.records import Batch, Record
from kafkalab.protocol.transaction_metadata import Txn
from kafkalab.wire.batches import ClientBatch, batch_bytes_of, read_batch

log = logging.getLogger("kafkalab.wire")

FILE_BYTES = 64 * 1024 * 1024
OBJECT_BYTES = 700
"""About what a batch takes in memory besides its bytes."""
_PLACE_BITS, _SIZE_BITS = 27, 26


class TemporarySpillFile:
    """A `SpillFile` for all logs of a server.

    A chunk's number says where it is: file, place and size. A file whose chunks are all freed is closed, which gives
    its space back.
    """

    def __init__(self, file_bytes: int = FILE_BYTES) -> None:
        self.file_bytes = file_bytes
        self._files: dict[int, IO[bytes]] = {}
        self._held: dict[int, int] = {}  # by file: how many of its chunks are in use
        self._newest = self._end = 0  # the file that is written to, and where
        self._lock = threading.Lock()
        self._has_warned = False
        weakref.finalize(self, _close, self._files)

    @property
    def files(self) -> int:
        """The number of open files."""
        return len(self._files)

    def weight(self, batch: Batch) -> int:
        """Return about how many bytes of memory the batch takes."""
        return OBJECT_BYTES + (len(batch.data) if isinstance(batch, ClientBatch) else OBJECT_BYTES)

    def put(self, batches: Sequence[Batch]) -> int:
        """Write the batches and return their number; -1, with a log line, if the disk does not take them."""
        import tempfile  # its modules would cost a start, and a short run does not need them

        data = _dump([batch_bytes_of(b) if isinstance(b, ClientBatch) else b for b in batches])
        if len(data) >> _SIZE_BITS:
            return -1
        with self._lock:
            try:
                file = self._open(tempfile.TemporaryFile)
                file.seek(self._end)
                written = file.write(data)
                if written < len(data):
                    raise OSError(f"{written} of {len(data)} bytes were written")
            except OSError as error:
                if not self._has_warned:
                    log.warning("older batches stay in memory: %s: %s", tempfile.gettempdir(), error)
                self._has_warned = True
                return -1
            place, self._end = self._end, self._end + len(data)
            self._held[self._newest] += 1
            return ((self._newest << _PLACE_BITS) + place << _SIZE_BITS) + len(data)

    def _open(self, new_file: Callable[..., IO[bytes]]) -> IO[bytes]:
        if self._newest not in self._files or self._end >= self.file_bytes:
            file = new_file(prefix="kafkalab-", buffering=0)
            self._newest, self._end = self._newest + 1, 0
            self._files[self._newest], self._held[self._newest] = file, 0
            self._close_unused(self._newest - 1)
        return self._files[self._newest]

    def get(self, number: int) -> list[Batch]:
        """Return the batches that were put under this number."""
        import pickle

        rest, size = number >> _SIZE_BITS, number & ((1 << _SIZE_BITS) - 1)
        with self._lock:
            file = self._files[rest >> _PLACE_BITS]
            file.seek(rest & ((1 << _PLACE_BITS) - 1))
            data = file.read(size)
        return [read_batch(one) if isinstance(one, bytes) else one for one in pickle.loads(data)]

    def share(self, number: int) -> None:
        """Keep the batches of this number until they are freed once more."""
        self._held[number >> _SIZE_BITS >> _PLACE_BITS] += 1

    def free(self, number: int) -> None:
        """Forget the batches of this number."""
        file = number >> _SIZE_BITS >> _PLACE_BITS
        self._held[file] -= 1
        if file != self._newest:
            self._close_unused(file)

    def _close_unused(self, file: int) -> None:
        if self._held.get(file) == 0:
            self._files.pop(file).close()
            del self._held[file]


@cache
def _pickler() -> Any:
    """Return pickle's class with a quick way for what coordinators write: a dataclass with slots has a slow one."""
    from pickle import Pickler

    class Quick(Pickler):
        quick: Any = {kind: _reducer(kind) for kind in (Batch, Record, Txn)}
        dispatch_table: Any = ChainMap(quick, copyreg.dispatch_table)

    return Quick


def _reducer(kind: type[Any]) -> Callable[[Any], Any]:
    values = attrgetter(*(f.name for f in fields(kind)))
    return lambda one: (_make, (kind, values(one)))


def _make(kind: type, values: tuple[object, ...]) -> Any:
    made: Any = object.__new__(kind)
    for put, value in zip(_setters(kind), values, strict=True):
        put(made, value)
    return made


@cache
def _setters(kind: type) -> tuple[Callable[[Any, Any], None], ...]:
    """Return what sets each slot, in a tenth of the time of `object.__setattr__`."""
    return tuple(getattr(kind, f.name).__set__ for f in fields(kind))


def _dump(batches: list[object]) -> bytes:
    out = BytesIO()
    _pickler()(out, 5).dump(batches)
    return out.getvalue()


def _close(files: dict[int, IO[bytes]]) -> None:
    for file in files.values():
        file.close()
