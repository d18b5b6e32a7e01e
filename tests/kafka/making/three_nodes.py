"""Family three_nodes: brokers that are killed in the middle of a transaction, and in-sync sets that shrink.

Nodes are named by what they do, so that it does not matter where a cluster places its replicas. The coordinator of x
and the leader of t-0 are different nodes.
"""

from __future__ import annotations

from tests.kafka.making.steps import (
    READ_COMMITTED,
    V2,
    Step,
    add,
    add_offsets,
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
    settled,
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


def committed(protocol: int = 1) -> list[Step]:
    """Commit, and see what is there."""
    return [again(end("x", True, protocol, once=True)), settled(), *SEEN]


def both(first: str, second: str) -> list[Step]:
    """Kill two nodes at once."""
    return [{"kill": first, "as": "lost"}, {"kill": second, "as": "lost_too"}, sleep(FENCED_MS)]


ROWS: dict[str, list[Step]] = {
    "leader_lost_open": [*BEGUN, *kill(LEADER), again(write("x", "t-0", 1, "b")), *committed()],
    "leader_lost_open_v2": [*BEGUN_V2, *kill(LEADER), again(write("x", "t-0", 1, "b", protocol=V2)), *committed(V2)],
    "leader_lost_duplicate": [*BEGUN, *kill(LEADER), again(write("x", "t-0", 0, "a")), *committed()],
    "leader_lost_gap": [*BEGUN, *kill(LEADER), again(fetch()), write("x", "t-0", 5, "z"), *committed()],
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
        settled(),
        *SEEN,
    ],
    "leader_lost_prepared_abort": [
        *BEGUN_V2,
        {"kill": LEADER, "as": "lost"},
        end("x", False, V2, once=True),
        sleep(FENCED_MS),
        settled(),
        *SEEN,
    ],
    "coordinator_lost_open": [
        *BEGUN,
        *kill(COORDINATOR),
        again(describe("x")),
        write("x", "t-0", 1, "b"),
        *committed(),
    ],
    "coordinator_lost_open_v2": [*BEGUN_V2, *kill(COORDINATOR), again(describe("x")), *committed(V2)],
    "coordinator_lost_open_abort": [*BEGUN, *kill(COORDINATOR), again(end("x", False)), settled(), *SEEN],
    "coordinator_lost_after_commit": [
        *BEGUN,
        end("x", True),
        settled(),
        *kill(COORDINATOR),
        again(end("x", True)),
        end("x", False),
        *SEEN,
    ],
    "coordinator_lost_after_commit_v2": [
        *BEGUN_V2,
        end("x", True, V2, once=True),
        settled(),
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
        *committed(),
    ],
    "group_coordinator_lost_pending": [
        init("x", LONG),
        add_offsets("x", "g"),
        commit_plain("g", {"t-0": 1}),
        commit_offsets("x", "g", {"t-0": 5}),
        *kill("group coordinator of g"),
        again(offsets("g", ["t-0"])),
        offsets("g", ["t-0"], True),
        *committed(),
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
        *committed(),
    ],
    "follower_behind_then_leader": [
        *BEGUN,
        *kill("follower of t-0"),
        again(write("x", "t-0", 1, "b")),
        *start(),
        *kill(LEADER, "leader"),
        again(write("x", "t-0", 2, "c")),
        *committed(),
    ],
    "no_leader_then_back": [
        *BEGUN,
        {"kill": "follower of t-0", "as": "one"},
        {"kill": "second follower of t-0", "as": "two"},
        sleep(FENCED_MS),
        {"kill": LEADER, "as": "lost"},
        *start(),
        *start("one"),
        *start("two"),
        again(write("x", "t-0", 1, "b")),
        *committed(),
    ],
}

FAMILIES = {"three_nodes": [script(f"three_nodes.{n}", *s, nodes=3, topics={"t": 1}) for n, s in ROWS.items()]}
