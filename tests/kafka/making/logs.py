"""Families logs, administration and restart: offsets by time, deleted records, topics, what a stopped broker keeps."""

from __future__ import annotations

from itertools import product

from tests.kafka.making.steps import (
    READ_COMMITTED,
    READ_UNCOMMITTED,
    V2,
    Script,
    Step,
    add,
    add_offsets,
    append,
    ask,
    commit_offsets,
    commit_plain,
    describe,
    end,
    expect,
    fetch,
    idempotent,
    init,
    list_offsets,
    offsets,
    producers,
    script,
    settle,
    write,
    write_plain,
)

TIMES = (-1, -2, -3, -4, -5, -6, -7, 0, 5, 10, 11, 99_999)


def fill() -> dict[str, list[Step]]:
    """Return partitions with different contents."""
    x = [init("x"), add("x", "t-0")]
    return {
        "empty": [],
        "plain": [append("t-0", "ab", 5), append("t-0", "c", 10)],
        "times_back": [append("t-0", "a", 10), append("t-0", "b", 5), append("t-0", "c", 10)],
        "open": [append("t-0", "a", 5), *x, write("x", "t-0", 0, "bc", timestamp_ms=10)],
        "committed": [
            append("t-0", "a", 5),
            *x,
            write("x", "t-0", 0, "bc", timestamp_ms=10),
            end("x", True),
            settle(),
        ],
        "aborted": [append("t-0", "a", 5), *x, write("x", "t-0", 0, "bc", timestamp_ms=10), end("x", False), settle()],
        "deleted": [append("t-0", "ab", 5), append("t-0", "c", 10), delete(2)],
        "deleted_all": [append("t-0", "ab", 5), append("t-0", "c", 10), delete(-1)],
    }


def delete(at: int) -> Step:
    """DeleteRecords of t-0."""
    return ask("DeleteRecords", "leader of t-0", 2, {"offsets": {"t-0": at}})


def by_time() -> list[Script]:
    """Return ListOffsets of every kind for each content and isolation level."""
    return [
        script(f"logs.list_offsets_{name}_{isolation}", *steps, *(list_offsets(t, isolation, version=9) for t in TIMES))
        for (name, steps), isolation in product(fill().items(), (READ_UNCOMMITTED, READ_COMMITTED))
    ]


def make_deletions() -> list[Script]:
    """Return DeleteRecords around transactions and idempotent producers."""
    x = [init("x"), add("x", "t-0"), write("x", "t-0", 0, "abc")]
    seen = [fetch(), fetch(at=3), fetch(isolation=READ_UNCOMMITTED), producers(), list_offsets(-2)]
    rows: dict[str, list[Step]] = {
        "in_open_transaction": [*x, delete(2), *seen, end("x", True), settle()],
        "up_to_open_transaction": [*x, delete(-1), *seen, end("x", False), settle()],
        "after_abort": [*x, end("x", False), settle(), append("t-0", "z"), delete(2)],
        "all_after_abort": [*x, end("x", False), settle(), append("t-0", "z"), delete(-1)],
        "below_start": [append("t-0", "abc"), delete(2), delete(1)],
        "above_end": [append("t-0", "abc"), delete(4)],
        "at_end": [append("t-0", "abc"), delete(3)],
        "negative": [append("t-0", "abc"), delete(-2)],
        "then_next_sequence": [
            idempotent(),
            write_plain("p", "t-0", 0, "abc"),
            delete(3),
            write_plain("p", "t-0", 3, "d"),
        ],
        "then_gap": [idempotent(), write_plain("p", "t-0", 0, "abc"), delete(3), write_plain("p", "t-0", 5, "d")],
        "then_duplicate": [
            idempotent(),
            write_plain("p", "t-0", 0, "abc"),
            delete(3),
            write_plain("p", "t-0", 0, "abc"),
        ],
        "fetch_out_of_range": [append("t-0", "abc"), delete(2), fetch(at=0), fetch(at=1), fetch(at=4)],
    }
    return [script(f"logs.delete_{name}", *steps, *seen) for name, steps in rows.items()]


def administration() -> list[Script]:
    """Return what administrators ask."""

    def create(*topics: Step, **fields: object) -> Step:
        return ask("CreateTopics", "b1", 7, {"topics": list(topics), **fields})

    def list_transactions(**fields: object) -> Step:
        return ask("ListTransactions", "b1", 2, fields)

    one = {"name": "new", "num_partitions": 1, "replication_factor": 1}
    states = [
        init("empty"),
        init("open"),
        add("open", "t-0"),
        init("done"),
        add("done", "t-0"),
        end("done", True),
        settle(),
        init("gone"),
        add("gone", "t-0"),
        end("gone", False),
        settle(),
    ]
    names = (
        "Empty",
        "Ongoing",
        "PrepareCommit",
        "PrepareAbort",
        "CompleteCommit",
        "CompleteAbort",
        "Dead",
        "PrepareEpochFence",
        "ongoing",
        "Odd",
        "",
    )
    rows: dict[str, list[Step]] = {
        "create": [create(one), {**fetch("new-0"), "to": "b1", "until": "NONE"}],
        "create_existing": [create({**one, "name": "t"})],
        "create_twice_in_one": [create(one, one)],
        "create_several_some_wrong": [create(one, {**one, "name": "t"}, {**one, "name": "zero", "num_partitions": 0})],
        "create_no_partitions": [create({**one, "num_partitions": 0})],
        "create_negative_partitions": [create({**one, "num_partitions": -2})],
        "create_default": [create({"name": "new"})],
        "create_no_replicas": [create({**one, "replication_factor": 0})],
        "create_too_many_replicas": [create({**one, "replication_factor": 4})],
        "create_empty_name": [create({**one, "name": ""})],
        "create_bad_name": [create({**one, "name": "a/b"})],
        "create_dots": [create({**one, "name": "."})],
        "create_long_name": [create({**one, "name": "n" * 250})],
        "create_colliding_name": [create({**one, "name": "a.b"}), create({**one, "name": "a_b"})],
        "create_internal": [
            create({**one, "name": "__consumer_offsets"}),
            create({**one, "name": "__transaction_state"}),
        ],
        "create_only_validate": [
            create(one, validate_only=True),
            create({**one, "name": "t"}, validate_only=True),
            {**fetch("new-0"), "to": "b1"},
        ],
        "describe_cluster": [ask("DescribeCluster", "b1", 2, {})],
        "describe_transactions_empty_id": [ask("DescribeTransactions", "b1", 0, {"transactional_ids": [""]})],
        "describe_transactions_several": [*states, describe("empty", "open", "done", "gone", "nobody")],
        "list_transactions": [*states, list_transactions()],
        **{
            f"list_transactions_of_state_{n or 'without_name'}": [*states, list_transactions(state_filters=[n])]
            for n in names
        },
        "list_transactions_two_states": [*states, list_transactions(state_filters=["Empty", "Ongoing", "Odd"])],
        "list_transactions_of_producer": [*states, list_transactions(producer_id_filters=["$open.producer_id"])],
        "list_transactions_of_two": [
            *states,
            list_transactions(producer_id_filters=["$open.producer_id", "$done.producer_id", 700_000_001]),
        ],
        "list_transactions_state_and_producer": [
            *states,
            list_transactions(state_filters=["Empty"], producer_id_filters=["$open.producer_id"]),
        ],
        "list_transactions_duration_zero": [*states, list_transactions(duration_filter_ms=0)],
        "list_transactions_duration_long": [*states, list_transactions(duration_filter_ms=100_000)],
        "list_transactions_pattern": [*states, list_transactions(transactional_id_pattern="o.*")],
        "list_transactions_pattern_part": [*states, list_transactions(transactional_id_pattern="ope")],
        "list_transactions_bad_pattern": [*states, list_transactions(transactional_id_pattern="(")],
        "describe_producers_unknown": [producers("nope-0"), {**producers("t-7"), "to": "b1"}],
        "describe_producers_of_group": [
            init("x"),
            add_offsets("x", "g"),
            commit_offsets("x", "g", {"t-0": 1}),
            producers("offsets of g"),
            end("x", True),
            settle(),
            producers("offsets of g"),
        ],
        "find_coordinator_unknown_type": [ask("FindCoordinator", "b1", 3, {"key": "k", "key_type": 7})],
        "find_coordinator_empty_key": [
            ask("FindCoordinator", "b1", v, {"key": "", "key_type": t}) for v in (3, 4) for t in (0, 1)
        ],
    }
    return [script(f"administration.{name}", *steps) for name, steps in rows.items()]


def restart() -> list[Script]:
    """Return what a broker knows after a clean stop and after a kill."""
    found = []
    long = 600_000
    x = [init("x", long), add("x", "t-0"), write("x", "t-0", 0, "a")]
    v2 = [init("x", long), write("x", "t-0", 0, "a", protocol=V2)]
    plain = [idempotent(), write_plain("p", "t-0", 0, "a"), write_plain("p", "t-0", 1, "b")]
    seen = [fetch(), list_offsets(-1, READ_COMMITTED), producers()]
    rows: dict[str, tuple[list[Step], list[Step]]] = {
        "duplicate_of_last": (plain, [write_plain("p", "t-0", 1, "b")]),
        "duplicate_of_first": (plain, [write_plain("p", "t-0", 0, "a")]),
        "next": (plain, [write_plain("p", "t-0", 2, "c")]),
        "gap": (plain, [write_plain("p", "t-0", 4, "c")]),
        "open_then_commit": (x, [describe("x"), write("x", "t-0", 1, "b"), end("x", True), settle()]),
        "open_then_init": (x, [init("x", long), describe("x")]),
        "open_v2_then_commit": (v2, [write("x", "t-0", 1, "b", protocol=V2), end("x", True, V2, once=True), settle()]),
        "empty": ([init("x", long)], [describe("x"), init("x", long)]),
        "committed": ([*x, end("x", True), settle()], [describe("x"), end("x", True), add("x", "t-0")]),
        "aborted": ([*x, end("x", False), settle()], [describe("x"), end("x", False), fetch(at=1)]),
        "committed_v2_retried": (
            [*v2, end("x", True, V2, once=True), settle()],
            [end("x", True, V2, once=True), describe("x")],
        ),
        "epoch_after_init": (
            [init("x", long), init("x", long)],
            [write("x", "t-0", 0, "a", "-1", V2), write("x", "t-0", 0, "a", protocol=V2), describe("x")],
        ),
        "expected_epoch_retried": ([init("x", long), expect("x")], [expect("x")]),
        "pending_offsets": (
            [
                init("x", long),
                add_offsets("x", "g"),
                commit_plain("g", {"t-0": 1}),
                commit_offsets("x", "g", {"t-0": 5}),
            ],
            [
                offsets("g", ["t-0"]),
                offsets("g", ["t-0"], True),
                end("x", True),
                settle(),
                offsets("g", ["t-0"], True),
            ],
        ),
        "deleted_records": ([append("t-0", "abc"), delete(2)], [list_offsets(-2), fetch(at=1)]),
    }
    for kind, (name, (before, after)) in product(("clean", "kill"), rows.items()):
        new = "v2" in name or name == "epoch_after_init"
        more = {"levels": [1, 2]} if new else {}
        found.append(script(f"restart.{kind}_{name}", *before, {"stop": kind}, *after, *seen, **more))
    return found


FAMILIES = {"logs": [*by_time(), *make_deletions()], "administration": administration(), "restart": restart()}
