"""The outputs of inputs: numpy counts the committed outputs of each; the check judges those without exactly one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kafkalab.checks.check import Finding
from kafkalab.checks.exactly_once import EFFECTS, INPUT, exactly_once
from kafkalab.checks.transactions import ClientTxn, Send
from kafkalab.checks.view import COMMITTED, PLAIN, View
from kafkalab.history.history import History
from kafkalab.history.schema import LogRecord, Operation, Poll
from kafkalab.protocol.partitions import INTERNAL_TOPICS, OFFSETS_TOPIC, topic_of
from kafkalab.protocol.source_header import SOURCE
from kafkalab.spark.client_pass.endings import Judged
from kafkalab.spark.client_pass.split import Labels, Split
from kafkalab.spark.per_key_audits.arrays import Flags, Longs, Names, groups, longs
from kafkalab.spark.per_key_audits.handover import in_form, once

Tables = Mapping[str, pa.Table]
INPUT_KEY = "(?s)^.+-[^-]*$"
WORKED = "worked on-0"
"""The key of the view's outputs that stand for all outputs of a topic."""
AFTER_ALL = 1 << 50
"""Offsets of the view's outputs begin here: it numbers them itself."""


def outputs_of(split: Split) -> tuple[pa.Table, pa.Table]:
    """Return the outputs that were sent and those that logs hold, a row for each input, and who makes them of what."""
    both = _list_declared(pa.concat_tables([_collect_sent(split), _collect_held(split)]))
    sent = both.filter(both.column("sent")).select(["run", "who", "input"])
    makers = sent.group_by(["run", "who", "input"]).aggregate([]).rename_columns(["run", "process", "input"])
    named = pc.match_substring_regex(both.column("input"), INPUT_KEY)
    return in_form(both.filter(named), "outputs"), in_form(makers, "makers")


def _list_declared(rows: pa.Table) -> pa.Table:
    """Return each row once for every input that its headers declare."""
    headers = rows.column("headers").combine_chunks()
    text, at = pc.list_flatten(headers), pc.list_parent_indices(headers).to_numpy()
    is_source = pc.starts_with(text, f"{SOURCE}=").to_numpy(zero_copy_only=False)
    text, at = text.filter(pa.array(is_source)), at[is_source]
    source = pc.utf8_slice_codeunits(text, len(SOURCE) + 1)
    names = Names()
    same = groups(at, names.codes(pa.chunked_array([source], pa.string()))) if len(at) else at
    once = np.sort(np.unique(same, return_index=True)[1])
    found = rows.drop_columns(["headers"]).take(pa.array(at[once]))
    source = source.take(pa.array(once))
    has_place = pc.match_substring(source, "@")
    key = pc.if_else(has_place, pc.replace_substring_regex(source, "@[^@]*$", ""), "")
    return found.append_column("source", source).append_column("input", key)


def _collect_sent(split: Split) -> pa.Table:
    sent, calls, names = split.tables["sent"], split.calls, split.names
    pairs = (
        (longs(sent, "run"), longs(calls, "run")),
        (names.codes(sent.column("client")), names.codes(calls.column("client"))),
        (longs(sent, "transaction"), longs(calls, "transaction")),
    )
    same = groups(*(np.concatenate(pair) for pair in pairs))
    mine, theirs = same[: sent.num_rows], same[sent.num_rows :]
    process = np.full(int(same.max(initial=-1)) + 1, names.number(""), np.int64)
    process[theirs] = split.clients.process[split.call_txn]
    inside = longs(sent, "transaction") >= 1
    number = pc.cast(sent.column("transaction"), pa.string())
    txn = pc.binary_join_element_wise(sent.column("client").cast(pa.string()), number, ", transaction ")
    nothing = pa.nulls(sent.num_rows, pa.string())
    return pa.table(
        {
            "run": sent.column("run"),
            "key": sent.column("key").cast(pa.string()),
            "value": sent.column("value"),
            "headers": sent.column("headers"),
            "txn": pc.if_else(pa.array(inside), txn, pa.scalar(None, pa.string())),
            "process": pa.array([names.texts[code] for code in process[mine].tolist()], pa.string()),
            "who": sent.column("process").cast(pa.string()),
            "sent": pa.array(np.ones(sent.num_rows, np.bool_)),
            "failed": sent.column("failed"),
            "outcome": nothing,
            "step": pa.nulls(sent.num_rows, pa.int64()),
        }
    )


def _collect_held(split: Split) -> pa.Table:
    records, names = split.records, split.names
    some = pc.greater(pc.list_value_length(records.column("headers")), 0).to_numpy().astype(bool)
    internal = [number for number, text in enumerate(names.texts) if topic_of(text) in INTERNAL_TOPICS]
    rows = np.flatnonzero(some & ~split.marker & ~np.isin(split.key, internal))
    held = records.take(pa.array(rows))
    owned = split.owned[rows]
    process = np.where(owned, split.clients.process[split.txn[rows]] if split.many else owned, names.number(""))
    return pa.table(
        {
            "run": held.column("run"),
            "key": held.column("key").cast(pa.string()),
            "value": held.column("value"),
            "headers": held.column("headers"),
            "txn": held.column("txn").cast(pa.string()),
            "process": pa.array([names.texts[code] for code in process.tolist()], pa.string()),
            "who": pa.nulls(len(rows), pa.string()),
            "sent": pa.array(np.zeros(len(rows), np.bool_)),
            "failed": pa.array(np.zeros(len(rows), np.bool_)),
            "outcome": held.column("outcome").cast(pa.string()),
            "step": held.column("step"),
        }
    )


def through_of(split: Split) -> pa.Table:
    """Return the topics of which a run has committed offsets, whether by transactions, by plain commits or by both."""
    offsets = [number for number, text in enumerate(split.names.texts) if topic_of(text) == OFFSETS_TOPIC]
    keyed = pc.not_equal(pc.fill_null(split.records.column("record_key"), ""), "").to_numpy().astype(bool)
    rows = split.records.take(pa.array(np.flatnonzero(np.isin(split.key, offsets) & keyed)))
    each = rows.select(["run", "transactional", "record_key"])
    each = each.group_by(each.column_names).aggregate([])
    topics = [topic_of(key.rpartition("/")[2]) for key in each.column("record_key").to_pylist()]
    return once(each.append_column("topic", pa.array(topics, pa.string())), "through")


def topics_worked_on(outputs: pa.Table) -> pa.Table:
    """Return the topics of inputs of which some output took effect."""
    took = outputs.filter(pc.is_in(outputs.column("outcome"), pa.array([COMMITTED, PLAIN]))).select(["run", "input"])
    each = took.group_by(["run", "input"]).aggregate([])
    topics = pa.array([topic_of(key) for key in each.column("input").to_pylist()], pa.string())
    return once(each.append_column("topic", topics), "worked")


class SplitInputs:
    """The inputs of one split: rows of `known`, and which of them clearly have exactly the effects that they should."""

    def __init__(self, tables: Tables, labels: Labels) -> None:
        self.tables, self.labels = tables, labels
        self.known, self.outputs = tables["known"], tables["outputs"]
        texts = self.known.column("key").to_pylist()
        runs = longs(self.known, "run")
        keys = self._keys(set(zip(runs.tolist(), texts, strict=True)))
        chosen = [at for at, place in enumerate(zip(runs.tolist(), texts, strict=True)) if place in keys]
        self.rows = np.array(chosen, np.int64)
        self.run = runs[self.rows]
        self.key = [texts[at] for at in chosen]
        offsets = longs(self.known, "offset")[self.rows].tolist()
        self.source = [f"{key}@{offset}" for key, offset in zip(self.key, offsets, strict=True)]
        self.clear = self._clear()

    def _keys(self, there: set[tuple[int, str]]) -> set[tuple[int, str]]:
        found = set(zip(*(self.outputs.column(name).to_pylist() for name in ("run", "input")), strict=True))
        makers = {(m["run"], m["process"], topic_of(m["input"])) for m in self.tables["makers"].to_pylist()}
        for poll in self.tables["polled"].to_pylist():
            if (poll["run"], poll["process"], topic_of(poll["key"])) in makers:
                found.add((poll["run"], poll["key"]))
        declared = {(run, label.value) for run, of in self.labels.items() for label in of if label.name == INPUT}
        return found | {(run, key) for run, key in there if (run, topic_of(key)) in declared}

    def _clear(self) -> Flags:
        """Return a mask of inputs whose outputs have one value, topic and maker, as many committed as should be.

        Then every way of counting gives that number.
        """
        made, names = self.outputs, Names()
        of = names.codes(made.column("source"))
        wanted = np.array([names.number(text) for text in self.source], np.int64)
        pair = groups(np.concatenate([longs(made, "run"), self.run]), np.concatenate([of, wanted]))
        theirs, mine = pair[: made.num_rows], pair[made.num_rows :]
        size = int(pair.max(initial=-1)) + 1
        topics = names.codes(pa.chunked_array([[topic_of(key) for key in made.column("key").to_pylist()]], pa.string()))
        plain = ~made.column("txn").is_valid().to_numpy().astype(bool)
        process = np.where(plain, -1, names.codes(made.column("process")))
        place = groups(theirs, topics, process, names.codes(made.column("value"))) if made.num_rows else theirs
        once = np.unique(place, return_index=True)[1]
        places = np.bincount(theirs[once], minlength=size)
        final = np.isin(names.codes(made.column("outcome")), [names.number(COMMITTED), names.number(PLAIN)])
        many = np.bincount(theirs[final], minlength=size)
        expected = np.ones(len(mine), np.int64)
        for run, labels in self.labels.items():
            told: dict[str, int] = {}
            for label in labels:
                if label.name == EFFECTS:
                    of_place, _, number = label.value.rpartition("=")
                    told[of_place] = max(int(number), told.get(of_place, 0))
            for at in np.flatnonzero(self.run == run).tolist() if told else ():
                expected[at] = told.get(self.source[at], told.get("", 1))
        found: Flags = (places[mine] == 1) & (many[mine] == expected) & (expected > 0)
        return found


def effects(tables: Tables, labels: Labels) -> Judged:
    """Judge the inputs that do not clearly have the effects that they should have."""
    made = SplitInputs(tables, labels)
    examined: dict[int, int] = {}
    found: list[tuple[int, Finding]] = []
    for run in np.unique(made.run).tolist():
        mine = np.flatnonzero(made.run == run)
        clear = mine[made.clear[mine]]
        few = mine[~made.clear[mine]]
        if not len(few):
            examined[run] = len(clear)
            continue
        one_each = np.array(list({made.key[at]: at for at in clear[::-1].tolist()}.values()), np.int64)
        number, judged = exactly_once.examine(exactly_once, _view(made, run, np.concatenate([few, one_each])))
        if many := number + len(clear) - len(one_each):
            examined[run] = many
        found += [(run, finding) for finding in judged]
    return found, examined


def _view(made: SplitInputs, run: int, rows: Longs) -> View:
    """Return the view of these inputs, and of an input of each key that clearly has its effects."""
    tables = made.tables
    polls = tuple(Poll(process=p["process"], key=p["key"], group=p["group"]) for p in _of_run(tables["polled"], run))
    positions = tuple(
        Operation(function="offsets", process=p["process"], key=p["key"], value=p["value"])
        for p in _of_run(tables["positions"], run)
    )
    view = View(History(polls=polls, operations=positions, labels=made.labels.get(run, ())))
    known = made.known.take(pa.array(made.rows[rows])).sort_by([("key", "ascending"), ("offset", "ascending")])
    for row in known.to_pylist():
        record = LogRecord(key=row["key"], offset=row["offset"], value=row["value"], step=row["step"])
        view.logs.setdefault(record.key, [])
        view.known.setdefault(record.key, []).append(record.offset)
        view.at[record.key, record.offset] = record
    for maker in _of_run(tables["makers"], run):
        headers = (f"{SOURCE}={maker['input']}@-1",)
        view.sends.append(Send(Operation(function="send", process=maker["process"], headers=headers), None))
    _add_outputs(view, made, run, [made.source[at] for at in rows.tolist()])
    _add_commits(view, tables, run)
    _add_topics_worked_on(view, tables, run)
    return view


def _add_topics_worked_on(view: View, tables: Tables, run: int) -> None:
    """Add an output that took effect for each topic of inputs: those of this split may have none."""
    for at, row in enumerate(_of_run(tables["worked"], run)):
        place = (WORKED, at)
        view.logs.setdefault(WORKED, []).append(
            LogRecord(key=WORKED, offset=at, headers=(f"{SOURCE}={row['topic']}-@-1",))
        )
        view.outcomes[place] = PLAIN


def _add_outputs(view: View, made: SplitInputs, run: int, sources: list[str]) -> None:
    of_them = pc.is_in(made.outputs.column("source"), pa.array(sources, pa.string()))
    here = pc.and_(pc.equal(made.outputs.column("run"), run), of_them)
    transactions: dict[str, ClientTxn] = {}
    for at, row in enumerate(made.outputs.filter(here).to_pylist()):
        headers, owner = (f"{SOURCE}={row['source']}",), None
        if row["txn"] is not None:
            owner = transactions.setdefault(row["txn"], ClientTxn(row["txn"], row["process"]))
        if row["sent"]:
            client, _, number = (row["txn"] or "").rpartition(", transaction ")
            invoke = Operation(
                function="send", process=row["who"], client=client, transaction=int(number or -1), key=row["key"],
                value=row["value"], headers=headers,
            )  # fmt: skip
            view.sends.append(Send(invoke, Operation(type="fail") if row["failed"] else None))
            continue
        place = (row["key"], AFTER_ALL + at)
        record = LogRecord(key=place[0], offset=place[1], value=row["value"], step=row["step"], headers=headers)
        view.logs.setdefault(record.key, []).append(record)
        view.outcomes[place] = row["outcome"]
        if owner is not None:
            view.transaction_of[place] = owner
    view.transactions = list(transactions.values())


def _add_commits(view: View, tables: Tables, run: int) -> None:
    """Add the highest offset that each group has committed of each key, and whether all went through transactions."""
    highest: dict[str, dict[str, Any]] = {}
    for row in _of_run(tables["commits"], run):
        known = highest.get(row["record_key"])
        if known is None or int(known["value"] or -1) < int(row["value"] or -1):
            highest[row["record_key"]] = row
    key = f"{OFFSETS_TOPIC}-0"
    records = [(row["record_key"], row["value"], True, str(row["outcome"])) for row in highest.values()]
    through = _of_run(tables["through"], run)
    records += [(f"/{row['topic']}-", None, row["transactional"], "") for row in through]
    for at, (record_key, value, transactional, outcome) in enumerate(records):
        record = LogRecord(key=key, offset=at, record_key=record_key, value=value, transactional=transactional)
        view.logs.setdefault(key, []).append(record)
        view.outcomes[key, at] = outcome


def _of_run(table: pa.Table, run: int) -> Iterator[dict[str, Any]]:
    yield from table.filter(pc.equal(table.column("run"), run)).to_pylist()
