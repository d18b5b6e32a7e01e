"""One bucket of keys with all that is derived from its tables, each made when it is first asked for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property, reduce
from operator import or_

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kafkalab.checks.all import BY_NAME
from kafkalab.history.history import History
from kafkalab.spark.per_key_audits import acknowledgements as told
from kafkalab.spark.per_key_audits import log as logs
from kafkalab.spark.per_key_audits import polls
from kafkalab.spark.per_key_audits.acknowledgements import SendsAndReads
from kafkalab.spark.per_key_audits.arrays import PLACE, Log, Longs, Names, groups, longs
from kafkalab.spark.per_key_audits.files import POLLS, SENDS, Tables
from kafkalab.spark.per_key_audits.log import Labels, Reads
from kafkalab.spark.per_key_audits.polls import Walk
from kafkalab.spark.per_key_audits.sends import Owners, Sends, find
from kafkalab.spark.per_key_audits.suspects import Suspected
from kafkalab.spark.storage.rows import histories_from
from kafkalab.spark.storage.tasks import give_back

FEW = 20
"""Up to this many numbers are compared one by one, which tells more of what need not be read than a set does."""


def one_of(column: str, numbers: list[int]) -> pc.Expression:
    """Return that a column has one of these numbers, so that parts of files that have none are not read."""
    field = pc.field(column)
    if len(numbers) > FEW:
        return field.isin(numbers) & (field >= min(numbers)) & (field <= max(numbers))
    return reduce(or_, (field == number for number in sorted(set(numbers))))


class Bucket:
    """`elsewhere` gives rows of tables not laid out by key, `kept` what `splits.KEPT` names of one."""

    def __init__(
        self, tables: Mapping[str, pa.Table], elsewhere: Callable[..., pa.Table], load: Callable[[str], pa.Table]
    ) -> None:
        self.tables, self.elsewhere, self.load, self.names = tables, elsewhere, load, Names()
        self.log = Log(tables["log"], self.names)

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

    @cached_property
    def sends_and_reads(self) -> SendsAndReads:
        return SendsAndReads(self.sends, self.reads)

    def free(self) -> None:
        """Free what only the audits of one key need; whose transaction each record is stays known."""
        assert self.owners is not None  # they are made from the sends
        for name in ("sends", "walk", "sends_and_reads", "lost_writes"):
            self.__dict__.pop(name, None)
        if isinstance(self.tables, Tables):
            self.tables.free("operations", "watermarks")
        give_back()

    def sent_with(self, rows: Longs) -> tuple[dict[int, History], dict[int, list[int]]]:
        """The steps of the sends in transactions that led to each row, and by run the frames that left at these."""
        sends, sent = self.sends, dict[int, list[int]]()
        by = np.flatnonzero(np.isin(sends.link_row, rows) & sends.transactional[sends.link_send])
        step = sends.step[sends.link_send[by]].tolist()
        for row, one in zip(sends.link_row[by].tolist(), step, strict=True):
            sent.setdefault(row, []).append(one)
        if not sent:
            return {}, sent
        wanted = one_of("sent_step", step)
        left = self.elsewhere("frames", ("run", "name", "version", "sent_step"), wanted)
        return dict(histories_from({"frames": left})), sent

    def _decisions(self, producers: list[int]) -> pa.Table:
        return self.load("transactions").filter(pc.field("producer_id").isin(producers))

    def _offsets(self) -> pa.Table:
        """The offsets that clients committed in transactions, named as the log names them."""
        wanted = (pc.field("function") == "offsets") & (pc.field("transaction") >= 1)
        kept = ("run", "index", "client", "transaction", "producer_id", "producer_epoch", "key", "value", "offset")
        every = self.elsewhere("operations", (*kept, "type", "invocation", "step"), wanted)
        invoke = pc.equal(every.column("type"), "invoke")
        asked, ends, is_invoke = every.filter(invoke), every.filter(pc.invert(invoke)), invoke.to_numpy()
        here = groups(longs(every, "run")) * PLACE
        end = find((here + longs(every, "invocation"))[~is_invoke], (here + longs(every, "index"))[is_invoke])
        took = pa.array(end, mask=end < 0)
        asked = asked.append_column("end_type", pc.fill_null(ends.column("type").take(took), ""))
        asked = asked.append_column("end_step", pc.fill_null(ends.column("step").take(took), -1))
        what = pc.binary_join_element_wise(asked.column("value"), asked.column("key"), "/")
        value = pc.cast(asked.column("offset"), pa.string())
        asked = asked.drop_columns(["key", "value", "offset"])
        return asked.append_column("record_key", what).append_column("value", value)


FAMILIES: dict[tuple[str, ...], Callable[[Bucket, Labels], Suspected]] = {
    ("duplicate",): lambda b, _: logs.duplicates(b.log, lambda: b.tables["operations"]),
    ("sequence gap",): lambda b, labels: logs.sequence_gaps(b.log, b.sent_with, labels),
    ("G1a",): lambda b, _: logs.aborted_reads(b.log, b.reads),
    ("unseen",): lambda b, _: logs.unseen(b.log, b.reads),
    ("LSO regression",): lambda b, _: logs.lso_regressions(b.tables["watermarks"], b.names),
    POLLS: lambda b, _: polls.jumps(b.log, b.walk),
    ("int-send-skip",): lambda b, _: told.skips_inside(b.log, b.owners),
    SENDS: lambda b, _: told.nonmonotonic_sends(b.sends),
    ("inconsistent-offsets",): lambda b, _: told.inconsistent_offsets(b.sends, b.reads, b.sends_and_reads),
    ("lost-write",): lambda b, _: told.lost_writes(
        b.log, b.sends, b.sends_and_reads, told.passages_of(b.walk, b.reads), lambda: b.load("operations")
    ),
}
"""The anomalies that one key's own rows show, those together that suspect the same, and who selects the suspects."""
ONE_KEY = tuple(name for name in BY_NAME if any(name in family for family in FAMILIES))
"""The names of these anomalies, in the order of the checks."""
