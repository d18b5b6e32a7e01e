"""One bucket of keys with all that is derived from its tables, each made when it is first asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from kafkalab.spark.key_pass import acknowledgements as told
from kafkalab.spark.key_pass import log as logs
from kafkalab.spark.key_pass import polls
from kafkalab.spark.key_pass.arrays import Log, Longs, Names
from kafkalab.spark.key_pass.files import POLLS, SENDS
from kafkalab.spark.key_pass.log import Found, Reads
from kafkalab.spark.key_pass.polls import Walk
from kafkalab.spark.key_pass.sends import Owners, Sends


class Bucket:
    """`elsewhere` gives rows of tables that are not laid out by key; `unsure` as in `told.lost_writes`."""

    def __init__(self, tables: Mapping[str, pa.Table], elsewhere: Callable[..., pa.Table]) -> None:
        self.tables, self.elsewhere, self.names = tables, elsewhere, Names()
        self.log = Log(tables["log"], self.names)
        self.unsure: list[tuple[int, str, int]] = []
        self.seen: dict[str, Longs] = {}

    @cached_property
    def reads(self) -> Reads:
        return Reads(self.tables["reads"], self.log, self.names)

    @cached_property
    def sends(self) -> Sends:
        return Sends(self.tables["operations"], self.log, self.names)

    @cached_property
    def owners(self) -> Owners:
        return Owners(self.log, self.sends, self.names, self._decisions, self._offsets)

    @cached_property
    def walk(self) -> Walk:
        return Walk(self.tables["polls"], self.reads, self.names)

    def found(self, limits: dict[int, int], default_ms: int, names: Sequence[str]) -> Iterator[Found]:
        """What these audits find, those of their families too."""
        log = self.log
        if "duplicate" in names:
            yield from logs.duplicates(log, lambda: self.tables["operations"])
        if "sequence gap" in names:
            yield from logs.sequence_gaps(log, lambda: self.sends, limits, default_ms)
        if "G1a" in names:
            yield from logs.aborted_reads(log, self.reads)
        if "unseen" in names:
            yield from logs.unseen(log, self.reads)
        if "LSO regression" in names:
            yield from logs.lso_regressions(self.tables["watermarks"], self.names)
        if any(name in names for name in POLLS):
            yield from polls.jumps(log, self.walk)
        if "int-send-skip" in names:
            skips, self.seen["int-send-skip"] = told.skips_inside(log, self.owners)
            yield from skips
        if any(name in names for name in SENDS):
            back, same, now = told.nonmonotonic_sends(self.sends)
            self.seen["nonmonotonic-send"], self.seen["int-nonmonotonic-send"] = (
                self.sends.run[now[~same]],
                self.sends.run[now[same]],
            )
            yield from back
        yield from self._told(names)

    def _told(self, names: Sequence[str]) -> Iterator[Found]:
        if "inconsistent-offsets" not in names and "lost-write" not in names:
            return
        both = told.Told(self.sends, self.reads)
        if "inconsistent-offsets" in names:
            self.seen["inconsistent-offsets"] = both.runs(self.sends, self.reads)
            yield from told.inconsistent_offsets(self.sends, self.reads, both)
        if "lost-write" in names:
            passages = told.Passages(self.walk, self.reads)
            lost, self.seen["lost-write"], self.unsure = told.lost_writes(self.log, self.sends, both, passages)
            yield from lost

    def examined(self, names: Sequence[str]) -> Iterator[tuple[str, Longs]]:
        """Of each of these audits the runs of what it looked at, one for each thing; after `found`."""
        log = self.log
        if "duplicate" in names:
            yield "duplicate", logs.of_duplicates(log)
        if "sequence gap" in names:
            yield "sequence gap", logs.of_sequences(log)
        if "G1a" in names:
            yield "G1a", logs.of_committed_reads(self.reads)
        if "unseen" in names:
            yield "unseen", logs.of_known(log, self.reads)
        if "LSO regression" in names:
            yield "LSO regression", logs.of_leaders(self.tables["watermarks"])
        of_polls = polls.examined(self.walk) if any(name in names for name in POLLS) else ()
        for name, counted in (*of_polls, *self.seen.items()):
            if name in names:
                yield name, counted

    def _decisions(self, producers: list[int]) -> pa.Table:
        wanted = pc.field("producer_id").isin(producers) & (pc.field("removed") != "truncated")
        wanted = wanted & pc.field("state").isin(["PrepareCommit", "PrepareAbort"])
        found: Any = self.elsewhere("transactions", ("run", "producer_id", "step"), wanted)
        return found

    def _offsets(self) -> pa.Table:
        """The offsets that clients committed in transactions, named as the log names them."""
        wanted = (pc.field("function") == "offsets") & (pc.field("type") == "invoke") & (pc.field("transaction") >= 1)
        kept = ("run", "index", "client", "transaction", "producer_id", "producer_epoch", "key", "value", "offset")
        asked = self.elsewhere("operations", kept, wanted)
        what = pc.binary_join_element_wise(asked.column("value"), asked.column("key"), "/")
        value = pc.cast(asked.column("offset"), pa.string())
        asked = asked.drop_columns(["key", "value", "offset"])
        found: Any = asked.append_column("record_key", what).append_column("value", value)
        return found
