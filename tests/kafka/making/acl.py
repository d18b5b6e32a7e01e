"""Family acl: what a client is refused for want of a permission, and by small limits of the broker."""

from __future__ import annotations

from tests.kafka.making.groups import JOINED, describe_groups, heartbeat, join, leave, sync
from tests.kafka.making.steps import (
    V2,
    Script,
    Step,
    add,
    add_offsets,
    append,
    ask,
    batch,
    commit_offsets,
    commit_plain,
    describe,
    end,
    fetch,
    idempotent,
    init,
    list_offsets,
    mark,
    me,
    offsets,
    once,
    produce,
    producers,
    script,
    settle,
    sleep,
    write,
    write_plain,
)

ID, GROUP, TOPIC, OTHER, CLUSTER = "TransactionalId:x", "Group:g", "Topic:t", "Topic:u", "Cluster"
EVERY_TOPIC = "Topic:*"
NOBODY = {"producer_id": 700_000_001, "producer_epoch": 0}
"""Whoever may not initialise has no producer id; permissions are asked before ids."""
STRANGER = {"transactional_id": "x", **NOBODY}
MEMBER = {"group_id": "g", "member_id": "m", "generation_id": 1}
G, X = "group coordinator of g", "coordinator of x"
BOTH = ["t-0", "u-0"]
LATEST = -1


def foreign(partition: str) -> Step:
    """Return a transactional batch of a producer that no coordinator knows."""
    return {"values": ["a"], "timestamp_ms": 0, **NOBODY, "base_sequence": 0, "transactional": True}


BEGUN = [init("x"), write("x", "t-0", 0, "a", protocol=V2), write("x", "u-0", 0, "a", protocol=V2)]
ADDED = [init("x"), add("x", "t-0"), write("x", "t-0", 0, "a")]
ROWS: dict[str, tuple[list[tuple[str, str]], list[Step]]] = {
    "init_without_id_write": ([("WRITE", ID)], [once(init("x")), once(init("x", version=1))]),
    "init_without_id_describe": ([("DESCRIBE", ID)], [once(init("x", version=4))]),
    "init_without_any_id": ([("WRITE", "TransactionalId:*")], [once(init("x"))]),
    "init_without_ids_of_a_prefix": ([("ALL", "TransactionalId:x*")], [once(init("x"))]),
    "init_without_another_id": ([("WRITE", "TransactionalId:y")], [init("x"), describe("x")]),
    "idempotent_without_idempotent_write": (
        [("IDEMPOTENT_WRITE", CLUSTER)],
        [idempotent(), write_plain("p", "t-0", 0, "a")],
    ),
    "idempotent_without_topic_write": ([("WRITE", EVERY_TOPIC)], [idempotent(), write_plain("p", "t-0", 0, "a")]),
    "idempotent_without_both": (
        [("IDEMPOTENT_WRITE", CLUSTER), ("WRITE", EVERY_TOPIC)],
        [ask("InitProducerId", "b1", v, {"transactional_id": None}) for v in (1, 5)],
    ),
    "idempotent_without_one_topic": (
        [("IDEMPOTENT_WRITE", CLUSTER), ("WRITE", TOPIC)],
        [idempotent(), write_plain("p", "t-0", 0, "a"), write_plain("p", "u-0", 0, "a")],
    ),
    "add_without_id_write": (
        [("WRITE", ID)],
        [ask("AddPartitionsToTxn", X, v, {**STRANGER, "partitions": BOTH}) for v in (0, 3, 4, 5)],
    ),
    "add_without_one_topic": ([("WRITE", TOPIC)], [init("x"), add("x", *BOTH), add("x", "u-0"), describe("x")]),
    "add_without_topics": (
        [("WRITE", EVERY_TOPIC)],
        [init("x"), add("x", *BOTH), add("x", *BOTH, version=1), describe("x")],
    ),
    "add_unknown_and_forbidden": ([("WRITE", TOPIC)], [init("x"), add("x", "t-0", "nope-0", "u-0"), describe("x")]),
    "add_for_a_client": (
        [("CLUSTER_ACTION", CLUSTER)],
        [
            init("x"),
            *(ask("AddPartitionsToTxn", X, v, {**me("x"), "partitions": BOTH}) for v in (3, 4, 5)),
            ask("AddPartitionsToTxn", X, 4, {**me("x"), "partitions": BOTH, "verify_only": True}),
            describe("x"),
        ],
    ),
    "add_for_a_client_without_topic": (
        [("WRITE", TOPIC)],
        [init("x"), *(ask("AddPartitionsToTxn", X, v, {**me("x"), "partitions": BOTH}) for v in (4, 5)), describe("x")],
    ),
    "add_offsets_without_id_write": ([("WRITE", ID)], [ask("AddOffsetsToTxn", X, 3, {**STRANGER, "group_id": "g"})]),
    "add_offsets_without_group_read": ([("READ", GROUP)], [init("x"), add_offsets("x", "g"), describe("x")]),
    "end_without_id_write": (
        [("WRITE", ID)],
        [ask("EndTxn", X, v, {**STRANGER, "committed": True}) for v in (0, 3, 5)],
    ),
    "produce_without_id_write": (
        [("WRITE", ID)],
        [produce("x", {p: foreign(p) for p in BOTH}, v) for v in (3, 11, 12)] + [fetch(), fetch("u-0")],
    ),
    "produce_without_topic_write": (
        [("WRITE", TOPIC)],
        [
            init("x"),
            produce("x", {p: batch("x", 0, "a") for p in BOTH}, 12),
            describe("x"),
            end("x", True, V2),
            settle(),
            fetch("u-0"),
            fetch(),
            append("t-0", "z"),
            produce(None, {p: {"values": ["b"], "timestamp_ms": 0} for p in BOTH}, 9),
        ],
    ),
    "produce_unknown_and_forbidden": (
        [("WRITE", "Topic:nope")],
        [produce(None, {p: {"values": ["b"], "timestamp_ms": 0} for p in ("u-0", "nope-0")}, 9)],
    ),
    "produce_without_describe": (
        [("DESCRIBE", TOPIC)],
        [produce(None, {"t-0": {"values": ["b"], "timestamp_ms": 0}}, 9)],
    ),
    "produce_idempotent_without_right": (
        [("IDEMPOTENT_WRITE", CLUSTER), ("WRITE", EVERY_TOPIC)],
        [produce(None, {"t-0": {**foreign("t-0"), "transactional": False}}, 9)],
    ),
    "txn_offsets_without_id_write": (
        [("WRITE", ID)],
        [
            ask("TxnOffsetCommit", G, v, {**STRANGER, "group_id": "g", "offsets": {"t-0": 1, "u-0": 1}})
            for v in (0, 3, 5)
        ],
    ),
    "txn_offsets_without_group_read": (
        [("READ", GROUP)],
        [init("x"), *(commit_offsets("x", "g", {"t-0": 1}, version=v) for v in (3, 5)), describe("x")],
    ),
    "txn_offsets_without_topic_read": (
        [("READ", TOPIC)],
        [
            init("x"),
            commit_offsets("x", "g", {"t-0": 1, "u-0": 2, "nope-0": 3}, version=5),
            end("x", True, V2),
            settle(),
            offsets("g", None),
        ],
    ),
    "txn_offsets_without_any_topic": (
        [("READ", EVERY_TOPIC)],
        [init("x"), commit_offsets("x", "g", {"t-0": 1, "u-0": 2}, version=5), describe("x")],
    ),
    "offsets_without_group_read": ([("READ", GROUP)], [commit_plain("g", {"t-0": 1, "u-0": 1}, v) for v in (2, 8, 9)]),
    "offsets_without_topic_read": (
        [("READ", TOPIC)],
        [commit_plain("g", {"t-0": 1, "u-0": 2, "nope-0": 3}), offsets("g", None), offsets("g", BOTH)],
    ),
    "offset_fetch_without_group_describe": (
        [("DESCRIBE", GROUP)],
        [
            commit_plain("g", {"t-0": 1}),
            *(offsets("g", ["t-0"], version=v) for v in (1, 2, 7, 8, 9)),
            offsets("g", None),
        ],
    ),
    "offset_fetch_without_topic_describe": (
        [("DESCRIBE", TOPIC)],
        [
            commit_plain("g", {"t-0": 1, "u-0": 2}),
            *(offsets("g", partitions, version=v) for partitions in (BOTH, None) for v in (2, 7, 8, 9)),
            offsets("g", ["nope-0", "t-0"]),
        ],
    ),
    "fetch_without_topic_read": (
        [("READ", TOPIC)],
        [
            append("t-0", "a"),
            append("u-0", "a"),
            *(
                ask(
                    "Fetch",
                    "leader of t-0",
                    v,
                    {"isolation_level": "read_committed", "positions": dict.fromkeys(names, 0)},
                )
                for v in (4, 12)
                for names in (["t-0"], BOTH, ["t-0", "nope-0"])
            ),
        ],
    ),
    "fetch_without_describe": ([("DESCRIBE", TOPIC)], [append("t-0", "a"), fetch()]),
    "list_offsets_without_topic_describe": (
        [("DESCRIBE", TOPIC)],
        [
            append("t-0", "a"),
            *(list_offsets(LATEST, version=v) for v in (1, 7)),
            ask("ListOffsets", "leader of u-0", 7, {"partitions": [*BOTH, "nope-0"], "timestamp": LATEST}),
        ],
    ),
    "list_offsets_without_topic_read": ([("READ", TOPIC)], [append("t-0", "a"), list_offsets(LATEST)]),
    "delete_records_without_topic_delete": (
        [("DELETE", TOPIC)],
        [
            append("t-0", "a"),
            append("u-0", "a"),
            ask("DeleteRecords", "leader of t-0", 2, {"offsets": {"t-0": 1, "u-0": 1, "nope-0": 1}}),
            list_offsets(-2),
        ],
    ),
    "describe_transactions_without_id_describe": (
        [("DESCRIBE", ID)],
        [once(init("x")), ask("DescribeTransactions", X, 0, {"transactional_ids": ["x", "y"]})],
    ),
    "describe_transactions_without_topic_describe": ([("DESCRIBE", TOPIC)], [*BEGUN, describe("x")]),
    "list_transactions_without_id_describe": (
        [("DESCRIBE", ID)],
        [
            once(init("x")),
            init("y"),
            ask("ListTransactions", "coordinator of y", 1, {}),
            ask("ListTransactions", "coordinator of y", 1, {"state_filters": ["Empty"]}),
        ],
    ),
    "describe_producers_without_topic_read": (
        [("READ", TOPIC)],
        [*BEGUN, producers(*BOTH), producers("nope-0", "t-0")],
    ),
    "describe_producers_without_describe": ([("DESCRIBE", TOPIC)], [*BEGUN, producers(*BOTH)]),
    "markers_without_alter": (
        [("ALTER", CLUSTER)],
        [*ADDED, mark("$x.producer_id", "$x.producer_epoch", ["t-0"]), producers()],
    ),
    "markers_without_cluster_action": (
        [("CLUSTER_ACTION", CLUSTER)],
        [*ADDED, mark("$x.producer_id", "$x.producer_epoch", ["t-0"]), producers()],
    ),
    "markers_without_both": (
        [("CLUSTER_ACTION", CLUSTER), ("ALTER", CLUSTER)],
        [*ADDED, *(mark("$x.producer_id", "$x.producer_epoch", BOTH, version=v) for v in (1, 2)), producers()],
    ),
    "find_coordinator_without_group_describe": (
        [("DESCRIBE", GROUP)],
        [ask("FindCoordinator", "b1", v, {"key": k, "key_type": 0}) for v in (1, 4) for k in ("g", "h")],
    ),
    "find_coordinator_without_id_describe": (
        [("DESCRIBE", ID)],
        [ask("FindCoordinator", "b1", v, {"key": k, "key_type": 1}) for v in (1, 4) for k in ("x", "y")],
    ),
    "member_without_group_read": (
        [("READ", GROUP)],
        [
            join(""),
            join("m"),
            ask("JoinGroup", G, 2, {"group_id": "g", "member_id": "", "protocols": {"range": ["t"]}}),
            ask(
                "SyncGroup", G, 5, {**MEMBER, "protocol_type": "consumer", "protocol_name": "range", "assignments": {}}
            ),
            ask("Heartbeat", G, 4, MEMBER),
            ask("Heartbeat", G, 0, MEMBER),
            leave({"member_id": "m"}),
            leave({"member_id": "m"}, {"member_id": "n"}),
            ask("LeaveGroup", G, 2, {"group_id": "g", "members": [{"member_id": "m"}]}),
            describe_groups(),
        ],
    ),
    "member_without_group_describe": ([("DESCRIBE", GROUP)], [*JOINED, sync(), heartbeat(), describe_groups()]),
    "describe_groups_without_one": (
        [("DESCRIBE", GROUP)],
        [ask("DescribeGroups", G, v, {"groups": ["g", "h"]}) for v in (0, 5, 6)],
    ),
    "join_without_topic_read": ([("READ", EVERY_TOPIC)], [*JOINED, sync(), heartbeat()]),
    "delete_groups_without_group_delete": (
        [("DELETE", GROUP)],
        [commit_plain("g", {"t-0": 1}), ask("DeleteGroups", G, 2, {"groups": ["g"]}), offsets("g", ["t-0"])],
    ),
    "offset_delete_without_group_delete": (
        [("DELETE", GROUP)],
        [
            commit_plain("g", {"t-0": 1}),
            ask("OffsetDelete", G, 0, {"group_id": "g", "partitions": ["t-0"]}),
            offsets("g", ["t-0"]),
        ],
    ),
    "offset_delete_without_topic_read": (
        [("READ", TOPIC)],
        [
            commit_plain("g", {"u-0": 1}),
            ask("OffsetDelete", G, 0, {"group_id": "g", "partitions": ["t-0", "u-0", "nope-0"]}),
            offsets("g", ["u-0"]),
        ],
    ),
    "create_topics_without_cluster_create": (
        [("CREATE", CLUSTER)],
        [ask("CreateTopics", "b1", 7, {"topics": [{"name": "new", "num_partitions": 1, "replication_factor": 1}]})],
    ),
    "create_topics_without_topic_create": (
        [("CREATE", "Topic:new")],
        [ask("CreateTopics", "b1", 7, {"topics": [{"name": "new", "num_partitions": 1, "replication_factor": 1}]})],
    ),
    "create_topics_without_both": (
        [("CREATE", CLUSTER), ("CREATE", "Topic:new")],
        [
            ask(
                "CreateTopics",
                "b1",
                7,
                {"topics": [{"name": n, "num_partitions": 1, "replication_factor": 1} for n in ("new", "newer")]},
            )
        ],
    ),
    "without_anything": (
        [("ALL", CLUSTER), ("ALL", EVERY_TOPIC), ("ALL", "Group:*"), ("ALL", "TransactionalId:*")],
        [
            ask("ApiVersions", "b1", 3, {}),
            ask("DescribeCluster", "b1", 0, {}),
            once(init("x")),
            describe("x"),
            fetch(),
            offsets("g", ["t-0"]),
        ],
    ),
    "group_is_full": (
        [],
        [
            *JOINED,
            join("", "k"),
            {**join("$k.member_id", "late"), "wait": False},
            sleep(500),
            join("$m.member_id", "m"),
            {"await": "late"},
            join("", "l"),
            join("$l.member_id"),
            describe_groups(),
        ],
    ),
    "record_too_large": (
        [],
        [
            idempotent(),
            write_plain("p", "t-0", 0, "a"),
            *(write_plain("p", p, 1, "x" * 30) for p in BOTH),
            produce(None, {"t-0": {**batch("p", 1, "a", transactional=False), "values": ["v" * 3000]}}, 9),
            write_plain("p", "t-0", 1, "b"),
            fetch(),
        ],
    ),
}


def _script(name: str, denied: list[tuple[str, str]], steps: list[Step]) -> Script:
    return script(f"acl.{name}", *steps, topics={"t": 1, "u": 1}, acls=[list(row) for row in denied])


FAMILIES = {"acl": [_script(name, *row) for name, row in ROWS.items()]}
