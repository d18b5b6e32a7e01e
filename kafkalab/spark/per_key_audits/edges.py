"""The order of the writers in the logs of one bucket: the edges of G0, by numpy."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from kafkalab.checks.dependencies import WRITE_WRITE
from kafkalab.spark.per_key_audits.arrays import Longs, groups
from kafkalab.spark.per_key_audits.bucket import Bucket

EDGES = pa.schema(
    {
        "run": pa.int64(),
        "start": pa.string(),
        "end": pa.string(),
        "kind": pa.string(),
        "committed": pa.bool_(),
        "place": pa.string(),
        "rank": pa.int64(),
        "first": pa.int64(),
        "second": pa.int64(),
    }
)
"""An edge between two transactions and its proof; of several proofs the first by place and rank counts.

Of reads `committed` says whether it was under read_committed.
"""


def writes_between(bucket: Bucket, owned: pa.Table) -> tuple[pa.Table, Longs]:
    """Return the edges between neighbours in the logs, and the run of each pair of neighbours.

    `owned` has the bucket's records with their transactions.
    """
    log, transaction = bucket.log, bucket.owners.transaction
    rows = np.flatnonzero(log.data & (transaction >= 0) & (log.ended_by >= 0) & ~log.aborted)
    before, now = rows[:-1], rows[1:]
    pair = np.flatnonzero(log.group[before] == log.group[now])
    before, now = before[pair], now[pair]
    runs = log.run[now]
    differ = np.flatnonzero(transaction[before] != transaction[now])
    before, now = before[differ], now[differ]
    order = np.lexsort((log.offset[now], log.group[now]))
    same = groups(transaction[before], transaction[now], log.group[now])[order] if len(order) else order
    chosen = order[np.sort(np.unique(same, return_index=True)[1])]
    before, now = before[chosen], now[chosen]
    name = owned.column("txn")
    edges = pa.table(
        {
            "run": pa.array(log.run[now]),
            "start": name.take(pa.array(before)),
            "end": name.take(pa.array(now)),
            "kind": pa.array([WRITE_WRITE] * len(now), pa.string()),
            "committed": pa.array(np.zeros(len(now), np.bool_)),
            "place": owned.column("key").take(pa.array(now)),
            "rank": pa.array(log.offset[now]),
            "first": pa.array(log.step[before]),
            "second": pa.array(log.step[now]),
        }
    )
    return edges.cast(EDGES), runs
