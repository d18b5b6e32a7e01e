"""The tables of a history: what a run leaves in them, how they are saved, what a damaged file is told."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from kafkalab import lab03
from kafkalab.checks.all import check_all
from kafkalab.faults.frame import Drop
from kafkalab.faults.node import Crash, Restart
from kafkalab.faults.partition import ElectLeader
from kafkalab.faults.storage import Compact
from kafkalab.history.export import history_of
from kafkalab.history.history import History, load_history
from kafkalab.history.schema import ROWS, TYPES, columns_of
from kafkalab.programs.steps import abort, add, commit, init, produce
from kafkalab.sim.cluster import Cluster
from kafkalab.sim.scenario import Program, Scenario

SAVED_BEFORE = Path(__file__).parents[1] / "saved_before"
PROFILES = ("4.x/TV1", "4.x/TV2")


def history(scenario: Scenario) -> History:
    cluster = Cluster(scenario)
    cluster.run()
    return history_of(cluster)


@pytest.mark.parametrize("table", ROWS)
def test_every_column_has_a_type_and_a_sentence(table: str) -> None:
    assert [c.name for c in columns_of(table)] == list(ROWS[table]._fields)
    assert [c for c in columns_of(table) if c.type not in TYPES or not c.doc] == []


@pytest.mark.parametrize("profile", PROFILES)
def test_the_operations_of_lab_03_are_those_of_its_program(profile: str) -> None:
    found = history(lab03(profile)).operations
    ended = [(o.function, o.key, o.value, o.offset, o.transaction) for o in found if o.type == "ok"]
    assert ended == [
        ("init", "", None, -1, -1),
        ("assign", "transfers-0", None, 0, -1),
        ("poll", "", None, -1, -1),
        ("begin", "", None, -1, 1),
        ("send", "accounts-0", "-10", 0, 1),
        ("send", "accounts-0", "-25", 1, 1),
        ("send", "accounts-1", "+10", 0, 1),
        ("send", "accounts-1", "+25", 1, 1),
        ("offsets", "transfers-0", "payments", 2, 1),
        ("commit", "", None, -1, 1),
    ]
    assert [o.index for o in found] == list(range(len(found)))
    assert all(found[o.invocation].type == "invoke" for o in found if o.type != "invoke")


@pytest.mark.parametrize("profile", PROFILES)
def test_the_log_holds_records_markers_and_offsets_and_the_reads_what_was_polled(profile: str) -> None:
    found = history(lab03(profile))
    rows = [(r.key, r.offset, r.record_key, r.value, r.sequence, r.control) for r in found.log]
    assert rows[:5] == [
        ("__consumer_offsets-13", 0, "payments/transfers-0", "2", 0, ""),
        ("__consumer_offsets-13", 1, None, None, -1, "COMMIT"),
        ("accounts-0", 0, None, "-10", 0, ""),
        ("accounts-0", 1, None, "-25", 1, ""),
        ("accounts-0", 2, None, None, -1, "COMMIT"),
    ]
    assert [(r.consumer, r.poll, r.index, r.offset, r.value) for r in found.reads] == [
        ("app/consumer-1", 1, 0, 0, "10"),
        ("app/consumer-1", 1, 1, 1, "25"),
    ]
    assert [(p.key, p.start, p.end, p.moved) for p in found.polls] == [("transfers-0", 0, 2, "assign")]
    states = ["Empty", "Ongoing", "Ongoing", "Ongoing", "PrepareCommit", "CompleteCommit"]
    assert [t.state for t in found.transactions] == states
    assert found.label("profile") == (profile,)


def test_a_batch_sent_twice_is_one_send_and_a_send_without_an_answer_ends_in_info() -> None:
    lost = history(lab03().with_faults(Drop("ProduceResponse#1")))
    sends = [(o.type, o.value) for o in lost.operations if o.function == "send" and o.key == "accounts-0"]
    assert sends == [("invoke", "-10"), ("invoke", "-25"), ("ok", "-10"), ("ok", "-25")]
    step = next(f.sent_step for f in lost.frames if f.id == "Produce#1")
    crashed = history(lab03().with_faults(Crash("app", at_step=step)))
    assert [o.type for o in crashed.operations if o.function == "send"] == ["invoke", "invoke", "info", "info"]


def test_a_program_by_hand_has_operations_too() -> None:
    steps = [
        init("a"), add("a", "out-0"), produce("a", "out-0", 0, "x"), produce("a", "out-0", 7, "y"), abort("a"),
        {**add("a", "out-0"), "until": "NONE"}, produce("a", "out-0", 1, "z"), commit("a", "+1"),
    ]  # fmt: skip
    found = history(Scenario(topics={"out": 1}, programs=(Program("hand", "raw_requests", {"steps": steps}),)))
    ended = [(o.function, o.type, o.value, o.error, o.transaction) for o in found.operations if o.type != "invoke"]
    assert ended == [
        ("init", "ok", None, "NONE", -1),
        ("send", "ok", "x", "NONE", 1),
        ("send", "fail", "y", "OUT_OF_ORDER_SEQUENCE_NUMBER", 1),
        ("abort", "ok", None, "NONE", 1),
        ("send", "ok", "z", "NONE", 2),
        ("commit", "fail", None, "PRODUCER_FENCED", 2),
    ]


def test_a_run_without_events_has_no_history() -> None:
    cluster = Cluster(lab03(), keep=False)
    cluster.run()
    with pytest.raises(ValueError, match=r"^this run kept no events \(keep=False\): a history cannot be made of it$"):
        history_of(cluster)


def test_a_history_of_the_trace_alone_differs_in_its_labels_only() -> None:
    cluster = Cluster(lab03())
    cluster.run()
    whole, bare = history_of(cluster), history_of(cluster.trace)
    assert [name for name in ROWS if whole.table(name) != bare.table(name)] == ["labels"]


def test_what_is_saved_is_read_back(tmp_path: Path) -> None:
    path, found = tmp_path / "run.jsonl", history(lab03())
    found.save(path)
    assert load_history(path) == found
    again = tmp_path / "again.jsonl"
    load_history(path).save(again)
    assert again.read_bytes() == path.read_bytes()


def damage(lines: list[str], what: str) -> list[str]:
    if what == "cut off":
        return lines[:-3]
    if what == "half a line":
        return [*lines[:-1], lines[-1][:10]]
    if what == "another format":
        return ['{"format":"kafkalab-trace","version":1}', *lines[1:]]
    if what == "a newer version":
        return [lines[0].replace('"version":3', '"version":9'), *lines[1:]]
    if what == "a wrong type":
        return [lines[0], json.dumps({"labels": ["title", 7]}), *lines[2:]]
    if what == "a missing column":
        return [lines[0], json.dumps({"labels": ["title"]}), *lines[2:]]
    return [lines[0], json.dumps({"colours": ["red"]}), *lines[2:]]


@pytest.mark.parametrize(
    ("what", "message"),
    [
        ("cut off", "holds 1 of 4 rows of labels; the file is cut off"),
        ("half a line", "is not JSON .*; the file is damaged or cut off"),
        ("another format", "is not a history that kafkalab saved: its format is 'kafkalab-trace'"),
        ("a newer version", "is a history of version 9; this kafkalab reads 1 to 3"),
        ("a wrong type", "line 2: labels.value is 7, but its type is string"),
        ("a missing column", "line 2 has 1 values; the table labels has 2 columns"),
        ("an unknown table", "line 2 holds 'colours', which is no table; there are operations"),
    ],
)
def test_a_damaged_file_is_named_with_what_is_wrong(tmp_path: Path, what: str, message: str) -> None:
    path = tmp_path / "run.jsonl"
    history(lab03()).save(path)
    path.write_text("\n".join(damage(path.read_text().splitlines(), what)) + "\n")
    with pytest.raises(ValueError, match=f"run.jsonl.*{message}"):
        load_history(path)


def test_an_empty_file_is_no_history(tmp_path: Path) -> None:
    path = tmp_path / "empty.jsonl"
    path.write_text("")
    with pytest.raises(ValueError, match=r"empty.jsonl is not a history"):
        load_history(path)


def test_a_file_of_version_1_is_read_with_todays_names_of_frames(tmp_path: Path) -> None:
    path = SAVED_BEFORE / "history.jsonl"
    assert "EndTxnReply#1" in path.read_text()
    today = history(lab03())
    assert any(row.headers for row in today.log)
    assert load_history(path) == replace(
        today,
        log=tuple(row._replace(headers=()) for row in today.log),
        operations=tuple(row._replace(headers=()) for row in today.operations),
    )
    load_history(path).save(tmp_path / "again.jsonl")
    assert '"version":3' in (tmp_path / "again.jsonl").read_text()


def test_a_file_of_version_2_has_no_headers_and_its_effects_are_unknown(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    history(lab03()).save(path)
    lines = []
    for line in path.read_text().splitlines():
        item = json.loads(line)
        for table in ("log", "operations"):
            if table in item:
                assert isinstance(item[table].pop(), list)
        lines.append(json.dumps(item).replace('"version": 3', '"version": 2'))
    path.write_text("\n".join(lines) + "\n")
    loaded = load_history(path)
    assert not any(row.headers for rows in (loaded.log, loaded.operations) for row in rows)
    assert check_all(history(lab03()))["exactly-once"].verdict == "ok"
    assert check_all(loaded)["exactly-once"].verdict == "unknown"


def test_headers_are_in_the_operation_and_in_the_record() -> None:
    today = history(lab03())
    sent = [o.headers for o in today.operations if (o.function, o.type) == ("send", "ok")]
    assert sent == [("kafkalab-source=transfers-0@0",), ("kafkalab-source=transfers-0@1",)] * 2
    assert [r.headers for r in today.log if r.key.startswith("accounts") and not r.control] == sent


def test_records_that_were_cleaned_before_the_last_leader_read_the_log_are_compacted_not_truncated() -> None:
    key = "__transaction_state-22"
    alone = lab03().with_faults(Crash("b1", at_step=60))
    complete = max(e.step for e in Cluster(alone).run().events if (e.kind, e.name) == ("append", key))
    lagging = alone.with_faults(Compact(key, at_step=complete + 5), Restart("b1", at_step=complete + 8))
    caught_up = Cluster(lagging)
    caught_up.run()
    caught_up.run_for(5_000)
    cluster = Cluster(lagging.with_faults(ElectLeader(key, "b1", at_step=caught_up.trace.steps - 1)))
    cluster.run()
    cluster.run_for(20_000)
    assert cluster.controller.metadata.leader(key) == "b1"
    assert [o for batch in cluster.brokers["b1"].state.logs[key].batches for o in batch.offsets] == [0, 5]
    removed = [(r.offset, r.removed) for r in history_of(cluster).transactions]
    assert removed == [(0, ""), *((offset, "compacted") for offset in (1, 2, 3, 4)), (5, "")]


def test_a_record_whose_place_another_one_has_taken_is_truncated() -> None:
    """Its offset is used again in epoch 1, and the last leader goes on in epoch 2."""
    steps = [["send", "out", "a", None, 0], ["flush"], ["send", "out", "b", None, 0], ["flush"]]
    scenario = Scenario(topics={"out": 1}, programs=(Program("p", "operations", {"steps": steps}),))
    faults = ElectLeader("out-0", "b1", at_step=30), Crash("b1", at_step=86)
    found = history(scenario.with_faults(*faults))
    rows = [(r.offset, r.leader_epoch, r.value, r.removed) for r in found.log]
    assert rows == [(0, 0, "a", "truncated"), (0, 1, "a", ""), (1, 2, "b", "")]
    assert check_all(found).violated == ()
