"""Family three_nodes: brokers that are killed in the middle of a transaction, and in-sync sets that shrink.

Nodes are named by what they do, so that it does not matter where a cluster places its replicas. The coordinator of x is
the second follower of t-0; if it is lost, the first follower coordinates.
"""

from __future__ import annotations

from kafkalab.protocol.rules import LEADER_AWAITED
from tests.kafka.making.steps import (
    READ_COMMITTED,
    V2,
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
    hold,
    idempotent,
    init,
    knowing,
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

FENCED_MS, BACK_MS = 10_500, 4_000
LONG = 600_000
"""The timeout of transactions: starting a broker may take a minute."""
COORDINATOR, LEADER = "coordinator of x", "leader of t-0"
BEGUN = [init("x", LONG), add("x", "t-0"), write("x", "t-0", 0, "a")]
BEGUN_V2 = [init("x", LONG), write("x", "t-0", 0, "a", protocol=V2)]
SEEN = [describe("x"), fetch(), list_offsets(-1, READ_COMMITTED), producers()]


def kill(node: str, name: str = "lost") -> list[Step]:
    """Kill a node and wait until it is fenced."""
    return [{"kill": node, "as": name}, sleep(FENCED_MS)]


def start(name: str = "lost") -> list[Step]:
    """Start it again and wait until it is in sync."""
    return [{"start": name}, sleep(BACK_MS)]


def again(step: Step) -> Step:
    """Repeat the step until it succeeds."""
    return {**step, "until": "NONE"}


def commit_and_look(protocol: int = 1) -> list[Step]:
    """Commit, and see what is there."""
    return [again(end("x", True, protocol, once=True)), settle(), *SEEN]


def both(first: str, second: str) -> list[Step]:
    """Kill two nodes, the second when the first is fenced: who coordinates in between must not depend on chance."""
    return [*kill(first), *kill(second, "lost_too")]


ROWS: dict[str, list[Step]] = {
    "leader_lost_open": [*BEGUN, *kill(LEADER), again(write("x", "t-0", 1, "b")), *commit_and_look()],
    "leader_lost_open_v2": [
        *BEGUN_V2,
        *kill(LEADER),
        again(write("x", "t-0", 1, "b", protocol=V2)),
        *commit_and_look(V2),
    ],
    "leader_lost_duplicate": [*BEGUN, *kill(LEADER), again(write("x", "t-0", 0, "a")), *commit_and_look()],
    "leader_lost_gap": [*BEGUN, *kill(LEADER), again(fetch()), write("x", "t-0", 5, "z"), *commit_and_look()],
    "leader_lost_idempotent": [
        idempotent(),
        write_plain("p", "t-0", 0, "a"),
        write_plain("p", "t-0", 1, "b"),
        *kill(LEADER),
        again(write_plain("p", "t-0", 0, "a")),
        write_plain("p", "t-0", 1, "b"),
        write_plain("p", "t-0", 2, "c"),
        write_plain("p", "t-0", 4, "d"),
        fetch(),
        producers(),
    ],
    "leader_lost_prepared": [
        *BEGUN,
        {"kill": LEADER, "as": "lost"},
        end("x", True),
        sleep(FENCED_MS),
        settle(),
        *SEEN,
    ],
    "leader_lost_prepared_abort": [
        *BEGUN_V2,
        {"kill": LEADER, "as": "lost"},
        end("x", False, V2, once=True),
        sleep(FENCED_MS),
        settle(),
        *SEEN,
    ],
    "coordinator_lost_open": [
        *BEGUN,
        *kill(COORDINATOR),
        again(describe("x")),
        write("x", "t-0", 1, "b"),
        *commit_and_look(),
    ],
    "coordinator_lost_open_v2": [*BEGUN_V2, *kill(COORDINATOR), again(describe("x")), *commit_and_look(V2)],
    "coordinator_lost_open_abort": [*BEGUN, *kill(COORDINATOR), again(end("x", False)), settle(), *SEEN],
    "coordinator_lost_after_commit": [
        *BEGUN,
        end("x", True),
        settle(),
        *kill(COORDINATOR),
        again(end("x", True)),
        end("x", False),
        *SEEN,
    ],
    "coordinator_lost_after_commit_v2": [
        *BEGUN_V2,
        end("x", True, V2, once=True),
        settle(),
        *kill(COORDINATOR),
        again(describe("x")),
        end("x", True, V2, once=True),
        end("x", False, V2, once=True),
        *SEEN,
    ],
    "coordinator_lost_new_instance": [
        *BEGUN,
        *kill(COORDINATOR),
        init("x", LONG),
        write("x", "t-0", 1, "b", "-1"),
        *SEEN,
    ],
    "coordinator_lost_expected_epoch": [
        init("x", LONG),
        expect("x"),
        *kill(COORDINATOR),
        again(describe("x")),
        expect("x"),
        expect("x", "+1"),
        describe("x"),
    ],
    "coordinator_and_leader_lost_in_turn": [
        *BEGUN,
        *kill(COORDINATOR),
        again(describe("x")),
        *start(),
        *kill(LEADER),
        again(write("x", "t-0", 1, "b")),
        *commit_and_look(),
    ],
    "group_coordinator_lost_pending": [
        init("x", LONG),
        add_offsets("x", "g"),
        commit_plain("g", {"t-0": 1}),
        commit_offsets("x", "g", {"t-0": 5}),
        *kill("group coordinator of g"),
        again(offsets("g", ["t-0"])),
        offsets("g", ["t-0"], True),
        *commit_and_look(),
        offsets("g", ["t-0"], True),
    ],
    "one_replica_left": [
        *BEGUN,
        *both("follower of t-0", "second follower of t-0"),
        write("x", "t-0", 1, "b"),
        fetch(),
        list_offsets(-1),
    ],
    "one_replica_left_then_back": [
        *BEGUN,
        *both("follower of t-0", "second follower of t-0"),
        write("x", "t-0", 1, "b"),
        *start(),
        *start("lost_too"),
        *commit_and_look(),
    ],
    "follower_behind_then_leader": [
        *BEGUN,
        *kill("follower of t-0"),
        again(write("x", "t-0", 1, "b")),
        *start(),
        *kill(LEADER, "leader"),
        again(write("x", "t-0", 2, "c")),
        *commit_and_look(),
    ],
    "no_leader_then_back": [
        *BEGUN,
        *kill("follower of t-0", "one"),
        *kill("second follower of t-0", "two"),
        {"kill": LEADER, "as": "lost"},
        *start(),
        *start("one"),
        *start("two"),
        again(write("x", "t-0", 1, "b")),
        *commit_and_look(),
    ],
}

DATA = {"values": ["a"], "timestamp_ms": 0}
HURRIED = {"transactional_id": None, "acks": -1, "timeout_ms": 500, "batches": {"t-0": DATA}}
MEMBER = {"group_id": "g", "member_id": "m", "generation_id": 1}


def elsewhere(partition: str, node: str) -> list[Step]:
    """Ask another node than the leader everything that only a leader answers."""
    plain = {"transactional_id": None, "acks": -1, "timeout_ms": 10_000, "batches": {partition: DATA}}
    position = {"positions": {partition: 0}, "max_wait_ms": 50}
    return [
        *(ask("Produce", node, 9, {**plain, "acks": acks}) for acks in (-1, 1)),
        ask("Fetch", node, 12, {"isolation_level": READ_COMMITTED, **position}),
        ask("Fetch", node, 10, {"isolation_level": READ_COMMITTED, **position}),
        *(ask("ListOffsets", node, 7, {"partitions": [partition], "timestamp": at}) for at in (-1, -2)),
        ask("DeleteRecords", node, 2, {"offsets": {partition: 1}}),
        ask("DescribeProducers", node, 0, {"partitions": [partition]}),
        ask("WriteTxnMarkers", node, 1, mark(700_000_001, 0, [partition])["with"]),
    ]


ELSEWHERE: list[tuple[str, int, Step]] = [
    ("InitProducerId", 5, {"transactional_id": "x"}),
    ("AddPartitionsToTxn", 3, {**me("x"), "partitions": ["t-0"]}),
    ("AddPartitionsToTxn", 4, {**me("x"), "partitions": ["t-0"], "verify_only": True}),
    ("AddOffsetsToTxn", 3, {**me("x"), "group_id": "g"}),
    ("EndTxn", 4, {**me("x"), "committed": True}),
    ("EndTxn", 5, {**me("x"), "committed": False}),
    ("DescribeTransactions", 0, {"transactional_ids": ["x"]}),
    ("ListTransactions", 1, {}),
]
NOT_THE_GROUPS: list[tuple[str, int, Step]] = [
    ("TxnOffsetCommit", 3, {**me("x"), "group_id": "g", "offsets": {"t-0": 1}}),
    ("TxnOffsetCommit", 5, {**me("x"), "group_id": "g", "offsets": {"t-0": 1}}),
    ("OffsetCommit", 8, {"group_id": "g", "offsets": {"t-0": 1}}),
    ("OffsetFetch", 7, {"group_id": "g", "partitions": ["t-0"]}),
    ("OffsetFetch", 8, {"group_id": "g", "partitions": ["t-0"], "require_stable": True}),
    ("OffsetDelete", 0, {"group_id": "g", "partitions": ["t-0"]}),
    ("JoinGroup", 9, {"group_id": "g", "member_id": "", "protocols": {"range": ["t"]}}),
    ("SyncGroup", 5, {**MEMBER, "protocol_type": "consumer", "protocol_name": "range", "assignments": {}}),
    ("Heartbeat", 4, MEMBER),
    ("LeaveGroup", 5, {"group_id": "g", "members": [{"member_id": "m"}]}),
    ("DescribeGroups", 6, {"groups": ["g"]}),
    ("DeleteGroups", 2, {"groups": ["g"]}),
]
BEHIND: list[Step] = [
    append("t-0", "a"),
    hold("t", 3),
    *kill("follower of t-0"),
    produce(None, {"t-0": DATA}, 9, acks=1),
    sleep(2_000),
    *kill(LEADER, "leader"),
]
"""A new leader that does not know whether its last record was committed."""

ROWS |= {
    "follower_is_asked": [
        append("t-0", "a"),
        sleep(2_000),  # a follower hears of the high watermark with its next fetch
        *elsewhere("t-0", "follower of t-0"),
        fetch(),
    ],
    "other_coordinator_is_asked": [
        init("x", LONG),
        *(ask(api, "other than coordinator of x", version, given) for api, version, given in ELSEWHERE),
        describe("x"),
    ],
    "other_group_coordinator_is_asked": [
        init("x", LONG),
        *(ask(api, "other than group coordinator of g", version, given) for api, version, given in NOT_THE_GROUPS),
        offsets("g", ["t-0"]),
        describe("x"),
    ],
    "acks_all_times_out": [
        append("t-0", "a"),
        {"kill": "follower of t-0", "as": "lost"},
        ask("Produce", LEADER, 9, HURRIED),
        fetch(),
        list_offsets(-1),
        sleep(FENCED_MS),
        fetch(),
    ],
    "delete_records_times_out": [
        append("t-0", "a"),
        {"kill": "follower of t-0", "as": "lost"},
        ask("DeleteRecords", LEADER, 2, {"offsets": {"t-0": 1}, "timeout_ms": 500}),
        list_offsets(-2),
    ],
    "one_replica_left_of_coordinator": [
        *BEGUN,
        {**idempotent(), "to": LEADER},
        *both("follower of t-0", "second follower of t-0"),
        again(describe("x")),
        once(init("y")),
        once(init("x")),
        add("x", "t-0"),
        add("x", "t-1"),
        end("x", True),
        describe("x"),
    ],
    "end_is_not_known": [
        *BEHIND,
        *(list_offsets(at, version=version) for version in (2, 4, 5, 7) for at in (-1, -2)),
        list_offsets(0),
        list_offsets(-3),
        fetch(),
        {"min_isr": {"t": 1}},
        append("t-0", "c"),
        list_offsets(-1),
        fetch(),
    ],
    "min_isr_lost_then_back": [
        *BEGUN,
        hold("t", 3),
        *kill("follower of t-0"),
        write("x", "t-0", 1, "b"),
        produce(None, {"t-0": DATA}, 9, acks=1),
        fetch(),
        end("x", True),
        sleep(1_000),
        describe("x"),
        *start(),
        settle(),
        *SEEN,
    ],
    "broker_without_producer_ids": [
        *kill("follower of t-0"),
        *start(),
        once({**idempotent(), "to": "follower of t-0"}),
        again({**idempotent(), "to": "follower of t-0"}),
    ],
    "coordinator_without_producer_ids": [
        *kill("follower of t-0"),
        *start(),
        *kill(COORDINATOR),
        once(init("x", LONG)),
        init("x", LONG),
        describe("x"),
    ],
    "leader_epochs": [
        append("t-0", "a"),
        *(
            knowing(epoch, {**step, "to": "follower of t-0"})
            for step in (fetch(version=10), list_offsets(-1))
            for epoch in (0, 1)
        ),
        *kill(LEADER),
        *(knowing(1, s) for s in (again(fetch()), again(list_offsets(-1)), list_offsets(-2))),
        *(knowing(e, s) for s in (fetch(), list_offsets(-1), list_offsets(-2)) for e in (0, 2)),
        *start(),
        *(knowing(e, {**list_offsets(-1), "to": "second follower of t-0"}) for e in (0, 1, 2)),
    ],
    "empty_logs_after_a_rolling_restart": [
        *kill("follower of t-0"),
        *start(),
        *kill("second follower of t-0"),
        *start(),
        *kill(LEADER),
        *start(),
        *kill(LEADER, "one"),
        *kill(LEADER, "two"),
        list_offsets(-1),
    ],
}
UNLED = "leader of u-0"


def decide_without_leader(protocol: int, commit: bool) -> list[Step]:
    """A transaction is decided while the only replica of u-0 is down, before and after its broker is fenced."""
    added = [] if protocol == V2 else [add("x", "t-0", "u-0")]
    return [
        init("x", LONG),
        *added,
        *(write("x", p, 0, "a", protocol=protocol) for p in ("t-0", "u-0")),
        {"kill": UNLED, "as": "lost"},
        end("x", commit, protocol, once=True),
        sleep(1_000),
        describe("x"),
        end("x", commit, protocol, once=True),
        end("x", not commit, protocol, once=True),
        once(init("x", LONG)),
        sleep(FENCED_MS),
        describe("x"),
        fetch(),
        ask("WriteTxnMarkers", LEADER, 1, mark("$x.producer_id", "$x.producer_epoch", ["u-0"], commit)["with"]),
        *start(),
        again(fetch("u-0")),
        producers("u-0"),
        list_offsets(-1, READ_COMMITTED, "u-0"),
        init("x", LONG, 5, **{"as": "z"}),
        fetch("u-0"),
        mark("$x.producer_id", "$x.producer_epoch", ["u-0"], False, tv=0, version=1),
        fetch("u-0"),
        producers("u-0"),
    ]


UNLED_ROWS = {
    "stranger_is_asked": [append("u-0", "a"), *elsewhere("u-0", "other than leader of u-0"), fetch("u-0")],
    "no_leader_commit": decide_without_leader(1, True),
    "no_leader_abort": decide_without_leader(1, False),
    "no_leader_commit_v2": decide_without_leader(V2, True),
    "no_leader_abort_v2": decide_without_leader(V2, False),
    "no_leader_decided_after": [
        *BEGUN_V2,
        write("x", "u-0", 0, "a", protocol=V2),
        *kill(UNLED),
        end("x", True, V2, once=True),
        settle(),
        describe("x"),
        fetch(),
        *start(),
        again(fetch("u-0")),
        producers("u-0"),
    ],
    "no_leader_new_instance": [
        *BEGUN,
        add("x", "u-0"),
        write("x", "u-0", 0, "a"),
        *kill(UNLED),
        init("x", LONG),
        describe("x"),
        *start(),
        again(fetch("u-0")),
        producers("u-0"),
    ],
}
PLAIN = [script(f"three_nodes.{n}", *s, nodes=3, topics={"t": 1}) for n, s in ROWS.items()]
UNLED_SCRIPTS = [
    script(f"three_nodes.{n}", *s, nodes=3, topics={"t": 1, "u": 1}, one_replica=["u"], rules_off=[LEADER_AWAITED.name])
    for n, s in UNLED_ROWS.items()
]
FAMILIES = {"three_nodes": PLAIN + UNLED_SCRIPTS}
