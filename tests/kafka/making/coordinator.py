"""Families coordinator_v1 and coordinator_v2: each question in each state that a client can reach, by each protocol."""

from __future__ import annotations

from tests.kafka.making.steps import (
    V1,
    V2,
    Script,
    Step,
    add,
    add_offsets,
    ask,
    describe,
    end,
    expect,
    fetch,
    hold,
    init,
    let_go,
    me,
    producers,
    script,
    settle,
    write,
)

FIRST = {
    V1: [add("x", "t-0"), write("x", "t-0", 0, "a")],
    V2: [write("x", "t-0", 0, "a", protocol=V2)],
}


def reach(state: str, protocol: int) -> list[Step]:
    """Return the steps after which the coordinator has id x in this state; prepared ones are held there."""
    start = [init("x"), init("x")]
    if state == "empty":
        return start
    begun = [*start, *FIRST[protocol]]
    if state == "ongoing":
        return begun
    commit = state.endswith("commit")
    if state.startswith("prepare"):
        return [*begun, hold(), end("x", commit, protocol, once=True)]
    return [*begun, end("x", commit, protocol, once=True), settle()]


STATES = ("empty", "ongoing", "prepare_commit", "prepare_abort", "complete_commit", "complete_abort")
EPOCHS = {"": "", "_newer": "+1", "_older": "-1", "_two_newer": "+2"}


def questions(epoch: str) -> dict[str, list[Step]]:
    """Return every question about x with an epoch that is so much off the one that InitProducerId gave."""
    other = {**me("x", epoch), "producer_id": 700_000_001}
    plain = {
        "init": [ask("InitProducerId", "coordinator of x", 5, {"transactional_id": "x"})],
        "add_other_producer": [ask("AddPartitionsToTxn", "coordinator of x", 3, {**other, "partitions": ["t-1"]})],
        "end_other_producer": [ask("EndTxn", "coordinator of x", 4, {**other, "committed": True})],
        "end_v5_other_producer": [ask("EndTxn", "coordinator of x", 5, {**other, "committed": True})],
        "init_other_producer": [ask("InitProducerId", "coordinator of x", 5, {**other, "producer_epoch": 0})],
        "add_offsets": [add_offsets("x", "g")],
        "verify": [add("x", "t-0", version=5, verify_only=True)],
        "add_same": [add("x", "t-0")],
    }
    by_epoch = {
        "init_expecting": [expect("x", epoch)],
        "add": [add("x", "t-1", epoch=epoch)],
        "add_v5": [add("x", "t-1", epoch=epoch, version=5)],
        "commit": [end("x", True, V1, epoch)],
        "abort": [end("x", False, V1, epoch)],
        "commit_v5": [end("x", True, V2, epoch, once=True)],
        "abort_v5": [end("x", False, V2, epoch, once=True)],
        "produce": [write("x", "t-0", 1, "b", epoch)],
        "produce_v12": [write("x", "t-0", 1, "b", epoch, V2)],
    }
    return by_epoch if epoch else {**by_epoch, **plain}


def after(state: str) -> list[Step]:
    """Return what shows the outcome."""
    free = [describe("x"), *let_go()] if state.startswith("prepare") else [settle()]
    return [*free, describe("x"), producers(), fetch()]


def family(protocol: int) -> list[Script]:
    """Return one script for each state, question and epoch."""
    found = []
    for state in STATES:
        for suffix, epoch in EPOCHS.items():
            if epoch == "+2" and protocol == V1:
                continue
            for name, asked in questions(epoch).items():
                steps = [*reach(state, protocol), *asked, *after(state)]
                new = protocol == V2 or "v12" in name or "v5" in name or name == "verify"
                more = {"levels": [1, 2]} if new else {}
                found.append(script(f"coordinator_v{protocol}.{state}.{name}{suffix}", *steps, **more))
    return found


FAMILIES = {"coordinator_v1": family(V1), "coordinator_v2": family(V2)}
