"""Findings as rows: the fields of `kafkalab.checks.check.Finding` and the number of their run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import pyarrow as pa

from kafkalab.checks.check import Finding

FIELDS = ("run", "anomaly", "policy", "keys", "offsets", "steps", "text")
"""The columns of a DataFrame of findings."""
_LONGS = pa.list_(pa.int64())
_ELEMENTS = {"run": pa.int64(), "keys": pa.list_(pa.string()), "offsets": _LONGS, "steps": _LONGS}
ARROW = pa.schema([(name, _ELEMENTS.get(name, pa.string())) for name in FIELDS])
"""The same for tasks that work in Python."""
COUNTED = ARROW.append(pa.field("examined", pa.int64()))
"""The same, and rows that say how many things of a run an audit has examined."""


def rows_of(run: int, findings: Iterable[Finding]) -> list[dict[str, object]]:
    """Return the findings of one run as rows of ARROW."""
    return [{"run": run} | {name: getattr(one, name) for name in FIELDS[1:]} for one in findings]


def counts(name: str, examined: Mapping[int, int]) -> list[dict[str, object]]:
    """Return rows of COUNTED that say how many things an audit has examined in each run."""
    return [{"run": run, "anomaly": name, "examined": many} for run, many in examined.items()]
